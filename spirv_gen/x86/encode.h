/* SPDX-License-Identifier: BSD-3-Clause
 * The assembler: it appends machine instructions, which the encoder of Zydis makes, to an array of bytes.
 * Operands are small values. A label names a place in the code, which may come later than the jumps to it:
 * x86_link fills in all distances at the end. The first instruction that cannot be encoded sets an error that
 * names it, and the code is then worthless. */
#ifndef SPIRV_GEN_X86_ENCODE_H
#define SPIRV_GEN_X86_ENCODE_H

#include "base/base.h"

#include <Zydis/Zydis.h>

typedef enum x86_form { X86_REGISTER, X86_MEMORY, X86_IMMEDIATE } x86_form;

typedef struct x86_operand {
    uint8_t form;
    bool broadcast;      /* of memory: every lane reads the same word */
    uint8_t scale;       /* of memory: the factor of the index */
    uint16_t bytes;      /* of memory: its size */
    ZydisRegister reg;   /* the register; of memory: the base */
    ZydisRegister index; /* of memory; ZYDIS_REGISTER_NONE: it has none */
    int64_t value;       /* the immediate; of memory: the displacement */
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

/* The lanes that an AVX-512 instruction writes. */
typedef struct x86_lanes_written {
    bool takes_mask; /* the instruction has an operand for a mask register */
    bool zero;       /* lanes outside the mask become 0; else they keep what they have */
    uint8_t k;       /* the mask register; 0 means all lanes */
} x86_lanes_written;

/* The four bytes at `at` become the distance to `label`: of an instruction's operand, which these bytes end,
 * from there; of a word of a table, from the label `origin`. */
enum { X86_NO_ORIGIN = ~0 };
typedef struct x86_fixup {
    uint32_t at, label, origin; /* origin X86_NO_ORIGIN: an operand */
} x86_fixup;

typedef struct x86_assembler {
    ARRAY(uint8_t) bytes;
    ARRAY(uint32_t) labels;   /* the place that each is bound to; ~0: none yet */
    ARRAY(x86_fixup) fixups;  /* by `at`, ascending */
    struct x86_shape *shapes; /* those that have been asked for: a hash table */
    bl_error error;
} x86_assembler;

void x86_assembler_free(x86_assembler *a);
void x86_put(x86_assembler *a, ZydisMnemonic mnemonic, x86_lanes_written lanes, const x86_operand *operands,
             uint32_t count);
uint32_t x86_label(x86_assembler *a);
void x86_bind(x86_assembler *a, uint32_t label);
/* Puts JMP, CALL or a conditional jump. */
void x86_jump(x86_assembler *a, ZydisMnemonic mnemonic, uint32_t label);
/* Puts a LEA of a label's address. */
void x86_load_address(x86_assembler *a, ZydisRegister to, uint32_t label);
/* Puts four bytes, the distance from the label `origin` to `label`. */
void x86_distance(x86_assembler *a, uint32_t origin, uint32_t label);
void x86_align(x86_assembler *a, uint32_t bytes); /* puts NOPs up to the next multiple of `bytes` */
/* Fills in the distances. All labels must be bound. */
void x86_link(x86_assembler *a);
/* Replaces the four bytes at `at`. */
void x86_patch(x86_assembler *a, uint32_t at, uint32_t word);

#endif
