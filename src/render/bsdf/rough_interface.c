/* SPDX-License-Identifier: BSD-3-Clause
 * See rough_interface.h. Quadrature over the visible normals in coordinates where these have no edge inside: for GGX the spherical cap of
 * Dupuy and Benyoub (2023), for Beckmann slopes along and across wi (beckmann.h). Light comes along the x axis. */
#include "render/bsdf/rough_interface.h"

#include "render/bsdf/beckmann.h"
#include "render/bsdf/fresnel.h"

static const float pi = 3.14159265358979323846f;

enum { NODES_GGX = 16, TURNS_GGX = 12, NODES_BECKMANN = 24, TURNS_BECKMANN = 8, NODES = NODES_GGX * TURNS_GGX };
_Static_assert(NODES == NODES_BECKMANN * TURNS_BECKMANN, "one count for both");

typedef struct node {
    vec3 m;
    ir_ref weight;
} node;

/* Which node of a grid of NODES, and by which part of their distance its rows and columns are shifted, in [0, 1). */
typedef struct grid_place {
    ir_ref k;
    ir_ref along, across;
} grid_place;

static void split(tracer *t, ir_ref k, uint32_t columns, ir_ref out[2])
{
    out[0] = ir_div(t->f, k, t_u32(t, columns)), out[1] = ir_sub(t->f, k, ir_mul(t->f, out[0], t_u32(t, columns)));
}

/* Number `at` of `count` numbers in (0, 1), and its weight: equal steps of s, and 3 s^2 - 2 s^3, which flattens what is steep at the ends. */
static ir_ref flattened(tracer *t, ir_ref at, ir_ref shift, uint32_t count, ir_ref *weight)
{
    ir_func *f = t->f;
    ir_ref s = ir_mul(f, ir_add(f, ir_to_f32(f, at), shift), t_f32(t, 1.0f / (float)count));
    *weight = ir_mul(f, ir_mul(f, s, ir_sub(f, t_f32(t, 1), s)), t_f32(t, 6.0f / (float)count));
    return ir_mul(f, t_sqr(t, s), ir_sub(f, t_f32(t, 3), ir_add(f, s, s)));
}

/* What the weights of `flattened` add up to: by Euler and Maclaurin 1 - (6 shift^2 - 6 shift + 1) / count^2. */
static ir_ref flattened_sum(tracer *t, ir_ref shift, uint32_t count)
{
    ir_func *f = t->f;
    float square = 1.0f / (float)(count * count);
    return t_mad(t, ir_mul(f, shift, ir_sub(f, t_f32(t, 1), shift)), t_f32(t, 6 * square), t_f32(t, 1 - square));
}

/* Number `at` of `count` in equal steps that make up `width`. */
static ir_ref step(tracer *t, ir_ref at, ir_ref shift, uint32_t count, float width)
{
    return ir_mul(t->f, ir_add(t->f, ir_to_f32(t->f, at), shift), t_f32(t, width / (float)count));
}

/* wi = (sine, 0, mu) with the roughness scaled away. */
static vec3 stretched(tracer *t, ir_ref alpha, ir_ref sine, ir_ref mu)
{
    return v3_normalize(t, v3(ir_mul(t->f, alpha, sine), t_f32(t, 0), mu));
}

static node ggx_node(tracer *t, ir_ref alpha, vec3 wi, const grid_place *place)
{
    ir_func *f = t->f;
    node r;
    ir_ref at[2], one = t_f32(t, 1);
    split(t, place->k, TURNS_GGX, at);
    ir_ref u = flattened(t, at[0], place->along, NODES_GGX, &r.weight), turn = step(t, at[1], place->across, TURNS_GGX, 2 * pi);
    r.weight = ir_div(f, r.weight, ir_mul(f, flattened_sum(t, place->along, NODES_GGX), t_f32(t, TURNS_GGX)));
    ir_ref z = ir_sub(f, ir_mul(f, ir_sub(f, one, u), ir_add(f, one, wi.z)), wi.z), radius = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, z)));
    vec3 h = v3_add(t, v3(ir_mul(f, radius, ir_cos(f, turn)), ir_mul(f, radius, ir_sin(f, turn)), z), wi);
    r.m = v3_normalize(t, v3(ir_mul(f, alpha, h.x), ir_mul(f, alpha, h.y), ir_max(f, h.z, t_f32(t, 1e-7f))));
    return r;
}

