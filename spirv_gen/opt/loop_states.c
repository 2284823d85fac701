/* SPDX-License-Identifier: BSD-3-Clause
 * Loop states that have one value in every iteration leave their loop: the initial value takes their place,
 * in the body and behind the loop, and the builder folds with it.
 *
 * All states are taken to be such at first. With that, values are propagated once through the function
 * (constants of integers and conditions, branches that are known, choices between equal values), and states
 * whose next value turns out to be another one than their initial value are given up; until none is. Being
 * optimistic matters: a flag that is only set where the flag is set stays constant.
 *
 * A reference stands for the value that it has where it is visible, so equal references in one iteration are
 * equal values; a state that varies is only equal to itself. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>
#include <string.h>

typedef struct known {
    uint32_t ref;  /* the instruction whose value it is; 0: a constant */
    uint32_t bits; /* of the constant */
} known;

typedef struct states {
    const ir_func *f;
    known *value;
    uint8_t *fixed; /* per STATE: taken to keep its initial value */
} states;

static bool same(known x, known y) { return x.ref == y.ref && x.bits == y.bits; }
static bool is_const(known x, uint32_t bits) { return x.ref == 0 && x.bits == bits; }

static uint32_t bits_of(ir_type type, ir_value v) { return type == IR_BOOL ? v.b : v.u; }

static ir_value value_of(ir_type type, known k)
{
    return type == IR_BOOL ? (ir_value){.b = k.bits != 0} : (ir_value){.u = k.bits};
}

/* An op on integers and conditions, all constant. */
static known fold(const states *s, uint32_t id, const known operand[3])
{
    ir_inst i = s->f->inst.data[id];
    const uint32_t ref[3] = {i.a, i.b, i.c};
    ir_value v[3] = {{0}};
    if (i.type == IR_F32)
        return (known){.ref = id};
    for (unsigned k = 0; k < ir_op_table[i.op].arity; k++) {
        ir_type type = (ir_type)s->f->inst.data[ref[k]].type;
        if (type == IR_F32 || operand[k].ref)
            return (known){.ref = id};
        v[k] = value_of(type, operand[k]);
    }
    ir_type deciding = (ir_type)s->f->inst.data[i.op == IR_SELECT ? i.b : i.a].type;
    return (known){.bits =
                       bits_of((ir_type)i.type, ir_eval_op((ir_op)i.op, deciding, false, v[0], v[1], v[2]))};
}

static known choose(known condition, known yes, known no, uint32_t id)
{
    if (condition.ref == 0)
        return condition.bits ? yes : no;
    return same(yes, no) ? yes : (known){.ref = id};
}

static known value_op(const states *s, uint32_t id)
{
    ir_inst i = s->f->inst.data[id];
    known a = s->value[i.a], b = ir_op_table[i.op].arity > 1 ? s->value[i.b] : (known){0},
          c = ir_op_table[i.op].arity > 2 ? s->value[i.c] : (known){0};
    if (i.op == IR_SELECT)
        return choose(a, b, c, id);
    if (i.type == IR_BOOL && (i.op == IR_AND || i.op == IR_OR)) {
        uint32_t decides = i.op == IR_OR;
        if (is_const(a, decides) || is_const(b, decides))
            return (known){.bits = decides};
        if (is_const(a, !decides) || is_const(b, !decides))
            return is_const(a, !decides) ? b : a;
    }
    return fold(s, id, (known[3]){a, b, c});
}

static void propagate(states *s)
{
    for (uint32_t id = 1; id < s->f->inst.count; id++) {
        ir_inst i = s->f->inst.data[id];
        if (i.op == IR_CONST)
            s->value[id] = (known){.bits = i.a};
        else if (i.op == IR_STATE && s->fixed[id])
            s->value[id] = s->value[i.a];
        else if (i.op == IR_PHI)
            s->value[id] = choose(s->value[s->f->inst.data[i.c].a], s->value[i.a], s->value[i.b], id);
        else if (ir_op_table[i.op].arity)
            s->value[id] = value_op(s, id);
        else
            s->value[id] = (known){.ref = id};
    }
}

static uint8_t *find_fixed(const ir_func *f)
{
    uint32_t count = f->inst.count;
    states s = {
        .f = f, .value = memory_need_zeroed(count, sizeof *s.value), .fixed = memory_need_zeroed(count, 1)};
    bool changed = false;
    for (uint32_t id = 1; id < count; id++)
        changed |= s.fixed[id] = f->inst.data[id].op == IR_STATE;
    while (changed) {
        changed = false;
        propagate(&s);
        for (uint32_t id = 1; id < count; id++)
            if (s.fixed[id] && !same(s.value[f->inst.data[id].a], s.value[f->inst.data[id].b])) {
                s.fixed[id] = 0;
                changed = true;
            }
    }
    memory_free(s.value);
    return s.fixed;
}

static uint8_t *keep_varying(const opt_pass *pass, const ir_func *f)
{
    uint8_t *const *varying = pass->user;
    uint8_t *keep = memory_need(f->inst.count);
    memcpy(keep, varying[f->index], f->inst.count);
    return keep;
}

static bool put_initial(ir_copier *c, uint32_t id, ir_inst inst)
{
    for (uint32_t k = id + 1; inst.op == IR_LOOP && k < c->from->inst.count; k++) {
        ir_inst state = c->from->inst.data[k];
        if (state.op != IR_STATE || state.c != id)
            break;
        if (!c->live[k])
            c->map[k] = ir_copied(c, state.a);
    }
    return false;
}

ir_module *opt_loop_states(const ir_module *m)
{
    uint8_t **varying = memory_need_zeroed(m->functions.count + 1, sizeof *varying);
    bool any_fixed = false;
    for (uint32_t k = 0; k < m->functions.count; k++) {
        varying[k] = find_fixed(m->functions.data[k]);
        for (uint32_t id = 0; id < m->functions.data[k]->inst.count; id++) {
            any_fixed |= varying[k][id] != 0;
            varying[k][id] = !varying[k][id];
        }
    }
    opt_pass pass = {.from = m, .keep = keep_varying, .hook = put_initial, .user = varying};
    ir_module *result = any_fixed ? opt_rebuild(&pass) : NULL;
    for (uint32_t k = 0; k < m->functions.count; k++)
        memory_free(varying[k]);
    memory_free(varying);
    return result;
}
