/* SPDX-License-Identifier: BSD-3-Clause
 * A rough interface between two dielectrics: microfacets m that are smooth interfaces (Walter et al. 2007).
 * Seen from the side of wi, where n is the index of the other side over that of this one and F the Fresnel
 * reflectance at wi.m,
 *
 *     reflection    f cos = specular_reflectance * F(m) D(m) G(wi) G(wo) / (4 cos wi), m along wi + wo;
 *     transmission  f cos = specular_transmittance * (1-F(m)) D(m) G(wi) G(wo) |wi.m wo.m| / (cos wi |h|^2),
 *                   m along h = wi + n wo.
 *
 * The transmission is that of radiance: the n^2 of the half vector's Jacobian cancels the 1 / n^2 of the
 * compressed solid angle. `sample` draws a normal and then chooses by F there whether light is reflected.
 *
 * At given directions the value is smooth in alpha and eta, except for a step at GGX's vertical facets. The
 * place of that step moves with eta. While eta is differentiated, the step is sampled as a discrete lobe of
 * value 0 (refraction_limit.h), so that gradients are complete. Samples are detached, or attached where the
 * surface is smooth enough (bsdf_class.attached). */
#include "render/bsdf/refraction_limit.h"

static bl_result roughdielectric_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(microfacet_check(o, err));
    TRY(microfacet_check_alpha(o, err));
    TRY(microfacet_check_attached(o, err));
    const bool curves = interface_disperses(s, o);
    TRY(interface_load(s, o, curves || microfacet_attaches(s, o), err)); /* a curve turns wavelengths apart */
    s->disperses_rough |= curves;
    const render_parameter *eta = &s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)];
    for (uint32_t k = 0; k < eta->count; k++)
        if (s->values.data[eta->offset + k] == 1)
            return scene_error(
                err, BL_ERROR_SCENE, o->where,
                "%s: \"int_ior\" and \"ext_ior\" must differ; a surface that is not there is \"null\"",
                o->cls->name);
    return BL_OK;
}

static ir_ref eta_seen_from(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return facet_index(t, interface_eta(t, ctx->n, ctx->record), ctx->wi);
}

static facet facet_at(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    tracer deciding = t_deciding(t);
    bsdf_context decided = bsdf_read_by(ctx, &deciding);
    ir_ref index = eta_seen_from(ctx);
    return facet_between(t, index, t->frozen ? eta_seen_from(&decided) : index, ctx->wi, wo);
}

/* The probability that a facet reflects. At the critical angle light begins to cross. What crosses grows from
 * 0 like a root, with a derivative by eta that has no bound. If crossing were chosen by its share alone, the
 * variance of the gradient would be infinite (docs/theory/support.md). */
static ir_ref reflection_probability(tracer *t, const class_node *n, const fresnel *at)
{
    ir_ref crosses = ir_ne(t->f, at->cos_t, t_f32(t, 0));
    return ir_select(t->f, crosses, plan_probability(t, n, "eta", at->reflectance), at->reflectance);
}

/* Whether the limit of refraction is sampled. */
static bool has_refraction_limit(const class_node *n)
{
    return plan_wants(n, "eta") && microfacet_kind_of(n) == MICROFACET_GGX;
}

/* The probability that a sample is of the limit. from: wi, turned to the side of +z. */
static ir_ref limit_probability(const bsdf_context *ctx, vec3 from, ir_ref index)
{
    tracer *t = ctx->t;
    vec2 alpha = microfacet_alpha(ctx);
    return refraction_limit_probability(t, microfacet_detached(t, ctx->n, alpha), index, alpha, from);
}

/* The normal of a facet. from: wi, turned to the side of +z. index: far side over near side. */
static vec3 sampled_normal(const bsdf_context *ctx, vec3 from, ir_ref index, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    microfacets facets = microfacets_of(ctx->n, microfacet_alpha(ctx));
    if (!plan_wants(ctx->n, "eta"))
        return microfacet_sample(t, &facets, from, u1, u2);
    ir_ref detached = microfacet_detached(t, ctx->n, facets.alpha);
    facet_critical near = facet_critical_normal(t, detached, index, from, u1, u2);
    return v3_select(t, near.chosen, near.m, microfacet_sample(t, &facets, from, near.rest, u2));
}

static ir_ref normal_density(const bsdf_context *ctx, const facet *a)
{
    tracer *t = ctx->t;
    microfacets facets = microfacets_of(ctx->n, microfacet_alpha(ctx));
    ir_ref usual = microfacet_pdf(t, &facets, a->wi, a->m);
    return plan_wants(ctx->n, "eta")
               ? facet_critical_density(t, microfacet_detached(t, ctx->n, facets.alpha), a, usual)
               : usual;
}

