/* SPDX-License-Identifier: BSD-3-Clause
 * A value that several targets of a call compute from equal arguments is computed once, by the caller, and
 * passed. CPU devices run the bodies of all targets for every group of lanes, so it cost them once per
 * target; and it need not be compiled as often. Records of one layout, half vectors and angles of different
 * materials are such values.
 *
 * Values of all functions of a group (groups.c) are numbered by op and operands, down to parameters; a number
 * that two functions know at their top level leaves them. Its operands are then known to the same two, so
 * they leave too, and only values that remaining code reads become parameters.
 *
 * The caller computes a value also for selectors whose target does not: no harm, except by reads out of range
 * and integer division by zero. Such a read is of word 0 then; such a division stays unless all targets do
 * it. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

enum {
    MAX_GUARDED = 32
}; /* members of a group and targets of its calls, where reads of some targets only may leave */

typedef struct value {
    ir_inst key;        /* references: numbers */
    uint32_t count;     /* functions that compute it */
    uint32_t last;      /* the last one of them + 1 */
    uint32_t members;   /* bit k: member k of the group does */
    bool leaf, leaves;  /* a parameter, constant and the like; or: becomes the caller's */
    bool read;          /* by what stays */
    uint32_t parameter; /* of a value that leaves and is read: its place behind the group's parameters + 1 */
} value;

typedef struct group {
    ARRAY(value) values; /* value 0: none */
    uint32_t *slots, slot_count;
    uint32_t size;   /* functions */
    uint32_t passed; /* new parameters */
    bool unguarded;  /* too large for MAX_GUARDED */
} group;

typedef struct common {
    const ir_module *m;
    opt_groups groups;
    group *group;      /* per function: used at the leader of its group */
    uint32_t *member;  /* per function: which of its group */
    uint32_t **number; /* per function and instruction: its value, 0: none */
    ir_ref *passed;    /* the new parameters of the function that is being rebuilt */
} common;

static group *group_of(const common *c, const ir_func *f) { return &c->group[c->groups.leader[f->index]]; }

/* Rays, and callers outside of the module, expect the signature as it is. */
static bool may_change(const common *c, const ir_func *f)
{
    return c->groups.reached[f->index] == OPT_CALLED;
}

/* ---- numbering ---- */

static uint32_t hash_key(ir_inst key)
{
    uint32_t h = key.op * 0x9E3779B1u ^ key.type * 0x85EBCA77u;
    h = (h ^ key.a) * 0xC2B2AE3Du;
    h = (h ^ h >> 15 ^ key.b) * 0x27D4EB2Fu;
    h = (h ^ h >> 13 ^ key.c) * 0x165667B1u;
    return h ^ h >> 16;
}

static uint32_t *find_slot(const group *g, ir_inst key)
{
    uint32_t at = hash_key(key) & (g->slot_count - 1);
    for (; g->slots[at]; at = (at + 1) & (g->slot_count - 1)) {
        ir_inst other = g->values.data[g->slots[at]].key;
        if (other.op == key.op && other.type == key.type && other.a == key.a && other.b == key.b &&
            other.c == key.c)
            break;
    }
    return &g->slots[at];
}

static void grow_table(group *g)
{
    memory_free(g->slots);
    g->slot_count = g->slot_count ? 2 * g->slot_count : 256;
    g->slots = memory_need_zeroed(g->slot_count, sizeof *g->slots);
    for (uint32_t k = 1; k < g->values.count; k++)
        *find_slot(g, g->values.data[k].key) = k;
}

/* The number of what function f computes as `key`. */
static uint32_t number_key(const common *c, const ir_func *f, ir_inst key)
{
    group *g = group_of(c, f);
    if (2 * (g->values.count + 1) > g->slot_count)
        grow_table(g);
    uint32_t *slot = find_slot(g, key);
    if (!*slot) {
        *slot = g->values.count;
        array_push(&g->values, ((value){.key = key, .leaf = ir_op_table[key.op].effect == IR_EFFECT_FLOAT}));
    }
    value *v = &g->values.data[*slot];
    if (v->last != f->index + 1) {
        v->count++;
        v->last = f->index + 1;
        v->members |= 1u << (c->member[f->index] % MAX_GUARDED);
    }
    return *slot;
}

static uint32_t number_of(const common *c, const ir_func *f, uint32_t id)
{
    const uint32_t *number = c->number[f->index];
    ir_inst key = f->inst.data[id];
    unsigned arity = ir_op_table[key.op].arity;
    key.flags = 0;
    if (ir_op_table[key.op].effect == IR_EFFECT_FLOAT)
        return number_key(c, f, key);
    if (f->scope.data[id] || (arity == 0 && !opt_reads_constant(f, key)))
        return 0;
    key.a = number[key.a];
    key.b = arity > 1 ? number[key.b] : key.b;
    key.c = arity > 2 ? number[key.c] : key.c;
    if (!key.a || (arity > 1 && !key.b) || (arity > 2 && !key.c))
        return 0;
    if (ir_op_table[key.op].commutes && key.a > key.b) {
        uint32_t a = key.a;
        key.a = key.b, key.b = a;
    }
    return number_key(c, f, key);
}

