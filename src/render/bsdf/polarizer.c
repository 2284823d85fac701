/* SPDX-License-Identifier: BSD-3-Clause
 * A linear polariser. Of light that is not polarised it takes half, whatever its angle. */
#include "render/bsdf/polarizing.h"

static color polarizer_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    (void)wo, (void)lobe;
    return polarizing_value(ctx, delta, 0.5f);
}

static bsdf_polarized polarizer_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo, (void)lobe;
    mueller element = ctx->n->variant ? mueller_linear_polarizer(t) : mueller_absorber(t_f32(t, 0.5f));
    return polarizing_element(ctx, &element, bsdf_texture_1(ctx, "theta"), delta);
}

static uint32_t polarizer_variant(const render_scene *s, const scene_object *o)
{
    return s->mode->polarized && scene_number(o, "polarizing") != 0;
}

static uint32_t polarizer_needs(const class_node *n) { return n->variant ? NEED_TANGENTS : 0; }

static const plugin_param polarizer_params[] = {
    {"theta", PLUGIN_TEXTURED, PLUGIN_SCALAR, "0", -INFINITY, INFINITY,
     "angle of the axis that passes, in degrees from dp/du about the normal, clockwise; only where light is "
     "polarised"},
    {"transmittance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of what passes"},
    {"polarizing", PLUGIN_BOOLEAN, 0, "true", 0, 0, "false: takes half of the light, whatever it is"},
};
const bsdf_class bsdf_polarizer = {
    .base = {.plugin = {PLUGIN_BSDF, "polarizer", PLUGIN_TABLE(polarizer_params), PLUGIN_NONE,
                        "a linear polariser; without polarisation it takes half of the light"},
             .variant = polarizer_variant,
             .needs = polarizer_needs,
             .check = polarizing_check},
    .transmits = true,
    .null = true,
    .sample = bsdf_null_sample,
    .pdf = bsdf_no_density,
    .value = polarizer_value,
    .polarized = polarizer_polarized,
};
