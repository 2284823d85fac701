/* SPDX-License-Identifier: BSD-3-Clause
 * Samples and evaluates the limit of refraction (refraction_limit.h). Let s be the sine of wi, and n r be n
 * times the sine of wo, so that (n r)^2 = n^2 - cos^2 wi. The facet must be seen from the right sides:
 * wi.m is positive and wo.m is negative. This holds where the azimuth of wo differs by less than some angle
 * from the azimuth opposite to wi. The cosine of that angle is the lesser of s and n r over the greater. At
 * the ends of this range F is 1. */
#include "render/bsdf/refraction_limit.h"

/* The probability of the limit is rate times alpha^2, like its value, but at most `most`. Samples of the
 * limit are lost to all parameters but the index (docs/decisions/noise-together.md). */
static const float rate = 0.3f, most = 0.1f;

/* The square of n times the sine of wo. Where it is not positive, no direction lies on the circle. */
static ir_ref far_square(tracer *t, ir_ref n, vec3 from)
{
    return ir_sub(t->f, t_sqr(t, n), t_sqr(t, from.z));
}

ir_ref refraction_limit_probability(tracer *t, ir_ref detached, ir_ref n, vec2 alpha, vec3 from)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), there = ir_and(f, detached, ir_gt(f, far_square(t, n, from), zero));
    ir_ref chance = ir_min(f, ir_mul(f, t_f32(t, rate), ir_mul(f, alpha.x, alpha.y)), t_f32(t, most));
    return ir_select(f, there, chance, zero);
}

ir_ref refraction_limit_choose(tracer *t, ir_ref chance, ir_ref *u_lobe)
{
    ir_ref is = ir_lt(t->f, *u_lobe, chance);
    *u_lobe = ir_div(t->f, ir_sub(t->f, *u_lobe, chance), ir_sub(t->f, t_f32(t, 1), chance));
    return is;
}

typedef struct limit_sample {
    vec3 wo;    /* it lies below the surface where `from` lies above */
    ir_ref pdf; /* density by azimuth, given that the sample is of the limit */
} limit_sample;

static limit_sample limit_direction(tracer *t, ir_ref n, vec3 from, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), least = t_f32(t, 1e-10f), near2 = t_mad(t, from.x, from.x, t_sqr(t, from.y)),
           upright = ir_le(f, near2, t_f32(t, 0));
    ir_ref near = ir_sqrt(f, ir_select(f, upright, least, near2)),
           far = ir_sqrt(f, ir_max(f, far_square(t, n, from), least));
    ir_ref width = ir_acos(f, ir_div(f, ir_min(f, near, far), ir_max(f, near, far)));
    ir_ref azimuth = ir_mul(f, width, t_mad(t, u, t_f32(t, 2), t_f32(t, -1))), x = ir_cos(f, azimuth),
           y = ir_sin(f, azimuth);
    vec2 back = {ir_select(f, upright, one, ir_div(f, from.x, near)),
                 ir_select(f, upright, t_f32(t, 0), ir_div(f, from.y, near))};
    ir_ref sine = ir_neg(f, ir_div(f, far, n));
    vec3 wo = {ir_mul(f, sine, ir_sub(f, ir_mul(f, back.x, x), ir_mul(f, back.y, y))),
               ir_mul(f, sine, t_mad(t, back.x, y, ir_mul(f, back.y, x))), ir_neg(f, ir_div(f, from.z, n))};
    return (limit_sample){v3_normalize(t, wo), ir_div(f, t_f32(t, 0.5f), ir_max(f, width, least))};
}

void refraction_limit_sample(const bsdf_context *ctx, bsdf_sample *r, ir_ref chance, ir_ref n, vec3 from,
                             ir_ref u)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    limit_sample limit = limit_direction(t, n, from, u);
    r->wo = v3_select(t, r->delta, facet_flipped(t, ctx->wi, limit.wo), r->wo);
    r->pdf = ir_select(f, r->delta, ir_mul(f, chance, limit.pdf), r->pdf);
    r->eta = ir_select(f, r->delta, n, r->eta);
    r->lobe = ir_select(f, r->delta, t_u32(t, LOBE_REFRACTION_LIMIT), r->lobe);
}

facet refraction_limit_facet(tracer *t, ir_ref n, vec3 wi, vec3 wo)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    facet a = {.reflects = ir_bool(f, false),
               .n = n,
               .wi = facet_flipped(t, wi, wi),
               .wo = facet_flipped(t, wi, wo)};
    ir_ref sign = ir_select(f, ir_gt(f, n, one), t_f32(t, -1), one);
    vec3 h = {ir_mul(f, sign, t_mad(t, n, a.wo.x, a.wi.x)), ir_mul(f, sign, t_mad(t, n, a.wo.y, a.wi.y)),
              zero};
    ir_ref wi_h = v3_dot(t, a.wi, h), wo_h = v3_dot(t, a.wo, h),
           some = ir_gt(f, v3_dot(t, h, h), t_f32(t, 1e-12f));
    a.valid = ir_and(f, ir_and(f, some, ir_gt(f, a.wi.z, zero)),
                     ir_and(f, ir_gt(f, wi_h, zero), ir_lt(f, wo_h, zero)));
    return facet_of_half_vector(t, a, h, v3(zero, zero, one));
}

ir_ref refraction_limit_growth(tracer *t, const facet *a, ir_ref moved)
{
    ir_func *f = t->f;
    ir_ref by = ir_select(f, ir_gt(f, a->n, t_f32(t, 1)), ir_sub(f, moved, a->n), ir_sub(f, a->n, moved));
    return ir_mul(f, by, ir_div(f, a->wi.z, t_sqr(t, a->n)));
}
