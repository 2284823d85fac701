/* SPDX-License-Identifier: BSD-3-Clause
 * A level of an image pyramid from the finer one, the transposed operation for dL/dI, and the sum of two
 * dL/dI. A cell of the coarser level is the mean over the 2 x 2 pixels that it covers, over those of them
 * that exist at the right and lower border, by their weights: sum w v / sum w, and 0 where all weights are.
 * So a pixel's share in its cell is w / sum w; it is a number of the weights alone, and levels are linear in
 * the image. A pixel without weight does not count, whatever its value.
 *
 * coarser
 * binding 0  finer level, f32: width x height pixels, row by row
 * binding 1  weights, f32: that of word i of the level is `weights` words behind word i (0: all are 1)
 * binding 2  coarser level, f32, written
 * push       count (values of the coarser level), width, height (of the finer one), channels, from, to (first
 *            words of both levels), weights
 *
 * coarser_adjoint adds the share of the coarser dL/dI to the finer one.
 * binding 0  coarser dL/dI, f32
 * binding 1  weights, as above
 * binding 2  finer dL/dI, f32, read and written
 * push       count (values of the finer level), width, height, channels, from, to, weights
 *
 * add
 * binding 0  dL/dI, f32
 * binding 1  dL/dI, f32, to which it is added
 * push       count */
#include "fit/kernels/traces.h"

enum { FROM_LEVEL, TARGET, TO_LEVEL, BINDINGS };
enum { COUNT, WIDTH, HEIGHT, CHANNELS, FROM, TO, WEIGHTS };

/* Number `at` of the finer level's values, and how much it weighs; 0 where there is no such pixel. */
typedef struct member {
    ir_ref at, weight;
} member;

/* The values of the 2 x 2 pixels from (x, y) on in a channel. */
static void members_of(ir_func *f, ir_ref x, ir_ref y, ir_ref channel, member out[4])
{
    ir_ref width = fit_word(f, WIDTH), height = fit_word(f, HEIGHT), zero = ir_f32(f, 0);
    for (uint32_t k = 0; k < 4; k++) {
        ir_ref column = ir_add(f, x, ir_u32(f, k % 2)), row = ir_add(f, y, ir_u32(f, k / 2)),
               exists = ir_and(f, ir_lt(f, column, width), ir_lt(f, row, height));
        column = ir_select(f, exists, column, x), row = ir_select(f, exists, row, y);
        ir_ref pixel = ir_add(f, ir_mul(f, row, width), column);
        out[k].at = ir_add(f, ir_mul(f, pixel, fit_word(f, CHANNELS)), channel);
        out[k].weight = ir_select(f, exists, fit_weight(f, TARGET, out[k].at, fit_word(f, WEIGHTS)), zero);
    }
}

static ir_ref weight_sum(ir_func *f, const member m[4])
{
    return ir_add(f, ir_add(f, m[0].weight, m[1].weight), ir_add(f, m[2].weight, m[3].weight));
}

/* number / sum, and 0 where the sum is. */
static ir_ref over(ir_func *f, ir_ref number, ir_ref sum)
{
    ir_ref zero = ir_f32(f, 0), none = ir_eq(f, sum, zero);
    return ir_select(f, none, zero, ir_div(f, number, ir_select(f, none, ir_f32(f, 1), sum)));
}

static ir_ref coarse_width(ir_func *f)
{
    return ir_div(f, ir_add(f, fit_word(f, WIDTH), ir_u32(f, 1)), ir_u32(f, 2));
}

ir_module *fit_trace_coarser(void)
{
    static const fit_binding bindings[BINDINGS] = {{"finer", true}, {"weights", true}, {"coarser", false}};
    ir_func *f = fit_trace_begin("coarser", bindings, BINDINGS);
    ir_ref i = ir_global_id(f), channels = fit_word(f, CHANNELS), two = ir_u32(f, 2);
    fit_where(f, ir_lt(f, i, fit_word(f, COUNT)));
    ir_ref cell = ir_div(f, i, channels), columns = coarse_width(f);
    member m[4];
    members_of(f, ir_mul(f, ir_mod(f, cell, columns), two), ir_mul(f, ir_div(f, cell, columns), two),
               ir_mod(f, i, channels), m);
    ir_ref sum = ir_f32(f, 0);
    for (uint32_t k = 0; k < 4; k++) {
        ir_ref value = ir_load(f, IR_F32, FROM_LEVEL, ir_add(f, fit_word(f, FROM), m[k].at));
        sum = ir_add(f, sum, fit_times_weight(f, value, m[k].weight));
    }
    ir_store(f, TO_LEVEL, ir_add(f, fit_word(f, TO), i), over(f, sum, weight_sum(f, m)));
    fit_where_end(f);
    return fit_trace_end(f);
}

ir_module *fit_trace_coarser_adjoint(void)
{
    static const fit_binding bindings[BINDINGS] = {{"coarser", true}, {"weights", true}, {"finer", false}};
    ir_func *f = fit_trace_begin("coarser_adjoint", bindings, BINDINGS);
    ir_ref i = ir_global_id(f), channels = fit_word(f, CHANNELS), width = fit_word(f, WIDTH),
           two = ir_u32(f, 2);
    fit_where(f, ir_lt(f, i, fit_word(f, COUNT)));
    ir_ref channel = ir_mod(f, i, channels), pixel = ir_div(f, i, channels);
    ir_ref column = ir_div(f, ir_mod(f, pixel, width), two), row = ir_div(f, ir_div(f, pixel, width), two);
    member m[4];
    members_of(f, ir_mul(f, column, two), ir_mul(f, row, two), channel, m);
    ir_ref cell = ir_add(f, ir_mul(f, row, coarse_width(f)), column);
    ir_ref value = ir_load(f, IR_F32, FROM_LEVEL,
                           ir_add(f, fit_word(f, FROM), ir_add(f, ir_mul(f, cell, channels), channel)));
    ir_ref own = fit_weight(f, TARGET, i, fit_word(f, WEIGHTS)), at = ir_add(f, fit_word(f, TO), i);
    ir_ref part = over(f, ir_mul(f, value, own), weight_sum(f, m));
    ir_store(f, TO_LEVEL, at, ir_add(f, ir_load(f, IR_F32, TO_LEVEL, at), part));
    fit_where_end(f);
    return fit_trace_end(f);
}

ir_module *fit_trace_add(void)
{
    static const fit_binding bindings[] = {{"from", true}, {"to", false}};
    ir_func *f = fit_trace_begin("add", bindings, 2);
    ir_ref i = ir_global_id(f);
    fit_where(f, ir_lt(f, i, fit_word(f, COUNT)));
    ir_store(f, 1, i, ir_add(f, ir_load(f, IR_F32, 1, i), ir_load(f, IR_F32, 0, i)));
    fit_where_end(f);
    return fit_trace_end(f);
}
