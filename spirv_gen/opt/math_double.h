/* SPDX-License-Identifier: BSD-3-Clause
 * Steering functions of modules of doubles as ops of the trace (math_double.c). Those of one argument have a
 * second one that they do not read, so that all fit the table of math.c. */
#ifndef SPIRV_GEN_OPT_MATH_DOUBLE_H
#define SPIRV_GEN_OPT_MATH_DOUBLE_H

#include "spirv_gen/ir/ir.h"

ir_ref double_sin(ir_func *f, ir_ref x, ir_ref unused);
ir_ref double_cos(ir_func *f, ir_ref x, ir_ref unused);
ir_ref double_exp(ir_func *f, ir_ref x, ir_ref unused);
ir_ref double_log(ir_func *f, ir_ref x, ir_ref unused);
ir_ref double_pow(ir_func *f, ir_ref x, ir_ref y);
ir_ref double_atan2(ir_func *f, ir_ref y, ir_ref x);
ir_ref double_acos(ir_func *f, ir_ref x, ir_ref unused);

#endif
