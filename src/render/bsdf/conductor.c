/* SPDX-License-Identifier: BSD-3-Clause
 * A smooth metal, one-sided. It has one discrete lobe, the mirror direction, with the coefficient
 * specular_reflectance * Fresnel(eta, k). Fresnel is fresnel_conductor (fresnel.c names its sources). */
#include "render/bsdf/fresnel.h"
#include "render/bsdf/metal.h"

static ir_ref above(tracer *t, vec3 wi) { return ir_gt(t->f, wi.z, t_f32(t, 0)); }

static bsdf_sample conductor_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    (void)u_lobe, (void)u1, (void)u2;
    ir_ref one = t_f32(t, 1);
    return (bsdf_sample){
        .wo = fresnel_reflected(t, ctx->wi),
        .pdf = ir_select(t->f, above(t, ctx->wi), one, t_f32(t, 0)),
        .eta = one,
        .delta = ir_bool(t->f, true),
        .lobe = t_u32(t, 0),
    };
}

static color conductor_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo, (void)lobe;
    color eta = bsdf_texture(ctx, "eta"), k = bsdf_texture(ctx, "k");
    COLOR_EACH(reflectance, fresnel_conductor(t, ctx->wi.z, eta.c[c], k.c[c]));
    color value = color_mul(t, bsdf_texture(ctx, "specular_reflectance"), reflectance);
    return color_select(t, ir_and(t->f, delta, above(t, ctx->wi)), value, color_all(t_f32(t, 0)));
}

static bsdf_polarized conductor_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo, (void)lobe;
    ir_ref zero = t_f32(t, 0);
    color eta = bsdf_texture(ctx, "eta"), k = bsdf_texture(ctx, "k");
    color factor = color_select(t, ir_and(t->f, delta, above(t, ctx->wi)),
                                bsdf_texture(ctx, "specular_reflectance"), color_all(zero));
    bsdf_polarized r = {.axis = bsdf_specular_axis(t, v3(zero, zero, t_f32(t, 1)), ctx->wi)};
    for (uint32_t c = 0; c < t->channels; c++) {
        mueller mirror = specular_reflection_conductor(t, ctx->wi.z, eta.c[c], k.c[c]);
        r.m[c] = mueller_scale(t, &mirror, factor.c[c]);
    }
    return r;
}

static const plugin_param conductor_params[] = {
    {"material", PLUGIN_STRING, 0, "none", 0, 0, "name of a metal, as Au, in place of eta and k"},
    {"eta", PLUGIN_TEXTURED, 0, "0", 0, 1e6, "real part of the index of refraction"},
    {"k", PLUGIN_TEXTURED, 0, "1", 0, 1e6, "extinction, its imaginary part"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the reflection"},
};
const bsdf_class bsdf_conductor = {
    .base = {.plugin = {PLUGIN_BSDF, "conductor", PLUGIN_TABLE(conductor_params), PLUGIN_NONE,
                        "smooth metal, one-sided"},
             .load = metal_load},
    .sample = conductor_sample,
    .pdf = bsdf_no_density,
    .value = conductor_value,
    .polarized = conductor_polarized,
    .lobe_direction = fresnel_mirrored,
};
