/* SPDX-License-Identifier: BSD-3-Clause
 * The first stage of a loss L = scale * sum over values of weight * a term of (image, target), and dL/dI.
 *
 * Order of the sum: values are cut into blocks of FIT_BLOCK_VALUES. Invocation k of the FIT_BLOCK_LANES of a
 * block sums values k, k + 64, k + 128, .. of it, in this order, and so neighbouring invocations read
 * neighbouring words. Its sum times the scale is one partial sum. reduce.c makes one number of all partial
 * sums.
 *
 * binding 0  image I, f32
 * binding 1  target T, f32; with weights, n of them stand behind it
 * binding 2  adjoint dL/dI, f32, written
 * binding 3  partial sums, f32, written: FIT_BLOCK_LANES for each block
 * push       n, scale (f32: what one value of weight 1 weighs, 1 / n for a mean), constant (f32: the loss's
 *            own number), weights (0: all are 1, else n)
 *
 * loss_dot is the value of a linear loss, L = sum W I, whose adjoint is W itself: in the same order.
 * binding 0  image I, f32
 * binding 1  weights W, f32
 * binding 2  partial sums, f32, written
 * push       n */
#include "fit/kernels/traces.h"

enum { IMAGE, TARGET, ADJOINT, PARTIALS, BINDINGS };
enum { N, SCALE, CONSTANT, WEIGHTED };

static ir_ref differentiated_term(ir_func *f, ir_ref at, const void *user)
{
    const fit_loss_function *loss = user;
    ir_ref image = ir_load(f, IR_F32, IMAGE, at), target = ir_load(f, IR_F32, TARGET, at);
    fit_loss_term term = (*loss)(f, image, target, fit_real(f, CONSTANT));
    ir_ref weight = fit_weight(f, TARGET, at, fit_word(f, WEIGHTED));
    ir_store(f, ADJOINT, at, ir_mul(f, fit_times_weight(f, term.slope, weight), fit_real(f, SCALE)));
    return fit_times_weight(f, term.value, weight);
}

static ir_module *trace_loss(const char *name, fit_loss_function loss)
{
    static const fit_binding bindings[BINDINGS] = {
        {"image", true}, {"target", true}, {"adjoint", false}, {"partials", false}};
    ir_func *f = fit_trace_begin(name, bindings, BINDINGS);
    fit_lane lane = fit_lane_of(f, ir_global_id(f), fit_word(f, N));
    fit_where(f, lane.exists);
    ir_ref sum = fit_lane_sum(f, &lane, differentiated_term, &loss);
    ir_store(f, PARTIALS, lane.number, ir_mul(f, sum, fit_real(f, SCALE)));
    fit_where_end(f);
    return fit_trace_end(f);
}

ir_module *fit_trace_loss_l2(void) { return trace_loss("loss_l2", fit_term_l2); }
ir_module *fit_trace_loss_l1(void) { return trace_loss("loss_l1", fit_term_l1); }
ir_module *fit_trace_loss_relative_l2(void) { return trace_loss("loss_relative_l2", fit_term_relative_l2); }
ir_module *fit_trace_loss_huber(void) { return trace_loss("loss_huber", fit_term_huber); }

enum { WEIGHTS = TARGET, DOT_PARTIALS, DOT_BINDINGS };

static ir_ref product(ir_func *f, ir_ref at, const void *user)
{
    (void)user;
    ir_ref image = ir_load(f, IR_F32, IMAGE, at);
    return ir_mul(f, image, ir_load(f, IR_F32, WEIGHTS, at));
}

ir_module *fit_trace_loss_dot(void)
{
    static const fit_binding bindings[DOT_BINDINGS] = {
        {"image", true}, {"weights", true}, {"partials", false}};
    ir_func *f = fit_trace_begin("loss_dot", bindings, DOT_BINDINGS);
    fit_lane lane = fit_lane_of(f, ir_global_id(f), fit_word(f, N));
    fit_where(f, lane.exists);
    ir_store(f, DOT_PARTIALS, lane.number, fit_lane_sum(f, &lane, product, NULL));
    fit_where_end(f);
    return fit_trace_end(f);
}
