/* SPDX-License-Identifier: BSD-3-Clause
 * The reverse of a loop that only adds to the states which have adjoints: s' = s + term, where no term
 * depends on such a state (but for detached uses). The adjoint of s is then the same in every trip, and so is
 * that of every term: a second loop computes the terms again, in the same order, and sweeps them with it.
 * What arrives at values from outside is summed in states of that loop.
 *
 * That a loop is one is seen by sweeping its body: the adjoint that comes back to each state must be, as a
 * reference, the one that was sent. Any other loop is an error: its reverse would need the values of all
 * trips. */
#include "spirv_gen/ad/sweep.h"

#include <stdlib.h>

typedef struct sum_loop {
    ad_sweep *s;
    uint32_t loop, first, test, end; /* LOOP, first instruction behind its STATEs, WHILE, ENDLOOP */
    uint32_t live_count;             /* STATEs that are repeated */
    ir_ref *seeds, *before;          /* per STATE: its adjoint; its value after the first loop */
    uint8_t *seen;                   /* per instruction: in outside */
    ARRAY(uint32_t) outside;         /* active values from outside that the body uses */
    ir_ref *values;                  /* of the second loop: live STATEs, then sums of adjoints of outside */
} sum_loop;

static ir_inst state_at(const sum_loop *l, uint32_t k) { return l->s->from->inst.data[l->loop + 1 + k]; }
static uint32_t state_count(const sum_loop *l) { return l->first - l->loop - 1; }

static void note_outside(void *user, uint32_t id)
{
    sum_loop *l = user;
    bool array = l->s->from->inst.data[id].op == IR_LOCAL;
    bool floats = ir_op_table[l->s->from->inst.data[id].op].effect == IR_EFFECT_FLOAT;
    if (array || !l->s->active[id] || l->seen[id] || (id > l->loop && !floats))
        return;
    l->seen[id] = 1;
    array_push(&l->outside, id);
}

/* Takes the adjoints off the STATEs; false: there are none. */
static bool take_seeds(sum_loop *l)
{
    bool any = false;
    for (uint32_t k = 0; k < state_count(l); k++) {
        uint32_t id = l->loop + 1 + k;
        if (l->s->stop[id])
            continue;
        l->seeds[k] = l->s->adjoint[id];
        l->s->adjoint[id] = (ir_ref){0};
        any |= !ir_is_none(l->seeds[k]);
    }
    return any;
}

static ir_ref open_loop(sum_loop *l)
{
    ad_sweep *s = l->s;
    uint32_t count = 0;
    for (uint32_t k = 0; k < state_count(l); k++)
        if (s->live[l->loop + 1 + k])
            l->values[count++] = ir_copied(&s->copy, state_at(l, k).a);
    l->live_count = count;
    for (uint32_t k = 0; k < l->outside.count; k++)
        l->values[count++] = ir_f32(s->f, 0);
    ir_ref opened = ir_loop(s->f, l->values, count);
    for (uint32_t k = 0, next = 0; k < state_count(l); k++) {
        l->before[k] = s->copy.map[l->loop + 1 + k];
        if (s->live[l->loop + 1 + k])
            s->copy.map[l->loop + 1 + k] = l->values[next++];
    }
    return opened;
}

static void sweep_body(sum_loop *l)
{
    ad_sweep *s = l->s;
    ad_recompute(s, l->first, l->test);
    ir_while(s->f, ir_copied(&s->copy, s->from->inst.data[l->test].a));
    ad_recompute(s, l->test + 1, l->end);
    for (uint32_t k = 0; k < state_count(l); k++)
        ad_add(s, state_at(l, k).b, l->seeds[k]);
    ad_open_arrays(s, l->first, l->end);
    ad_run(s, l->first, l->end);
    for (uint32_t k = 0; k < state_count(l); k++) {
        uint32_t id = l->loop + 1 + k;
        if (!ir_same(s->adjoint[id], l->seeds[k]))
            ir_fail(s->f,
                    "a derivative arrives at the state %%%u of a loop in \"%s\" that does more than add to "
                    "it: detach the state where "
                    "it is used, differentiate the loop by replaying it, unroll it (opt_unroll), or use "
                    "forward mode",
                    id, s->from->name);
        s->adjoint[id] = (ir_ref){0};
    }
}

static void close_loop(sum_loop *l, ir_ref opened, const ad_touch_list *left)
{
    ad_sweep *s = l->s;
    uint32_t count = 0, total = l->live_count + l->outside.count;
    ir_ref *next = memory_need((total + 1) * sizeof *next);
    for (uint32_t k = 0; k < state_count(l); k++)
        if (s->live[l->loop + 1 + k])
            next[count++] = ir_copied(&s->copy, state_at(l, k).b);
    for (uint32_t k = 0; k < l->outside.count; k++, count++) {
        next[count] = l->values[count];
        for (uint32_t i = 0; i < left->count; i++)
            if (left->data[i].id == l->outside.data[k] && !ir_is_none(left->data[i].adjoint))
                next[count] = ir_add(s->f, l->values[count], left->data[i].adjoint);
    }
    ir_endloop(s->f, opened, next, total);
    for (uint32_t k = 0; k < l->outside.count;
         k++) /* those that nothing arrived at are still what they were */
        if (!ir_same(next[l->live_count + k], l->values[l->live_count + k]))
            ad_add(s, l->outside.data[k], l->values[l->live_count + k]);
    memory_free(next);
}

static void repeat_loop(sum_loop *l)
{
    ad_sweep *s = l->s;
    ad_touch_list left = {0};
    for (uint32_t id = l->first; id < l->end; id++)
        ir_each_operand(s->from, s->from->inst.data[id], note_outside, l);
    l->values = memory_need((state_count(l) + l->outside.count + 1) * sizeof *l->values);
    ir_ref opened = open_loop(l);
    ad_frame outer = ad_enter_frame(s, l->loop + 1);
    uint32_t base = s->touched.count;
    sweep_body(l);
    ad_leave_frame(s, outer, base, &left);
    if (s->f->module->error.code == BL_OK)
        close_loop(l, opened, &left);
    for (uint32_t k = 0; k < state_count(l); k++) {
        s->copy.map[l->loop + 1 + k] = l->before[k];
        ad_add(s, state_at(l, k).a, l->seeds[k]);
    }
    array_free(&left);
    memory_free(l->values);
}

void ad_reverse_loop(ad_sweep *s, uint32_t loop, uint32_t end)
{
    sum_loop l = {.s = s, .loop = loop, .first = loop + 1, .end = end};
    while (s->from->inst.data[l.first].op == IR_STATE && s->from->inst.data[l.first].c == loop)
        l.first++;
    for (l.test = l.first; s->from->inst.data[l.test].op != IR_WHILE || s->from->inst.data[l.test].b != loop;)
        l.test++;
    l.seeds = memory_need_zeroed(2 * (size_t)state_count(&l) + 1, sizeof *l.seeds);
    l.seen = memory_need_zeroed(s->count, 1);
    l.before = l.seeds + state_count(&l);
    if (ad_stores_outside(s, loop, end))
        ad_refuse_store_in_loop(s, loop);
    else if (take_seeds(&l))
        repeat_loop(&l);
    array_free(&l.outside);
    memory_free(l.seeds);
    memory_free(l.seen);
}
