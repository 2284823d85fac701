/* SPDX-License-Identifier: BSD-3-Clause
 * Re-emission: instructions of one function are emitted again into another through the builders, so that
 * folding and merging happen once more. Every pass, inlining and the recomputation of branches in
 * differentiation are this copy with a hook. Invariant: an operand has been copied before its user, or is
 * valid everywhere (constant, parameter, uniform), or was put into the map by the caller. STATEs get their
 * next value when the ENDLOOP is copied. */
#include "spirv_gen/ir/ir.h"

#include <stdlib.h>
#include <string.h>

static ir_func *new_function(const ir_copier *c, uint32_t index)
{
    return c->functions ? c->functions[index] : c->to->module->functions.data[index];
}

/* Constants and their kin may sit anywhere; they are copied when first needed. */
static ir_ref copy_floating(ir_copier *c, ir_inst i)
{
    switch (i.op) {
    case IR_CONST:
        return ir_const(c->to, (ir_type)i.type, i.a);
    case IR_UNIFORM:
        return ir_uniform(c->to, (ir_type)i.type, i.a);
    case IR_GLOBAL_ID:
        return ir_global_id(c->to);
    case IR_PARAM:
        while (c->to->params.count <= i.a)
            ir_param(c->to, (ir_type)c->from->params.data[c->to->params.count]);
        for (uint32_t k = 1; k < c->to->inst.count; k++)
            if (c->to->inst.data[k].op == IR_PARAM && c->to->inst.data[k].a == i.a)
                return (ir_ref){k};
        return (ir_ref){0};
    default:
        return (ir_ref){0};
    }
}

ir_ref ir_copied(ir_copier *c, uint32_t id)
{
    BL_ASSERT(id < c->from->inst.count, "%%%u of \"%s\", which has %u instructions", id, c->from->name,
              c->from->inst.count);
    if (c->map[id].id == 0 && ir_op_table[c->from->inst.data[id].op].effect == IR_EFFECT_FLOAT)
        c->map[id] = copy_floating(c, c->from->inst.data[id]);
    if (c->map[id].id == 0 && c->to->module->error.code == BL_OK)
        ir_fail(c->to, "copy of \"%s\": %%%u (%s) is used but was not copied", c->from->name, id,
                ir_op_table[c->from->inst.data[id].op].name);
    return c->map[id];
}

static void copy_call(ir_copier *c, uint32_t id, ir_inst i)
{
    ir_operands o = ir_call_operands(c->from, i);
    ir_func **targets = memory_need((o.target_count + 1) * sizeof *targets);
    ir_ref *args = memory_need((o.arg_count + 1) * sizeof *args);
    uint32_t result_count = ir_result_count(c->from, i);
    ir_ref *results = memory_need_zeroed(result_count + 5, sizeof *results);
    for (uint32_t k = 0; k < o.target_count; k++)
        targets[k] = new_function(c, o.targets[k]);
    for (uint32_t k = 0; k < o.arg_count; k++)
        args[k] = ir_copied(c, o.args[k]);
    if (i.op == IR_CALL)
        ir_call(c->to, ir_copied(c, i.a), targets, o.target_count, args, o.arg_count, results);
    else if (i.op == IR_RAY_CLOSEST && o.arg_count == 9)
        ir_ray_next(c->to, targets, o.target_count, args, results);
    else if (i.op == IR_RAY_CLOSEST)
        ir_ray_closest(c->to, targets, o.target_count, args, results);
    else
        results[0] = ir_ray_any(c->to, targets, o.target_count, args);
    /* the RESULTs follow their call directly */
    for (uint32_t k = id + 1;
         k < c->from->inst.count && c->from->inst.data[k].op == IR_RESULT && c->from->inst.data[k].a == id;
         k++) {
        BL_ASSERT(c->from->inst.data[k].b < result_count, "result %u of %u", c->from->inst.data[k].b,
                  result_count);
        c->map[k] = results[c->from->inst.data[k].b];
    }
    memory_free(targets);
    memory_free(args);
    memory_free(results);
}

