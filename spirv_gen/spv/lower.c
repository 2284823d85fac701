/* SPDX-License-Identifier: BSD-3-Clause
 * Walks a function of a trace and lowers each instruction through a table. Value ops are 1:1 by the spv
 * columns of ops.def, with four exceptions that SPIR-V makes necessary:
 *   - shift counts are taken modulo 32, as the interpreter does (SPIR-V leaves 32 and more undefined);
 *   - bool to number is a select;
 *   - a conversion or bit cast of a type to itself is its operand;
 *   - f32 arithmetic is decorated NoContraction, so that no a*b+c becomes a fused multiply-add that rounds
 *     once.
 * Constants, parameters, uniforms and the invocation index have no place in the trace that matters: they are
 * made when an operand asks for them, in sections that precede every block. */
#include "spirv_gen/spv/module.h"
#include <stdlib.h>

/* ---- operands ---- */

static uint32_t floating_value(spv_gen *g, const spv_frame *frame, ir_inst inst)
{
    switch (inst.op) {
    case IR_CONST:
        return spv_const(g, (ir_type)inst.type, inst.a);
    case IR_UNIFORM:
        return spv_uniform(g, (ir_type)inst.type, inst.a);
    case IR_GLOBAL_ID:
        return spv_global_id(g);
    case IR_PARAM:
        return frame->args[inst.a];
    default:
        return 0;
    }
}

uint32_t spv_operand(spv_gen *g, spv_frame *frame, uint32_t ref)
{
    BL_ASSERT(ref < frame->f->inst.count, "%%%u of \"%s\", which has %u instructions", ref, frame->f->name,
              frame->f->inst.count);
    ir_inst inst = frame->f->inst.data[ref];
    if (frame->id[ref] == 0)
        frame->id[ref] = floating_value(g, frame, inst);
    if (frame->id[ref] == 0)
        spv_fail(g, "spv: function \"%s\": %%%u (%s) has no value where it is used", frame->f->name, ref,
                 ir_op_table[inst.op].name);
    return frame->id[ref];
}

/* ---- blocks ---- */

void spv_begin_block(spv_gen *g, uint32_t label)
{
    BL_ASSERT(label > 0 && label <= g->last_id && label != g->block, "a block of label %%%u inside %%%u",
              label, g->block);
    SPV_EMIT(g, SPV_BODY, SpvOpLabel, label);
    g->block = label;
    g->quads.count = 0;
}

void spv_branch(spv_gen *g, uint32_t label)
{
    BL_ASSERT(label > 0 && label <= g->last_id, "a branch to label %%%u", label);
    SPV_EMIT(g, SPV_BODY, SpvOpBranch, label);
}

/* ---- value ops ---- */

static uint32_t bool_to_number(spv_gen *g, ir_type type, uint32_t value)
{
    uint32_t one = spv_const(g, type, type == IR_F32 ? 0x3f800000u : 1u), zero = spv_const(g, type, 0);
    return SPV_VALUE(g, SpvOpSelect, spv_type(g, type), value, one, zero);
}

static uint32_t shift_count(spv_gen *g, spv_frame *frame, uint32_t ref)
{
    ir_inst count = frame->f->inst.data[ref];
    uint32_t value, mask = spv_u32(g, count.op == IR_CONST ? count.a & 31u : 31u);
    if (count.op == IR_CONST)
        return mask;
    value = spv_operand(g, frame, ref);
    return SPV_VALUE(g, SpvOpBitwiseAnd, spv_type(g, IR_U32), value, mask);
}

static uint32_t core_op(spv_gen *g, spv_frame *frame, ir_inst inst, uint32_t opcode, uint32_t *operands)
{
    const ir_op_info *info = &ir_op_table[inst.op];
    uint32_t id;
    if (info->rule == IR_RULE_SHIFT)
        operands[1] = shift_count(g, frame, inst.b);
    id = spv_emit_value(g, SPV_BODY, (SpvOp)opcode, spv_type(g, (ir_type)inst.type), operands, info->arity);
    if (inst.type == IR_F32 && info->rule == IR_RULE_NUM)
        SPV_EMIT(g, SPV_DECORATIONS, SpvOpDecorate, id, SpvDecorationNoContraction);
    return id;
}

