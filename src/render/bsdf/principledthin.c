/* SPDX-License-Identifier: BSD-3-Clause
 * Disney's principled material for thin sheets (Burley 2015, section 5), as Mitsuba arranges it.
 * principled_lobes.h has the terms. Both sides of a sheet are alike: wi is turned to lie above. With wo' =
 * (wo.x, wo.y, |wo.z|) and m halfway between wi and wo', f cos is the sum of
 *
 *     reflection    spec_trans F D G / (4 cos wi), F from a dielectric's to a tinted one;
 *     transmission  spec_trans base_color (1 - F) D' G' / (4 cos wi), without bending, but of another
 *                   roughness: (0.65 eta - 0.35) times it;
 *     base          (1 - spec_trans) (1 - diff_trans / 2) (diffuse + sheen);
 *     through       (1 - spec_trans) diff_trans / 2 base_color |cos wo| / pi.
 *
 * `sample` chooses one of the four. The probabilities follow the weights and the sampling rates. A weight may
 * be 0 while it is differentiated. Then no part is left out (docs/theory/support.md).
 *
 * Where sampling is attached, samples of facets move with parameters. This holds for reflection and for
 * transmission, each where it is smooth enough. Diffuse samples are detached
 * (integrator/motion/attached_lobe.c).
 *
 * Transmission ends in a step where m is at right angles to wo. Attached samples would move over it. So a
 * share of the transmitted samples near the step is detached. That share grows to 1 at the step. To the
 * integrator, the detached samples are another part of the mixture. */
#include "render/bsdf/principled_lobes.h"

#include <math.h>

static const float inverse_pi = 0.31830988618379067154f;

enum { RATE_REFLECTION, RATE_TRANSMISSION, RATE_BASE, RATE_THROUGH, RATES };
/* A bit of the class's variant. Those of microfacet_attached_choice join it. */
enum { ATTACHES = 32 };
/* Bits of a sample's lobe number, where the class attaches samples: the sample is diffuse; it belongs to the
 * share near the step that is detached; it goes through the sheet. */
enum { LOBE_DIFFUSE = 1, LOBE_STEP = 2, LOBE_THROUGH = 4 };
/* A share of the samples is detached where -wo.m over wi.m is less than this. That quotient is 0 at the step
 * and 1 where m is the surface's normal. */
static const float step_width = 0.5f;

/* ---- loading ---- */

static const char *const turning[] = {"roughness", "anisotropic", "eta"};
enum { TURNING = sizeof turning / sizeof *turning };

static bool thin_attaches(const render_scene *s, const scene_object *o)
{
    double roughness = principled_constant_or(o, "roughness", 0), eta = principled_constant_or(o, "eta", 0);
    double crossing = (0.65 * eta - 0.35) * roughness,
           least = eta > 0 ? fmin(roughness * roughness, crossing * crossing) : 0;
    return !render_part_is_zero(o, "spec_trans") &&
           microfacet_attaches_if(s, o, least <= (double)s->attach_below);
}

static uint32_t thin_variant(const render_scene *s, const scene_object *o)
{
    return microfacet_attached_choice(o) | (thin_attaches(s, o) ? ATTACHES : 0u);
}

static void thin_mark(render_scene *s, const scene_object *o)
{
    if (!thin_attaches(s, o))
        return;
    s->attaches = true;
    for (uint32_t k = 0; k < TURNING; k++)
        render_turns_all(s, scene_get(o, turning[k])->object);
}

static bool thin_turns_by_uv(const scene_object *o) { return principled_turn_by_uv(o, turning, TURNING); }

static bl_result thin_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    return microfacet_check_attached(o, err);
}

static void thin_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    static const char *const names[RATES] = {
        "specular_reflectance_sampling_rate", "specular_transmittance_sampling_rate",
        "diffuse_reflectance_sampling_rate", "diffuse_transmittance_sampling_rate"};
    for (int k = 0; k < RATES; k++)
        words[k] = float_word((float)scene_number(o, names[k]));
}

static bool has_glass(const class_node *n) { return plan_has(n, "spec_trans"); }
static bool has_through(const class_node *n) { return plan_has(n, "diff_trans"); }

