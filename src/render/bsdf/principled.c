/* SPDX-License-Identifier: BSD-3-Clause
 * Disney's principled material, as Mitsuba arranges it (terms: principled_lobes.h). Seen from above, f cos is the sum of
 *
 *     reflection    F D G / (4 cos wi), F mixed of a dielectric's, a metal's (base_color at normal incidence) and a tinted one;
 *     transmission  sqrt(base_color) glass (1 - F) D G |wi.m wo.m| / (cos wi |h|^2), for radiance, as in roughdielectric.c;
 *     clearcoat     clearcoat / 4 F D G cos wo with a fixed index, D of Berry's kind (GTR1), G of a fixed roughness;
 *     base          (1 - metallic) (1 - spec_trans) diffuse + (1 - metallic) sheen,
 *
 * with glass = (1 - metallic) spec_trans; from below it is glass, nothing else.
 *
 * Sampled: a facet, the base by its cosine, or the coat, by the rates and weights; a facet then reflects or transmits by glass and F. The weights
 * of parts may be 0 while they are differentiated: then no part is left out (estimators.md 4).
 *
 * The index is the parameter `eta` or, where that is not given, `specular`, which says the reflectance at normal incidence: 0.08 specular. */
#include "render/bsdf/principled_lobes.h"

static const float pi = 3.14159265358979323846f;

enum { WORD_ETA, WORD_ETA_GRADIENT, WORD_FACET_RATE, WORD_COAT_RATE, WORD_BASE_RATE, WORDS };
/* Of the class. */
enum { INDEX_IS_ETA = 1 };

/* ---- loading ---- */

static uint32_t principled_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return scene_get(o, "eta")->given ? INDEX_IS_ETA : 0;
}

/* An index of 1 has no refraction to speak of: as Mitsuba does, it is moved a little where there is transmission. */
static bl_result principled_load(render_scene *s, const scene_object *o, bl_error *err)
{
    static const uint32_t one = 1;
    const scene_value *eta = scene_get(o, "eta"), *specular = scene_get(o, "specular");
    if (eta->given && specular->given)
        return scene_error(err, BL_ERROR_SCENE, specular->where, "principled: give either \"eta\" or \"specular\", not both");
    bool transmits = !plan_part_is_zero(o, "spec_trans");
    float index = eta->given ? (float)eta->number : specular->given ? (float)specular->number : 0.5f;
    if (eta->given) {
        index = transmits && index == 1 ? 1.001f : index;
        render_add_parameter(s, o, PLAN_DATA_SLOT, 1, &one, 1e-3f, 1e3f, &index);
        return BL_OK;
    }
    index = transmits && index == 0 ? 1e-3f : index;
    uint32_t added = render_add_parameter(s, o, PLAN_DATA_SLOT, 1, &one, transmits ? 1e-3f : 0, 1, &index);
    render_parameter *p = &s->parameters.data[added];
    p->name = arena_printf(&s->memory, "%.*sspecular", (int)(strlen(p->name) - strlen("eta")), p->name);
    return BL_OK;
}

static void principled_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    words[WORD_ETA] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[WORD_ETA_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
    words[WORD_FACET_RATE] = float_word((float)scene_number(o, "main_specular_sampling_rate"));
    words[WORD_COAT_RATE] = float_word((float)scene_number(o, "clearcoat_sampling_rate"));
    words[WORD_BASE_RATE] = float_word((float)scene_number(o, "diffuse_reflectance_sampling_rate"));
}

/* ---- the material at a point ---- */

typedef struct index_of {
    ir_ref eta;
    ir_ref matched; /* bool: exactly 1, so that nothing is reflected */
} index_of;

/* With the reflectance at normal incidence q^2, eta = (1 + q) / (1 - q). At specular 0 the reflectance still has a derivative, which the
 * root would hide; the shift of 1e-7 keeps it, and is below the resolution of f32 where it matters. */
static index_of index_at(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), v = plan_load(t, n, record, n->extra_word + WORD_ETA, PLAN_DATA_SLOT, t_u32(t, 0));
    if (n->variant & INDEX_IS_ETA)
        return (index_of){v, ir_eq(f, v, one)};
    ir_ref q = ir_sqrt(f, ir_mul(f, t_f32(t, 0.08f), ir_add(f, v, t_f32(t, 1e-7f))));
    return (index_of){ir_div(f, ir_add(f, one, q), ir_sub(f, one, q)), ir_eq(f, v, t_f32(t, 0))};
}

