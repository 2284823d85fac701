/* SPDX-License-Identifier: BSD-3-Clause
 * See hair_lobes.h. All in forms that neither overflow for small variances nor lose digits: exponents are differences from the peak. */
#include "render/bsdf/hair_lobes.h"

static const float pi = 3.14159265358979323846f;

static ir_ref polynomial(tracer *t, const float *factors, int count, ir_ref x)
{
    ir_ref sum = t_f32(t, factors[count - 1]);
    for (int k = count - 2; k >= 0; k--)
        sum = t_mad(t, sum, x, t_f32(t, factors[k]));
    return sum;
}

/* exp(-x) I0(x), x >= 0, to 2e-7 (Abramowitz and Stegun 1964, 9.8.1 and 9.8.2). */
static ir_ref scaled_bessel(tracer *t, ir_ref x)
{
    static const float near[] = {1, 3.5156229f, 3.0899424f, 1.2067492f, 0.2659732f, 0.0360768f, 0.0045813f};
    static const float far[] = {0.39894228f, 0.01328592f, 0.00225319f, -0.00157565f, 0.00916281f, -0.02057706f, 0.02635537f, -0.01647633f, 0.00392377f};
    ir_func *f = t->f;
    ir_ref border = t_f32(t, 3.75f), is_near = ir_lt(f, x, border);
    ir_ref small = ir_select(f, is_near, x, border), large = ir_select(f, is_near, border, x);
    ir_ref low = ir_mul(f, polynomial(t, near, 7, t_sqr(t, ir_div(f, small, border))), ir_exp(f, ir_neg(f, small)));
    ir_ref high = ir_div(f, polynomial(t, far, 9, ir_div(f, border, large)), ir_sqrt(f, large));
    return ir_select(f, is_near, low, high);
}

/* exp(-sin sin' / v) I0(cos cos' / v) / (2 v sinh(1 / v)). With its scaled Bessel function the exponent is (cos(theta_i + theta_o) - 1) / v. */
ir_ref hair_longitudinal(tracer *t, ir_ref v, vec2 wi, vec2 wo)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), inverse = ir_div(f, one, v), cosines = ir_mul(f, wi.y, wo.y);
    ir_ref below = ir_sub(f, ir_sub(f, cosines, ir_mul(f, wi.x, wo.x)), one);
    ir_ref tail = ir_sub(f, one, ir_exp(f, ir_mul(f, t_f32(t, -2), inverse)));
    ir_ref peak = ir_mul(f, ir_exp(f, ir_mul(f, below, inverse)), scaled_bessel(t, ir_mul(f, cosines, inverse)));
    return ir_div(f, peak, ir_mul(f, v, tail));
}

ir_ref hair_longitudinal_sample(tracer *t, ir_ref v, vec2 wi, ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), rest = ir_exp(f, ir_div(f, t_f32(t, -2), v));
    ir_ref share = ir_max(f, t_mad(t, ir_sub(f, one, u1), rest, u1), t_f32(t, 1e-30f));
    ir_ref cosine = t_mad(t, v, ir_log(f, share), one), sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)));
    ir_ref turned = ir_mul(f, ir_mul(f, sine, ir_cos(f, ir_mul(f, u2, t_f32(t, 2 * pi)))), wi.y);
    return t_clamp(t, ir_sub(f, turned, ir_mul(f, cosine, wi.x)), -1, 1);
}

/* exp(-|x| / s) / (s (1 + exp(-|x| / s))^2) over the part of the whole within [-pi, pi], (1 - e) / (1 + e) with e = exp(-pi / s). */
ir_ref hair_azimuthal(tracer *t, ir_ref s, ir_ref angle)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), turns = ir_floor(f, t_mad(t, angle, t_f32(t, 0.5f / pi), t_f32(t, 0.5f)));
    ir_ref x = ir_abs(f, ir_sub(f, angle, ir_mul(f, turns, t_f32(t, 2 * pi))));
    ir_ref fall = ir_exp(f, ir_neg(f, ir_div(f, x, s))), edge = ir_exp(f, ir_div(f, t_f32(t, -pi), s));
    ir_ref part = ir_div(f, ir_sub(f, one, edge), ir_add(f, one, edge));
    return ir_div(f, fall, ir_mul(f, ir_mul(f, s, part), t_sqr(t, ir_add(f, one, fall))));
}

ir_ref hair_azimuthal_sample(tracer *t, ir_ref s, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), edge = ir_exp(f, ir_div(f, t_f32(t, -pi), s)), sum = ir_add(f, one, edge);
    ir_ref below = ir_div(f, t_mad(t, u, ir_sub(f, one, edge), edge), sum); /* of the untrimmed distribution */
    below = t_clamp(t, below, 1e-12f, 0x1.fffffep-1f);
    ir_ref x = ir_neg(f, ir_mul(f, s, ir_log(f, ir_div(f, ir_sub(f, one, below), below))));
    return t_clamp(t, x, -pi, pi);
}
