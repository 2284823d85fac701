/* SPDX-License-Identifier: BSD-3-Clause */
#include "spirv_gen/opt/lifetimes.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAY_MOST = 64 }; /* elements of a local array that drivers keep in registers (Mesa: 256 bytes) */

bool lifetimes_number(const ir_func *f, uint32_t id)
{
    ir_inst i = f->inst.data[id];
    bool computed = i.op == IR_PARAM || ir_op_table[i.op].effect != IR_EFFECT_FLOAT;
    return computed && i.op != IR_LOCAL && i.type != IR_BOOL && i.type != IR_VOID;
}

bool lifetimes_register(const lifetimes *l, uint32_t id)
{
    return lifetimes_number(l->f, id) && !l->uniform[id];
}

uint32_t lifetimes_begins(const ir_func *f, uint32_t id)
{
    return ir_op_table[f->inst.data[id].op].effect == IR_EFFECT_FLOAT ? 0 : id;
}

uint32_t lifetimes_region(const ir_func *f, uint32_t id)
{
    if (f->inst.data[id].op == IR_STATE)
        return f->inst.data[id].c;
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

/* What is computed of uniforms, and reads of constant buffers at such places. */
static void find_uniform(lifetimes *l)
{
    const ir_func *f = l->f;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_inst i = f->inst.data[id];
        const uint32_t operands[3] = {i.a, i.b, i.c}, arity = ir_op_table[i.op].arity;
        bool alike = i.op == IR_CONST || i.op == IR_UNIFORM || arity > 0;
        for (uint32_t k = 0; k < arity; k++)
            alike &= l->uniform[operands[k]];
        if (i.op == IR_LOAD && f->module->buffers.data[i.b].constant)
            alike = l->uniform[i.a];
        l->uniform[id] = alike;
    }
}

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
        if (lifetimes_register(l, id) && l->last[id] > begins)
            change[begins + 1]++, change[l->last[id] + 1]--;
    }
    for (uint32_t id = 1; id < n; id++)
        if (f->inst.data[id].op == IR_LOCAL && f->inst.data[id].a <= ARRAY_MOST)
            now += (int32_t)f->inst.data[id].a;
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
    l->uniform = memory_need_zeroed((size_t)f->inst.count, 1);
    find_uniform(l);
    find_ends(l);
    find_uses(l);
    for (uint32_t id = 1; id < f->inst.count; id++)
        lifetimes_update(l, id);
    lifetimes_count(l);
}

void lifetimes_end(lifetimes *l)
{
    void *const all[] = {l->first, l->left, l->needed, l->last, l->end, l->extra, l->live, l->uniform};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        memory_free(all[k]);
    array_free(&l->uses);
    *l = (lifetimes){0};
}

/* ---- of a module ---- */

module_lifetimes lifetimes_of_module(const ir_module *m)
{
    module_lifetimes l = {
        .m = m,
        .of = memory_need_zeroed((size_t)m->functions.count + 1, sizeof *l.of),
        .calls = memory_need_zeroed((size_t)m->functions.count + 1, sizeof *l.calls),
    };
    for (uint32_t k = 0; k < m->functions.count; k++)
        lifetimes_begin(&l.of[k], m->functions.data[k]);
    return l;
}

void lifetimes_release(module_lifetimes *l)
{
    for (uint32_t k = 0; k < l->m->functions.count; k++)
        lifetimes_end(&l->of[k]);
    memory_free(l->of);
    memory_free(l->calls);
    *l = (module_lifetimes){0};
}

static void look_at_call(module_lifetimes *l, uint32_t caller, uint32_t id)
{
    const lifetimes *from = &l->of[caller];
    ir_operands o = ir_call_operands(from->f, from->f->inst.data[id]);
    uint32_t waiting = l->calls[caller].waiting + from->live[id + 1];
    for (uint32_t k = 0; k < o.target_count; k++) {
        call_site *site = &l->calls[o.targets[k]];
        if (waiting > site->waiting)
            *site = (call_site){waiting, caller, id + 1};
    }
}

/* Callers stand behind what they call. */
static void find_waiting(module_lifetimes *l)
{
    for (uint32_t k = 0; k < l->m->functions.count; k++)
        l->calls[k].waiting = 0;
    for (uint32_t k = l->m->functions.count; k-- > 0;)
        for (uint32_t id = 1; id < l->of[k].f->inst.count; id++)
            if (ir_is_call(l->of[k].f->inst.data[id].op))
                look_at_call(l, k, id);
}

uint32_t lifetimes_most(module_lifetimes *l, uint32_t *function, uint32_t *at)
{
    uint32_t most = 0;
    find_waiting(l);
    for (uint32_t k = 0; k < l->m->functions.count; k++)
        for (uint32_t p = 1; p <= l->of[k].f->inst.count; p++)
            if (l->calls[k].waiting + l->of[k].live[p] > most)
                most = l->calls[k].waiting + l->of[k].live[p], *function = k, *at = p;
    return most;
}

bool lifetimes_go_out(const module_lifetimes *l, uint32_t *function, uint32_t *at)
{
    call_site site = l->calls[*function];
    if (site.waiting == 0)
        return false;
    *function = site.caller, *at = site.call_end;
    return true;
}