/* Weights of the part that is neither metal nor glass, and of glass. */
typedef struct weights {
    ir_ref metallic, dielectric, base, glass;
} weights;

static weights weights_at(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), trans = plan_weight(t, n, record, "spec_trans", uv);
    weights w = {.metallic = plan_weight(t, n, record, "metallic", uv)};
    w.dielectric = ir_sub(f, one, w.metallic);
    w.base = ir_mul(f, w.dielectric, ir_sub(f, one, trans)), w.glass = ir_mul(f, w.dielectric, trans);
    return w;
}

static bool has_glass(const class_node *n) { return plan_has(n, "spec_trans"); }
static bool has_coat(const class_node *n) { return plan_has(n, "clearcoat"); }

static facet facet_of(tracer *t, const class_node *n, ir_ref eta, vec3 wi, vec3 wo)
{
    return has_glass(n) ? facet_between(t, facet_index(t, eta, wi), wi, wo) : facet_reflecting(t, wi, wo);
}

static vec2 alpha_at(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    return principled_alpha(t, n, record, uv, plan_texture_1(t, n, record, "roughness", uv));
}

/* ---- clearcoat (Burley 2012, section 5.4 and appendix B) ---- */

/* Roughness squared. */
static ir_ref coat_alpha2(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_ref gloss = plan_texture_1(t, n, record, "clearcoat_gloss", uv);
    return t_sqr(t, t_mad(t, gloss, t_f32(t, 0.001f - 0.1f), t_f32(t, 0.1f)));
}

static ir_ref coat_distribution(tracer *t, ir_ref alpha2, vec3 m)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), below = ir_sub(f, alpha2, one);
    ir_ref area = ir_mul(f, ir_mul(f, t_f32(t, pi), ir_log(f, alpha2)), t_mad(t, below, t_sqr(t, m.z), one));
    return ir_div(f, below, area);
}

/* Density D(m) m.z. */
static vec3 coat_normal(tracer *t, ir_ref alpha2, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), phi = ir_mul(f, u1, t_f32(t, 2 * pi));
    ir_ref power = ir_exp(f, ir_mul(f, ir_sub(f, one, u2), ir_log(f, alpha2)));
    ir_ref cos2 = ir_div(f, ir_sub(f, one, power), ir_sub(f, one, alpha2)), sine = t_safe_sqrt(t, ir_sub(f, one, cos2));
    return v3(ir_mul(f, sine, ir_cos(f, phi)), ir_mul(f, sine, ir_sin(f, phi)), t_safe_sqrt(t, cos2));
}

static ir_ref coat_value(tracer *t, const class_node *n, ir_ref record, vec2 uv, const facet *a, ir_ref eta)
{
    ir_func *f = t->f;
    ir_ref rough = t_f32(t, 0.25f);
    ir_ref seen = ir_mul(f, microfacet_visible(t, MICROFACET_GGX, (vec2){rough, rough}, a->wi),
                         microfacet_visible(t, MICROFACET_GGX, (vec2){rough, rough}, a->wo));
    ir_ref reflectance = schlick_reflectance(t, color_all(t_f32(t, 0.04f)), schlick_weight_between(t, a->wi_m, eta)).c[0];
    ir_ref facets = ir_mul(f, coat_distribution(t, coat_alpha2(t, n, record, uv), a->m), seen);
    ir_ref amount = ir_mul(f, plan_weight(t, n, record, "clearcoat", uv), t_f32(t, 0.25f));
    return ir_mul(f, ir_mul(f, amount, reflectance), ir_mul(f, facets, a->wo.z));
}

/* ---- sampling ---- */

/* The share, but within bounds where it depends on a weight that is differentiated. */
static ir_ref kept(tracer *t, const class_node *n, ir_ref share)
{
    return plan_probability(t, n, "metallic", plan_probability(t, n, "spec_trans", plan_probability(t, n, "clearcoat", share)));
}

typedef struct choice {
    ir_ref facet; /* probability of a facet */
    ir_ref base;  /* of the base, if it is no facet; else it is the coat */
} choice;

