/* SPDX-License-Identifier: BSD-3-Clause
 * See lanes.h. Most functions here emit one instruction, whose mnemonic depends on the target. What AVX2
 * lacks is made of several: comparisons of integers other than "equal" and "greater", and scatters. */
#include "spirv_gen/x86/lanes.h"

enum { OWN = 4 /* the vector register that this file may overwrite */, GATHER_MASK = 1 /* a scratch mask */ };

static bool avx512(const x86_gen *g) { return g->target == X86_AVX512; }
static x86_operand xmm(uint32_t reg) { return x86_reg((ZydisRegister)(ZYDIS_REGISTER_XMM0 + reg)); }

uint32_t x86_active(const x86_gen *g) { return avx512(g) ? 1 : 15; }

uint32_t x86_mask_scratch(const x86_gen *g, uint32_t which)
{
    static const uint8_t of_avx512[3] = {2, 3, 0}, of_avx2[3] = {14, 13, 12};
    return avx512(g) ? of_avx512[which] : of_avx2[which];
}

x86_files x86_register_files(const x86_gen *g)
{
    if (avx512(g))
        return (x86_files){
            .first_vector = X86_FIRST_VECTOR, .last_vector = 31, .first_mask = 4, .last_mask = 7};
    return (x86_files){.first_vector = X86_FIRST_VECTOR, .last_vector = 11, .one = true};
}

uint32_t x86_mask_bytes(const x86_gen *g) { return avx512(g) ? 8 : g->bytes; }

