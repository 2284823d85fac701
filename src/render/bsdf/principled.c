/* SPDX-License-Identifier: BSD-3-Clause
 * Disney's principled material, as Mitsuba arranges it. principled_lobes.h has its terms and names the papers
 * (Burley 2012, Burley 2015). Seen from above, f cos is the sum of
 *
 *     reflection    F D G / (4 cos wi), F mixed of a dielectric's, a metal's (base_color at normal incidence)
 *                   and a tinted one;
 *     transmission  sqrt(base_color) glass (1 - F) D G |wi.m wo.m| / (cos wi |h|^2), for radiance, as in
 *                   roughdielectric.c;
 *     clearcoat     clearcoat / 4 F D G cos wo with a fixed index, D of Berry's kind (GTR1), G of a fixed
 *                   roughness;
 *     base          (1 - metallic) (1 - spec_trans) diffuse + (1 - metallic) sheen.
 *
 * Here glass = (1 - metallic) spec_trans. Seen from below, the material is glass and nothing else.
 *
 * `sample` chooses a facet, the base or the coat. The probabilities follow the sampling rates and the
 * weights. The base is sampled with density cos / pi. A chosen facet reflects or transmits with a probability
 * that follows glass and F. The weight of a part may be 0 while it is differentiated. Then no part is left
 * out (docs/theory/support.md).
 *
 * Where sampling is attached, samples of facets and of the coat move with parameters, each where its lobe is
 * smooth enough. Samples of the base are detached. The choices between the three keep their probabilities
 * (integrator/motion/attached_lobe.c).
 *
 * The index is the parameter `eta`. Where that is not given, it follows from `specular`, which says that the
 * reflectance at normal incidence is 0.08 specular. */
#include "render/bsdf/principled_lobes.h"
#include "render/bsdf/refraction_limit.h"

#include <math.h>

static const float inverse_pi = 0.31830988618379067154f;

enum { WORD_ETA, WORD_ETA_GRADIENT, WORD_FACET_RATE, WORD_COAT_RATE, WORD_BASE_RATE, WORDS };
/* Bits of the class's variant. Those of microfacet_attached_choice join them. */
enum { INDEX_IS_ETA = 1, ATTACHES = 32 };
/* Bits of a sample's lobe number, where the class attaches samples. The sample of a facet has neither bit. */
enum { LOBE_BASE = 1, LOBE_COAT = 2 };

/* Whether the coat is attached is decided as for facets of so many times its roughness. The distribution of
 * the coat has far more normals away from its middle than that of facets, and these move most. By measurement
 * it pays to attach it from a fifth of the roughness on (docs/decisions/attached-rough-lobes.md). */
static const float coat_tails = 5;

/* ---- loading ---- */

static bool principled_attaches(const render_scene *s, const scene_object *o)
{
    double roughness = principled_constant_or(o, "roughness", 0),
           gloss = principled_constant_or(o, "clearcoat_gloss", 1);
    double least = roughness * roughness;
    if (!render_part_is_zero(o, "clearcoat"))
        least = fmin(least,
                     (double)coat_tails * ((double)PRINCIPLED_COAT_ROUGH +
                                           (double)(PRINCIPLED_COAT_GLOSS - PRINCIPLED_COAT_ROUGH) * gloss));
    return microfacet_attaches_if(s, o, least <= (double)s->attach_below);
}

static uint32_t principled_variant(const render_scene *s, const scene_object *o)
{
    return (scene_get(o, "eta")->given ? INDEX_IS_ETA : 0u) | microfacet_attached_choice(o) |
           (principled_attaches(s, o) ? ATTACHES : 0u);
}

static const char *const turning[] = {"roughness", "anisotropic", "clearcoat_gloss"};
enum { TURNING = sizeof turning / sizeof *turning };

static void principled_mark(render_scene *s, const scene_object *o)
{
    if (!principled_attaches(s, o))
        return;
    s->attaches = true;
    for (uint32_t k = 0; k < TURNING; k++)
        render_turns_all(s, scene_get(o, turning[k])->object);
    uint32_t index = render_find_parameter(s, o, PLAN_DATA_SLOT);
    if (index != PLAN_NONE && !render_part_is_zero(o, "spec_trans"))
        render_turns(s, index);
}