static choice choice_at(tracer *t, const class_node *n, ir_ref record, vec2 uv, vec3 wi)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), rate[3];
    for (uint32_t k = 0; k < 3; k++)
        rate[k] = t_real(t, record, n->extra_word + WORD_FACET_RATE + k);
    ir_ref base = ir_mul(f, weights_at(t, n, record, uv).base, rate[2]), others = base;
    choice c = {.base = one};
    if (has_coat(n)) {
        others = t_mad(t, ir_mul(f, t_f32(t, 0.25f), plan_weight(t, n, record, "clearcoat", uv)), rate[1], base);
        c.base = kept(t, n, t_ratio(t, base, others));
    }
    c.facet = kept(t, n, t_ratio(t, rate[0], ir_add(f, rate[0], others)));
    if (has_glass(n))
        c.facet = ir_select(f, ir_gt(f, wi.z, t_f32(t, 0)), c.facet, one);
    return c;
}

/* Probability that a facet reflects. Where light begins to cross see roughdielectric.c. */
static ir_ref reflection_probability(tracer *t, const class_node *n, ir_ref record, vec2 uv, vec3 wi, const fresnel *at)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), glass = weights_at(t, n, record, uv).glass;
    ir_ref above = ir_sub(f, one, ir_mul(f, glass, ir_sub(f, one, at->reflectance)));
    ir_ref share = ir_select(f, ir_gt(f, wi.z, t_f32(t, 0)), above, at->reflectance);
    ir_ref bounded = plan_probability(t, n, "metallic", plan_probability(t, n, "spec_trans", plan_probability(t, n, "eta", share)));
    return ir_select(f, ir_ne(f, at->cos_t, t_f32(t, 0)), bounded, share);
}

/* Whether normals near total reflection get a share (facet.h). */
static bool seeks_critical(const class_node *n) { return has_glass(n) && plan_wants(n, "eta"); }

static vec3 sampled_normal(tracer *t, const class_node *n, ir_ref eta, vec3 wi, vec3 from, vec2 alpha, ir_ref u1, ir_ref u2)
{
    if (!seeks_critical(n))
        return microfacet_sample(t, MICROFACET_GGX, true, alpha, from, u1, u2);
    facet_critical near = facet_critical_normal(t, ir_bool(t->f, true), facet_index(t, eta, wi), from, u1, u2);
    return v3_select(t, near.chosen, near.m, microfacet_sample(t, MICROFACET_GGX, true, alpha, from, near.rest, u2));
}

static ir_ref normal_density(tracer *t, const class_node *n, ir_ref record, const facet *a, vec2 uv)
{
    ir_ref usual = principled_normal_pdf(t, alpha_at(t, n, record, uv), a);
    return seeks_critical(n) ? facet_critical_density(t, ir_bool(t->f, true), a, usual) : usual;
}

static ir_ref principled_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1);
    facet a = facet_of(t, n, index_at(t, n, record).eta, wi, wo);
    choice c = choice_at(t, n, record, uv, wi);
    ir_ref of_facet = ir_mul(f, c.facet, normal_density(t, n, record, &a, uv)), no_facet = ir_sub(f, one, c.facet);
    ir_ref mirrored = ir_div(f, t_f32(t, 0.25f), ir_abs(f, a.wo_m)), reflects = one;
    if (has_glass(n)) {
        fresnel at = fresnel_dielectric(t, a.wi_m, a.n);
        reflects = reflection_probability(t, n, record, uv, wi, &at);
    }
    ir_ref reflected = ir_mul(f, ir_mul(f, of_facet, reflects), mirrored);
    if (has_coat(n)) {
        ir_ref normal = ir_mul(f, coat_distribution(t, coat_alpha2(t, n, record, uv), a.m), a.m.z);
        reflected = t_mad(t, ir_mul(f, no_facet, ir_sub(f, one, c.base)), ir_mul(f, normal, mirrored), reflected);
    }
    reflected = t_mad(t, ir_mul(f, no_facet, c.base), ir_mul(f, a.wo.z, t_f32(t, 1 / pi)), reflected);
    if (has_glass(n)) {
        ir_ref refracted = ir_div(f, ir_mul(f, t_sqr(t, a.n), ir_abs(f, a.wo_m)), a.h2);
        refracted = ir_mul(f, ir_mul(f, of_facet, ir_sub(f, one, reflects)), refracted);
        reflected = ir_select(f, a.reflects, reflected, refracted);
    }
    return ir_select(f, a.valid, reflected, t_f32(t, 0));
}

