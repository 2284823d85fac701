/* SPDX-License-Identifier: BSD-3-Clause
 * Branches and loops. Lanes that do not take part are masked out, and the code jumps over a branch that no
 * lane takes if that is more than a few instructions. A loop runs until no lane is left in it. While a region
 * is open, a slot of the frame keeps the mask of the lanes that ran before. */
#include "spirv_gen/x86/lanes.h"

enum { FEW = 6, LOOP_ALIGNMENT = 16 };

static bool touches_memory(ir_inst inst)
{
    return inst.op == IR_LOAD || inst.op == IR_DLOAD || inst.op == IR_LLOAD || inst.op == IR_LOOP ||
           ir_is_call(inst.op) || ir_op_table[inst.op].effect == IR_EFFECT_WRITE;
}

/* Is the code between instructions `first` and `last` worth a jump over it? It always is where it touches
 * memory, which must not happen if no lane runs. */
static bool worth_skipping(const x86_gen *g, uint32_t first, uint32_t last)
{
    uint32_t count = 0;
    for (uint32_t i = first + 1; i < last; i++) {
        ir_inst inst = g->fn->f->inst.data[i];
        if (inst.op == IR_STORE || inst.op == IR_LSTORE || ir_is_call(inst.op))
            return true;
        if (g->fn->values[i].fusion == X86_UNUSED || g->fn->values[i].place == X86_WORD)
            continue;
        if (touches_memory(inst))
            return true;
        count += ir_op_table[inst.op].effect != IR_EFFECT_FLOAT;
    }
    return count > FEW;
}

static x86_operand saved_mask(const x86_gen *g, uint32_t depth)
{
    return x86_slot(g, g->fn->saved_masks + depth * x86_mask_bytes(g), x86_mask_bytes(g));
}

static x86_open_region *open_region(x86_gen *g, uint32_t id)
{
    x86_open_region r = {.id = id, .label = {x86_label(&g->code), x86_label(&g->code)}};
    x86_mask_write(g, saved_mask(g, g->open.count), x86_active(g));
    array_push(&g->open, r);
    return &g->open.data[g->open.count - 1];
}

static x86_open_region *innermost(x86_gen *g)
{
    BL_ASSERT(g->open.count > 0, "a region of \"%s\" ends that has not begun", g->fn->f->name);
    return &g->open.data[g->open.count - 1];
}

static void close_region(x86_gen *g)
{
    g->open.count--;
    x86_mask_read(g, x86_active(g), saved_mask(g, g->open.count));
}

static void skip_if_none(x86_gen *g, uint32_t label)
{
    x86_mask_test(g, x86_active(g));
    x86_jump(&g->code, ZYDIS_MNEMONIC_JZ, label);
}

/* ---- if ---- */

void x86_if(x86_gen *g, uint32_t id, ir_inst inst)
{
    const x86_region *region = &g->fn->regions[id];
    x86_open_region *r = open_region(g, id);
    r->skips[0] = worth_skipping(g, id, region->other);
    r->skips[1] = worth_skipping(g, region->other, region->end);
    x86_mask_and(g, x86_active(g), x86_active(g), x86_mask_source(g, inst.a, 0));
    if (r->skips[0])
        skip_if_none(g, r->label[0]);
}

void x86_else(x86_gen *g, uint32_t id, ir_inst inst)
{
    (void)id;
    x86_open_region *r = innermost(g);
    uint32_t condition = g->fn->f->inst.data[inst.a].a, before = x86_mask_scratch(g, 1);
    x86_bind(&g->code, r->label[0]);
    x86_mask_read(g, before, saved_mask(g, g->open.count - 1));
    x86_mask_and_not(g, x86_active(g), before, x86_mask_source(g, condition, 0));
    if (r->skips[1])
        skip_if_none(g, r->label[1]);
}

void x86_endif(x86_gen *g, uint32_t id, ir_inst inst)
{
    (void)id, (void)inst;
    x86_bind(&g->code, innermost(g)->label[1]);
    close_region(g);
}

void x86_phi(x86_gen *g, uint32_t id, ir_inst inst)
{
    x86_select(g, id, g->fn->f->inst.data[inst.c].a, inst.a, inst.b);
}

/* ---- loop ---- */

static bool is_state(const x86_gen *g, uint32_t id, uint32_t loop)
{
    const ir_func *f = g->fn->f;
    return id < f->inst.count && f->inst.data[id].op == IR_STATE && f->inst.data[id].c == loop;
}

static void set_state(x86_gen *g, uint32_t state, uint32_t value)
{
    const x86_value *v = &g->fn->values[state];
    if (v->place == X86_MASK)
        x86_mask_finish(g, state, x86_mask_source(g, value, 0));
    else if (v->in_register)
        x86_load_to(g, v->reg, value);
    else
        x86_finish(g, state, x86_source_register(g, value, 0));
}

