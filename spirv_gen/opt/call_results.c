/* SPDX-License-Identifier: BSD-3-Clause
 * What a call is known to return moves out of it: a result that is the same constant, uniform or argument in
 * every target is taken from the caller, and one that equals another result in every target is that one. A
 * call without effects whose results are all known is left without use, and dead.c drops it; call_unused.c
 * drops single results.
 *
 * Callees are rebuilt before their callers, so what a nested call is known to return is known here at
 * once. */
#include "spirv_gen/opt/pass.h"

/* Result k of `target`, which is of the new module, as a value of the caller; none if it has to be computed
 * there. */
static ir_ref outside(ir_copier *c, const ir_func *target, uint32_t k, const uint32_t *args)
{
    ir_inst i = ir_get(target, target->results.data[k]);
    switch (i.op) {
    case IR_CONST:
        return ir_const(c->to, (ir_type)i.type, i.a);
    case IR_UNIFORM:
        return ir_uniform(c->to, (ir_type)i.type, i.a);
    case IR_GLOBAL_ID:
        return ir_global_id(c->to);
    case IR_PARAM:
        return ir_copied(c, args[i.a]);
    default:
        return (ir_ref){0};
    }
}

static ir_ref known_result(ir_copier *c, ir_operands o, uint32_t k)
{
    const opt_pass *pass = c->user;
    ir_ref value = outside(c, pass->functions[o.targets[0]], k, o.args);
    for (uint32_t t = 1; t < o.target_count && value.id; t++)
        if (!ir_same(value, outside(c, pass->functions[o.targets[t]], k, o.args)))
            return (ir_ref){0};
    return value;
}

/* The first result that is the same value as result k in every target. */
static uint32_t first_equal(ir_func *const *functions, ir_operands o, uint32_t k)
{
    for (uint32_t j = 0; j < k; j++) {
        bool equal = true;
        for (uint32_t t = 0; t < o.target_count && equal; t++) {
            const ir_func *target = functions[o.targets[t]];
            equal = ir_same(target->results.data[j], target->results.data[k]);
        }
        if (equal)
            return j;
    }
    return k;
}

static bool take_results(ir_copier *c, uint32_t id, ir_inst inst)
{
    if (inst.op != IR_CALL || c->to->module->error.code != BL_OK)
        return false;
    ir_copy_inst(c, id);
    const opt_pass *pass = c->user;
    ir_operands o = ir_call_operands(c->from, inst);
    for (uint32_t k = id + 1;
         k < c->from->inst.count && c->from->inst.data[k].op == IR_RESULT && c->from->inst.data[k].a == id;
         k++) {
        uint32_t result = c->from->inst.data[k].b;
        ir_ref known = known_result(c, o, result);
        c->map[k].id = known.id ? known.id
                                : c->map[k].id - (result - first_equal(pass->functions, o,
                                                                       result)); /* RESULTs stand in a row */
    }
    return true;
}

/* Could a result be known? Those that calls within the targets return may turn out so. */
static bool may_know(const ir_module *m, ir_operands o, uint32_t k)
{
    for (uint32_t t = 0; t < o.target_count; t++) {
        const ir_func *target = m->functions.data[o.targets[t]];
        uint8_t op = ir_get(target, target->results.data[k]).op;
        if (ir_op_table[op].effect != IR_EFFECT_FLOAT && op != IR_RESULT)
            return false;
    }
    return true;
}

static bool may_know_any(const ir_module *m)
{
    for (uint32_t n = 0; n < m->functions.count; n++) {
        const ir_func *f = m->functions.data[n];
        for (uint32_t id = 1; id < f->inst.count; id++) {
            ir_inst i = f->inst.data[id];
            if (i.op != IR_RESULT || f->inst.data[i.a].op != IR_CALL)
                continue;
            ir_operands o = ir_call_operands(f, f->inst.data[i.a]);
            if (may_know(m, o, i.b) || first_equal(m->functions.data, o, i.b) != i.b)
                return true;
        }
    }
    return false;
}

ir_module *opt_call_results(const ir_module *m)
{
    if (!may_know_any(m))
        return NULL;
    opt_pass pass = {.from = m, .hook = take_results};
    return opt_rebuild(&pass);
}
