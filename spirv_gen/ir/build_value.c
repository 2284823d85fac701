/* SPDX-License-Identifier: BSD-3-Clause
 * Values: constants and their kin, type rules, exact folding (see build.c for what is folded and what is
 * not). */
#include "spirv_gen/ir/internal.h"

#include <math.h>

/* ---- constants and other values that are valid everywhere ---- */

ir_ref ir_const(ir_func *f, ir_type type, uint32_t bits)
{
    return ir_merge(
        f, (ir_inst){.op = IR_CONST, .type = (uint8_t)type, .a = type == IR_BOOL ? bits != 0 : bits});
}

ir_ref ir_f32(ir_func *f, float value) { return ir_const(f, IR_F32, ir_float_bits(value)); }
ir_ref ir_u32(ir_func *f, uint32_t value) { return ir_const(f, IR_U32, value); }
ir_ref ir_i32(ir_func *f, int32_t value) { return ir_const(f, IR_I32, (uint32_t)value); }
ir_ref ir_bool(ir_func *f, bool value) { return ir_const(f, IR_BOOL, value); }

bool ir_is_const(const ir_func *f, ir_ref r) { return f->inst.data[r.id].op == IR_CONST; }

bool ir_const_is(const ir_func *f, ir_ref r, float value)
{
    return ir_is_const(f, r) && f->inst.data[r.id].type == IR_F32 &&
           f->inst.data[r.id].a == ir_float_bits(value);
}

ir_ref ir_param(ir_func *f, ir_type type)
{
    array_push(&f->params, (uint8_t)type);
    return ir_merge(f, (ir_inst){.op = IR_PARAM, .type = (uint8_t)type, .a = f->params.count - 1});
}

ir_ref ir_uniform(ir_func *f, ir_type type, uint32_t word)
{
    if (word >= f->module->uniform_count)
        f->module->uniform_count = word + 1;
    return ir_merge(f, (ir_inst){.op = IR_UNIFORM, .type = (uint8_t)type, .a = word});
}

ir_ref ir_global_id(ir_func *f) { return ir_merge(f, (ir_inst){.op = IR_GLOBAL_ID, .type = IR_U32}); }

/* ---- value ops: type rules ---- */

/* Result type, or IR_VOID where the operand types break the rule. */
ir_type ir_rule_result(ir_rule rule, ir_type a, ir_type b, ir_type c, unsigned arity)
{
    bool same = arity < 2 || a == b;
    switch (rule) {
    case IR_RULE_NUM:
        return same && ir_is_numeric(a) ? a : IR_VOID;
    case IR_RULE_INT:
        return same && ir_is_integer(a) ? a : IR_VOID;
    case IR_RULE_REAL:
        return same && a == IR_F32 ? a : IR_VOID;
    case IR_RULE_COMPARE:
        return same && a != IR_VOID ? IR_BOOL : IR_VOID;
    case IR_RULE_ORDER:
        return same && ir_is_numeric(a) ? IR_BOOL : IR_VOID;
    case IR_RULE_LOGIC:
        return same && (a == IR_BOOL || ir_is_integer(a)) ? a : IR_VOID;
    case IR_RULE_SHIFT:
        return ir_is_integer(a) && b == IR_U32 ? a : IR_VOID;
    case IR_RULE_SELECT:
        return a == IR_BOOL && b == c ? b : IR_VOID;
    case IR_RULE_TO_I32:
        return a != IR_VOID ? IR_I32 : IR_VOID;
    case IR_RULE_TO_U32:
        return a != IR_VOID ? IR_U32 : IR_VOID;
    case IR_RULE_TO_F32:
        return a != IR_VOID ? IR_F32 : IR_VOID;
    case IR_RULE_BITS_U:
        return ir_is_numeric(a) ? IR_U32 : IR_VOID;
    case IR_RULE_BITS_F:
        return ir_is_integer(a) ? IR_F32 : IR_VOID;
    case IR_RULE_SAME:
        return a;
    case IR_RULE_NONE:
        break;
    }
    return IR_VOID;
}

/* ---- value ops: folding ---- */

