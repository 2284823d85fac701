/* SPDX-License-Identifier: BSD-3-Clause
 * What every call of a function passes moves into it: a parameter that is the same constant or uniform at
 * each call site becomes that value in the body, and one that always equals another parameter becomes that
 * one. call_unused.c then drops the parameter and the argument.
 *
 * Functions are looked at before what they call, so a constant goes down through nested calls at once. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef struct parameter {
    ir_inst
        value; /* CONST, UNIFORM or GLOBAL_ID at every site so far; NOP: no site yet; PARAM: they differ */
    uint32_t equal; /* the first parameter that has been the same reference at every site */
} parameter;

typedef struct arguments {
    const ir_module *m;
    parameter **known; /* per function, one per parameter */
    uint32_t *order;   /* functions, callees first */
    uint8_t *visited, *called;
    uint32_t count;
} arguments;

static bool is_call(ir_inst i) { return i.op == IR_CALL || i.op == IR_RAY_CLOSEST || i.op == IR_RAY_ANY; }

static void visit(arguments *a, uint32_t index)
{
    const ir_func *f = a->m->functions.data[index];
    if (a->visited[index])
        return;
    a->visited[index] = 1;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_operands o = is_call(f->inst.data[id]) ? ir_call_operands(f, f->inst.data[id]) : (ir_operands){0};
        for (uint32_t k = 0; k < o.target_count; k++)
            visit(a, o.targets[k]);
    }
    a->order[a->count++] = index;
}

static const ir_inst varies = {.op = IR_PARAM};

/* The value of a reference of f where it is the same in any function. */
static ir_inst value_of(const arguments *a, const ir_func *f, uint32_t ref)
{
    ir_inst i = f->inst.data[ref];
    if (i.op == IR_PARAM)
        return a->known[f->index][i.a].value;
    return i.op == IR_CONST || i.op == IR_UNIFORM || i.op == IR_GLOBAL_ID ? i : varies;
}

static void meet_value(parameter *p, ir_inst value)
{
    if (p->value.op == IR_NOP)
        p->value = value;
    else if (p->value.op != value.op || p->value.type != value.type || p->value.a != value.a)
        p->value = varies;
}

/* Parameters stay equal if they were so at the sites before and are at this one. */
static void meet_equal(parameter *p, uint32_t count, const uint32_t *args, bool first)
{
    for (uint32_t k = count; k-- > 0;) {
        uint32_t j = 0;
        while (j < k && (args[j] != args[k] || (!first && p[j].equal != p[k].equal)))
            j++;
        p[k].equal = j;
    }
}

/* Rays and callers outside the module may pass anything, so no argument of the function is known. */
static void forget(const arguments *a, uint32_t index)
{
    for (uint32_t k = 0; k < a->m->functions.data[index]->params.count; k++)
        a->known[index][k] = (parameter){.value = varies, .equal = k};
}

static void meet_call(arguments *a, const ir_func *f, ir_inst inst)
{
    ir_operands o = ir_call_operands(f, inst);
    for (uint32_t t = 0; t < o.target_count; t++) {
        uint32_t target = o.targets[t];
        if (inst.op == IR_CALL) {
            meet_equal(a->known[target], o.arg_count, o.args, !a->called[target]);
            for (uint32_t k = 0; k < o.arg_count; k++)
                meet_value(&a->known[target][k], value_of(a, f, o.args[k]));
        } else {
            forget(a, target);
        }
        a->called[target] = 1;
    }
}

static void find_known(arguments *a)
{
    for (uint32_t k = a->count; k-- > 0;) {
        const ir_func *f = a->m->functions.data[a->order[k]];
        if (!a->called[f->index])
            forget(a, f->index);
        for (uint32_t id = 1; id < f->inst.count; id++)
            if (is_call(f->inst.data[id]))
                meet_call(a, f, f->inst.data[id]);
    }
}

static bool knows_any(const arguments *a)
{
    for (uint32_t n = 0; n < a->count; n++)
        for (uint32_t k = 0; k < a->m->functions.data[a->order[n]]->params.count; k++) {
            parameter p = a->known[a->order[n]][k];
            if (p.value.op != IR_PARAM || p.equal != k)
                return true;
        }
    return false;
}

static ir_ref new_parameter(const ir_func *f, uint32_t index)
{
    for (uint32_t id = 1; id < f->inst.count; id++)
        if (f->inst.data[id].op == IR_PARAM && f->inst.data[id].a == index)
            return (ir_ref){id};
    return (ir_ref){0};
}

static bool put_known(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    const arguments *a = pass->user;
    if (inst.op != IR_PARAM)
        return false;
    parameter p = a->known[c->from->index][inst.a];
    switch (p.value.op) {
    case IR_CONST:
        c->map[id] = ir_const(c->to, (ir_type)inst.type, p.value.a);
        break;
    case IR_UNIFORM:
        c->map[id] = ir_uniform(c->to, (ir_type)inst.type, p.value.a);
        break;
    case IR_GLOBAL_ID:
        c->map[id] = ir_global_id(c->to);
        break;
    default:
        c->map[id] = new_parameter(c->to, p.equal);
        break;
    }
    return true;
}

ir_module *opt_call_arguments(const ir_module *m)
{
    uint32_t count = m->functions.count;
    arguments a = {
        .m = m,
        .known = memory_need_zeroed(count + 1, sizeof *a.known),
        .order = memory_need_zeroed(count + 1, sizeof *a.order),
        .visited = memory_need_zeroed(count + 1, 1),
        .called = memory_need_zeroed(count + 1, 1),
    };
    for (uint32_t k = 0; k < count; k++) {
        a.known[k] = memory_need_zeroed(m->functions.data[k]->params.count + 1, sizeof **a.known);
    }
    for (uint32_t k = 0; k < count; k++)
        if (!m->entry || m->entry->index == k)
            visit(&a, k);
    find_known(&a);
    opt_pass pass = {.from = m, .hook = put_known, .user = &a};
    ir_module *result = knows_any(&a) ? opt_rebuild(&pass) : NULL;
    for (uint32_t k = 0; k < count; k++)
        memory_free(a.known[k]);
    memory_free(a.known), memory_free(a.order), memory_free(a.visited), memory_free(a.called);
    return result;
}
