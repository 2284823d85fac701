/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of this folder share and nobody else needs. */
#ifndef SPIRV_GEN_IR_INTERNAL_H
#define SPIRV_GEN_IR_INTERNAL_H

#include "spirv_gen/ir/ir.h"

/* Limits on modules from text; far above what the renderer builds, and small enough to bound memory. */
enum {
    IR_MAX_FUNCTIONS = 4096,
    IR_MAX_BUFFERS = 256,
    IR_MAX_PARAMS = 4096,
    IR_MAX_INSTRUCTIONS = 1 << 22, /* of a module */
    IR_MAX_LABEL = 1 << 22,
    IR_MAX_OPERANDS = 1 << 16, /* targets or arguments of one call */
    IR_MAX_UNIFORMS = 1 << 14,
    IR_MAX_LOCAL = 1 << 16, /* elements of one array */
    IR_MAX_NAME = 4096
};

/* What an immediate operand names. */
typedef enum ir_imm { IR_IMM_NUMBER, IR_IMM_BITS, IR_IMM_BUFFER, IR_IMM_LABEL } ir_imm;
ir_imm ir_imm_kind(ir_op op, unsigned slot); /* print.c */

/* An instruction that text gives a name to, `%n = ...`: it has a value, or other instructions refer to it. */
static inline bool ir_is_call(uint8_t op)
{
    return op == IR_CALL || op == IR_RAY_CLOSEST || op == IR_RAY_ANY;
}
static inline bool ir_is_named(ir_inst i)
{
    return i.type != IR_VOID || i.op == IR_IF || i.op == IR_LOOP || ir_is_call(i.op);
}

/* The operands of a CALL or RAY_*, or false where they do not lie inside the pool (print.c). */
bool ir_checked_operands(const ir_func *f, ir_inst call, ir_operands *out);

/* One instruction as text, references by their place in the function; safe for broken traces (print.c). */
void ir_print_inst(const ir_func *f, uint32_t id, text *out);

/* Result type of a value op, IR_VOID where the operand types break its rule (build.c). */
ir_type ir_rule_result(ir_rule rule, ir_type a, ir_type b, ir_type c, unsigned arity);

#endif
