/* SPDX-License-Identifier: BSD-3-Clause
 * Disney's principled material for thin sheets (Burley 2015, section 5; terms: principled_lobes.h), as Mitsuba arranges it. It has no sides: wi is
 * turned to lie above. With wo' = (wo.x, wo.y, |wo.z|) and m halfway between wi and wo', f cos is the sum of
 *
 *     reflection    spec_trans F D G / (4 cos wi), F from a dielectric's to a tinted one;
 *     transmission  spec_trans base_color (1 - F) D' G' / (4 cos wi), without bending, but of another roughness: (0.65 eta - 0.35) times it;
 *     base          (1 - spec_trans) (1 - diff_trans / 2) (diffuse + sheen);
 *     through       (1 - spec_trans) diff_trans / 2 base_color |cos wo| / pi.
 *
 * One of the four is sampled by the weights and rates. Weights may be 0 while they are differentiated: then no part is left out
 * (estimators.md 4). */
#include "render/bsdf/principled_lobes.h"

static const float inverse_pi = 0.31830988618379067154f;

enum { RATE_REFLECTION, RATE_TRANSMISSION, RATE_BASE, RATE_THROUGH, RATES };

static void thin_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    static const char *const names[RATES] = {"specular_reflectance_sampling_rate", "specular_transmittance_sampling_rate",
                                             "diffuse_reflectance_sampling_rate", "diffuse_transmittance_sampling_rate"};
    for (int k = 0; k < RATES; k++)
        words[k] = float_word((float)scene_number(o, names[k]));
}

static bool has_glass(const class_node *n) { return plan_has(n, "spec_trans"); }
static bool has_through(const class_node *n) { return plan_has(n, "diff_trans"); }

/* A pair of directions with wi turned to lie above, as the facet that reflects wi into wo'. */
typedef struct sheet {
    facet a;
    ir_ref crosses; /* bool: wo lies below */
    ir_ref behind;  /* bool: a facet sees wo from behind, as it must where it transmits */
} sheet;

static vec3 mirrored(tracer *t, vec3 v) { return v3(v.x, v.y, ir_neg(t->f, v.z)); }

static sheet sheet_between(tracer *t, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    vec3 up = facet_turned(t, wi, wi), out = facet_turned(t, wi, wo);
    sheet s = {.a = facet_reflecting(t, up, v3(out.x, out.y, ir_abs(f, out.z))), .crosses = ir_lt(f, out.z, zero)};
    s.behind = ir_lt(f, v3_dot(t, mirrored(t, s.a.wo), s.a.m), zero);
    return s;
}

static ir_ref roughness_at(tracer *t, const class_node *n, ir_ref record, vec2 uv) { return plan_texture_1(t, n, record, "roughness", uv); }

/* crosses: bool. */
static vec2 alpha_at(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref crosses)
{
    ir_func *f = t->f;
    ir_ref bend = t_mad(t, plan_texture_1(t, n, record, "eta", uv), t_f32(t, 0.65f), t_f32(t, -0.35f));
    ir_ref scale = ir_select(f, crosses, bend, t_f32(t, 1));
    return principled_alpha(t, n, record, uv, ir_mul(f, roughness_at(t, n, record, uv), scale));
}

/* ---- sampling ---- */

static ir_ref kept(tracer *t, const class_node *n, ir_ref share)
{
    return plan_probability(t, n, "spec_trans", plan_probability(t, n, "diff_trans", share));
}

/* Share of what is diffuse that goes through. */
static ir_ref through_at(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    return ir_mul(t->f, plan_weight(t, n, record, "diff_trans", uv), t_f32(t, 0.5f));
}

typedef struct choice {
    ir_ref facet;    /* probability of a facet; else it is diffuse */
    ir_ref reflects; /* of reflection, by a facet; */
    ir_ref stays;    /* and of what is diffuse */
} choice;