/* A pair of directions. wi is turned to lie above, and the facet reflects it into wo' (see the head). */
typedef struct sheet {
    facet a;
    ir_ref crosses; /* bool: wo lies below */
    ir_ref behind;  /* bool: the facet sees wo from behind, as it must in order to transmit */
    ir_ref beyond;  /* -wo.m over wi.m, which is 0 at the step */
} sheet;

static vec3 mirrored(tracer *t, vec3 v) { return v3(v.x, v.y, ir_neg(t->f, v.z)); }

static sheet sheet_between(tracer *t, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    vec3 up = facet_flipped(t, wi, wi), out = facet_flipped(t, wi, wo);
    sheet s = {
        .a = facet_reflecting(t, up, v3(out.x, out.y, ir_abs(f, out.z))),
        .crosses = ir_lt(f, out.z, zero),
    };
    ir_ref facing = v3_dot(t, mirrored(t, s.a.wo), s.a.m);
    s.behind = ir_lt(f, facing, zero), s.beyond = ir_neg(f, ir_div(f, facing, s.a.wi_m));
    return s;
}

static ir_ref roughness_at(const bsdf_context *ctx) { return bsdf_texture_1(ctx, "roughness"); }

/* The roughness of reflection or, where the bool `crosses` is true, of transmission. */
static vec2 alpha_at(const bsdf_context *ctx, ir_ref crosses)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref bend = t_mad(t, bsdf_texture_1(ctx, "eta"), t_f32(t, 0.65f), t_f32(t, -0.35f));
    ir_ref scale = ir_select(f, crosses, bend, t_f32(t, 1));
    return principled_alpha(ctx, ir_mul(f, roughness_at(ctx), scale));
}

/* ---- sampling ---- */

static ir_ref bounded_probability(tracer *t, const class_node *n, ir_ref share)
{
    return plan_probability(t, n, "spec_trans", plan_probability(t, n, "diff_trans", share));
}

/* The share of the diffuse light that goes through. */
static ir_ref through_at(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return ir_mul(t->f, bsdf_weight(ctx, "diff_trans"), t_f32(t, 0.5f));
}

typedef struct choice {
    ir_ref facet;    /* probability that a facet is chosen; else the sample is diffuse */
    ir_ref reflects; /* probability that a facet reflects; else it transmits */
    ir_ref stays;    /* probability that a diffuse sample is reflected; else it goes through */
} choice;

static choice choice_at(const bsdf_context *differentiated)
{
    tracer deciding = t_deciding(differentiated->t), *t = &deciding;
    bsdf_context held = bsdf_read_by(differentiated, t), *ctx = &held;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), rate[RATES];
    for (uint32_t k = 0; k < RATES; k++)
        rate[k] = t_real(t, ctx->record, ctx->n->extra_word + k);
    choice c = {.facet = t_f32(t, 0), .reflects = one, .stays = one};
    ir_ref diffuse = rate[RATE_BASE];
    if (has_through(ctx->n)) {
        ir_ref share = through_at(ctx), through = ir_mul(f, share, rate[RATE_THROUGH]);
        ir_ref stays = ir_mul(f, ir_sub(f, one, share), rate[RATE_BASE]);
        diffuse = ir_add(f, stays, through);
        c.stays = bounded_probability(t, ctx->n, t_ratio(t, stays, diffuse));
    }
    if (has_glass(ctx->n)) {
        ir_ref weight = bsdf_weight(ctx, "spec_trans"),
               both = ir_add(f, rate[RATE_REFLECTION], rate[RATE_TRANSMISSION]);
        ir_ref specular = ir_mul(f, weight, ir_mul(f, both, t_f32(t, 0.5f)));
        c.facet = bounded_probability(
            t, ctx->n, t_ratio(t, specular, t_mad(t, ir_sub(f, one, weight), diffuse, specular)));
        c.reflects = t_ratio(t, rate[RATE_REFLECTION], both);
    }
    return c;
}

/* The probability of a side of the sheet: `stays`, or 1 - stays where the direction crosses. */
static ir_ref side(tracer *t, ir_ref crosses, ir_ref stays)
{
    return ir_select(t->f, crosses, ir_sub(t->f, t_f32(t, 1), stays), stays);
}

/* What may lead to a direction. facet and diffuse are the probabilities that a facet, or the diffuse part, of
 * this side is chosen. facet_own and diffuse_own are their densities there. */
