/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes: what instructions have in common that differ in the numbers of registers, displacements and
 * immediates alone. The encoder of Zydis looks for the right one of all instructions of a name and checks
 * every operand, which is most of what code generation takes. So it is asked once for each shape of VEX and
 * EVEX instructions (Intel, Software Developer's Manual, volume 2, sections 2.3 and 2.7), with registers
 * whose numbers tell which field is whose. */
#ifndef SPIRV_GEN_X86_SHAPE_H
#define SPIRV_GEN_X86_SHAPE_H

#include "spirv_gen/x86/encode.h"

enum { X86_OPERANDS_MOST = 4 };

typedef struct x86_shape {
    uint64_t key;         /* 0: none */
    uint8_t evex, opcode; /* evex: else VEX */
    uint8_t p0, p1, p2;   /* bytes of the prefix without registers; of VEX as its longer form has them */
    uint8_t extension;    /* of the opcode, in the place of a register */
    int8_t reg, rm, vvvv; /* the operand in each field; -1: none; rm -1: the shape has neither prefix */
    int8_t last;          /* the register operand in the bits 4 to 7 of a last byte; -1: none */
    int8_t imm;           /* the operand in a last byte; -1: none */
} x86_shape;

/* The key of an instruction's shape; 0: it is one that has to be encoded as a whole. */
uint64_t x86_shape_key(ZydisMnemonic mnemonic, x86_lanes_written lanes, const x86_operand *operands,
                       uint32_t count);
/* The operand that stands for operand k when the encoder is asked for the shape. */
x86_operand x86_shape_sample(const x86_operand *operands, uint32_t count, uint32_t k);
/* Reads the shape from the encoded sample. */
x86_shape x86_shape_read(uint64_t key, const uint8_t *bytes, size_t length, const x86_operand *operands,
                         uint32_t count);
/* Writes an instruction of the shape; returns its bytes. */
size_t x86_shape_write(const x86_shape *s, x86_lanes_written lanes, const x86_operand *operands,
                       uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH]);

#endif
