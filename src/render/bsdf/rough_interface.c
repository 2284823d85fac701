/* SPDX-License-Identifier: BSD-3-Clause
 * The integrals of rough_interface.h, by quadrature.
 *
 * Light from one direction: the quadrature runs over the visible normals. Its coordinates are such that the
 * visible normals have no edge inside. For GGX they are those of the spherical cap of Dupuy and Benyoub
 * (2023). For Beckmann they are slopes along and across wi (beckmann.h). Light comes along the x axis.
 *
 * Light from all directions: the quadrature runs over facets and, around each facet, over directions. F
 * depends on the angle between facet and direction alone. Total reflection begins at one such angle, with an
 * infinite slope. Beyond that angle everything is reflected. Before it, the coordinate is the angle t on the
 * other side, in which nothing is steep. With c = wi.m and c dc = n^2 cos t d(cos t)
 *
 *     mean F  =  integral of all, over c  -  integral of 1 - F, over cos t.
 *
 * When alpha changes, the nodes of normals stay where they are, and their share of the density changes
 * (`relative`). If they moved with alpha, steep and bent places would pass between them. The integral would
 * hardly notice that, but its derivative would. */
#include "render/bsdf/rough_interface.h"

#include "render/bsdf/beckmann.h"
#include "render/bsdf/fresnel.h"

static const float pi = 3.14159265358979323846f;

enum {
    NODES_GGX = 96,
    TURNS_GGX = 16,
    NODES_BECKMANN = 96,
    TURNS_BECKMANN = 16,
    NODES = NODES_GGX * TURNS_GGX
};
_Static_assert(NODES == NODES_BECKMANN * TURNS_BECKMANN, "one count for both");
enum { FACETS = 64, ANGLES = 16, TURNS = 8, PLACES = FACETS * ANGLES * TURNS };

typedef struct node {
    vec3 m;
    ir_ref weight;
} node;

static void split(tracer *t, ir_ref k, uint32_t columns, ir_ref out[2])
{
    out[0] = ir_div(t->f, k, t_u32(t, columns)),
    out[1] = ir_sub(t->f, k, ir_mul(t->f, out[0], t_u32(t, columns)));
}

/* Place number `at` of `count` places that lie in equal steps over `width`. The first lies `shift` of a step
 * after 0. */
static ir_ref step(tracer *t, ir_ref at, float shift, uint32_t count, float width)
{
    return ir_mul(t->f, ir_add(t->f, ir_to_f32(t->f, at), t_f32(t, shift)), t_f32(t, width / (float)count));
}

/* Number `at` of `count` numbers in (0, 1), and its weight. The number is 3 s^2 - 2 s^3 with s in equal
 * steps. That flattens what is steep at the ends. Weights add up to 1. Without the last factor of `scale`
 * they would add up to 1 + 1 / (2 count^2). */
static ir_ref flattened(tracer *t, ir_ref at, uint32_t count, ir_ref *weight)
{
    ir_func *f = t->f;
    ir_ref s = step(t, at, 0.5f, count, 1);
    float square = (float)(count * count), scale = 6.0f / (float)count * (2 * square / (2 * square + 1));
    *weight = ir_mul(f, ir_mul(f, s, ir_sub(f, t_f32(t, 1), s)), t_f32(t, scale));
    return ir_mul(f, t_sqr(t, s), ir_sub(f, t_f32(t, 3), ir_add(f, s, s)));
}

/* wi = (sine, 0, mu) with the roughness scaled away. */
static vec3 stretched(tracer *t, ir_ref alpha, ir_ref sine, ir_ref mu)
{
    return v3_normalize(t, v3(ir_mul(t->f, alpha, sine), t_f32(t, 0), mu));
}

static node ggx_node(tracer *t, ir_ref alpha, vec3 wi, ir_ref k)
{
    ir_func *f = t->f;
    node r;
    ir_ref at[2], one = t_f32(t, 1);
    split(t, k, TURNS_GGX, at);
    ir_ref u = flattened(t, at[0], NODES_GGX, &r.weight), turn = step(t, at[1], 0.25f, TURNS_GGX, 2 * pi);
    r.weight = ir_mul(f, r.weight, t_f32(t, 1.0f / TURNS_GGX));
    ir_ref z = ir_sub(f, ir_mul(f, ir_sub(f, one, u), ir_add(f, one, wi.z)), wi.z),
           radius = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, z)));
    vec3 h = v3_add(t, v3(ir_mul(f, radius, ir_cos(f, turn)), ir_mul(f, radius, ir_sin(f, turn)), z), wi);
    r.m = v3_normalize(t, v3(ir_mul(f, alpha, h.x), ir_mul(f, alpha, h.y), ir_max(f, h.z, t_f32(t, 1e-7f))));
    return r;
}

