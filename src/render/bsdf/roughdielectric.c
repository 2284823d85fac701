/* SPDX-License-Identifier: BSD-3-Clause
 * A rough interface between two dielectrics: microfacets m that are smooth interfaces (Walter et al. 2007). Seen from the side of wi, where
 * n is the index of the other side over that of this one and F the Fresnel reflectance at wi.m,
 *
 *     reflection    f cos = specular_reflectance   * F(m)     D(m) G(wi) G(wo) / (4 cos wi),                m along wi + wo;
 *     transmission  f cos = specular_transmittance * (1-F(m)) D(m) G(wi) G(wo) |wi.m wo.m| / (cos wi |h|^2),  m along h = wi + n wo.
 *
 * The second is for radiance: the n^2 of the half vector's Jacobian cancels the 1 / n^2 of the compressed solid angle. Sampled
 * by a normal, then by F there. At given directions all is smooth in alpha and eta, so their gradients are complete. */
#include "render/bsdf/fresnel.h"
#include "render/bsdf/microfacet.h"

static bl_result roughdielectric_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(microfacet_check(o, err));
    TRY(interface_load(s, o, NULL, err));
    const render_parameter *eta = &s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)];
    if (s->values.data[eta->offset] == 1)
        return scene_error(err, BL_ERROR_SCENE, o->where, "%s: \"int_ior\" and \"ext_ior\" must differ; a surface that is not there is \"null\"", o->cls->name);
    return BL_OK;
}

/* A pair of directions, turned (by -1 if need be) so that wi.z > 0, and the facet that connects them. */
typedef struct facet {
    ir_ref valid;    /* bool: there is one, and both see it from the right side; where not, stand-ins for which all is finite */
    ir_ref reflects; /* bool */
    ir_ref n;        /* index of the far side over the near one */
    vec3 wi, wo, m;  /* m.z > 0 */
    ir_ref wi_m, wo_m, h2; /* cosines, the second negative for transmission; |h|^2 */
} facet;

static ir_ref eta_seen_from(tracer *t, const class_node *n, ir_ref record, vec3 wi)
{
    ir_ref eta = interface_eta(t, n, record);
    return ir_select(t->f, ir_ge(t->f, wi.z, t_f32(t, 0)), eta, ir_div(t->f, t_f32(t, 1), eta));
}

static vec3 turned(tracer *t, vec3 wi, vec3 v) { return v3_select(t, ir_ge(t->f, wi.z, t_f32(t, 0)), v, v3_neg(t, v)); }

static facet facet_between(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    facet a = {.n = eta_seen_from(t, n, record, wi), .wi = turned(t, wi, wi), .wo = turned(t, wi, wo)};
    a.reflects = ir_gt(f, a.wo.z, zero);
    vec3 up = v3(zero, zero, one);
    ir_ref oblique = ir_and(f, ir_gt(f, a.wi.z, zero), ir_ne(f, a.wo.z, zero));
    vec3 h = v3_add(t, a.wi, v3_scale(t, a.wo, ir_select(f, a.reflects, one, a.n)));
    h = v3_select(t, ir_lt(f, h.z, zero), v3_neg(t, h), h);
    a.valid = ir_and(f, oblique, ir_gt(f, h.z, zero));
    ir_ref wi_h = v3_dot(t, a.wi, h), wo_h = v3_dot(t, a.wo, h);
    a.valid = ir_and(f, a.valid, ir_and(f, ir_gt(f, wi_h, zero), ir_select(f, a.reflects, ir_gt(f, wo_h, zero), ir_lt(f, wo_h, zero))));
    a.wi = v3_select(t, a.valid, a.wi, up), a.wo = v3_select(t, a.valid, a.wo, up), h = v3_select(t, a.valid, h, up);
    a.h2 = v3_dot(t, h, h);
    a.m = v3_scale(t, h, ir_div(f, one, ir_sqrt(f, a.h2)));
    a.wi_m = v3_dot(t, a.wi, a.m), a.wo_m = v3_dot(t, a.wo, a.m);
    return a;
}

/* Of reflection at a facet. Where light begins to cross, at the critical angle, what crosses grows like a root: from 0, but with a derivative by
 * eta without bound. Chosen by its share alone that would have an infinite variance (estimators.md 4). */
static ir_ref reflection_probability(tracer *t, const class_node *n, const fresnel *at)
{
    ir_ref crosses = ir_ne(t->f, at->cos_t, t_f32(t, 0));
    return ir_select(t->f, crosses, plan_probability(t, n, "eta", at->reflectance), at->reflectance);
}

static ir_ref roughdielectric_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv)
{
    ir_func *f = t->f;
    facet a = facet_between(t, n, record, wi, wo);
    ir_ref of_normal = microfacet_pdf(t, microfacet_kind_of(n), microfacet_visible_of(n), microfacet_alpha(t, n, record, uv), a.wi, a.m);
    fresnel at = fresnel_dielectric(t, a.wi_m, a.n);
    ir_ref p = reflection_probability(t, n, &at), one = t_f32(t, 1);
    ir_ref reflected = ir_div(f, p, ir_mul(f, t_f32(t, 4), ir_abs(f, a.wo_m)));
    ir_ref refracted = ir_mul(f, ir_sub(f, one, p), ir_div(f, ir_mul(f, t_sqr(t, a.n), ir_abs(f, a.wo_m)), a.h2));
    return ir_select(f, a.valid, ir_mul(f, of_normal, ir_select(f, a.reflects, reflected, refracted)), t_f32(t, 0));
}

