/* SPDX-License-Identifier: BSD-3-Clause
 * See shape.h. In prefixes the bits of registers, and of "no register", stand inverted. A displacement of one
 * byte counts bytes in VEX, elements or vectors (of the operand's size) in EVEX. */
#include "spirv_gen/x86/shape.h"

#include <string.h>

enum { VEX2 = 0xC5, VEX3 = 0xC4, EVEX = 0x62, MAP_0F = 1, SIB = 4 };
/* Numbers of a sample's registers: SAMPLE + k of operand k, or HIGH_SAMPLE + k if some register needs EVEX.
 * Extensions of opcodes are below. A mask has its number in three bits. */
enum { SAMPLE = 8, HIGH_SAMPLE = 16, MASK_SAMPLE = 4, LOW_REGISTERS = 16 };

typedef enum kind { OTHER, MASK, WORD, LONG, XMM, YMM, ZMM } kind;

static const struct {
    uint16_t first, last; /* ZydisRegister */
    uint8_t kind;
} kinds[] = {
    {ZYDIS_REGISTER_ZMM0, ZYDIS_REGISTER_ZMM31, ZMM}, {ZYDIS_REGISTER_YMM0, ZYDIS_REGISTER_YMM31, YMM},
    {ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_XMM31, XMM}, {ZYDIS_REGISTER_K0, ZYDIS_REGISTER_K7, MASK},
    {ZYDIS_REGISTER_EAX, ZYDIS_REGISTER_R15D, WORD},  {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R15, LONG}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static uint32_t row_of(ZydisRegister reg)
{
    uint32_t k = 0;
    while (k < KINDS && (reg < kinds[k].first || reg > kinds[k].last))
        k++;
    return k;
}

static kind kind_of(ZydisRegister reg)
{
    uint32_t k = row_of(reg);
    return k < KINDS ? (kind)kinds[k].kind : OTHER;
}

static uint32_t number_of(ZydisRegister reg) { return (uint32_t)reg - kinds[row_of(reg)].first; }

static bool is_high(const x86_operand *o)
{
    ZydisRegister reg = o->form == X86_REGISTER ? o->reg : o->index;
    return o->form != X86_IMMEDIATE && reg != ZYDIS_REGISTER_NONE && kind_of(reg) >= XMM &&
           number_of(reg) >= LOW_REGISTERS;
}

/* ---- keys ---- */

/* 9 bits; 0: an operand that belongs to no shape. */
static uint32_t operand_key(const x86_operand *o)
{
    uint32_t index = 0;
    switch ((x86_form)o->form) {
    case X86_IMMEDIATE:
        return o->value >= -128 && o->value < 256 ? 1 : 0;
    case X86_REGISTER:
        return kind_of(o->reg) == OTHER ? 0 : 8 + (uint32_t)kind_of(o->reg);
    case X86_MEMORY:
        if (kind_of(o->reg) != LONG)
            return 0;
        if (o->index != ZYDIS_REGISTER_NONE)
            index = (uint32_t)kind_of(o->index);
        return 256 | index << 5 | (uint32_t)o->broadcast << 4 | (uint32_t)__builtin_ctz(o->bytes | 1u << 15);
    }
    return 0;
}

uint64_t x86_shape_key(ZydisMnemonic mnemonic, x86_lanes_written lanes, const x86_operand *operands,
                       uint32_t count)
{
    uint64_t key = (uint64_t)mnemonic << 3 | (uint64_t)lanes.takes_mask << 2 | (uint64_t)lanes.zero << 1;
    bool high = false;
    if (count == 0 || count > X86_OPERANDS_MOST)
        return 0;
    for (uint32_t k = 0; k < X86_OPERANDS_MOST; k++) {
        uint32_t one = k < count ? operand_key(&operands[k]) : 0;
        if (k < count && !one)
            return 0;
        key = key << 9 | one;
        high = high || (k < count && is_high(&operands[k]));
    }
    return key << 1 | high;
}

/* ---- samples ---- */

x86_operand x86_shape_sample(const x86_operand *operands, uint32_t count, uint32_t k)
{
    x86_operand o = operands[k];
    bool high = false;
    for (uint32_t i = 0; i < count; i++)
        high = high || is_high(&operands[i]);
    if (o.form == X86_REGISTER) {
        kind of = kind_of(o.reg);
        uint32_t from = of == MASK ? MASK_SAMPLE : of >= XMM && high ? HIGH_SAMPLE : SAMPLE;
        o.reg = (ZydisRegister)(kinds[row_of(o.reg)].first + from + k);
    } else if (o.form == X86_MEMORY) {
        o.reg = ZYDIS_REGISTER_RAX, o.value = 0;
        if (o.index != ZYDIS_REGISTER_NONE)
            o.index = (ZydisRegister)kinds[row_of(o.index)].first;
    }
    return o;
}

/* Which register operand of the sample has this number; -1: none. */
static int8_t who(const x86_operand *operands, uint32_t count, uint32_t number)
{
    for (uint32_t k = 0; k < count; k++)
        if (operands[k].form == X86_REGISTER && number_of(x86_shape_sample(operands, count, k).reg) == number)
            return (int8_t)k;
    return -1;
}

x86_shape x86_shape_read(uint64_t key, const uint8_t *b, size_t length, const x86_operand *operands,
                         uint32_t count)
{
    x86_shape s = {.key = key, .reg = -1, .rm = -1, .vvvv = -1, .last = -1, .imm = -1};
    uint32_t reg = 0, rm = 0, vvvv = 0;
    const uint8_t *p;
    if (b[0] == EVEX) {
        s.evex = 1, s.p0 = b[1] & 0x0F, s.p1 = b[2] & 0x87, s.p2 = b[3] & 0xF0, p = b + 4;
        reg = (~b[1] & 0x80u) >> 4 | (~b[1] & 0x10u), rm = (~b[1] & 0x20u) >> 2 | (~b[1] & 0x40u) >> 2;
        vvvv = (~b[2] & 0x78u) >> 3 | (~b[3] & 0x08u) << 1;
    } else if (b[0] == VEX3) {
        s.p0 = b[1] & 0x1F, s.p1 = b[2] & 0x87, p = b + 3;
        reg = (~b[1] & 0x80u) >> 4, rm = (~b[1] & 0x20u) >> 2, vvvv = (~b[2] & 0x78u) >> 3;
    } else if (b[0] == VEX2) {
        s.p0 = MAP_0F, s.p1 = b[1] & 0x07, p = b + 2;
        reg = (~b[1] & 0x80u) >> 4, vvvv = (~b[1] & 0x78u) >> 3;
    } else {
        return s;
    }
    s.opcode = p[0], reg |= p[1] >> 3 & 7, rm |= p[1] & 7;
    bool memory = false;
    for (uint32_t k = 0; k < count; k++) {
        if (operands[k].form == X86_MEMORY)
            s.rm = (int8_t)k, memory = true;
        if (operands[k].form == X86_IMMEDIATE)
            s.imm = (int8_t)k;
    }
    s.reg = who(operands, count, reg), s.vvvv = who(operands, count, vvvv);
    s.extension = (uint8_t)(s.reg < 0 ? reg : 0);
    if (!memory)
        s.rm = who(operands, count, rm);
    for (int8_t k = 0; k < (int8_t)count; k++)
        if (operands[k].form == X86_REGISTER && k != s.reg && k != s.rm && k != s.vvvv)
            s.last = k;
    BL_ASSERT(s.rm >= 0 && (s.last < 0 || b[length - 1] >> 4 == SAMPLE + s.last), "fields of opcode %x",
              s.opcode);
    return s;
}

/* ---- instructions ---- */

static uint8_t *put_modrm(const x86_shape *s, const x86_operand *o, uint32_t reg, uint8_t *to)
{
    uint32_t scale = s->evex ? o->bytes : 1, field = (reg & 7) << 3;
    if (o->form == X86_REGISTER) {
        *to++ = (uint8_t)(0xC0 | field | (number_of(o->reg) & 7));
        return to;
    }
    uint32_t base = number_of(o->reg) & 7, index = SIB, log = (uint32_t)__builtin_ctz(o->scale | 8u);
    bool sib = base == SIB || o->index != ZYDIS_REGISTER_NONE, is_short = o->value % scale == 0;
    int64_t units = o->value / (int64_t)scale;
    is_short = is_short && units >= -128 && units < 128;
    uint32_t mode = o->value == 0 && base != 5 ? 0 : is_short ? 0x40 : 0x80;
    *to++ = (uint8_t)(mode | field | (sib ? SIB : base));
    if (o->index != ZYDIS_REGISTER_NONE)
        index = number_of(o->index) & 7;
    if (sib)
        *to++ = (uint8_t)((o->index != ZYDIS_REGISTER_NONE ? log : 0) << 6 | index << 3 | base);
    if (mode == 0x40) {
        *to++ = (uint8_t)units;
    } else if (mode == 0x80) {
        int32_t displacement = (int32_t)o->value;
        memcpy(to, &displacement, 4), to += 4;
    }
    return to;
}

size_t x86_shape_write(const x86_shape *s, x86_lanes_written lanes, const x86_operand *operands,
                       uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH])
{
    const x86_operand *rm = &operands[s->rm];
    uint32_t reg = s->reg < 0 ? s->extension : number_of(operands[s->reg].reg),
             vvvv = s->vvvv < 0 ? 0 : number_of(operands[s->vvvv].reg), low = number_of(rm->reg), high = 0;
    uint8_t *to = bytes;
    if (rm->form == X86_REGISTER)
        high = low >> 4 & 1; /* X is the fifth bit of a register */
    else if (rm->index != ZYDIS_REGISTER_NONE) {
        high = number_of(rm->index) >> 3 & 1;
        vvvv |= number_of(rm->index) & 16; /* V' is the fifth bit of a vector of indices */
    }
    uint32_t p0 = s->p0 | (~reg & 8) << 4 | (~high & 1) << 6 | (~low & 8) << 2, p1 = s->p1 | (~vvvv & 15)
                                                                                                 << 3;
    if (s->evex) {
        *to++ = EVEX;
        *to++ = (uint8_t)(p0 | (~reg & 16));
        *to++ = (uint8_t)p1;
        *to++ = (uint8_t)(s->p2 | (~vvvv & 16) >> 1 | lanes.k);
    } else if ((p0 & 0x7F) == (0x60 | MAP_0F) && !(p1 & 0x80)) {
        *to++ = VEX2;
        *to++ = (uint8_t)((p0 & 0x80) | p1);
    } else {
        *to++ = VEX3;
        *to++ = (uint8_t)p0, *to++ = (uint8_t)p1;
    }
    *to++ = s->opcode;
    to = put_modrm(s, rm, reg, to);
    if (s->last >= 0)
        *to++ = (uint8_t)(number_of(operands[s->last].reg) << 4);
    else if (s->imm >= 0)
        *to++ = (uint8_t)operands[s->imm].value;
    return (size_t)(to - bytes);
}