static bool principled_turns_by_uv(const scene_object *o)
{
    return principled_turn_by_uv(o, turning, TURNING);
}

/* A surface whose index is 1 refracts nothing. Where the material transmits, such an index is moved a little,
 * as Mitsuba does. */
static bl_result principled_load(render_scene *s, const scene_object *o, bl_error *err)
{
    static const uint32_t one = 1;
    TRY(microfacet_check_attached(o, err));
    const scene_value *eta = scene_get(o, "eta"), *specular = scene_get(o, "specular");
    if (eta->given && specular->given)
        return scene_error(err, BL_ERROR_SCENE, specular->where,
                           "principled: give either \"eta\" or \"specular\", not both");
    bool transmits = !render_part_is_zero(o, "spec_trans");
    float index = eta->given ? (float)eta->number : specular->given ? (float)specular->number : 0.5f;
    if (eta->given) {
        index = transmits && index == 1 ? 1.001f : index;
        render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &one, 1e-3f, 1e3f, &index});
        return BL_OK;
    }
    index = transmits && index == 0 ? 1e-3f : index;
    /* Above 1 as Mitsuba's add-on for Blender writes it; below 12.5 there is such an index. */
    const initial_values value = {1, &one, transmits ? 1e-3f : 0, index > 1 ? 12 : 1, &index};
    uint32_t added = render_add_parameter(s, o, PLAN_DATA_SLOT, &value);
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
    ir_ref matched; /* bool: eta is exactly 1, so that nothing is reflected */
} index_of;

/* With q^2 = 0.08 specular, the reflectance at normal incidence, eta = (1 + q) / (1 - q). At specular 0 the
 * reflectance has a derivative, but the root has none. The shift of 1e-7 keeps that derivative. For a
 * specular that is large enough to matter, the shift is below the resolution of f32. */
static index_of index_at(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1),
           v = plan_load(t, n, record, n->extra_word + WORD_ETA, PLAN_DATA_SLOT, t_u32(t, 0));
    if (n->variant & INDEX_IS_ETA)
        return (index_of){v, ir_eq(f, v, one)};
    ir_ref q = ir_sqrt(f, ir_mul(f, t_f32(t, 0.08f), ir_add(f, v, t_f32(t, 1e-7f))));
    return (index_of){ir_div(f, ir_add(f, one, q), ir_sub(f, one, q)), ir_eq(f, v, t_f32(t, 0))};
}

/* Weights of parts. dielectric is 1 - metallic. base is the weight of what is neither metal nor glass. glass
 * is that of the glass. */
typedef struct weights {
    ir_ref metallic, dielectric, base, glass;
} weights;

static weights weights_at(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), trans = bsdf_weight(ctx, "spec_trans");
    weights w = {.metallic = bsdf_weight(ctx, "metallic")};
    w.dielectric = ir_sub(f, one, w.metallic);
    w.base = ir_mul(f, w.dielectric, ir_sub(f, one, trans)), w.glass = ir_mul(f, w.dielectric, trans);
    return w;
}

static bool has_glass(const class_node *n) { return plan_has(n, "spec_trans"); }
static bool has_coat(const class_node *n) { return plan_has(n, "clearcoat"); }

static facet facet_of(const bsdf_context *ctx, ir_ref eta, vec3 wo)
{
    tracer *t = ctx->t;
    if (!has_glass(ctx->n))
        return facet_reflecting(t, ctx->wi, wo);
    tracer deciding = t_deciding(t);
    ir_ref decides = t->frozen ? index_at(&deciding, ctx->n, ctx->record).eta : eta;
    return facet_between(t, facet_index(t, eta, ctx->wi), facet_index(t, decides, ctx->wi), ctx->wi, wo);
}

static vec2 alpha_at(const bsdf_context *ctx)
{
    return principled_alpha(ctx, bsdf_texture_1(ctx, "roughness"));
}

/* ---- sampling ---- */

/* A share as a probability. It stays within bounds while a weight that it depends on is differentiated
 * (plan_probability). */
static ir_ref bounded_probability(tracer *t, const class_node *n, ir_ref share)
{
    return plan_probability(t, n, "metallic",
                            plan_probability(t, n, "spec_trans", plan_probability(t, n, "clearcoat", share)));
}