typedef struct parts {
    ir_ref facet, facet_own, diffuse, diffuse_own;
    ir_ref valid, sees; /* bools: the direction can be sampled; facets lead there */
    ir_ref step;        /* the share of the transmitted samples that is detached */
} parts;

/* The share of the transmitted samples that is detached. It is 1 at the step and 0 from step_width on. At
 * both ends it is as flat as a parabola. The variance of what the derivatives of shares add is finite for
 * that reason. */
static ir_ref held_share(tracer *t, ir_ref beyond)
{
    ir_ref at = t_clamp(t, ir_mul(t->f, beyond, t_f32(t, 1 / step_width)), 0, 1);
    return t_mad(t, t_sqr(t, at), t_mad(t, at, t_f32(t, 2), t_f32(t, -3)), t_f32(t, 1));
}

static parts parts_at(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    sheet s = sheet_between(t, ctx->wi, wo);
    choice c = choice_at(ctx);
    parts p = {.facet = zero, .facet_own = zero, .valid = s.a.valid, .sees = ir_bool(f, false), .step = zero};
    p.diffuse = ir_mul(f, ir_sub(f, one, c.facet), side(t, s.crosses, c.stays)),
    p.diffuse_own = ir_mul(f, s.a.wo.z, t_f32(t, inverse_pi));
    if (has_glass(ctx->n)) {
        ir_ref normal = principled_normal_pdf(t, alpha_at(ctx, s.crosses), &s.a);
        p.facet = ir_mul(f, c.facet, side(t, s.crosses, c.reflects)),
        p.facet_own = ir_div(f, normal, ir_mul(f, t_f32(t, 4), s.a.wo_m));
        p.sees = ir_or(f, ir_not(f, s.crosses), s.behind);
        p.step = ir_select(f, s.crosses, held_share(t, s.beyond), zero);
    }
    return p;
}

static ir_ref thin_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    parts p = parts_at(ctx, wo);
    ir_ref zero = t_f32(t, 0), pdf = ir_mul(f, p.diffuse, p.diffuse_own);
    if (has_glass(ctx->n))
        pdf = ir_add(f, pdf, ir_select(f, p.sees, ir_mul(f, p.facet, p.facet_own), zero));
    return ir_select(f, p.valid, pdf, zero);
}

/* Where a facet leads by reflection. For transmission, to_side mirrors that direction. */
static facet_sample scatter(const bsdf_context *ctx, ir_ref crosses, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    vec3 from = facet_flipped(t, ctx->wi, ctx->wi);
    from.z = ir_max(f, from.z, t_f32(t, 1e-7f));
    microfacets facets = {MICROFACET_GGX, true, alpha_at(ctx, crosses)};
    vec3 m = microfacet_sample(t, &facets, from, u1, u2);
    ir_ref cosine = v3_dot(t, from, m);
    vec3 out = v3_sub(t, v3_scale(t, m, ir_add(f, cosine, cosine)), from);
    ir_ref seen = ir_or(f, ir_not(f, crosses), ir_lt(f, v3_dot(t, mirrored(t, out), m), zero));
    return (facet_sample){
        .wo = out,
        .right = ir_and(f, seen, ir_and(f, ir_gt(f, cosine, zero), ir_gt(f, out.z, zero))),
    };
}

static vec3 to_side(tracer *t, vec3 wi, ir_ref crosses, vec3 wo)
{
    return facet_flipped(t, wi, v3_select(t, crosses, mirrored(t, wo), wo));
}

/* The lobe number of a sample. u: a uniform number that chooses whether a transmitted sample is detached. */
static ir_ref number_of(const bsdf_context *ctx, vec3 wo, ir_ref is_facet, ir_ref crosses, ir_ref u)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref none = t_u32(t, 0), detached = ir_and(f, crosses, ir_lt(f, u, parts_at(ctx, wo).step));
    ir_ref of_facet = ir_select(f, detached, t_u32(t, LOBE_STEP), none);
    return ir_or(f, ir_select(f, is_facet, of_facet, t_u32(t, LOBE_DIFFUSE)),
                 ir_select(f, crosses, t_u32(t, LOBE_THROUGH), none));
}