static void number_functions(common *c)
{
    const ir_module *m = c->m;
    for (uint32_t k = 0; k < m->functions.count; k++)
        if (may_change(c, m->functions.data[k]))
            c->member[k] = group_of(c, m->functions.data[k])->size++;
    for (uint32_t k = 0; k < m->functions.count; k++) {
        const ir_func *f = m->functions.data[k];
        group *g = group_of(c, f);
        if (!may_change(c, f) || g->size < 2)
            continue;
        if (g->values.count == 0)
            array_push(&g->values, (value){0});
        c->number[k] = memory_need_zeroed(f->inst.count, sizeof **c->number);
        for (uint32_t id = 1; id < f->inst.count; id++)
            c->number[k][id] = number_of(c, f, id);
    }
}

/* ---- what leaves ---- */

static void find_large_calls(common *c)
{
    for (uint32_t k = 0; k < c->m->functions.count; k++) {
        const ir_func *f = c->m->functions.data[k];
        for (uint32_t id = 1; id < f->inst.count; id++) {
            if (f->inst.data[id].op != IR_CALL)
                continue;
            ir_operands o = ir_call_operands(f, f->inst.data[id]);
            group *g = group_of(c, c->m->functions.data[o.targets[0]]);
            g->unguarded |= o.target_count > MAX_GUARDED || g->size > MAX_GUARDED;
        }
    }
}

static bool is_safe(const group *g, const value *v)
{
    if (v->count == g->size)
        return true;
    if (v->key.op == IR_LOAD)
        return !g->unguarded;
    return (v->key.op != IR_DIV && v->key.op != IR_MOD) || v->key.type == IR_F32;
}

static bool comes_from_leaving(const group *g, ir_inst key)
{
    const uint32_t operand[3] = {key.a, key.b, key.c};
    unsigned count = key.op == IR_LOAD ? 1 : ir_op_table[key.op].arity;
    for (unsigned k = 0; k < count; k++)
        if (!g->values.data[operand[k]].leaf && !g->values.data[operand[k]].leaves)
            return false;
    return true;
}

static void choose(group *g)
{
    for (uint32_t k = 1; k < g->values.count; k++) { /* operands first */
        value *v = &g->values.data[k];
        v->leaves = !v->leaf && v->count > 1 && is_safe(g, v) && comes_from_leaving(g, v->key);
    }
}

typedef struct reader {
    group *g;
    const uint32_t *number;
} reader;

static void mark_read(void *user, uint32_t ref)
{
    reader *r = user;
    r->g->values.data[r->number[ref]].read = true;
}

static void find_read(common *c)
{
    for (uint32_t k = 0; k < c->m->functions.count; k++) {
        const ir_func *f = c->m->functions.data[k];
        if (!c->number[k])
            continue;
        reader r = {.g = group_of(c, f), .number = c->number[k]};
        for (uint32_t id = 1; id < f->inst.count; id++)
            if (!r.g->values.data[r.number[id]].leaves)
                ir_each_operand(f, f->inst.data[id], mark_read, &r);
        for (uint32_t i = 0; i < f->results.count; i++)
            mark_read(&r, f->results.data[i].id);
    }
}

static void choose_parameters(group *g)
{
    for (uint32_t k = 1; k < g->values.count; k++)
        if (g->values.data[k].leaves && g->values.data[k].read)
            g->values.data[k].parameter = ++g->passed;
}

/* ---- the caller ---- */

/* Is the target one of those that compute v? None: it always is. */
static ir_ref guard_of(ir_copier *c, const common *k, const group *g, const value *v, ir_inst call)
{
    ir_operands o = ir_call_operands(c->from, call);
    if (v->count == g->size)
        return (ir_ref){0};
    uint32_t positions = 0;
    for (uint32_t t = 0; t < o.target_count; t++)
        positions |= (v->members >> k->member[o.targets[t]] & 1) << t;
    ir_ref bit = ir_shr(c->to, ir_u32(c->to, positions), ir_copied(c, call.a));
    ir_ref one = ir_and(c->to, bit, ir_u32(c->to, 1));
    return ir_ne(c->to, one, ir_u32(c->to, 0));
}

static ir_ref emit_value(ir_copier *c, ir_inst key, const ir_ref *made, const uint32_t *args, ir_ref guard)
{
    switch (key.op) {
    case IR_PARAM:
        return ir_copied(c, args[key.a]);
    case IR_CONST:
        return ir_const(c->to, (ir_type)key.type, key.a);
    case IR_UNIFORM:
        return ir_uniform(c->to, (ir_type)key.type, key.a);
    case IR_GLOBAL_ID:
        return ir_global_id(c->to);
    case IR_LOAD: {
        ir_ref index = guard.id ? ir_select(c->to, guard, made[key.a], ir_u32(c->to, 0)) : made[key.a];
        return ir_load(c->to, (ir_type)key.type, key.b, index);
    }
    default: {
        unsigned arity = ir_op_table[key.op].arity;
        ir_ref none = {0};
        return ir_value_op(c->to, (ir_op)key.op, made[key.a], arity > 1 ? made[key.b] : none,
                           arity > 2 ? made[key.c] : none);
    }
    }
}

