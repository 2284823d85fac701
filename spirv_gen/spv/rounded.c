/* SPDX-License-Identifier: BSD-3-Clause
 * f32 division and square root, rounded to the nearest, for devices whose own are not: Vulkan allows 2.5 ulp
 * to a division and more to a root. Two kernels for which a driver computes the same quotient in two ways
 * would follow different paths, and no two devices would give the same bytes.
 *
 * The device's own result is corrected by its remainder, which a fused multiply-add finds without an error
 * (Markstein 1990, Computation of elementary functions on the IBM RISC System/6000 processor):
 *
 *     y = 1/b, own             y <- y + y (1 - b y)
 *     q = a/b, own             q <- q + y (a - b q), twice
 *
 *     h = 1/sqrt(x) / 2, own
 *     g = sqrt x, own          g <- g + h (x - g g), then g or the number above or below it, by x - g g
 *
 * The first correction leaves at most one ulp. For a quotient the second finds the nearest number. For a root
 * it would not (of x = 1 - 2^-24, say), so the exact remainder decides: the root is nearer to g + u than to g
 * where x - g g > g u, because all three are multiples of the same power of two. Where a corrected quotient
 * is zero, infinite or NaN the device's own stays. tests/unit/spv_rounded.c tries own results that
 * are off by more than Vulkan allows, for roots with every mantissa.
 *
 * Left to the device: |b| outside of [2^-126, 2^126], where 1/b is denormal or infinite, quotients and
 * remainders that are denormal, roots of numbers below 2^-100. Where Fma rounds twice, which GLSL.std.450
 * allows, results are off by an ulp or two, as the device's own are (`backlight devices --selftest`). */
#include "spirv_gen/spv/module.h"

enum { LEAST_ROOTED = 0x0d800000 }; /* 2^-100 */

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

/* value, where the bits of `size` are those of a number from `least` on and below infinity; else own. */
static uint32_t where_normal(spv_gen *g, uint32_t size, uint32_t least, uint32_t value, uint32_t own)
{
    uint32_t u32 = spv_type(g, IR_U32), bits = SPV_VALUE(g, SpvOpBitcast, u32, size);
    uint32_t from_least = SPV_VALUE(g, SpvOpISub, u32, bits, spv_u32(g, least));
    uint32_t normal =
        SPV_VALUE(g, SpvOpULessThan, spv_type(g, IR_BOOL), from_least, spv_u32(g, 0x7f800000u - least));
    return SPV_VALUE(g, SpvOpSelect, spv_type(g, IR_F32), normal, value, own);
}

uint32_t spv_rounded_div(spv_gen *g, uint32_t a, uint32_t b)
{
    uint32_t one = spv_const(g, IR_F32, 0x3f800000u), minus_b = negated(g, b);
    uint32_t y = arithmetic(g, SpvOpFDiv, one, b), own = arithmetic(g, SpvOpFDiv, a, b), q = own;
    y = fused(g, fused(g, minus_b, y, one), y, y);
    for (int k = 0; k < 2; k++)
        q = fused(g, fused(g, minus_b, q, a), y, q);
    return where_normal(g, function(g, GLSLstd450FAbs, q), 1, q, own);
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
    uint32_t f32 = spv_type(g, IR_F32), boolean = spv_type(g, IR_BOOL),
             half = spv_const(g, IR_F32, 0x3f000000u);
    uint32_t h = arithmetic(g, SpvOpFMul, function(g, GLSLstd450InverseSqrt, x), half);
    uint32_t own = function(g, GLSLstd450Sqrt, x);
    uint32_t root = fused(g, fused(g, negated(g, own), own, x), h, own);
    uint32_t rest = fused(g, negated(g, root), root, x);
    uint32_t above = neighbour(g, root, 1), below = neighbour(g, root, ~0u);
    uint32_t up = arithmetic(g, SpvOpFMul, root, arithmetic(g, SpvOpFSub, above, root));
    uint32_t down = arithmetic(g, SpvOpFMul, root, arithmetic(g, SpvOpFSub, below, root));
    uint32_t rises = SPV_VALUE(g, SpvOpFOrdGreaterThan, boolean, rest, up);
    uint32_t falls = SPV_VALUE(g, SpvOpFOrdLessThanEqual, boolean, rest, down);
    uint32_t lower = SPV_VALUE(g, SpvOpSelect, f32, falls, below, root);
    uint32_t nearest = SPV_VALUE(g, SpvOpSelect, f32, rises, above, lower);
    return where_normal(g, x, LEAST_ROOTED, nearest, own);
}