/* |cos| of wo to the facet's normal, by which the density of a reflection is divided. For light that is
 * refracted along the facet it can be exactly 0. The density of a reflection is not used there, but its
 * derivative would still be 0 / 0. */
static ir_ref leaving_cosine(tracer *t, const facet *a)
{
    ir_ref cosine = ir_abs(t->f, a->wo_m);
    return t->differentiated ? ir_select(t->f, ir_gt(t->f, cosine, t_f32(t, 0)), cosine, t_f32(t, 1))
                             : cosine;
}

static ir_ref roughdielectric_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    facet a = facet_at(ctx, wo);
    ir_ref of_normal = normal_density(ctx, &a);
    fresnel at = fresnel_dielectric(t, a.wi_m, a.n);
    ir_ref p = reflection_probability(t, ctx->n, &at), one = t_f32(t, 1);
    ir_ref reflected = ir_div(f, p, ir_mul(f, t_f32(t, 4), leaving_cosine(t, &a)));
    ir_ref refracted =
        ir_mul(f, ir_sub(f, one, p), ir_div(f, ir_mul(f, t_sqr(t, a.n), ir_abs(f, a.wo_m)), a.h2));
    ir_ref density = ir_mul(f, of_normal, ir_select(f, a.reflects, reflected, refracted));
    if (has_refraction_limit(ctx->n))
        density = ir_mul(f, density, ir_sub(f, one, limit_probability(ctx, a.wi, a.n)));
    return ir_select(f, a.valid, density, t_f32(t, 0));
}

/* The density of wo, given the choice between reflection and refraction. It is that of attached samples.
 * Where samples are attached, the limit of refraction is not sampled. */
static ir_ref density_given(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    facet a = facet_at(ctx, wo);
    ir_ref of_normal = normal_density(ctx, &a);
    ir_ref reflected = ir_div(f, t_f32(t, 0.25f), leaving_cosine(t, &a));
    ir_ref refracted = ir_div(f, ir_mul(f, t_sqr(t, a.n), ir_abs(f, a.wo_m)), a.h2);
    return ir_select(f, a.valid, ir_mul(f, of_normal, ir_select(f, a.reflects, reflected, refracted)),
                     t_f32(t, 0));
}

static bsdf_attached roughdielectric_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    vec3 from = facet_flipped(t, ctx->wi, ctx->wi);
    from.z = ir_max(f, from.z, t_f32(t, 1e-7f));
    ir_ref index = eta_seen_from(ctx);
    vec3 m = sampled_normal(ctx, from, index, draw->u1, draw->u2);
    ir_ref cosine = v3_dot(t, from, m), reflects = ir_gt(f, ir_mul(f, ctx->wi.z, draw->wo.z), t_f32(t, 0));
    fresnel at = fresnel_dielectric(t, cosine, index);
    vec3 wo = facet_flipped(t, ctx->wi, facet_scatter(t, from, m, cosine, &at, reflects).wo);
    return (bsdf_attached){wo, density_given(ctx, wo)};
}

static bsdf_sample roughdielectric_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    vec3 from = facet_flipped(t, ctx->wi, ctx->wi);
    from.z = ir_max(f, from.z, t_f32(t, 1e-7f));
    ir_ref index = eta_seen_from(ctx);
    bsdf_sample r = {.delta = ir_bool(f, false), .lobe = t_u32(t, 0)};
    ir_ref chance = {0};
    if (has_refraction_limit(ctx->n)) {
        chance = limit_probability(ctx, from, index);
        r.delta = refraction_limit_choose(t, chance, &u_lobe);
    }
    vec3 m = sampled_normal(ctx, from, index, u1, u2);
    ir_ref cosine = v3_dot(t, from, m);
    fresnel at = fresnel_dielectric(t, cosine, index);
    ir_ref reflects = ir_lt(f, u_lobe, reflection_probability(t, ctx->n, &at));
    facet_sample s = facet_scatter(t, from, m, cosine, &at, reflects);
    r.wo = facet_flipped(t, ctx->wi, s.wo);
    r.pdf = ir_select(f, s.right, roughdielectric_pdf(ctx, r.wo), t_f32(t, 0));
    r.eta = ir_select(f, reflects, t_f32(t, 1), at.eta_it);
    if (has_refraction_limit(ctx->n))
        refraction_limit_sample(ctx, &r, chance, index, from, u1);
    return r;
}

