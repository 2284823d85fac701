/* SPDX-License-Identifier: BSD-3-Clause
 * Machine instructions as bytes, by the encoder of Zydis: operands as small values, labels, and jumps to
 * places that come later. The first instruction that cannot be encoded is an error that names it; what
 * follows is then ignored. */
#ifndef SPIRV_GEN_X86_ENCODE_H
#define SPIRV_GEN_X86_ENCODE_H

#include "base/base.h"

#include <Zydis/Zydis.h>

typedef enum x86_form { X86_REGISTER, X86_MEMORY, X86_IMMEDIATE } x86_form;

typedef struct x86_operand {
    uint8_t form;
    bool broadcast;      /* memory: one word, read by every lane */
    uint8_t scale;       /* of the index */
    uint16_t bytes;      /* of memory */
    ZydisRegister reg;   /* register; of memory: the base */
    ZydisRegister index; /* of memory; ZYDIS_REGISTER_NONE: none */
    int64_t value;       /* immediate; of memory: the displacement */
} x86_operand;

static inline x86_operand x86_reg(ZydisRegister reg)
{
    return (x86_operand){.form = X86_REGISTER, .reg = reg};
}
static inline x86_operand x86_imm(int64_t value)
{
    return (x86_operand){.form = X86_IMMEDIATE, .value = value};
}
static inline x86_operand x86_at(ZydisRegister base, int64_t displacement, uint32_t bytes)
{
    return (x86_operand){.form = X86_MEMORY, .bytes = (uint16_t)bytes, .reg = base, .value = displacement};
}
static inline x86_operand x86_indexed(ZydisRegister base, ZydisRegister index, uint32_t scale,
                                      int64_t displacement, uint32_t bytes)
{
    return (x86_operand){.form = X86_MEMORY,
                         .bytes = (uint16_t)bytes,
                         .reg = base,
                         .index = index,
                         .scale = (uint8_t)scale,
                         .value = displacement};
}

/* Which lanes an AVX-512 instruction writes: those of mask register k; `zero`: the others become 0. */
typedef struct x86_lanes_written {
    bool takes_mask; /* the instruction has an operand for it: k0 means all lanes */
    bool zero;
    uint8_t k;
} x86_lanes_written;

typedef struct x86_fixup {
    uint32_t at, label; /* place of a 32-bit distance that counts from its own end */
} x86_fixup;

typedef struct x86_assembler {
    ARRAY(uint8_t) bytes;
    ARRAY(uint32_t) labels; /* where each is bound; ~0: not yet */
    ARRAY(x86_fixup) fixups;
    bl_error error;
} x86_assembler;

void x86_assembler_free(x86_assembler *a);
void x86_put(x86_assembler *a, ZydisMnemonic mnemonic, x86_lanes_written lanes, const x86_operand *operands,
             uint32_t count);
uint32_t x86_label(x86_assembler *a);
void x86_bind(x86_assembler *a, uint32_t label);
/* JMP, CALL or a conditional jump. */
void x86_jump(x86_assembler *a, ZydisMnemonic mnemonic, uint32_t label);
/* LEA of a label's address. */
void x86_load_address(x86_assembler *a, ZydisRegister to, uint32_t label);
/* Four bytes: the distance from `origin`, a label that is bound, to `label`. */
void x86_distance(x86_assembler *a, uint32_t origin, uint32_t label);
void x86_align(x86_assembler *a, uint32_t bytes); /* with NOPs */
/* When all labels are bound: fills in the distances. */
void x86_link(x86_assembler *a);
/* Replaces the four bytes at `at`. */
void x86_patch(x86_assembler *a, uint32_t at, uint32_t word);

#endif
