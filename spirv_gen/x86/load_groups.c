/* SPDX-License-Identifier: BSD-3-Clause
 * This file decides which loads are done together. They read one buffer, their indices are one value plus
 * constants, and between them nothing is written and no branch begins or ends. In such a group four
 * neighbouring words of which at least two are wanted form a quad. The whole group is loaded where its first
 * member stands. */
#include "spirv_gen/x86/generate.h"

#include <stdlib.h>

enum { LEAST_MEMBERS = 2, FARTHEST = 1 << 24 /* words from the base, within reach of a displacement */ };

typedef struct member {
    uint32_t id, base, buffer;
    int32_t offset; /* from the base, in words */
} member;

typedef ARRAY(member) member_list;

static bool is_const(const ir_func *f, uint32_t id) { return f->inst.data[id].op == IR_CONST; }

/* Moves constant summands of an index from the base to the offset. */
static void resolve(const x86_function *fn, member *m)
{
    const ir_func *f = fn->f;
    for (;;) {
        ir_inst sum = f->inst.data[m->base];
        if (sum.op != IR_ADD || sum.type == IR_F32)
            return;
        if (is_const(f, sum.b) && !x86_is_uniform(fn, sum.a))
            m->offset = (int32_t)((uint32_t)m->offset + f->inst.data[sum.b].a), m->base = sum.a;
        else if (is_const(f, sum.a) && !x86_is_uniform(fn, sum.b))
            m->offset = (int32_t)((uint32_t)m->offset + f->inst.data[sum.a].a), m->base = sum.b;
        else
            return;
    }
}

static int by_place(const void *x, const void *y)
{
    const member *a = x, *b = y;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    if (a->base != b->base)
        return a->base < b->base ? -1 : 1;
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

static void take_group(x86_function *fn, const member *m, uint32_t count)
{
    x86_group group = {.first = ~0u, .base = m[0].base, .buffer = m[0].buffer, .quad = fn->quads.count};
    for (uint32_t i = 0, taken; i < count; i += taken) {
        x86_quad q;
        taken = take_quad(m + i, count - i, &q);
        if (taken < LEAST_MEMBERS || abs(m[i].offset) > FARTHEST)
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
            if (m->data[end].base != first->base || m->data[end].buffer != first->buffer)
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
        if (fn->values[id].place != X86_VECTOR || x86_is_uniform(fn, inst.a) || !fn->values[id].uses)
            continue;
        member load = {.id = id, .base = inst.a, .buffer = inst.b};
        resolve(fn, &load);
        array_push(&m, load);
    }
    take_groups(fn, &m);
    array_free(&m);
}
