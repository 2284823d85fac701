/* SPDX-License-Identifier: BSD-3-Clause
 * f32 division and square root, rounded to the nearest, for devices whose own are not: Vulkan allows 2.5 ulp
 * to a division and more to a root. Two kernels for which a driver computes the same quotient in two ways
 * would follow different paths, and no two devices would give the same bytes.
 *
 * The device's own result is corrected by its remainder, which a fused multiply-add finds without an error
 * (Markstein 1990, Computation of elementary functions on the IBM RISC System/6000 processor):
 *
 *     y = 1/b, own             y <- y + y (1 - b y)
 *     q = a y                  q <- q + y (a - b q)
 *
 *     h = 1/sqrt(x) / 2, own
 *     g = x 2 h                g <- g + h (x - g g), then g or the number above or below it, by x - g g
 *
 * The refined reciprocal is nearly always the nearest number, and then so is the corrected quotient. A root
 * corrected once is off by at most one ulp; a second correction would not do (of x = 1 - 2^-24, say), so the
 * exact remainder decides: the root is nearer to g + u than to g where x - g g > g u, because all three are
 * multiples of the same power of two. Where a corrected quotient is zero, infinite or NaN, the quotient is a
 * times the device's own 1/b.
 * tests/unit/spv_rounded.c tries reciprocals and roots that are off by more than Vulkan allows.
 *
 * Left to the device: |b| outside of [2^-126, 2^126], where 1/b is denormal or infinite, quotients below
 * 2^-100 or of numbers below it, whose remainders may be denormal, roots of numbers below it or above 2^100.
 * Where Fma rounds twice, which GLSL.std.450 allows, results are off by an ulp or two, as the device's own
 * are (`backlight devices --selftest`). */
#include "spirv_gen/spv/module.h"

enum { LEAST_ROOTED = 0x0d800000, MOST_ROOTED = 0x71800000 }; /* 2^-100, 2^100 */

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

uint32_t spv_rounded_div(spv_gen *g, uint32_t a, uint32_t b)
{
    uint32_t one = spv_const(g, IR_F32, 0x3f800000u), zero = spv_const(g, IR_F32, 0);
    uint32_t infinity = spv_const(g, IR_F32, 0x7f800000u), minus_b = negated(g, b);
    uint32_t own = arithmetic(g, SpvOpFDiv, one, b);
    uint32_t y = fused(g, fused(g, minus_b, own, one), own, own), q = arithmetic(g, SpvOpFMul, a, y);
    q = fused(g, fused(g, minus_b, q, a), y, q);
    uint32_t size = function(g, GLSLstd450FAbs, q), above = compared(g, SpvOpFOrdGreaterThan, size, zero);
    uint32_t below = compared(g, SpvOpFOrdLessThan, size, infinity);
    uint32_t number = compared(g, SpvOpLogicalAnd, above, below);
    return selected(g, number, q, arithmetic(g, SpvOpFMul, a, own));
}

/* The next number above (1) or below (~0) a positive one. */
static uint32_t neighbour(spv_gen *g, uint32_t value, uint32_t step)
{
    uint32_t bits = SPV_VALUE(g, SpvOpBitcast, spv_type(g, IR_U32), value);
    uint32_t moved = SPV_VALUE(g, SpvOpIAdd, spv_type(g, IR_U32), bits, spv_u32(g, step));
    return SPV_VALUE(g, SpvOpBitcast, spv_type(g, IR_F32), moved);
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
