/* SPDX-License-Identifier: BSD-3-Clause
 * This file generates value ops. Results are those of the interpreter (ir/eval_op.c): integers wrap, x / 0 =
 * 0, conversions from reals saturate and turn NaN into 0, and all NaNs have the same bits. Most ops are one
 * instruction, which reads its operands before it writes its result, so the result may take the place of an
 * operand. An op whose code writes its result earlier must not be among those of reads_first (analyse.c);
 * then its operands live on until it is done. */
#include "spirv_gen/x86/lanes.h"

enum { SIGN = 0x80000000u };
#define DOUBLE_SIGN (1ull << 63)

static ir_type type_of(const x86_gen *g, uint32_t id) { return ir_type_of(g->fn->f, (ir_ref){id}); }
static bool is_const(const x86_gen *g, uint32_t id) { return g->fn->f->inst.data[id].op == IR_CONST; }

/* ---- one instruction ---- */

/* The operand of a value's type, and of two instructions the one for the module's reals. */
static x86_operand own(const x86_gen *g, uint32_t id, uint32_t reg)
{
    return x86_register(g, type_of(g, id), reg);
}

#define REALS(g, NAME) ((g)->doubles ? ZYDIS_MNEMONIC_##NAME##D : ZYDIS_MNEMONIC_##NAME##S)

static void binary(x86_gen *g, uint32_t id, ZydisMnemonic mnemonic, uint32_t a, uint32_t b, bool commutes)
{
    if (commutes && !x86_in_register(g, a) && x86_in_register(g, b)) {
        uint32_t other = a;
        a = b, b = other;
    }
    uint32_t first = x86_source_register(g, a, 1), to = x86_destination(g, id);
    x86_vector(g, mnemonic, (x86_operand[]){own(g, id, to), own(g, id, first), x86_source(g, b, 2)}, 3);
    x86_finish(g, id, to);
}

static void unary(x86_gen *g, uint32_t id, ZydisMnemonic mnemonic, uint32_t a)
{
    uint32_t to = x86_destination(g, id);
    x86_vector(g, mnemonic, (x86_operand[]){own(g, id, to), x86_source(g, a, 1)}, 2);
    x86_finish(g, id, to);
}

/* With the sign of a real, or with all but it. */
static void with_sign(x86_gen *g, uint32_t id, ZydisMnemonic mnemonic, uint32_t a, bool sign)
{
    uint32_t first = x86_source_register(g, a, 1), to = x86_destination(g, id);
    x86_operand bits = g->doubles ? x86_double_source(g, sign ? DOUBLE_SIGN : ~DOUBLE_SIGN, 2)
                                  : x86_constant_source(g, sign ? SIGN : ~SIGN, 2);
    x86_vector(g, mnemonic, (x86_operand[]){x86_r(g, to), x86_r(g, first), bits}, 3);
    x86_finish(g, id, to);
}

static void with_constant(x86_gen *g, uint32_t id, ZydisMnemonic mnemonic, uint32_t a, uint32_t bits)
{
    uint32_t first = x86_source_register(g, a, 1), to = x86_destination(g, id);
    x86_vector(g, mnemonic, (x86_operand[]){x86_v(g, to), x86_v(g, first), x86_constant_source(g, bits, 2)},
               3);
    x86_finish(g, id, to);
}

static void negate(x86_gen *g, uint32_t id, uint32_t a)
{
    if (type_of(g, a) == IR_F32) {
        with_sign(g, id, REALS(g, VXORP), a, true);
        return;
    }
    uint32_t to = x86_destination(g, id);
    VEC(g, VXORPS, x86_v(g, 2), x86_v(g, 2), x86_v(g, 2));
    VEC(g, VPSUBD, x86_v(g, to), x86_v(g, 2), x86_source(g, a, 1));
    x86_finish(g, id, to);
}

static void round_down(x86_gen *g, uint32_t id, uint32_t a)
{
    enum { DOWN = 9 }; /* rounds towards minus infinity and raises no exception */
    uint32_t to = x86_destination(g, id);
    x86_vector(g, g->target == X86_AVX512 ? REALS(g, VRNDSCALEP) : REALS(g, VROUNDP),
               (x86_operand[]){x86_r(g, to), x86_source(g, a, 1), x86_imm(DOWN)}, 3);
    x86_finish(g, id, to);
}

