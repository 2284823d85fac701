/* SPDX-License-Identifier: BSD-3-Clause
 * Parameters that no target of a call looks at, and results that no call site reads, disappear together with
 * what computes them, through nested calls and around loops.
 *
 * Functions that one call can reach keep one signature, so they share one answer: a group. Nothing is needed
 * at first; code that is live makes results of what it calls and parameters of its own function needed, which
 * makes more code live, until nothing changes. What the fixed point leaves out can only feed itself.
 * Functions that rays reach, and those that nobody in the module calls, keep everything. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef ARRAY(uint32_t) id_list;

typedef struct needs {
    const ir_module *m;
    opt_groups groups;
    uint8_t **params, **results; /* per function: the flags of its group */
    uint8_t *reached;            /* per function: live code calls it */
    uint8_t *again;              /* per function: more is needed than when it was looked at */
    uint8_t **live;              /* per function: its live code as it was looked at last, or NULL */
    id_list *members, *callers;  /* per leader of a group: its functions; functions that may call these */
    uint8_t *writes;
} needs;

static bool is_ray(ir_inst i) { return i.op == IR_RAY_CLOSEST || i.op == IR_RAY_ANY; }

/* Sets a flag; functions whose live code depends on it are to be looked at again. */
static void need(needs *n, uint8_t *flag, const id_list *by)
{
    for (uint32_t k = 0; !*flag && k < by->count; k++)
        n->again[by->data[k]] = 1;
    *flag = 1;
}

static void need_param(needs *n, uint32_t index, uint32_t k)
{
    need(n, &n->params[index][k], &n->callers[n->groups.leader[index]]);
}

static void need_result(needs *n, uint32_t index, uint32_t k)
{
    need(n, &n->results[index][k], &n->members[n->groups.leader[index]]);
}

static void need_signature(needs *n, uint32_t index)
{
    for (uint32_t k = 0; k < n->m->functions.data[index]->params.count; k++)
        need_param(n, index, k);
    for (uint32_t k = 0; k < n->m->functions.data[index]->results.count; k++)
        need_result(n, index, k);
}

static void add_callers(needs *n, const ir_func *f)
{
    for (uint32_t id = 1; id < f->inst.count; id++) {
        if (f->inst.data[id].op != IR_CALL)
            continue;
        uint32_t target = ir_call_operands(f, f->inst.data[id]).targets[0];
        id_list *callers = &n->callers[n->groups.leader[target]];
        if (callers->count == 0 || callers->data[callers->count - 1] != f->index)
            array_push(callers, f->index);
    }
}

static void make_flags(needs *n)
{
    const ir_module *m = n->m;
    for (uint32_t k = 0; k < m->functions.count; k++) {
        if (n->groups.leader[k] != k)
            continue;
        n->params[k] = memory_need_zeroed(m->functions.data[k]->params.count + 1, 1);
        n->results[k] = memory_need_zeroed(m->functions.data[k]->results.count + 1, 1);
    }
    for (uint32_t k = 0; k < m->functions.count; k++) {
        n->params[k] = n->params[n->groups.leader[k]], n->results[k] = n->results[n->groups.leader[k]];
        n->again[k] = 1;
        array_push(&n->members[n->groups.leader[k]], k);
        add_callers(n, m->functions.data[k]);
    }
}

static void free_flags(needs *n)
{
    for (uint32_t k = 0; k < n->m->functions.count; k++) {
        if (n->groups.leader[k] == k)
            memory_free(n->params[k]), memory_free(n->results[k]);
        memory_free(n->live[k]);
        array_free(&n->members[k]), array_free(&n->callers[k]);
    }
}

/* The results of f that somebody reads. */
static uint32_t roots_of(const needs *n, const ir_func *f, ir_ref *roots)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < f->results.count; k++)
        if (n->results[f->index][k])
            roots[count++] = f->results.data[k];
    return count;
}

static uint8_t *live_code(const needs *n, const ir_func *f)
{
    ir_ref *roots = memory_need((f->results.count + 1) * sizeof *roots);
    uint8_t *live = opt_live(f, roots, roots_of(n, f, roots), n->writes, n->params);
    memory_free(roots);
    return live;
}