static bsdf_sample principled_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), front = ir_gt(f, wi.z, zero);
    choice c = choice_at(t, n, record, uv, wi);
    ir_ref is_facet = ir_lt(f, u_lobe, c.facet), left = t_ratio(t, ir_sub(f, u_lobe, c.facet), ir_sub(f, one, c.facet));
    vec3 from = has_glass(n) ? facet_turned(t, wi, wi) : v3_select(t, front, wi, v3(zero, zero, one));
    from.z = ir_max(f, from.z, t_f32(t, 1e-7f));
    ir_ref eta = index_at(t, n, record).eta;
    vec3 m = sampled_normal(t, n, eta, wi, from, alpha_at(t, n, record, uv), u1, u2);
    if (has_coat(n))
        m = v3_select(t, is_facet, m, coat_normal(t, coat_alpha2(t, n, record, uv), u1, u2));
    ir_ref cosine = v3_dot(t, from, m), reflects = ir_bool(f, true);
    fresnel at = {.eta_it = one, .eta_ti = one, .cos_t = zero};
    if (has_glass(n)) {
        at = fresnel_dielectric(t, cosine, facet_index(t, eta, wi));
        ir_ref share = reflection_probability(t, n, record, uv, wi, &at);
        reflects = ir_or(f, ir_not(f, is_facet), ir_lt(f, t_ratio(t, u_lobe, c.facet), share));
    }
    facet_sample s = facet_scatter(t, from, m, cosine, &at, reflects);
    if (has_glass(n))
        s.wo = facet_turned(t, wi, s.wo);
    ir_ref is_base = ir_not(f, is_facet);
    if (has_coat(n))
        is_base = ir_and(f, is_base, ir_lt(f, left, c.base));
    vec3 wo = v3_select(t, is_base, warp_cosine_hemisphere(t, u1, u2), s.wo);
    ir_ref pdf = principled_pdf(t, n, record, wi, wo, uv);
    return (bsdf_sample){.wo = wo,
                         .pdf = ir_select(f, ir_or(f, is_base, s.right), pdf, zero),
                         .eta = ir_select(f, reflects, one, at.eta_it),
                         .delta = ir_bool(f, false),
                         .lobe = t_u32(t, 0)};
}

/* ---- value ---- */

/* Of facets seen from above. Mitsuba's metals and tints reflect nothing, either, where the index is exactly 1. */
static color reflectance_above(tracer *t, const class_node *n, ir_ref record, vec2 uv, const facet *a, color base, ir_ref dielectric, index_of index)
{
    ir_func *f = t->f;
    bool metal = plan_has(n, "metallic"), tint = plan_has(n, "spec_tint");
    if (!metal && !tint)
        return color_all(dielectric);
    ir_ref one = t_f32(t, 1), weight = schlick_weight_between(t, a->wi_m, index.eta), zero = t_f32(t, 0);
    color r = color_all(dielectric);
    if (tint) {
        ir_ref amount = plan_weight(t, n, record, "spec_tint", uv);
        color normal = color_scale(t, principled_tint(t, base), schlick_normal(t, index.eta)), tinted = schlick_reflectance(t, normal, weight);
        tinted = color_select(t, index.matched, color_all(zero), tinted);
        for (uint32_t c = 0; c < 3; c++)
            r.c[c] = t_mad(t, ir_sub(f, tinted.c[c], r.c[c]), amount, r.c[c]);
    }
    if (metal) {
        ir_ref metallic = plan_weight(t, n, record, "metallic", uv);
        color mirror = color_select(t, index.matched, color_all(zero), schlick_reflectance(t, base, weight));
        for (uint32_t c = 0; c < 3; c++)
            r.c[c] = ir_add(f, ir_mul(f, r.c[c], ir_sub(f, one, metallic)), ir_mul(f, mirror.c[c], metallic));
    }
    return r;
}

/* A root that has a derivative at 0 as well: below 1e-6 a line. */
static ir_ref root(tracer *t, ir_ref v) { return ir_div(t->f, v, ir_sqrt(t->f, ir_max(t->f, v, t_f32(t, 1e-6f)))); }