typedef struct choice {
    ir_ref facet; /* probability that a facet is chosen */
    ir_ref base;  /* probability of the base, given that no facet is chosen; the rest falls to the coat */
} choice;

static choice choice_at(const bsdf_context *ctx)
{
    tracer deciding = t_deciding(ctx->t), *t = &deciding;
    bsdf_context held = bsdf_read_by(ctx, t);
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), rate[3];
    for (uint32_t k = 0; k < 3; k++)
        rate[k] = t_real(t, ctx->record, ctx->n->extra_word + WORD_FACET_RATE + k);
    ir_ref base = ir_mul(f, weights_at(&held).base, rate[2]), others = base;
    choice c = {.base = one};
    if (has_coat(ctx->n)) {
        others = t_mad(t, ir_mul(f, t_f32(t, 0.25f), bsdf_weight(&held, "clearcoat")), rate[1], base);
        c.base = bounded_probability(t, ctx->n, t_ratio(t, base, others));
    }
    c.facet = bounded_probability(t, ctx->n, t_ratio(t, rate[0], ir_add(f, rate[0], others)));
    if (has_glass(ctx->n))
        c.facet = ir_select(f, ir_gt(f, ctx->wi.z, t_f32(t, 0)), c.facet, one);
    return c;
}

/* Probability that a facet reflects. It stays within bounds where light crosses:
 * reflection_probability in roughdielectric.c says why. */
static ir_ref reflection_probability(const bsdf_context *ctx, const fresnel *at)
{
    tracer deciding = t_deciding(ctx->t), *t = &deciding;
    bsdf_context held = bsdf_read_by(ctx, t);
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), glass = weights_at(&held).glass;
    ir_ref above = ir_sub(f, one, ir_mul(f, glass, ir_sub(f, one, at->reflectance)));
    ir_ref share = ir_select(f, ir_gt(f, ctx->wi.z, t_f32(t, 0)), above, at->reflectance);
    ir_ref bounded = plan_probability(
        t, ctx->n, "metallic",
        plan_probability(t, ctx->n, "spec_trans", plan_probability(t, ctx->n, "eta", share)));
    return ir_select(f, ir_ne(f, at->cos_t, t_f32(t, 0)), bounded, share);
}

/* Whether a share of the normals is sampled near total reflection (facet.h), and the limit of refraction is
 * sampled too (refraction_limit.h). */
static bool bends(const class_node *n) { return has_glass(n) && plan_wants(n, "eta"); }

/* bool: facets are not attached here. Only there are these two sampled. */
static ir_ref detached_facets(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return ctx->n->variant & ATTACHES ? microfacet_detached(t, ctx->n, alpha_at(ctx)) : ir_bool(t->f, true);
}

static ir_ref limit_probability(const bsdf_context *ctx, vec3 from, ir_ref index)
{
    tracer *t = ctx->t;
    ir_ref chance = refraction_limit_probability(t, detached_facets(ctx), index, alpha_at(ctx), from);
    return ir_mul(t->f, chance, weights_at(ctx).glass);
}

static vec3 sampled_normal(const bsdf_context *ctx, ir_ref eta, vec3 from, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    microfacets facets = {MICROFACET_GGX, true, alpha_at(ctx)};
    if (!bends(ctx->n))
        return microfacet_sample(t, &facets, from, u1, u2);
    facet_critical near =
        facet_critical_normal(t, detached_facets(ctx), facet_index(t, eta, ctx->wi), from, u1, u2);
    return v3_select(t, near.chosen, near.m, microfacet_sample(t, &facets, from, near.rest, u2));
}

static ir_ref normal_density(const bsdf_context *ctx, const facet *a)
{
    tracer *t = ctx->t;
    ir_ref usual = principled_normal_pdf(t, alpha_at(ctx), a);
    return bends(ctx->n) ? facet_critical_density(t, detached_facets(ctx), a, usual) : usual;
}

/* For a part that may lead to a direction: the probability that it is chosen, and its own density there. The
 * density of facets is given that they reflect, or that they refract. */
enum part { FACET, COAT, BASE, PARTS };
typedef struct part_density {
    ir_ref chance, own;
} part_density;

