/* SPDX-License-Identifier: BSD-3-Clause
 * This file gives values registers and slots of the frame. It is a linear scan in which a value has one place
 * for its whole life (Poletto and Sarkar 1999, "Linear Scan Register Allocation", section 4). Where registers
 * are short, the value whose uses weigh least for the length of its life goes to memory. Control flow is
 * structured and places never change, so no edge needs moves. A value in memory costs little, because most
 * instructions take it as an operand. A value that has a register across calls is stored before each of them
 * and loaded after it, so it gets a register only if its uses weigh more than that. */
#include "spirv_gen/x86/lanes.h"

#include <stdlib.h>
#include <string.h>

typedef struct interval {
    uint32_t id, first, last;
    float score;
} interval;

typedef ARRAY(interval) interval_list;

/* Some of a function's calls: their number, and the sum of their weights; a call within n loops weighs 8^n.
 * The number tells whether there is any call, because differences of large sums lose small weights. */
typedef struct calls {
    uint32_t count;
    float weight;
} calls;

static float weight_of(const x86_function *fn, uint32_t id)
{
    float weight = 1;
    for (uint32_t loop = fn->regions[id].loop; loop; loop = fn->regions[loop].loop)
        weight *= 8;
    return weight;
}

/* For each instruction, the calls before it. */
static calls *sum_calls(x86_gen *g, const x86_function *fn)
{
    const ir_func *f = fn->f;
    calls *sum = arena_alloc(&g->memory, (f->inst.count + 1) * sizeof *sum);
    for (uint32_t i = 1; i < f->inst.count; i++) {
        sum[i + 1] = sum[i];
        if (ir_is_call(f->inst.data[i].op))
            sum[i + 1].count++, sum[i + 1].weight += weight_of(fn, i);
    }
    return sum;
}

/* The calls that a value lives across, as x86_lives_across says. */
static calls calls_across(const x86_function *fn, const calls *before, const x86_value *v)
{
    uint32_t count = fn->f->inst.count, end = v->last / 2 < count ? v->last / 2 : count;
    const calls *from = &before[v->first / 2 + 1], *to = &before[end];
    return (calls){.count = to->count - from->count, .weight = to->weight - from->weight};
}

static int by_first(const void *x, const void *y)
{
    const interval *a = x, *b = y;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

static void find_intervals(const x86_function *fn, const calls *before, interval_list *all)
{
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        const x86_value *v = &fn->values[i];
        if ((v->place != X86_VECTOR && v->place != X86_MASK) || v->named || v->fusion == X86_UNUSED ||
            v->last == 0)
            continue;
        calls across = calls_across(fn, before, v);
        interval n = {.id = i, .first = v->first, .last = v->last};
        if (across.count > 0 && v->weight <= 2 * across.weight)
            n.score = -1;
        else
            n.score = v->weight / (float)(v->last - v->first + 1);
        array_push(all, n);
    }
    if (all->count)
        qsort(all->data, all->count, sizeof *all->data, by_first);
}

/* ---- registers ---- */

typedef struct file {
    uint32_t first, count; /* the registers are first .. first + count - 1 */
    interval *held[32];    /* what each register holds; NULL: it is free */
} file;

static void take(x86_function *fn, file *f, uint32_t k, interval *n)
{
    f->held[k] = n;
    fn->values[n->id].in_register = true;
    fn->values[n->id].reg = (uint8_t)(f->first + k);
}

static void scan_one(x86_function *fn, file *f, interval *n)
{
    uint32_t worst = 0;
    for (uint32_t k = 0; k < f->count; k++)
        if (f->held[k] && f->held[k]->last < n->first)
            f->held[k] = NULL;
    if (n->score < 0)
        return;
    for (uint32_t k = 0; k < f->count; k++) {
        if (!f->held[k]) {
            take(fn, f, k, n);
            return;
        }
        if (f->held[k]->score < f->held[worst]->score)
            worst = k;
    }
    if (f->count == 0 || f->held[worst]->score >= n->score)
        return;
    fn->values[f->held[worst]->id].in_register = false;
    take(fn, f, worst, n);
}