/* ADD, SUB, MUL */
static void arithmetic(x86_gen *g, uint32_t id, ir_inst inst)
{
    const ZydisMnemonic reals[] = {
        [IR_ADD] = REALS(g, VADDP), [IR_SUB] = REALS(g, VSUBP), [IR_MUL] = REALS(g, VMULP)};
    static const ZydisMnemonic integers[] = {[IR_ADD] = ZYDIS_MNEMONIC_VPADDD,
                                             [IR_SUB] = ZYDIS_MNEMONIC_VPSUBD,
                                             [IR_MUL] = ZYDIS_MNEMONIC_VPMULLD};
    binary(g, id, (inst.type == IR_F32 ? reals : integers)[inst.op], inst.a, inst.b, inst.op != IR_SUB);
}

static void smaller(x86_gen *g, uint32_t id, uint32_t yes, uint32_t no, bool least)
{
    const ZydisMnemonic mnemonics[2][3] = {{REALS(g, VMAXP), ZYDIS_MNEMONIC_VPMAXSD, ZYDIS_MNEMONIC_VPMAXUD},
                                           {REALS(g, VMINP), ZYDIS_MNEMONIC_VPMINSD, ZYDIS_MNEMONIC_VPMINUD}};
    ir_type type = type_of(g, id);
    binary(g, id, mnemonics[least][type == IR_F32 ? 0 : type == IR_I32 ? 1 : 2], yes, no, type != IR_F32);
}

/* ---- masks ---- */

static void compare(x86_gen *g, uint32_t id, x86_compare how, uint32_t a, uint32_t b)
{
    uint32_t to = x86_mask_destination(g, id);
    if (type_of(g, a) == IR_BOOL) {
        uint32_t first = x86_mask_source(g, a, 0), second = x86_mask_source(g, b, 1);
        x86_mask_xor(g, to, first, second);
        if (how == X86_EQUAL)
            x86_mask_not(g, to, to);
    } else {
        uint32_t first = x86_source_register(g, a, 1);
        x86_compare_lanes(g, to, type_of(g, a), how, first, x86_source(g, b, 2));
    }
    x86_mask_finish(g, id, to);
}

static void logic(x86_gen *g, uint32_t id, ir_inst inst)
{
    if (inst.type != IR_BOOL) {
        binary(g, id,
               inst.op == IR_AND  ? ZYDIS_MNEMONIC_VANDPS
               : inst.op == IR_OR ? ZYDIS_MNEMONIC_VORPS
                                  : ZYDIS_MNEMONIC_VXORPS,
               inst.a, inst.b, true);
        return;
    }
    uint32_t to = x86_mask_destination(g, id), a = x86_mask_source(g, inst.a, 0);
    uint32_t b = x86_mask_source(g, inst.b, 1);
    if (inst.op == IR_AND)
        x86_mask_and(g, to, a, b);
    else if (inst.op == IR_OR)
        x86_mask_or(g, to, a, b);
    else
        x86_mask_xor(g, to, a, b);
    x86_mask_finish(g, id, to);
}

static void invert(x86_gen *g, uint32_t id, ir_inst inst)
{
    if (inst.type != IR_BOOL) {
        with_constant(g, id, ZYDIS_MNEMONIC_VXORPS, inst.a, ~0u);
        return;
    }
    uint32_t to = x86_mask_destination(g, id);
    x86_mask_not(g, to, x86_mask_source(g, inst.a, 0));
    x86_mask_finish(g, id, to);
}

static void select_masks(x86_gen *g, uint32_t id, uint32_t condition, uint32_t yes, uint32_t no)
{
    uint32_t mask = x86_mask_source(g, condition, 0), kept = x86_mask_scratch(g, 1),
             rest = x86_mask_scratch(g, 2), to = x86_mask_destination(g, id);
    x86_mask_and(g, kept, mask, x86_mask_source(g, yes, 1));
    x86_mask_and_not(g, rest, x86_mask_source(g, no, 2), mask);
    x86_mask_or(g, to, kept, rest);
    x86_mask_finish(g, id, to);
}