static node beckmann_node(tracer *t, ir_ref alpha, vec3 wi, ir_ref k)
{
    const float far = BECKMANN_FAR, half_root_pi = 0.886226925452758f;
    ir_func *f = t->f;
    node r;
    ir_ref at[2], last = beckmann_edge(t, wi.x, wi.z);
    split(t, k, TURNS_BECKMANN, at);
    ir_ref width = ir_add(f, last, t_f32(t, far)), u = flattened(t, at[0], NODES_BECKMANN, &r.weight);
    ir_ref x = ir_sub(f, ir_mul(f, u, width), t_f32(t, far)),
           y = ir_sub(f, step(t, at[1], 0.25f, TURNS_BECKMANN, 2 * far), t_f32(t, far));
    ir_ref seen = ir_max(f, ir_sub(f, wi.z, ir_mul(f, wi.x, x)), t_f32(t, 0));
    ir_ref density = ir_mul(f, ir_exp(f, ir_neg(f, t_mad(t, x, x, t_sqr(t, y)))),
                            ir_div(f, ir_mul(f, seen, width), beckmann_area(t, wi.x, wi.z, last)));
    r.weight = ir_mul(f, ir_mul(f, r.weight, density), t_f32(t, far / half_root_pi / TURNS_BECKMANN));
    r.m = v3_normalize(t, v3(ir_neg(f, ir_mul(f, alpha, x)), ir_neg(f, ir_mul(f, alpha, y)), t_f32(t, 1)));
    return r;
}

/* The density of visible normals at m, times a factor that does not depend on alpha. wi = (sine, 0, mu). */
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

/* The density over itself detached. This is always 1. Where the trace is differentiated, its derivative is
 * that of the density, relative to the density. So a node that stays where it is counts for more or less as
 * alpha changes. */
static ir_ref relative(tracer *t, ir_ref density)
{
    return t->differentiated ? ir_div(t->f, density, ir_max(t->f, ir_detach(t->f, density), t_f32(t, 1e-30f)))
                             : t_f32(t, 1);
}

/* ---- from one direction ---- */

typedef enum side { REFLECTED, TRANSMITTED } side;

/* A rough interface, and which side of it the light leaves to. */
typedef struct rough_side {
    side to;
    microfacet_kind kind;
    ir_ref alpha, eta;
} rough_side;

/* F(wi.m) G(wo) for reflection and (1 - F(wi.m)) G(wo) for transmission; 0 where wo lies on the wrong side.
 * wi = (sine, 0, mu). */
static ir_ref share_at(tracer *t, const rough_side *i, ir_ref sine, ir_ref mu, vec3 m)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), cosine = t_mad(t, sine, m.x, ir_mul(f, mu, m.z)),
           before = ir_gt(f, cosine, zero);
    cosine = ir_select(f, before, cosine, one);
    fresnel at = fresnel_dielectric(t, cosine, i->eta);
    ir_ref z = ir_sub(f, ir_mul(f, ir_add(f, cosine, cosine), m.z), mu), share = at.reflectance;
    if (i->to == TRANSMITTED) { /* seen from the other side */
        z = ir_sub(f, ir_mul(f, at.eta_ti, ir_sub(f, mu, ir_mul(f, cosine, m.z))), ir_mul(f, at.cos_t, m.z));
        share = ir_sub(f, one, at.reflectance);
    }
    ir_ref leaves = ir_and(f, before, ir_gt(f, z, zero));
    z = ir_select(f, leaves, z, one);
    vec3 wo = v3(t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, z))), zero, z);
    vec2 alpha = {i->alpha, i->alpha};
    return ir_select(f, leaves, ir_mul(f, share, microfacet_visible(t, i->kind, alpha, wo)), zero);
}

