/* SPDX-License-Identifier: BSD-3-Clause
 * Loads. Gathers take most of a renderer's time on CPUs, so this file avoids them in three ways. Where all
 * lanes have the same index, one broadcast loads the word. Loads of neighbouring words, which load_groups.c
 * finds, become one read of 16 bytes per lane and a transposition. Elsewhere the code tests whether all
 * running lanes have the same index, and broadcasts if they do. */
#include "spirv_gen/x86/lanes.h"

enum { WORD_BYTES = 4 };

ZydisRegister x86_buffer(x86_gen *g, uint32_t buffer)
{
    for (uint32_t k = 0; k < X86_FIXED_BUFFERS; k++)
        if (g->fixed_buffer[k] == buffer)
            return x86_fixed_register(k);
    GP(g, MOV, x86_reg(ZYDIS_REGISTER_R8), x86_word(g, X86_WORKSPACE_BUFFERS + 8 * buffer, 8));
    return ZYDIS_REGISTER_R8;
}

/* The word of a buffer at an index that is the same for all lanes. */
static x86_operand uniform_word(x86_gen *g, uint32_t buffer, uint32_t index)
{
    ir_inst inst = g->fn->f->inst.data[index];
    ZydisRegister base = x86_buffer(g, buffer);
    if (inst.op == IR_CONST && inst.a < 1u << 28)
        return x86_at(base, (int64_t)WORD_BYTES * inst.a, WORD_BYTES);
    GP(g, MOV, ECX, x86_word(g, g->fn->values[index].at, WORD_BYTES));
    return x86_indexed(base, ZYDIS_REGISTER_RCX, WORD_BYTES, 0, WORD_BYTES);
}

/* Stores the indices as temporary 0 and reads that of the first running lane into eax. */
static void first_index(x86_gen *g, uint32_t index)
{
    VEC(g, VMOVUPS, x86_temporary(g, 0), x86_v(g, index));
    x86_mask_bits(g, ZYDIS_REGISTER_ECX, x86_active(g));
    GP(g, TZCNT, ECX, ECX);
    GP(g, AND, ECX, x86_imm(g->lanes - 1)); /* TZCNT gives 32 if no lane runs */
    GP(g, MOVSXD, RAX, x86_indexed(ZYDIS_REGISTER_R9, ZYDIS_REGISTER_RCX, WORD_BYTES, 0, WORD_BYTES));
}

/* Jumps to `differ` unless all running lanes have the index in eax, and broadcasts it to vector 2. */
static void test_one_index(x86_gen *g, uint32_t index, uint32_t differ)
{
    uint32_t m = x86_mask_scratch(g, 0);
    GP(g, VMOVD, x86_reg(ZYDIS_REGISTER_XMM2), EAX);
    VEC(g, VPBROADCASTD, x86_v(g, 2), x86_reg(ZYDIS_REGISTER_XMM2));
    x86_compare_lanes(g, m, IR_U32, X86_UNEQUAL, 2, x86_v(g, index));
    x86_mask_and(g, m, m, x86_active(g));
    x86_mask_test(g, m);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNZ, differ);
}

static void gather_load(x86_gen *g, uint32_t id, ir_inst inst)
{
    uint32_t index = x86_source_register(g, inst.a, 1), to = x86_destination(g, id);
    uint32_t differ = x86_label(&g->code), out = x86_label(&g->code);
    if (to == index)
        to = 0;
    ZydisRegister base = x86_buffer(g, inst.b);
    first_index(g, index);
    test_one_index(g, index, differ);
    VEC(g, VBROADCASTSS, x86_v(g, to), x86_indexed(base, ZYDIS_REGISTER_RAX, WORD_BYTES, 0, WORD_BYTES));
    x86_jump(&g->code, ZYDIS_MNEMONIC_JMP, out);
    x86_bind(&g->code, differ);
    x86_gather(g, to, x86_active(g), base, index, 0);
    x86_bind(&g->code, out);
    x86_finish_words(g, id, to);
}

/* ---- groups ---- */

static int64_t quad_place(const x86_quad *q) { return (int64_t)WORD_BYTES * (int32_t)q->offset; }

static void broadcast_quads(x86_gen *g, const x86_group *group, ZydisRegister base)
{
    for (uint32_t i = 0; i < group->quad_count; i++) {
        const x86_quad *q = &g->fn->quads.data[group->quad + i];
        for (uint32_t w = 0; w < 4; w++) {
            if (!q->id[w])
                continue;
            uint32_t to = x86_destination(g, q->id[w]);
            VEC(g, VBROADCASTSS, x86_v(g, to),
                x86_indexed(base, ZYDIS_REGISTER_RAX, WORD_BYTES, quad_place(q) + WORD_BYTES * w,
                            WORD_BYTES));
            x86_finish_words(g, q->id[w], to);
        }
    }
}

static x86_operand xmm(uint32_t reg) { return x86_reg((ZydisRegister)(ZYDIS_REGISTER_XMM0 + reg)); }

/* Reads the four words of each lane, whose indices are temporary 0, into 128 bits of vectors 0 to 3: vector 0
 * gets those of lanes 0, 4, 8, .., vector 1 those of lanes 1, 5, 9, .. */
