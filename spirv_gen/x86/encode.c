/* SPDX-License-Identifier: BSD-3-Clause
 * See encode.h. Every jump has four bytes of distance, so no instruction moves when a label is bound. */
#include "spirv_gen/x86/shape.h"

#include <stdlib.h>
#include <string.h>

enum { UNBOUND = ~0, SHAPES = 512, TRIES = 8 };

void x86_assembler_free(x86_assembler *a)
{
    memory_free(a->bytes.data), memory_free(a->labels.data), memory_free(a->fixups.data);
    memory_free(a->shapes);
    *a = (x86_assembler){0};
}

static void put_bytes(x86_assembler *a, const void *bytes, size_t count)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < count; i++)
        array_push(&a->bytes, b[i]);
}

static void convert(const x86_operand *from, ZydisEncoderOperand *to, ZydisEncoderRequest *r)
{
    switch ((x86_form)from->form) {
    case X86_REGISTER:
        to->type = ZYDIS_OPERAND_TYPE_REGISTER;
        to->reg.value = from->reg;
        return;
    case X86_IMMEDIATE:
        to->type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
        to->imm.s = from->value;
        return;
    case X86_MEMORY:
        to->type = ZYDIS_OPERAND_TYPE_MEMORY;
        to->mem.base = from->reg;
        to->mem.index = from->index;
        to->mem.scale = from->scale;
        to->mem.displacement = from->value;
        to->mem.size = from->bytes;
        if (from->broadcast)
            r->evex.broadcast = from->bytes == 8 ? ZYDIS_BROADCAST_MODE_1_TO_8   /* doubles, of a ZMM */
                                                 : ZYDIS_BROADCAST_MODE_1_TO_16; /* x86_put corrects it
                                                                                    for shorter vectors */
        return;
    }
}

static bool is_ymm(const x86_operand *o)
{
    return o->form == X86_REGISTER && o->reg >= ZYDIS_REGISTER_YMM0 && o->reg <= ZYDIS_REGISTER_YMM31;
}

/* Puts bytes of an instruction. None: it could not be encoded. */
static void put_encoded(x86_assembler *a, ZydisMnemonic mnemonic, const uint8_t *bytes, size_t count)
{
    if (count == 0 && a->error.code == BL_OK)
        error_set(&a->error, BL_ERROR_COMPILE, "x86: %s cannot be encoded with its operands",
                  ZydisMnemonicGetString(mnemonic));
    put_bytes(a, bytes, count);
}

/* Returns the number of bytes; 0: there is no such instruction. */
static size_t encode(const ZydisEncoderRequest *r, uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH])
{
    ZyanUSize length = ZYDIS_MAX_INSTRUCTION_LENGTH;
    return ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(r, bytes, &length)) ? length : 0;
}

static size_t encode_whole(ZydisMnemonic mnemonic, x86_lanes_written lanes, const x86_operand *operands,
                           uint32_t count, uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH])
{
    ZydisEncoderRequest r = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64, .mnemonic = mnemonic};
    bool ymm = false;
    BL_ASSERT(count + lanes.takes_mask <= ZYDIS_ENCODER_MAX_OPERANDS, "%u operands", count);
    for (uint32_t i = 0; i < count; i++) {
        convert(&operands[i], &r.operands[r.operand_count++], &r);
        ymm = ymm || is_ymm(&operands[i]);
        if (i == 0 && lanes.takes_mask) {
            ZydisEncoderOperand *mask = &r.operands[r.operand_count++];
            mask->type = ZYDIS_OPERAND_TYPE_REGISTER;
            mask->reg.value = (ZydisRegister)(ZYDIS_REGISTER_K0 + lanes.k);
        }
    }
    if (r.evex.broadcast && ymm)
        r.evex.broadcast = ZYDIS_BROADCAST_MODE_1_TO_8;
    if (mnemonic == ZYDIS_MNEMONIC_VBLENDVPS ||
        mnemonic == ZYDIS_MNEMONIC_VBLENDVPD) /* an immediate byte holds its last register */
        r.operands[count - 1].reg.is4 = ZYAN_TRUE;
    r.evex.zeroing_mask = lanes.zero;
    return encode(&r, bytes);
}