static ir_value const_value(ir_inst i)
{
    ir_value v = {0};
    if (i.type == IR_F32)
        v.f = (double)ir_bits_float(i.a);
    else if (i.type == IR_BOOL)
        v.b = i.a != 0;
    else
        v.u = i.a;
    return v;
}

static ir_ref value_const(ir_func *f, ir_type type, ir_value v)
{
    if (type == IR_F32)
        return ir_f32(f, (float)v.f);
    return ir_const(f, type, type == IR_BOOL ? v.b : v.u);
}

/* Whether the op may be computed here, by its column `fold`. type: of the deciding operand. */
static bool foldable(ir_op op, ir_type type, ir_value a, ir_value b)
{
    switch ((ir_fold)ir_op_table[op].fold) {
    case IR_FOLD_ALWAYS:
        return true;
    case IR_FOLD_NEVER:
        return false;
    case IR_FOLD_DIVISOR:
        return type == IR_F32 || b.u != 0;
    case IR_FOLD_I32:
        return type != IR_F32 || fabs(a.f) < 2147483648.0;
    case IR_FOLD_U32:
        return type != IR_F32 || (a.f >= 0 && a.f < 4294967296.0);
    }
    BL_ASSERT(false, "%s has no column fold", ir_op_table[op].name);
    return false;
}

static ir_ref fold_constants(ir_func *f, ir_op op, ir_type result, ir_inst a, ir_inst b, ir_inst c)
{
    unsigned arity = ir_op_table[op].arity;
    if (a.op != IR_CONST || (arity > 1 && b.op != IR_CONST) || (arity > 2 && c.op != IR_CONST))
        return (ir_ref){0};
    ir_type deciding = (ir_type)(op == IR_SELECT ? b.type : a.type);
    ir_value va = const_value(a), vb = const_value(b), vc = const_value(c);
    if (!foldable(op, deciding, va, vb))
        return (ir_ref){0};
    ir_value v = ir_eval_op(op, deciding, f->module->doubles, va, vb, vc);
    if (result == IR_F32 && (isnan(v.f) || (double)(float)v.f != v.f)) /* doubles: a constant is a float */
        return (ir_ref){0};
    return value_const(f, result, v);
}

static bool const_bits(ir_inst i, uint32_t bits) { return i.op == IR_CONST && i.a == bits; }

static ir_ref fold_integer(ir_func *f, ir_op op, ir_ref a, ir_ref b, ir_inst ib)
{
    bool zero = const_bits(ib, 0), ones = const_bits(ib, ir_type_of(f, a) == IR_BOOL ? 1u : ~0u);
    switch (op) {
    case IR_ADD:
    case IR_SUB:
    case IR_SHL:
    case IR_SHR:
    case IR_ELEMENT:
        return zero ? a : (ir_ref){0};
    case IR_XOR:
        return zero ? a : ir_same(a, b) ? ir_const(f, ir_type_of(f, a), 0) : (ir_ref){0};
    case IR_OR:
        return zero || ir_same(a, b) ? a : ones ? b : (ir_ref){0};
    case IR_AND:
        return ones || ir_same(a, b) ? a : zero ? b : (ir_ref){0};
    case IR_MUL:
        return zero ? b : const_bits(ib, 1) ? a : (ir_ref){0};
    case IR_DIV:
        return const_bits(ib, 1) ? a : (ir_ref){0};
    case IR_EQ:
        return ir_same(a, b) ? ir_bool(f, true) : (ir_ref){0};
    case IR_NE:
        return ir_same(a, b) ? ir_bool(f, false) : (ir_ref){0};
    default:
        return (ir_ref){0};
    }
}

static ir_ref fold_real(ir_func *f, ir_op op, ir_ref a, ir_ref b)
{
    if (op == IR_SUB && ir_const_is(f, b, 0.0f))
        return a;
    if ((op == IR_MUL || op == IR_DIV) && ir_const_is(f, b, 1.0f))
        return a;
    return (ir_ref){0};
}

