/* SPDX-License-Identifier: BSD-3-Clause
 * A mixture of two materials. The second has the share `weight`, the first has the rest. `sample` chooses one
 * of them by the weight (plan_probability). A direction that either may lead to has the density and the value
 * of the mixture. A discrete lobe has those of its material times the share. A bit of a lobe's number says
 * which of the two it belongs to. Blends within blends use another bit at each depth.
 *
 * Where sampling is attached: the blend's density is q = p_0 q_0 + p_1 q_1, and part k is chosen with the
 * probability p_k. A sample of part k stands for the share p_k q_k / q of the value. Both shares add up to 1
 * whatever the parameters are, so that the value is divided by q. Where one part is attached and the other is
 * detached, samples of the detached one stay where they are, and their share changes. */
#include "render/classes.h"

enum { OWN_LOBES = 8 }; /* bits for the lobes of the other classes */

/* The number of blends on the longest way down to a material that holds no other. */
static uint32_t height(const class_node *n)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < n->child_count; k++)
        most = height(n->child[k]) > most ? height(n->child[k]) : most;
    return most + (n->cls == &bsdf_blendbsdf.base);
}

static ir_ref second_bit(tracer *t, const class_node *n)
{
    return t_u32(t, 1u << (OWN_LOBES + height(n) - 1));
}

static ir_ref weight_of(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return t_clamp(t, bsdf_texture_1(ctx, "weight"), 0, 1);
}

/* The shares of the first and of the second material. */
static void shares(tracer *t, ir_ref weight, ir_ref out[2])
{
    out[0] = ir_sub(t->f, t_f32(t, 1), weight), out[1] = weight;
}

static void probabilities(const bsdf_context *ctx, ir_ref out[2])
{
    tracer deciding = t_deciding(ctx->t), *t = &deciding;
    bsdf_context held = bsdf_read_by(ctx, t);
    shares(t, plan_probability(t, ctx->n, "weight", weight_of(&held)), out);
}

static ir_ref blend_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_ref p[2], sum = t_f32(t, 0);
    probabilities(ctx, p);
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context part = bsdf_nested(ctx, k);
        sum = t_mad(t, p[k], bsdf_of(part.n)->pdf(&part, wo), sum);
    }
    return sum;
}

static bsdf_sample blend_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref p[2];
    probabilities(ctx, p);
    ir_ref second = ir_ge(f, u_lobe, p[0]);
    ir_ref u[2] = {t_ratio(t, u_lobe, p[0]), t_ratio(t, ir_sub(f, u_lobe, p[0]), p[1])};
    bsdf_sample s[2];
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context part = bsdf_nested(ctx, k);
        s[k] = bsdf_of(part.n)->sample(&part, u[k], u1, u2);
    }
    bsdf_sample r = {
        .wo = v3_select(t, second, s[1].wo, s[0].wo),
        .eta = ir_select(f, second, s[1].eta, s[0].eta),
        .delta = ir_select(f, second, s[1].delta, s[0].delta),
        .lobe = ir_select(f, second, ir_or(f, s[1].lobe, second_bit(t, ctx->n)), s[0].lobe),
    };
    ir_ref own = ir_select(f, second, s[1].pdf, s[0].pdf),
           discrete = ir_mul(f, ir_select(f, second, p[1], p[0]), own);
    r.pdf = ir_select(f, r.delta, discrete, blend_pdf(ctx, r.wo));
    /* Where the chosen part has no sample, the other part does not lend it one. */
    r.pdf = ir_select(f, ir_gt(f, own, t_f32(t, 0)), r.pdf, t_f32(t, 0));
    return r;
}

/* How a value is made of the parts' values. */
typedef struct blend_mix {
    ir_ref share[2];
    ir_ref second; /* bool: the sample is the second part's */
    ir_ref lobe;   /* of the part */
} blend_mix;

/* bit: second_bit */
static blend_mix mix_at(const bsdf_context *ctx, ir_ref lobe, ir_ref bit)
{
    ir_func *f = ctx->t->f;
    blend_mix m;
    shares(ctx->t, weight_of(ctx), m.share);
    m.second = ir_ne(f, ir_and(f, lobe, bit), t_u32(ctx->t, 0));
    m.lobe = ir_and(f, lobe, ir_not(f, bit));
    return m;
}

/* bool: the lobe is discrete, and not part k's. */
static ir_ref is_others(ir_func *f, const blend_mix *m, ir_ref delta, uint32_t k)
{
    return ir_and(f, delta, k ? ir_not(f, m->second) : m->second);
}

static color blend_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref bit = second_bit(t, ctx->n), zero = t_f32(t, 0);
    blend_mix m = mix_at(ctx, lobe, bit);
    color sum = color_all(zero);
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref other = is_others(f, &m, delta, k);
        bsdf_context part = bsdf_nested(ctx, k);
        color v = bsdf_of(part.n)->value(&part, wo, delta, m.lobe);
        for (uint32_t c = 0; c < t->channels; c++)
            sum.c[c] = ir_add(f, sum.c[c], ir_select(f, other, zero, ir_mul(f, v.c[c], m.share[k])));
    }
    return sum;
}

/* Where lobes are not discrete, both parts that polarise have the same axis: across the plane of wi and wo. A
 * discrete lobe is one part's. */
