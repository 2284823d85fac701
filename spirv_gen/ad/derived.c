/* SPDX-License-Identifier: BSD-3-Clause
 * Derived functions: what forward and reverse mode share. One exists per callee and choice of what is wanted:
 * which results, which parameters; what is constant at the call gets no code. The choice is part of the
 * function's name, by which it is found again. */
#include "spirv_gen/ad/sweep.h"

#include <stdlib.h>
#include <string.h>

ad_mask ad_mask_create(const ir_func *callee)
{
    ad_mask m = {memory_need_zeroed(callee->results.count + 1, 1),
                 memory_need_zeroed(callee->params.count + 1, 1)};
    return m;
}

void ad_mask_free(ad_mask *m)
{
    memory_free(m->results);
    memory_free(m->params);
}

const char *ad_derived_name(const ir_func *callee, const char *kind, const ad_mask *m)
{
    text t = {0};
    text_add(&t, "%s.%s%u_", callee->name, kind, callee->index);
    for (uint32_t k = 0; k < callee->results.count; k++)
        text_add(&t, "%d", m->results[k]);
    text_add(&t, "_");
    for (uint32_t k = 0; k < callee->params.count; k++)
        text_add(&t, "%d", m->params[k]);
    const char *name = arena_strdup(&callee->module->arena, t.data);
    text_free(&t);
    return name;
}

ir_func *ad_derived_create(ir_module *m, const char *name)
{
    ir_func *f = ir_func_create(m, name);
    f->derived = true;
    return f;
}

ir_func *ad_derived_find(const ir_module *m, const char *name)
{
    for (uint32_t k = 0; k < m->functions.count; k++)
        if (m->functions.data[k]->derived && strcmp(m->functions.data[k]->name, name) == 0)
            return m->functions.data[k];
    return NULL;
}

ir_ref *ad_derived_params(const ir_func *callee, ir_func *derived)
{
    ir_ref *map = memory_need_zeroed(callee->inst.count, sizeof *map);
    ir_ref *params = memory_need((callee->params.count + 1) * sizeof *params);
    for (uint32_t k = 0; k < callee->params.count; k++)
        params[k] = ir_param(derived, (ir_type)callee->params.data[k]);
    for (uint32_t id = 1; id < callee->inst.count; id++)
        if (callee->inst.data[id].op == IR_PARAM)
            map[id] = params[callee->inst.data[id].a];
    memory_free(params);
    return map;
}

uint32_t ad_param_insts(const ir_func *callee, const uint8_t *wanted, ir_ref *out)
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

/* ---- custom operations ---- */

static uint32_t real_params(const ir_func *f)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->params.count; k++)
        n += f->params.data[k] == IR_F32;
    return n;
}

static uint32_t real_results(const ir_func *f)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->results.count; k++)
        n += ir_type_of(f, f->results.data[k]) == IR_F32;
    return n;
}

/* derived: params of primal, then `in` reals -> `out` reals */
static void check_custom(ir_func *primal, const ir_func *derived, const char *what, uint32_t in, uint32_t out)
{
    if (!derived || primal->module->error.code != BL_OK)
        return;
    bool fits = derived->module == primal->module && derived->finished &&
                derived->params.count == primal->params.count + in && derived->results.count == out &&
                real_results(derived) == out;
    for (uint32_t k = 0; fits && k < derived->params.count; k++)
        fits = derived->params.data[k] == (k < primal->params.count ? primal->params.data[k] : IR_F32);
    if (!fits)
        ir_fail(primal,
                "ad_custom: \"%s\" is not a %s of \"%s\": expected its parameters and %u f32, and %u f32 as "
                "results",
                derived->name, what, primal->name, in, out);
}

void ad_custom(ir_func *primal, ir_func *jvp, ir_func *vjp)
{
    check_custom(primal, jvp, "jvp", real_params(primal), real_results(primal));
    check_custom(primal, vjp, "vjp", real_results(primal), real_params(primal));
    primal->jvp = jvp;
    primal->vjp = vjp;
}
