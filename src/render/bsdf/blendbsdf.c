/* SPDX-License-Identifier: BSD-3-Clause
 * A mixture of two materials: the second with the share `weight`, the first with the rest. One of them is
 * sampled, by the weight (plan_probability); a direction that either may have given has the mixture's density
 * and value, a discrete lobe those of its material times the share. In a lobe's number one bit says whose it
 * is, another bit for each depth of blends within blends.
 *
 * Attached, a part k is sampled with the number p_k of the blend's density q = p_0 q_0 + p_1 q_1, and stands
 * for the share p_k q_k / q of the value; both shares add up to 1 whatever parameters are, so the value is
 * divided by q. Where a part is attached and the other one is held, samples of that one stay where they are,
 * and see their share change. */
#include "render/classes.h"

enum { OWN_LOBES = 8 }; /* bits for the lobes of the other classes */

/* Blends on the longest way down to a material that holds none. */
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

static ir_ref weight_of(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    return t_clamp(t, plan_texture_1(t, n, record, "weight", uv), 0, 1);
}

/* First and second share. */
static void shares(tracer *t, ir_ref weight, ir_ref out[2])
{
    out[0] = ir_sub(t->f, t_f32(t, 1), weight), out[1] = weight;
}

static void probabilities(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref out[2])
{
    shares(t, plan_probability(t, n, "weight", weight_of(t, n, record, uv)), out);
}

static ir_ref child_record(tracer *t, const class_node *n, ir_ref record, uint32_t k)
{
    return t_offset(t, record, n->child_word[k]);
}

static ir_ref blend_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv)
{
    ir_ref p[2], sum = t_f32(t, 0);
    probabilities(t, n, record, uv, p);
    for (uint32_t k = 0; k < 2; k++)
        sum =
            t_mad(t, p[k],
                  bsdf_of(n->child[k])->pdf(t, n->child[k], child_record(t, n, record, k), wi, wo, uv), sum);
    return sum;
}

static bsdf_sample blend_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv,
                                ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref p[2];
    probabilities(t, n, record, uv, p);
    ir_ref second = ir_ge(f, u_lobe, p[0]);
    ir_ref u[2] = {t_ratio(t, u_lobe, p[0]), t_ratio(t, ir_sub(f, u_lobe, p[0]), p[1])};
    bsdf_sample s[2];
    for (uint32_t k = 0; k < 2; k++)
        s[k] =
            bsdf_of(n->child[k])->sample(t, n->child[k], child_record(t, n, record, k), wi, uv, u[k], u1, u2);
    bsdf_sample r = {
        .wo = v3_select(t, second, s[1].wo, s[0].wo),
        .eta = ir_select(f, second, s[1].eta, s[0].eta),
        .delta = ir_select(f, second, s[1].delta, s[0].delta),
        .lobe = ir_select(f, second, ir_or(f, s[1].lobe, second_bit(t, n)), s[0].lobe),
    };
    ir_ref own = ir_select(f, second, s[1].pdf, s[0].pdf),
           discrete = ir_mul(f, ir_select(f, second, p[1], p[0]), own);
    r.pdf = ir_select(f, r.delta, discrete, blend_pdf(t, n, record, wi, r.wo, uv));
    r.pdf = ir_select(f, ir_gt(f, own, t_f32(t, 0)), r.pdf,
                      t_f32(t, 0)); /* no sample is none of the other's either */
    return r;
}

static color blend_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv,
                         ir_ref delta, ir_ref lobe)
{
    ir_func *f = t->f;
    ir_ref share[2], bit = second_bit(t, n), zero = t_f32(t, 0);
    shares(t, weight_of(t, n, record, uv), share);
    ir_ref second = ir_ne(f, ir_and(f, lobe, bit), t_u32(t, 0)), inner = ir_and(f, lobe, ir_not(f, bit));
    color sum = color_all(zero);
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref other = ir_and(f, delta, k ? ir_not(f, second) : second);
        color v = bsdf_of(n->child[k])
                      ->value(t, n->child[k], child_record(t, n, record, k), wi, wo, uv, delta, inner);
        for (uint32_t c = 0; c < 3; c++)
            sum.c[c] = ir_add(f, sum.c[c], ir_select(f, other, zero, ir_mul(f, v.c[c], share[k])));
    }
    return sum;
}

