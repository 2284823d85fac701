/* SPDX-License-Identifier: BSD-3-Clause
 * Masks, and what is done under them. AVX-512 and AVX2 differ here most, and this layer hides the difference.
 *
 * With AVX-512 a mask is a k register. With AVX2 it is a vector register whose lanes are 0 or ~0. Either way
 * a number names it. The mask x86_active holds the lanes that run. Scratch masks 0 to 2 are free within one
 * op; gathers and scatters clear number 1. With AVX2 the functions of this layer overwrite vector register 4,
 * and x86_mask_to_word does so with AVX-512, too. */
#ifndef SPIRV_GEN_X86_LANES_H
#define SPIRV_GEN_X86_LANES_H

#include "spirv_gen/x86/generate.h"

uint32_t x86_active(const x86_gen *g);
uint32_t x86_mask_scratch(const x86_gen *g, uint32_t k); /* k: 0, 1, 2 */
/* The registers that allocate.c gives away. */
typedef struct x86_files {
    uint32_t first_vector, last_vector, first_mask, last_mask;
    bool one; /* masks are vectors, so vectors and masks share one file and there is no mask file */
} x86_files;
x86_files x86_register_files(const x86_gen *g);
uint32_t x86_mask_bytes(const x86_gen *g); /* the size of a slot for a mask */

void x86_mask_move(x86_gen *g, uint32_t to, uint32_t from);
void x86_mask_read(x86_gen *g, uint32_t to, x86_operand memory);
void x86_mask_write(x86_gen *g, x86_operand memory, uint32_t from);
void x86_mask_set(x86_gen *g, uint32_t to, bool value); /* sets all lanes */
void x86_mask_and(x86_gen *g, uint32_t to, uint32_t a, uint32_t b);
void x86_mask_or(x86_gen *g, uint32_t to, uint32_t a, uint32_t b);
void x86_mask_xor(x86_gen *g, uint32_t to, uint32_t a, uint32_t b);
void x86_mask_and_not(x86_gen *g, uint32_t to, uint32_t a, uint32_t b); /* a & ~b */
void x86_mask_not(x86_gen *g, uint32_t to, uint32_t a);
/* Sets the zero flag if no lane is in the mask. */
void x86_mask_test(x86_gen *g, uint32_t mask);
/* Writes a bit per lane to a 32-bit register. */
void x86_mask_bits(x86_gen *g, ZydisRegister to, uint32_t mask);
/* Reads a uniform bool, a word of the workspace that is ~0 or 0: the mask gets all lanes or none. */
void x86_mask_word(x86_gen *g, uint32_t to, x86_operand word);
/* Writes a uniform bool: the word becomes ~0 if lane 0 is in the mask, else 0. */
void x86_mask_to_word(x86_gen *g, x86_operand word, uint32_t mask);

typedef enum x86_compare { X86_EQUAL, X86_UNEQUAL, X86_LESS, X86_LESS_EQUAL } x86_compare;
/* The mask gets the lanes in which "a how b" holds; a is a vector register, b an operand. A NaN is unequal to
 * everything, and neither less nor greater. */
void x86_compare_lanes(x86_gen *g, uint32_t mask, ir_type type, x86_compare how, uint32_t a, x86_operand b);
/* The mask gets the lanes in which a real is no NaN. */
void x86_compare_ordered(x86_gen *g, uint32_t mask, uint32_t a);
/* to = mask ? yes : no, of a value's type: of words where that is not IR_F32 */
void x86_blend(x86_gen *g, ir_type type, uint32_t to, uint32_t mask, uint32_t no, x86_operand yes);
void x86_blend_zero(x86_gen *g, ir_type type, uint32_t to, uint32_t mask, x86_operand yes); /* no = 0 */
/* Lanes of the mask get the word base[index], the others 0. `to` must not be `index`. The mask stays as it
 * is. */
void x86_gather(x86_gen *g, uint32_t to, uint32_t mask, ZydisRegister base, uint32_t index,
                int64_t displacement);
/* The same of doubles: base and displacement of bytes, index of doubles. */
void x86_gather_doubles(x86_gen *g, uint32_t to, uint32_t mask, ZydisRegister base, uint32_t index,
                        int64_t displacement);
/* A loop over the lanes of a mask, in ascending order. Temporary 0 must hold an index for each lane. Within
 * the loop ecx is the lane, rdx its index, and esi has a bit for each lane that is left; eax and edi are
 * free. */
typedef struct x86_lane_loop {
    uint32_t top, out; /* labels */
} x86_lane_loop;
x86_lane_loop x86_begin_lanes(x86_gen *g, uint32_t mask);
void x86_end_lanes(x86_gen *g, x86_lane_loop loop);
x86_operand x86_lane_of(const x86_gen *g, uint32_t temporary);       /* the lane's word of a temporary */
x86_operand x86_lane_word(ZydisRegister base, int64_t displacement); /* the word base[index] */

/* Lanes of the mask write base[index] = from, in ascending order. */
void x86_scatter(x86_gen *g, uint32_t mask, ZydisRegister base, uint32_t index, int64_t displacement,
                 uint32_t from);
void x86_scatter_doubles(x86_gen *g, uint32_t mask, ZydisRegister base, uint32_t index, int64_t displacement,
                         uint32_t from);

#endif
