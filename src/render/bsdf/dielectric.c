/* SPDX-License-Identifier: BSD-3-Clause
 * A smooth interface between two dielectrics. It has two discrete lobes: reflection, with the coefficient F
 * of Fresnel's equations (fresnel.h), and transmission, with the coefficient 1 - F. `sample` chooses
 * reflection with the probability F. Radiance that crosses is scaled by the squared ratio of the indices,
 * because its solid angle changes.
 *
 * eta, which is int_ior over ext_ior, is a parameter. The coefficients follow it, and so does the transmitted
 * direction (integrator/motion/attached_path.c). The choice of the lobe is detached. */
#include "render/bsdf/fresnel.h"

enum { LOBE_REFLECTION, LOBE_TRANSMISSION };

static bl_result dielectric_load(render_scene *s, const scene_object *o, bl_error *err)
{
    return interface_load(s, o, true, err);
}

static fresnel interface_at(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return fresnel_dielectric(t, ctx->wi.z, interface_eta(t, ctx->n, ctx->record));
}

static bsdf_sample dielectric_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    (void)u1, (void)u2;
    ir_func *f = t->f;
    fresnel at = interface_at(ctx);
    ir_ref one = t_f32(t, 1), reflects = ir_lt(f, u_lobe, at.reflectance);
    return (bsdf_sample){
        .wo = v3_select(t, reflects, fresnel_reflected(t, ctx->wi), fresnel_refracted(t, ctx->wi, &at)),
        .pdf = ir_select(f, reflects, at.reflectance, ir_sub(f, one, at.reflectance)),
        .eta = ir_select(f, reflects, one, at.eta_it),
        .delta = ir_bool(f, true),
        .lobe = ir_select(f, reflects, t_u32(t, LOBE_REFLECTION), t_u32(t, LOBE_TRANSMISSION))};
}

static vec3 dielectric_lobe_direction(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    fresnel at = interface_at(ctx);
    return v3_select(t, ir_eq(t->f, lobe, t_u32(t, LOBE_REFLECTION)), fresnel_reflected(t, ctx->wi),
                     fresnel_refracted(t, ctx->wi, &at));
}

static ir_ref dielectric_lobe_eta(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    fresnel at = interface_at(ctx);
    return ir_select(t->f, ir_eq(t->f, lobe, t_u32(t, LOBE_REFLECTION)), t_f32(t, 1), at.eta_it);
}

static color dielectric_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo;
    ir_func *f = t->f;
    fresnel at = interface_at(ctx);
    ir_ref crosses = ir_mul(f, ir_sub(f, t_f32(t, 1), at.reflectance), t_sqr(t, at.eta_ti));
    return interface_value(ctx, at.reflectance, crosses, delta, ir_eq(f, lobe, t_u32(t, LOBE_REFLECTION)));
}

static bsdf_polarized dielectric_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo;
    ir_func *f = t->f;
    ir_ref eta = interface_eta(t, ctx->n, ctx->record), zero = t_f32(t, 0), one = t_f32(t, 1);
    fresnel at = interface_at(ctx);
    mueller mirror = specular_reflection(t, ctx->wi.z, eta), pane = specular_transmission(t, ctx->wi.z, eta);
    pane = mueller_scale(t, &pane, t_sqr(t, at.eta_ti));
    ir_ref reflects = ir_eq(f, lobe, t_u32(t, LOBE_REFLECTION));
    mueller both = mueller_select(t, reflects, &mirror, &pane);
    color factor = interface_value(ctx, one, one, delta, reflects);
    bsdf_polarized r = {.axis = bsdf_specular_axis(t, v3(zero, zero, one), ctx->wi)};
    for (uint32_t c = 0; c < t->channels; c++)
        r.m[c] = mueller_scale(t, &both, factor.c[c]);
    return r;
}

static const plugin_param dielectric_params[] = {
    {"int_ior", PLUGIN_FLOAT_OR_NAME, PLUGIN_CURVE, "bk7", 1e-3, 1e3,
     "index of refraction below the surface: a number, a material's name, or a <spectrum> of samples"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, PLUGIN_CURVE, "air", 1e-3, 1e3,
     "index of refraction on the side of the normal"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the reflection"},
    {"specular_transmittance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the transmission"},
};
const bsdf_class bsdf_dielectric = {
    .base = {.plugin = {PLUGIN_BSDF, "dielectric", PLUGIN_TABLE(dielectric_params), PLUGIN_NONE,
                        "smooth glass, water and the like"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta",
             .load = dielectric_load,
             .disperses = interface_disperses,
             .extra = interface_extra},
    .transmits = true,
    .sample = dielectric_sample,
    .pdf = bsdf_no_density,
    .value = dielectric_value,
    .polarized = dielectric_polarized,
    .lobe_direction = dielectric_lobe_direction,
    .lobe_eta = dielectric_lobe_eta,
};