static uint32_t glsl_op(spv_gen *g, ir_inst inst, uint32_t instruction, const uint32_t *operands)
{
    uint32_t words[5] = {spv_glsl(g), instruction, operands[0], operands[1], operands[2]};
    return spv_emit_value(g, SPV_BODY, SpvOpExtInst, spv_type(g, (ir_type)inst.type), words,
                          2u + ir_op_table[inst.op].arity);
}

static bool is_identity(ir_inst inst, ir_type operand)
{
    uint8_t rule = ir_op_table[inst.op].rule;
    bool converts =
        rule == IR_RULE_TO_I32 || rule == IR_RULE_TO_U32 || rule == IR_RULE_TO_F32 || rule == IR_RULE_BITS_U;
    return converts && inst.type == operand;
}

static void lower_value(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    const ir_func *f = frame->f;
    const uint32_t refs[3] = {inst.a, inst.b, inst.c};
    ir_type operand = ir_type_of(f, (ir_ref){inst.op == IR_SELECT ? inst.b : inst.a});
    spv_opcode opcode = spv_opcode_of((ir_op)inst.op, operand);
    uint32_t ids[3] = {0}, value = 0;
    for (unsigned i = 0; i < ir_op_table[inst.op].arity; i++)
        ids[i] = spv_operand(g, frame, refs[i]);
    const bool corrected = g->options.rounding != SPV_ROUNDING_OWN && !g->m->doubles;
    const bool by_words = g->options.rounding == SPV_ROUNDING_WORDS;
    const uint8_t rule = ir_op_table[inst.op].rule;
    if (is_identity(inst, operand))
        value = ids[0];
    else if (g->m->doubles && rule == IR_RULE_TO_F32 && operand != IR_BOOL)
        value = spv_double_of_integer(g, (SpvOp)opcode.code, ids[0]);
    else if (g->m->doubles && rule == IR_RULE_BITS_F)
        value = spv_double_of_word(g, SPV_BODY, ids[0]);
    else if (g->m->doubles && rule == IR_RULE_BITS_U && operand == IR_F32)
        value = spv_word_of_double(g, ids[0]);
    else if (corrected && inst.type == IR_F32 && inst.op == IR_DIV)
        value = by_words ? spv_words_div(g, ids[0], ids[1]) : spv_rounded_div(g, ids[0], ids[1]);
    else if (corrected && inst.op == IR_SQRT)
        value = by_words ? spv_words_sqrt(g, ids[0]) : spv_rounded_sqrt(g, ids[0]);
    else if (opcode.form == SPV_FORM_CORE)
        value = core_op(g, frame, inst, opcode.code, ids);
    else if (opcode.form == SPV_FORM_GLSL)
        value = glsl_op(g, inst, opcode.code, ids);
    else if (opcode.form == SPV_FORM_LOWER && operand == IR_BOOL && inst.type != IR_BOOL)
        value = bool_to_number(g, (ir_type)inst.type, ids[0]);
    else
        spv_fail(g, "spv: function \"%s\": %%%u %s of %s should have been lowered by a pass", f->name, id,
                 ir_op_table[inst.op].name, ir_type_names[operand]);
    frame->id[id] = value;
    spv_note_index(g, frame, inst, value);
    if (value && value != ids[0])
        spv_name(g, value, ir_op_table[inst.op].name);
}

/* Handled where their IF, LOOP or CALL is, or where an operand asks for them. */
static void lower_nothing(spv_gen *g, spv_frame *frame, uint32_t id, ir_inst inst)
{
    (void)g, (void)frame, (void)id, (void)inst;
}

/* ---- the walk ---- */

static const spv_lower lowerings[IR_OP_COUNT] = {
    [IR_NOP] = lower_nothing,
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint)                   \
    [IR_##NAME] = lower_value,
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint)
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
    [IR_CONST] = lower_nothing,
    [IR_PARAM] = lower_nothing,
    [IR_UNIFORM] = lower_nothing,
    [IR_GLOBAL_ID] = lower_nothing,
    [IR_IF] = spv_lower_if,
    [IR_ELSE] = spv_lower_else,
    [IR_ENDIF] = spv_lower_endif,
    [IR_PHI] = lower_nothing,
    [IR_LOOP] = spv_lower_loop,
    [IR_STATE] = lower_nothing,
    [IR_WHILE] = spv_lower_while,
    [IR_ENDLOOP] = spv_lower_endloop,
    [IR_CALL] = spv_lower_call,
    [IR_RESULT] = lower_nothing,
    [IR_RAY_CLOSEST] = spv_lower_ray,
    [IR_RAY_ANY] = spv_lower_ray,
    [IR_LOAD] = spv_lower_load,
    [IR_DLOAD] = spv_lower_load,
    [IR_STORE] = spv_lower_store,
    [IR_ATOMIC_ADD] = spv_lower_atomic_add,
    [IR_ATOMIC_CAS] = spv_lower_atomic_cas,
    [IR_LOCAL] = spv_lower_local,
    [IR_LLOAD] = spv_lower_lload,
    [IR_LSTORE] = spv_lower_lstore,
};

