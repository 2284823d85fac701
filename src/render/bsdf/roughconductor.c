/* SPDX-License-Identifier: BSD-3-Clause
 * A rough metal, one-sided. Its microfacets are mirrors (Walter et al. 2007). With m, the normal of a facet,
 * halfway between wi and wo,
 *
 *     f cos = specular_reflectance * Fresnel(wi.m) * D(m) * G(wi) G(wo) / (4 cos wi).
 *
 * `sample` draws a normal and reflects wi about it. The density is that of the normal over 4 wi.m. Samples
 * are detached, or attached where the metal is smooth enough (bsdf_class.attached). */
#include "render/bsdf/metal.h"
#include "render/bsdf/microfacet.h"

static bl_result roughconductor_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(microfacet_check(o, err));
    TRY(microfacet_check_alpha(o, err));
    TRY(microfacet_check_attached(o, err));
    return metal_load(s, o, err);
}

static ir_ref roughconductor_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    facet a = facet_reflecting(t, ctx->wi, wo);
    microfacets facets = microfacets_of(ctx->n, microfacet_alpha(ctx));
    ir_ref pdf = microfacet_pdf(t, &facets, a.wi, a.m);
    return ir_select(f, a.valid, ir_div(f, pdf, ir_mul(f, t_f32(t, 4), a.wi_m)), t_f32(t, 0));
}

/* The direction of wi after reflection about a sampled facet. */
static vec3 sampled(const bsdf_context *ctx, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_ref zero = t_f32(t, 0);
    vec3 from = v3_select(t, ir_gt(t->f, ctx->wi.z, zero), ctx->wi, v3(zero, zero, t_f32(t, 1)));
    microfacets facets = microfacets_of(ctx->n, microfacet_alpha(ctx));
    vec3 m = microfacet_sample(t, &facets, from, u1, u2);
    return v3_sub(t, v3_scale(t, m, ir_mul(t->f, t_f32(t, 2), v3_dot(t, from, m))), from);
}

static bsdf_sample roughconductor_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    (void)u_lobe;
    vec3 wo = sampled(ctx, u1, u2);
    return (bsdf_sample){
        .wo = wo,
        .pdf = roughconductor_pdf(ctx, wo),
        .eta = t_f32(t, 1),
        .delta = ir_bool(t->f, false),
        .lobe = t_u32(t, 0),
    };
}

static bsdf_attached roughconductor_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    vec3 wo = sampled(ctx, draw->u1, draw->u2);
    return (bsdf_attached){wo, roughconductor_pdf(ctx, wo)};
}

static bsdf_polarized roughconductor_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    vec2 alpha = microfacet_alpha(ctx);
    facet a = facet_reflecting(t, ctx->wi, wo);
    color eta = bsdf_texture(ctx, "eta"), k = bsdf_texture(ctx, "k");
    color factor = color_scale(t, bsdf_texture(ctx, "specular_reflectance"),
                               microfacet_reflection(t, microfacet_kind_of(ctx->n), alpha, &a));
    factor = color_select(t, a.valid, factor, color_all(t_f32(t, 0)));
    bsdf_polarized r = {.axis = bsdf_specular_axis(t, a.m, a.wi)};
    for (uint32_t c = 0; c < t->channels; c++) {
        mueller mirror = specular_reflection_conductor(t, a.wi_m, eta.c[c], k.c[c]);
        r.m[c] = mueller_scale(t, &mirror, factor.c[c]);
    }
    return r;
}

static color roughconductor_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    vec2 alpha = microfacet_alpha(ctx);
    facet a = facet_reflecting(t, ctx->wi, wo);
    ir_ref facets = microfacet_reflection(t, microfacet_kind_of(ctx->n), alpha, &a);
    color eta = bsdf_texture(ctx, "eta"), k = bsdf_texture(ctx, "k");
    COLOR_EACH(reflectance, fresnel_conductor(t, a.wi_m, eta.c[c], k.c[c]));
    color value =
        color_scale(t, color_mul(t, bsdf_texture(ctx, "specular_reflectance"), reflectance), facets);
    return color_select(t, a.valid, value, color_all(t_f32(t, 0)));
}

static const plugin_param roughconductor_params[] = {
    {"material", PLUGIN_STRING, 0, "none", 0, 0, "name of a metal, as Au, in place of eta and k"},
    {"eta", PLUGIN_TEXTURED, 0, "0", 0, 1e6, "real part of the index of refraction"},
    {"k", PLUGIN_TEXTURED, 0, "1", 0, 1e6, "extinction, its imaginary part"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the reflection"},
    {"distribution", PLUGIN_STRING, 0, "beckmann", 0, 0, "of the normals: beckmann or ggx"},
    {"alpha", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_OR_NEXT, "0.1", 0, 1e6, "roughness, at least 0.0001"},
    {"alpha_u", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6,
     "in place of alpha, with alpha_v: roughness along dp/du"},
    {"alpha_v", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6, "roughness across that"},
    {"sample_visible", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample only the normals that are seen"},
    MICROFACET_ATTACHED_PARAM,
};
const bsdf_class bsdf_roughconductor = {
    .base = {.plugin = {PLUGIN_BSDF, "roughconductor", PLUGIN_TABLE(roughconductor_params), PLUGIN_NONE,
                        "rough metal, one-sided"},
             .load = roughconductor_load,
             .mark = microfacet_mark,
             .variant = microfacet_attached_variant,
             .needs = microfacet_needs},
    .sample = roughconductor_sample,
    .pdf = roughconductor_pdf,
    .value = roughconductor_value,
    .polarized = roughconductor_polarized,
    .attached = roughconductor_attached,
    .roughness = microfacet_roughness,
    .attaches = microfacet_attaches,
    .directions_move_by_uv = microfacet_directions_move_by_uv,
};