static vec3 blend_turned(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref lobe)
{
    ir_func *f = t->f;
    ir_ref bit = second_bit(t, n), inner = ir_and(f, lobe, ir_not(f, bit));
    vec3 first = bsdf_turned(t, n->child[0], child_record(t, n, record, 0), wi, uv, inner);
    vec3 second = bsdf_turned(t, n->child[1], child_record(t, n, record, 1), wi, uv, inner);
    return v3_select(t, ir_ne(f, ir_and(f, lobe, bit), t_u32(t, 0)), second, first);
}

/* The least, or that of the part in the lobe's number. */
static ir_ref blend_roughness(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref lobe)
{
    ir_func *f = t->f;
    bool given = !ir_is_none(lobe);
    ir_ref bit = second_bit(t, n), inner = given ? ir_and(f, lobe, ir_not(f, bit)) : lobe, r[2];
    for (uint32_t k = 0; k < 2; k++)
        r[k] = bsdf_roughness(t, n->child[k], child_record(t, n, record, k), wi, uv, inner);
    return given ? ir_select(f, ir_ne(f, ir_and(f, lobe, bit), t_u32(t, 0)), r[1], r[0])
                 : ir_min(f, r[0], r[1]);
}

/* A part's, which is held where the lobe says so. */
static bsdf_attached part_attached(tracer *t, const class_node *part, ir_ref record, vec3 wi, vec2 uv,
                                   const bsdf_draw *draw)
{
    bsdf_attached a = bsdf_attach(t, part, record, wi, uv, draw);
    if (bsdf_mixes(part))
        return a;
    ir_ref held = bsdf_held(t, draw->lobe);
    return (bsdf_attached){v3_select(t, held, draw->wo, a.wo), ir_select(t->f, held, t_f32(t, 1), a.density)};
}

static bsdf_attached blend_attached(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv,
                                    const bsdf_draw *draw)
{
    ir_func *f = t->f;
    ir_ref p[2], each[2], bit = second_bit(t, n), second = ir_ne(f, ir_and(f, draw->lobe, bit), t_u32(t, 0));
    bsdf_draw inner = *draw;
    inner.lobe = ir_and(f, draw->lobe, ir_not(f, bit));
    bsdf_attached part[2];
    for (uint32_t k = 0; k < 2; k++)
        part[k] = part_attached(t, n->child[k], child_record(t, n, record, k), wi, uv, &inner);
    bsdf_attached r = {v3_select(t, second, part[1].wo, part[0].wo),
                       ir_select(f, second, part[1].density, part[0].density)};
    probabilities(t, n, record, uv, p);
    for (uint32_t k = 0; k < 2; k++)
        each[k] = ir_mul(
            f, p[k], bsdf_of(n->child[k])->pdf(t, n->child[k], child_record(t, n, record, k), wi, r.wo, uv));
    ir_ref own = ir_select(f, second, each[1], each[0]);
    r.density = ir_mul(f, r.density, t_ratio(t, ir_add(f, each[0], each[1]), own));
    return r;
}

/* Of what is a mean of the parts'. */
static color mixed(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv,
                   color (*of)(tracer *, const class_node *, ir_ref, vec3, vec2))
{
    ir_ref share[2];
    shares(t, weight_of(t, n, record, uv), share);
    color a = of(t, n->child[0], child_record(t, n, record, 0), wi, uv),
          b = of(t, n->child[1], child_record(t, n, record, 1), wi, uv);
    COLOR_EACH(r, t_mad(t, share[0], a.c[c], ir_mul(t->f, share[1], b.c[c])));
    return r;
}

static color blend_through(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv)
{
    return mixed(t, n, record, wi, uv, bsdf_through);
}
static color blend_albedo(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv)
{
    return mixed(t, n, record, wi, uv, bsdf_albedo);
}

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
    .turned = blend_turned,
    .attached = blend_attached,
    .roughness = blend_roughness,
    .mixes = true,
    .through = blend_through,
    .albedo = blend_albedo,
};
