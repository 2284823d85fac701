/* SPDX-License-Identifier: BSD-3-Clause
 * The SPIR-V columns of ops.def as a table: [op][type of the deciding operand] -> opcode. */
#include "spirv_gen/spv/module.h"

/* What the columns say beside the names of core opcodes. Values lie above every core opcode. */
enum {
    SPV_GLSL_BASE = 0x10000,
    SPV_LOWER_MARK = 0x20000,
    SpvOpNA = 0,
    SpvOpLOWER = SPV_LOWER_MARK,
    SpvOpX_FAbs = SPV_GLSL_BASE + GLSLstd450FAbs,
    SpvOpX_Floor = SPV_GLSL_BASE + GLSLstd450Floor,
    SpvOpX_Sqrt = SPV_GLSL_BASE + GLSLstd450Sqrt
};

static const uint32_t opcodes[IR_OP_COUNT][IR_TYPE_COUNT] = {
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint)                   \
    [IR_##NAME] = {[IR_F32] = SpvOp##sf, [IR_I32] = SpvOp##si, [IR_U32] = SpvOp##su, [IR_BOOL] = SpvOp##sb},
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint)
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
};

spv_opcode spv_opcode_of(ir_op op, ir_type operand)
{
    uint32_t code = opcodes[op][operand];
    if (code == 0)
        return (spv_opcode){SPV_FORM_NONE, 0};
    if (code == SPV_LOWER_MARK)
        return (spv_opcode){SPV_FORM_LOWER, 0};
    if (code >= SPV_GLSL_BASE)
        return (spv_opcode){SPV_FORM_GLSL, code - SPV_GLSL_BASE};
    return (spv_opcode){SPV_FORM_CORE, code};
}
