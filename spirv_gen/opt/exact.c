/* SPDX-License-Identifier: BSD-3-Clause
 * Division and square root of f32, rounded correctly on devices whose own are not. Vulkan allows 2.5 and 3
 * ulp, and the same expression may come out differently in two kernels; a path that is replayed by another
 * kernel must not. The device's result is a first guess of the mantissa. What it lacks is an integer, which
 * words of 32 bits hold although its terms have up to 49: both are known modulo 2^32, and the difference is
 * small.
 *
 *   a / b: ma, mb the mantissas as integers of 24 bits, ma' = ma 2^23, or ma 2^24 where ma < mb, so that
 *   ma' / mb is in [2^23, 2^24). guess n: r = ma' - n mb; the rounded quotient is n + d where
 *   (2d - 1) mb < 2r < (2d + 1) mb. (A quotient of two mantissas is never half-way between two.)
 *   sqrt a: m = ma 2^23, or ma 2^24 where the exponent is odd, in [2^46, 2^48). guess n: r = m - n^2; the
 *   rounded root is the n + d for which |m - (n + d)^2| is at most n + d: d is at least k where
 *   r > (2k - 1) n + k (k - 1), and at most -k where r <= -(2k - 1) n + k (k - 1).
 *
 * d is looked for up to STEPS in both directions, which covers guesses that are 3.5 ulp off. The guess is
 * that of mantissas in [1, 4), where no device flushes anything. Operands and results that are zero,
 * denormal, infinite or NaN are left to the device: their values are exact (or NaN), or denormal. */
#include "spirv_gen/opt/pass.h"

enum { STEPS = 3 };
static const uint32_t hidden = 1u << 23;

static ir_ref field(ir_func *f, ir_ref bits, uint32_t shift, uint32_t mask)
{
    return ir_and(f, ir_shr(f, bits, ir_u32(f, shift)), ir_u32(f, mask));
}
static ir_ref exponent(ir_func *f, ir_ref bits) { return field(f, bits, 23, 255); }
static ir_ref mantissa(ir_func *f, ir_ref bits) /* with its hidden bit */
{
    return ir_or(f, field(f, bits, 0, hidden - 1), ir_u32(f, hidden));
}

/* The mantissa times 2^k as a real in [1, 2) times 2^k. */
static ir_ref in_binade(ir_func *f, ir_ref mantissa, ir_ref k)
{
    ir_ref high = ir_shl(f, ir_add(f, k, ir_u32(f, 126)), ir_u32(f, 23)); /* the hidden bit adds one */
    return ir_bits_to_f32(f, ir_add(f, high, mantissa));
}

/* 1 where a > b as signed words. */
static ir_ref above(ir_func *f, ir_ref a, ir_ref b)
{
    return ir_select(f, ir_lt(f, ir_to_i32(f, b), ir_to_i32(f, a)), ir_u32(f, 1), ir_u32(f, 0));
}

/* In [1, 254]: neither zero nor denormal, neither infinite nor NaN. */
static ir_ref usual(ir_func *f, ir_ref exponent)
{
    return ir_lt(f, ir_sub(f, exponent, ir_u32(f, 1)), ir_u32(f, 254));
}

/* sign | exponent | n, where n is in [2^23, 2^24]: the last one carries into the exponent. */
static ir_ref assemble(ir_func *f, ir_ref sign, ir_ref exponent, ir_ref n)
{
    ir_ref whole = ir_add(f, ir_shl(f, exponent, ir_u32(f, 23)), ir_sub(f, n, ir_u32(f, hidden)));
    return ir_bits_to_f32(f, ir_or(f, sign, whole));
}

static ir_ref divide(ir_func *f, ir_ref a, ir_ref b)
{
    ir_ref wa = ir_bits_to_u32(f, a), wb = ir_bits_to_u32(f, b), none = ir_u32(f, 0);
    ir_ref ma = mantissa(f, wa), mb = mantissa(f, wb), ea = exponent(f, wa), eb = exponent(f, wb);
    ir_ref borrows = ir_select(f, ir_lt(f, ma, mb), ir_u32(f, 1), none);
    ir_ref guess = ir_div(f, in_binade(f, ma, borrows), in_binade(f, mb, none)); /* in [1, 2) */
    ir_ref n = ir_sub(f, ir_bits_to_u32(f, guess), ir_u32(f, 126u << 23));
    ir_ref r = ir_sub(f, ir_shl(f, ma, ir_add(f, borrows, ir_u32(f, 23))), ir_mul(f, n, mb));
    ir_ref twice = ir_add(f, r, r), bound = mb, result = n;
    for (uint32_t k = 0; k < STEPS; k++) {
        result = ir_add(f, result, above(f, twice, bound));
        result = ir_sub(f, result, above(f, ir_sub(f, none, bound), twice));
        bound = ir_add(f, bound, ir_add(f, mb, mb));
    }
    ir_ref e = ir_sub(f, ir_sub(f, ir_add(f, ea, ir_u32(f, 127)), eb), borrows);
    ir_ref sign = ir_and(f, ir_xor(f, wa, wb), ir_u32(f, 1u << 31));
    ir_ref takes = ir_and(f, ir_and(f, usual(f, ea), usual(f, eb)), usual(f, e));
    return ir_select(f, takes, assemble(f, sign, e, result), ir_div(f, a, b));
}

static ir_ref root(ir_func *f, ir_ref a)
{
    ir_ref w = ir_bits_to_u32(f, a), m = mantissa(f, w), e = ir_add(f, exponent(f, w), ir_u32(f, 1));
    ir_ref odd = ir_and(f, e, ir_u32(f, 1)), none = ir_u32(f, 0); /* of the exponent without its bias */
    ir_ref guess = ir_sqrt(f, in_binade(f, m, odd));              /* of [1, 4): in [1, 2) */
    ir_ref n = ir_sub(f, ir_bits_to_u32(f, guess), ir_u32(f, 126u << 23));
    ir_ref r = ir_sub(f, ir_shl(f, m, ir_add(f, odd, ir_u32(f, 23))), ir_mul(f, n, n));
    ir_ref bound = n, result = n;
    for (uint32_t k = 1; k <= STEPS; k++) {
        ir_ref up = ir_add(f, bound, ir_u32(f, k * (k - 1)));
        ir_ref down = ir_sub(f, ir_u32(f, k * (k - 1) + 1), bound);
        result = ir_add(f, result, above(f, r, up));
        result = ir_sub(f, result, above(f, down, r));
        bound = ir_add(f, bound, ir_add(f, n, n));
    }
    ir_ref half = ir_add(f, ir_shr(f, e, ir_u32(f, 1)), ir_u32(f, 63));
    ir_ref takes = ir_and(f, usual(f, exponent(f, w)), ir_lt(f, w, ir_u32(f, 1u << 31)));
    return ir_select(f, takes, assemble(f, none, half, result), ir_sqrt(f, a));
}

static bool expand(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_options *o = ((const opt_pass *)c->user)->options;
    if (inst.type != IR_F32)
        return false;
    if (inst.op == IR_DIV && o->own_division)
        c->map[id] = divide(c->to, ir_copied(c, inst.a), ir_copied(c, inst.b));
    else if (inst.op == IR_SQRT && o->own_root)
        c->map[id] = root(c->to, ir_copied(c, inst.a));
    else
        return false;
    return true;
}

ir_module *opt_exact(const ir_module *m, const opt_options *o)
{
    opt_pass pass = {.from = m, .options = o, .hook = expand};
    return o->own_division || o->own_root ? opt_rebuild(&pass) : NULL;
}
