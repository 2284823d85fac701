/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions that are written by their shape (spirv_gen/x86/shape.h) against the decoder of Zydis: the same
 * name, registers, places in memory and masks as asked for, whatever their numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef BL_WITH_NATIVE
#include "spirv_gen/x86/shape.h"

#include <string.h>

enum { ROUNDS = 400 };

typedef struct form {
    ZydisMnemonic mnemonic;
    const char *operands; /* x y z: vectors; k: a mask; r: 32 bits; m: memory; b: a broadcast word; s: lanes'
                             places in memory; i: a byte */
    bool takes_mask;
    uint16_t bytes; /* of memory */
    uint32_t registers;
} form;

static const form forms[] = {
    {ZYDIS_MNEMONIC_VADDPS, "zzz", true, 0, 32},      {ZYDIS_MNEMONIC_VADDPS, "zzm", true, 64, 32},
    {ZYDIS_MNEMONIC_VADDPS, "zzb", true, 4, 32},      {ZYDIS_MNEMONIC_VADDPS, "yyy", false, 0, 16},
    {ZYDIS_MNEMONIC_VADDPS, "yym", false, 32, 16},    {ZYDIS_MNEMONIC_VPADDD, "yyb", true, 4, 32},
    {ZYDIS_MNEMONIC_VMOVUPS, "mz", true, 64, 32},     {ZYDIS_MNEMONIC_VMOVUPS, "ym", false, 32, 16},
    {ZYDIS_MNEMONIC_VPSLLD, "zzi", true, 0, 32},      {ZYDIS_MNEMONIC_VPSRAD, "yyi", false, 0, 16},
    {ZYDIS_MNEMONIC_VCMPPS, "kzzi", true, 0, 32},     {ZYDIS_MNEMONIC_VCMPPS, "yymi", false, 32, 16},
    {ZYDIS_MNEMONIC_VPSHUFB, "zzz", true, 0, 32},     {ZYDIS_MNEMONIC_VCVTUDQ2PD, "zm", true, 32, 32},
    {ZYDIS_MNEMONIC_VBLENDVPS, "yyyy", false, 0, 16}, {ZYDIS_MNEMONIC_VBLENDVPS, "yymy", false, 32, 16},
    {ZYDIS_MNEMONIC_KANDW, "kkk", false, 0, 8},       {ZYDIS_MNEMONIC_VPGATHERDD, "zs", true, 4, 32},
    {ZYDIS_MNEMONIC_VPSCATTERDD, "sz", true, 4, 32},  {ZYDIS_MNEMONIC_VINSERTF32X4, "zzmi", true, 16, 32},
    {ZYDIS_MNEMONIC_VMOVD, "xr", false, 0, 16},       {ZYDIS_MNEMONIC_VMOVD, "xm", false, 4, 16},
    {ZYDIS_MNEMONIC_VBROADCASTSS, "zm", true, 4, 32}, {ZYDIS_MNEMONIC_BLSR, "rr", false, 0, 16},
};

#define CHECK(what, ...)                                                                                     \
    do                                                                                                       \
        if (!(what))                                                                                         \
            fail_msg(__VA_ARGS__);                                                                           \
    while (0)

static uint32_t seed = 1;

static uint32_t pick(uint32_t count)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * count >> 32);
}

/* Of any size, or where displacements of one byte end. */
static int64_t pick_displacement(int64_t bytes)
{
    static const int64_t most[] = {1, 128, 8192, 1 << 30}, edges[] = {-129, -128, 127, 128};
    int64_t size = most[pick(4)];
    if (pick(2))
        return edges[pick(4)] * (pick(2) ? bytes : 1);
    return (int64_t)pick((uint32_t)(2 * size)) - size;
}

static ZydisRegister pick_address(bool index)
{
    uint32_t k = pick(16);
    return (ZydisRegister)(ZYDIS_REGISTER_RAX + (index && k == 4 ? 5 : k)); /* rsp cannot be an index */
}

static x86_operand pick_operand(const form *f, char what)
{
    x86_operand o;
    switch (what) {
    case 'x':
        return x86_reg((ZydisRegister)(ZYDIS_REGISTER_XMM0 + pick(f->registers)));
    case 'y':
        return x86_reg((ZydisRegister)(ZYDIS_REGISTER_YMM0 + pick(f->registers)));
    case 'z':
        return x86_reg((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + pick(f->registers)));
    case 'k':
        return x86_reg((ZydisRegister)(ZYDIS_REGISTER_K0 + pick(8)));
    case 'r':
        return x86_reg((ZydisRegister)(ZYDIS_REGISTER_EAX + pick(16)));
    case 'i':
        return x86_imm(pick(32));
    default:
        o = x86_at(pick_address(false), pick_displacement(f->bytes), f->bytes);
        if (what == 's')
            o.index = (ZydisRegister)(ZYDIS_REGISTER_ZMM0 + pick(32)), o.scale = 4;
        else if (pick(2))
            o.index = pick_address(true), o.scale = (uint8_t)(1u << pick(4));
        o.broadcast = what == 'b';
        return o;
    }
}

