/* SPDX-License-Identifier: BSD-3-Clause
 * This file decides which loads are done together. They read one buffer, their indices are sums of the same
 * values plus constants, and between them nothing is written and no branch begins or ends. In such a group
 * four neighbouring words of which at least two are wanted form a quad. The whole group is loaded where its
 * first member stands, at places that count from that member's index. */
#include "spirv_gen/x86/generate.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_MEMBERS = 2, FARTHEST = 1 << 24 /* words from the base, within reach of a displacement */ };
enum { TERMS_MOST = 6, STEPS_MOST = 32 };

typedef struct member {
    uint32_t id, index, buffer;
    uint32_t term[TERMS_MOST]; /* ascending; zeros behind them */
    int32_t offset;            /* the constant summand */
} member;

typedef ARRAY(member) member_list;

static int by_number(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

/* Takes the index apart into summands, as far as there is room for them. */
static void resolve(const ir_func *f, member *m)
{
    uint32_t count = 1, step = 0;
    m->term[0] = m->index;
    for (uint32_t k = 0; k < count && step < STEPS_MOST; step++) {
        ir_inst sum = f->inst.data[m->term[k]];
        if (sum.op == IR_CONST) {
            m->offset = (int32_t)((uint32_t)m->offset + sum.a);
            m->term[k] = m->term[--count], m->term[count] = 0;
        } else if (sum.op == IR_ADD && sum.type != IR_F32 && count < TERMS_MOST) {
            m->term[k] = sum.a, m->term[count++] = sum.b;
        } else {
            k++;
        }
    }
    if (count > 1)
        qsort(m->term, count, sizeof *m->term, by_number);
}

static int by_sum(const member *a, const member *b)
{
    return a->buffer != b->buffer ? (a->buffer < b->buffer ? -1 : 1)
                                  : memcmp(a->term, b->term, sizeof a->term);
}

static int by_place(const void *x, const void *y)
{
    const member *a = x, *b = y;
    int sum = by_sum(a, b);
    if (sum != 0)
        return sum;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* Makes the quad that begins with member m[0] and returns how many members it takes. It ends before a second
 * load of a word that it has. */
static uint32_t take_quad(const member *m, uint32_t count, x86_quad *q)
{
    uint32_t taken = 0;
    *q = (x86_quad){.offset = (uint32_t)m[0].offset};
    while (taken < count && (int64_t)m[taken].offset - m[0].offset < 4) {
        uint32_t word = (uint32_t)(m[taken].offset - m[0].offset);
        if (q->id[word])
            break;
        q->id[word] = m[taken++].id;
    }
    return taken;
}

static const member *first_of(const member *m, uint32_t count)
{
    const member *first = m;
    for (uint32_t i = 1; i < count; i++)
        first = m[i].id < first->id ? m + i : first;
    return first;
}

static void take_group(x86_function *fn, const member *m, uint32_t count)
{
    const member *first = first_of(m, count);
    x86_group group = {.first = ~0u, .base = first->index, .buffer = first->buffer, .quad = fn->quads.count};
    for (uint32_t i = 0, taken; i < count; i += taken) {
        x86_quad q;
        taken = take_quad(m + i, count - i, &q);
        q.offset -= (uint32_t)first->offset;
        if (taken < LEAST_MEMBERS || abs((int32_t)q.offset) > FARTHEST)
            continue;
        array_push(&fn->quads, q);
        for (uint32_t w = 0; w < 4; w++)
            if (q.id[w]) {
                fn->values[q.id[w]].fusion = X86_GROUP_MEMBER;
                group.first = q.id[w] < group.first ? q.id[w] : group.first;
            }
    }
    group.quad_count = fn->quads.count - group.quad;
    if (group.quad_count == 0)
        return;
    fn->values[group.first].fusion = X86_GROUP_FIRST;
    fn->group_of[group.first] = fn->groups.count;
    array_push(&fn->groups, group);
}

static void take_groups(x86_function *fn, member_list *m)
{
    if (m->count > 1)
        qsort(m->data, m->count, sizeof *m->data, by_place);
    for (uint32_t i = 0, end; i < m->count; i = end) {
        const member *first = &m->data[i];
        for (end = i + 1; end < m->count; end++)
            if (by_sum(&m->data[end], first) != 0)
                break;
        if (end - i >= LEAST_MEMBERS)
            take_group(fn, first, end - i);
    }
    m->count = 0;
}

static bool ends_group(ir_inst inst)
{
    uint8_t effect = ir_op_table[inst.op].effect;
    if (inst.op == IR_STATE || inst.op == IR_LOCAL || inst.op == IR_LSTORE)
        return false;
    return effect == IR_EFFECT_WRITE || effect == IR_EFFECT_CONTROL;
}

void x86_group_loads(x86_function *fn)
{
    member_list m = {0};
    for (uint32_t id = 1; id < fn->f->inst.count; id++) {
        ir_inst inst = fn->f->inst.data[id];
        if (ends_group(inst))
            take_groups(fn, &m);
        if (inst.op != IR_LOAD && inst.op != IR_DLOAD)
            continue;
        const bool pair =
            fn->f->module->doubles && inst.type == IR_F32 && fn->f->module->buffers.data[inst.b].paired;
        if (pair || fn->values[id].place != X86_VECTOR || x86_is_uniform(fn, inst.a) || !fn->values[id].uses)
            continue;
        member load = {.id = id, .index = inst.a, .buffer = inst.b};
        resolve(fn->f, &load);
        array_push(&m, load);
    }
    take_groups(fn, &m);
    array_free(&m);
}
