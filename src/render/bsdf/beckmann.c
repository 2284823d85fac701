/* SPDX-License-Identifier: BSD-3-Clause
 * Samples the slopes of beckmann.h. Slopes across wi are Gaussian. Slopes along wi have, in terms of
 * X = erf(x), the cumulative weight
 *
 *     W(X) = mu (1 + X) + sine / sqrt(pi) e^(-x^2),     W'(X) = mu - sine x >= 0.
 *
 * W is concave, and linear when the surface is seen from above. It is inverted by Newton's method on X (Jakob
 * 2014, An Improved Visible Normal Sampling Routine for the Beckmann Distribution). The method begins at
 * edge - (1 + edge) erf(sqrt(-log u)). At grazing incidence this is the answer itself, and from above one
 * step is enough. The worst angles lie between, near 25 degrees. They leave an error of 2e-4 of the
 * cumulative distribution after two steps and of 3e-6 after three. The start of each step is detached. So
 * derivatives of the slopes are those of the implicit function theorem. */
#include "render/bsdf/beckmann.h"

static const float half_root_pi = 0.886226925452758f, inverse_root_pi = 0.564189583547756f;

static ir_ref gauss_of(tracer *t, ir_ref x) { return ir_exp(t->f, ir_neg(t->f, t_sqr(t, x))); }

static ir_ref polynomial(tracer *t, ir_ref x, const float *highest_first, int count)
{
    ir_ref sum = t_f32(t, highest_first[0]);
    for (int k = 1; k < count; k++)
        sum = t_mad(t, sum, x, t_f32(t, highest_first[k]));
    return sum;
}

/* erf(x) for x >= 0, to 1.5e-7 (Abramowitz and Stegun 7.1.26). gauss: e^(-x^2). */
static ir_ref error_function(tracer *t, ir_ref x, ir_ref gauss)
{
    static const float a[] = {1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f};
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), s = ir_div(f, one, t_mad(t, x, t_f32(t, 0.3275911f), one));
    return ir_sub(f, one, ir_mul(f, ir_mul(f, polynomial(t, s, a, 5), s), gauss));
}

/* The x for which erf(x) = y, for |y| < 1 (Giles 2012, Approximating the erfinv function, table 5). */
static ir_ref inverse_error_function(tracer *t, ir_ref y)
{
    static const float middle[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                   -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                   -0.00417768164f,  0.246640727f,    1.50140941f};
    static const float tail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                 -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                 0.00943887047f,   1.00167406f,     2.83297682f};
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1);
    ir_ref w = ir_neg(f, ir_log(f, ir_mul(f, ir_sub(f, one, y), ir_add(f, one, y)))),
           central = ir_lt(f, w, t_f32(t, 5));
    ir_ref inside = polynomial(t, ir_sub(f, w, t_f32(t, 2.5f)), middle, 9);
    ir_ref outside = polynomial(t, ir_sub(f, ir_sqrt(f, ir_max(f, w, t_f32(t, 5))), t_f32(t, 3)), tail, 9);
    return ir_mul(f, ir_select(f, central, inside, outside), y);
}

ir_ref beckmann_edge(tracer *t, ir_ref sine, ir_ref mu)
{
    return ir_min(t->f, ir_div(t->f, mu, ir_max(t->f, sine, t_f32(t, 1e-6f))), t_f32(t, BECKMANN_FAR));
}

ir_ref beckmann_area(tracer *t, ir_ref sine, ir_ref mu, ir_ref last)
{
    ir_func *f = t->f;
    ir_ref gauss = gauss_of(t, last);
    ir_ref left = ir_mul(f, ir_mul(f, mu, t_f32(t, half_root_pi)),
                         ir_add(f, t_f32(t, 1), error_function(t, last, gauss)));
    return t_mad(t, ir_mul(f, sine, gauss), t_f32(t, 0.5f), left);
}

/* Returns W(X) and sets x. */
static ir_ref weight_up_to(tracer *t, ir_ref sine, ir_ref mu, ir_ref X, ir_ref *x)
{
    *x = inverse_error_function(t, X);
    ir_ref rest = ir_mul(t->f, ir_mul(t->f, sine, t_f32(t, inverse_root_pi)), gauss_of(t, *x));
    return t_mad(t, mu, ir_add(t->f, t_f32(t, 1), X), rest);
}

static const float erf_most = 1 - 0x1p-23f; /* the largest y that the tail's polynomial takes in f32 */

static ir_ref slope_along(tracer *t, ir_ref sine, ir_ref mu, ir_ref u)
{
    enum { STEPS = 3 };
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), last = beckmann_edge(t, sine, mu), x;
    ir_ref edge = ir_min(f, error_function(t, last, gauss_of(t, last)), t_f32(t, erf_most));
    ir_ref whole = ir_mul(f, beckmann_area(t, sine, mu, last), t_f32(t, 1 / half_root_pi)),
           wanted = ir_mul(f, u, whole);
    ir_ref far = ir_sqrt(f, ir_neg(f, ir_log(f, ir_max(f, u, t_f32(t, 1e-12f)))));
    ir_ref X = ir_sub(f, edge, ir_mul(f, ir_add(f, one, edge), error_function(t, far, gauss_of(t, far))));
    for (int k = 0; k < STEPS; k++) {
        X = ir_detach(f, ir_max(f, ir_min(f, X, edge), t_f32(t, -erf_most)));
        ir_ref off = ir_sub(f, weight_up_to(t, sine, mu, X, &x), wanted);
        ir_ref rise = ir_max(f, ir_sub(f, mu, ir_mul(f, sine, x)), t_f32(t, 1e-5f));
        X = ir_sub(f, X, ir_div(f, off, ir_detach(f, rise)));
    }
    return inverse_error_function(t, ir_max(f, ir_min(f, X, edge), t_f32(t, -erf_most)));
}

vec2 beckmann_slopes(tracer *t, ir_ref sine, ir_ref mu, ir_ref u1, ir_ref u2)
{
    ir_ref centred = t_clamp(t, ir_sub(t->f, ir_add(t->f, u2, u2), t_f32(t, 1)), -erf_most, erf_most);
    return (vec2){slope_along(t, sine, mu, u1), inverse_error_function(t, centred)};
}