void x86_select(x86_gen *g, uint32_t id, uint32_t condition, uint32_t yes, uint32_t no)
{
    if (type_of(g, id) == IR_BOOL) {
        select_masks(g, id, condition, yes, no);
        return;
    }
    uint32_t mask = x86_mask_source(g, condition, 0), to = x86_destination(g, id);
    if (is_const(g, no) && g->fn->f->inst.data[no].a == 0) {
        x86_blend_zero(g, type_of(g, id), to, mask, x86_source(g, yes, 2));
    } else {
        uint32_t otherwise = x86_source_register(g, no, 1);
        x86_blend(g, type_of(g, id), to, mask, otherwise, x86_source(g, yes, 2));
    }
    x86_finish(g, id, to);
}

/* ---- integers ---- */

static void shift(x86_gen *g, uint32_t id, ir_inst inst)
{
    static const ZydisMnemonic same[3] = {ZYDIS_MNEMONIC_VPSLLD, ZYDIS_MNEMONIC_VPSRAD,
                                          ZYDIS_MNEMONIC_VPSRLD},
                               each[3] = {ZYDIS_MNEMONIC_VPSLLVD, ZYDIS_MNEMONIC_VPSRAVD,
                                          ZYDIS_MNEMONIC_VPSRLVD};
    uint32_t how = inst.op == IR_SHL ? 0 : inst.type == IR_I32 ? 1 : 2, to = x86_destination(g, id);
    if (is_const(g, inst.b)) {
        uint32_t first = x86_source_register(g, inst.a, 1);
        int64_t count = g->fn->f->inst.data[inst.b].a & 31;
        x86_vector(g, same[how], (x86_operand[]){x86_v(g, to), x86_v(g, first), x86_imm(count)}, 3);
    } else {
        uint32_t count = x86_source_register(g, inst.b, 2);
        VEC(g, VANDPS, x86_v(g, 2), x86_v(g, count), x86_constant_source(g, 31, 3));
        uint32_t first = x86_source_register(g, inst.a, 1);
        x86_vector(g, each[how], (x86_operand[]){x86_v(g, to), x86_v(g, first), x86_v(g, 2)}, 3);
    }
    x86_finish(g, id, to);
}

/* Of AVX-512: as many integers as there are doubles in a register. */
static x86_operand half(uint32_t reg) { return x86_reg((ZydisRegister)(ZYDIS_REGISTER_YMM0 + reg)); }

/* Divides integers as doubles, which hold all of them; a quotient never rounds up to the next integer. The
 * operands are temporaries 0 and 1, the quotients become temporary 2. */
static void divide_doubles(x86_gen *g, bool is_signed)
{
    ZydisMnemonic widen = is_signed ? ZYDIS_MNEMONIC_VCVTDQ2PD : ZYDIS_MNEMONIC_VCVTUDQ2PD,
                  narrow = is_signed ? ZYDIS_MNEMONIC_VCVTTPD2DQ : ZYDIS_MNEMONIC_VCVTTPD2UDQ;
    enum { BYTES = 32 };
    for (uint32_t at = 0; at < g->bytes; at += BYTES) {
        x86_operand a = x86_temporary(g, 0), b = x86_temporary(g, 1), to = x86_temporary(g, 2);
        a.bytes = b.bytes = to.bytes = BYTES;
        a.value += at, b.value += at, to.value += at;
        x86_vector(g, widen, (x86_operand[]){x86_r(g, 2), a}, 2);
        x86_vector(g, widen, (x86_operand[]){x86_r(g, 3), b}, 2);
        VEC(g, VDIVPD, x86_r(g, 2), x86_r(g, 2), x86_r(g, 3));
        x86_vector(g, narrow, (x86_operand[]){half(2), x86_r(g, 2)}, 2);
        VEC(g, VMOVUPS, to, half(2));
    }
}

