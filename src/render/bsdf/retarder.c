/* SPDX-License-Identifier: BSD-3-Clause
 * A linear retarder, such as a quarter wave plate. It changes light that is polarised, and lets all pass. */
#include "render/bsdf/polarizing.h"

static color retarder_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    (void)wo, (void)lobe;
    return polarizing_value(ctx, delta, 1);
}

/* A plate that is tilted delays by its cosine less, and its angle counts the other way round than that of a
 * polariser (both as Mitsuba 3.9.1). */
static bsdf_polarized retarder_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo, (void)lobe;
    ir_func *f = t->f;
    ir_ref phase =
        ir_mul(f, ir_mul(f, bsdf_texture_1(ctx, "delta"), t_f32(t, 0.01745329252f)), ir_abs(f, ctx->wi.z));
    mueller element = mueller_linear_retarder(t, phase);
    return polarizing_element(ctx, &element, ir_neg(f, bsdf_texture_1(ctx, "theta")), delta);
}

static uint32_t retarder_variant(const render_scene *s, const scene_object *o)
{
    (void)o;
    return s->mode->polarized;
}

static uint32_t retarder_needs(const class_node *n) { return n->variant ? NEED_TANGENTS : 0; }

static const plugin_param retarder_params[] = {
    {"theta", PLUGIN_TEXTURED, PLUGIN_SCALAR, "0", -INFINITY, INFINITY,
     "angle of the fast axis, in degrees from dp/du about the normal, counter-clockwise; only where light is "
     "polarised"},
    {"delta", PLUGIN_TEXTURED, PLUGIN_SCALAR, "90", -INFINITY, INFINITY,
     "how far the slow axis lags behind, in degrees; only where light is polarised"},
    {"transmittance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of what passes"},
};
const bsdf_class bsdf_retarder = {
    .base = {.plugin = {PLUGIN_BSDF, "retarder", PLUGIN_TABLE(retarder_params), PLUGIN_NONE,
                        "a linear retarder; without polarisation it lets light pass as it is"},
             .variant = retarder_variant,
             .needs = retarder_needs,
             .check = polarizing_check},
    .transmits = true,
    .null = true,
    .sample = bsdf_null_sample,
    .pdf = bsdf_no_density,
    .value = retarder_value,
    .polarized = retarder_polarized,
};