static bsdf_sample thin_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), right = ir_bool(f, true), number = t_u32(t, 0),
           u_step = zero;
    choice c = choice_at(ctx);
    ir_ref is_facet = ir_lt(f, u_lobe, c.facet);
    ir_ref left = t_ratio(t, ir_sub(f, u_lobe, c.facet), ir_sub(f, one, c.facet));
    ir_ref crosses = ir_ge(f, left, c.stays);
    vec3 wo = warp_cosine_hemisphere(t, u1, u2);
    if (has_glass(ctx->n)) {
        ir_ref u_side = t_ratio(t, u_lobe, c.facet), transmits = ir_ge(f, u_side, c.reflects);
        u_step = t_ratio(t, ir_sub(f, u_side, c.reflects), ir_sub(f, one, c.reflects));
        crosses = ir_select(f, is_facet, transmits, crosses);
        facet_sample s = scatter(ctx, crosses, u1, u2);
        right = ir_or(f, s.right, ir_not(f, is_facet));
        wo = v3_select(t, is_facet, s.wo, wo);
    }
    wo = to_side(t, ctx->wi, crosses, wo);
    if (ctx->n->variant & ATTACHES)
        number = number_of(ctx, wo, is_facet, crosses, u_step);
    return (bsdf_sample){
        .wo = wo,
        .pdf = ir_select(f, right, thin_pdf(ctx, wo), zero),
        .eta = one,
        .delta = ir_bool(f, false),
        .lobe = number,
    };
}

/* ---- attached sampling ---- */

static bsdf_attached thin_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref detached = bsdf_detached(t, draw->lobe), diffuse = t_has_bit(t, draw->lobe, LOBE_DIFFUSE);
    ir_ref crosses = t_has_bit(t, draw->lobe, LOBE_THROUGH);
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    vec3 out = scatter(ctx, crosses, draw->u1, draw->u2).wo;
    bsdf_attached r = {.wo = v3_select(t, detached, draw->wo, to_side(t, ctx->wi, crosses, out))};
    parts p = parts_at(ctx, r.wo);
    ir_ref facet_own = ir_select(f, p.sees, p.facet_own, zero),
           own = ir_select(f, diffuse, p.diffuse_own, facet_own);
    ir_ref of_facet = ir_mul(f, p.facet, facet_own), of_diffuse = ir_mul(f, p.diffuse, p.diffuse_own);
    ir_ref chance = ir_select(f, diffuse, p.diffuse, p.facet),
           others = ir_select(f, diffuse, of_facet, of_diffuse);
    ir_ref density = ir_add(f, own, t_ratio(t, others, chance));
    density = ir_select(f, detached, t_ratio(t, density, own), density);
    ir_ref share = ir_select(f, t_has_bit(t, draw->lobe, LOBE_STEP), p.step, ir_sub(f, one, p.step));
    r.density = t_ratio(t, density, ir_select(f, diffuse, one, share));
    return r;
}

static ir_ref thin_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref never = t_f32(t, BSDF_NEVER_ATTACHED), of[2];
    if (!(ctx->n->variant & ATTACHES))
        return never;
    for (int crosses = 0; crosses < 2; crosses++)
        of[crosses] = microfacet_roughness_of(t, ctx->n, alpha_at(ctx, ir_bool(f, crosses)));
    if (ir_is_none(lobe))
        return ir_min(f, of[0], of[1]);
    return ir_select(f, t_has_bit(t, lobe, LOBE_DIFFUSE | LOBE_STEP), never,
                     ir_select(f, t_has_bit(t, lobe, LOBE_THROUGH), of[1], of[0]));
}

/* ---- value ---- */

static color facet_reflectance(const bsdf_context *ctx, const facet *a, color base, ir_ref eta,
                               ir_ref dielectric)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    color r = color_all(dielectric);
    if (!plan_has(ctx->n, "spec_tint"))
        return r;
    ir_ref amount = bsdf_weight(ctx, "spec_tint");
    color normal = color_scale(t, principled_tint(t, base), schlick_normal(t, eta));
    color tinted = schlick_reflectance(t, normal, schlick_weight_between(t, a->wi_m, eta));
    for (uint32_t c = 0; c < t->channels; c++)
        r.c[c] = t_mad(t, ir_sub(f, tinted.c[c], dielectric), amount, dielectric);
    return r;
}

