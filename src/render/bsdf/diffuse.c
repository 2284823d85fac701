/* SPDX-License-Identifier: BSD-3-Clause
 * Lambertian reflection, one-sided: f = reflectance / pi. Directions are sampled with density cos / pi and
 * are detached. */
#include "render/classes.h"

static const float inverse_pi = 0.31830988618379067154f;

static ir_ref diffuse_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    return ir_select(t->f, bsdf_both_above(t, ctx->wi, wo), ir_mul(t->f, wo.z, t_f32(t, inverse_pi)),
                     t_f32(t, 0));
}

static bsdf_sample diffuse_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    (void)u_lobe;
    bsdf_sample s = {
        .wo = warp_cosine_hemisphere(t, u1, u2),
        .eta = t_f32(t, 1),
        .delta = ir_bool(t->f, false),
        .lobe = t_u32(t, 0),
    };
    s.pdf = diffuse_pdf(ctx, s.wo);
    return s;
}

static color diffuse_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    return color_scale(t, bsdf_texture(ctx, "reflectance"), diffuse_pdf(ctx, wo));
}

static const plugin_param diffuse_params[] = {
    {"reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "albedo"},
};
const bsdf_class bsdf_diffuse = {
    .base.plugin = {PLUGIN_BSDF, "diffuse", PLUGIN_TABLE(diffuse_params), PLUGIN_NONE,
                    "ideally diffuse, one-sided"},
    .sample = diffuse_sample,
    .pdf = diffuse_pdf,
    .value = diffuse_value,
    .albedo_param = "reflectance",
};
