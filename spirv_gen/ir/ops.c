/* SPDX-License-Identifier: BSD-3-Clause
 * The table of operations as data, expanded from ops.def. */
#include "spirv_gen/ir/ir.h"

/* Operand kinds of a value op follow from its arity. */
#define KINDS_1                                                                                              \
    {                                                                                                        \
        IR_KIND_REF, IR_KIND_NONE, IR_KIND_NONE                                                              \
    }
#define KINDS_2                                                                                              \
    {                                                                                                        \
        IR_KIND_REF, IR_KIND_REF, IR_KIND_NONE                                                               \
    }
#define KINDS_3                                                                                              \
    {                                                                                                        \
        IR_KIND_REF, IR_KIND_REF, IR_KIND_REF                                                                \
    }

const ir_op_info ir_op_table[IR_OP_COUNT] = {
    [IR_NOP] = {.name = "nop"},
#define IR_VALUE(NAME, op_name, n, op_rule, op_commutes, op_fold, f, i, u, b, sf, si, su, sb, op_adjoint)    \
    [IR_##NAME] = {.name = #op_name,                                                                         \
                   .arity = n,                                                                               \
                   .rule = IR_RULE_##op_rule,                                                                \
                   .commutes = IR_##op_commutes,                                                             \
                   .fold = IR_FOLD_##op_fold,                                                                \
                   .effect = IR_EFFECT_PURE,                                                                 \
                   .adjoint = IR_ADJOINT_##op_adjoint,                                                       \
                   .kind = KINDS_##n},
#define IR_STRUCT(NAME, op_name, op_effect, ka, kb, kc, op_adjoint)                                          \
    [IR_##NAME] = {.name = #op_name,                                                                         \
                   .effect = IR_EFFECT_##op_effect,                                                          \
                   .adjoint = IR_ADJOINT_##op_adjoint,                                                       \
                   .kind = {IR_KIND_##ka, IR_KIND_##kb, IR_KIND_##kc}},
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
};

const char *const ir_type_names[IR_TYPE_COUNT] = {"void", "bool", "i32", "u32", "f32"};
