/* SPDX-License-Identifier: BSD-3-Clause
 * Differentiated functions, and the reverse of a CALL: a call of them with the same selector.
 *
 * A derived function computes the callee again (without effects), sweeps it and returns the adjoints of its
 * parameters. It exists once per callee and choice of what is wanted: which results have adjoints, which
 * parameters need them; a parameter that is a constant at the call gets no code. The choice is part of the
 * function's name, by which it is found again. */
#include "spirv_gen/ad/sweep.h"

#include <stdlib.h>

static void emit_derived(ir_func *callee, ir_func *derived, const ad_mask *m)
{
    ir_ref *outputs = memory_need_zeroed(callee->results.count + 1, sizeof *outputs),
           *seeds = memory_need_zeroed(callee->results.count + 1, sizeof *seeds);
    ir_ref *wrt = memory_need_zeroed(callee->params.count + 1, sizeof *wrt);
    ir_ref *map = ad_derived_params(callee, derived);
    uint32_t output_count = 0, wrt_count = ad_param_insts(callee, m->params, wrt);
    for (uint32_t k = 0; k < callee->results.count; k++)
        if (m->results[k]) {
            outputs[output_count] = callee->results.data[k];
            seeds[output_count++] = ir_param(derived, IR_F32);
        }
    ad_sweep s;
    ad_sweep_begin(&s, derived, callee, map, (ad_values){outputs, output_count}, (ad_values){wrt, wrt_count});
    ad_recompute(&s, 1, s.count);
    for (uint32_t k = 0; k < output_count; k++)
        ad_add(&s, outputs[k].id, seeds[k]);
    ad_open_arrays(&s, 1, s.count);
    ad_run(&s, 1, s.count);
    for (uint32_t k = 0; k < wrt_count; k++)
        wrt[k] = ad_adjoint(&s, wrt[k]);
    ad_sweep_end(&s);
    ir_return(derived, wrt, wrt_count);
    memory_free(outputs);
    memory_free(seeds);
    memory_free(wrt);
}

/* Calls the user's derivative, with zeros for results without adjoint, and returns what is wanted of it. */
static void emit_custom(ir_func *callee, ir_func *derived, const ad_mask *m)
{
    uint32_t count = callee->params.count, wanted = 0;
    ir_ref *args = memory_need_zeroed(count + callee->results.count + 1, sizeof *args),
           *adjoints = memory_need_zeroed(count + 1, sizeof *adjoints);
    for (uint32_t k = 0; k < count; k++)
        args[k] = ir_param(derived, (ir_type)callee->params.data[k]);
    for (uint32_t k = 0; k < callee->results.count; k++)
        if (ir_type_of(callee, callee->results.data[k]) == IR_F32)
            args[count++] = m->results[k] ? ir_param(derived, IR_F32) : ir_f32(derived, 0);
    ir_call(derived, ir_u32(derived, 0), &callee->vjp, 1, args, count, adjoints);
    for (uint32_t k = 0, next = 0; k < callee->params.count; k++) {
        ir_ref adjoint = adjoints[next];
        next += callee->params.data[k] == IR_F32;
        if (m->params[k])
            adjoints[wanted++] = adjoint; /* wanted <= next */
    }
    ir_return(derived, adjoints, wanted);
    memory_free(args);
    memory_free(adjoints);
}

static ir_func *derive(ir_func *callee, const ad_mask *m)
{
    const char *name = ad_derived_name(callee, "vjp", m);
    ir_func *derived = ad_derived_find(callee->module, name);
    if (!derived) {
        derived = ad_derived_create(callee->module, name);
        (callee->vjp ? emit_custom : emit_derived)(callee, derived, m);
    }
    return derived;
}

ir_func *ad_vjp(ir_func *callee)
{
    ad_mask m = ad_mask_create(callee);
    ir_ref *params = memory_need_zeroed(callee->params.count + 1, sizeof *params);
    for (uint32_t k = 0; k < callee->params.count; k++)
        m.params[k] = callee->params.data[k] == IR_F32;
    uint8_t *active = ad_active(callee, params, ad_param_insts(callee, m.params, params), AD_REVERSE);
    bool any = callee->vjp != NULL;
    for (uint32_t k = 0; k < callee->results.count; k++) {
        m.results[k] = ir_type_of(callee, callee->results.data[k]) == IR_F32;
        any |= active[callee->results.data[k].id] != 0;
    }
    ir_func *derived = any ? derive(callee, &m) : NULL;
    memory_free(active);
    memory_free(params);
    ad_mask_free(&m);
    return derived;
}

/* ---- the reverse of a call ---- */

/* Sets the mask of results and their adjoints by index; false: no result has one. */
static bool take_results(ad_sweep *s, uint32_t call, ad_mask *m, ir_ref *adjoints)
{
    bool any = false;
    for (uint32_t id; (id = ad_take_pending(s, call)) != 0;) {
        uint32_t k = s->from->inst.data[id].b;
        adjoints[k] = m->results[k] ? ir_add(s->f, adjoints[k], s->adjoint[id]) : s->adjoint[id];
        m->results[k] = 1;
        any = true;
    }
    return any;
}

static void call_derived(ad_sweep *s, ir_inst call, const ad_mask *m, const ir_ref *adjoints,
                         uint32_t result_count)
{
    ir_operands o = ir_call_operands(s->from, call);
    uint32_t *arg_ids = memory_need((o.arg_count + 1) * sizeof *arg_ids);
    ir_func **targets = memory_need((o.target_count + 1) * sizeof *targets);
    ir_ref *args = memory_need((o.arg_count + result_count + 1) * sizeof *args),
           *results = memory_need_zeroed(o.arg_count + 1, sizeof *results);
    uint32_t target_count = o.target_count, param_count = o.arg_count, arg_count = o.arg_count;
    for (uint32_t k = 0; k < param_count; k++) {
        arg_ids[k] = o.args[k];
        args[k] = ir_copied(&s->copy, o.args[k]);
    }
    for (uint32_t k = 0; k < target_count; k++)
        targets[k] = derive(s->f->module->functions.data[ir_call_operands(s->from, call).targets[k]], m);
    for (uint32_t k = 0; k < result_count; k++)
        if (m->results[k])
            args[arg_count++] = adjoints[k];
    ir_call(s->f, ir_copied(&s->copy, call.a), targets, target_count, args, arg_count, results);
    for (uint32_t k = 0, next = 0; k < param_count; k++)
        if (m->params[k])
            ad_add(s, arg_ids[k], results[next++]);
    memory_free(arg_ids);
    memory_free(targets);
    memory_free(args);
    memory_free(results);
}

void ad_reverse_CALL(ad_sweep *s, uint32_t id)
{
    ir_inst call = s->from->inst.data[id];
    ir_operands o = ir_call_operands(s->from, call);
    const ir_func *first = s->f->module->functions.data[o.targets[0]];
    uint32_t result_count = first->results.count;
    ad_mask m = ad_mask_create(first);
    ir_ref *adjoints = memory_need_zeroed(result_count + 1, sizeof *adjoints);
    if (take_results(s, id, &m, adjoints)) {
        for (uint32_t k = 0; k < o.arg_count; k++)
            m.params[k] = s->active[o.args[k]];
        call_derived(s, call, &m, adjoints, result_count);
    }
    memory_free(adjoints);
    ad_mask_free(&m);
}
