/* SPDX-License-Identifier: BSD-3-Clause
 * IF and CALL as structured control flow (LOOP: loop.c).
 *
 *   IF       header: SelectionMerge, BranchConditional; then; else (left out where empty); merge: a phi per
 *            PHI
 *   CALL     SelectionMerge, Switch; a block per distinct target, with its body inlined; merge: a phi per
 *            RESULT.
 *            One distinct target needs no switch. The first target is also the default: a selector outside
 *            the range is
 *            undefined, and so costs no block.
 *            With branching_calls: a branch for each distinct target but the first, one in the else block of
 *            the other, each with a phi per result. Mesa makes of a switch branches of which it does not see
 *            that one is taken. So it keeps the results of the last time for the case that none is, through
 *            the loop around the call, in registers (docs/decisions/registers.md).
 *
 * A phi names the block that control comes from, which is where the branch ended (g->block), not where it
 * began. */
#include "spirv_gen/spv/module.h"
#include <stdlib.h>

uint32_t spv_phi(spv_gen *g, ir_type type, uint32_t value_1, uint32_t block_1, uint32_t value_2,
                 uint32_t block_2)
{
    BL_ASSERT(block_1 && block_2, "a phi from blocks %%%u and %%%u", block_1, block_2);
    return SPV_VALUE(g, SpvOpPhi, spv_type(g, type), value_1, block_1, value_2, block_2);
}

spv_region *spv_innermost(spv_gen *g)
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
    SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, condition, then_label,
             region.other ? region.other : region.merge);
    spv_begin_block(g, then_label);
}

void spv_lower_else(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    spv_region *region = spv_innermost(g);
    (void)frame, (void)id, (void)inst;
    BL_ASSERT(region->then_end == 0 && region->phis == 0, "a second ELSE, or one of a loop, at %%%u",
              region->header);
    region->then_end = g->block;
    spv_branch(g, region->merge);
    if (region->other)
        spv_begin_block(g, region->other);
}

void spv_lower_endif(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    spv_region region = *spv_innermost(g);
    uint32_t else_end = region.other ? g->block : region.header;
    (void)id;
    BL_ASSERT(region.then_end, "ENDIF of %%%u without an ELSE", inst.a);
    if (region.other)
        spv_branch(g, region.merge);
    g->regions.count--;
    spv_begin_block(g, region.merge);
    for (uint32_t k = frame->first[inst.a]; k; k = frame->next[k]) {
        ir_inst p = frame->f->inst.data[k];
        uint32_t then_value = spv_operand(g, frame, p.a), else_value = spv_operand(g, frame, p.b);
        frame->id[k] = spv_phi(g, (ir_type)p.type, then_value, region.then_end, else_value, else_end);
    }
}

/* ---- call ---- */

static spv_call plan_call(spv_gen *g, const uint32_t *targets, uint32_t target_count)
{
    spv_call call = {
        .cases = arena_alloc(&g->arena, target_count * sizeof *call.cases),
        .which = arena_alloc(&g->arena, target_count * sizeof *call.which),
        .target_count = target_count,
    };
    for (uint32_t i = 0; i < target_count; i++) {
        BL_ASSERT(targets[i] < g->m->functions.count, "function %u of %u", targets[i], g->m->functions.count);
        const ir_func *target = g->m->functions.data[targets[i]];
        uint32_t k = 0;
        while (k < call.count && call.cases[k].target != target)
            k++;
        call.which[i] = k;
        if (k == call.count) {
            call.cases[call.count].target = target;
            call.cases[call.count++].results =
                arena_alloc(&g->arena, (target->results.count + 1u) * sizeof(uint32_t));
        }
    }
    return call;
}

