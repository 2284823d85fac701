/* SPDX-License-Identifier: BSD-3-Clause
 * This file makes operands of values: it knows where values are, loads those that an instruction cannot read
 * where they are, and brings results to their places. AVX-512 broadcasts a uniform value as it reads it; AVX2
 * needs an instruction for that. */
#include "spirv_gen/x86/lanes.h"

#include <string.h>

void x86_vector(x86_gen *g, ZydisMnemonic mnemonic, const x86_operand *operands, size_t count)
{
    x86_lanes_written lanes = {.takes_mask = g->target == X86_AVX512};
    x86_put(&g->code, mnemonic, lanes, operands, (uint32_t)count);
}

x86_operand x86_word(const x86_gen *g, uint32_t at, uint32_t bytes)
{
    (void)g;
    return x86_at(ZYDIS_REGISTER_RBX, (int64_t)at - X86_BIAS, bytes);
}

x86_operand x86_slot(const x86_gen *g, uint32_t at, uint32_t bytes)
{
    if (at == X86_GLOBAL_ID)
        return x86_temporary(g, X86_TEMPORARIES);
    return x86_at(ZYDIS_REGISTER_RBP, at, bytes);
}

x86_operand x86_temporary(const x86_gen *g, uint32_t k)
{
    return x86_at(ZYDIS_REGISTER_R9, (int64_t)k * g->bytes, g->bytes);
}

static x86_operand register_of(uint32_t bytes, uint32_t reg)
{
    ZydisRegister first = bytes == 64   ? ZYDIS_REGISTER_ZMM0
                          : bytes == 32 ? ZYDIS_REGISTER_YMM0
                                        : ZYDIS_REGISTER_XMM0;
    return x86_reg((ZydisRegister)(first + reg));
}

x86_operand x86_v(const x86_gen *g, uint32_t reg) { return register_of(g->bytes, reg); }

x86_operand x86_r(const x86_gen *g, uint32_t reg) { return register_of(g->slot, reg); }

uint32_t x86_vector_bytes(const x86_gen *g, ir_type type) { return type == IR_F32 ? g->slot : g->bytes; }

x86_operand x86_register(const x86_gen *g, ir_type type, uint32_t reg)
{
    return register_of(x86_vector_bytes(g, type), reg);
}

static ir_type type_of(const x86_gen *g, uint32_t id) { return ir_type_of(g->fn->f, (ir_ref){id}); }

/* The value is a vector of doubles. */
static bool is_double(const x86_gen *g, uint32_t id) { return g->doubles && type_of(g, id) == IR_F32; }

static const x86_value *value_of(const x86_gen *g, uint32_t id) { return &g->fn->values[id]; }

bool x86_in_register(const x86_gen *g, uint32_t id) { return value_of(g, id)->in_register; }

bool x86_wanted(const x86_gen *g, uint32_t id)
{
    const x86_value *v = value_of(g, id);
    return v->place == X86_WORD || v->in_register || v->named;
}

/* ---- vectors ---- */

static void broadcast_to(x86_gen *g, uint32_t reg, uint32_t at, bool two_words)
{
    if (two_words)
        VEC(g, VBROADCASTSD, x86_r(g, reg), x86_word(g, at, 8));
    else
        VEC(g, VBROADCASTSS, x86_v(g, reg), x86_word(g, at, 4));
}

static x86_operand broadcast(x86_gen *g, uint32_t at, bool two_words, uint32_t scratch)
{
    x86_operand word = x86_word(g, at, two_words ? 8 : 4);
    if (g->target == X86_AVX512) {
        word.broadcast = true;
        return word;
    }
    broadcast_to(g, scratch, at, two_words);
    return two_words ? x86_r(g, scratch) : x86_v(g, scratch);
}

x86_operand x86_constant_source(x86_gen *g, uint32_t bits, uint32_t scratch)
{
    return broadcast(g, x86_constant(g, bits), false, scratch);
}

x86_operand x86_double_source(x86_gen *g, uint64_t bits, uint32_t scratch)
{
    return broadcast(g, x86_constant_double(g, bits), true, scratch);
}

/* The place of a constant of the type of the module's reals. */
static uint32_t real_place(x86_gen *g, float value)
{
    const double twice = (double)value;
    uint32_t word;
    uint64_t two_words;
    memcpy(&word, &value, sizeof word), memcpy(&two_words, &twice, sizeof two_words);
    return g->doubles ? x86_constant_double(g, two_words) : x86_constant(g, word);
}

