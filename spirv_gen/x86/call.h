/* SPDX-License-Identifier: BSD-3-Clause
 * What calls of traced functions (call.c) and rays (ray.c) share. */
#ifndef SPIRV_GEN_X86_CALL_H
#define SPIRV_GEN_X86_CALL_H

#include "spirv_gen/x86/lanes.h"

/* A vector of the frame of whatever is called next: parameters, then results. */
x86_operand x86_callee_slot(const x86_gen *g, uint32_t at);
/* Where the numbers of the targets stand, if there are several. */
x86_operand x86_call_selector(const x86_gen *g);
/* Runs targets for the active lanes. Parameters and selector have been written, registers are kept. */
void x86_call_targets(x86_gen *g, ir_operands o);
/* Stores, or restores, the registers that live on behind the instruction. */
void x86_keep_registers(x86_gen *g, uint32_t call, bool restore);

#endif