/* Fills `out`, one entry for each part. Returns a bool: the direction can be sampled. */
static ir_ref parts_at(const bsdf_context *ctx, vec3 wo, part_density out[PARTS])
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    facet a = facet_of(ctx, index_at(t, ctx->n, ctx->record).eta, wo);
    choice c = choice_at(ctx);
    ir_ref normal = normal_density(ctx, &a), no_facet = ir_sub(f, one, c.facet), cosine = ir_abs(f, a.wo_m);
    if (t->differentiated) /* it is 0 only for light refracted along the facet, which does not use it */
        cosine = ir_select(f, ir_gt(f, cosine, zero), cosine, one);
    ir_ref mirrored = ir_div(f, t_f32(t, 0.25f), cosine);
    out[FACET] = (part_density){c.facet, ir_mul(f, normal, mirrored)};
    out[COAT] = (part_density){zero, zero};
    if (has_coat(ctx->n)) {
        ir_ref facing = ir_mul(f, principled_coat_distribution(t, principled_coat_alpha2(ctx), a.m), a.m.z);
        out[COAT] = (part_density){ir_mul(f, no_facet, ir_sub(f, one, c.base)), ir_mul(f, facing, mirrored)};
    }
    out[BASE] = (part_density){ir_mul(f, no_facet, c.base), ir_mul(f, a.wo.z, t_f32(t, inverse_pi))};
    if (!has_glass(ctx->n))
        return a.valid;
    fresnel at = fresnel_dielectric(t, a.wi_m, a.n);
    ir_ref reflects = reflection_probability(ctx, &at);
    ir_ref refracted = ir_div(f, ir_mul(f, t_sqr(t, a.n), ir_abs(f, a.wo_m)), a.h2);
    out[FACET].chance = ir_mul(f, c.facet, ir_select(f, a.reflects, reflects, ir_sub(f, one, reflects)));
    out[FACET].own = ir_select(f, a.reflects, out[FACET].own, ir_mul(f, normal, refracted));
    for (uint32_t k = COAT; k < PARTS; k++)
        out[k].chance = ir_select(f, a.reflects, out[k].chance, zero);
    return a.valid;
}

static ir_ref principled_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    part_density part[PARTS];
    ir_ref sum = t_f32(t, 0), valid = parts_at(ctx, wo, part);
    for (uint32_t k = 0; k < PARTS; k++)
        sum = t_mad(t, part[k].chance, part[k].own, sum);
    if (bends(ctx->n)) {
        ir_ref index = facet_index(t, index_at(t, ctx->n, ctx->record).eta, ctx->wi);
        sum = ir_mul(
            t->f, sum,
            ir_sub(t->f, t_f32(t, 1), limit_probability(ctx, facet_flipped(t, ctx->wi, ctx->wi), index)));
    }
    return ir_select(t->f, valid, sum, t_f32(t, 0));
}

/* Where a facet or the coat leads, whether it reflects (a bool), and the relative index along the sample. */
typedef struct scattered {
    facet_sample to;
    ir_ref reflects, eta;
} scattered;

/* reflects: a bool that says whether the facet reflects. Where it is none, u_reflects chooses that. */
static scattered scatter(const bsdf_context *ctx, ir_ref is_coat, ir_ref reflects, ir_ref u_reflects,
                         ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    vec3 from = has_glass(ctx->n) ? facet_flipped(t, ctx->wi, ctx->wi)
                                  : v3_select(t, ir_gt(f, ctx->wi.z, zero), ctx->wi, v3(zero, zero, one));
    from.z = ir_max(f, from.z, t_f32(t, 1e-7f));
    ir_ref eta = index_at(t, ctx->n, ctx->record).eta;
    vec3 m = sampled_normal(ctx, eta, from, u1, u2);
    if (has_coat(ctx->n))
        m = v3_select(t, is_coat, principled_coat_normal(t, principled_coat_alpha2(ctx), u1, u2), m);
    ir_ref cosine = v3_dot(t, from, m);
    fresnel at = {.eta_it = one, .eta_ti = one, .cos_t = zero};
    if (!has_glass(ctx->n)) {
        reflects = ir_bool(f, true);
    } else {
        at = fresnel_dielectric(t, cosine, facet_index(t, eta, ctx->wi));
        if (ir_is_none(reflects))
            reflects = ir_or(f, is_coat, ir_lt(f, u_reflects, reflection_probability(ctx, &at)));
    }
    scattered s = {facet_scatter(t, from, m, cosine, &at, reflects), reflects,
                   ir_select(f, reflects, one, at.eta_it)};
    if (has_glass(ctx->n))
        s.to.wo = facet_flipped(t, ctx->wi, s.to.wo);
    return s;
}