/* Emits an AVX-512 instruction under a mask. */
static void masked(x86_gen *g, ZydisMnemonic mnemonic, uint32_t mask, bool zero, const x86_operand *operands,
                   uint32_t count)
{
    x86_put(&g->code, mnemonic, (x86_lanes_written){.takes_mask = true, .zero = zero, .k = (uint8_t)mask},
            operands, count);
}
#define MASKED(g, NAME, mask, zero, ...)                                                                     \
    masked(g, ZYDIS_MNEMONIC_##NAME, mask, zero, (x86_operand[]){__VA_ARGS__}, X86_COUNT(__VA_ARGS__))

/* ---- masks ---- */

/* The register that the number of a mask names. */
static x86_operand mask_operand(const x86_gen *g, uint32_t mask)
{
    return avx512(g) ? x86_reg((ZydisRegister)(ZYDIS_REGISTER_K0 + mask)) : x86_v(g, mask);
}

/* The same of masks of eight lanes, whose other bits become 0. */
static ZydisMnemonic of_eight(ZydisMnemonic k)
{
    static const ZydisMnemonic pairs[][2] = {
        {ZYDIS_MNEMONIC_KMOVW, ZYDIS_MNEMONIC_KMOVB}, {ZYDIS_MNEMONIC_KXNORW, ZYDIS_MNEMONIC_KXNORB},
        {ZYDIS_MNEMONIC_KANDW, ZYDIS_MNEMONIC_KANDB}, {ZYDIS_MNEMONIC_KORW, ZYDIS_MNEMONIC_KORB},
        {ZYDIS_MNEMONIC_KXORW, ZYDIS_MNEMONIC_KXORB}, {ZYDIS_MNEMONIC_KANDNW, ZYDIS_MNEMONIC_KANDNB},
        {ZYDIS_MNEMONIC_KNOTW, ZYDIS_MNEMONIC_KNOTB}, {ZYDIS_MNEMONIC_KORTESTW, ZYDIS_MNEMONIC_KORTESTB}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == k)
            return pairs[i][1];
    BL_ASSERT(false, "%s of eight lanes", ZydisMnemonicGetString(k));
}

/* Emits an instruction of masks, with the mnemonic for k registers or that for vectors. */
static void of_masks(x86_gen *g, ZydisMnemonic k, ZydisMnemonic vector, const x86_operand *operands,
                     uint32_t count)
{
    k = g->lanes == 8 && avx512(g) ? of_eight(k) : k;
    x86_put(&g->code, avx512(g) ? k : vector, (x86_lanes_written){0}, operands, count);
}
#define MASKS(g, K, VECTOR, ...)                                                                             \
    of_masks(g, ZYDIS_MNEMONIC_##K, ZYDIS_MNEMONIC_##VECTOR, (x86_operand[]){__VA_ARGS__},                   \
             X86_COUNT(__VA_ARGS__))

/* to = a op b */
static void combine(x86_gen *g, ZydisMnemonic k, ZydisMnemonic vector, uint32_t to, uint32_t a, uint32_t b)
{
    of_masks(g, k, vector, (x86_operand[]){mask_operand(g, to), mask_operand(g, a), mask_operand(g, b)}, 3);
}

void x86_mask_move(x86_gen *g, uint32_t to, uint32_t from)
{
    if (to != from)
        MASKS(g, KMOVW, VMOVAPS, mask_operand(g, to), mask_operand(g, from));
}

/* The memory of a mask with the size that KMOVW and VMOVUPS expect. */
static x86_operand mask_memory(const x86_gen *g, x86_operand memory)
{
    memory.bytes = avx512(g) ? (uint16_t)(g->lanes / 8) : memory.bytes;
    return memory;
}

void x86_mask_read(x86_gen *g, uint32_t to, x86_operand memory)
{
    MASKS(g, KMOVW, VMOVUPS, mask_operand(g, to), mask_memory(g, memory));
}

void x86_mask_write(x86_gen *g, x86_operand memory, uint32_t from)
{
    MASKS(g, KMOVW, VMOVUPS, mask_memory(g, memory), mask_operand(g, from));
}

void x86_mask_set(x86_gen *g, uint32_t to, bool value)
{
    if (value)
        combine(g, ZYDIS_MNEMONIC_KXNORW, ZYDIS_MNEMONIC_VPCMPEQD, to, to, to);
    else
        x86_mask_xor(g, to, to, to);
}

void x86_mask_and(x86_gen *g, uint32_t to, uint32_t a, uint32_t b)
{
    combine(g, ZYDIS_MNEMONIC_KANDW, ZYDIS_MNEMONIC_VANDPS, to, a, b);
}

void x86_mask_or(x86_gen *g, uint32_t to, uint32_t a, uint32_t b)
{
    combine(g, ZYDIS_MNEMONIC_KORW, ZYDIS_MNEMONIC_VORPS, to, a, b);
}

void x86_mask_xor(x86_gen *g, uint32_t to, uint32_t a, uint32_t b)
{
    combine(g, ZYDIS_MNEMONIC_KXORW, ZYDIS_MNEMONIC_VXORPS, to, a, b);
}

void x86_mask_and_not(x86_gen *g, uint32_t to, uint32_t a, uint32_t b)
{
    combine(g, ZYDIS_MNEMONIC_KANDNW, ZYDIS_MNEMONIC_VANDNPS, to, b, a); /* the first is inverted */
}

void x86_mask_not(x86_gen *g, uint32_t to, uint32_t a)
{
    if (avx512(g)) {
        MASKS(g, KNOTW, INVALID, mask_operand(g, to), mask_operand(g, a));
        return;
    }
    x86_mask_set(g, OWN, true);
    x86_mask_xor(g, to, a, OWN);
}

void x86_mask_test(x86_gen *g, uint32_t mask)
{
    MASKS(g, KORTESTW, VPTEST, mask_operand(g, mask), mask_operand(g, mask));
}

void x86_mask_bits(x86_gen *g, ZydisRegister to, uint32_t mask)
{
    MASKS(g, KMOVW, VMOVMSKPS, x86_reg(to), mask_operand(g, mask));
}

void x86_mask_word(x86_gen *g, uint32_t to, x86_operand word)
{
    if (avx512(g))
        x86_mask_read(g, to, word);
    else
        VEC(g, VBROADCASTSS, x86_v(g, to), word);
}

void x86_mask_to_word(x86_gen *g, x86_operand word, uint32_t mask)
{
    if (avx512(g))
        GP(g, VPMOVM2D, x86_v(g, OWN), mask_operand(g, mask));
    else
        x86_mask_move(g, OWN, mask);
    GP(g, VMOVD, word, xmm(OWN));
}

/* ---- comparisons ---- */

static void integers_avx512(x86_gen *g, uint32_t mask, ir_type type, x86_compare how, uint32_t a,
                            x86_operand b)
{
    static const uint8_t predicates[] = {0, 4, 1, 2}; /* of VPCMPD and VPCMPUD */
    ZydisMnemonic mnemonic = type == IR_U32 ? ZYDIS_MNEMONIC_VPCMPUD : ZYDIS_MNEMONIC_VPCMPD;
    x86_operand operands[] = {mask_operand(g, mask), x86_v(g, a), b, x86_imm(predicates[how])};
    x86_vector(g, mnemonic, operands, 4);
}

/* AVX2 can only tell whether integers are equal, and whether a signed one is greater. Some of these sequences
 * therefore find the opposite and invert it. */
static void integers_avx2(x86_gen *g, uint32_t mask, ir_type type, x86_compare how, uint32_t a, x86_operand b)
{
    x86_operand to = x86_v(g, mask), own = x86_v(g, OWN), first = x86_v(g, a);
    bool opposite = how == X86_UNEQUAL;
    if (how == X86_EQUAL || how == X86_UNEQUAL) {
        VEC(g, VPCMPEQD, to, first, b);
    } else if (type == IR_U32 && how == X86_LESS_EQUAL) {
        VEC(g, VPMINUD, own, first, b);
        VEC(g, VPCMPEQD, to, own, first);
    } else if (type == IR_U32) { /* a < b if not a == max(a, b) */
        VEC(g, VPMAXUD, own, first, b);
        VEC(g, VPCMPEQD, to, own, first);
        opposite = true;
    } else if (how == X86_LESS_EQUAL) { /* a <= b if not a > b */
        VEC(g, VPCMPGTD, to, first, b);
        opposite = true;
    } else { /* a < b if b > a */
        VEC(g, VMOVUPS, own, b);
        VEC(g, VPCMPGTD, to, own, first);
    }
    if (opposite)
        x86_mask_not(g, mask, mask);
}

/* With AVX2 a mask has a word a lane, and the comparison makes two. */
static void compare_doubles(x86_gen *g, uint32_t mask, uint8_t predicate, uint32_t a, x86_operand b)
{
    if (avx512(g)) {
        VEC(g, VCMPPD, mask_operand(g, mask), x86_r(g, a), b, x86_imm(predicate));
        return;
    }
    VEC(g, VCMPPD, x86_r(g, mask), x86_r(g, a), b, x86_imm(predicate));
    VEC(g, VEXTRACTF128, x86_v(g, OWN), x86_r(g, mask), x86_imm(1));
    VEC(g, VSHUFPS, x86_v(g, mask), x86_v(g, mask), x86_v(g, OWN), x86_imm(0x88));
}

/* With AVX2: a mask of doubles, in OWN. */
static uint32_t wide_mask(x86_gen *g, uint32_t mask)
{
    VEC(g, VPMOVSXDQ, x86_r(g, OWN), x86_v(g, mask));
    return OWN;
}

void x86_compare_lanes(x86_gen *g, uint32_t mask, ir_type type, x86_compare how, uint32_t a, x86_operand b)
{
    static const uint8_t predicates[] = {0x00, 0x04, 0x11, 0x12}; /* of VCMPPS */
    BL_ASSERT(type != IR_BOOL, "a comparison of masks");
    if (type == IR_F32 && g->doubles)
        compare_doubles(g, mask, predicates[how], a, b);
    else if (type == IR_F32)
        VEC(g, VCMPPS, mask_operand(g, mask), x86_v(g, a), b, x86_imm(predicates[how]));
    else if (avx512(g))
        integers_avx512(g, mask, type, how, a, b);
    else
        integers_avx2(g, mask, type, how, a, b);
}

void x86_compare_ordered(x86_gen *g, uint32_t mask, uint32_t a)
{
    enum { ORDERED = 7 };
    if (g->doubles)
        compare_doubles(g, mask, ORDERED, a, x86_r(g, a));
    else
        VEC(g, VCMPPS, mask_operand(g, mask), x86_v(g, a), x86_v(g, a), x86_imm(ORDERED));
}

/* ---- under a mask ---- */

void x86_blend(x86_gen *g, ir_type type, uint32_t to, uint32_t mask, uint32_t no, x86_operand yes)
{
    if (type == IR_F32 && g->doubles && avx512(g))
        MASKED(g, VBLENDMPD, mask, false, x86_r(g, to), x86_r(g, no), yes);
    else if (type == IR_F32 && g->doubles)
        VEC(g, VBLENDVPD, x86_r(g, to), x86_r(g, no), yes, x86_r(g, wide_mask(g, mask)));
    else if (avx512(g))
        MASKED(g, VBLENDMPS, mask, false, x86_v(g, to), x86_v(g, no), yes);
    else
        VEC(g, VBLENDVPS, x86_v(g, to), x86_v(g, no), yes, x86_v(g, mask));
}

static void blend_zero_doubles(x86_gen *g, uint32_t to, uint32_t mask, x86_operand yes)
{
    if (!avx512(g))
        VEC(g, VANDPD, x86_r(g, to), x86_r(g, wide_mask(g, mask)), yes);
    else if (yes.form == X86_REGISTER)
        MASKED(g, VMOVAPD, mask, true, x86_r(g, to), yes);
    else if (yes.broadcast)
        MASKED(g, VBROADCASTSD, mask, true, x86_r(g, to), x86_at(yes.reg, yes.value, 8));
    else
        MASKED(g, VMOVUPD, mask, true, x86_r(g, to), yes);
}

void x86_blend_zero(x86_gen *g, ir_type type, uint32_t to, uint32_t mask, x86_operand yes)
{
    if (type == IR_F32 && g->doubles)
        blend_zero_doubles(g, to, mask, yes);
    else if (!avx512(g))
        VEC(g, VANDPS, x86_v(g, to), x86_v(g, mask), yes);
    else if (yes.form == X86_REGISTER)
        MASKED(g, VMOVAPS, mask, true, x86_v(g, to), yes);
    else if (yes.broadcast)
        MASKED(g, VBROADCASTSS, mask, true, x86_v(g, to), x86_at(yes.reg, yes.value, 4));
    else
        MASKED(g, VMOVUPS, mask, true, x86_v(g, to), yes);
}

static x86_operand lanes_at(const x86_gen *g, ZydisRegister base, uint32_t index, int64_t displacement)
{
    return x86_indexed(base, x86_v(g, index).reg, 4, displacement, 4);
}

void x86_gather(x86_gen *g, uint32_t to, uint32_t mask, ZydisRegister base, uint32_t index,
                int64_t displacement)
{
    x86_operand memory = lanes_at(g, base, index, displacement);
    BL_ASSERT(to != index, "a gather into its own index");
    VEC(g, VXORPS, x86_v(g, to), x86_v(g, to), x86_v(g, to));
    if (avx512(g)) {
        uint32_t cleared = x86_mask_scratch(g, GATHER_MASK);
        x86_mask_move(g, cleared, mask);
        MASKED(g, VPGATHERDD, cleared, false, x86_v(g, to), memory);
    } else {
        x86_mask_move(g, OWN, mask);
        VEC(g, VPGATHERDD, x86_v(g, to), memory, x86_v(g, OWN));
    }
}

void x86_gather_doubles(x86_gen *g, uint32_t to, uint32_t mask, ZydisRegister base, uint32_t index,
                        int64_t displacement)
{
    x86_operand memory = x86_indexed(base, x86_v(g, index).reg, 8, displacement, 8);
    BL_ASSERT(to != index, "a gather into its own index");
    VEC(g, VXORPS, x86_r(g, to), x86_r(g, to), x86_r(g, to));
    if (avx512(g)) {
        uint32_t cleared = x86_mask_scratch(g, GATHER_MASK);
        x86_mask_move(g, cleared, mask);
        MASKED(g, VGATHERDPD, cleared, false, x86_r(g, to), memory);
    } else {
        VEC(g, VGATHERDPD, x86_r(g, to), memory, x86_r(g, wide_mask(g, mask)));
    }
}

x86_operand x86_lane_of(const x86_gen *g, uint32_t temporary)
{
    return x86_indexed(ZYDIS_REGISTER_R9, ZYDIS_REGISTER_RCX, 4, (int64_t)temporary * g->bytes, 4);
}

x86_operand x86_lane_word(ZydisRegister base, int64_t displacement)
{
    return x86_indexed(base, ZYDIS_REGISTER_RDX, 4, displacement, 4);
}

x86_lane_loop x86_begin_lanes(x86_gen *g, uint32_t mask)
{
    x86_lane_loop loop = {.top = x86_label(&g->code), .out = x86_label(&g->code)};
    x86_mask_bits(g, ZYDIS_REGISTER_ESI, mask);
    GP(g, TEST, ESI, ESI);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JZ, loop.out);
    x86_bind(&g->code, loop.top);
    GP(g, TZCNT, ECX, ESI);
    GP(g, MOV, EDX, x86_lane_of(g, 0));
    return loop;
}