x86_operand x86_real_source(x86_gen *g, float value, uint32_t scratch)
{
    return broadcast(g, real_place(g, value), g->doubles, scratch);
}

void x86_load_real(x86_gen *g, uint32_t reg, float value)
{
    broadcast_to(g, reg, real_place(g, value), g->doubles);
}

x86_operand x86_source(x86_gen *g, uint32_t id, uint32_t scratch)
{
    const x86_value *v = value_of(g, id);
    if (v->place == X86_WORD)
        return broadcast(g, v->at, is_double(g, id), scratch);
    BL_ASSERT(v->place == X86_VECTOR && (v->in_register || v->named), "%%%u of \"%s\" has no place", id,
              g->fn->f->name);
    return v->in_register ? x86_register(g, type_of(g, id), v->reg)
                          : x86_slot(g, v->at, x86_vector_bytes(g, type_of(g, id)));
}

void x86_load_to(x86_gen *g, uint32_t reg, uint32_t id)
{
    const x86_value *v = value_of(g, id);
    ir_inst inst = g->fn->f->inst.data[id];
    x86_operand to = x86_register(g, (ir_type)inst.type, reg);
    if (inst.op == IR_CONST && inst.a == 0)
        VEC(g, VXORPS, to, to, to);
    else if (v->place == X86_WORD)
        broadcast_to(g, reg, v->at, is_double(g, id));
    else if (!v->in_register)
        VEC(g, VMOVUPS, to, x86_source(g, id, reg));
    else if (v->reg != reg)
        VEC(g, VMOVAPS, to, x86_register(g, (ir_type)inst.type, v->reg));
}

uint32_t x86_source_register(x86_gen *g, uint32_t id, uint32_t scratch)
{
    if (x86_in_register(g, id))
        return value_of(g, id)->reg;
    x86_load_to(g, scratch, id);
    return scratch;
}

uint32_t x86_destination(const x86_gen *g, uint32_t id)
{
    return x86_in_register(g, id) ? value_of(g, id)->reg : 0;
}

void x86_finish(x86_gen *g, uint32_t id, uint32_t reg)
{
    const x86_value *v = value_of(g, id);
    const ir_type type = type_of(g, id);
    x86_operand from = x86_register(g, type, reg), xmm = x86_reg((ZydisRegister)(ZYDIS_REGISTER_XMM0 + reg));
    if (v->place == X86_WORD && is_double(g, id))
        GP(g, VMOVQ, x86_word(g, v->at, 8), xmm);
    else if (v->place == X86_WORD)
        GP(g, VMOVD, x86_word(g, v->at, 4), xmm);
    else if (!v->in_register)
        VEC(g, VMOVUPS, x86_slot(g, v->at, x86_vector_bytes(g, type)), from);
    else if (v->reg != reg)
        VEC(g, VMOVAPS, x86_register(g, type, v->reg), from);
}

/* ---- masks ---- */

uint32_t x86_mask_source(x86_gen *g, uint32_t id, uint32_t scratch)
{
    const x86_value *v = value_of(g, id);
    ir_inst inst = g->fn->f->inst.data[id];
    uint32_t mask = x86_mask_scratch(g, scratch);
    if (inst.op == IR_CONST)
        x86_mask_set(g, mask, inst.a != 0);
    else if (v->place == X86_WORD)
        x86_mask_word(g, mask, x86_word(g, v->at, 4));
    else if (v->in_register)
        return v->reg;
    else
        x86_mask_read(g, mask, x86_slot(g, v->at, x86_mask_bytes(g)));
    return mask;
}

uint32_t x86_mask_destination(const x86_gen *g, uint32_t id)
{
    return x86_in_register(g, id) ? value_of(g, id)->reg : x86_mask_scratch(g, 0);
}

void x86_mask_finish(x86_gen *g, uint32_t id, uint32_t mask)
{
    const x86_value *v = value_of(g, id);
    if (v->place == X86_WORD)
        x86_mask_to_word(g, x86_word(g, v->at, 4), mask);
    else if (v->in_register)
        x86_mask_move(g, v->reg, mask);
    else
        x86_mask_write(g, x86_slot(g, v->at, x86_mask_bytes(g)), mask);
}
