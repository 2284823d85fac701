/* SPDX-License-Identifier: BSD-3-Clause
 * This file finds out what must be known of a function before its code is made: where regions end, which
 * values are the same for all lanes, which values somebody reads, which ops become one instruction, and how
 * long each value lives. A life is an interval of positions (x86_value); a value that is born before a loop
 * and read in it lives until the loop ends. */
#include "spirv_gen/x86/generate.h"

#include <string.h>

static const ir_inst *inst_at(const x86_function *fn, uint32_t id) { return &fn->f->inst.data[id]; }

/* ---- regions ---- */

static void find_regions(x86_function *fn)
{
    uint32_t loop = 0;
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        const ir_inst *inst = inst_at(fn, i);
        x86_region *r = fn->regions;
        r[i].loop = loop;
        switch (inst->op) {
        case IR_LOOP:
            loop = r[i].last = i;
            break;
        case IR_STATE:
            r[inst->c].last = i;
            break;
        case IR_ENDLOOP:
            r[inst->a].other = i;
            loop = r[inst->a].loop;
            break;
        case IR_ELSE:
            r[inst->a].other = i;
            break;
        case IR_ENDIF:
            r[inst->a].end = i;
            break;
        default:
            break;
        }
    }
}

/* ---- places ---- */

static bool operand_is_uniform(const void *fn, uint32_t ref) { return x86_is_uniform(fn, ref); }

static bool is_uniform(const x86_function *fn, const ir_inst *inst)
{
    bool load = inst->op == IR_LOAD || inst->op == IR_DLOAD;
    if (load)
        return fn->f->module->buffers.data[inst->b].constant && x86_is_uniform(fn, inst->a);
    if (inst->op > IR_REPLACE_GRAD)
        return false;
    return ir_every_operand(fn->f, *inst, operand_is_uniform, fn);
}

static uint32_t constant_double(x86_gen *g, uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    const double twice = (double)value;
    uint64_t two_words;
    memcpy(&two_words, &twice, sizeof two_words);
    return x86_constant_double(g, two_words);
}

static x86_value place_of(x86_gen *g, const x86_function *fn, const ir_inst *inst)
{
    x86_value v = {.place = inst->type == IR_BOOL ? X86_MASK : X86_VECTOR};
    switch (inst->op) {
    case IR_CONST:
        v.place = X86_WORD, v.named = true;
        if (g->doubles && inst->type == IR_F32)
            v.at = constant_double(g, inst->a);
        else
            v.at = x86_constant(g, inst->type == IR_BOOL && inst->a ? ~0u : inst->a);
        return v;
    case IR_UNIFORM:
        v.place = X86_WORD;
        if (g->doubles && inst->type == IR_F32) /* the prologue makes a double of it */
            return v;
        v.named = true;
        v.at = X86_WORKSPACE_UNIFORMS + 4 * inst->a;
        return v;
    case IR_GLOBAL_ID:
        v.named = true, v.at = X86_GLOBAL_ID;
        return v;
    case IR_PARAM:
        v.named = true, v.at = g->slot * inst->a;
        return v;
    case IR_LOCAL:
        v.place = X86_ARRAY;
        return v;
    default:
        if (inst->type == IR_VOID)
            v.place = X86_NOWHERE;
        else if (is_uniform(fn, inst))
            v.place = X86_WORD;
        return v;
    }
}

/* ---- ops that become one ---- */

static void find_minima(x86_function *fn)
{
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        const ir_inst *select = inst_at(fn, i), *less = inst_at(fn, select->a);
        if (select->op != IR_SELECT || select->type == IR_BOOL || less->op != IR_LT ||
            fn->values[select->a].place != X86_MASK)
            continue;
        if (less->a == select->b && less->b == select->c)
            fn->values[i].fusion = X86_MINIMUM;
        else if (less->a == select->c && less->b == select->b)
            fn->values[i].fusion = X86_MAXIMUM;
    }
}

/* ---- uses ---- */

static void count_one(void *fn, uint32_t ref) { ((x86_function *)fn)->values[ref].uses++; }

static bool is_needed(const x86_function *fn, uint32_t id)
{
    uint8_t effect = ir_op_table[inst_at(fn, id)->op].effect;
    return effect == IR_EFFECT_WRITE || effect == IR_EFFECT_CONTROL || fn->values[id].uses > 0;
}

/* Calls visit for every value that the code of an instruction reads. */
static void each_read(const x86_function *fn, uint32_t id, void (*visit)(void *user, uint32_t ref),
                      void *user)
{
    ir_inst inst = *inst_at(fn, id);
    switch (fn->values[id].fusion) {
    case X86_GROUP_MEMBER:
        return;
    case X86_GROUP_FIRST:
        visit(user, fn->groups.data[fn->group_of[id]].base);
        return;
    case X86_MINIMUM:
    case X86_MAXIMUM:
        visit(user, inst.b), visit(user, inst.c);
        return;
    default:
        break;
    }
    if (inst.op == IR_LLOAD || inst.op == IR_LSTORE) { /* an array is memory, not a value */
        visit(user, inst.b);
        if (inst.op == IR_LSTORE)
            visit(user, inst.c);
    } else if (inst.op == IR_DLOAD) {
        visit(user, inst.a);
    } else if (inst.op != IR_STATE) {
        ir_each_operand(fn->f, inst, visit, user);
        if (inst.op == IR_PHI)
            visit(user, inst_at(fn, inst.c)->a);
    }
}

