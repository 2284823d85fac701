/* SPDX-License-Identifier: BSD-3-Clause
 * Steering functions as our own f32 code, so that every device and the interpreter compute the same bits: two
 * kernels that disagreed about a path's next direction would make its replayed gradient silently wrong. Also
 * here: min and max as the comparison that ops.def states (of integers, too: SwiftShader of Chromium 156
 * folds a phi of 26 and UMin(x, x), x from a loop, to 26), integers' negation as a difference (SPIRV-Tools'
 * optimiser, which SwiftShader uses, takes -(a / b) for -a / b: wrong where a is INT_MIN, and for unsigned
 * numbers; its issues 4487 and 5822), u32 to f32 above 2^31 (which SwiftShader rounds twice), elements of a
 * base, and the marks of differentiation, which mean nothing any more. Modules of doubles have functions of
 * their own (math_double.c).
 *
 * What is used: add, sub, mul, select, floor, comparisons, integer and bit ops, all exact or correctly
 * rounded everywhere (NoContraction), and in two places division (atan2) and square root (acos), which code
 * generation corrects where a device does not round them (spv/rounded.c). Polynomials and split constants:
 * scripts/fit_polynomials.py.
 *
 *   function  range                        error (ulp of the correct result; tests/unit/spv_math.c)
 *   sin, cos  |x| <= 2 pi 2, or 2^-44 absolute, which is more where the result is near zero
 *             |x| <= 10000                 2, or 2^-32 absolute
 *             beyond                       grows; 0 for sin and 1 for cos above 2^20; NaN for infinities;
 *                                          sin(-0) = +0
 *   exp       all                          2; inf above 88.7228; 0 below -86.98
 *   log       x >= 2^-126                  2; log(0) = -inf; negative: NaN
 *   pow       |y log x| <= 16 3; x^0 = 1 for every x, 0^y = 0 and inf; negative x: NaN; 1^inf = NaN
 *             |y log x| <= 88              16
 *   atan2     quotients not denormal       3; quadrants and signs of zeros as in C; both infinite: NaN
 *   acos      [-1, 1]                      3; NaN outside (callers clamp)
 *
 * Denormal arguments count as zero where they matter (log, pow), denormal results may become zero.
 *
 * Algorithms. sin, cos: n = round(x 2/pi), r = x - n pi/2 with pi/2 in three parts (Cody-Waite), polynomials
 * in r^2, n mod 4 picks one and its sign. exp: n = round(x / ln 2), 2^n by its bits; since 2^128 has no bits
 * of its own, 2 exp(r) times 2^(n-1). log: exponent and mantissa from the bits with the mantissa in
 * [sqrt(1/2), sqrt(2)). pow: exp(y log x) with log x and the product in two floats each. atan2: the smaller
 * over the larger of |x| and |y|, then reflections. acos: through asin on [0, 1/2], where larger arguments
 * are halved: acos x = 2 asin sqrt((1 - x)/2). */
#include "spirv_gen/opt/math_double.h"
#include "spirv_gen/opt/pass.h"
#include "spirv_gen/opt/polynomials.h"

#include <math.h>

/* ---- shorthands ---- */

static ir_ref plus(ir_func *f, ir_ref a, float b) { return ir_add(f, a, ir_f32(f, b)); }
static ir_ref times(ir_func *f, ir_ref a, float b) { return ir_mul(f, a, ir_f32(f, b)); }