/* The mean of share_at over the normals that wi sees, with wi at cosine number `row`. where: a bool; where it
 * is false, the result is 0 and no work is done. */
static ir_ref share_of_row(tracer *t, const rough_side *i, ir_ref row, ir_ref where)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), end = ir_select(f, where, t_u32(t, NODES), t_u32(t, 0)),
           fixed = ir_detach(f, i->alpha);
    ir_ref mu =
        ir_max(f, ir_mul(f, ir_to_f32(f, row), t_f32(t, 1.0f / (ROUGH_COSINES - 1))), t_f32(t, 1e-6f));
    ir_ref sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, mu))), state[2] = {t_u32(t, 0), t_f32(t, 0)};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], end));
    node at = (i->kind == MICROFACET_GGX ? ggx_node : beckmann_node)(t, fixed, stretched(t, fixed, sine, mu),
                                                                     state[0]);
    ir_ref weight =
        ir_mul(f, at.weight, relative(t, density_at(t, i->kind, i->alpha, v3(sine, t_f32(t, 0), mu), at.m)));
    ir_ref term = ir_mul(f, weight, share_at(t, i, sine, mu, at.m));
    ir_ref next[2] = {ir_add(f, state[0], t_u32(t, 1)), ir_add(f, state[1], term)};
    ir_endloop(f, loop, next, 2);
    return state[1];
}

ir_ref rough_transmittance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref k, ir_ref there)
{
    return share_of_row(t, &(rough_side){TRANSMITTED, kind, alpha, eta}, k, there);
}

/* ---- from all directions ---- */

/* A facet by its angle to the normal. The weight times the cosine is the facet's share of the density. The
 * facets stay where the detached alpha puts them, and alpha moves their shares. Shares are not yet scaled to
 * add up to 1. */
typedef struct tilt {
    ir_ref sine, cosine, weight;
} tilt;

/* Facet number k. */
static tilt tilt_at(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref k)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), fixed = ir_detach(f, alpha), share,
           left = ir_sub(f, one, flattened(t, k, FACETS, &share));
    ir_ref steep = kind == MICROFACET_GGX ? ir_sub(f, ir_div(f, one, left), one)
                                          : ir_neg(f, ir_log(f, left)); /* square of the slope over alpha */
    ir_ref slope = ir_mul(f, fixed, ir_sqrt(f, steep)),
           cosine = ir_div(f, one, ir_sqrt(f, t_mad(t, slope, slope, one)));
    tilt r = {.sine = ir_mul(f, slope, cosine), .cosine = cosine};
    ir_ref density = microfacet_distribution(t, kind, (vec2){alpha, alpha}, v3(r.sine, t_f32(t, 0), cosine));
    r.weight = ir_div(f, ir_mul(f, share, relative(t, density)), cosine);
    return r;
}

/* The share of the facet that both a direction and its mirrored direction see. The direction has the cosine c
 * to the facet. azimuth: the cosine of its azimuth around the facet. */
static ir_ref both_see(tracer *t, microfacet_kind kind, ir_ref alpha, const tilt *m, ir_ref c, ir_ref azimuth)
{
    ir_func *f = t->f;
    ir_ref along = ir_mul(f, c, m->cosine),
           across =
               ir_mul(f, ir_mul(f, t_safe_sqrt(t, ir_sub(f, t_f32(t, 1), t_sqr(t, c))), azimuth), m->sine);
    ir_ref z[2] = {ir_sub(f, along, across), ir_add(f, along, across)}, both = t_f32(t, 1),
           least = t_f32(t, 1e-6f);
    for (int k = 0; k < 2; k++) {
        ir_ref above = ir_gt(f, z[k], least), safe = ir_select(f, above, z[k], t_f32(t, 0.5f));
        vec3 w = v3(t_safe_sqrt(t, ir_sub(f, t_f32(t, 1), t_sqr(t, safe))), t_f32(t, 0), safe);
        both = ir_mul(f, both,
                      ir_select(f, above, microfacet_visible(t, kind, (vec2){alpha, alpha}, w), t_f32(t, 0)));
    }
    return both;
}

static ir_ref sqr_ratio(tracer *t, ir_ref a, ir_ref b)
{
    return t_sqr(t, ir_div(t->f, ir_sub(t->f, a, b), ir_add(t->f, a, b)));
}

