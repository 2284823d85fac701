/* SPDX-License-Identifier: BSD-3-Clause
 * Mitsuba's plastic for polarised light; one-sided (Baek, Jeon, Tong and Kim
 * 2018). It has a coat of microfacets and a diffuse base. Light reaches and leaves the base through a smooth
 * interface. It crosses that interface once each way, and its solid angle is not compressed. With m halfway
 * between wi and wo,
 *
 *     f cos = specular_reflectance * F(wi.m) D(m) G(wi) G(wo) / (4 cos wi)
 *           + diffuse_reflectance * (1 - F(wi)) (1 - F(wo)) * cos / pi.
 *
 * With polarisation F of the coat is the matrix of a reflection at m. The base depolarises, between two
 * matrices of the interface: so what leaves it is polarised, and it takes unlike shares of polarised light.
 *
 * The index is int_ior over ext_ior, or the texture eta in their place. Samples of the base are detached,
 * those of the coat may be attached (coat.h). */
#include "render/bsdf/coat.h"

static const float inverse_pi = 0.31830988618379067154f;

static bl_result pplastic_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(microfacet_check(o, err));
    TRY(microfacet_check_alpha(o, err));
    TRY(microfacet_check_attached(o, err));
    const scene_value *eta = scene_get(o, "eta");
    if (!eta->given)
        return interface_load(s, o, false, err);
    if (scene_get(o, "int_ior")->given || scene_get(o, "ext_ior")->given)
        return scene_error(err, BL_ERROR_SCENE, eta->where,
                           "pplastic: give either \"eta\" or \"int_ior\" and \"ext_ior\", not both");
    return BL_OK;
}

static uint32_t pplastic_variant(const render_scene *s, const scene_object *o)
{
    return microfacet_attached_variant(s, o) | (microfacet_attaches(s, o) ? COAT_ATTACHES : 0u);
}

static void pplastic_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    if (!scene_get(o, "eta")->given)
        interface_extra(p, o, words);
}

static ir_ref index_of(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return plan_given(ctx->n, "eta") ? bsdf_texture_1(ctx, "eta") : interface_eta(t, ctx->n, ctx->record);
}

/* The probability of the coat's lobe, by the colours alone. Neither lobe is left out while its colour is
 * differentiated (docs/theory/support.md). */
static ir_ref specular_probability(const bsdf_context *differentiated)
{
    tracer deciding = t_deciding(differentiated->t), *t = &deciding;
    bsdf_context held = bsdf_read_by(differentiated, t), *ctx = &held;
    ir_ref coat = color_sum(t, bsdf_texture(ctx, "specular_reflectance")),
           base = color_sum(t, bsdf_texture(ctx, "diffuse_reflectance"));
    ir_ref share = t_ratio(t, coat, ir_add(t->f, coat, base));
    return plan_probability(t, ctx->n, "specular_reflectance",
                            plan_probability(t, ctx->n, "diffuse_reflectance", share));
}

static ir_ref pplastic_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    facet a = facet_reflecting(t, ctx->wi, wo);
    return coat_pdf(t, ctx->n, microfacet_alpha(ctx), specular_probability(ctx), &a);
}

static bsdf_sample pplastic_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_ref p = specular_probability(ctx);
    vec3 wo = coat_sample(ctx, microfacet_alpha(ctx), p, u_lobe, u1, u2);
    return (bsdf_sample){
        .wo = wo,
        .pdf = pplastic_pdf(ctx, wo),
        .eta = t_f32(t, 1),
        .delta = ir_bool(t->f, false),
        .lobe = coat_lobe(t, ctx->n, p, u_lobe),
    };
}

static bsdf_attached pplastic_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    ir_ref p = specular_probability(ctx);
    return coat_attached(ctx, microfacet_alpha(ctx), p, draw);
}

static ir_ref pplastic_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    return coat_roughness(t, ctx->n, microfacet_alpha(ctx), lobe);
}

