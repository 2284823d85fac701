/* SPDX-License-Identifier: BSD-3-Clause
 * IF, LOOP and CALL as structured control flow.
 *
 *   IF       header: SelectionMerge, BranchConditional; then; else (left out where empty); merge: a phi per PHI
 *   LOOP     header: a phi per STATE, LoopMerge; test: BranchConditional body, merge; body; continue; merge
 *   CALL     SelectionMerge, Switch; a block per distinct target, with its body inlined; merge: a phi per RESULT.
 *            One distinct target needs no switch. The first target is also the default: a selector outside the range is
 *            undefined, and so costs no block.
 *
 * A phi names the block that control comes from, which is where the branch ended (g->block), not where it began. A STATE
 * dominates the merge block of its loop, because the header does, so its id serves after the loop too. The next values of
 * STATEs are not known in the header: their phis are patched at ENDLOOP. */
#include "spirv_gen/spv/module.h"
#include <stdlib.h>

enum { PHI_WORDS = 7, PHI_SECOND_VALUE = 5 }; /* op, type, id, value, block, value, block */

static uint32_t phi(spv_gen *g, ir_type type, uint32_t value_1, uint32_t block_1, uint32_t value_2, uint32_t block_2)
{
    return SPV_VALUE(g, SpvOpPhi, spv_type(g, type), value_1, block_1, value_2, block_2);
}

static spv_region *innermost(spv_gen *g)
{
    BL_ASSERT(g->regions.count > 0, "region closed that was never opened in \"%s\"", g->m->entry->name);
    return &g->regions.data[g->regions.count - 1];
}

/* ---- if ---- */

void spv_lower_if(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t condition = spv_operand(g, frame, inst.a), then_label = spv_id(g);
    spv_region region = {.header = g->block};
    region.other = frame->empty_else[id] ? 0 : spv_id(g);
    region.merge = spv_id(g);
    array_push(&g->regions, region);
    SPV_EMIT(g, SPV_BODY, SpvOpSelectionMerge, region.merge, SpvSelectionControlMaskNone);
    SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, condition, then_label, region.other ? region.other : region.merge);
    spv_begin_block(g, then_label);
}

void spv_lower_else(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    spv_region *region = innermost(g);
    (void)frame, (void)id, (void)inst;
    region->then_end = g->block;
    spv_branch(g, region->merge);
    if (region->other)
        spv_begin_block(g, region->other);
}

void spv_lower_endif(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    spv_region region = *innermost(g);
    uint32_t else_end = region.other ? g->block : region.header;
    (void)id;
    if (region.other)
        spv_branch(g, region.merge);
    g->regions.count--;
    spv_begin_block(g, region.merge);
    for (uint32_t k = frame->first[inst.a]; k; k = frame->next[k]) {
        ir_inst p = frame->f->inst.data[k];
        uint32_t then_value = spv_operand(g, frame, p.a), else_value = spv_operand(g, frame, p.b);
        frame->id[k] = phi(g, (ir_type)p.type, then_value, region.then_end, else_value, else_end);
    }
}

/* ---- loop ---- */

void spv_lower_loop(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t before = g->block, test = spv_id(g);
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
        frame->id[k] = phi(g, (ir_type)state.type, spv_operand(g, frame, state.a), before, 0, region.other);
    }
    SPV_EMIT(g, SPV_BODY, SpvOpLoopMerge, region.merge, region.other, SpvLoopControlMaskNone);
    spv_branch(g, test);
    spv_begin_block(g, test);
}

void spv_lower_while(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    uint32_t condition = spv_operand(g, frame, inst.a), body = spv_id(g);
    (void)id;
    SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, condition, body, innermost(g)->merge);
    spv_begin_block(g, body);
}

void spv_lower_endloop(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    spv_region region = *innermost(g);
    uint32_t at = region.phis + PHI_SECOND_VALUE;
    (void)id;
    g->regions.count--;
    for (uint32_t k = frame->first[inst.a]; k; k = frame->next[k], at += PHI_WORDS)
        g->section[SPV_BODY].data[at] = spv_operand(g, frame, frame->f->inst.data[k].b);
    spv_branch(g, region.other);
    spv_begin_block(g, region.other);
    spv_branch(g, region.header);
    spv_begin_block(g, region.merge);
}