static choice choice_at(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), rate[RATES];
    for (uint32_t k = 0; k < RATES; k++)
        rate[k] = t_real(t, record, n->extra_word + k);
    choice c = {.facet = t_f32(t, 0), .reflects = one, .stays = one};
    ir_ref diffuse = rate[RATE_BASE];
    if (has_through(n)) {
        ir_ref share = through_at(t, n, record, uv), through = ir_mul(f, share, rate[RATE_THROUGH]);
        ir_ref stays = ir_mul(f, ir_sub(f, one, share), rate[RATE_BASE]);
        diffuse = ir_add(f, stays, through);
        c.stays = kept(t, n, t_ratio(t, stays, diffuse));
    }
    if (has_glass(n)) {
        ir_ref weight = plan_weight(t, n, record, "spec_trans", uv), both = ir_add(f, rate[RATE_REFLECTION], rate[RATE_TRANSMISSION]);
        ir_ref specular = ir_mul(f, weight, ir_mul(f, both, t_f32(t, 0.5f)));
        c.facet = kept(t, n, t_ratio(t, specular, t_mad(t, ir_sub(f, one, weight), diffuse, specular)));
        c.reflects = t_ratio(t, rate[RATE_REFLECTION], both);
    }
    return c;
}

/* The part of a probability that falls to one side. */
static ir_ref side(tracer *t, ir_ref crosses, ir_ref stays)
{
    return ir_select(t->f, crosses, ir_sub(t->f, t_f32(t, 1), stays), stays);
}

static ir_ref thin_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    sheet s = sheet_between(t, wi, wo);
    choice c = choice_at(t, n, record, uv);
    ir_ref diffuse = ir_mul(f, ir_sub(f, one, c.facet), side(t, s.crosses, c.stays));
    ir_ref pdf = ir_mul(f, diffuse, ir_mul(f, s.a.wo.z, t_f32(t, inverse_pi)));
    if (has_glass(n)) {
        ir_ref normal = principled_normal_pdf(t, alpha_at(t, n, record, uv, s.crosses), &s.a);
        ir_ref specular = ir_mul(f, ir_mul(f, c.facet, side(t, s.crosses, c.reflects)), ir_div(f, normal, ir_mul(f, t_f32(t, 4), s.a.wo_m)));
        pdf = ir_add(f, pdf, ir_select(f, ir_or(f, ir_not(f, s.crosses), s.behind), specular, zero));
    }
    return ir_select(f, s.a.valid, pdf, zero);
}

static bsdf_sample thin_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), right = ir_bool(f, true);
    choice c = choice_at(t, n, record, uv);
    ir_ref is_facet = ir_lt(f, u_lobe, c.facet);
    ir_ref left = t_ratio(t, ir_sub(f, u_lobe, c.facet), ir_sub(f, one, c.facet));
    ir_ref crosses = ir_ge(f, left, c.stays);
    vec3 wo = warp_cosine_hemisphere(t, u1, u2);
    if (has_glass(n)) {
        ir_ref transmits = ir_ge(f, t_ratio(t, u_lobe, c.facet), c.reflects);
        crosses = ir_select(f, is_facet, transmits, crosses);
        vec3 from = facet_turned(t, wi, wi);
        from.z = ir_max(f, from.z, t_f32(t, 1e-7f));
        vec3 m = microfacet_sample(t, MICROFACET_GGX, true, alpha_at(t, n, record, uv, crosses), from, u1, u2);
        ir_ref cosine = v3_dot(t, from, m);
        vec3 out = v3_sub(t, v3_scale(t, m, ir_add(f, cosine, cosine)), from);
        ir_ref seen = ir_or(f, ir_not(f, crosses), ir_lt(f, v3_dot(t, mirrored(t, out), m), zero));
        right = ir_and(f, seen, ir_and(f, ir_gt(f, cosine, zero), ir_gt(f, out.z, zero)));
        right = ir_or(f, right, ir_not(f, is_facet));
        wo = v3_select(t, is_facet, out, wo);
    }
    wo = facet_turned(t, wi, v3_select(t, crosses, mirrored(t, wo), wo));
    return (bsdf_sample){.wo = wo, .pdf = ir_select(f, right, thin_pdf(t, n, record, wi, wo, uv), zero), .eta = one, .delta = ir_bool(f, false),
                         .lobe = t_u32(t, 0)};
}

/* ---- value ---- */

static color facet_reflectance(tracer *t, const class_node *n, ir_ref record, vec2 uv, const facet *a, color base, ir_ref eta, ir_ref dielectric)
{
    ir_func *f = t->f;
    color r = color_all(dielectric);
    if (!plan_has(n, "spec_tint"))
        return r;
    ir_ref amount = plan_weight(t, n, record, "spec_tint", uv);
    color normal = color_scale(t, principled_tint(t, base), schlick_normal(t, eta));
    color tinted = schlick_reflectance(t, normal, schlick_weight_between(t, a->wi_m, eta));
    for (uint32_t c = 0; c < 3; c++)
        r.c[c] = t_mad(t, ir_sub(f, tinted.c[c], dielectric), amount, dielectric);
    return r;
}

