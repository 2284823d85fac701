/* SPDX-License-Identifier: BSD-3-Clause
 * f32 division and square root, rounded to the nearest, for devices whose own are not: Vulkan allows 2.5 ulp
 * to a division and more to a root. Two kernels for which a driver computes the same quotient in two ways
 * would follow different paths, and no two devices would give the same bytes.
 *
 * The device's own result is corrected by its remainder, which a fused multiply-add finds without an error
 * (Markstein 1990, Computation of elementary functions on the IBM RISC System/6000 processor):
 *
 *     y = 1/b, own             e = 1 - b y       y <- y + y (e + 2^-41)
 *     q = a y                  q <- q + y (a - b q)
 *
 *     h = 1/sqrt(x) / 2, own
 *     g = x 2 h                g <- g + h (x - g g), then g or the number above or below it, by x - g g
 *
 * Refined without the 2^-41, the reciprocal is too small by the share e^2 of it, and the lower one of two
 * numbers is taken where 1/b lies closely above the middle of them: of b = 1 - 2^-24, say. Then quotients
 * closely above a middle, such as 1/b itself, end there. 2^-41 is more than e^2 where the device's own is off
 * by up to 4 ulp. A root corrected once is off by at most one ulp; a second correction would not do (of x = 1
 * - 2^-24, say), so the exact remainder decides: the root is nearer to g + u than to g where x - g g > g u,
 * because all three are multiples of the same power of two. Where a corrected quotient is zero, infinite or
 * NaN, the quotient is a times the device's own 1/b. tests/unit/spv_rounded.c tries reciprocals and roots
 * that are off by more than Vulkan allows.
 *
 * Left to the device: |b| outside of [2^-126, 2^126], where 1/b is denormal or infinite, quotients below
 * 2^-100 or of numbers below it, whose remainders may be denormal, roots of numbers below it or above 2^100.
 * Where Fma rounds twice, which GLSL.std.450 allows, results are off by an ulp or two. There the remainder is
 * found among integers, in the second half of this file: with mantissas A and B of 24 bits and a quotient Q
 * of as many, A 2^s - Q B is so small that its low 32 bits are all of it, and so is X 2^s - S S of a root S.
 * Q or S moves by what the remainder says, and then by at most one more. No quotient of two numbers and no
 * root lies in the middle of two numbers. Which of the two a device needs, or neither, its self-test says
 * when it is opened (src/api/self_test.c). */
#include "spirv_gen/spv/module.h"

enum { LEAST_ROOTED = 0x0d800000, MOST_ROOTED = 0x71800000, TWO_M41 = 0x2b000000 }; /* 2^-100, 2^100, 2^-41 */

static uint32_t fused(spv_gen *g, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t id = SPV_VALUE(g, SpvOpExtInst, spv_type(g, IR_F32), spv_glsl(g), GLSLstd450Fma, a, b, c);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, id, SpvDecorationNoContraction);
    return id;
}

static uint32_t arithmetic(spv_gen *g, SpvOp op, uint32_t a, uint32_t b)
{
    uint32_t id = SPV_VALUE(g, op, spv_type(g, IR_F32), a, b);
    SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, id, SpvDecorationNoContraction);
    return id;
}

static uint32_t function(spv_gen *g, uint32_t instruction, uint32_t a)
{
    return SPV_VALUE(g, SpvOpExtInst, spv_type(g, IR_F32), spv_glsl(g), instruction, a);
}

static uint32_t negated(spv_gen *g, uint32_t a) { return SPV_VALUE(g, SpvOpFNegate, spv_type(g, IR_F32), a); }

static uint32_t compared(spv_gen *g, SpvOp op, uint32_t a, uint32_t b)
{
    return SPV_VALUE(g, op, spv_type(g, IR_BOOL), a, b);
}

static uint32_t selected(spv_gen *g, uint32_t condition, uint32_t a, uint32_t b)
{
    return SPV_VALUE(g, SpvOpSelect, spv_type(g, IR_F32), condition, a, b);
}

static uint32_t word(spv_gen *g, SpvOp op, uint32_t a, uint32_t b)
{
    return SPV_VALUE(g, op, spv_type(g, IR_U32), a, b);
}

static uint32_t bits(spv_gen *g, uint32_t real)
{
    return SPV_VALUE(g, SpvOpBitcast, spv_type(g, IR_U32), real);
}
static uint32_t real(spv_gen *g, uint32_t bits)
{
    return SPV_VALUE(g, SpvOpBitcast, spv_type(g, IR_F32), bits);
}