static void read_rows(x86_gen *g, const x86_quad *q, ZydisRegister base)
{
    for (uint32_t lane = 0; lane < g->lanes; lane++) {
        uint32_t row = lane % 4, part = lane / 4;
        x86_operand index = x86_temporary(g, 0);
        index.bytes = WORD_BYTES, index.value += WORD_BYTES * lane;
        GP(g, MOVSXD, RAX, index);
        x86_operand words = x86_indexed(base, ZYDIS_REGISTER_RAX, WORD_BYTES, quad_place(q), 16),
                    v = x86_v(g, row);
        if (part == 0)
            VEC(g, VMOVUPS, xmm(row), words);
        else if (g->target == X86_AVX512)
            VEC(g, VINSERTF32X4, v, v, words, x86_imm(part));
        else
            VEC(g, VINSERTF128, v, v, words, x86_imm(part));
    }
}

/* Makes one word of all lanes from the halves of two rows. */
static void finish_word(x86_gen *g, uint32_t id, ZydisMnemonic unpack, uint32_t a, uint32_t b)
{
    if (!id)
        return;
    uint32_t to = x86_in_register(g, id) ? x86_destination(g, id) : 3;
    x86_vector(g, unpack, (x86_operand[]){x86_v(g, to), x86_v(g, a), x86_v(g, b)}, 3);
    x86_finish_words(g, id, to);
}

static void transpose(x86_gen *g, const x86_quad *q)
{
    bool low = q->id[0] || q->id[1], high = q->id[2] || q->id[3];
    if (high)
        VEC(g, VUNPCKHPS, x86_v(g, 4), x86_v(g, 0), x86_v(g, 1));
    if (low)
        VEC(g, VUNPCKLPS, x86_v(g, 0), x86_v(g, 0), x86_v(g, 1));
    if (high)
        VEC(g, VUNPCKHPS, x86_v(g, 1), x86_v(g, 2), x86_v(g, 3));
    if (low)
        VEC(g, VUNPCKLPS, x86_v(g, 2), x86_v(g, 2), x86_v(g, 3));
    finish_word(g, q->id[0], ZYDIS_MNEMONIC_VUNPCKLPD, 0, 2);
    finish_word(g, q->id[1], ZYDIS_MNEMONIC_VUNPCKHPD, 0, 2);
    finish_word(g, q->id[2], ZYDIS_MNEMONIC_VUNPCKLPD, 4, 1);
    finish_word(g, q->id[3], ZYDIS_MNEMONIC_VUNPCKHPD, 4, 1);
}

/* Lanes that do not run read at the index of the first lane that runs. */
static void group_load(x86_gen *g, const x86_group *group)
{
    uint32_t index = x86_source_register(g, group->base, 1);
    uint32_t differ = x86_label(&g->code), out = x86_label(&g->code);
    ZydisRegister base = x86_buffer(g, group->buffer);
    first_index(g, index);
    test_one_index(g, index, differ);
    broadcast_quads(g, group, base);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JMP, out);
    x86_bind(&g->code, differ);
    x86_blend(g, IR_U32, 2, x86_active(g), 2, x86_v(g, index));
    VEC(g, VMOVUPS, x86_temporary(g, 0), x86_v(g, 2));
    for (uint32_t i = 0; i < group->quad_count; i++) {
        const x86_quad *q = &g->fn->quads.data[group->quad + i];
        read_rows(g, q, base);
        transpose(g, q);
    }
    x86_bind(&g->code, out);
}

/* A load in the prologue. The prologue also computes what no run may ever read, so an index may lie outside
 * its buffer; such a load gives 0. */
static void checked_load(x86_gen *g, uint32_t id, ir_inst inst)
{
    uint32_t beyond = x86_label(&g->code);
    ZydisRegister base = x86_buffer(g, inst.b);
    GP(g, MOV, ECX, x86_word(g, g->fn->values[inst.a].at, WORD_BYTES));
    GP(g, XOR, EAX, EAX);
    GP(g, CMP, ECX, x86_word(g, X86_WORKSPACE_SIZES + WORD_BYTES * inst.b, WORD_BYTES));
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNB, beyond);
    GP(g, MOV, EAX, x86_indexed(base, ZYDIS_REGISTER_RCX, WORD_BYTES, 0, WORD_BYTES));
    x86_bind(&g->code, beyond);
    GP(g, VMOVD, xmm(0), EAX);
    VEC(g, VPBROADCASTD, x86_v(g, 0), xmm(0));
    x86_finish_words(g, id, 0);
}

void x86_load(x86_gen *g, uint32_t id, ir_inst inst)
{
    const x86_value *v = &g->fn->values[id];
    const bool pair = x86_is_pair(g, inst.b, (ir_type)inst.type);
    if (g->in_prologue && pair) {
        x86_checked_pair(g, id, inst);
    } else if (g->in_prologue) {
        checked_load(g, id, inst);
    } else if (pair) {
        x86_pair_load(g, id, inst);
    } else if (v->fusion == X86_GROUP_FIRST) {
        group_load(g, &g->fn->groups.data[g->fn->group_of[id]]);
    } else if (x86_is_uniform(g->fn, inst.a)) {
        uint32_t to = x86_destination(g, id);
        VEC(g, VBROADCASTSS, x86_v(g, to), uniform_word(g, inst.b, inst.a));
        x86_finish_words(g, id, to);
    } else {
        gather_load(g, id, inst);
    }
}
