/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of this folder share and nobody else needs. */
#ifndef SPIRV_GEN_IR_INTERNAL_H
#define SPIRV_GEN_IR_INTERNAL_H

#include "spirv_gen/ir/ir.h"

#include <string.h>

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
static inline bool ir_is_named(ir_inst i)
{
    return i.type != IR_VOID || i.op == IR_IF || i.op == IR_LOOP || ir_is_call(i.op);
}

/* The operands of a CALL or RAY_*, or false where they do not lie inside the pool (print.c). */
bool ir_checked_operands(const ir_func *f, ir_inst call, ir_operands *out);

/* Result type of a value op, IR_VOID where the operand types break its rule (build_value.c). */
ir_type ir_rule_result(ir_rule rule, ir_type a, ir_type b, ir_type c, unsigned arity);

static inline bool ir_is_integer(ir_type t) { return t == IR_I32 || t == IR_U32; }
static inline bool ir_is_numeric(ir_type t) { return ir_is_integer(t) || t == IR_F32; }

/* ---- building (build.c): the state of a function that is being built, and the pipe ---- */

typedef struct ir_builder {
    ARRAY(uint32_t) regions; /* open regions, innermost last: ids of IF, ELSE, LOOP */
    ARRAY(uint8_t) open;     /* per instruction: it is a region that is open */
    uint32_t *slots;         /* hash table of instruction ids, 0: free */
    uint32_t slot_count, used;
    uint16_t flags;          /* of what is emitted */
    uint32_t last_closed_if; /* the IF whose ENDIF has only PHIs and floating values behind it so far, or 0 */
} ir_builder;

/* The module has an error, or gets one as f has ended: builders do nothing. */
static inline bool ir_broken(ir_func *f)
{
    if (f->finished)
        ir_fail(f, "an operation after the end of the function");
    return f->module->error.code != BL_OK;
}

uint32_t ir_current_region(const ir_func *f); /* innermost open region, 0: the top */
uint32_t ir_append_in(ir_func *f, ir_inst inst, uint32_t scope);
uint32_t ir_append(ir_func *f, ir_inst inst);
ir_ref ir_merge(ir_func *f, ir_inst inst); /* appends unless an equal visible instruction exists */

static inline bool ir_visible(const ir_func *f, uint32_t id)
{
    return ir_op_table[f->inst.data[id].op].effect == IR_EFFECT_FLOAT ||
           f->builder->open.data[f->scope.data[id]];
}

/* Something that can be an operand: neither a region, a call nor a local array. */
static inline bool ir_is_value(const ir_func *f, ir_ref r)
{
    return f->inst.data[r.id].type != IR_VOID && f->inst.data[r.id].op != IR_LOCAL;
}

/* As an operand of op here: exists and is visible. It reports what is wrong. */
bool ir_exists(ir_func *f, ir_op op, ir_ref r);
/* Reports what is wrong with an operand that ir_usable refuses. Returns false. */
bool ir_report_unusable(ir_func *f, ir_op op, ir_ref r);

/* It exists, is visible and is a value. */
static inline bool ir_usable(ir_func *f, ir_op op, ir_ref r)
{
    bool usable = !ir_broken(f) && r.id > 0 && r.id < f->inst.count && ir_visible(f, r.id);
    return (usable && ir_is_value(f, r)) || ir_report_unusable(f, op, r);
}

bool ir_usable_as(ir_func *f, ir_op op, ir_ref r, ir_type type);
void ir_builder_free(ir_func *f);

static inline uint32_t ir_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float ir_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