/* D(m) G(wi) G(wo) / cos wi, which reflection and transmission have in common. */
static ir_ref facets_at(const bsdf_context *ctx, const facet *a)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    vec2 alpha = microfacet_alpha(ctx);
    ir_ref seen = ir_mul(f, microfacet_visible(t, microfacet_kind_of(ctx->n), alpha, a->wi),
                         microfacet_visible(t, microfacet_kind_of(ctx->n), alpha, a->wo));
    return ir_div(f, ir_mul(f, microfacet_distribution(t, microfacet_kind_of(ctx->n), alpha, a->m), seen),
                  a->wi.z);
}

static color refracted_at(const bsdf_context *ctx, const facet *a, ir_ref reflectance)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref bent = ir_div(f, ir_abs(f, ir_mul(f, a->wi_m, a->wo_m)), a->h2);
    return color_scale(t, bsdf_texture(ctx, "specular_transmittance"),
                       ir_mul(f, ir_sub(f, t_f32(t, 1), reflectance), bent));
}

/* The value of the limit of refraction. It is 0 and has a derivative by eta. Everything except the eta by
 * which the domain grows is detached. */
static color refraction_limit_value(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    tracer deciding = t_deciding(t);
    bsdf_context differentiated = *ctx, detached = bsdf_read_by(ctx, &deciding);
    differentiated.wi = detached.wi = v3_detach(t, ctx->wi), wo = v3_detach(t, wo);
    facet a = refraction_limit_facet(t, eta_seen_from(&detached), detached.wi, wo);
    color refracted = refracted_at(&detached, &a, fresnel_dielectric(t, a.wi_m, a.n).reflectance);
    ir_ref growth = ir_mul(t->f, facets_at(&detached, &a),
                           refraction_limit_growth(t, &a, eta_seen_from(&differentiated)));
    return color_select(t, a.valid, color_scale(t, refracted, growth), color_all(t_f32(t, 0)));
}

static color roughdielectric_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)lobe;
    ir_func *f = t->f;
    facet a = facet_at(ctx, wo);
    ir_ref reflectance = fresnel_dielectric(t, a.wi_m, a.n).reflectance;
    color reflected =
        color_scale(t, bsdf_texture(ctx, "specular_reflectance"), ir_mul(f, reflectance, t_f32(t, 0.25f)));
    color refracted = refracted_at(ctx, &a, reflectance);
    color value = color_scale(t, color_select(t, a.reflects, reflected, refracted), facets_at(ctx, &a));
    value = color_select(t, a.valid, value, color_all(t_f32(t, 0)));
    return has_refraction_limit(ctx->n) ? color_select(t, delta, refraction_limit_value(ctx, wo), value)
                                        : value;
}

static const plugin_param roughdielectric_params[] = {
    {"int_ior", PLUGIN_FLOAT_OR_NAME, PLUGIN_CURVE, "bk7", 1e-3, 1e3,
     "index of refraction below the surface: a number, a material's name, or a <spectrum> of samples"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, PLUGIN_CURVE, "air", 1e-3, 1e3,
     "index of refraction on the side of the normal"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the reflection"},
    {"specular_transmittance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the transmission"},
    {"distribution", PLUGIN_STRING, 0, "beckmann", 0, 0, "of the normals: beckmann or ggx"},
    {"alpha", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_OR_NEXT, "0.1", 0, 1e6, "roughness, at least 0.0001"},
    {"alpha_u", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6,
     "in place of alpha, with alpha_v: roughness along dp/du"},
    {"alpha_v", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6, "roughness across that"},
    {"sample_visible", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample only the normals that are seen"},
    MICROFACET_ATTACHED_PARAM,
};
const bsdf_class bsdf_roughdielectric = {
    .base = {.plugin = {PLUGIN_BSDF, "roughdielectric", PLUGIN_TABLE(roughdielectric_params), PLUGIN_NONE,
                        "rough glass, such as ground glass"},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta",
             .load = roughdielectric_load,
             .disperses = interface_disperses,
             .extra = interface_extra,
             .mark = microfacet_mark,
             .variant = microfacet_attached_variant,
             .needs = microfacet_needs},
    .transmits = true,
    .sample = roughdielectric_sample,
    .pdf = roughdielectric_pdf,
    .value = roughdielectric_value,
    .attached = roughdielectric_attached,
    .roughness = microfacet_roughness,
    .attaches = microfacet_attaches,
    .directions_move_by_uv = microfacet_directions_move_by_uv,
};