/* Does the same lane by lane, by divisions of 64 bits, in which no quotient overflows. */
static void divide_lanes(x86_gen *g, bool is_signed)
{
    for (uint32_t lane = 0; lane < g->lanes; lane++) {
        uint32_t zero = x86_label(&g->code);
        x86_operand a = x86_temporary(g, 0), b = x86_temporary(g, 1), to = x86_temporary(g, 2);
        a.bytes = b.bytes = to.bytes = 4;
        a.value += 4 * lane, b.value += 4 * lane, to.value += 4 * lane;
        GP(g, XOR, EAX, EAX);
        if (is_signed)
            GP(g, MOVSXD, RCX, b);
        else
            GP(g, MOV, ECX, b);
        GP(g, TEST, RCX, RCX);
        x86_jump(&g->code, ZYDIS_MNEMONIC_JZ, zero);
        if (is_signed) {
            GP(g, MOVSXD, RAX, a);
            GP0(g, CQO);
            GP(g, IDIV, RCX);
        } else {
            GP(g, MOV, EAX, a);
            GP(g, XOR, EDX, EDX);
            GP(g, DIV, RCX);
        }
        x86_bind(&g->code, zero);
        GP(g, MOV, to, EAX);
    }
}

static void divide(x86_gen *g, uint32_t id, ir_inst inst)
{
    bool is_signed = inst.type == IR_I32;
    if (inst.type == IR_F32) {
        binary(g, id, REALS(g, VDIVP), inst.a, inst.b, false);
        return;
    }
    uint32_t a = x86_source_register(g, inst.a, 0), b = x86_source_register(g, inst.b, 1),
             m = x86_mask_scratch(g, 0);
    VEC(g, VMOVUPS, x86_temporary(g, 0), x86_v(g, a));
    VEC(g, VMOVUPS, x86_temporary(g, 1), x86_v(g, b));
    if (g->target == X86_AVX512)
        divide_doubles(g, is_signed);
    else
        divide_lanes(g, is_signed);
    VEC(g, VXORPS, x86_v(g, 3), x86_v(g, 3), x86_v(g, 3));
    x86_compare_lanes(g, m, IR_I32, X86_UNEQUAL, b, x86_v(g, 3));
    x86_blend_zero(g, IR_U32, 2, m, x86_temporary(g, 2));
    if (inst.op == IR_MOD) { /* a - (a / b) b, but 0 where b is 0 */
        VEC(g, VPMULLD, x86_v(g, 2), x86_v(g, 2), x86_v(g, b));
        VEC(g, VPSUBD, x86_v(g, 2), x86_v(g, a), x86_v(g, 2));
        x86_blend_zero(g, IR_U32, 2, m, x86_v(g, 2));
    }
    x86_finish(g, id, 2);
}

/* ---- conversions ---- */

/* Words of integers; 0x80000000 where the result does not fit. */
static void truncate(x86_gen *g, uint32_t to, uint32_t from)
{
    x86_vector(g, g->doubles ? ZYDIS_MNEMONIC_VCVTTPD2DQ : ZYDIS_MNEMONIC_VCVTTPS2DQ,
               (x86_operand[]){x86_v(g, to), x86_r(g, from)}, 2);
}

static void real_to_i32(x86_gen *g, uint32_t id, uint32_t a)
{
    uint32_t from = x86_source_register(g, a, 1), m = x86_mask_scratch(g, 0);
    truncate(g, 0, from);
    x86_compare_ordered(g, m, from);
    x86_blend_zero(g, IR_I32, 0, m, x86_v(g, 0));
    x86_load_real(g, 2, 0x1p31f);
    x86_compare_lanes(g, m, IR_F32, X86_LESS_EQUAL, 2, x86_r(g, from));
    x86_blend(g, IR_I32, 0, m, 0, x86_constant_source(g, INT32_MAX, 3));
    x86_finish(g, id, 0);
}

/* v0 = the real in vector 1, which is not negative and no NaN. AVX2 converts to signed integers only. */
static void positive_to_u32(x86_gen *g)
{
    uint32_t large = x86_mask_scratch(g, 0);
    x86_load_real(g, 2, 0x1p31f);
    x86_compare_lanes(g, large, IR_F32, X86_LESS_EQUAL, 2, x86_r(g, 1));
    x86_blend_zero(g, IR_F32, 2, large, x86_r(g, 2));
    x86_vector(g, REALS(g, VSUBP), (x86_operand[]){x86_r(g, 2), x86_r(g, 1), x86_r(g, 2)}, 3);
    truncate(g, 0, 2);
    x86_blend_zero(g, IR_U32, 2, large, x86_constant_source(g, SIGN, 3));
    VEC(g, VXORPS, x86_v(g, 0), x86_v(g, 0), x86_v(g, 2));
    x86_load_real(g, 2, 0x1p32f);
    x86_compare_lanes(g, large, IR_F32, X86_LESS_EQUAL, 2, x86_r(g, 1));
    x86_blend(g, IR_U32, 0, large, 0, x86_constant_source(g, ~0u, 3));
}