static ir_ref fold_select(ir_func *f, ir_ref a, ir_ref b, ir_ref c)
{
    if (ir_is_const(f, a))
        return ir_get(f, a).a ? b : c;
    if (ir_same(b, c))
        return b;
    if (ir_type_of(f, b) == IR_BOOL && ir_is_const(f, b) && ir_is_const(f, c))
        return ir_get(f, b).a ? a : ir_not(f, a);
    return (ir_ref){0};
}

/* The same value under a simpler name, or reference 0. */
static ir_ref fold_identity(ir_func *f, ir_op op, ir_type result, ir_ref a, ir_ref b, ir_ref c)
{
    ir_inst ia = ir_get(f, a), ib = ir_get(f, b);
    if (op == IR_SELECT)
        return fold_select(f, a, b, c);
    if ((op == IR_NEG || op == IR_NOT) && ia.op == op)
        return (ir_ref){ia.a};
    if ((op == IR_TO_I32 || op == IR_TO_U32 || op == IR_TO_F32 || op == IR_BITS_TO_U32) && ia.type == result)
        return a;
    /* not the other way round: the payload of a NaN does not survive being a real */
    if (op == IR_BITS_TO_F32 && ia.op == IR_BITS_TO_U32 && ir_type_of(f, (ir_ref){ia.a}) == IR_F32)
        return (ir_ref){ia.a};
    if (op == IR_DETACH && (ia.op == IR_DETACH || ia.op == IR_CONST || ia.type != IR_F32))
        return a;
    if (ir_op_table[op].arity != 2)
        return (ir_ref){0};
    return ia.type == IR_F32 ? fold_real(f, op, a, b) : fold_integer(f, op, a, b, ib);
}

/* What folding found, which in a suspended scope must not be a value from outside it. */
static ir_ref suspended_value(ir_func *f, ir_ref r)
{
    ir_inst inst = ir_get(f, r);
    if (!f->builder->flags || inst.type != IR_F32 || inst.op == IR_CONST || (inst.flags & IR_SUSPENDED))
        return r;
    return ir_merge(f, (ir_inst){.op = IR_DETACH, .type = IR_F32, .a = r.id});
}

ir_ref ir_value_op(ir_func *f, ir_op op, ir_ref a, ir_ref b, ir_ref c)
{
    const ir_op_info *info = &ir_op_table[op];
    unsigned arity = info->arity;
    BL_ASSERT(arity >= 1 && arity <= 3, "%s is no value op", info->name);
    if (!ir_usable(f, op, a) || (arity > 1 && !ir_usable(f, op, b)) || (arity > 2 && !ir_usable(f, op, c)))
        return (ir_ref){0};
    ir_inst ia = ir_get(f, a), ib = ir_get(f, b), ic = ir_get(f, c);
    ir_type result =
        ir_rule_result((ir_rule)info->rule, (ir_type)ia.type, (ir_type)ib.type, (ir_type)ic.type, arity);
    if (result == IR_VOID) {
        ir_fail(f, "%s(%s%s%s%s%s): wrong operand types", info->name, ir_type_names[ia.type],
                arity > 1 ? ", " : "", arity > 1 ? ir_type_names[ib.type] : "", arity > 2 ? ", " : "",
                arity > 2 ? ir_type_names[ic.type] : "");
        return (ir_ref){0};
    }
    if (info->commutes) { /* constants to the right, otherwise by age */
        bool swap = ir_is_const(f, a) != ir_is_const(f, b) ? ir_is_const(f, a) : a.id > b.id;
        ir_ref t = a;
        if (swap)
            a = b, b = t;
    }
    if (!f->module->no_fold) {
        ir_ref folded = fold_constants(f, op, result, ir_get(f, a), ir_get(f, b), ir_get(f, c));
        if (ir_is_none(folded))
            folded = fold_identity(f, op, result, a, b, c);
        if (!ir_is_none(folded) || ir_broken(f))
            return suspended_value(f, folded);
    }
    return ir_merge(f,
                    (ir_inst){.op = (uint8_t)op, .type = (uint8_t)result, .a = a.id, .b = b.id, .c = c.id});
}