/* What facets reflect and transmit. The weight spec_trans is not in it yet. */
static color facet_value(const bsdf_context *ctx, const sheet *s, color base)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref eta = bsdf_texture_1(ctx, "eta"), zero = t_f32(t, 0);
    ir_ref dielectric = fresnel_dielectric(t, s->a.wi_m, eta).reflectance;
    ir_ref facets = microfacet_reflection(t, MICROFACET_GGX, alpha_at(ctx, s->crosses), &s->a);
    color reflected = color_scale(t, facet_reflectance(ctx, &s->a, base, eta, dielectric), facets);
    ir_ref bright = ir_select(f, s->behind, ir_mul(f, facets, ir_sub(f, t_f32(t, 1), dielectric)), zero);
    return color_select(t, s->crosses, color_scale(t, base, bright), reflected);
}

static color diffuse_value(const bsdf_context *ctx, const sheet *s, color base)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    color r = principled_diffuse(ctx, &s->a, base, roughness_at(ctx));
    if (plan_has(ctx->n, "sheen")) {
        color sheen = principled_sheen(ctx, &s->a, base);
        for (uint32_t c = 0; c < t->channels; c++)
            r.c[c] = ir_add(f, r.c[c], sheen.c[c]);
    }
    ir_ref zero = t_f32(t, 0);
    if (!has_through(ctx->n))
        return color_select(t, s->crosses, color_all(zero), r);
    ir_ref through = through_at(ctx);
    color crossing = color_scale(t, base, ir_mul(f, through, ir_mul(f, s->a.wo.z, t_f32(t, inverse_pi))));
    return color_select(t, s->crosses, crossing, color_scale(t, r, ir_sub(f, t_f32(t, 1), through)));
}

static color thin_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)delta, (void)lobe;
    ir_func *f = t->f;
    sheet s = sheet_between(t, ctx->wi, wo);
    color base = bsdf_texture(ctx, "base_color"), value = diffuse_value(ctx, &s, base);
    if (has_glass(ctx->n)) {
        color facets = facet_value(ctx, &s, base);
        ir_ref weight = bsdf_weight(ctx, "spec_trans");
        for (uint32_t c = 0; c < t->channels; c++)
            value.c[c] = t_mad(t, ir_sub(f, facets.c[c], value.c[c]), weight, value.c[c]);
    }
    return color_select(t, s.a.valid, value, color_all(t_f32(t, 0)));
}

static const plugin_param thin_params[] = {
    PRINCIPLED_PARAMS,
    PRINCIPLED_WEIGHT("spec_trans", "from a diffuse sheet to a pane"),
    {"diff_trans", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_PART | PLUGIN_HELD, "0", 0, 2,
     "twice the share of diffuse light that goes through"},
    {"eta", PLUGIN_TEXTURED, PLUGIN_SCALAR, "1.5", 1e-3, 1e3,
     "index of refraction of the sheet over that around it"},
    PRINCIPLED_RATE("specular_reflectance_sampling_rate", "how often specular reflection is sampled"),
    PRINCIPLED_RATE("specular_transmittance_sampling_rate", "how often specular transmission is"),
    PRINCIPLED_RATE("diffuse_reflectance_sampling_rate", "how often diffuse reflection is"),
    PRINCIPLED_RATE("diffuse_transmittance_sampling_rate", "how often diffuse transmission is"),
    MICROFACET_ATTACHED_PARAM,
};
const bsdf_class bsdf_principledthin = {
    .base = {.plugin = {PLUGIN_BSDF, "principledthin", PLUGIN_TABLE(thin_params), PLUGIN_NONE,
                        "Disney's principled material for thin sheets"},
             .extra_words = RATES,
             .load = thin_load,
             .extra = thin_extra,
             .mark = thin_mark,
             .variant = thin_variant,
             .needs = principled_needs},
    .transmits = true,
    .sample = thin_sample,
    .pdf = thin_pdf,
    .value = thin_value,
    .albedo_param = "base_color",
    .attached = thin_attached,
    .mixes = true,
    .roughness = thin_roughness,
    .attaches = thin_attaches,
    .directions_move_by_uv = thin_turns_by_uv,
};
