/* SPDX-License-Identifier: BSD-3-Clause
 * LOOP as structured control flow:
 *
 *   header:   a phi per STATE, LoopMerge
 *   test:     what stands before WHILE; BranchConditional body, merge
 *   body:     .., and, where it is a few pure ops, the test of the next values
 *   continue: BranchConditional header, merge by that test; else Branch header
 *   merge:    where the continue block leads here, a phi per STATE that is read after the loop
 *
 * Why the test is there twice: CPU devices run all blocks of a loop as long as any lane of a group is in it,
 * and they look for that at the back edge only. So a loop of n trips that is left at the top alone runs its
 * body n + 1 times (SwiftShader, lavapipe: docs/decisions/loops-and-branches.md). A test that is not a few
 * pure ops (loads, loops, calls before WHILE) stays at the top: what it computes would be there twice.
 *
 * Lanes leave in different trips, and what those compute that have left means nothing, so what is read after
 * a loop is a phi of its merge block. (One of a single value would not do: SwiftShader's optimiser takes the
 * value itself.) Where all lanes leave at the top the phis of the header serve. The next values of STATEs are
 * not known in the header: its phis are patched at ENDLOOP. */
#include "spirv_gen/spv/module.h"

enum {
    PHI_WORDS = 7,
    PHI_ID = 2,
    PHI_SECOND_VALUE = 5 /* op, type, id, value, block, value, block */,
    TEST_OPS = 16
};

/* ---- the test as a few ops ---- */

typedef struct test {
    const ir_func *f;
    uint32_t loop, at;             /* LOOP, WHILE; at = 0: the test stays at the top */
    uint32_t ops[TEST_OPS], count; /* which of the instructions between compute the condition */
    bool fits;
} test;

static bool is_listed(const test *t, uint32_t id)
{
    for (uint32_t k = 0; k < t->count; k++)
        if (t->ops[k] == id)
            return true;
    return false;
}

static void list_op(void *user, uint32_t ref)
{
    test *t = user;
    ir_inst i = t->f->inst.data[ref];
    if (ref <= t->loop || i.op == IR_STATE || ir_op_table[i.op].effect == IR_EFFECT_FLOAT ||
        is_listed(t, ref))
        return;
    t->fits &= t->count < TEST_OPS;
    if (t->fits)
        t->ops[t->count++] = ref;
}

/* WHILE of a loop, if nothing before it is more than a read; else 0. */
static uint32_t find_while(const ir_func *f, uint32_t loop)
{
    uint32_t id = loop + 1;
    for (;; id++) {
        ir_inst i = f->inst.data[id];
        bool state = i.op == IR_STATE && i.c == loop, floats = ir_op_table[i.op].effect == IR_EFFECT_FLOAT;
        if (!state && !floats && ir_op_table[i.op].arity == 0 && i.op != IR_LOAD && i.op != IR_DLOAD &&
            i.op != IR_LLOAD)
            return i.op == IR_WHILE ? id : 0;
    }
}

static test find_test(const ir_func *f, uint32_t loop)
{
    test t = {.f = f, .loop = loop, .at = find_while(f, loop), .fits = true};
    if (t.at)
        list_op(&t, f->inst.data[t.at].a);
    for (uint32_t id = t.at; id-- > loop + 1;) {
        ir_inst i = f->inst.data[id];
        if (!is_listed(&t, id))
            continue;
        t.fits &= ir_op_table[i.op].arity > 0;
        ir_each_operand(f, i, list_op, &t);
    }
    if (!t.fits)
        t.at = 0;
    return t;
}

/* The condition where the STATEs have these values. The ids of what stands before WHILE change. */
static uint32_t emit_test(spv_gen *g, spv_frame *frame, const test *t, const uint32_t *values)
{
    for (uint32_t k = frame->first[t->loop], n = 0; k; k = frame->next[k])
        frame->id[k] = values[n++];
    for (uint32_t id = t->loop + 1; id < t->at; id++)
        if (is_listed(t, id))
            spv_lower_inst(g, frame, id);
    return spv_operand(g, frame, frame->f->inst.data[t->at].a);
}

/* ---- lowering ---- */

void spv_lower_loop(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t before = g->block, top = spv_id(g);
    spv_region region = {.header = spv_id(g)};
    (void)inst;
    region.other = spv_id(g);
    region.merge = spv_id(g);
    for (uint32_t k = frame->first[id]; k; k = frame->next[k])
        spv_operand(g, frame, frame->f->inst.data[k].a);
    spv_branch(g, region.header);
    spv_begin_block(g, region.header);
    region.phis = g->section[SPV_BODY].count;
    array_push(&g->regions, region);
    for (uint32_t k = frame->first[id]; k; k = frame->next[k]) {
        ir_inst state = frame->f->inst.data[k];
        frame->id[k] =
            spv_phi(g, (ir_type)state.type, spv_operand(g, frame, state.a), before, 0, region.other);
    }
    SPV_EMIT(g, SPV_BODY, SpvOpLoopMerge, region.merge, region.other, SpvLoopControlMaskNone);
    spv_branch(g, top);
    spv_begin_block(g, top);
}

void spv_lower_while(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t condition = spv_operand(g, frame, inst.a), body = spv_id(g);
    (void)id;
    spv_innermost(g)->top = g->block;
    SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, condition, body, spv_innermost(g)->merge);
    spv_begin_block(g, body);
}

/* Ids of the next values of a loop's STATEs, which the header's phis receive. */
static uint32_t *patch_phis(spv_gen *g, spv_frame *frame, uint32_t loop, uint32_t phis)
{
    uint32_t count = 0, *next;
    for (uint32_t k = frame->first[loop]; k; k = frame->next[k])
        count++;
    next = arena_alloc(&g->arena, (count + 1u) * sizeof *next);
    for (uint32_t k = frame->first[loop], n = 0; k; k = frame->next[k], n++) {
        next[n] = spv_operand(g, frame, frame->f->inst.data[k].b);
        g->section[SPV_BODY].data[phis + n * PHI_WORDS + PHI_SECOND_VALUE] = next[n];
    }
    return next;
}

/* STATEs after a loop that is left at the top and at the bottom. */
static void merge_states(spv_gen *g, spv_frame *frame, uint32_t loop, uint32_t end, spv_region region,
                         const uint32_t *next)
{
    for (uint32_t k = frame->first[loop], at = region.phis + PHI_ID; k;
         k = frame->next[k], at += PHI_WORDS, next++)
        if (frame->last_use[k] > end)
            frame->id[k] = spv_phi(g, (ir_type)frame->f->inst.data[k].type, g->section[SPV_BODY].data[at],
                                   region.top, *next, region.other);
}

void spv_lower_endloop(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    spv_region region = *spv_innermost(g);
    uint32_t *next = patch_phis(g, frame, inst.a, region.phis);
    test t = find_test(frame->f, inst.a);
    uint32_t again = t.at ? emit_test(g, frame, &t, next) : 0;
    g->regions.count--;
    spv_branch(g, region.other);
    spv_begin_block(g, region.other);
    if (t.at)
        SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, again, region.header, region.merge);
    else
        spv_branch(g, region.header);
    spv_begin_block(g, region.merge);
    if (t.at)
        merge_states(g, frame, inst.a, id, region, next);
}