static void need_targets(needs *n, const ir_func *f, ir_inst call)
{
    ir_operands o = ir_call_operands(f, call);
    for (uint32_t t = 0; t < o.target_count; t++) {
        n->reached[o.targets[t]] = 1;
        if (is_ray(call))
            need_signature(n, o.targets[t]);
    }
}

static void look_at(needs *n, const ir_func *f)
{
    uint8_t *live = live_code(n, f);
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_inst inst = f->inst.data[id];
        if (!live[id])
            continue;
        if (inst.op == IR_PARAM)
            need_param(n, f->index, inst.a);
        if (inst.op == IR_RESULT && f->inst.data[inst.a].op == IR_CALL)
            need_result(n, ir_call_operands(f, f->inst.data[inst.a]).targets[0], inst.b);
        if (inst.op == IR_CALL || is_ray(inst))
            need_targets(n, f, inst);
    }
    memory_free(n->live[f->index]);
    n->live[f->index] = live;
}

static void find_needs(needs *n)
{
    const ir_module *m = n->m;
    for (uint32_t k = 0; k < m->functions.count; k++)
        if (m->entry ? m->entry->index == k : !n->groups.reached[k]) {
            n->reached[k] = 1;
            need_signature(n, k);
        }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = m->functions.count; k-- > 0;) {
            if (!n->reached[k] || !n->again[k])
                continue;
            n->again[k] = 0, changed = true;
            look_at(n, m->functions.data[k]);
        }
    }
}

static uint8_t *keep_needed(const opt_pass *pass, const ir_func *f)
{
    needs *n = pass->user;
    uint8_t *live = n->live[f->index];
    n->live[f->index] = NULL; /* the caller's now */
    return live ? live : live_code(n, f);
}

/* The call with the arguments and results that are left. */
static bool copy_call(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    if (inst.op != IR_CALL)
        return false;
    ir_operands o = ir_call_operands(c->from, inst);
    const uint8_t *param = pass->params[o.targets[0]], *result = pass->results[o.targets[0]];
    uint32_t arg_count = 0, result_count = ir_result_count(c->from, inst), kept = 0;
    ir_ref *args = memory_need((o.arg_count + 1) * sizeof *args),
           *results = memory_need_zeroed(result_count + 1, sizeof *results);
    for (uint32_t k = 0; k < o.arg_count; k++)
        if (param[k])
            args[arg_count++] = ir_copied(c, o.args[k]);
    for (uint32_t k = 0; k < result_count; k++)
        kept += result[k];
    opt_emit_call(c, inst, args, arg_count, results);
    for (uint32_t k = result_count, left = kept; k-- > 0;) /* to where they stood, from the last one on */
        results[k] = result[k] ? results[--left] : (ir_ref){0};
    opt_replace_results(c, id, results);
    memory_free(args), memory_free(results);
    return true;
}

ir_module *opt_call_unused(const ir_module *m)
{
    uint32_t count = m->functions.count;
    needs n = {
        .m = m,
        .groups = opt_group_targets(m),
        .params = memory_need_zeroed(count + 1, sizeof *n.params),
        .results = memory_need_zeroed(count + 1, sizeof *n.results),
        .reached = memory_need_zeroed(count + 1, 1),
        .again = memory_need_zeroed(count + 1, 1),
        .live = memory_need_zeroed(count + 1, sizeof *n.live),
        .members = memory_need_zeroed(count + 1, sizeof *n.members),
        .callers = memory_need_zeroed(count + 1, sizeof *n.callers),
        .writes = opt_writes(m),
    };
    make_flags(&n);
    find_needs(&n);
    opt_pass pass = {
        .from = m,
        .keep = keep_needed,
        .hook = copy_call,
        .params = n.params,
        .results = n.results,
        .user = &n,
    };
    ir_module *result = opt_rebuild(&pass);
    free_flags(&n);
    opt_groups_free(&n.groups);
    memory_free(n.params), memory_free(n.results), memory_free(n.reached), memory_free(n.writes);
    memory_free(n.again), memory_free(n.live), memory_free(n.members), memory_free(n.callers);
    return result;
}