static color base_value(tracer *t, const class_node *n, ir_ref record, vec2 uv, const facet *a, color base, const weights *w)
{
    ir_ref roughness = plan_texture_1(t, n, record, "roughness", uv);
    color sum = color_scale(t, principled_diffuse(t, n, record, uv, a, base, roughness), w->base);
    if (!plan_has(n, "sheen"))
        return sum;
    color sheen = principled_sheen(t, n, record, uv, a, base);
    COLOR_EACH(r, t_mad(t, sheen.c[c], w->dielectric, sum.c[c]));
    return r;
}

static color principled_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv, ir_ref delta, ir_ref lobe)
{
    (void)delta, (void)lobe;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), front = ir_gt(f, wi.z, zero);
    index_of index = index_at(t, n, record);
    facet a = facet_of(t, n, index.eta, wi, wo);
    weights w = weights_at(t, n, record, uv);
    color base = plan_texture(t, n, record, "base_color", uv), nothing = color_all(zero);
    ir_ref facets = principled_facets(t, alpha_at(t, n, record, uv), &a);
    ir_ref dielectric = fresnel_dielectric(t, a.wi_m, has_glass(n) ? a.n : index.eta).reflectance;
    dielectric = ir_replace_grad(f, ir_select(f, index.matched, zero, dielectric), dielectric);
    color value = color_scale(t, reflectance_above(t, n, record, uv, &a, base, dielectric, index), facets);
    color rest = base_value(t, n, record, uv, &a, base, &w);
    for (uint32_t c = 0; c < 3; c++)
        value.c[c] = ir_add(f, value.c[c], rest.c[c]);
    if (has_coat(n)) {
        ir_ref coat = coat_value(t, n, record, uv, &a, index.eta);
        for (uint32_t c = 0; c < 3; c++)
            value.c[c] = ir_add(f, value.c[c], coat);
    }
    if (has_glass(n)) {
        ir_ref glass = ir_mul(f, w.glass, facets);
        ir_ref crosses = ir_div(f, ir_mul(f, t_f32(t, 4), ir_abs(f, ir_mul(f, a.wi_m, a.wo_m))), a.h2);
        ir_ref scale = ir_mul(f, ir_mul(f, glass, ir_sub(f, one, dielectric)), crosses);
        COLOR_EACH(refracted, ir_mul(f, root(t, base.c[c]), scale));
        value = color_select(t, front, value, color_all(ir_mul(f, glass, dielectric)));
        value = color_select(t, a.reflects, value, refracted);
    }
    return color_select(t, a.valid, value, nothing);
}

static const plugin_param principled_params[] = {
    PRINCIPLED_PARAMS,
    PRINCIPLED_WEIGHT("metallic", "from a dielectric to a metal"),
    PRINCIPLED_WEIGHT("spec_trans", "from an opaque base to glass"),
    {"eta", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 1e-3, 1e3, "index of refraction below the surface over that above it; differentiated under this name"},
    {"specular", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 1, "in place of eta, 0.5 if neither is given: reflectance at normal incidence over 0.08; then differentiated as `specular`"},
    {"clearcoat", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_PART | PLUGIN_HELD, "0", 0, 1e6, "weight of a second specular lobe"},
    {"clearcoat_gloss", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_HELD, "0", 0, 1, "the coat's roughness is 0.1 at 0 and 0.001 at 1"},
    PRINCIPLED_RATE("main_specular_sampling_rate", "how often facets are sampled"),
    PRINCIPLED_RATE("clearcoat_sampling_rate", "how often the coat is"),
    PRINCIPLED_RATE("diffuse_reflectance_sampling_rate", "how often the diffuse lobe is"),
};
const bsdf_class bsdf_principled = {
    .base = {.plugin = {PLUGIN_BSDF, "principled", principled_params, sizeof principled_params / sizeof *principled_params, NULL, 0,
                        "Disney's principled material"},
             .extra_words = WORDS,
             .data_name = "eta",
             .load = principled_load,
             .extra = principled_extra,
             .variant = principled_variant,
             .needs = principled_needs},
    .transmits_by = "spec_trans",
    .sample = principled_sample,
    .pdf = principled_pdf,
    .value = principled_value,
};