/* STATEs of a loop that are kept, in order. */
static uint32_t loop_states(const ir_copier *c, uint32_t loop, uint32_t *ids)
{
    uint32_t count = 0;
    for (uint32_t k = loop + 1;
         k < c->from->inst.count && c->from->inst.data[k].op == IR_STATE && c->from->inst.data[k].c == loop;
         k++)
        if (!c->live || c->live[k])
            ids[count++] = k;
    return count;
}

static uint32_t state_limit(const ir_copier *c, uint32_t loop)
{
    uint32_t k = loop + 1;
    while (k < c->from->inst.count && c->from->inst.data[k].op == IR_STATE && c->from->inst.data[k].c == loop)
        k++;
    return k - loop;
}

static void copy_loop_edge(ir_copier *c, uint32_t loop, bool begin)
{
    uint32_t *ids = memory_need((state_limit(c, loop) + 1) * sizeof *ids);
    ir_ref *values = memory_need((state_limit(c, loop) + 1) * sizeof *values);
    uint32_t count = loop_states(c, loop, ids);
    for (uint32_t k = 0; k < count; k++) {
        ir_inst state = c->from->inst.data[ids[k]];
        values[k] = ir_copied(c, begin ? state.a : state.b);
    }
    if (begin) {
        c->map[loop] = ir_loop(c->to, values, count);
        for (uint32_t k = 0; k < count; k++)
            c->map[ids[k]] = values[k];
    } else {
        ir_endloop(c->to, c->map[loop], values, count);
    }
    memory_free(ids);
    memory_free(values);
}

static ir_ref copy_memory(ir_copier *c, ir_inst i)
{
    ir_func *f = c->to;
    switch (i.op) {
    case IR_LOAD:
        return ir_load(f, (ir_type)i.type, i.b, ir_copied(c, i.a));
    case IR_DLOAD:
        return ir_dload(f, i.b, ir_copied(c, i.a), ir_copied(c, i.c));
    case IR_STORE:
        ir_store(f, i.b, ir_copied(c, i.a), ir_copied(c, i.c));
        break;
    case IR_ATOMIC_ADD:
        return ir_atomic_add(f, i.b, ir_copied(c, i.a), ir_copied(c, i.c));
    case IR_ATOMIC_CAS:
        return ir_atomic_cas(f, i.b, ir_copied(c, i.a), ir_copied(c, c->from->pool.data[i.c]),
                             ir_copied(c, c->from->pool.data[i.c + 1]));
    case IR_ACCUM:
        ir_accum(f, i.b, ir_copied(c, i.a), ir_copied(c, i.c));
        break;
    case IR_FLUSH:
        ir_flush(f, i.b, ir_copied(c, i.a));
        break;
    case IR_LOCAL:
        return i.flags & IR_PARKED ? ir_parking(f, i.a) : ir_local(f, (ir_type)i.type, i.a);
    case IR_LLOAD:
        return ir_lload(f, ir_copied(c, i.a), ir_copied(c, i.b));
    case IR_LSTORE:
        ir_lstore(f, ir_copied(c, i.a), ir_copied(c, i.b), ir_copied(c, i.c));
        break;
    default:
        BL_ASSERT(false, "no memory op: %s", ir_op_table[i.op].name);
    }
    return (ir_ref){0};
}