static bsdf_sample roughdielectric_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    vec3 from = turned(t, wi, wi);
    from.z = ir_max(f, from.z, t_f32(t, 1e-7f));
    vec3 m = microfacet_sample(t, microfacet_kind_of(n), microfacet_visible_of(n), microfacet_alpha(t, n, record, uv), from, u1, u2);
    ir_ref one = t_f32(t, 1), zero = t_f32(t, 0), cosine = v3_dot(t, from, m);
    fresnel at = fresnel_dielectric(t, cosine, eta_seen_from(t, n, record, wi));
    ir_ref reflects = ir_lt(f, u_lobe, reflection_probability(t, n, &at));
    ir_ref along = ir_select(f, reflects, ir_add(f, cosine, cosine), t_mad(t, cosine, at.eta_ti, at.cos_t));
    vec3 wo = v3_sub(t, v3_scale(t, m, along), v3_scale(t, from, ir_select(f, reflects, one, at.eta_ti)));
    /* a reflection that ends up below the surface, or a refraction above it, is lost */
    ir_ref right = ir_and(f, ir_gt(f, cosine, zero), ir_select(f, reflects, ir_gt(f, wo.z, zero), ir_lt(f, wo.z, zero)));
    wo = turned(t, wi, wo);
    return (bsdf_sample){.wo = wo,
                         .pdf = ir_select(f, right, roughdielectric_pdf(t, n, record, wi, wo, uv), zero),
                         .eta = ir_select(f, reflects, one, at.eta_it),
                         .delta = ir_bool(f, false),
                         .lobe = t_u32(t, 0)};
}

static color roughdielectric_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv, ir_ref delta, ir_ref lobe)
{
    (void)delta, (void)lobe;
    ir_func *f = t->f;
    facet a = facet_between(t, n, record, wi, wo);
    ir_ref alpha = microfacet_alpha(t, n, record, uv), one = t_f32(t, 1);
    ir_ref seen = ir_mul(f, microfacet_visible(t, microfacet_kind_of(n), alpha, a.wi), microfacet_visible(t, microfacet_kind_of(n), alpha, a.wo));
    ir_ref facets = ir_div(f, ir_mul(f, microfacet_distribution(t, microfacet_kind_of(n), alpha, a.m), seen), a.wi.z);
    ir_ref reflectance = fresnel_dielectric(t, a.wi_m, a.n).reflectance;
    ir_ref bent = ir_div(f, ir_abs(f, ir_mul(f, a.wi_m, a.wo_m)), a.h2);
    color reflected = color_scale(t, plan_texture(t, n, record, "specular_reflectance", uv), ir_mul(f, reflectance, t_f32(t, 0.25f)));
    color refracted = color_scale(t, plan_texture(t, n, record, "specular_transmittance", uv), ir_mul(f, ir_sub(f, one, reflectance), bent));
    color value = color_scale(t, color_select(t, a.reflects, reflected, refracted), facets);
    return color_select(t, a.valid, value, color_all(t_f32(t, 0)));
}

static const plugin_param roughdielectric_params[] = {
    {"int_ior", PLUGIN_FLOAT_OR_NAME, 0, "bk7", 1e-3, 1e3, "index of refraction below the surface, or the name of a material"},
    {"ext_ior", PLUGIN_FLOAT_OR_NAME, 0, "air", 1e-3, 1e3, "index of refraction on the side of the normal"},
    {"specular_reflectance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the reflection"},
    {"specular_transmittance", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "1", 0, 0, "factor of the transmission"},
    {"distribution", PLUGIN_STRING, 0, "beckmann", 0, 0, "of the normals: beckmann or ggx"},
    {"alpha", PLUGIN_TEXTURED, PLUGIN_SCALAR, "0.1", 0, 1e6, "roughness, at least 0.0001"},
    {"alpha_u", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6, "not implemented yet"},
    {"alpha_v", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_ABSENT, NULL, 0, 1e6, "not implemented yet"},
    {"sample_visible", PLUGIN_BOOLEAN, 0, "true", 0, 0, "sample the normals that are seen; ggx only"},
};
const bsdf_class bsdf_roughdielectric = {
    .base = {.plugin = {PLUGIN_BSDF, "roughdielectric", roughdielectric_params, 9, NULL, 0, "rough glass, ground glass .."},
             .extra_words = INTERFACE_WORDS,
             .data_name = "eta",
             .load = roughdielectric_load,
             .extra = interface_extra,
             .variant = microfacet_variant},
    .transmits = true,
    .sample = roughdielectric_sample,
    .pdf = roughdielectric_pdf,
    .value = roughdielectric_value,
};