/* The shape of an instruction; NULL: it has none, or the table is full around its place. */
static const x86_shape *find_shape(x86_assembler *a, ZydisMnemonic mnemonic, x86_lanes_written lanes,
                                   const x86_operand *operands, uint32_t count)
{
    uint64_t key = x86_shape_key(mnemonic, lanes, operands, count);
    if (!key)
        return NULL;
    if (!a->shapes)
        a->shapes = memory_need_zeroed(SHAPES, sizeof *a->shapes);
    uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15u >> 40);
    for (uint32_t k = 0; k < TRIES; k++) {
        x86_shape *s = &a->shapes[(at + k) % SHAPES];
        if (!s->key) {
            uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
            x86_operand sample[X86_OPERANDS_MOST];
            for (uint32_t i = 0; i < count; i++)
                sample[i] = x86_shape_sample(operands, count, i);
            size_t length = encode_whole(mnemonic, lanes, sample, count, bytes);
            *s = length ? x86_shape_read(key, bytes, length, operands, count)
                        : (x86_shape){.key = key, .rm = -1};
        }
        if (s->key == key)
            return s->rm >= 0 ? s : NULL;
    }
    return NULL;
}

void x86_put(x86_assembler *a, ZydisMnemonic mnemonic, x86_lanes_written lanes, const x86_operand *operands,
             uint32_t count)
{
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    const x86_shape *s = find_shape(a, mnemonic, lanes, operands, count);
    put_encoded(a, mnemonic, bytes,
                s ? x86_shape_write(s, lanes, operands, bytes)
                  : encode_whole(mnemonic, lanes, operands, count, bytes));
}

uint32_t x86_label(x86_assembler *a)
{
    array_push(&a->labels, (uint32_t)UNBOUND);
    return a->labels.count - 1;
}

void x86_bind(x86_assembler *a, uint32_t label)
{
    BL_ASSERT(a->labels.data[label] == (uint32_t)UNBOUND, "label %u is bound twice", label);
    a->labels.data[label] = a->bytes.count;
}

/* The last four bytes become the distance to a label. */
static void expect(x86_assembler *a, uint32_t label)
{
    x86_fixup fixup = {.at = a->bytes.count - 4, .label = label, .origin = (uint32_t)X86_NO_ORIGIN};
    if (a->error.code == BL_OK)
        array_push(&a->fixups, fixup);
}

void x86_jump(x86_assembler *a, ZydisMnemonic mnemonic, uint32_t label)
{
    ZydisEncoderRequest r = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
                             .mnemonic = mnemonic,
                             .branch_type = ZYDIS_BRANCH_TYPE_NEAR,
                             .branch_width = ZYDIS_BRANCH_WIDTH_32,
                             .operand_count = 1};
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    r.operands[0].type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
    put_encoded(a, mnemonic, bytes, encode(&r, bytes));
    expect(a, label);
}

void x86_load_address(x86_assembler *a, ZydisRegister to, uint32_t label)
{
    x86_operand operands[2] = {x86_reg(to), x86_at(ZYDIS_REGISTER_RIP, 0, 8)};
    x86_put(a, ZYDIS_MNEMONIC_LEA, (x86_lanes_written){0}, operands, 2);
    expect(a, label);
}

void x86_distance(x86_assembler *a, uint32_t origin, uint32_t label)
{
    static const uint8_t unknown[4];
    x86_fixup fixup = {.at = a->bytes.count, .label = label, .origin = origin};
    put_bytes(a, unknown, sizeof unknown);
    array_push(&a->fixups, fixup);
}

void x86_align(x86_assembler *a, uint32_t bytes)
{
    uint8_t nops[64];
    uint32_t missing = (bytes - a->bytes.count % bytes) % bytes;
    if (missing == 0)
        return;
    ZydisEncoderNopFill(nops, missing);
    put_bytes(a, nops, missing);
}

void x86_patch(x86_assembler *a, uint32_t at, uint32_t word)
{
    BL_ASSERT(a->bytes.count >= 4 && at <= a->bytes.count - 4, "a patch at %u of %u", at, a->bytes.count);
    memcpy(a->bytes.data + at, &word, 4);
}

void x86_link(x86_assembler *a)
{
    if (a->error.code != BL_OK)
        return;
    for (uint32_t i = 0; i < a->fixups.count; i++) {
        x86_fixup f = a->fixups.data[i];
        uint32_t target = a->labels.data[f.label],
                 from = f.origin == (uint32_t)X86_NO_ORIGIN ? f.at + 4 : a->labels.data[f.origin];
        BL_ASSERT(target != (uint32_t)UNBOUND && from != (uint32_t)UNBOUND, "label %u is not bound", f.label);
        x86_patch(a, f.at, target - from);
    }
}
