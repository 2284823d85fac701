/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/device_safe.h"

#include "spirv_gen/opt/pass.h"

static bool is_unsafe(uint32_t word)
{
    uint32_t magnitude = word & 0x7fffffffu;
    return magnitude > 0x7f800000u || (magnitude > 0 && magnitude < 0x00800000u);
}

void device_safe_words(uint32_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_unsafe(words[i]))
            words[i] = 0x3f800000u;
}

/* No sign of zero is kept: a device may flush a denormal before it compares, or find it equal to zero. */
static ir_ref safe_real(ir_func *f, ir_ref value)
{
    return ir_select(f, ir_le(f, ir_f32(f, 0x1p-126f), ir_abs(f, value)), value, ir_f32(f, 0.0f));
}

/* SPIR-V leaves the division of reals by zero open, and lavapipe makes use of that where the zero is a
 * literal. */
static ir_ref safe_divisor(ir_func *f, ir_ref b)
{
    if (ir_type_of(f, b) == IR_F32)
        return ir_is_const(f, b) && (ir_get(f, b).a & 0x7fffffffu) == 0 ? ir_f32(f, 1.0f) : b;
    if (ir_type_of(f, b) == IR_I32)
        b = ir_and(f, b, ir_i32(f, INT32_MAX));
    return ir_or(f, b, ir_const(f, ir_type_of(f, b), 1));
}

static ir_ref safe_convertible(ir_func *f, ir_op op, ir_ref a)
{
    ir_ref low = ir_le(f, ir_f32(f, op == IR_TO_U32 ? 0.0f : -0x1p30f), a);
    return ir_select(f, ir_and(f, low, ir_lt(f, a, ir_f32(f, op == IR_TO_U32 ? 0x1p31f : 0x1p30f))), a,
                     ir_f32(f, 0.0f));
}

static void replace_constant(void *user, uint32_t ref)
{
    ir_copier *c = user;
    ir_inst inst = c->from->inst.data[ref];
    if (inst.op == IR_CONST && inst.type == IR_F32 && is_unsafe(inst.a))
        c->map[ref] = ir_f32(c->to, 0.0f);
}

/* Of constants that are returned, which are no instruction's operands. */
static void replace_results(ir_copier *c)
{
    for (uint32_t k = 0; k < c->from->results.count; k++)
        replace_constant(c, c->from->results.data[k].id);
}

static void atomic_as_store(ir_copier *c, uint32_t id, ir_inst inst)
{
    ir_func *f = c->to;
    ir_ref index = ir_copied(c, inst.a), old = safe_real(f, ir_load(f, IR_F32, inst.b, index));
    ir_store(f, inst.b, index, safe_real(f, ir_add(f, old, ir_copied(c, inst.c))));
    c->map[id] = old;
}

static void copy_value_op(ir_copier *c, uint32_t id, ir_inst inst)
{
    const ir_op_info *info = &ir_op_table[inst.op];
    ir_ref a = ir_copied(c, inst.a), b = {0}, d = {0};
    if (info->arity > 1)
        b = ir_copied(c, inst.b);
    if (info->arity > 2)
        d = ir_copied(c, inst.c);
    if (inst.op == IR_DIV || inst.op == IR_MOD)
        b = safe_divisor(c->to, b);
    if ((inst.op == IR_TO_I32 || inst.op == IR_TO_U32) && ir_type_of(c->to, a) == IR_F32)
        a = safe_convertible(c->to, (ir_op)inst.op, a);
    c->map[id] = ir_value_op(c->to, (ir_op)inst.op, a, b, d);
}

static bool make_safe(ir_copier *c, uint32_t id, ir_inst inst)
{
    bool reads = inst.op == IR_LOAD || inst.op == IR_DLOAD || inst.op == IR_LLOAD;
    ir_each_operand(c->from, inst, replace_constant, c);
    for (uint32_t k = id + 1; inst.op == IR_LOOP && c->from->inst.data[k].op == IR_STATE;
         k++) /* before the loop is begun with what states are first */
        ir_each_operand(c->from, c->from->inst.data[k], replace_constant, c);
    if (inst.op == IR_ATOMIC_ADD && inst.type == IR_F32)
        atomic_as_store(c, id, inst);
    else if (ir_op_table[inst.op].arity)
        copy_value_op(c, id, inst);
    else if (reads)
        ir_copy_inst(c, id);
    else
        return false;
    if (inst.type == IR_F32 && inst.op != IR_ATOMIC_ADD)
        c->map[id] = safe_real(c->to, c->map[id]);
    return true;
}

ir_module *device_safe(const ir_module *lowered)
{
    opt_pass pass = {.from = lowered, .hook = make_safe, .begin = replace_results};
    return opt_rebuild(&pass);
}