/* All values that leave, and what they are made of; those to pass go behind the arguments. */
static void emit_values(ir_copier *c, const common *k, const group *g, ir_inst call, ir_ref *args)
{
    ir_operands o = ir_call_operands(c->from, call);
    ir_ref *made = memory_need_zeroed(g->values.count + 1, sizeof *made);
    for (uint32_t n = 1; n < g->values.count; n++) {
        const value *v = &g->values.data[n];
        if (!v->leaves && !v->leaf)
            continue;
        ir_ref guard = v->key.op == IR_LOAD ? guard_of(c, k, g, v, call) : (ir_ref){0};
        made[n] = emit_value(c, v->key, made, o.args, guard);
        if (v->parameter)
            args[o.arg_count + v->parameter - 1] = made[n];
    }
    memory_free(made);
}

static bool copy_call(ir_copier *c, uint32_t id, ir_inst call)
{
    const opt_pass *pass = c->user;
    const common *k = pass->user;
    ir_operands o = ir_call_operands(c->from, call);
    const group *g = group_of(k, pass->from->functions.data[o.targets[0]]);
    if (g->passed == 0)
        return false;
    ir_ref *args = memory_need_zeroed(o.arg_count + g->passed, sizeof *args),
           *results = memory_need_zeroed(ir_result_count(c->from, call) + 1, sizeof *results);
    for (uint32_t a = 0; a < o.arg_count; a++)
        args[a] = ir_copied(c, o.args[a]);
    emit_values(c, k, g, call, args);
    opt_emit_call(c, call, args, o.arg_count + g->passed, results);
    opt_replace_results(c, id, results);
    memory_free(args), memory_free(results);
    return true;
}

/* ---- the rebuild ---- */

static uint8_t *keep_rest(const opt_pass *pass, const ir_func *f)
{
    const common *c = pass->user;
    uint8_t *keep = memory_need(f->inst.count);
    for (uint32_t id = 0; id < f->inst.count; id++) {
        const value *v = c->number[f->index] ? &group_of(c, f)->values.data[c->number[f->index][id]] : NULL;
        keep[id] = !v || !v->leaves || v->parameter;
    }
    return keep;
}

static void add_parameters(ir_copier *copier)
{
    const opt_pass *pass = copier->user;
    common *c = pass->user;
    const ir_func *f = copier->from;
    const group *g = group_of(c, f);
    if (!c->number[f->index])
        return;
    for (uint32_t k = 1; k < g->values.count; k++)
        if (g->values.data[k].parameter)
            c->passed[g->values.data[k].parameter - 1] =
                ir_param(copier->to, (ir_type)g->values.data[k].key.type);
}

static bool take_passed(ir_copier *copier, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = copier->user;
    const common *c = pass->user;
    const uint32_t *number = c->number[copier->from->index];
    uint32_t parameter = number ? group_of(c, copier->from)->values.data[number[id]].parameter : 0;
    if (!parameter)
        return inst.op == IR_CALL && copy_call(copier, id, inst);
    copier->map[id] = c->passed[parameter - 1];
    return true;
}

static void free_common(common *c)
{
    for (uint32_t k = 0; k < c->m->functions.count; k++) {
        memory_free(c->number[k]);
        array_free(&c->group[k].values);
        memory_free(c->group[k].slots);
    }
    opt_groups_free(&c->groups);
    memory_free(c->group), memory_free(c->member), memory_free(c->number), memory_free(c->passed);
}

ir_module *opt_call_common(const ir_module *m)
{
    uint32_t count = m->functions.count, most = 0;
    common c = {
        .m = m,
        .groups = opt_group_targets(m),
        .group = memory_need_zeroed(count + 1, sizeof *c.group),
        .member = memory_need_zeroed(count + 1, sizeof *c.member),
        .number = memory_need_zeroed(count + 1, sizeof *c.number),
    };
    number_functions(&c);
    find_large_calls(&c);
    for (uint32_t k = 0; k < count; k++)
        choose(&c.group[k]);
    find_read(&c);
    for (uint32_t k = 0; k < count; k++) {
        choose_parameters(&c.group[k]);
        most = c.group[k].passed > most ? c.group[k].passed : most;
    }
    c.passed = memory_need_zeroed(most + 1, sizeof *c.passed);
    opt_pass pass = {.from = m, .keep = keep_rest, .begin = add_parameters, .hook = take_passed, .user = &c};
    ir_module *result = most ? opt_rebuild(&pass) : NULL;
    free_common(&c);
    return result;
}
