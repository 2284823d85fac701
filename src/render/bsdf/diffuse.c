/* SPDX-License-Identifier: BSD-3-Clause
 * Lambertian reflection, one-sided: f = reflectance / pi. Directions are sampled with density cos / pi and
 * are detached. */
#include "render/bsdf/cosine_lobe.h"

static color diffuse_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    return color_scale(t, bsdf_texture(ctx, "reflectance"), cosine_pdf(ctx, wo));
}

static const plugin_param diffuse_params[] = {
    {"reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "albedo"},
};
const bsdf_class bsdf_diffuse = {
    .base.plugin = {PLUGIN_BSDF, "diffuse", PLUGIN_TABLE(diffuse_params), PLUGIN_NONE,
                    "ideally diffuse, one-sided"},
    .sample = cosine_sample,
    .pdf = cosine_pdf,
    .value = diffuse_value,
    .albedo_param = "reflectance",
};
