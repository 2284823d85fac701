/* SPDX-License-Identifier: BSD-3-Clause
 * The facet between two directions, and the direction that a facet leads to (facet.h). The half vector of
 * refraction is that of Walter, Marschner, Li and Torrance 2007, section 4.2. */
#include "render/bsdf/facet.h"

vec3 facet_flipped(tracer *t, vec3 wi, vec3 v)
{
    return v3_select(t, ir_ge(t->f, wi.z, t_f32(t, 0)), v, v3_neg(t, v));
}

ir_ref facet_index(tracer *t, ir_ref eta, vec3 wi)
{
    return ir_select(t->f, ir_ge(t->f, wi.z, t_f32(t, 0)), eta, ir_div(t->f, t_f32(t, 1), eta));
}

facet facet_of_half_vector(tracer *t, facet a, vec3 h, vec3 up)
{
    a.wi = v3_select(t, a.valid, a.wi, up), a.wo = v3_select(t, a.valid, a.wo, up),
    h = v3_select(t, a.valid, h, up);
    a.h2 = v3_dot(t, h, h);
    a.m = v3_scale(t, h, ir_div(t->f, up.z, ir_sqrt(t->f, a.h2)));
    a.wi_m = v3_dot(t, a.wi, a.m), a.wo_m = v3_dot(t, a.wo, a.m);
    return a;
}

facet facet_between(tracer *t, ir_ref n, ir_ref decides, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    facet a = {.n = n, .wi = facet_flipped(t, wi, wi), .wo = facet_flipped(t, wi, wo)};
    a.reflects = ir_gt(f, a.wo.z, zero);
    vec3 up = v3(zero, zero, one);
    ir_ref oblique = ir_and(f, ir_gt(f, a.wi.z, zero), ir_ne(f, a.wo.z, zero));
    vec3 h = v3_add(t, a.wi, v3_scale(t, a.wo, ir_select(f, a.reflects, one, a.n)));
    ir_ref height = ir_add(f, a.wi.z, ir_mul(f, a.wo.z, ir_select(f, a.reflects, one, decides)));
    h = v3_select(t, ir_lt(f, height, zero), v3_neg(t, h), h);
    a.valid = ir_and(f, oblique, ir_ne(f, height, zero));
    ir_ref wi_h = v3_dot(t, a.wi, h), wo_h = v3_dot(t, a.wo, h);
    a.valid = ir_and(f, a.valid,
                     ir_and(f, ir_gt(f, wi_h, zero),
                            ir_select(f, a.reflects, ir_gt(f, wo_h, zero), ir_lt(f, wo_h, zero))));
    return facet_of_half_vector(t, a, h, up);
}

facet facet_reflecting(tracer *t, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    vec3 up = v3(zero, zero, one);
    facet a = {.valid = ir_and(f, ir_gt(f, wi.z, zero), ir_gt(f, wo.z, zero)), .reflects = ir_bool(f, true)};
    a.wi = v3_select(t, a.valid, wi, up), a.wo = v3_select(t, a.valid, wo, up);
    vec3 h = v3_add(t, a.wi, a.wo);
    a.h2 = v3_dot(t, h, h);
    a.m = v3_scale(t, h, ir_div(f, one, ir_sqrt(f, a.h2)));
    ir_ref cosine = v3_dot(t, a.wi, a.m),
           before = ir_gt(f, cosine, zero); /* it can round to false where wi and wo are nearly opposite */
    a.valid = ir_and(f, a.valid, before);
    a.wi_m = a.wo_m = ir_select(f, before, cosine, one);
    return a;
}

facet_sample facet_scatter(tracer *t, vec3 from, vec3 m, ir_ref cosine, const fresnel *at, ir_ref reflects)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    ir_ref along = ir_select(f, reflects, ir_add(f, cosine, cosine), t_mad(t, cosine, at->eta_ti, at->cos_t));
    vec3 wo =
        v3_sub(t, v3_scale(t, m, along), v3_scale(t, from, ir_select(f, reflects, t_f32(t, 1), at->eta_ti)));
    /* A reflection that ends up below the surface is lost, and so is a refraction that ends up above it. */
    ir_ref side = ir_select(f, reflects, ir_gt(f, wo.z, zero), ir_lt(f, wo.z, zero));
    return (facet_sample){.wo = wo, .right = ir_and(f, ir_gt(f, cosine, zero), side)};
}

/* ---- normals near total reflection ---- */

/* The share of the normals that is sampled near total reflection. The variance of the derivative by the index
 * grows only like the logarithm of 1 / share. That of every other parameter grows like 1 / (1 - share) at
 * each vertex, so the share is small (docs/decisions/noise-together.md). */
static const float critical_share = 0.05f;

facet_critical facet_critical_normal(tracer *t, ir_ref detached, ir_ref index, vec3 from, ir_ref u1,
                                     ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), share = t_f32(t, critical_share),
           denser = ir_and(f, detached, ir_lt(f, index, one));
    ir_ref left = ir_mul(f, ir_max(f, ir_sub(f, u1, share), t_f32(t, 0)), t_f32(t, 1 / (1 - critical_share)));
    ir_ref sine2 = ir_sub(f, one, t_sqr(t, ir_mul(f, u1, t_f32(t, 1 / critical_share)))); /* sin^2 t */
    ir_ref cosine = t_safe_sqrt(t, ir_sub(f, one, ir_mul(f, t_sqr(t, index), sine2)));
    return (facet_critical){
        .chosen = ir_and(f, denser, ir_lt(f, u1, share)),
        .m = warp_about(t, from, cosine, u2),
        .rest = ir_select(f, denser, left, u1),
    };
}

ir_ref facet_critical_density(tracer *t, ir_ref detached, const facet *a, ir_ref usual)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), n2 = t_sqr(t, a->n),
           square = ir_sub(f, one, ir_div(f, ir_sub(f, one, t_sqr(t, a->wi_m)), n2));
    ir_ref crosses = ir_gt(f, square, t_f32(t, 0)), across = ir_sqrt(f, ir_select(f, crosses, square, one));
    ir_ref density = ir_div(f, ir_mul(f, a->wi_m, t_f32(t, 0.15915494309189533577f)), ir_mul(f, n2, across));
    ir_ref critical = ir_mul(f, ir_select(f, crosses, density, t_f32(t, 0)), t_f32(t, critical_share));
    return ir_select(f, ir_and(f, detached, ir_lt(f, a->n, one)),
                     t_mad(t, usual, t_f32(t, 1 - critical_share), critical), usual);
}