static void emit_switch(spv_gen *g, const spv_call *call, uint32_t selector, uint32_t merge)
{
    spv_stream words = {0};
    BL_ASSERT(call->count > 1 && call->which[0] == 0, "a switch of %u cases", call->count);
    array_push(&words, selector);
    array_push(&words, call->cases[0].label);
    for (uint32_t i = 0; i < call->target_count; i++) {
        if (call->which[i] == 0)
            continue;
        array_push(&words, i);
        array_push(&words, call->cases[call->which[i]].label);
    }
    SPV_EMIT(g, SPV_BODY, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
    spv_emit(g, SPV_BODY, SpvOpSwitch, words.data, words.count);
    array_free(&words);
}

static void emit_cases(spv_gen *g, spv_call *call, const uint32_t *args, uint32_t merge)
{
    for (uint32_t i = 0; i < call->count && g->error.code == BL_OK; i++) {
        spv_call_case *c = &call->cases[i];
        spv_begin_block(g, c->label);
        spv_lower_function(g, c->target, args, c->results);
        c->end = g->block;
        spv_branch(g, merge);
    }
    spv_begin_block(g, merge);
}

/* Whether the selector asks for a target of this case. */
static uint32_t is_case(spv_gen *g, const spv_call *call, uint32_t k, uint32_t selector)
{
    uint32_t is = 0, yes_no = spv_type(g, IR_BOOL);
    for (uint32_t i = 0; i < call->target_count; i++) {
        if (call->which[i] != k)
            continue;
        uint32_t number = spv_u32(g, i), equal = SPV_VALUE(g, SpvOpIEqual, yes_no, selector, number);
        is = is ? SPV_VALUE(g, SpvOpLogicalOr, yes_no, is, equal) : equal;
    }
    return is;
}

/* Case k or the ones before it, of which one is taken, and its results. */
static void emit_branches(spv_gen *g, const spv_call *call, uint32_t k, uint32_t selector,
                          const uint32_t *args, uint32_t *results)
{
    const ir_func *target = call->cases[k].target;
    if (k == 0) {
        spv_lower_function(g, target, args, results);
        return;
    }
    uint32_t condition = is_case(g, call, k, selector), then_label = spv_id(g), other = spv_id(g),
             merge = spv_id(g), *own = call->cases[k].results;
    SPV_EMIT(g, SPV_BODY, SpvOpSelectionMerge, merge, SpvSelectionControlMaskNone);
    SPV_EMIT(g, SPV_BODY, SpvOpBranchConditional, condition, then_label, other);
    spv_begin_block(g, then_label);
    spv_lower_function(g, target, args, own);
    uint32_t then_end = g->block;
    spv_branch(g, merge);
    spv_begin_block(g, other);
    emit_branches(g, call, k - 1, selector, args, results);
    uint32_t other_end = g->block;
    spv_branch(g, merge);
    spv_begin_block(g, merge);
    for (uint32_t n = 0; n < target->results.count && g->error.code == BL_OK; n++)
        results[n] =
            spv_phi(g, ir_type_of(target, target->results.data[n]), own[n], then_end, results[n], other_end);
}

spv_call spv_emit_call(spv_gen *g, const uint32_t *targets, uint32_t target_count, uint32_t selector,
                       const uint32_t *args)
{
    spv_call call = plan_call(g, targets, target_count);
    if (g->options.branching_calls) {
        emit_branches(g, &call, call.count - 1, selector, args, call.cases[0].results);
        call.count = 1; /* phis have been made of the results */
        return call;
    }
    if (call.count == 1) {
        spv_lower_function(g, call.cases[0].target, args, call.cases[0].results);
        return call;
    }
    for (uint32_t i = 0; i < call.count; i++)
        call.cases[i].label = spv_id(g);
    uint32_t merge = spv_id(g);
    emit_switch(g, &call, selector, merge);
    emit_cases(g, &call, args, merge);
    return call;
}

uint32_t spv_call_result(spv_gen *g, const spv_call *call, uint32_t k, ir_type type)
{
    spv_stream words = {0};
    uint32_t id;
    BL_ASSERT(k < call->cases[0].target->results.count, "result %u of \"%s\"", k,
              call->cases[0].target->name);
    if (call->count == 1)
        return call->cases[0].results[k];
    for (uint32_t i = 0; i < call->count; i++) {
        array_push(&words, call->cases[i].results[k]);
        array_push(&words, call->cases[i].end);
    }
    id = spv_emit_value(g, SPV_BODY, SpvOpPhi, spv_type(g, type), words.data, words.count);
    array_free(&words);
    return id;
}

void spv_lower_call(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    ir_operands operands = ir_call_operands(frame->f, inst);
    uint32_t *args = arena_alloc(&g->arena, (operands.arg_count + 1u) * sizeof *args);
    for (uint32_t i = 0; i < operands.arg_count; i++)
        args[i] = spv_operand(g, frame, operands.args[i]);
    uint32_t selector = spv_operand(g, frame, inst.a);
    spv_call call = spv_emit_call(g, operands.targets, operands.target_count, selector, args);
    for (uint32_t k = frame->first[id]; k && g->error.code == BL_OK; k = frame->next[k])
        frame->id[k] =
            spv_call_result(g, &call, frame->f->inst.data[k].b, (ir_type)frame->f->inst.data[k].type);
}