/* What facets reflect and transmit, of the weight spec_trans. */
static color facet_value(tracer *t, const class_node *n, ir_ref record, vec2 uv, const sheet *s, color base)
{
    ir_func *f = t->f;
    ir_ref eta = plan_texture_1(t, n, record, "eta", uv), zero = t_f32(t, 0);
    ir_ref dielectric = fresnel_dielectric(t, s->a.wi_m, eta).reflectance;
    ir_ref facets = principled_facets(t, alpha_at(t, n, record, uv, s->crosses), &s->a);
    color reflected = color_scale(t, facet_reflectance(t, n, record, uv, &s->a, base, eta, dielectric), facets);
    ir_ref bright = ir_select(f, s->behind, ir_mul(f, facets, ir_sub(f, t_f32(t, 1), dielectric)), zero);
    return color_select(t, s->crosses, color_scale(t, base, bright), reflected);
}

static color diffuse_value(tracer *t, const class_node *n, ir_ref record, vec2 uv, const sheet *s, color base)
{
    ir_func *f = t->f;
    color r = principled_diffuse(t, n, record, uv, &s->a, base, roughness_at(t, n, record, uv));
    if (plan_has(n, "sheen")) {
        color sheen = principled_sheen(t, n, record, uv, &s->a, base);
        for (uint32_t c = 0; c < 3; c++)
            r.c[c] = ir_add(f, r.c[c], sheen.c[c]);
    }
    ir_ref zero = t_f32(t, 0);
    if (!has_through(n))
        return color_select(t, s->crosses, color_all(zero), r);
    ir_ref through = through_at(t, n, record, uv);
    color crossing = color_scale(t, base, ir_mul(f, through, ir_mul(f, s->a.wo.z, t_f32(t, inverse_pi))));
    return color_select(t, s->crosses, crossing, color_scale(t, r, ir_sub(f, t_f32(t, 1), through)));
}

static color thin_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv, ir_ref delta, ir_ref lobe)
{
    (void)delta, (void)lobe;
    ir_func *f = t->f;
    sheet s = sheet_between(t, wi, wo);
    color base = plan_texture(t, n, record, "base_color", uv), value = diffuse_value(t, n, record, uv, &s, base);
    if (has_glass(n)) {
        color facets = facet_value(t, n, record, uv, &s, base);
        ir_ref weight = plan_weight(t, n, record, "spec_trans", uv);
        for (uint32_t c = 0; c < 3; c++)
            value.c[c] = t_mad(t, ir_sub(f, facets.c[c], value.c[c]), weight, value.c[c]);
    }
    return color_select(t, s.a.valid, value, color_all(t_f32(t, 0)));
}

static const plugin_param thin_params[] = {
    PRINCIPLED_PARAMS,
    PRINCIPLED_WEIGHT("spec_trans", "from a diffuse sheet to a pane"),
    {"diff_trans", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_PART | PLUGIN_HELD, "0", 0, 2, "twice the share of diffuse light that goes through"},
    {"eta", PLUGIN_TEXTURED, PLUGIN_SCALAR, "1.5", 1e-3, 1e3, "index of refraction of the sheet over that around it"},
    PRINCIPLED_RATE("specular_reflectance_sampling_rate", "how often specular reflection is sampled"),
    PRINCIPLED_RATE("specular_transmittance_sampling_rate", "how often specular transmission is"),
    PRINCIPLED_RATE("diffuse_reflectance_sampling_rate", "how often diffuse reflection is"),
    PRINCIPLED_RATE("diffuse_transmittance_sampling_rate", "how often diffuse transmission is"),
};
const bsdf_class bsdf_principledthin = {
    .base = {.plugin = {PLUGIN_BSDF, "principledthin", thin_params, sizeof thin_params / sizeof *thin_params, NULL, 0,
                        "Disney's principled material for thin sheets"},
             .extra_words = RATES,
             .extra = thin_extra,
             .needs = principled_needs},
    .transmits = true,
    .sample = thin_sample,
    .pdf = thin_pdf,
    .value = thin_value,
    .albedo_param = "base_color",
};