static bsdf_polarized blend_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref bit = second_bit(t, ctx->n), zero = t_f32(t, 0);
    blend_mix m = mix_at(ctx, lobe, bit);
    bsdf_polarized part[2];
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context nested = bsdf_nested(ctx, k);
        part[k] = bsdf_polarize(&nested, wo, delta, m.lobe);
        ir_ref factor = ir_select(f, is_others(f, &m, delta, k), zero, m.share[k]);
        for (uint32_t c = 0; c < t->channels; c++)
            part[k].m[c] = mueller_scale(t, &part[k].m[c], factor);
    }
    ir_ref of_second = ir_select(f, delta, m.second, part[0].depolarizes);
    bsdf_polarized r = {.axis = v3_select(t, of_second, part[1].axis, part[0].axis)};
    for (uint32_t c = 0; c < t->channels; c++)
        r.m[c] = mueller_add(t, &part[0].m[c], &part[1].m[c]);
    r.depolarizes = ir_select(f, delta, ir_select(f, m.second, part[1].depolarizes, part[0].depolarizes),
                              ir_and(f, part[0].depolarizes, part[1].depolarizes));
    return r;
}

static vec3 blend_lobe_direction(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref bit = second_bit(t, ctx->n), inner = ir_and(f, lobe, ir_not(f, bit));
    vec3 wo[2];
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context part = bsdf_nested(ctx, k);
        wo[k] = bsdf_lobe_direction(&part, inner);
    }
    return v3_select(t, ir_ne(f, ir_and(f, lobe, bit), t_u32(t, 0)), wo[1], wo[0]);
}

static ir_ref blend_lobe_eta(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref bit = second_bit(t, ctx->n), inner = ir_and(f, lobe, ir_not(f, bit)), eta[2];
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context part = bsdf_nested(ctx, k);
        eta[k] = bsdf_lobe_eta(&part, inner);
    }
    return ir_select(f, ir_ne(f, ir_and(f, lobe, bit), t_u32(t, 0)), eta[1], eta[0]);
}

/* The roughness of the part that the lobe's number names. Without a lobe, it is the lesser of both. */
static ir_ref blend_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    bool given = !ir_is_none(lobe);
    ir_ref bit = second_bit(t, ctx->n), inner = given ? ir_and(f, lobe, ir_not(f, bit)) : lobe, r[2];
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context part = bsdf_nested(ctx, k);
        r[k] = bsdf_roughness(&part, inner);
    }
    return given ? ir_select(f, ir_ne(f, ir_and(f, lobe, bit), t_u32(t, 0)), r[1], r[0])
                 : ir_min(f, r[0], r[1]);
}

/* The attached sample of a part. It stays where it is, with the density 1, where the lobe's number says that
 * the sample is detached. A part that mixes does this itself. */
static bsdf_attached part_attached(const bsdf_context *part, const bsdf_draw *draw)
{
    tracer *t = part->t;
    bsdf_attached a = bsdf_attach(part, draw);
    if (bsdf_mixes(part->n))
        return a;
    ir_ref detached = bsdf_detached(t, draw->lobe);
    return (bsdf_attached){v3_select(t, detached, draw->wo, a.wo),
                           ir_select(t->f, detached, t_f32(t, 1), a.density)};
}

static bsdf_attached blend_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref p[2], each[2], bit = second_bit(t, ctx->n),
                          second = ir_ne(f, ir_and(f, draw->lobe, bit), t_u32(t, 0));
    bsdf_draw inner = *draw;
    inner.lobe = ir_and(f, draw->lobe, ir_not(f, bit));
    bsdf_attached part[2];
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context nested = bsdf_nested(ctx, k);
        part[k] = part_attached(&nested, &inner);
    }
    bsdf_attached r = {v3_select(t, second, part[1].wo, part[0].wo),
                       ir_select(f, second, part[1].density, part[0].density)};
    probabilities(ctx, p);
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context nested = bsdf_nested(ctx, k);
        each[k] = ir_mul(f, p[k], bsdf_of(nested.n)->pdf(&nested, r.wo));
    }
    ir_ref own = ir_select(f, second, each[1], each[0]);
    r.density = ir_mul(f, r.density, t_ratio(t, ir_add(f, each[0], each[1]), own));
    return r;
}

/* The mean, by their shares, of what `of` says of both materials. */
static color mixed(const bsdf_context *ctx, color (*of)(const bsdf_context *))
{
    tracer *t = ctx->t;
    ir_ref share[2];
    shares(t, weight_of(ctx), share);
    color part[2];
    for (uint32_t k = 0; k < 2; k++) {
        bsdf_context nested = bsdf_nested(ctx, k);
        part[k] = of(&nested);
    }
    COLOR_EACH(r, t_mad(t, share[0], part[0].c[c], ir_mul(t->f, share[1], part[1].c[c])));
    return r;
}

static color blend_through(const bsdf_context *ctx) { return mixed(ctx, bsdf_through); }
static color blend_albedo(const bsdf_context *ctx) { return mixed(ctx, bsdf_albedo); }

static const plugin_param blend_params[] = {
    {"weight", PLUGIN_TEXTURED, PLUGIN_REQUIRED | PLUGIN_REFLECTANCE | PLUGIN_SCALAR, NULL, 0, 0,
     "share of the second material; of a colour, its luminance"},
};
static const plugin_slot blend_slots[] = {{PLUGIN_BSDF, "bsdf_#", 2, 2}};
const bsdf_class bsdf_blendbsdf = {
    .base.plugin = {PLUGIN_BSDF, "blendbsdf", PLUGIN_TABLE(blend_params), PLUGIN_TABLE(blend_slots),
                    "a mixture of two materials"},
    .sample = blend_sample,
    .pdf = blend_pdf,
    .value = blend_value,
    .polarized = blend_polarized,
    .lobe_direction = blend_lobe_direction,
    .lobe_eta = blend_lobe_eta,
    .attached = blend_attached,
    .roughness = blend_roughness,
    .mixes = true,
    .through = blend_through,
    .albedo = blend_albedo,
};
