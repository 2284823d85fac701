/* SPDX-License-Identifier: BSD-3-Clause
 * What one value of an image adds to each loss, and its slope. A loss is a function here and a kernel in
 * loss.c; one whose slope is affine in the image also has a kernel in halves.c. */
#include "fit/kernels/traces.h"

ir_ref fit_weight(ir_func *f, uint32_t targets, ir_ref at, ir_ref weights)
{
    ir_ref behind = ir_load(f, IR_F32, targets, ir_add(f, at, weights));
    return ir_select(f, ir_eq(f, weights, ir_u32(f, 0)), ir_f32(f, 1), behind);
}

ir_ref fit_times_weight(ir_func *f, ir_ref number, ir_ref weight)
{
    ir_ref zero = ir_f32(f, 0);
    return ir_select(f, ir_eq(f, weight, zero), zero, ir_mul(f, number, weight));
}

/* Squared error: (I - T)^2. Its slope is affine in I, so noise in I does not bias the gradient. */
fit_loss_term fit_term_l2(ir_func *f, ir_ref image, ir_ref target, ir_ref constant)
{
    (void)constant;
    ir_ref difference = ir_sub(f, image, target);
    return (fit_loss_term){ir_mul(f, difference, difference), ir_mul(f, ir_f32(f, 2), difference)};
}

/* Absolute error: |I - T|, slope 0 where both are equal. */
fit_loss_term fit_term_l1(ir_func *f, ir_ref image, ir_ref target, ir_ref constant)
{
    (void)constant;
    ir_ref difference = ir_sub(f, image, target), zero = ir_f32(f, 0);
    ir_ref above = ir_to_f32(f, ir_lt(f, zero, difference)), below = ir_to_f32(f, ir_lt(f, difference, zero));
    return (fit_loss_term){ir_abs(f, difference), ir_sub(f, above, below)};
}

/* Squared error relative to the target: (I - T)^2 / (T^2 + constant). With the target, not the image, in the
 * denominator the slope stays affine in I. */
fit_loss_term fit_term_relative_l2(ir_func *f, ir_ref image, ir_ref target, ir_ref constant)
{
    ir_ref difference = ir_sub(f, image, target);
    ir_ref weight = ir_div(f, ir_f32(f, 1), ir_add(f, ir_mul(f, target, target), constant));
    return (fit_loss_term){ir_mul(f, ir_mul(f, difference, difference), weight),
                           ir_mul(f, ir_mul(f, ir_f32(f, 2), difference), weight)};
}

/* Huber 1964: d^2 / 2 for |d| <= constant, constant * (|d| - constant / 2) beyond, d = I - T. With d clamped
 * to
 * +-constant, both cases are clamped * (d - clamped / 2). */
fit_loss_term fit_term_huber(ir_func *f, ir_ref image, ir_ref target, ir_ref constant)
{
    ir_ref difference = ir_sub(f, image, target);
    ir_ref clamped = ir_min(f, ir_max(f, ir_neg(f, constant), difference), constant);
    ir_ref half = ir_mul(f, ir_f32(f, 0.5f), clamped);
    return (fit_loss_term){ir_mul(f, clamped, ir_sub(f, difference, half)), clamped};
}
