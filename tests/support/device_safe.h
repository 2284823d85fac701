/* SPDX-License-Identifier: BSD-3-Clause
 * Makes a lowered trace mean the same on every device. Random traces divide integers by zero, convert reals
 * that are out of range, and meet denormals, and SPIR-V leaves those results open. */
#ifndef TESTS_DEVICE_SAFE_H
#define TESTS_DEVICE_SAFE_H

#include "spirv_gen/ir/ir.h"

/* A new module in which every f32 result that is NaN, denormal or zero becomes +0, integer divisors are made
 * positive, real operands of conversions to integers that are out of range become 0, and float atomics become
 * load and store (so: one invocation). */
ir_module *device_safe(const ir_module *lowered);
/* The same for data: words that are NaN or denormal as floats become 1.0f. */
void device_safe_words(uint32_t *words, uint32_t count);

#endif