/* ---- call ---- */

typedef struct call_case {
    const ir_func *target;
    uint32_t label, end; /* blocks where the inlined body begins and ends */
    uint32_t *results;
} call_case;

typedef struct call_plan {
    call_case *cases; /* distinct targets */
    uint32_t *which;  /* case of each target */
    uint32_t count;
    uint32_t *args;
} call_plan;

static call_plan plan_call(spv_gen *g, spv_frame *frame, ir_operands operands)
{
    call_plan plan = {.cases = arena_alloc(&g->arena, operands.target_count * sizeof *plan.cases),
                      .which = arena_alloc(&g->arena, operands.target_count * sizeof *plan.which),
                      .args = arena_alloc(&g->arena, (operands.arg_count + 1u) * sizeof *plan.args)};
    for (uint32_t i = 0; i < operands.target_count; i++) {
        const ir_func *target = g->m->functions.data[operands.targets[i]];
        uint32_t k = 0;
        while (k < plan.count && plan.cases[k].target != target)
            k++;
        plan.which[i] = k;
        if (k == plan.count) {
            plan.cases[plan.count].target = target;
            plan.cases[plan.count++].results = arena_alloc(&g->arena, (target->results.count + 1u) * sizeof(uint32_t));
        }
    }
    for (uint32_t i = 0; i < operands.arg_count; i++)
        plan.args[i] = spv_operand(g, frame, operands.args[i]);
    return plan;
}

static void emit_switch(spv_gen *g, const call_plan *plan, uint32_t target_count, uint32_t selector, uint32_t merge)
{
    spv_stream words = {0};
    array_push(&words, selector);
    array_push(&words, plan->cases[0].label);
    for (uint32_t i = 0; i < target_count; i++) {
        if (plan->which[i] == 0)
            continue;
        array_push(&words, i);
        array_push(&words, plan->cases[plan->which[i]].label);
    }
    SPV_EMIT(g, SPV_BODY, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
    spv_emit(g, SPV_BODY, SpvOpSwitch, words.data, words.count);
    array_free(&words);
}

static void emit_cases(spv_gen *g, call_plan *plan, uint32_t merge)
{
    for (uint32_t i = 0; i < plan->count && g->error.code == BL_OK; i++) {
        call_case *c = &plan->cases[i];
        spv_begin_block(g, c->label);
        spv_lower_function(g, c->target, plan->args, c->results);
        c->end = g->block;
        spv_branch(g, merge);
    }
    spv_begin_block(g, merge);
}

/* The phi of one RESULT: a value and a block per case. */
static uint32_t result_phi(spv_gen *g, const call_plan *plan, ir_inst result)
{
    spv_stream words = {0};
    uint32_t id;
    for (uint32_t i = 0; i < plan->count; i++) {
        array_push(&words, plan->cases[i].results[result.b]);
        array_push(&words, plan->cases[i].end);
    }
    id = spv_emit_value(g, SPV_BODY, SpvOpPhi, spv_type(g, (ir_type)result.type), words.data, words.count);
    array_free(&words);
    return id;
}

static void call_one(spv_gen *g, spv_frame *frame, uint32_t id, call_plan *plan)
{
    spv_lower_function(g, plan->cases[0].target, plan->args, plan->cases[0].results);
    for (uint32_t k = frame->first[id]; k; k = frame->next[k])
        frame->id[k] = plan->cases[0].results[frame->f->inst.data[k].b];
}

void spv_lower_call(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    ir_operands operands = ir_call_operands(frame->f, inst);
    call_plan plan = plan_call(g, frame, operands);
    uint32_t selector, merge;
    if (plan.count == 1) {
        call_one(g, frame, id, &plan);
        return;
    }
    selector = spv_operand(g, frame, inst.a);
    for (uint32_t i = 0; i < plan.count; i++)
        plan.cases[i].label = spv_id(g);
    merge = spv_id(g);
    emit_switch(g, &plan, operands.target_count, selector, merge);
    emit_cases(g, &plan, merge);
    for (uint32_t k = frame->first[id]; k && g->error.code == BL_OK; k = frame->next[k])
        frame->id[k] = result_phi(g, &plan, frame->f->inst.data[k]);
}