static bsdf_sample principled_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), number = t_u32(t, 0);
    choice c = choice_at(ctx);
    vec3 from = facet_flipped(t, ctx->wi, ctx->wi);
    ir_ref index = {0}, chance = {0}, is_rim = ir_bool(f, false);
    if (bends(ctx->n)) {
        index = facet_index(t, index_at(t, ctx->n, ctx->record).eta, ctx->wi);
        chance = limit_probability(ctx, from, index);
        is_rim = refraction_limit_choose(t, chance, &u_lobe);
    }
    ir_ref is_facet = ir_lt(f, u_lobe, c.facet),
           left = t_ratio(t, ir_sub(f, u_lobe, c.facet), ir_sub(f, one, c.facet));
    ir_ref no_facet = ir_not(f, is_facet), is_base = no_facet;
    if (has_coat(ctx->n))
        is_base = ir_and(f, no_facet, ir_lt(f, left, c.base));
    scattered s = scatter(ctx, no_facet, (ir_ref){0}, t_ratio(t, u_lobe, c.facet), u1, u2);
    vec3 wo = v3_select(t, is_base, warp_cosine_hemisphere(t, u1, u2), s.to.wo);
    ir_ref pdf = principled_pdf(ctx, wo);
    if (ctx->n->variant & ATTACHES)
        number =
            ir_select(f, is_facet, number, ir_select(f, is_base, t_u32(t, LOBE_BASE), t_u32(t, LOBE_COAT)));
    bsdf_sample r = {
        .wo = wo,
        .pdf = ir_select(f, ir_or(f, is_base, s.to.right), pdf, zero),
        .eta = s.eta,
        .delta = is_rim,
        .lobe = number,
    };
    if (bends(ctx->n))
        refraction_limit_sample(ctx, &r, chance, index, from, u1);
    return r;
}

/* ---- attached sampling ---- */

static bsdf_attached principled_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref detached = bsdf_detached(t, draw->lobe);
    ir_ref chosen[PARTS] = {
        [COAT] = t_has_bit(t, draw->lobe, LOBE_COAT), [BASE] = t_has_bit(t, draw->lobe, LOBE_BASE)};
    ir_ref reflects = ir_gt(f, ir_mul(f, ctx->wi.z, draw->wo.z), t_f32(t, 0)), none = {0};
    scattered s = scatter(ctx, chosen[COAT], reflects, none, draw->u1, draw->u2);
    bsdf_attached r = {.wo = v3_select(t, detached, draw->wo, s.to.wo)};
    part_density part[PARTS];
    parts_at(ctx, r.wo, part);
    ir_ref chance = part[FACET].chance, own = part[FACET].own, others = t_f32(t, 0);
    for (uint32_t k = COAT; k < PARTS; k++) {
        chance = ir_select(f, chosen[k], part[k].chance, chance);
        own = ir_select(f, chosen[k], part[k].own, own);
    }
    for (uint32_t k = 0; k < PARTS; k++) {
        ir_ref is = k == FACET ? ir_not(f, ir_or(f, chosen[COAT], chosen[BASE])) : chosen[k];
        others = ir_add(f, others, ir_select(f, is, t_f32(t, 0), ir_mul(f, part[k].chance, part[k].own)));
    }
    /* All parts' chance times own, over the chance of the chosen part. The chance of a facet may have a
     * derivative without bound. It cancels in the facet's own term, which is why that term is written
     * without it. */
    ir_ref density = ir_add(f, own, t_ratio(t, others, chance));
    r.density = ir_select(f, detached, t_ratio(t, density, own), density);
    return r;
}

