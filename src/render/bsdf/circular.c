/* SPDX-License-Identifier: BSD-3-Clause
 * A circular polariser. Of light that is not polarised it takes half, whatever its hand. */
#include "render/bsdf/polarizing.h"

static color circular_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    (void)wo, (void)lobe;
    return polarizing_value(ctx, delta, 0.5f);
}

static bsdf_polarized circular_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo, (void)lobe;
    mueller element = mueller_circular_polarizer(t, ir_bool(t->f, ctx->n->variant));
    return polarizing_element(ctx, &element, t_f32(t, 0), delta);
}

static uint32_t circular_variant(const render_scene *s, const scene_object *o)
{
    return s->mode->polarized && scene_number(o, "left_handed") != 0;
}

static const plugin_param circular_params[] = {
    {"transmittance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of what passes"},
    {"left_handed", PLUGIN_BOOLEAN, 0, "false", 0, 0,
     "passes left circular light; only where light is polarised"},
};
const bsdf_class bsdf_circular = {
    .base = {.plugin = {PLUGIN_BSDF, "circular", PLUGIN_TABLE(circular_params), PLUGIN_NONE,
                        "a circular polariser; without polarisation it takes half of the light"},
             .variant = circular_variant,
             .check = polarizing_check},
    .transmits = true,
    .null = true,
    .sample = bsdf_null_sample,
    .pdf = bsdf_no_density,
    .value = circular_value,
    .polarized = circular_polarized,
};