uint32_t spv_rounded_div(spv_gen *g, uint32_t a, uint32_t b)
{
    uint32_t one = spv_const(g, IR_F32, 0x3f800000u), zero = spv_const(g, IR_F32, 0);
    uint32_t infinity = spv_const(g, IR_F32, 0x7f800000u), minus_b = negated(g, b);
    uint32_t own = arithmetic(g, SpvOpFDiv, one, b);
    uint32_t error = arithmetic(g, SpvOpFAdd, fused(g, minus_b, own, one), spv_const(g, IR_F32, TWO_M41));
    uint32_t y = fused(g, error, own, own);
    uint32_t q = arithmetic(g, SpvOpFMul, a, y);
    q = fused(g, fused(g, minus_b, q, a), y, q);
    uint32_t size = function(g, GLSLstd450FAbs, q), above = compared(g, SpvOpFOrdGreaterThan, size, zero);
    uint32_t below = compared(g, SpvOpFOrdLessThan, size, infinity);
    uint32_t number = compared(g, SpvOpLogicalAnd, above, below);
    return selected(g, number, q, arithmetic(g, SpvOpFMul, a, own));
}

/* The next number above (1) or below (~0) a positive one. */
static uint32_t neighbour(spv_gen *g, uint32_t value, uint32_t step)
{
    return real(g, word(g, SpvOpIAdd, bits(g, value), spv_u32(g, step)));
}

uint32_t spv_rounded_sqrt(spv_gen *g, uint32_t x)
{
    uint32_t half = spv_const(g, IR_F32, 0x3f000000u), reciprocal = function(g, GLSLstd450InverseSqrt, x);
    uint32_t h = arithmetic(g, SpvOpFMul, reciprocal, half), own = arithmetic(g, SpvOpFMul, x, reciprocal);
    uint32_t root = fused(g, fused(g, negated(g, own), own, x), h, own);
    uint32_t rest = fused(g, negated(g, root), root, x);
    uint32_t above = neighbour(g, root, 1), below = neighbour(g, root, ~0u);
    uint32_t up = arithmetic(g, SpvOpFMul, root, arithmetic(g, SpvOpFSub, above, root));
    uint32_t down = arithmetic(g, SpvOpFMul, root, arithmetic(g, SpvOpFSub, below, root));
    uint32_t falls = compared(g, SpvOpFOrdLessThanEqual, rest, down);
    uint32_t nearest = selected(g, falls, below, root), least = spv_const(g, IR_F32, LEAST_ROOTED);
    nearest = selected(g, compared(g, SpvOpFOrdGreaterThan, rest, up), above, nearest);
    uint32_t most = spv_const(g, IR_F32, MOST_ROOTED);
    uint32_t rooted = compared(g, SpvOpLogicalAnd, compared(g, SpvOpFOrdGreaterThanEqual, x, least),
                               compared(g, SpvOpFOrdLessThan, x, most));
    return selected(g, rooted, nearest, function(g, GLSLstd450Sqrt, x));
}

/* ---- by integers ---- */

enum { FRACTION = 0x7fffff, LEADING = 0x800000, ONE = 0x3f800000, TWO_23 = 0x4b000000, HALF = 0x3f000000 };

static uint32_t masked(spv_gen *g, uint32_t a, uint32_t mask, uint32_t set)
{
    return word(g, SpvOpBitwiseOr, word(g, SpvOpBitwiseAnd, a, spv_u32(g, mask)), spv_u32(g, set));
}

static uint32_t chosen(spv_gen *g, uint32_t condition, uint32_t a, uint32_t b)
{
    return SPV_VALUE(g, SpvOpSelect, spv_type(g, IR_U32), condition, spv_u32(g, a), spv_u32(g, b));
}

/* Whether least <= a < least + count. */
static uint32_t within(spv_gen *g, uint32_t a, uint32_t least, uint32_t count)
{
    return compared(g, SpvOpULessThan, word(g, SpvOpISub, a, spv_u32(g, least)), spv_u32(g, count));
}

/* The word nearest to rest scale, or the next: rest is one of two's complement. */
static uint32_t steps(spv_gen *g, uint32_t rest, uint32_t scale)
{
    uint32_t number = SPV_VALUE(g, SpvOpBitcast, spv_type(g, IR_I32), rest);
    number = SPV_VALUE(g, SpvOpConvertSToF, spv_type(g, IR_F32), number);
    number = arithmetic(g, SpvOpFMul, number, scale);
    number = arithmetic(g, SpvOpFAdd, number, spv_const(g, IR_F32, HALF));
    number = SPV_VALUE(g, SpvOpConvertFToS, spv_type(g, IR_I32), function(g, GLSLstd450Floor, number));
    return SPV_VALUE(g, SpvOpBitcast, spv_type(g, IR_U32), number);
}

/* The integer, or the next above or below it. */
static uint32_t stepped(spv_gen *g, uint32_t a, uint32_t up, uint32_t down)
{
    a = word(g, SpvOpIAdd, a, chosen(g, up, 1, 0));
    return word(g, SpvOpISub, a, chosen(g, down, 1, 0));
}

static uint32_t power(spv_gen *g, uint32_t exponent)
{
    return real(g, word(g, SpvOpShiftLeftLogical, exponent, spv_u32(g, 23)));
}

static uint32_t scaled(spv_gen *g, uint32_t mantissa, uint32_t exponent)
{
    uint32_t number = SPV_VALUE(g, SpvOpConvertUToF, spv_type(g, IR_F32), mantissa);
    return arithmetic(g, SpvOpFMul, number, power(g, exponent));
}

