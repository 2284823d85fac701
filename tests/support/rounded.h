/* SPDX-License-Identifier: BSD-3-Clause
 * The corrections of spirv_gen/spv/rounded.c, written in C once more: for numbers that they leave neither to
 * the device nor to own results. */
#ifndef TEST_ROUNDED_H
#define TEST_ROUNDED_H

#include "spirv_gen/ir/internal.h"

/* a b + c: rounded once (fmaf), or twice. */
typedef float rounded_fma(float a, float b, float c);

static inline float moved_by_ulps(float value, int ulps)
{
    return ir_bits_float(ir_float_bits(value) + (uint32_t)ulps);
}

/* own: the device's 1 / b */
static inline float rounded_div(float a, float b, float own, rounded_fma *fma)
{
    float y = fma(fma(-b, own, 1) + 0x1p-41f, own, own), q = a * y;
    return fma(fma(-b, q, a), y, q);
}

/* own: the device's root of x; reciprocal: its 1 / sqrt(x) */
static inline float rounded_sqrt(float x, float own, float reciprocal, rounded_fma *fma)
{
    float root = fma(fma(-own, own, x), reciprocal * 0.5f, own), rest = fma(-root, root, x);
    float above = moved_by_ulps(root, 1), below = moved_by_ulps(root, -1);
    float up = root * (above - root), down = root * (below - root);
    return rest > up ? above : rest <= down ? below : root;
}

#endif