void x86_loop(x86_gen *g, uint32_t id, ir_inst inst)
{
    (void)inst;
    x86_open_region *r = open_region(g, id);
    uint32_t top = r->label[0];
    for (uint32_t s = id + 1; is_state(g, s, id); s++)
        if (x86_wanted(g, s))
            set_state(g, s, g->fn->f->inst.data[s].a);
    if (id == g->fn->refill.loop)
        x86_refilled(g, saved_mask(g, g->open.count - 1));
    x86_align(&g->code, LOOP_ALIGNMENT);
    x86_bind(&g->code, top);
}

void x86_while(x86_gen *g, uint32_t id, ir_inst inst)
{
    uint32_t out = innermost(g)->label[1];
    x86_mask_and(g, x86_active(g), x86_active(g), x86_mask_source(g, inst.a, 0));
    if (g->fn->regions[id].loop == g->fn->refill.loop && g->fn->refill.loop)
        x86_refill(g, saved_mask(g, g->open.count - 1));
    skip_if_none(g, out);
}

/* The next value of the state is another state of the same loop, which may be overwritten before it is read.
 */
static bool swaps(const x86_gen *g, uint32_t state, uint32_t loop)
{
    return g->fn->f->inst.data[state].b != state && is_state(g, g->fn->f->inst.data[state].b, loop);
}

static ir_type type_of(const x86_gen *g, uint32_t id) { return ir_type_of(g->fn->f, (ir_ref){id}); }

static void keep_next(x86_gen *g, uint32_t state)
{
    const x86_value *v = &g->fn->values[state];
    uint32_t next = g->fn->f->inst.data[state].b;
    if (v->place == X86_MASK)
        x86_mask_write(g, x86_slot(g, v->swap, x86_mask_bytes(g)), x86_mask_source(g, next, 0));
    else
        VEC(g, VMOVUPS, x86_slot(g, v->swap, x86_vector_bytes(g, type_of(g, state))),
            x86_register(g, type_of(g, state), x86_source_register(g, next, 0)));
}

/* If somebody reads the state after the loop, only lanes that still run get the next value. */
static void next_mask(x86_gen *g, uint32_t state, uint32_t next, bool outlives)
{
    if (outlives) {
        uint32_t changed = x86_mask_scratch(g, 0), same = x86_mask_scratch(g, 1);
        x86_mask_and(g, changed, next, x86_active(g));
        x86_mask_and_not(g, same, x86_mask_source(g, state, 1), x86_active(g));
        x86_mask_or(g, changed, changed, same);
        next = changed;
    }
    x86_mask_finish(g, state, next);
}

static void next_vector(x86_gen *g, uint32_t state, x86_operand next, bool outlives)
{
    uint32_t to = x86_destination(g, state);
    if (outlives) {
        uint32_t before = x86_source_register(g, state, 1);
        x86_blend(g, type_of(g, state), to, x86_active(g), before, next);
    } else {
        VEC(g, VMOVUPS, x86_register(g, type_of(g, state), to), next);
    }
    x86_finish(g, state, to);
}

static void next_state(x86_gen *g, uint32_t state, uint32_t loop, uint32_t end)
{
    const x86_value *v = &g->fn->values[state];
    uint32_t next = g->fn->f->inst.data[state].b, mask = x86_mask_scratch(g, 0);
    bool outlives = v->last > 2 * end + 1, kept = swaps(g, state, loop);
    if (v->place == X86_MASK) {
        if (kept)
            x86_mask_read(g, mask, x86_slot(g, v->swap, x86_mask_bytes(g)));
        else
            mask = x86_mask_source(g, next, 0);
        next_mask(g, state, mask, outlives);
    } else if (kept) {
        next_vector(g, state, x86_slot(g, v->swap, x86_vector_bytes(g, type_of(g, state))), outlives);
    } else if (outlives) {
        next_vector(g, state, x86_source(g, next, 2), true);
    } else {
        set_state(g, state, next);
    }
}

void x86_endloop(x86_gen *g, uint32_t id, ir_inst inst)
{
    x86_open_region r = *innermost(g);
    for (uint32_t s = inst.a + 1; is_state(g, s, inst.a); s++)
        if (x86_wanted(g, s) && swaps(g, s, inst.a))
            keep_next(g, s);
    for (uint32_t s = inst.a + 1; is_state(g, s, inst.a); s++)
        if (x86_wanted(g, s) && g->fn->f->inst.data[s].b != s)
            next_state(g, s, inst.a, id);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JMP, r.label[0]);
    x86_bind(&g->code, r.label[1]);
    close_region(g);
    if (inst.a == g->fn->refill.loop)
        x86_bind(&g->code, g->fn->refill.epilogue);
}