static ir_ref principled_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref never = t_f32(t, BSDF_NEVER_ATTACHED), coat = never;
    if (!(ctx->n->variant & ATTACHES))
        return never;
    ir_ref facets = microfacet_roughness_of(t, ctx->n, alpha_at(ctx));
    if (has_coat(ctx->n)) {
        ir_ref alpha = ir_mul(f, ir_sqrt(f, principled_coat_alpha2(ctx)), t_f32(t, coat_tails));
        coat = microfacet_roughness_of(t, ctx->n, (vec2){alpha, alpha});
    }
    if (ir_is_none(lobe))
        return ir_min(f, facets, coat);
    return ir_select(f, t_has_bit(t, lobe, LOBE_BASE), never,
                     ir_select(f, t_has_bit(t, lobe, LOBE_COAT), coat, facets));
}

/* ---- value ---- */

/* The reflectance of facets seen from above. Where the index is exactly 1, metals and tints reflect nothing
 * either, as in Mitsuba. */
static color reflectance_above(const bsdf_context *ctx, const facet *a, color base, ir_ref dielectric,
                               index_of index)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    bool metal = plan_has(ctx->n, "metallic"), tint = plan_has(ctx->n, "spec_tint");
    if (!metal && !tint)
        return color_all(dielectric);
    ir_ref one = t_f32(t, 1), weight = schlick_weight_between(t, a->wi_m, index.eta), zero = t_f32(t, 0);
    color r = color_all(dielectric);
    if (tint) {
        ir_ref amount = bsdf_weight(ctx, "spec_tint");
        color normal = color_scale(t, principled_tint(t, base), schlick_normal(t, index.eta)),
              tinted = schlick_reflectance(t, normal, weight);
        tinted = color_select(t, index.matched, color_all(zero), tinted);
        for (uint32_t c = 0; c < t->channels; c++)
            r.c[c] = t_mad(t, ir_sub(f, tinted.c[c], r.c[c]), amount, r.c[c]);
    }
    if (metal) {
        ir_ref metallic = bsdf_weight(ctx, "metallic");
        color mirror = color_select(t, index.matched, color_all(zero), schlick_reflectance(t, base, weight));
        for (uint32_t c = 0; c < t->channels; c++)
            r.c[c] = ir_add(f, ir_mul(f, r.c[c], ir_sub(f, one, metallic)), ir_mul(f, mirror.c[c], metallic));
    }
    return r;
}

/* The square root of v. Below 1e-6 it is a line, so that it has a derivative at 0 as well. */
static ir_ref root(tracer *t, ir_ref v)
{
    return ir_div(t->f, v, ir_sqrt(t->f, ir_max(t->f, v, t_f32(t, 1e-6f))));
}

static color base_value(const bsdf_context *ctx, const facet *a, color base, const weights *w)
{
    tracer *t = ctx->t;
    ir_ref roughness = bsdf_texture_1(ctx, "roughness");
    color sum = color_scale(t, principled_diffuse(ctx, a, base, roughness), w->base);
    if (!plan_has(ctx->n, "sheen"))
        return sum;
    color sheen = principled_sheen(ctx, a, base);
    COLOR_EACH(r, t_mad(t, sheen.c[c], w->dielectric, sum.c[c]));
    return r;
}

static color refracted_at(tracer *t, const facet *a, color base, ir_ref glass, ir_ref reflectance)
{
    ir_func *f = t->f;
    ir_ref crosses = ir_div(f, ir_mul(f, t_f32(t, 4), ir_abs(f, ir_mul(f, a->wi_m, a->wo_m))), a->h2);
    ir_ref scale = ir_mul(f, ir_mul(f, glass, ir_sub(f, t_f32(t, 1), reflectance)), crosses);
    COLOR_EACH(r, ir_mul(f, root(t, base.c[c]), scale));
    return r;
}

/* The value of the limit of refraction (refraction_limit.h). It is 0 and has a derivative by the index.
 * Everything but the index in the growth is detached, as in roughdielectric.c. */
