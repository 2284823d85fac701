/* SPDX-License-Identifier: BSD-3-Clause
 * Differentiated functions, and the reverse of a CALL: a call of them with the same selector.
 *
 * A derived function computes the callee again (without effects), sweeps it and returns the adjoints of its parameters. It exists once
 * per callee and choice of what is wanted: which results have adjoints, which parameters need them; a parameter that is a constant at
 * the call gets no code. The choice is part of the function's name, by which it is found again. */
#include "spirv_gen/ad/sweep.h"

#include <stdlib.h>
#include <string.h>

/* One byte per result and per parameter of a callee; only f32 ones are ever set. */
typedef struct choice_mask {
    uint8_t *results, *params;
} choice_mask;

static choice_mask mask_create(const ir_func *callee)
{
    choice_mask m = {calloc(callee->results.count + 1, 1), calloc(callee->params.count + 1, 1)};
    BL_ASSERT(m.results && m.params, "out of memory");
    return m;
}

static void mask_free(choice_mask *m)
{
    free(m->results);
    free(m->params);
}

static const char *derived_name(const ir_func *callee, const choice_mask *m)
{
    text t = {0};
    text_add(&t, "%s.vjp%u_", callee->name, callee->index);
    for (uint32_t k = 0; k < callee->results.count; k++)
        text_add(&t, "%d", m->results[k]);
    text_add(&t, "_");
    for (uint32_t k = 0; k < callee->params.count; k++)
        text_add(&t, "%d", m->params[k]);
    const char *name = arena_strdup(&callee->module->arena, t.data);
    text_free(&t);
    return name;
}

static ir_func *find_function(const ir_module *m, const char *name)
{
    for (uint32_t k = 0; k < m->functions.count; k++)
        if (strcmp(m->functions.data[k]->name, name) == 0)
            return m->functions.data[k];
    return NULL;
}

/* The callee's parameters in the derived function: new references by instruction of the callee. */
static ir_ref *map_parameters(const ir_func *callee, ir_func *derived)
{
    ir_ref *map = calloc(callee->inst.count, sizeof *map);
    ir_ref *params = malloc((callee->params.count + 1) * sizeof *params);
    BL_ASSERT(map && params, "out of memory");
    for (uint32_t k = 0; k < callee->params.count; k++)
        params[k] = ir_param(derived, (ir_type)callee->params.data[k]);
    for (uint32_t id = 1; id < callee->inst.count; id++)
        if (callee->inst.data[id].op == IR_PARAM)
            map[id] = params[callee->inst.data[id].a];
    free(params);
    return map;
}

/* PARAM instructions of the wanted parameters. */
static uint32_t wanted_params(const ir_func *callee, const uint8_t *wanted, ir_ref *out)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < callee->params.count; k++) {
        if (!wanted[k])
            continue;
        for (uint32_t id = 1; id < callee->inst.count; id++)
            if (callee->inst.data[id].op == IR_PARAM && callee->inst.data[id].a == k)
                out[count].id = id;
        count++;
    }
    return count;
}

static void emit_derived(ir_func *callee, ir_func *derived, const choice_mask *m)
{
    ir_ref *outputs = calloc(callee->results.count + 1, sizeof *outputs), *seeds = calloc(callee->results.count + 1, sizeof *seeds);
    ir_ref *wrt = calloc(callee->params.count + 1, sizeof *wrt);
    BL_ASSERT(outputs && seeds && wrt, "out of memory");
    ir_ref *map = map_parameters(callee, derived);
    uint32_t output_count = 0, wrt_count = wanted_params(callee, m->params, wrt);
    for (uint32_t k = 0; k < callee->results.count; k++)
        if (m->results[k]) {
            outputs[output_count] = callee->results.data[k];
            seeds[output_count++] = ir_param(derived, IR_F32);
        }
    ad_sweep s;
    ad_sweep_begin(&s, derived, callee, map, outputs, output_count, wrt, wrt_count);
    ad_recompute(&s, 1, s.count);
    for (uint32_t k = 0; k < output_count; k++)
        ad_add(&s, outputs[k].id, seeds[k]);
    ad_run(&s, 1, s.count);
    for (uint32_t k = 0; k < wrt_count; k++)
        wrt[k] = ad_adjoint(&s, wrt[k]);
    ad_sweep_end(&s);
    ir_return(derived, wrt, wrt_count);
    free(outputs);
    free(seeds);
    free(wrt);
}

static ir_func *derive(ir_func *callee, const choice_mask *m)
{
    const char *name = derived_name(callee, m);
    ir_func *derived = find_function(callee->module, name);
    if (!derived) {
        derived = ir_func_create(callee->module, name);
        emit_derived(callee, derived, m);
    }
    return derived;
}

ir_func *ad_vjp(ir_func *callee)
{
    choice_mask m = mask_create(callee);
    ir_ref *params = calloc(callee->params.count + 1, sizeof *params);
    BL_ASSERT(params, "out of memory");
    for (uint32_t k = 0; k < callee->params.count; k++)
        m.params[k] = callee->params.data[k] == IR_F32;
    uint8_t *active = ad_active(callee, params, wanted_params(callee, m.params, params));
    bool any = false;
    for (uint32_t k = 0; k < callee->results.count; k++) {
        m.results[k] = ir_type_of(callee, callee->results.data[k]) == IR_F32;
        any |= active[callee->results.data[k].id] != 0;
    }
    ir_func *derived = any ? derive(callee, &m) : NULL;
    free(active);
    free(params);
    mask_free(&m);
    return derived;
}

/* ---- the reverse of a call ---- */

/* Sets the mask of results and their adjoints by index; false: no result has one. */
static bool take_results(ad_sweep *s, uint32_t call, choice_mask *m, ir_ref *adjoints)
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

static void call_derived(ad_sweep *s, ir_inst call, const choice_mask *m, const ir_ref *adjoints, uint32_t result_count)
{
    ir_operands o = ir_call_operands(s->from, call);
    uint32_t *arg_ids = malloc((o.arg_count + 1) * sizeof *arg_ids);
    ir_func **targets = malloc((o.target_count + 1) * sizeof *targets);
    ir_ref *args = malloc((o.arg_count + result_count + 1) * sizeof *args), *results = calloc(o.arg_count + 1, sizeof *results);
    BL_ASSERT(arg_ids && targets && args && results, "out of memory");
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
    free(arg_ids);
    free(targets);
    free(args);
    free(results);
}

void ad_reverse_CALL(ad_sweep *s, uint32_t id)
{
    ir_inst call = s->from->inst.data[id];
    ir_operands o = ir_call_operands(s->from, call);
    const ir_func *first = s->f->module->functions.data[o.targets[0]];
    uint32_t result_count = first->results.count;
    choice_mask m = mask_create(first);
    ir_ref *adjoints = calloc(result_count + 1, sizeof *adjoints);
    BL_ASSERT(adjoints, "out of memory");
    if (take_results(s, id, &m, adjoints)) {
        for (uint32_t k = 0; k < o.arg_count; k++)
            m.params[k] = s->active[o.args[k]];
        call_derived(s, call, &m, adjoints, result_count);
    }
    free(adjoints);
    mask_free(&m);
}