static uint32_t owner_of(ir_inst inst)
{
    switch (inst.op) {
    case IR_PHI:
    case IR_STATE:
        return inst.c;
    case IR_RESULT:
        return inst.a;
    default:
        return 0;
    }
}

static void link_members(spv_frame *frame)
{
    const ir_func *f = frame->f;
    for (uint32_t i = 1; i < f->inst.count; i++) {
        uint32_t owner = owner_of(f->inst.data[i]);
        if (owner == 0)
            continue;
        if (frame->last[owner])
            frame->next[frame->last[owner]] = i;
        else
            frame->first[owner] = i;
        frame->last[owner] = i;
    }
}

/* An else-branch that holds nothing but constants and their kind needs no block. */
static void find_empty_branches(spv_frame *frame)
{
    const ir_func *f = frame->f;
    for (uint32_t i = 1; i < f->inst.count; i++) {
        uint32_t end = i + 1;
        if (f->inst.data[i].op != IR_ELSE)
            continue;
        while (end < f->inst.count && ir_op_table[f->inst.data[end].op].effect == IR_EFFECT_FLOAT)
            end++;
        if (end < f->inst.count && f->inst.data[end].op == IR_ENDIF)
            frame->empty_else[f->inst.data[i].a] = 1;
    }
}

typedef struct use {
    spv_frame *frame;
    uint32_t by;
} use;

static void note_use(void *user, uint32_t ref)
{
    use *u = user;
    u->frame->last_use[ref] = u->by;
}

/* Next values of STATEs are used by ENDLOOP. */
static void find_last_uses(spv_frame *frame)
{
    const ir_inst *inst = frame->f->inst.data;
    use u = {.frame = frame};
    for (u.by = 1; u.by < frame->f->inst.count; u.by++) {
        if (inst[u.by].op == IR_STATE)
            note_use(&u, inst[u.by].a);
        else
            ir_each_operand(frame->f, inst[u.by], note_use, &u);
        for (uint32_t k = inst[u.by].op == IR_ENDLOOP ? frame->first[inst[u.by].a] : 0; k; k = frame->next[k])
            note_use(&u, inst[k].b);
    }
    for (uint32_t i = 0; i < frame->f->results.count; i++)
        frame->last_use[frame->f->results.data[i].id] = u.by;
}

void spv_lower_inst(spv_gen *g, spv_frame *frame, uint32_t id)
{
    ir_inst inst = frame->f->inst.data[id];
    if (lowerings[inst.op])
        lowerings[inst.op](g, frame, id, inst);
    else
        spv_fail(g, "spv: function \"%s\": %%%u %s should have been lowered by a pass", frame->f->name, id,
                 ir_op_table[inst.op].name);
}

void spv_lower_function(spv_gen *g, const ir_func *f, const uint32_t *args, uint32_t *results)
{
    uint32_t count = f->inst.count, *memory = memory_need_zeroed(6u * (size_t)count, sizeof *memory);
    BL_ASSERT(memory != NULL, "frame of %u instructions", count);
    BL_ASSERT(f->finished && (args || !f->params.count), "\"%s\" is lowered unfinished, or without arguments",
              f->name);
    spv_frame frame = {
        .f = f,
        .args = args,
        .id = memory,
        .first = memory + count,
        .next = memory + 2u * (size_t)count,
        .last = memory + 3u * (size_t)count,
        .empty_else = memory + 4u * (size_t)count,
        .last_use = memory + 5u * (size_t)count,
    };
    link_members(&frame);
    find_empty_branches(&frame);
    find_last_uses(&frame);
    for (uint32_t i = 1; i < count && g->error.code == BL_OK; i++)
        spv_lower_inst(g, &frame, i);
    for (uint32_t i = 0; i < f->results.count && g->error.code == BL_OK; i++)
        results[i] = spv_operand(g, &frame, f->results.data[i].id);
    memory_free(memory);
}
