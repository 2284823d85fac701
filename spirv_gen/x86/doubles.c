/* SPDX-License-Identifier: BSD-3-Clause
 * What modules of doubles need beside wider instructions: conversions from and to the words of memory, and
 * reals that memory holds as two words (ir_buffer.paired): the float nearest to the number, and in the second
 * half of the buffer the float nearest to what the first lacks. Together they are a double to 48 bits. */
#include "spirv_gen/x86/lanes.h"

#include <float.h>

enum { WORD_BYTES = 4 };

static bool is_double(const x86_gen *g, uint32_t id)
{
    return g->doubles && ir_type_of(g->fn->f, (ir_ref){id}) == IR_F32;
}

static x86_operand xmm(uint32_t reg) { return x86_reg((ZydisRegister)(ZYDIS_REGISTER_XMM0 + reg)); }

/* ---- words ---- */

void x86_finish_words(x86_gen *g, uint32_t id, uint32_t reg)
{
    if (is_double(g, id))
        VEC(g, VCVTPS2PD, x86_r(g, reg), x86_v(g, reg));
    x86_finish(g, id, reg);
}

uint32_t x86_word_register(x86_gen *g, uint32_t id, uint32_t scratch)
{
    uint32_t from = x86_source_register(g, id, scratch);
    if (!is_double(g, id))
        return from;
    VEC(g, VCVTPD2PS, x86_v(g, scratch), x86_r(g, from));
    return scratch;
}

void x86_uniform(x86_gen *g, uint32_t id, ir_inst inst)
{
    if (!is_double(g, id)) /* it is read where the caller has written it */
        return;
    BL_ASSERT(g->in_prologue, "the uniform %%%u of \"%s\" has code", id, g->fn->f->name);
    VEC(g, VBROADCASTSS, x86_v(g, 0), x86_word(g, X86_WORKSPACE_UNIFORMS + WORD_BYTES * inst.a, WORD_BYTES));
    x86_finish_words(g, id, 0);
}

/* ---- pairs ---- */

bool x86_is_pair(const x86_gen *g, uint32_t buffer, ir_type type)
{
    return g->doubles && type == IR_F32 && g->m->buffers.data[buffer].paired;
}

/* The places of second words: v(to), from the value `index`. Vector 3 and ecx are not kept. */
static void rest_index(x86_gen *g, uint32_t to, uint32_t index, uint32_t buffer)
{
    x86_operand word = xmm(to);
    GP(g, MOV, ECX, x86_word(g, X86_WORKSPACE_SIZES + WORD_BYTES * buffer, WORD_BYTES));
    GP(g, SHR, ECX, x86_imm(1));
    GP(g, VMOVD, word, ECX);
    VEC(g, VPBROADCASTD, x86_v(g, to), word);
    VEC(g, VPADDD, x86_v(g, to), x86_v(g, to), x86_source(g, index, 3));
}

/* r0 = v0 + v2 */
static void join_pair(x86_gen *g)
{
    VEC(g, VCVTPS2PD, x86_r(g, 0), x86_v(g, 0));
    VEC(g, VCVTPS2PD, x86_r(g, 2), x86_v(g, 2));
    VEC(g, VADDPD, x86_r(g, 0), x86_r(g, 0), x86_r(g, 2));
}

void x86_pair_load(x86_gen *g, uint32_t id, ir_inst inst)
{
    enum { REST = 1 };
    uint32_t index = x86_source_register(g, inst.a, REST);
    ZydisRegister base = x86_buffer(g, inst.b);
    x86_gather(g, 0, x86_active(g), base, index, 0);
    rest_index(g, REST, inst.a, inst.b);
    x86_gather(g, 2, x86_active(g), base, REST, 0);
    join_pair(g);
    x86_finish(g, id, 0);
}

void x86_checked_pair(x86_gen *g, uint32_t id, ir_inst inst)
{
    uint32_t beyond = x86_label(&g->code);
    ZydisRegister base = x86_buffer(g, inst.b);
    x86_operand word = x86_indexed(base, ZYDIS_REGISTER_RCX, WORD_BYTES, 0, WORD_BYTES);
    GP(g, MOV, ECX, x86_word(g, g->fn->values[inst.a].at, WORD_BYTES));
    GP(g, MOV, ESI, x86_word(g, X86_WORKSPACE_SIZES + WORD_BYTES * inst.b, WORD_BYTES));
    GP(g, SHR, ESI, x86_imm(1));
    GP(g, XOR, EAX, EAX);
    GP(g, XOR, EDX, EDX);
    GP(g, CMP, ECX, ESI);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNB, beyond);
    GP(g, MOV, EAX, word);
    GP(g, ADD, ECX, ESI);
    GP(g, MOV, EDX, word);
    x86_bind(&g->code, beyond);
    GP(g, VMOVD, xmm(0), EAX);
    VEC(g, VPBROADCASTD, x86_v(g, 0), xmm(0));
    GP(g, VMOVD, xmm(2), EDX);
    VEC(g, VPBROADCASTD, x86_v(g, 2), xmm(2));
    join_pair(g);
    x86_finish(g, id, 0);
}

/* What the float of a double lacks, as a float, or 0 where that is no number: in scratch register 0. Then the
 * words of indices in scratch register 1 go to the second half of the buffer. */
void x86_store_rest(x86_gen *g, ir_inst inst)
{
    uint32_t value = x86_source_register(g, inst.c, 2), m = x86_mask_scratch(g, 0);
    VEC(g, VCVTPD2PS, x86_v(g, 0), x86_r(g, value));
    VEC(g, VCVTPS2PD, x86_r(g, 0), x86_v(g, 0));
    VEC(g, VSUBPD, x86_r(g, 0), x86_r(g, value), x86_r(g, 0));
    VEC(g, VANDPD, x86_r(g, 2), x86_r(g, 0), x86_double_source(g, ~(1ull << 63), 3));
    x86_compare_lanes(g, m, IR_F32, X86_LESS_EQUAL, 2, x86_real_source(g, FLT_MAX, 3));
    x86_blend_zero(g, IR_F32, 0, m, x86_r(g, 0));
    VEC(g, VCVTPD2PS, x86_v(g, 0), x86_r(g, 0));
    rest_index(g, 1, inst.a, inst.b);
    x86_scatter(g, x86_active(g), x86_buffer(g, inst.b), 1, 0, 0);
}
