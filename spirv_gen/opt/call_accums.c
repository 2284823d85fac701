/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients leave calls: where several targets of a call end with ACCUMs, they return index and value
 * instead, and the caller adds. Each ACCUM becomes some forty ops when it is lowered (accumulate.c), in every
 * body, and CPU devices run all bodies; so one for each place in the longest list of a target takes the place
 * of one for each of all targets. In an entry function, moreover, it can be summed privately: where sums are
 * private, they leave all calls of the entry, of one target, too (not for devices that share out registers:
 * there it made kernels spill).
 *
 * Only ACCUMs leave behind which their function does nothing that could see the difference: the order of what
 * is added to a word, and the sum that a read finds, stay what they were. A target with fewer of them returns
 * index ~0, to which nothing is added. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef ARRAY(uint32_t) id_list;

typedef struct accums {
    const ir_module *m;
    opt_groups groups;
    uint8_t *writes;  /* of opt_writes */
    id_list *leaving; /* per function: ACCUMs, last one first */
    uint32_t *longest, *total,
        *buffer;   /* per group, at its leader: most that leave a function, all, where they go */
    uint8_t *pays; /* per group, at its leader: in its caller they are summed privately */
} accums;

/* Could it tell whether an ACCUM before it has happened? */
static bool sees_accums(const accums *a, const ir_func *f, ir_inst i)
{
    switch (i.op) {
    case IR_CALL:
        return opt_calls_writer(f, i, a->writes);
    case IR_LOAD:
    case IR_DLOAD:
        return !f->module->buffers.data[i.b].constant;
    case IR_LSTORE:
        return false;
    default:
        return ir_op_table[i.op].effect == IR_EFFECT_WRITE;
    }
}

static void find_leaving(accums *a, const ir_func *f)
{
    uint32_t leader = a->groups.leader[f->index];
    for (uint32_t id = f->inst.count; id-- > 1;) {
        ir_inst i = f->inst.data[id];
        bool leaves =
            i.op == IR_ACCUM && !f->scope.data[id] && (!a->total[leader] || i.b == a->buffer[leader]);
        if (!leaves && sees_accums(a, f, i))
            return;
        if (!leaves)
            continue;
        array_push(&a->leaving[f->index], id);
        a->buffer[leader] = i.b;
        a->total[leader]++;
        if (a->longest[leader] < a->leaving[f->index].count)
            a->longest[leader] = a->leaving[f->index].count;
    }
}

/* How many leave each function of its group; 0: it would not pay, or the signature is not ours to change. */
static uint32_t leaving_group(const accums *a, const ir_func *f)
{
    uint32_t leader = a->groups.leader[f->index];
    return a->pays[leader] || a->total[leader] > a->longest[leader] ? a->longest[leader] : 0;
}

/* Groups that the entry calls. */
static void find_paying(accums *a, const ir_func *entry)
{
    for (uint32_t id = 1; id < entry->inst.count; id++)
        if (entry->inst.data[id].op == IR_CALL)
            a->pays[a->groups.leader[ir_call_operands(entry, entry->inst.data[id]).targets[0]]] = 1;
}

static bool copy_call(ir_copier *c, uint32_t id, ir_inst call)
{
    const opt_pass *pass = c->user;
    const accums *a = pass->user;
    ir_operands o = ir_call_operands(c->from, call);
    const ir_func *target = pass->from->functions.data[o.targets[0]];
    uint32_t count = leaving_group(a, target), own = ir_result_count(c->from, call);
    if (!count)
        return false;
    ir_ref *args = memory_need((o.arg_count + 1) * sizeof *args),
           *results = memory_need_zeroed(own + 2 * (size_t)count, sizeof *results);
    for (uint32_t k = 0; k < o.arg_count; k++)
        args[k] = ir_copied(c, o.args[k]);
    opt_emit_call(c, call, args, o.arg_count, results);
    opt_replace_results(c, id, results);
    for (uint32_t k = 0; k < count; k++)
        ir_accum(c->to, a->buffer[a->groups.leader[target->index]], results[own + 2 * k],
                 results[own + 2 * k + 1]);
    memory_free(args), memory_free(results);
    return true;
}

static bool leave(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    const accums *a = pass->user;
    if (inst.op == IR_CALL)
        return copy_call(c, id, inst);
    if (inst.op != IR_ACCUM || !leaving_group(a, c->from))
        return false;
    const id_list *ids = &a->leaving[c->from->index];
    for (uint32_t k = 0; k < ids->count; k++)
        if (ids->data[k] == id)
            return true;
    return false;
}

static void return_accums(ir_copier *c)
{
    opt_pass *pass = c->user;
    const accums *a = pass->user;
    const id_list *ids = &a->leaving[c->from->index];
    for (uint32_t k = 0; k < leaving_group(a, c->from); k++) {
        ir_inst i = k < ids->count ? c->from->inst.data[ids->data[ids->count - 1 - k]] : (ir_inst){0};
        array_push(&pass->more_results, i.op ? ir_copied(c, i.a) : ir_u32(c->to, ~0u));
        array_push(&pass->more_results, i.op ? ir_copied(c, i.c) : ir_f32(c->to, 0));
    }
}

ir_module *opt_call_accums(const ir_module *m, const opt_options *o)
{
    uint32_t count = m->functions.count;
    bool any = false;
    accums a = {
        .m = m,
        .groups = opt_group_targets(m),
        .writes = opt_writes(m),
        .leaving = memory_need_zeroed(count + 1, sizeof *a.leaving),
        .longest = memory_need_zeroed(count + 1, sizeof *a.longest),
        .total = memory_need_zeroed(count + 1, sizeof *a.total),
        .buffer = memory_need_zeroed(count + 1, sizeof *a.buffer),
        .pays = memory_need_zeroed(count + 1, sizeof *a.pays),
    };
    if (opt_sums_privately(m, o) && !o->live_most) /* what is returned lives until it is added */
        find_paying(&a, m->entry);
    for (uint32_t k = 0; k < count; k++)
        if (a.groups.reached[k] == OPT_CALLED)
            find_leaving(&a, m->functions.data[k]);
    for (uint32_t k = 0; k < count; k++)
        any |= leaving_group(&a, m->functions.data[k]) != 0;
    opt_pass pass = {.from = m, .hook = leave, .end = return_accums, .user = &a};
    ir_module *result = any ? opt_rebuild(&pass) : NULL;
    for (uint32_t k = 0; k < count; k++)
        array_free(&a.leaving[k]);
    opt_groups_free(&a.groups);
    memory_free(a.writes), memory_free(a.leaving), memory_free(a.longest), memory_free(a.total),
        memory_free(a.buffer), memory_free(a.pays);
    return result;
}