uint32_t spv_words_div(spv_gen *g, uint32_t a, uint32_t b)
{
    const uint32_t wa = bits(g, a), wb = bits(g, b), small = spv_const(g, IR_F32, 0x34000000); /* 2^-23 */
    uint32_t ma = masked(g, wa, FRACTION, LEADING), mb = masked(g, wb, FRACTION, LEADING);
    uint32_t ea = masked(g, word(g, SpvOpShiftRightLogical, wa, spv_u32(g, 23)), 255, 0);
    uint32_t eb = masked(g, word(g, SpvOpShiftRightLogical, wb, spv_u32(g, 23)), 255, 0);
    uint32_t own = arithmetic(g, SpvOpFDiv, spv_const(g, IR_F32, ONE), real(g, masked(g, wb, FRACTION, ONE)));
    uint32_t q = arithmetic(g, SpvOpFMul, real(g, masked(g, wa, FRACTION, ONE)), own);
    uint32_t below_one = compared(g, SpvOpULessThan, ma, mb), shift = chosen(g, below_one, 24, 23);
    q = arithmetic(g, SpvOpFMul, q, real(g, chosen(g, below_one, TWO_23 + LEADING, TWO_23)));
    q = SPV_VALUE(g, SpvOpConvertFToU, spv_type(g, IR_U32), q);
    uint32_t product = word(g, SpvOpIMul, q, mb);
    uint32_t rest = word(g, SpvOpISub, word(g, SpvOpShiftLeftLogical, ma, shift), product);
    uint32_t moved = steps(g, rest, arithmetic(g, SpvOpFMul, own, small));
    q = word(g, SpvOpIAdd, q, moved);
    rest = word(g, SpvOpISub, rest, word(g, SpvOpIMul, moved, mb));
    uint32_t twice = word(g, SpvOpIAdd, rest, rest), minus = word(g, SpvOpISub, spv_u32(g, 0), mb);
    q = stepped(g, q, compared(g, SpvOpSLessThan, mb, twice), compared(g, SpvOpSLessThan, twice, minus));
    uint32_t exponent = word(g, SpvOpIAdd, word(g, SpvOpISub, ea, eb), spv_u32(g, 127));
    exponent = word(g, SpvOpISub, exponent, shift);
    uint32_t sign = masked(g, word(g, SpvOpBitwiseXor, wa, wb), 0x80000000u, 0);
    uint32_t quotient = real(g, word(g, SpvOpBitwiseOr, bits(g, scaled(g, q, exponent)), sign));
    uint32_t numbers = compared(g, SpvOpLogicalAnd, within(g, ea, 1, 254), within(g, eb, 1, 254));
    uint32_t found = compared(g, SpvOpLogicalAnd, numbers, within(g, exponent, 1, 254));
    return selected(g, found, quotient, arithmetic(g, SpvOpFDiv, a, b));
}

uint32_t spv_words_sqrt(spv_gen *g, uint32_t x)
{
    const uint32_t w = bits(g, x), small = spv_const(g, IR_F32, 0x33800000); /* 2^-24 */
    uint32_t exponent =
        word(g, SpvOpShiftRightLogical, w, spv_u32(g, 23)); /* of numbers that are not negative */
    /* 1 where the power of two is odd, which the root shares out */
    uint32_t odd = word(g, SpvOpBitwiseXor, masked(g, exponent, 1, 0), spv_u32(g, 1));
    uint32_t raised = word(g, SpvOpShiftLeftLogical, odd, spv_u32(g, 23));
    uint32_t number = real(g, word(g, SpvOpIAdd, masked(g, w, FRACTION, ONE), raised));
    uint32_t own = function(g, GLSLstd450InverseSqrt, number), s = arithmetic(g, SpvOpFMul, number, own);
    s = arithmetic(g, SpvOpFMul, s, spv_const(g, IR_F32, TWO_23));
    s = SPV_VALUE(g, SpvOpConvertFToU, spv_type(g, IR_U32), s);
    uint32_t square = word(g, SpvOpShiftLeftLogical, masked(g, w, FRACTION, LEADING),
                           word(g, SpvOpIAdd, odd, spv_u32(g, 23)));
    uint32_t rest = word(g, SpvOpISub, square, word(g, SpvOpIMul, s, s));
    s = word(g, SpvOpIAdd, s, steps(g, rest, arithmetic(g, SpvOpFMul, own, small)));
    rest = word(g, SpvOpISub, square, word(g, SpvOpIMul, s, s));
    uint32_t minus = word(g, SpvOpISub, spv_u32(g, 1), s);
    s = stepped(g, s, compared(g, SpvOpSLessThan, s, rest), compared(g, SpvOpSLessThan, rest, minus));
    uint32_t half =
        word(g, SpvOpIAdd, word(g, SpvOpISub, exponent, odd), spv_u32(g, 81)); /* twice 127 - 23 */
    uint32_t root = scaled(g, s, word(g, SpvOpShiftRightLogical, half, spv_u32(g, 1)));
    return selected(g, within(g, w, LEAST_ROOTED, MOST_ROOTED - LEAST_ROOTED), root,
                    function(g, GLSLstd450Sqrt, x));
}
