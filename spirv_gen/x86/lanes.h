/* SPDX-License-Identifier: BSD-3-Clause
 * Masks, and what is done under them: the small layer that AVX-512 and AVX2 differ in.
 *
 * With AVX-512 a mask is a k register. With AVX2 it is a vector register whose lanes are 0 or ~0. Either way
 * it is named by a number. X86_ACTIVE holds the lanes that run; X86_SCRATCH_0 to 2 are free within one op. */
#ifndef SPIRV_GEN_X86_LANES_H
#define SPIRV_GEN_X86_LANES_H

#include "spirv_gen/x86/generate.h"

uint32_t x86_active(const x86_gen *g);
uint32_t x86_mask_scratch(const x86_gen *g, uint32_t k); /* k: 0, 1, 2 */
/* Registers that allocate.c gives away: vectors first .. last, masks first .. last; of AVX2 one file. */
typedef struct x86_files {
    uint32_t first_vector, last_vector, first_mask, last_mask;
    bool one; /* masks are vectors */
} x86_files;
x86_files x86_register_files(const x86_gen *g);
uint32_t x86_mask_bytes(const x86_gen *g); /* of a slot */

void x86_mask_move(x86_gen *g, uint32_t to, uint32_t from);
void x86_mask_read(x86_gen *g, uint32_t to, x86_operand memory);
void x86_mask_write(x86_gen *g, x86_operand memory, uint32_t from);
void x86_mask_set(x86_gen *g, uint32_t to, bool value); /* all lanes */
void x86_mask_and(x86_gen *g, uint32_t to, uint32_t a, uint32_t b);
void x86_mask_or(x86_gen *g, uint32_t to, uint32_t a, uint32_t b);
void x86_mask_xor(x86_gen *g, uint32_t to, uint32_t a, uint32_t b);
void x86_mask_and_not(x86_gen *g, uint32_t to, uint32_t a, uint32_t b); /* a & ~b */
void x86_mask_not(x86_gen *g, uint32_t to, uint32_t a);
/* Sets the zero flag if no lane is in it. */
void x86_mask_test(x86_gen *g, uint32_t mask);
void x86_mask_bits(x86_gen *g, ZydisRegister to, uint32_t mask); /* a bit per lane in a 32-bit register */
/* The mask of a uniform bool, a word of the workspace that is ~0 or 0: all lanes or none. */
void x86_mask_word(x86_gen *g, uint32_t to, x86_operand word);
/* The other way: writes ~0 or 0, as lane 0 says. */
void x86_mask_to_word(x86_gen *g, x86_operand word, uint32_t mask);

typedef enum x86_compare { X86_EQUAL, X86_UNEQUAL, X86_LESS, X86_LESS_EQUAL } x86_compare;
/* a: vector register; b: an operand. Unordered reals are unequal. */
void x86_compare_lanes(x86_gen *g, uint32_t mask, ir_type type, x86_compare how, uint32_t a, x86_operand b);
/* Lanes where a real is no NaN. */
void x86_compare_ordered(x86_gen *g, uint32_t mask, uint32_t a);
/* to = mask ? yes : no */
void x86_blend(x86_gen *g, uint32_t to, uint32_t mask, uint32_t no, x86_operand yes);
void x86_blend_zero(x86_gen *g, uint32_t to, uint32_t mask, x86_operand yes); /* no = 0 */
/* Lanes of the mask: word base[index]; others: 0. `to` is not `index`; the mask stays. */
void x86_gather(x86_gen *g, uint32_t to, uint32_t mask, ZydisRegister base, uint32_t index,
                int64_t displacement);
/* A loop over the lanes of a mask, in ascending order, whose indices are temporary 0. In the loop ecx is the
 * lane, rdx its index, esi has a bit for each lane that is left, and eax and edi are free. */
typedef struct x86_lane_loop {
    uint32_t top, out; /* labels */
} x86_lane_loop;
x86_lane_loop x86_begin_lanes(x86_gen *g, uint32_t mask);
void x86_end_lanes(x86_gen *g, x86_lane_loop loop);
x86_operand x86_lane_of(const x86_gen *g, uint32_t temporary);       /* the lane's word of a temporary */
x86_operand x86_lane_word(ZydisRegister base, int64_t displacement); /* base[index] of the lane */

/* Lanes of the mask, in ascending order: base[index] = from. */
void x86_scatter(x86_gen *g, uint32_t mask, ZydisRegister base, uint32_t index, int64_t displacement,
                 uint32_t from);

#endif
