/* SPDX-License-Identifier: BSD-3-Clause
 * Steering functions of modules of doubles (ir.h): the same reductions as in math.c, with polynomials that go
 * on to the last bit of a double. Doubles are for references, so these are plain Taylor series, whose
 * coefficients need no fit, rather than the shortest polynomials. GLSL.std.450 has none of these functions
 * for 64 bits.
 *
 *   function  error (of the correct result; tests/unit/math_double.c)
 *   sin, cos  |x| <= 2 pi: 2^-51 of the result, or 2^-52 absolute; beyond 2^20: 0 and 1, as in math.c
 *   exp, log  2^-51 of the result
 *   pow       2^-51 of the result times 1 + |y log x|
 *   atan2     2^-50
 *   acos      2^-50
 *
 * What f32 bits serve for: a double is rounded to a float, whose exponent is that of the double or one more;
 * either serves a reduction. Powers of two beyond the range of floats are products. A constant of a trace is
 * a float, so one that is a double is the sum of three (ir_value_op folds what is a float alone). */
#include "spirv_gen/opt/math_double.h"

#include <math.h>

/* ---- shorthands ---- */

static ir_ref constant(ir_func *f, double value)
{
    const float high = (float)value, middle = (float)(value - (double)high),
                low = (float)(value - (double)high - (double)middle);
    return ir_add(f, ir_add(f, ir_f32(f, high), ir_f32(f, middle)), ir_f32(f, low));
}

static ir_ref times(ir_func *f, ir_ref a, double b) { return ir_mul(f, a, constant(f, b)); }
static ir_ref plus(ir_func *f, ir_ref a, double b) { return ir_add(f, a, constant(f, b)); }

/* c[0] + c[1] x + .. */
static ir_ref polynomial(ir_func *f, const double *c, uint32_t count, ir_ref x)
{
    ir_ref sum = constant(f, c[count - 1]);
    for (uint32_t i = count - 1; i-- > 0;)
        sum = plus(f, ir_mul(f, sum, x), c[i]);
    return sum;
}

static ir_ref negate_if(ir_func *f, ir_ref condition, ir_ref value)
{
    return ir_select(f, condition, ir_neg(f, value), value);
}

/* 2^n of an i32 within [-126, 127]. */
static ir_ref power_of_two(ir_func *f, ir_ref n)
{
    return ir_bits_to_f32(f, ir_shl(f, ir_add(f, n, ir_i32(f, 127)), ir_u32(f, 23)));
}

/* ---- sin, cos ---- */

#define REDUCTION_LIMIT 0x1p20f
enum { SERIES = 10 };

/* Coefficients of x^2k in sin(x) / x or cos x: (-1)^k over a factorial. */
static void alternating(double c[SERIES], uint32_t first)
{
    double factorial = 1;
    for (uint32_t k = 0; k < SERIES; k++) {
        c[k] = (k % 2 ? -1 : 1) / factorial;
        factorial *= (2.0 * k + 1 + first) * (2.0 * k + 2 + first);
    }
}

/* The sine of x + quarters pi / 2. */
static ir_ref sine(ir_func *f, ir_ref x, uint32_t quarters)
{
    static const double parts[3] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69}; /* of pi / 2 */
    double odd[SERIES], even[SERIES];
    alternating(odd, 1), alternating(even, 0);
    x = ir_select(f, ir_lt(f, ir_f32(f, REDUCTION_LIMIT), ir_abs(f, x)), ir_sub(f, x, x), x);
    ir_ref n = ir_floor(f, plus(f, times(f, x, M_2_PI), 0.5)), r = x;
    for (uint32_t k = 0; k < 3; k++)
        r = ir_sub(f, r, times(f, n, parts[k]));
    ir_ref s = ir_mul(f, r, r), number = ir_add(f, ir_to_u32(f, ir_to_i32(f, n)), ir_u32(f, quarters));
    ir_ref swaps = ir_ne(f, ir_and(f, number, ir_u32(f, 1)), ir_u32(f, 0)),
           negative = ir_ne(f, ir_and(f, number, ir_u32(f, 2)), ir_u32(f, 0));
    /* r + r s (..), so that the rounding of the series counts less */
    ir_ref of_sine = ir_add(f, r, ir_mul(f, ir_mul(f, r, s), polynomial(f, odd + 1, SERIES - 1, s))),
           of_cosine = polynomial(f, even, SERIES, s);
    return negate_if(f, negative, ir_select(f, swaps, of_cosine, of_sine));
}