static color pplastic_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    ir_func *f = t->f;
    facet a = facet_reflecting(t, ctx->wi, wo);
    ir_ref one = t_f32(t, 1), eta = index_of(ctx);
    ir_ref coat = ir_mul(f, fresnel_dielectric(t, a.wi_m, eta).reflectance,
                         microfacet_reflection(t, microfacet_kind_of(ctx->n), microfacet_alpha(ctx), &a));
    ir_ref enters = ir_sub(f, one, fresnel_dielectric(t, a.wi.z, eta).reflectance),
           leaves = ir_sub(f, one, fresnel_dielectric(t, a.wo.z, eta).reflectance);
    ir_ref scale = ir_mul(f, ir_mul(f, enters, leaves), ir_mul(f, a.wo.z, t_f32(t, inverse_pi)));
    color specular = bsdf_texture(ctx, "specular_reflectance"),
          base = bsdf_texture(ctx, "diffuse_reflectance");
    COLOR_EACH(value, t_mad(t, base.c[c], scale, ir_mul(f, specular.c[c], coat)));
    return color_select(t, a.valid, value, color_all(t_f32(t, 0)));
}

/* The light that the base sends on: matrices of the interface at n on the way in and out. basis: across wi
 * and wo, to which the result refers on both sides. */
static mueller base_polarized(const bsdf_context *ctx, const facet *a, ir_ref eta, vec3 basis)
{
    tracer *t = ctx->t;
    ir_ref zero = t_f32(t, 0);
    vec3 n = v3(zero, zero, t_f32(t, 1)), travels = v3_neg(t, a->wo);
    mueller enters = specular_transmission(t, a->wo.z, eta), leaves = specular_transmission(t, a->wi.z, eta),
            body = mueller_depolarizer(ir_mul(t->f, a->wo.z, t_f32(t, inverse_pi)));
    body = mueller_mul(t, &body, &enters);
    body = mueller_mul(t, &leaves, &body);
    const stokes_side in = {travels, bsdf_specular_axis(t, n, a->wo), basis},
                      out = {a->wi, bsdf_specular_axis(t, n, a->wi), basis};
    return mueller_between(t, &body, &in, &out);
}

static bsdf_polarized pplastic_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    facet a = facet_reflecting(t, ctx->wi, wo);
    ir_ref eta = index_of(ctx);
    bsdf_polarized r = {.axis = bsdf_specular_axis(t, a.m, a.wi)};
    mueller mirror = specular_reflection(t, a.wi_m, eta), base = base_polarized(ctx, &a, eta, r.axis);
    ir_ref facets = microfacet_reflection(t, microfacet_kind_of(ctx->n), microfacet_alpha(ctx), &a);
    color none = color_all(t_f32(t, 0)),
          specular = color_select(t, a.valid, bsdf_texture(ctx, "specular_reflectance"), none),
          diffuse = color_select(t, a.valid, bsdf_texture(ctx, "diffuse_reflectance"), none);
    for (uint32_t c = 0; c < t->channels; c++) {
        mueller coat = mueller_scale(t, &mirror, ir_mul(t->f, specular.c[c], facets)),
                body = mueller_scale(t, &base, diffuse.c[c]);
        r.m[c] = mueller_add(t, &coat, &body);
    }
    return r;
}

static const plugin_param pplastic_params[] = {
    {"diffuse_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "albedo of the base"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0,
     "factor of the coat's reflection"},
    {"int_ior", PLUGIN_FLOAT_OR_NAME, 0, "polypropylene", 1e-3, 1e3,
     "index of refraction of the coat, or the name of a material"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, 0, "air", 1e-3, 1e3, "index of refraction outside"},
    {"eta", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 1e-3, 1e3,
     "in place of both: the one over the other"},
    {"distribution", PLUGIN_STRING, 0, "beckmann", 0, 0, "of the normals: beckmann or ggx"},
    {"alpha", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_OR_NEXT, "0.1", 0, 1e6, "roughness, at least 0.0001"},
    {"alpha_u", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6,
     "in place of alpha, with alpha_v: roughness along dp/du"},
    {"alpha_v", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6, "roughness across that"},
    {"sample_visible", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample only the normals that are seen"},
    MICROFACET_ATTACHED_PARAM,
};
const bsdf_class bsdf_pplastic = {
    .base = {.plugin = {PLUGIN_BSDF, "pplastic", PLUGIN_TABLE(pplastic_params), PLUGIN_NONE,
                        "rough plastic for polarised light, one-sided"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta.value",
             .load = pplastic_load,
             .extra = pplastic_extra,
             .mark = microfacet_mark,
             .variant = pplastic_variant,
             .needs = microfacet_needs},
    .sample = pplastic_sample,
    .pdf = pplastic_pdf,
    .value = pplastic_value,
    .polarized = pplastic_polarized,
    .attached = pplastic_attached,
    .mixes = true,
    .roughness = pplastic_roughness,
    .attaches = microfacet_attaches,
    .directions_move_by_uv = microfacet_directions_move_by_uv,
};