static node beckmann_node(tracer *t, ir_ref alpha, vec3 wi, const grid_place *place)
{
    const float far = BECKMANN_FAR, half_root_pi = 0.886226925452758f;
    ir_func *f = t->f;
    node r;
    ir_ref at[2], last = beckmann_edge(t, wi.x, wi.z);
    split(t, place->k, TURNS_BECKMANN, at);
    ir_ref width = ir_add(f, last, t_f32(t, far)), u = flattened(t, at[0], place->along, NODES_BECKMANN, &r.weight);
    ir_ref x = ir_sub(f, ir_mul(f, u, width), t_f32(t, far)), y = ir_sub(f, step(t, at[1], place->across, TURNS_BECKMANN, 2 * far), t_f32(t, far));
    ir_ref seen = ir_max(f, ir_sub(f, wi.z, ir_mul(f, wi.x, x)), t_f32(t, 0));
    ir_ref density = ir_mul(f, ir_exp(f, ir_neg(f, t_mad(t, x, x, t_sqr(t, y)))), ir_div(f, ir_mul(f, seen, width), beckmann_area(t, wi.x, wi.z, last)));
    r.weight = ir_mul(f, ir_mul(f, r.weight, density), t_f32(t, far / half_root_pi / TURNS_BECKMANN));
    r.m = v3_normalize(t, v3(ir_neg(f, ir_mul(f, alpha, x)), ir_neg(f, ir_mul(f, alpha, y)), t_f32(t, 1)));
    return r;
}

/* The fraction of v. */
static ir_ref fraction(tracer *t, ir_ref v) { return ir_sub(t->f, v, ir_to_f32(t->f, ir_to_u32(t->f, v))); }

/* One of equal weights, by a lattice (golden ratio) that covers the slopes as they are seen. Smooth integrands get less of it than of beckmann_node; but that
 * spends most of its nodes where there is next to nothing, so that a mean over many of its grids was off by 1 % around total reflection. */
static node beckmann_lattice_node(tracer *t, ir_ref alpha, vec3 wi, const grid_place *place)
{
    ir_func *f = t->f;
    ir_ref k = ir_to_f32(f, place->k), u1 = ir_mul(f, ir_add(f, k, place->along), t_f32(t, 1.0f / NODES));
    ir_ref u2 = fraction(t, t_mad(t, k, t_f32(t, 0.6180340f), place->across));
    vec2 slope = beckmann_slopes(t, wi.x, wi.z, u1, u2);
    vec3 h = v3(ir_neg(f, ir_mul(f, alpha, slope.x)), ir_neg(f, ir_mul(f, alpha, slope.y)), t_f32(t, 1));
    return (node){.m = v3_normalize(t, h), .weight = t_f32(t, 1.0f / NODES)};
}

/* A multiple, the same for every alpha, of the density of visible normals at m. wi = (sine, 0, mu). */
static ir_ref density_at(tracer *t, microfacet_kind kind, ir_ref alpha, vec3 wi, vec3 m)
{
    ir_func *f = t->f;
    vec2 both = {alpha, alpha};
    ir_ref d = microfacet_distribution(t, kind, both, m);
    if (kind == MICROFACET_GGX)
        return ir_mul(f, d, microfacet_visible(t, kind, both, wi));
    ir_ref sine = ir_mul(f, alpha, wi.x);
    return ir_div(f, d, beckmann_area(t, sine, wi.z, beckmann_edge(t, sine, wi.z)));
}

/* 1, but with the derivative that a node's share has by alpha while the node stays where it is. If nodes moved with alpha, the kink of total
 * reflection, whose slope is infinite, would pass between them: the integral hardly notices, its derivative does. */
static ir_ref density_ratio(tracer *t, microfacet_kind kind, ir_ref alpha, vec3 wi, vec3 m)
{
    ir_ref density = density_at(t, kind, alpha, wi, m);
    return t->tracked ? ir_div(t->f, density, ir_max(t->f, ir_detach(t->f, density), t_f32(t, 1e-30f))) : t_f32(t, 1);
}

typedef enum side { REFLECTED, TRANSMITTED } side;