void ir_copy_inst(ir_copier *c, uint32_t id)
{
    ir_inst i = c->from->inst.data[id];
    const ir_op_info *info = &ir_op_table[i.op];
    if (i.op == IR_NOP || info->effect == IR_EFFECT_FLOAT || i.op == IR_RESULT || i.op == IR_STATE)
        return; /* on demand, or with their CALL or LOOP */
    if (info->arity) {
        ir_ref none = {0};
        c->map[id] =
            ir_value_op(c->to, (ir_op)i.op, ir_copied(c, i.a), info->arity > 1 ? ir_copied(c, i.b) : none,
                        info->arity > 2 ? ir_copied(c, i.c) : none);
        return;
    }
    switch (i.op) {
    case IR_IF:
        c->map[id] = ir_if(c->to, ir_copied(c, i.a));
        break;
    case IR_ELSE:
        ir_else(c->to);
        break;
    case IR_ENDIF:
        ir_endif(c->to);
        break;
    case IR_PHI:
        c->map[id] = ir_phi(c->to, c->map[i.c], ir_copied(c, i.a), ir_copied(c, i.b));
        break;
    case IR_LOOP:
        copy_loop_edge(c, id, true);
        break;
    case IR_WHILE:
        ir_while(c->to, ir_copied(c, i.a));
        break;
    case IR_ENDLOOP:
        copy_loop_edge(c, i.a, false);
        break;
    case IR_CALL:
    case IR_RAY_CLOSEST:
    case IR_RAY_ANY:
        copy_call(c, id, i);
        break;
    default:
        c->map[id] = copy_memory(c, i);
        break;
    }
}

void ir_copy_range(ir_copier *c, uint32_t first, uint32_t last)
{
    BL_ASSERT(first <= last && last <= c->from->inst.count, "instructions %u to %u of \"%s\" into \"%s\"",
              first, last, c->from->name, c->to->name);
    for (uint32_t id = first; id < last; id++) {
        if (c->to->module->error.code != BL_OK)
            return;
        if (c->live && !c->live[id])
            continue;
        bool before = c->keep_suspended && ir_suspend(c->to, c->from->inst.data[id].flags & IR_SUSPENDED);
        if (!c->hook || !c->hook(c, id, c->from->inst.data[id]))
            ir_copy_inst(c, id);
        if (c->keep_suspended)
            ir_suspend(c->to, before);
    }
}

void ir_inline(ir_func *f, const ir_func *callee, const ir_ref *args, ir_ref *results)
{
    ir_ref *map = memory_need_zeroed(callee->inst.count, sizeof *map);
    BL_ASSERT(callee->finished && callee->module == f->module, "\"%s\" is not to be inlined into \"%s\"",
              callee->name, f->name);
    for (uint32_t k = 1; k < callee->inst.count; k++)
        if (callee->inst.data[k].op == IR_PARAM)
            map[k] = args[callee->inst.data[k].a];
    ir_copier c = {.from = callee, .to = f, .map = map};
    ir_copy_range(&c, 1, callee->inst.count);
    for (uint32_t k = 0; k < callee->results.count; k++)
        results[k] = ir_copied(&c, callee->results.data[k].id);
    memory_free(map);
}

void ir_each_operand(const ir_func *f, ir_inst i, void (*visit)(void *user, uint32_t ref), void *user)
{
    const ir_op_info *info = &ir_op_table[i.op];
    const uint32_t operand[3] = {i.a, i.b, i.c};
    for (unsigned k = 0; k < 3; k++)
        if (info->kind[k] == IR_KIND_REF && operand[k])
            visit(user, operand[k]);
    if (i.op == IR_ATOMIC_CAS) {
        visit(user, f->pool.data[i.c]);
        visit(user, f->pool.data[i.c + 1]);
    } else if (ir_is_call(i.op)) {
        ir_operands o = ir_call_operands(f, i);
        for (uint32_t k = 0; k < o.arg_count; k++)
            visit(user, o.args[k]);
    }
}

typedef struct every {
    bool (*holds)(const void *user, uint32_t ref);
    const void *user;
    bool all;
} every;

static void ask(void *user, uint32_t ref)
{
    every *e = user;
    e->all = e->all && e->holds(e->user, ref);
}

bool ir_every_operand(const ir_func *f, ir_inst inst, bool (*holds)(const void *user, uint32_t ref),
                      const void *user)
{
    every e = {.holds = holds, .user = user, .all = true};
    ir_each_operand(f, inst, ask, &e);
    return e.all;
}
