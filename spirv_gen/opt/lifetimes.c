/* SPDX-License-Identifier: BSD-3-Clause */
#include "spirv_gen/opt/lifetimes.h"

#include <stdlib.h>
#include <string.h>

bool lifetimes_register(const ir_func *f, uint32_t id)
{
    ir_inst i = f->inst.data[id];
    bool computed = i.op == IR_PARAM || ir_op_table[i.op].effect != IR_EFFECT_FLOAT;
    return computed && i.op != IR_LOCAL && i.type != IR_BOOL && i.type != IR_VOID;
}

uint32_t lifetimes_begins(const ir_func *f, uint32_t id)
{
    return ir_op_table[f->inst.data[id].op].effect == IR_EFFECT_FLOAT ? 0 : id;
}

uint32_t lifetimes_region(const ir_func *f, uint32_t id)
{
    return ir_op_table[f->inst.data[id].op].effect == IR_EFFECT_FLOAT ? 0 : f->scope.data[id];
}

/* A region has a smaller number than those in it. */
bool lifetimes_is_around(const ir_func *f, uint32_t outer, uint32_t inner)
{
    while (inner > outer)
        inner = f->scope.data[inner];
    return inner == outer;
}

uint32_t lifetimes_loop(const ir_func *f, uint32_t id, uint32_t region)
{
    uint32_t found = 0, own = lifetimes_region(f, id);
    for (uint32_t r = region; r; r = f->scope.data[r])
        if (f->inst.data[r].op == IR_LOOP && !lifetimes_is_around(f, r, own))
            found = r;
    return found;
}

uint32_t lifetimes_read(const lifetimes *l, uint32_t id, uint32_t at, uint32_t region)
{
    uint32_t loop = lifetimes_loop(l->f, id, region);
    return loop ? l->end[loop] : at;
}

/* ---- uses ---- */

typedef struct reader {
    lifetimes *l;
    value_use use;
} reader;

static void add_use(void *user, uint32_t id)
{
    reader *r = user;
    r->use.value = id;
    array_push(&r->l->uses, r->use);
}

static void add_taken(lifetimes *l, uint32_t id, uint32_t at, uint32_t region, uint32_t taken)
{
    array_push(&l->uses, ((value_use){id, at, region, taken}));
}

static void add_uses(lifetimes *l, uint32_t id)
{
    const ir_func *f = l->f;
    ir_inst i = f->inst.data[id];
    if (i.op == IR_PHI) {
        uint32_t or_else = l->end[i.c];
        add_taken(l, i.a, or_else, i.c, id), add_taken(l, i.b, l->end[or_else], or_else, id);
    } else if (i.op == IR_STATE) {
        add_taken(l, i.a, i.c, f->scope.data[i.c], i.c), add_taken(l, i.b, l->end[i.c], i.c, l->end[i.c]);
    } else if (i.op != IR_RESULT) {
        reader r = {l, {.at = id, .region = lifetimes_region(f, id)}};
        ir_each_operand(f, i, add_use, &r);
    }
}

static int by_value(const void *a, const void *b)
{
    const value_use *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void find_uses(lifetimes *l)
{
    const ir_func *f = l->f;
    for (uint32_t id = 1; id < f->inst.count; id++)
        add_uses(l, id);
    for (uint32_t k = 0; k < f->results.count; k++)
        add_taken(l, f->results.data[k].id, f->inst.count, 0, f->inst.count);
    if (l->uses.count)
        qsort(l->uses.data, l->uses.count, sizeof *l->uses.data, by_value);
    for (uint32_t k = 0; k < l->uses.count; k++)
        l->left[l->uses.data[k].value]++;
    for (uint32_t id = 0; id < f->inst.count; id++)
        l->first[id + 1] = l->first[id] + l->left[id];
}

static void find_ends(lifetimes *l)
{
    for (uint32_t id = 1; id < l->f->inst.count; id++) {
        ir_inst i = l->f->inst.data[id];
        if (i.op == IR_ELSE || i.op == IR_ENDLOOP)
            l->end[i.a] = id;
        else if (i.op == IR_ENDIF)
            l->end[l->end[i.a]] = id;
    }
}

/* ---- lives ---- */

void lifetimes_update(lifetimes *l, uint32_t id)
{
    l->last[id] = l->needed[id];
    for (uint32_t k = l->first[id]; k < l->first[id] + l->left[id]; k++) {
        uint32_t to = lifetimes_read(l, id, l->uses.data[k].at, l->uses.data[k].region);
        l->last[id] = to > l->last[id] ? to : l->last[id];
    }
}

void lifetimes_count(lifetimes *l)
{
    const ir_func *f = l->f;
    uint32_t n = f->inst.count;
    int32_t *change = memory_need((n + 2) * sizeof *change), now = 0;
    memcpy(change, l->extra, (n + 2) * sizeof *change);
    for (uint32_t id = 1; id < n; id++) {
        uint32_t begins = lifetimes_begins(f, id);
        if (lifetimes_register(f, id) && l->last[id] > begins)
            change[begins + 1]++, change[l->last[id] + 1]--;
    }
    for (uint32_t at = 0; at <= n; at++)
        l->live[at] = (uint32_t)(now += change[at]);
    memory_free(change);
}

void lifetimes_begin(lifetimes *l, const ir_func *f)
{
    *l = (lifetimes){.f = f};
    uint32_t **words[] = {&l->first, &l->left, &l->needed, &l->last, &l->end, &l->live};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        *words[k] = memory_need_zeroed((size_t)f->inst.count + 2, sizeof **words[k]);
    l->extra = memory_need_zeroed((size_t)f->inst.count + 2, sizeof *l->extra);
    find_ends(l);
    find_uses(l);
    for (uint32_t id = 1; id < f->inst.count; id++)
        lifetimes_update(l, id);
    lifetimes_count(l);
}

void lifetimes_end(lifetimes *l)
{
    void *const all[] = {l->first, l->left, l->needed, l->last, l->end, l->extra, l->live};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        memory_free(all[k]);
    array_free(&l->uses);
    *l = (lifetimes){0};
}
