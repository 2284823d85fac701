/* SPDX-License-Identifier: BSD-3-Clause
 * The distributions of hair_lobes.h. Their forms neither overflow for small variances nor lose digits:
 * exponents are differences from the peak. */
#include "render/bsdf/hair_lobes.h"

static const float pi = 3.14159265358979323846f;

static ir_ref polynomial(tracer *t, const float *factors, int count, ir_ref x)
{
    ir_ref sum = t_f32(t, factors[count - 1]);
    for (int k = count - 2; k >= 0; k--)
        sum = t_mad(t, sum, x, t_f32(t, factors[k]));
    return sum;
}

/* The factor is exp(1 / v) / (2 v sinh(1 / v)), because hair_longitudinal takes exponents relative to the
 * peak. */
hair_width hair_along(tracer *t, ir_ref variance)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), inverse = ir_div(f, one, variance);
    return (hair_width){inverse,
                        ir_div(f, inverse, ir_sub(f, one, ir_exp(f, ir_mul(f, t_f32(t, -2), inverse))))};
}

/* The factor is 1 / (s part). `part` is the part of the whole distribution that lies within [-pi, pi]. It is
 * (1 - e) / (1 + e) with e = exp(-pi / s). */
hair_width hair_around(tracer *t, ir_ref scale)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), inverse = ir_div(f, one, scale),
           edge = ir_exp(f, ir_mul(f, t_f32(t, -pi), inverse));
    return (hair_width){inverse, ir_div(f, ir_mul(f, inverse, ir_add(f, one, edge)), ir_sub(f, one, edge))};
}

/* exp(-sin sin' / v) I0(cos cos' / v) / (2 v sinh(1 / v)). I0 is the fit of Abramowitz and Stegun 1964, 9.8.1
 * and 9.8.2, to 2e-7. Their fit for large arguments is a fit of exp(-x) I0(x). With it, the exponent is
 * (cos(theta_i + theta_o) - 1) / v. */
ir_ref hair_longitudinal(tracer *t, hair_width along, vec2 wi, vec2 wo)
{
    static const float near[] = {1, 3.5156229f, 3.0899424f, 1.2067492f, 0.2659732f, 0.0360768f, 0.0045813f};
    static const float far[] = {0.39894228f,  0.01328592f, 0.00225319f,  -0.00157565f, 0.00916281f,
                                -0.02057706f, 0.02635537f, -0.01647633f, 0.00392377f};
    ir_func *f = t->f;
    ir_ref cosines = ir_mul(f, wi.y, wo.y), sines = ir_mul(f, wi.x, wo.x),
           below = ir_sub(f, ir_sub(f, cosines, sines), t_f32(t, 1));
    ir_ref x = ir_mul(f, cosines, along.inverse), border = t_f32(t, 3.75f), is_near = ir_lt(f, x, border);
    ir_ref small = ir_select(f, is_near, x, border), large = ir_select(f, is_near, border, x);
    ir_ref low = polynomial(t, near, 7, t_sqr(t, ir_mul(f, small, t_f32(t, 1 / 3.75f))));
    ir_ref high = ir_div(f, polynomial(t, far, 9, ir_div(f, border, large)), ir_sqrt(f, large));
    ir_ref exponent = ir_sub(f, ir_mul(f, below, along.inverse), ir_select(f, is_near, small, t_f32(t, 0)));
    return ir_mul(f, ir_mul(f, along.norm, ir_exp(f, exponent)), ir_select(f, is_near, low, high));
}

ir_ref hair_longitudinal_sample(tracer *t, hair_width along, vec2 wi, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), rest = ir_exp(f, ir_mul(f, t_f32(t, -2), along.inverse));
    ir_ref share = ir_max(f, t_mad(t, ir_sub(f, one, u1), rest, u1), t_f32(t, 1e-30f));
    ir_ref cosine = ir_add(f, ir_div(f, ir_log(f, share), along.inverse), one),
           sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)));
    ir_ref turned = ir_mul(f, ir_mul(f, sine, ir_cos(f, ir_mul(f, u2, t_f32(t, 2 * pi)))), wi.y);
    return t_clamp(t, ir_sub(f, turned, ir_mul(f, cosine, wi.x)), -1, 1);
}

/* exp(-|x| / s) / (s (1 + exp(-|x| / s))^2), divided by the part of the distribution that is kept. */
ir_ref hair_azimuthal(tracer *t, hair_width around, ir_ref angle)
{
    ir_func *f = t->f;
    ir_ref turns = ir_floor(f, t_mad(t, angle, t_f32(t, 0.5f / pi), t_f32(t, 0.5f)));
    ir_ref x = ir_abs(f, ir_sub(f, angle, ir_mul(f, turns, t_f32(t, 2 * pi)))),
           fall = ir_exp(f, ir_neg(f, ir_mul(f, x, around.inverse)));
    return ir_div(f, ir_mul(f, fall, around.norm), t_sqr(t, ir_add(f, t_f32(t, 1), fall)));
}

ir_ref hair_azimuthal_sample(tracer *t, hair_width around, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), edge = ir_exp(f, ir_mul(f, t_f32(t, -pi), around.inverse));
    /* below: the cumulative distribution at the sample, with the whole distribution as 1. */
    ir_ref below = ir_div(f, t_mad(t, u, ir_sub(f, one, edge), edge), ir_add(f, one, edge));
    below = t_clamp(t, below, 1e-12f, 0x1.fffffep-1f);
    ir_ref x = ir_neg(f, ir_div(f, ir_log(f, ir_div(f, ir_sub(f, one, below), below)), around.inverse));
    return t_clamp(t, x, -pi, pi);
}