/* F(wi.m) G(wo), or (1 - F(wi.m)) G(wo); 0 where wo lies on the wrong side. wi = (sine, 0, mu). */
static ir_ref share_at(tracer *t, side to, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref sine, ir_ref mu, vec3 m)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), cosine = t_mad(t, sine, m.x, ir_mul(f, mu, m.z)), before = ir_gt(f, cosine, zero);
    cosine = ir_select(f, before, cosine, one);
    fresnel at = fresnel_dielectric(t, cosine, eta);
    ir_ref z = ir_sub(f, ir_mul(f, ir_add(f, cosine, cosine), m.z), mu), share = at.reflectance;
    if (to == TRANSMITTED) { /* seen from the other side */
        z = ir_sub(f, ir_mul(f, at.eta_ti, ir_sub(f, mu, ir_mul(f, cosine, m.z))), ir_mul(f, at.cos_t, m.z));
        share = ir_sub(f, one, at.reflectance);
    }
    ir_ref leaves = ir_and(f, before, ir_gt(f, z, zero));
    z = ir_select(f, leaves, z, one);
    vec3 wo = v3(t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, z))), zero, z);
    return ir_select(f, leaves, ir_mul(f, share, microfacet_visible(t, kind, (vec2){alpha, alpha}, wo)), zero);
}

/* Node k of a cosine's grid. One grid alone is best symmetric about wi; the grids that a mean is taken over lie each shifted otherwise, so that
 * the kink of total reflection does not fall on the same place of all of them. */
static grid_place place_of(tracer *t, side to, ir_ref row, ir_ref k)
{
    if (to == TRANSMITTED)
        return (grid_place){k, t_f32(t, 0.5f), t_f32(t, 0.25f)};
    ir_ref count = ir_to_f32(t->f, row);
    return (grid_place){k, fraction(t, ir_mul(t->f, count, t_f32(t, 0.7548777f))), fraction(t, ir_mul(t->f, count, t_f32(t, 0.5698403f)))};
}

/* Sum over cosines first <= k < last; reflected: each times 2 mu / ROUGH_COSINES. */
static ir_ref sum_of_shares(tracer *t, side to, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref first, ir_ref last)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), nodes = t_u32(t, NODES);
    ir_ref state[2] = {ir_mul(f, first, nodes), t_f32(t, 0)}, end = ir_mul(f, last, nodes);
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], end));
    ir_ref row = ir_div(f, state[0], nodes);
    grid_place place = place_of(t, to, row, ir_sub(f, state[0], ir_mul(f, row, nodes)));
    ir_ref mu = ir_max(f, ir_mul(f, ir_to_f32(f, row), t_f32(t, 1.0f / (ROUGH_COSINES - 1))), t_f32(t, 1e-6f));
    ir_ref sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, mu)));
    ir_ref fixed = ir_detach(f, alpha);
    vec3 wi = stretched(t, fixed, sine, mu);
    node at = (kind == MICROFACET_GGX ? ggx_node : to == TRANSMITTED ? beckmann_node : beckmann_lattice_node)(t, fixed, wi, &place);
    ir_ref weight = ir_mul(f, at.weight, density_ratio(t, kind, alpha, v3(sine, t_f32(t, 0), mu), at.m));
    if (to == REFLECTED)
        weight = ir_mul(f, weight, ir_mul(f, mu, t_f32(t, 2.0f / ROUGH_COSINES)));
    ir_ref term = ir_mul(f, weight, share_at(t, to, kind, alpha, eta, sine, mu, at.m));
    ir_ref next[2] = {ir_add(f, state[0], t_u32(t, 1)), ir_add(f, state[1], term)};
    ir_endloop(f, loop, next, 2);
    return state[1];
}

ir_ref rough_transmittance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref k, ir_ref there)
{
    ir_ref last = ir_add(t->f, k, ir_select(t->f, there, t_u32(t, 1), t_u32(t, 0)));
    return sum_of_shares(t, TRANSMITTED, kind, alpha, eta, k, last);
}

ir_ref rough_mean_reflectance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref there)
{
    ir_ref zero = t_u32(t, 0), last = ir_select(t->f, there, t_u32(t, ROUGH_COSINES), zero);
    return sum_of_shares(t, REFLECTED, kind, alpha, eta, zero, last);
}