ir_ref double_sin(ir_func *f, ir_ref x, ir_ref unused)
{
    (void)unused;
    return sine(f, x, 0);
}

ir_ref double_cos(ir_func *f, ir_ref x, ir_ref unused)
{
    (void)unused;
    return sine(f, x, 1);
}

/* ---- exp, log, pow ---- */

static const double ln_2_high = 0x1.62e42feep-1, ln_2_low = 0x1.a39ef35793c76p-33;
enum { EXP_TERMS = 15, LOG_TERMS = 12 };
#define EXP_OVERFLOW 709.8f   /* up to here inf comes by itself where it should */
#define EXP_UNDERFLOW -745.5f /* and 0 */

/* value 2^n, n an i32 with |n| < 16 * 126: 2^(15 q) times what is left. */
static ir_ref scaled(ir_func *f, ir_ref value, ir_ref n)
{
    ir_ref q = ir_shr(f, n, ir_u32(f, 4)), rest = ir_sub(f, n, ir_mul(f, q, ir_i32(f, 15)));
    ir_ref power[4] = {power_of_two(f, q)};
    for (uint32_t k = 1; k < 4; k++)
        power[k] = ir_mul(f, power[k - 1], power[k - 1]);
    for (uint32_t k = 4; k-- > 0;)
        value = ir_mul(f, value, power[k]);
    return ir_mul(f, value, power_of_two(f, rest));
}

ir_ref double_exp(ir_func *f, ir_ref x, ir_ref unused)
{
    double c[EXP_TERMS] = {1};
    (void)unused;
    for (uint32_t k = 1; k < EXP_TERMS; k++)
        c[k] = c[k - 1] / k;
    ir_ref over = ir_lt(f, ir_f32(f, EXP_OVERFLOW), x), under = ir_lt(f, x, ir_f32(f, EXP_UNDERFLOW));
    ir_ref within = ir_select(f, ir_or(f, over, under), ir_f32(f, 0), x);
    ir_ref n = ir_floor(f, plus(f, times(f, within, M_LOG2E), 0.5));
    ir_ref r = ir_sub(f, ir_sub(f, within, times(f, n, ln_2_high)), times(f, n, ln_2_low));
    ir_ref value = scaled(f, polynomial(f, c, EXP_TERMS, r), ir_to_i32(f, n));
    value = ir_select(f, over, ir_f32(f, INFINITY), value);
    return ir_select(f, under, ir_f32(f, 0), value);
}

/* 2^(120 k) */
static ir_ref large_power(ir_func *f, uint32_t k, bool inverse)
{
    ir_ref one = ir_f32(f, inverse ? 0x1p-120f : 0x1p120f), product = one;
    while (--k > 0)
        product = ir_mul(f, product, one);
    return product;
}

/* Brings a positive x into [2^-120, 2^120); *exponent: what that takes away. */
static ir_ref bring_near(ir_func *f, ir_ref x, ir_ref *exponent)
{
    static const uint32_t steps[] = {4, 4, 2, 1}; /* of 2^120 */
    *exponent = ir_f32(f, 0);
    for (uint32_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        ir_ref up = large_power(f, steps[k], false), down = large_power(f, steps[k], true),
               large = ir_le(f, up, x), small = ir_lt(f, x, down), by = ir_f32(f, 120.0f * (float)steps[k]);
        x = ir_select(f, large, ir_mul(f, x, down), ir_select(f, small, ir_mul(f, x, up), x));
        *exponent = ir_select(f, large, ir_add(f, *exponent, by),
                              ir_select(f, small, ir_sub(f, *exponent, by), *exponent));
    }
    return x;
}

