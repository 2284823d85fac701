/* SPDX-License-Identifier: BSD-3-Clause
 * Normals from a texture. The normal is 2 rgb - 1, normalised, in the frame whose first axis is dp/du and
 * whose third axis is the shading normal. Normals are not colours, so that their bitmaps need raw = true.
 * perturbed.c says what carries derivatives. */
#include "render/bsdf/perturbed.h"

static vec3 mapped_normal(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    tracer raw = light_raw(t);
    color c = plan_texture(&raw, ctx->n, ctx->record, "normalmap", ctx->uv);
    ir_ref one = t_f32(t, 1), two = t_f32(t, 2);
    return v3_normalize(t, v3(ir_sub(f, ir_mul(f, two, c.c[0]), one), ir_sub(f, ir_mul(f, two, c.c[1]), one),
                              ir_sub(f, ir_mul(f, two, c.c[2]), one)));
}

static const plugin_param normalmap_params[] = {
    {"normalmap", PLUGIN_TEXTURED, PLUGIN_REQUIRED | PLUGIN_HELD, NULL, 0, 0, "normals, [-1,1]^3 as [0,1]^3"},
    PERTURBED_PARAMS,
};
const perturbed_class bsdf_normalmap = {
    .bsdf = {.base = {.plugin = {PLUGIN_BSDF, "normalmap", PLUGIN_TABLE(normalmap_params),
                                 PLUGIN_TABLE(perturbed_slots), "a material with normals from a texture"},
                      .mark = perturbed_mark,
                      .variant = perturbed_variant,
                      .needs = perturbed_needs},
             .sample = perturbed_sample,
             .pdf = perturbed_pdf,
             .value = perturbed_value,
             .polarized = perturbed_polarized,
             .albedo = bsdf_nested_albedo,
             .lobe_direction = perturbed_lobe_direction,
             .lobe_eta = perturbed_lobe_eta,
             .attached = perturbed_attached,
             .roughness = perturbed_roughness,
             .directions_move_by_uv = perturbed_directions_move_by_uv},
    .normal = mapped_normal,
};