/* 1 - F from the cosines on both sides. */
static ir_ref crosses(tracer *t, ir_ref n, ir_ref c, ir_ref cos_t)
{
    ir_func *f = t->f;
    ir_ref across = sqr_ratio(t, c, ir_mul(f, n, cos_t)), along = sqr_ratio(t, ir_mul(f, n, c), cos_t);
    return ir_sub(f, t_f32(t, 1), ir_mul(f, t_f32(t, 0.5f), ir_add(f, across, along)));
}

/* The integral of 2 mu times what one direction reflects. */
static ir_ref reflectance_of_all(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref n, ir_ref where)
{
    ir_func *f = t->f;
    ir_ref zero = t_u32(t, 0), one = t_f32(t, 1), n2 = t_sqr(t, n), shares[2] = {zero, t_f32(t, 0)},
           sums[2] = {zero, t_f32(t, 0)};
    ir_ref loop = ir_loop(f, shares, 2);
    ir_while(f, ir_lt(f, shares[0], ir_select(f, where, t_u32(t, FACETS), zero)));
    tilt m = tilt_at(t, kind, alpha, shares[0]);
    ir_ref next[2] = {ir_add(f, shares[0], t_u32(t, 1)), t_mad(t, m.weight, m.cosine, shares[1])};
    ir_endloop(f, loop, next, 2);

    /* denser: light comes from the denser side. Else nothing is totally reflected, and c will do. */
    ir_ref denser = ir_lt(f, n, one), at[2], around[2], weight;
    loop = ir_loop(f, sums, 2);
    ir_while(f, ir_lt(f, sums[0], ir_select(f, where, t_u32(t, PLACES), zero)));
    split(t, sums[0], ANGLES * TURNS, at), split(t, at[1], TURNS, around);
    m = tilt_at(t, kind, alpha, at[0]);
    ir_ref azimuth = ir_cos(f, step(t, around[1], 0.5f, TURNS, pi)),
           c = flattened(t, around[0], ANGLES, &weight);
    ir_ref all = ir_mul(f, ir_mul(f, weight, c), both_see(t, kind, alpha, &m, c, azimuth));
    ir_ref even = step(t, around[0], 0.5f, ANGLES, 1), missing = ir_sub(f, one, t_sqr(t, even));
    c = ir_select(f, denser, t_safe_sqrt(t, ir_sub(f, one, ir_mul(f, n2, missing))), even);
    ir_ref cos_t = ir_select(f, denser, even, t_safe_sqrt(t, ir_sub(f, one, ir_div(f, missing, n2))));
    ir_ref measure = ir_mul(f, even, ir_select(f, denser, n2, one));
    ir_ref lost =
        ir_mul(f, measure, ir_mul(f, crosses(t, n, c, cos_t), both_see(t, kind, alpha, &m, c, azimuth)));
    ir_ref term = ir_mul(f, m.weight, ir_sub(f, all, ir_mul(f, lost, t_f32(t, 1.0f / ANGLES))));
    ir_ref after[2] = {ir_add(f, sums[0], t_u32(t, 1)), t_mad(t, term, t_f32(t, 2.0f / TURNS), sums[1])};
    ir_endloop(f, loop, after, 2);
    return t_ratio(t, sums[1], shares[1]);
}

/* Mitsuba sums over the cosines mu_k, each with the weight 2 mu_k / ROUGH_COSINES. By the trapezoidal rule
 * that sum is (ROUGH_COSINES - 1) times the integral, plus the value at the last cosine, all over
 * ROUGH_COSINES. */
ir_ref rough_mean_reflectance(tracer *t, microfacet_kind kind, ir_ref alpha, ir_ref eta, ir_ref there)
{
    ir_func *f = t->f;
    ir_ref integral = reflectance_of_all(t, kind, alpha, eta, there);
    rough_side reflected = {REFLECTED, kind, alpha, eta};
    ir_ref last = share_of_row(t, &reflected, t_u32(t, ROUGH_COSINES - 1), there);
    return ir_mul(f, t_mad(t, integral, t_f32(t, ROUGH_COSINES - 1), last), t_f32(t, 1.0f / ROUGH_COSINES));
}