static void real_to_u32(x86_gen *g, uint32_t id, uint32_t a)
{
    uint32_t from = x86_source_register(g, a, 1);
    VEC(g, VXORPS, x86_r(g, 2), x86_r(g, 2), x86_r(g, 2));
    /* gives its second operand, 0, for a NaN */
    x86_vector(g, REALS(g, VMAXP), (x86_operand[]){x86_r(g, 1), x86_r(g, from), x86_r(g, 2)}, 3);
    if (g->target == X86_AVX512) /* gives ~0 where the result does not fit */
        x86_vector(g, g->doubles ? ZYDIS_MNEMONIC_VCVTTPD2UDQ : ZYDIS_MNEMONIC_VCVTTPS2UDQ,
                   (x86_operand[]){x86_v(g, 0), x86_r(g, 1)}, 2);
    else
        positive_to_u32(g);
    x86_finish(g, id, 0);
}

/* To words of floats. */
static void convert_words(x86_gen *g, uint32_t id, ZydisMnemonic mnemonic, uint32_t a)
{
    uint32_t to = x86_destination(g, id);
    x86_vector(g, mnemonic, (x86_operand[]){x86_v(g, to), x86_source(g, a, 1)}, 2);
    x86_finish_words(g, id, to);
}

/* AVX2 has no such conversion, but both halves convert exactly, and their sum rounds once. */
static void u32_to_real(x86_gen *g, uint32_t id, uint32_t a)
{
    enum { TWO_16 = 0x47800000 };
    if (g->target == X86_AVX512) {
        convert_words(g, id, ZYDIS_MNEMONIC_VCVTUDQ2PS, a);
        return;
    }
    uint32_t from = x86_source_register(g, a, 1);
    VEC(g, VPSRLD, x86_v(g, 0), x86_v(g, from), x86_imm(16));
    VEC(g, VCVTDQ2PS, x86_v(g, 0), x86_v(g, 0));
    VEC(g, VMULPS, x86_v(g, 0), x86_v(g, 0), x86_constant_source(g, TWO_16, 2));
    VEC(g, VANDPS, x86_v(g, 1), x86_v(g, from), x86_constant_source(g, 0xFFFF, 2));
    VEC(g, VCVTDQ2PS, x86_v(g, 1), x86_v(g, 1));
    VEC(g, VADDPS, x86_v(g, 0), x86_v(g, 0), x86_v(g, 1));
    x86_finish_words(g, id, 0);
}

static void move(x86_gen *g, uint32_t id, uint32_t a)
{
    if (type_of(g, id) == IR_BOOL)
        x86_mask_finish(g, id, x86_mask_source(g, a, 0));
    else
        x86_finish(g, id, x86_source_register(g, a, 0));
}

uint32_t x86_stored_bits(x86_gen *g, uint32_t id, uint32_t scratch)
{
    ir_type type = type_of(g, id);
    if (type == IR_BOOL) {
        x86_blend_zero(g, type, scratch, x86_mask_source(g, id, 0), x86_constant_source(g, 1, scratch));
        return scratch;
    }
    uint32_t from = x86_source_register(g, id, scratch);
    if (type != IR_F32)
        return from;
    uint32_t m = x86_mask_scratch(g, 0);
    x86_compare_ordered(g, m, from);
    if (g->doubles) {
        VEC(g, VCVTPD2PS, x86_v(g, scratch), x86_r(g, from));
        from = scratch;
    }
    VEC(g, VBROADCASTSS, x86_v(g, 3), x86_word(g, x86_constant(g, X86_NAN_BITS), 4));
    x86_blend(g, IR_U32, scratch, m, 3, x86_v(g, from));
    return scratch;
}