static void scan(x86_gen *g, x86_function *fn, interval_list *all)
{
    x86_files files = x86_register_files(g);
    file vectors = {.first = files.first_vector, .count = files.last_vector - files.first_vector + 1},
         masks = {.first = files.first_mask, .count = files.one ? 0 : files.last_mask - files.first_mask + 1};
    for (uint32_t i = 0; i < all->count; i++) {
        interval *n = &all->data[i];
        bool mask = fn->values[n->id].place == X86_MASK && !files.one;
        scan_one(fn, mask ? &masks : &vectors, n);
    }
}

/* ---- slots ---- */

typedef struct slot {
    uint32_t at, until;
} slot;

typedef struct slots {
    x86_function *fn;
    uint32_t bytes;
    ARRAY(slot) list;
} slots;

static uint32_t new_bytes(x86_function *fn, uint32_t bytes)
{
    uint32_t at = fn->frame_bytes;
    fn->frame_bytes += bytes;
    return at;
}

/* A slot for an interval. Intervals come by their first position, so a slot whose interval has ended is
 * free. */
static uint32_t slot_for(slots *s, const interval *n)
{
    for (uint32_t i = 0; i < s->list.count; i++)
        if (s->list.data[i].until < n->first) {
            s->list.data[i].until = n->last;
            return s->list.data[i].at;
        }
    slot fresh = {.at = new_bytes(s->fn, s->bytes), .until = n->last};
    array_push(&s->list, fresh);
    return fresh.at;
}

static void place_in_slots(x86_gen *g, x86_function *fn, const calls *before, const interval_list *all)
{
    slots vectors = {.fn = fn, .bytes = g->slot}, masks = {.fn = fn, .bytes = x86_mask_bytes(g)};
    for (uint32_t pass = 0; pass < 2; pass++) /* vectors come first, so all of them are aligned */
        for (uint32_t i = 0; i < all->count; i++) {
            const interval *n = &all->data[i];
            x86_value *v = &fn->values[n->id];
            bool mask = v->place == X86_MASK;
            if (mask != (pass == 1))
                continue;
            if (!v->in_register) {
                v->at = slot_for(mask ? &masks : &vectors, n);
                v->named = true;
            } else if (calls_across(fn, before, v).count > 0) {
                v->home = slot_for(mask ? &masks : &vectors, n);
                array_push(&fn->kept, n->id);
            }
        }
    array_free(&vectors.list);
    array_free(&masks.list);
}

/* Gives memory of the frame to local arrays, to next values of states that are states themselves, to calls,
 * and to the masks of open regions. */
static void place_others(x86_gen *g, x86_function *fn)
{
    uint32_t depth = 0, deepest = 0;
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        const ir_inst *inst = &fn->f->inst.data[i];
        x86_value *v = &fn->values[i];
        if (inst->op == IR_LOCAL)
            v->at = new_bytes(fn, inst->a * x86_vector_bytes(g, (ir_type)inst->type)), v->named = true;
        if (inst->op == IR_STATE && fn->f->inst.data[inst->b].op == IR_STATE)
            v->swap = new_bytes(fn, g->slot);
        if (ir_is_call(inst->op) && !fn->call_area)
            fn->call_area = new_bytes(fn, 3 * g->slot);
        if (ir_is_call(inst->op) && inst->op != IR_CALL && !fn->ray_area)
            fn->ray_area = new_bytes(fn, g->slot);
        depth += inst->op == IR_IF || inst->op == IR_LOOP;
        depth -= inst->op == IR_ENDIF || inst->op == IR_ENDLOOP;
        deepest = depth > deepest ? depth : deepest;
    }
    fn->saved_masks = new_bytes(fn, deepest * x86_mask_bytes(g));
}

void x86_allocate(x86_gen *g, x86_function *fn)
{
    interval_list all = {0};
    fn->param_bytes = fn->f->params.count * g->slot;
    fn->frame_bytes = fn->param_bytes + fn->f->results.count * g->slot;
    calls *before = sum_calls(g, fn);
    find_intervals(fn, before, &all);
    scan(g, fn, &all);
    place_in_slots(g, fn, before, &all);
    fn->frame_bytes = (fn->frame_bytes + g->slot - 1) / g->slot * g->slot;
    fn->refill.area = new_bytes(fn, x86_refill_bytes(g, fn));
    place_others(g, fn);
    fn->frame_bytes = (fn->frame_bytes + 63) / 64 * 64;
    array_free(&all);
}