static void count_uses(x86_function *fn)
{
    const ir_func *f = fn->f;
    for (uint32_t i = 1; i < f->inst.count; i++)
        fn->values[i].uses = 0;
    for (uint32_t i = 0; i < f->results.count; i++)
        fn->values[f->results.data[i].id].uses++;
    for (uint32_t i = 1; i < f->inst.count; i++)
        if (inst_at(fn, i)->op == IR_STATE)
            count_one(fn, inst_at(fn, i)->a), count_one(fn, inst_at(fn, i)->b);
    for (uint32_t i = f->inst.count - 1; i > 0; i--)
        if (is_needed(fn, i))
            each_read(fn, i, count_one, fn);
}

static void drop_unused(x86_function *fn)
{
    for (uint32_t q = 0; q < fn->quads.count; q++)
        for (uint32_t w = 0; w < 4; w++)
            if (!fn->values[fn->quads.data[q].id[w]].uses)
                fn->quads.data[q].id[w] = 0;
    for (uint32_t i = 1; i < fn->f->inst.count; i++)
        if (!is_needed(fn, i) && fn->values[i].fusion != X86_GROUP_FIRST)
            fn->values[i].fusion = X86_UNUSED;
}

/* ---- lives ---- */

typedef struct reads {
    x86_function *fn;
    uint32_t position, loop; /* where the reader is */
} reads;

static void live_until(void *user, uint32_t ref)
{
    const reads *r = user;
    x86_value *v = &r->fn->values[ref];
    if (v->place != X86_VECTOR && v->place != X86_MASK)
        return;
    const ir_inst *inst = inst_at(r->fn, ref);
    uint32_t born = inst->op == IR_STATE ? inst->c : ref, last = r->position;
    float weight = 1;
    for (uint32_t loop = r->loop; loop; loop = r->fn->regions[loop].loop) {
        uint32_t end = 2 * r->fn->regions[loop].other + 2;
        weight *= 8;
        if (born < loop && end > last)
            last = end;
    }
    v->last = last > v->last ? last : v->last;
    v->weight += weight;
}

/* The code of the instruction reads all operands before it writes its result. */
static bool reads_first(const x86_function *fn, uint32_t id)
{
    const ir_inst *inst = inst_at(fn, id);
    switch (inst->op) {
    case IR_ADD:
    case IR_SUB:
    case IR_MUL:
    case IR_FLOOR:
    case IR_SQRT:
    case IR_ABS:
    case IR_EQ:
    case IR_NE:
    case IR_LT:
    case IR_LE:
    case IR_CALL:
    case IR_RAY_CLOSEST:
    case IR_RAY_ANY:
    case IR_IF:
    case IR_WHILE:
        return true;
    case IR_DIV:
        return inst->type == IR_F32;
    case IR_AND:
    case IR_OR:
    case IR_XOR:
    case IR_NOT:
    case IR_SELECT:
    case IR_PHI:
        return inst->type != IR_BOOL;
    default:
        return false;
    }
}

static void find_state_lives(x86_function *fn, uint32_t state)
{
    const ir_inst *inst = inst_at(fn, state);
    const x86_region *loop = &fn->regions[inst->c];
    reads before = {.fn = fn, .position = 2 * loop->last + 2, .loop = loop->loop},
          end = {.fn = fn, .position = 2 * loop->other + 1, .loop = inst->c},
          own = {.fn = fn, .position = 2 * loop->other + 1, .loop = loop->loop};
    fn->values[state].first = 2 * inst->c + 1;
    live_until(&before, inst->a);
    live_until(&end, inst->b);
    live_until(&own, state);
}

static void find_lives(x86_function *fn)
{
    const ir_func *f = fn->f;
    for (uint32_t i = 1; i < f->inst.count; i++) {
        const ir_inst *inst = inst_at(fn, i);
        x86_value *v = &fn->values[i];
        if (v->fusion == X86_UNUSED)
            continue;
        v->first = v->first ? v->first : 2 * i + 1;
        if (inst->op == IR_STATE) {
            find_state_lives(fn, i);
            continue;
        }
        reads r = {.fn = fn, .position = 2 * i + !reads_first(fn, i), .loop = fn->regions[i].loop};
        each_read(fn, i, live_until, &r);
        if (inst->op == IR_IF) { /* ELSE reads the condition again */
            r.position = 2 * fn->regions[i].other + 1;
            live_until(&r, inst->a);
        }
        if (v->fusion == X86_GROUP_FIRST) {
            const x86_group *group = &fn->groups.data[fn->group_of[i]];
            for (uint32_t q = group->quad; q < group->quad + group->quad_count; q++)
                for (uint32_t w = 0; w < 4; w++)
                    fn->values[fn->quads.data[q].id[w]].first = 2 * i + 1; /* nobody reads that of value 0 */
        }
    }
    reads end = {.fn = fn, .position = 2 * f->inst.count + 2};
    for (uint32_t i = 0; i < f->results.count; i++)
        live_until(&end, f->results.data[i].id);
}

static uint32_t new_words(x86_gen *g, uint8_t type)
{
    const uint32_t at = x86_new_word(g);
    if (g->doubles && type == IR_F32)
        x86_new_word(g);
    return at;
}

void x86_analyse(x86_gen *g, x86_function *fn)
{
    find_regions(fn);
    for (uint32_t i = 1; i < fn->f->inst.count; i++)
        fn->values[i] = place_of(g, fn, inst_at(fn, i));
    find_minima(fn);
    count_uses(fn);
    x86_group_loads(fn);
    count_uses(fn);
    drop_unused(fn);
    find_lives(fn);
    for (uint32_t i = 1; i < fn->f->inst.count; i++) {
        x86_value *v = &fn->values[i];
        if (v->place == X86_WORD && !v->named && v->fusion != X86_UNUSED)
            v->named = true, v->at = new_words(g, inst_at(fn, i)->type);
    }
}