static bool same(const x86_operand *o, const ZydisDecodedOperand *d)
{
    switch ((x86_form)o->form) {
    case X86_REGISTER:
        return d->type == ZYDIS_OPERAND_TYPE_REGISTER && d->reg.value == o->reg;
    case X86_IMMEDIATE:
        return d->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && d->imm.value.s == o->value;
    case X86_MEMORY:
        return d->type == ZYDIS_OPERAND_TYPE_MEMORY && d->mem.base == o->reg && d->mem.index == o->index &&
               (o->index == ZYDIS_REGISTER_NONE || d->mem.scale == o->scale) && d->mem.disp.value == o->value;
    }
    return false;
}

static void check(const ZydisDecoder *decoder, x86_assembler *a, const form *f)
{
    x86_operand o[X86_OPERANDS_MOST];
    uint32_t count = (uint32_t)strlen(f->operands), at = a->bytes.count, k = 0;
    bool sparse = strchr(f->operands, 's') != NULL;
    x86_lanes_written lanes = {.takes_mask = f->takes_mask, .k = (uint8_t)(f->takes_mask ? pick(8) : 0)};
    for (uint32_t i = 0; i < count; i++)
        o[i] = pick_operand(f, f->operands[i]);
    if (sparse && !lanes.k)
        lanes.k = 1;
    if (f->operands[0] == 'z' && sparse && o[0].reg == o[1].index) /* no gather over its own places */
        o[0] = x86_reg((ZydisRegister)(ZYDIS_REGISTER_ZMM0 + (o[0].reg - ZYDIS_REGISTER_ZMM0 + 1) % 32));
    lanes.zero = lanes.k && f->operands[0] == 'z' && !sparse && pick(2);
    x86_put(a, f->mnemonic, lanes, o, count);
    CHECK(a->error.code == BL_OK, "%s", a->error.text);
    ZydisDecodedInstruction d;
    ZydisDecodedOperand decoded[ZYDIS_MAX_OPERAND_COUNT];
    ZyanStatus status = ZydisDecoderDecodeFull(decoder, a->bytes.data + at, a->bytes.count - at, &d, decoded);
    CHECK(ZYAN_SUCCESS(status) && d.length == a->bytes.count - at && d.mnemonic == f->mnemonic,
          "%s %s: other bytes", ZydisMnemonicGetString(f->mnemonic), f->operands);
    CHECK((uint32_t)(d.avx.mask.reg - ZYDIS_REGISTER_K0) == lanes.k || !f->takes_mask, "%s: mask %u",
          ZydisMnemonicGetString(f->mnemonic), lanes.k);
    CHECK(f->operands[0] != 'z' || (d.avx.mask.mode == ZYDIS_MASK_MODE_ZEROING) == lanes.zero, "%s: zeroing",
          ZydisMnemonicGetString(f->mnemonic));
    CHECK(d.avx.broadcast.mode == ZYDIS_BROADCAST_MODE_INVALID || d.avx.broadcast.is_static ||
              strchr(f->operands, 'b'),
          "%s: a broadcast", ZydisMnemonicGetString(f->mnemonic));
    for (uint32_t i = 0; i < count; i++, k++) {
        if (i == 1 && f->takes_mask)
            k++;
        CHECK(same(&o[i], &decoded[k]), "%s %s: operand %u", ZydisMnemonicGetString(f->mnemonic), f->operands,
              i);
    }
}

static void shapes_give_what_was_asked_for(void **state)
{
    (void)state;
    ZydisDecoder decoder;
    x86_assembler a = {.shapes = NULL};
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (uint32_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (uint32_t round = 0; round < ROUNDS; round++)
            check(&decoder, &a, &forms[k]);
    x86_assembler_free(&a);
}

static void what_does_not_exist_is_an_error(void **state)
{
    (void)state;
    x86_assembler a = {.shapes = NULL};
    x86_operand moved[2] = {x86_reg(ZYDIS_REGISTER_EAX), x86_reg(ZYDIS_REGISTER_R9D)};
    x86_put(&a, ZYDIS_MNEMONIC_MOV, (x86_lanes_written){0}, moved, 2);
    CHECK(a.error.code == BL_OK, "mov: %s", a.error.text);
    x86_operand wrong[2] = {x86_reg(ZYDIS_REGISTER_ZMM1), x86_reg(ZYDIS_REGISTER_K1)};
    x86_put(&a, ZYDIS_MNEMONIC_VADDPS, (x86_lanes_written){0}, wrong, 2);
    CHECK(a.error.code == BL_ERROR_COMPILE, "vaddps of two operands is taken");
    x86_assembler_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_give_what_was_asked_for),
        cmocka_unit_test(what_does_not_exist_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include <stdio.h>

int main(void)
{
    printf("skipped: this build is without the native device\n");
    return 77;
}

#endif