static color refraction_limit_value(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    tracer deciding = t_deciding(t);
    bsdf_context detached = bsdf_read_by(ctx, &deciding);
    vec3 wi = detached.wi = v3_detach(t, ctx->wi);
    wo = v3_detach(t, wo);
    facet a =
        refraction_limit_facet(t, facet_index(t, index_at(&deciding, ctx->n, ctx->record).eta, wi), wi, wo);
    ir_ref glass = ir_mul(t->f, weights_at(&detached).glass,
                          microfacet_reflection(t, MICROFACET_GGX, alpha_at(&detached), &a));
    color refracted = refracted_at(t, &a, bsdf_texture(&detached, "base_color"), glass,
                                   fresnel_dielectric(t, a.wi_m, a.n).reflectance);
    ir_ref growth = refraction_limit_growth(t, &a, facet_index(t, index_at(t, ctx->n, ctx->record).eta, wi));
    return color_select(t, a.valid, color_scale(t, refracted, growth), color_all(t_f32(t, 0)));
}

static color principled_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)lobe;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), front = ir_gt(f, ctx->wi.z, zero);
    index_of index = index_at(t, ctx->n, ctx->record);
    facet a = facet_of(ctx, index.eta, wo);
    weights w = weights_at(ctx);
    color base = bsdf_texture(ctx, "base_color"), nothing = color_all(zero);
    ir_ref facets = microfacet_reflection(t, MICROFACET_GGX, alpha_at(ctx), &a);
    ir_ref dielectric = fresnel_dielectric(t, a.wi_m, has_glass(ctx->n) ? a.n : index.eta).reflectance;
    dielectric = ir_replace_grad(f, ir_select(f, index.matched, zero, dielectric), dielectric);
    color value = color_scale(t, reflectance_above(ctx, &a, base, dielectric, index), facets);
    color rest = base_value(ctx, &a, base, &w);
    for (uint32_t c = 0; c < t->channels; c++)
        value.c[c] = ir_add(f, value.c[c], rest.c[c]);
    if (has_coat(ctx->n)) {
        ir_ref coat = principled_coat_value(ctx, &a, index.eta);
        for (uint32_t c = 0; c < t->channels; c++)
            value.c[c] = ir_add(f, value.c[c], coat);
    }
    if (has_glass(ctx->n)) {
        ir_ref glass = ir_mul(f, w.glass, facets);
        color refracted = refracted_at(t, &a, base, glass, dielectric);
        value = color_select(t, front, value, color_all(ir_mul(f, glass, dielectric)));
        value = color_select(t, a.reflects, value, refracted);
    }
    value = color_select(t, a.valid, value, nothing);
    return bends(ctx->n) ? color_select(t, delta, refraction_limit_value(ctx, wo), value) : value;
}

static const plugin_param principled_params[] = {
    PRINCIPLED_PARAMS,
    PRINCIPLED_WEIGHT("metallic", "from a dielectric to a metal"),
    PRINCIPLED_WEIGHT("spec_trans", "from an opaque base to glass"),
    {"eta", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 1e-3, 1e3,
     "index of refraction below the surface over that above it; differentiated under this name"},
    {"specular", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 12,
     "in place of eta, 0.5 if neither is given: reflectance at normal incidence over 0.08; then "
     "differentiated as `specular`"},
    {"clearcoat", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_PART | PLUGIN_HELD, "0", 0, 1e6,
     "weight of a second specular lobe"},
    {"clearcoat_gloss", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_HELD, "0", 0, 1,
     "the coat's roughness is 0.1 at 0 and 0.001 at 1"},
    PRINCIPLED_RATE("main_specular_sampling_rate", "how often facets are sampled"),
    PRINCIPLED_RATE("clearcoat_sampling_rate", "how often the coat is"),
    PRINCIPLED_RATE("diffuse_reflectance_sampling_rate", "how often the diffuse lobe is"),
    MICROFACET_ATTACHED_PARAM,
};
const bsdf_class bsdf_principled = {
    .base = {.plugin = {PLUGIN_BSDF, "principled", PLUGIN_TABLE(principled_params), PLUGIN_NONE,
                        "Disney's principled material"},
             .extra_words = WORDS,
             .data_name = "eta",
             .load = principled_load,
             .extra = principled_extra,
             .mark = principled_mark,
             .variant = principled_variant,
             .needs = principled_needs},
    .transmits_by = "spec_trans",
    .sample = principled_sample,
    .pdf = principled_pdf,
    .value = principled_value,
    .albedo_param = "base_color",
    .attached = principled_attached,
    .mixes = true,
    .roughness = principled_roughness,
    .attaches = principled_attaches,
    .directions_move_by_uv = principled_turns_by_uv,
};