/* c[0] + c[1] x + .. */
static ir_ref polynomial(ir_func *f, const float *c, unsigned count, ir_ref x)
{
    ir_ref sum = ir_f32(f, c[count - 1]);
    for (unsigned i = count - 1; i-- > 0;)
        sum = plus(f, ir_mul(f, sum, x), c[i]);
    return sum;
}
#define POLYNOMIAL(f, name, x)                                                                               \
    polynomial(f, (const float[])POLYNOMIAL_##name,                                                          \
               sizeof((const float[])POLYNOMIAL_##name) / sizeof(float), x)

/* ---- sin, cos ---- */

#define REDUCTION_LIMIT 0x1p20f /* above it no digit of x mod 2 pi would be right; n stays an int32 */

typedef struct quadrant {
    ir_ref sine, cosine; /* of the reduced argument */
    ir_ref number;       /* u32, modulo 4 */
} quadrant;

static quadrant reduce(ir_func *f, ir_ref x)
{
    ir_ref n, r, s, half;
    quadrant q;
    x = ir_select(f, ir_lt(f, ir_f32(f, REDUCTION_LIMIT), ir_abs(f, x)), ir_sub(f, x, x), x);
    n = ir_floor(f, plus(f, times(f, x, MATH_2_OVER_PI), 0.5f));
    r = ir_sub(f, x, times(f, n, MATH_PI_2_PART_1));
    r = ir_sub(f, r, times(f, n, MATH_PI_2_PART_2));
    r = ir_sub(f, r, times(f, n, MATH_PI_2_PART_3));
    s = ir_mul(f, r, r);
    half = ir_sub(f, ir_f32(f, 1.0f), times(f, s, 0.5f));
    q.sine = ir_add(f, r, ir_mul(f, ir_mul(f, r, s), POLYNOMIAL(f, SIN, s)));
    q.cosine = ir_add(f, half, ir_mul(f, ir_mul(f, s, s), POLYNOMIAL(f, COS, s)));
    q.number = ir_to_u32(f, ir_to_i32(f, n));
    return q;
}

static ir_ref has_bit(ir_func *f, ir_ref word, uint32_t bit)
{
    return ir_ne(f, ir_and(f, word, ir_u32(f, bit)), ir_u32(f, 0));
}

static ir_ref negate_if(ir_func *f, ir_ref condition, ir_ref value)
{
    return ir_select(f, condition, ir_neg(f, value), value);
}

static ir_ref expand_sin(ir_func *f, ir_ref x, ir_ref unused)
{
    quadrant q = reduce(f, x);
    (void)unused;
    return negate_if(f, has_bit(f, q.number, 2), ir_select(f, has_bit(f, q.number, 1), q.cosine, q.sine));
}

static ir_ref expand_cos(ir_func *f, ir_ref x, ir_ref unused)
{
    quadrant q = reduce(f, x);
    ir_ref next = ir_add(f, q.number, ir_u32(f, 1));
    (void)unused;
    return negate_if(f, has_bit(f, next, 2), ir_select(f, has_bit(f, q.number, 1), q.sine, q.cosine));
}

/* ---- exp, log, pow ---- */

#define EXP_OVERFLOW 88.73f   /* up to here inf comes by itself where it should */
#define EXP_UNDERFLOW -86.98f /* n stays above -126 */
#define SMALLEST_NORMAL 0x1p-126f
#define LARGEST 0x1.fffffep127f
#define SQRT_HALF_BITS 0x3f3504f3u

/* exp(hi + lo), |lo| much smaller; valid between EXP_UNDERFLOW and EXP_OVERFLOW. */
static ir_ref exp_parts(ir_func *f, ir_ref hi, ir_ref lo)
{
    ir_ref n = ir_floor(f, plus(f, times(f, hi, MATH_1_OVER_LN_2), 0.5f)), r, sum, scale;
    r = ir_sub(f, hi, times(f, n, MATH_LN_2_PART_1));
    r = ir_sub(f, r, times(f, n, MATH_LN_2_PART_2));
    if (!ir_is_none(lo))
        r = ir_add(f, r, lo);
    sum = ir_add(f, r, ir_mul(f, ir_mul(f, r, r), POLYNOMIAL(f, EXP, r)));
    sum = plus(f, sum, 1.0f);
    scale = ir_shl(f, ir_add(f, ir_to_i32(f, n), ir_i32(f, 126)), ir_u32(f, 23));
    return ir_mul(f, ir_add(f, sum, sum), ir_bits_to_f32(f, scale));
}

static ir_ref exp_range(ir_func *f, ir_ref x, ir_ref value)
{
    value = ir_select(f, ir_lt(f, ir_f32(f, EXP_OVERFLOW), x), ir_f32(f, INFINITY), value);
    return ir_select(f, ir_lt(f, x, ir_f32(f, EXP_UNDERFLOW)), ir_f32(f, 0.0f), value);
}

static ir_ref expand_exp(ir_func *f, ir_ref x, ir_ref unused)
{
    (void)unused;
    return exp_range(f, x, exp_parts(f, x, (ir_ref){0}));
}

typedef struct float_parts {
    ir_ref exponent; /* f32, integral */
    ir_ref rest;     /* mantissa - 1, mantissa in [sqrt(1/2), sqrt(2)) */
    ir_ref tail;     /* log(1 + rest) - rest + rest^2/2 */
    ir_ref square;   /* rest^2, rounded */
} float_parts;

static float_parts split_float(ir_func *f, ir_ref x)
{
    ir_ref base = ir_u32(f, SQRT_HALF_BITS), above = ir_sub(f, ir_bits_to_u32(f, x), base), mantissa;
    float_parts p;
    p.exponent = ir_to_f32(f, ir_shr(f, ir_to_i32(f, above), ir_u32(f, 23)));
    mantissa = ir_bits_to_f32(f, ir_add(f, ir_and(f, above, ir_u32(f, 0x7fffffu)), base));
    p.rest = plus(f, mantissa, -1.0f);
    p.square = ir_mul(f, p.rest, p.rest);
    p.tail = ir_mul(f, ir_mul(f, p.rest, p.square), POLYNOMIAL(f, LOG, p.rest));
    return p;
}

/* Infinities and NaN are their own logarithm; what is below the smallest normal number gives `below`. */
static ir_ref log_range(ir_func *f, ir_ref x, ir_ref value, ir_ref below)
{
    value = ir_select(f, ir_le(f, x, ir_f32(f, LARGEST)), value, x);
    return ir_select(f, ir_lt(f, x, ir_f32(f, SMALLEST_NORMAL)), below, value);
}

static ir_ref expand_log(ir_func *f, ir_ref x, ir_ref unused)
{
    float_parts p = split_float(f, x);
    ir_ref value, below = ir_select(f, ir_lt(f, x, ir_f32(f, 0.0f)), ir_f32(f, NAN), ir_f32(f, -INFINITY));
    (void)unused;
    value = ir_sub(f, p.tail, times(f, p.square, 0.5f));
    value = ir_add(f, value, times(f, p.exponent, MATH_LN_2_PART_2));
    value = ir_add(f, times(f, p.exponent, MATH_LN_2_PART_1), ir_add(f, p.rest, value));
    return log_range(f, x, value, below);
}

/* A sum of two floats; hi alone is the rounded value. */
typedef struct pair {
    ir_ref hi, lo;
} pair;

/* Exact for |a| >= |b| or a = 0. */
static pair fast_two_sum(ir_func *f, ir_ref a, ir_ref b)
{
    ir_ref sum = ir_add(f, a, b);
    return (pair){sum, ir_sub(f, b, ir_sub(f, sum, a))};
}

/* Halves of 12 bits, whose products are exact. */
static pair halves(ir_func *f, ir_ref x)
{
    ir_ref hi = ir_bits_to_f32(f, ir_and(f, ir_bits_to_u32(f, x), ir_u32(f, 0xfffff000u)));
    return (pair){hi, ir_sub(f, x, hi)};
}

/* log x to about 2^-29 absolute: everything but the tail, which is small, is kept exactly. */
static pair log_pair(ir_func *f, ir_ref x)
{
    float_parts p = split_float(f, x);
    pair h = halves(f, p.rest), first, second;
    ir_ref lo;
    first = fast_two_sum(f, times(f, p.exponent, MATH_LN_2_PART_1), p.rest);
    second = fast_two_sum(f, first.hi, times(f, ir_mul(f, h.hi, h.hi), -0.5f));
    lo = ir_add(f, p.tail, times(f, p.exponent, MATH_LN_2_PART_2));
    lo = ir_add(f, lo, times(f, ir_mul(f, h.lo, ir_add(f, p.rest, h.hi)), -0.5f));
    lo = ir_add(f, lo, ir_add(f, first.lo, second.lo));
    return fast_two_sum(f, second.hi, lo);
}

/* What a.hi y lacks of the exact a y. */
static ir_ref product_rest(ir_func *f, pair a, ir_ref y, ir_ref product)
{
    pair u = halves(f, a.hi), v = halves(f, y);
    ir_ref rest = ir_sub(f, ir_mul(f, u.hi, v.hi), product);
    rest = ir_add(f, rest, ir_mul(f, u.hi, v.lo));
    rest = ir_add(f, rest, ir_mul(f, u.lo, v.hi));
    rest = ir_add(f, rest, ir_mul(f, u.lo, v.lo));
    return ir_add(f, rest, ir_mul(f, a.lo, y));
}

static ir_ref expand_pow(ir_func *f, ir_ref x, ir_ref y)
{
    pair log_x = log_pair(f, x);
    ir_ref value, product, zero = ir_f32(f, 0.0f);
    log_x.hi = log_range(f, x, log_x.hi, ir_f32(f, -INFINITY));
    product = ir_mul(f, log_x.hi, y);
    value = exp_range(f, product, exp_parts(f, product, product_rest(f, log_x, y, product)));
    value = ir_select(f, ir_lt(f, x, zero), ir_f32(f, NAN), value);
    return ir_select(f, ir_eq(f, y, zero), ir_f32(f, 1.0f), value);
}

/* ---- atan2, acos ---- */

#define SIGN_BIT 0x80000000u

static ir_ref expand_atan2(ir_func *f, ir_ref y, ir_ref x)
{
    ir_ref ax = ir_abs(f, x), ay = ir_abs(f, y), steep = ir_lt(f, ax, ay), a, s, r, sign;
    ir_ref large = ir_select(f, steep, ay, ax), small = ir_select(f, steep, ax, ay), zero = ir_f32(f, 0.0f);
    a = ir_div(f, small, ir_select(f, ir_eq(f, large, zero), ir_f32(f, 1.0f), large));
    s = ir_mul(f, a, a);
    r = ir_add(f, a, ir_mul(f, ir_mul(f, a, s), POLYNOMIAL(f, ATAN, s)));
    r = ir_select(f, steep, ir_sub(f, ir_f32(f, MATH_PI_2), r), r);
    r = ir_select(f, ir_le(f, ir_u32(f, SIGN_BIT), ir_bits_to_u32(f, x)), ir_sub(f, ir_f32(f, MATH_PI), r),
                  r);
    sign = ir_and(f, ir_bits_to_u32(f, y), ir_u32(f, SIGN_BIT));
    return ir_bits_to_f32(f, ir_or(f, ir_bits_to_u32(f, r), sign));
}

/* acos x = pi/2 - asin x for |x| < 1/2, else 2 a or pi - 2 a with a = asin sqrt((1 - |x|)/2). */
static ir_ref expand_acos(ir_func *f, ir_ref x, ir_ref unused)
{
    ir_ref ax = ir_abs(f, x), middle = ir_lt(f, ax, ir_f32(f, 0.5f)), negative = ir_lt(f, x, ir_f32(f, 0.0f));
    ir_ref half = times(f, ir_sub(f, ir_f32(f, 1.0f), ax), 0.5f),
           s = ir_select(f, middle, ir_mul(f, x, x), half);
    ir_ref a = ir_select(f, middle, ax, ir_sqrt(f, half)), from;
    (void)unused;
    a = ir_add(f, a, ir_mul(f, ir_mul(f, a, s), POLYNOMIAL(f, ASIN, s)));
    a = ir_mul(f, a, ir_select(f, middle, ir_f32(f, -1.0f), ir_f32(f, 2.0f)));
    from = ir_select(f, negative, ir_f32(f, MATH_PI), ir_f32(f, 0.0f));
    from = ir_select(f, middle, ir_f32(f, MATH_PI_2), from);
    a = ir_add(f, from, negate_if(f, negative, a));
    return ir_select(f, ir_le(f, ax, ir_f32(f, 1.0f)), a, ir_f32(f, NAN));
}

/* ---- u32 to f32 ---- */

/* Visibly below 2^31? There every device's conversion is correctly rounded. */
static bool fits_31_bits(const ir_func *f, ir_ref a)
{
    ir_inst inst = ir_get(f, a);
    uint32_t right = inst.op == IR_SHR || inst.op == IR_AND ? f->inst.data[inst.b].a : 0;
    if (inst.op == IR_CONST)
        return inst.a < 1u << 31;
    if ((inst.op != IR_SHR && inst.op != IR_AND) || !ir_is_const(f, (ir_ref){inst.b}))
        return false;
    return inst.op == IR_SHR ? (right & 31u) != 0 : right < 1u << 31;
}

/* SwiftShader rounds twice above 2^31: there, two exact halves and one rounding. */
static ir_ref expand_to_f32(ir_func *f, ir_ref a, ir_ref unused)
{
    ir_ref hi, lo;
    (void)unused;
    if (ir_type_of(f, a) != IR_U32 || fits_31_bits(f, a) || f->module->doubles)
        return ir_to_f32(f, a);
    hi = ir_to_f32(f, ir_shr(f, a, ir_u32(f, 16)));
    lo = ir_to_f32(f, ir_and(f, a, ir_u32(f, 0xffffu)));
    return ir_add(f, times(f, hi, 0x1p16f), lo);
}

/* ---- min, max, negation, marks ---- */

static ir_ref expand_min(ir_func *f, ir_ref a, ir_ref b) { return ir_select(f, ir_lt(f, b, a), b, a); }
static ir_ref expand_max(ir_func *f, ir_ref a, ir_ref b) { return ir_select(f, ir_lt(f, a, b), b, a); }

static ir_ref expand_negation(ir_func *f, ir_ref a, ir_ref unused)
{
    (void)unused;
    return ir_sub(f, ir_const(f, ir_type_of(f, a), 0), a);
}

static ir_ref expand_element(ir_func *f, ir_ref a, ir_ref b)
{
    ir_ref none = ir_const(f, ir_type_of(f, a), ~0u);
    return ir_select(f, ir_eq(f, a, none), none, ir_add(f, a, b));
}

static ir_ref expand_first(ir_func *f, ir_ref a, ir_ref b)
{
    (void)f, (void)b;
    return a;
}

/* ---- the pass ---- */

enum { REALS = 1, OTHERS = 2, EVERY = REALS | OTHERS }; /* types of the result */
typedef ir_ref (*expansion)(ir_func *f, ir_ref a, ir_ref b);
static const expansion of_doubles[IR_OP_COUNT] = {
    [IR_SIN] = double_sin, [IR_COS] = double_cos,     [IR_EXP] = double_exp,   [IR_LOG] = double_log,
    [IR_POW] = double_pow, [IR_ATAN2] = double_atan2, [IR_ACOS] = double_acos,
};
static const struct {
    expansion expand;
    int types;
} expansions[IR_OP_COUNT] = {
    [IR_SIN] = {expand_sin, REALS},       [IR_COS] = {expand_cos, REALS},
    [IR_EXP] = {expand_exp, REALS},       [IR_LOG] = {expand_log, REALS},
    [IR_POW] = {expand_pow, REALS},       [IR_ATAN2] = {expand_atan2, REALS},
    [IR_ACOS] = {expand_acos, REALS},     [IR_TO_F32] = {expand_to_f32, REALS},
    [IR_MIN] = {expand_min, EVERY},       [IR_MAX] = {expand_max, EVERY},
    [IR_NEG] = {expand_negation, OTHERS}, [IR_ELEMENT] = {expand_element, EVERY},
    [IR_DETACH] = {expand_first, EVERY},  [IR_REPLACE_GRAD] = {expand_first, EVERY},
};

static bool expand(ir_copier *c, uint32_t id, ir_inst inst)
{
    ir_ref second = {0};
    if (!(expansions[inst.op].types & (inst.type == IR_F32 ? REALS : OTHERS)))
        return false;
    if (ir_op_table[inst.op].arity > 1 && inst.op != IR_REPLACE_GRAD)
        second = ir_copied(c, inst.b);
    const expansion own = c->to->module->doubles ? of_doubles[inst.op] : NULL;
    c->map[id] = (own ? own : expansions[inst.op].expand)(c->to, ir_copied(c, inst.a), second);
    return true;
}

ir_module *opt_math(const ir_module *m)
{
    opt_pass pass = {.from = m, .hook = expand};
    return opt_rebuild(&pass);
}