void x86_end_lanes(x86_gen *g, x86_lane_loop loop)
{
    GP(g, BLSR, ESI, ESI);
    x86_jump(&g->code, ZYDIS_MNEMONIC_JNZ, loop.top);
    x86_bind(&g->code, loop.out);
}

/* AVX2 has no scatter, so one lane is stored after the other. */
static void scatter_each(x86_gen *g, uint32_t mask, ZydisRegister base, uint32_t index, int64_t displacement,
                         uint32_t from)
{
    VEC(g, VMOVUPS, x86_temporary(g, 0), x86_v(g, index));
    VEC(g, VMOVUPS, x86_temporary(g, 1), x86_v(g, from));
    x86_lane_loop loop = x86_begin_lanes(g, mask);
    GP(g, MOV, EDI, x86_lane_of(g, 1));
    GP(g, MOV, x86_lane_word(base, displacement), EDI);
    x86_end_lanes(g, loop);
}

void x86_scatter(x86_gen *g, uint32_t mask, ZydisRegister base, uint32_t index, int64_t displacement,
                 uint32_t from)
{
    if (!avx512(g)) {
        scatter_each(g, mask, base, index, displacement, from);
        return;
    }
    uint32_t cleared = x86_mask_scratch(g, GATHER_MASK);
    x86_mask_move(g, cleared, mask);
    MASKED(g, VPSCATTERDD, cleared, false, lanes_at(g, base, index, displacement), x86_v(g, from));
}

/* One lane after the other, whatever the processor: few traces have arrays of reals. */
void x86_scatter_doubles(x86_gen *g, uint32_t mask, ZydisRegister base, uint32_t index, int64_t displacement,
                         uint32_t from)
{
    x86_operand value = x86_temporary(g, 1), rdi = x86_reg(ZYDIS_REGISTER_RDI), lane = value;
    value.bytes = (uint16_t)g->slot; /* two temporaries */
    lane.index = ZYDIS_REGISTER_RCX, lane.scale = 8, lane.bytes = 8;
    VEC(g, VMOVUPS, x86_temporary(g, 0), x86_v(g, index));
    VEC(g, VMOVUPS, value, x86_r(g, from));
    x86_lane_loop loop = x86_begin_lanes(g, mask);
    GP(g, MOV, rdi, lane);
    GP(g, MOV, x86_indexed(base, ZYDIS_REGISTER_RDX, 8, displacement, 8), rdi);
    x86_end_lanes(g, loop);
}
