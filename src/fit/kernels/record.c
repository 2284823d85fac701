/* SPDX-License-Identifier: BSD-3-Clause
 * What the traces of all fixed kernels share: their beginning and end, and sums in a fixed order. */
#include "fit/kernels/traces.h"

ir_func *fit_trace_begin(const char *name, const fit_binding *bindings, uint32_t count)
{
    ir_module *m = ir_module_create();
    for (uint32_t i = 0; i < count; i++)
        ir_buffer_add(m, bindings[i].name, bindings[i].constant, -1);
    return ir_func_create(m, name);
}

ir_module *fit_trace_end(ir_func *f)
{
    ir_return(f, NULL, 0);
    f->module->entry = f;
    return f->module;
}

ir_ref fit_not_finite(ir_func *f, ir_ref value)
{
    ir_ref exponent = ir_u32(f, 0x7f800000u);
    return ir_eq(f, ir_and(f, ir_bits_to_u32(f, value), exponent), exponent);
}

ir_ref fit_sum(ir_func *f, ir_ref from, ir_ref end, ir_ref step, fit_term term, const void *user)
{
    ir_ref state[2] = {from, ir_f32(f, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], end));
    ir_ref sum = ir_add(f, state[1], term(f, state[0], user));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], step), sum}, 2);
    return state[1];
}

fit_lane fit_lane_of(ir_func *f, ir_ref number, ir_ref value_count)
{
    ir_ref lanes = ir_u32(f, FIT_BLOCK_LANES), values = ir_u32(f, FIT_BLOCK_VALUES);
    ir_ref begin = ir_mul(f, ir_div(f, number, lanes), values), full = ir_add(f, begin, values);
    return (fit_lane){
        .number = number,
        .first = ir_add(f, begin, ir_mod(f, number, lanes)),
        .end = ir_min(f, full, value_count),
        .exists = ir_lt(f, begin, value_count),
    };
}

ir_ref fit_lane_sum(ir_func *f, const fit_lane *lane, fit_term term, const void *user)
{
    return fit_sum(f, lane->first, lane->end, ir_u32(f, FIT_BLOCK_LANES), term, user);
}
