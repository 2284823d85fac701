/* SPDX-License-Identifier: BSD-3-Clause
 * Derivatives of something traced, outside of any scene: a function that reads numbers and adds its
 * derivatives to as many others. It runs in the interpreter, in f64. */
#ifndef TEST_TRACED_GRADIENT_H
#define TEST_TRACED_GRADIENT_H

#include "spirv_gen/ir/ir.h"

enum { TRACED_VALUES }; /* the buffer with the numbers, for ir_load and ir_dload */

/* An empty function in a module of its own. */
ir_func *traced_gradient_create(const char *name);
/* Ends the function, runs it once, and destroys it with its module. gradient: derivatives by the numbers; it
 * need not be 0 before. */
void traced_gradient_run(ir_func *f, const double *values, double *gradient, uint32_t count);

#endif
