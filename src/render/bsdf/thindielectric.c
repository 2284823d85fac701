/* SPDX-License-Identifier: BSD-3-Clause
 * A thin pane between two surfaces, seen from either side. It has two discrete lobes: reflection, and
 * transmission, which is a null lobe. Light goes to and fro inside the pane. With F the reflectance of one
 * interface (fresnel.h), all of its reflections together are
 *
 *     F + (1-F)^2 F + (1-F)^2 F^3 + .. = 2 F / (1 + F).
 *
 * The choice of the lobe is detached. No direction depends on eta, so its gradient is complete. */
#include "render/bsdf/fresnel.h"

enum { LOBE_REFLECTION };

static bl_result thindielectric_load(render_scene *s, const scene_object *o, bl_error *err)
{
    return interface_load(s, o, false, err);
}

static ir_ref reflectance_at(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_ref one_side =
        fresnel_dielectric(t, ir_abs(t->f, ctx->wi.z), interface_eta(t, ctx->n, ctx->record)).reflectance;
    return ir_div(t->f, ir_add(t->f, one_side, one_side), ir_add(t->f, t_f32(t, 1), one_side));
}

static bsdf_sample thindielectric_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    (void)u1, (void)u2;
    ir_func *f = t->f;
    ir_ref reflectance = reflectance_at(ctx), reflects = ir_lt(f, u_lobe, reflectance), one = t_f32(t, 1);
    return (bsdf_sample){
        .wo = v3_select(t, reflects, fresnel_reflected(t, ctx->wi), v3_neg(t, ctx->wi)),
        .pdf = ir_select(f, reflects, reflectance, ir_sub(f, one, reflectance)),
        .eta = one,
        .delta = ir_bool(f, true),
        .lobe = ir_select(f, reflects, t_u32(t, LOBE_REFLECTION), t_u32(t, LOBE_NULL)),
    };
}

static color thindielectric_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo;
    ir_func *f = t->f;
    ir_ref reflectance = reflectance_at(ctx);
    ir_ref crosses = ir_sub(f, t_f32(t, 1), reflectance);
    return interface_value(ctx, reflectance, crosses, delta, ir_eq(f, lobe, t_u32(t, LOBE_REFLECTION)));
}

static const plugin_param thindielectric_params[] = {
    {"int_ior", PLUGIN_FLOAT_OR_NAME, PLUGIN_CURVE, "bk7", 1e-3, 1e3,
     "index of refraction of the pane: a number, a material's name, or a <spectrum> of samples"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, PLUGIN_CURVE, "air", 1e-3, 1e3,
     "index of refraction on both sides of it"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the reflection"},
    {"specular_transmittance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the transmission"},
};
const bsdf_class bsdf_thindielectric = {
    .base = {.plugin = {PLUGIN_BSDF, "thindielectric", PLUGIN_TABLE(thindielectric_params), PLUGIN_NONE,
                        "a thin pane of glass"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta",
             .load = thindielectric_load,
             .disperses = interface_disperses,
             .extra = interface_extra},
    .transmits = true,
    .null = true,
    .sample = thindielectric_sample,
    .pdf = bsdf_no_density,
    .value = thindielectric_value,
    .lobe_direction = fresnel_mirrored,
};