static void convert(x86_gen *g, uint32_t id, ir_inst inst)
{
    ir_type from = type_of(g, inst.a);
    if (from == IR_BOOL) {
        uint32_t to = x86_destination(g, id), m = x86_mask_source(g, inst.a, 0);
        x86_operand one = inst.op == IR_TO_F32 ? x86_real_source(g, 1.0f, 2) : x86_constant_source(g, 1, 2);
        x86_blend_zero(g, (ir_type)inst.type, to, m, one);
        x86_finish(g, id, to);
    } else if (inst.op == IR_TO_F32 && from == IR_I32) {
        convert_words(g, id, ZYDIS_MNEMONIC_VCVTDQ2PS, inst.a);
    } else if (inst.op == IR_TO_F32 && from == IR_U32) {
        u32_to_real(g, id, inst.a);
    } else if (inst.op == IR_TO_I32 && from == IR_F32) {
        real_to_i32(g, id, inst.a);
    } else if (inst.op == IR_TO_U32 && from == IR_F32) {
        real_to_u32(g, id, inst.a);
    } else {
        move(g, id, inst.a);
    }
}

static void element(x86_gen *g, uint32_t id, ir_inst inst)
{
    uint32_t a = x86_source_register(g, inst.a, 1), m = x86_mask_scratch(g, 0);
    x86_compare_lanes(g, m, IR_U32, X86_EQUAL, a, x86_constant_source(g, ~0u, 2));
    VEC(g, VPADDD, x86_v(g, 0), x86_v(g, a), x86_source(g, inst.b, 2));
    x86_blend(g, IR_U32, 0, m, 0, x86_v(g, a));
    x86_finish(g, id, 0);
}

/* Words that are floats. */
static void bits_to_real(x86_gen *g, uint32_t id, uint32_t a)
{
    uint32_t from = x86_source_register(g, a, 0);
    if (g->doubles) {
        VEC(g, VCVTPS2PD, x86_r(g, 0), x86_v(g, from));
        from = 0;
    }
    x86_finish(g, id, from);
}

/* ---- the table ---- */

void x86_value_op(x86_gen *g, uint32_t id, ir_inst inst)
{
    x86_fusion fusion = (x86_fusion)g->fn->values[id].fusion;
    if (fusion == X86_MINIMUM || fusion == X86_MAXIMUM) {
        smaller(g, id, inst.b, inst.c, fusion == X86_MINIMUM);
        return;
    }
    switch (inst.op) {
    case IR_ADD:
    case IR_SUB:
    case IR_MUL:
        arithmetic(g, id, inst);
        return;
    case IR_DIV:
    case IR_MOD:
        divide(g, id, inst);
        return;
    case IR_NEG:
        negate(g, id, inst.a);
        return;
    case IR_ABS:
        with_sign(g, id, REALS(g, VANDP), inst.a, false);
        return;
    case IR_FLOOR:
        round_down(g, id, inst.a);
        return;
    case IR_SQRT:
        unary(g, id, REALS(g, VSQRTP), inst.a);
        return;
    case IR_EQ:
        compare(g, id, X86_EQUAL, inst.a, inst.b);
        return;
    case IR_NE:
        compare(g, id, X86_UNEQUAL, inst.a, inst.b);
        return;
    case IR_LT:
        compare(g, id, X86_LESS, inst.a, inst.b);
        return;
    case IR_LE:
        compare(g, id, X86_LESS_EQUAL, inst.a, inst.b);
        return;
    case IR_AND:
    case IR_OR:
    case IR_XOR:
        logic(g, id, inst);
        return;
    case IR_NOT:
        invert(g, id, inst);
        return;
    case IR_SHL:
    case IR_SHR:
        shift(g, id, inst);
        return;
    case IR_SELECT:
        x86_select(g, id, inst.a, inst.b, inst.c);
        return;
    case IR_ELEMENT:
        element(g, id, inst);
        return;
    case IR_TO_I32:
    case IR_TO_U32:
    case IR_TO_F32:
        convert(g, id, inst);
        return;
    case IR_BITS_TO_U32:
        if (type_of(g, inst.a) == IR_F32)
            x86_finish(g, id, x86_stored_bits(g, inst.a, 0));
        else
            move(g, id, inst.a);
        return;
    case IR_BITS_TO_F32:
        bits_to_real(g, id, inst.a);
        return;
    case IR_DETACH:
    case IR_REPLACE_GRAD:
        move(g, id, inst.a);
        return;
    default:
        x86_fail(g, "x86: function \"%s\": %%%u %s should have been lowered by a pass", g->fn->f->name, id,
                 ir_op_table[inst.op].name);
    }
}
