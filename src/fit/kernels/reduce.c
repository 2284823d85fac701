/* SPDX-License-Identifier: BSD-3-Clause
 * One stage of a sum after the first: up to FIT_FAN_IN partial sums become one, until one is left. There is
 * neither shared memory nor a barrier: every stage is a dispatch.
 *
 * Order of the sum: of `count` partial sums, invocation i of the `lanes` = ceil(count / FIT_FAN_IN) of a
 * stage sums numbers i, i + lanes, i + 2 lanes, .., in this order, and so neighbouring invocations read
 * neighbouring words.
 *
 * binding 0  partial sums, f32: those of a stage are read from word `first` on; the sums that it makes stand
 *            behind them, where the next stage finds them
 *
 * binding 1  results, f32: the last stage, which has one invocation, writes word `slot` of these instead, so
 *            that a fit can keep the losses of several steps in flight
 *
 * push       first, count, lanes, slot */
#include "fit/kernels/traces.h"

enum { PARTIALS, RESULTS, BINDINGS };
enum { FIRST, COUNT, LANES, SLOT };

static ir_ref partial(ir_func *f, ir_ref number, const void *user)
{
    (void)user;
    return ir_load(f, IR_F32, PARTIALS, ir_add(f, fit_word(f, FIRST), number));
}

ir_module *fit_trace_reduce_sum(void)
{
    static const fit_binding bindings[BINDINGS] = {{"partials", false}, {"results", false}};
    ir_func *f = fit_trace_begin("reduce_sum", bindings, BINDINGS);
    ir_ref i = ir_global_id(f), count = fit_word(f, COUNT), lanes = fit_word(f, LANES);
    fit_where(f, ir_lt(f, i, lanes));
    ir_ref sum = fit_sum(f, i, count, lanes, partial, NULL);
    ir_if(f, ir_eq(f, lanes, ir_u32(f, 1)));
    ir_store(f, RESULTS, fit_word(f, SLOT), sum);
    ir_else(f);
    ir_store(f, PARTIALS, ir_add(f, ir_add(f, fit_word(f, FIRST), count), i), sum);
    ir_endif(f);
    fit_where_end(f);
    return fit_trace_end(f);
}