ir_ref double_log(ir_func *f, ir_ref x, ir_ref unused)
{
    enum { SQRT_HALF_BITS = 0x3f3504f3 };
    double c[LOG_TERMS]; /* log m = 2 s (1 + s^2/3 + s^4/5 + ..), s = (m - 1) / (m + 1) */
    (void)unused;
    for (uint32_t k = 0; k < LOG_TERMS; k++)
        c[k] = 2.0 / (2.0 * k + 3);
    ir_ref far, near = bring_near(f, x, &far);
    ir_ref above = ir_sub(f, ir_bits_to_u32(f, near), ir_u32(f, SQRT_HALF_BITS)),
           n = ir_shr(f, ir_to_i32(f, above), ir_u32(f, 23)), one = ir_f32(f, 1);
    ir_ref m = ir_mul(f, near, power_of_two(f, ir_sub(f, ir_i32(f, 0), n))),
           s = ir_div(f, ir_sub(f, m, one), ir_add(f, m, one)), z = ir_mul(f, s, s);
    ir_ref exponent = ir_add(f, ir_to_f32(f, n), far);
    ir_ref rest = ir_mul(f, ir_mul(f, s, z), polynomial(f, c, LOG_TERMS, z));
    rest = ir_add(f, rest, times(f, exponent, ln_2_low));
    ir_ref value = ir_add(f, times(f, exponent, ln_2_high), ir_add(f, ir_add(f, s, s), rest));
    value = ir_select(f, ir_lt(f, x, ir_f32(f, INFINITY)), value, x); /* infinity and NaN are their own */
    value = ir_select(f, ir_eq(f, x, ir_f32(f, 0)), ir_f32(f, -INFINITY), value);
    return ir_select(f, ir_lt(f, x, ir_f32(f, 0)), ir_f32(f, NAN), value);
}

ir_ref double_pow(ir_func *f, ir_ref x, ir_ref y)
{
    ir_ref value = double_exp(f, ir_mul(f, double_log(f, x, x), y), x);
    return ir_select(f, ir_eq(f, y, ir_f32(f, 0)), ir_f32(f, 1), value);
}

/* ---- atan2, acos ---- */

enum { ATAN_TERMS = 14 };

/* tan(a / 2) of tan a */
static ir_ref half_tangent(ir_func *f, ir_ref t)
{
    ir_ref one = ir_f32(f, 1);
    return ir_div(f, t, ir_add(f, one, ir_sqrt(f, ir_add(f, one, ir_mul(f, t, t)))));
}

static ir_ref is_negative(ir_func *f, ir_ref x)
{
    return ir_le(f, ir_u32(f, 0x80000000u), ir_bits_to_u32(f, x));
}

ir_ref double_atan2(ir_func *f, ir_ref y, ir_ref x)
{
    double c[ATAN_TERMS];
    for (uint32_t k = 0; k < ATAN_TERMS; k++)
        c[k] = (k % 2 ? 1 : -1) / (2.0 * k + 3);
    ir_ref ax = ir_abs(f, x), ay = ir_abs(f, y), steep = ir_lt(f, ax, ay);
    ir_ref large = ir_select(f, steep, ay, ax), small = ir_select(f, steep, ax, ay);
    large = ir_select(f, ir_eq(f, large, ir_f32(f, 0)), ir_f32(f, 1), large);
    ir_ref t = half_tangent(f, half_tangent(f, ir_div(f, small, large))), s = ir_mul(f, t, t);
    ir_ref r = ir_add(f, t, ir_mul(f, ir_mul(f, t, s), polynomial(f, c, ATAN_TERMS, s)));
    r = ir_mul(f, r, ir_f32(f, 4));
    r = ir_select(f, steep, ir_sub(f, constant(f, M_PI_2), r), r);
    r = ir_select(f, is_negative(f, x), ir_sub(f, constant(f, M_PI), r), r);
    return negate_if(f, is_negative(f, y), r);
}

ir_ref double_acos(ir_func *f, ir_ref x, ir_ref unused)
{
    ir_ref one = ir_f32(f, 1);
    (void)unused;
    /* outside [-1, 1] one of the roots is NaN */
    ir_ref half = double_atan2(f, ir_sqrt(f, ir_sub(f, one, x)), ir_sqrt(f, ir_add(f, one, x)));
    return ir_select(f, ir_le(f, ir_abs(f, x), one), ir_add(f, half, half), ir_f32(f, NAN));
}
