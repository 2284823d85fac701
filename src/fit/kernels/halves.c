/* SPDX-License-Identifier: BSD-3-Clause
 * The loss of a two-walk step: strips of even number are one half of the samples, those of odd number the
 * other; each half's image has its own dL/dI, which drives the adjoint of the other half's samples. For
 * losses whose slope is affine in I and zero at T, where the gradient is unbiased, and so is the loss:
 * slope(A) (B - T) / 2 for squared errors. Film to images and losses of a tile of pixels in one go. Blocks,
 * lanes and partial sums are those of loss.c for the whole film, so the loss does not depend on the tiles.
 *
 * binding 0  film, f32: strip s owns words s n .., laid out as an image; strips is even
 * binding 1  target T, f32; with weights, n of them stand behind it
 * binding 2  image, f32, written: the mean of both halves
 * binding 3  adjoint, f32, written: dL/dI at the even half's image, n values, then at the odd half's
 * binding 4  partial sums, f32, written
 * push       first, end (values of this tile; first is a multiple of FIT_BLOCK_VALUES), n (of the film),
 * strips, scale (f32: what a value of weight 1 weighs), constant (f32), share (f32: one over the samples of a
 * half), weights (0: all are 1, else n) */
#include "fit/kernels/traces.h"

enum { FILM, TARGET, IMAGE, ADJOINT, PARTIALS, BINDINGS };
enum { FIRST, END, N, STRIPS, SCALE, CONSTANT, SHARE, WEIGHTED };

static ir_ref strip_value(ir_func *f, ir_ref strip, const void *user)
{
    const ir_ref *at = user;
    return ir_load(f, IR_F32, FILM, ir_add(f, ir_mul(f, strip, fit_word(f, N)), *at));
}

static ir_ref half_image(ir_func *f, ir_ref at, uint32_t parity)
{
    ir_ref strips = fit_word(f, STRIPS);
    return ir_mul(f, fit_sum(f, ir_u32(f, parity), strips, ir_u32(f, 2), strip_value, &at),
                  fit_real(f, SHARE));
}

static ir_ref halves_term(ir_func *f, ir_ref at, const void *user)
{
    const fit_loss_function *loss = user;
    ir_ref even = half_image(f, at, 0), odd = half_image(f, at, 1), half = ir_f32(f, 0.5f);
    ir_ref target = ir_load(f, IR_F32, TARGET, at), constant = fit_real(f, CONSTANT),
           scale = fit_real(f, SCALE), weight = fit_weight(f, TARGET, at, fit_word(f, WEIGHTED));
    ir_ref slope = (*loss)(f, even, target, constant).slope,
           slope_odd = (*loss)(f, odd, target, constant).slope;
    slope = fit_times_weight(f, slope, weight), slope_odd = fit_times_weight(f, slope_odd, weight);
    ir_store(f, IMAGE, at, ir_mul(f, half, ir_add(f, even, odd)));
    ir_store(f, ADJOINT, at, ir_mul(f, slope, scale));
    ir_store(f, ADJOINT, ir_add(f, fit_word(f, N), at), ir_mul(f, slope_odd, scale));
    ir_ref counts = ir_ne(f, weight, ir_f32(f, 0)), off = ir_select(f, counts, ir_sub(f, odd, target), half);
    return ir_mul(f, ir_mul(f, half, slope), off);
}

static ir_module *trace_halves(const char *name, fit_loss_function loss)
{
    static const fit_binding bindings[BINDINGS] = {
        {"film", true}, {"target", true}, {"image", false}, {"adjoint", false}, {"partials", false}};
    ir_func *f = fit_trace_begin(name, bindings, BINDINGS);
    ir_ref values = ir_u32(f, FIT_BLOCK_VALUES / FIT_BLOCK_LANES); /* of a lane */
    ir_ref number = ir_add(f, ir_div(f, fit_word(f, FIRST), values), ir_global_id(f));
    fit_lane lane = fit_lane_of(f, number, fit_word(f, END));
    fit_where(f, lane.exists);
    ir_ref sum = fit_lane_sum(f, &lane, halves_term, &loss);
    ir_store(f, PARTIALS, lane.number, ir_mul(f, sum, fit_real(f, SCALE)));
    fit_where_end(f);
    return fit_trace_end(f);
}

ir_module *fit_trace_halves_l2(void) { return trace_halves("halves_l2", fit_term_l2); }
ir_module *fit_trace_halves_relative_l2(void)
{
    return trace_halves("halves_relative_l2", fit_term_relative_l2);
}
