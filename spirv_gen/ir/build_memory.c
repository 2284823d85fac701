/* SPDX-License-Identifier: BSD-3-Clause
 * Memory: loads, stores, atomics, gradients, local arrays. Reads of constant buffers are values and merge;
 * where the contents are known they are constants. */
#include "spirv_gen/ir/internal.h"

/* ---- memory ---- */

static bool check_buffer(ir_func *f, ir_op op, uint32_t buffer, bool writes)
{
    if (ir_broken(f))
        return false;
    if (buffer >= f->module->buffers.count)
        ir_fail(f, "%s: buffer %u does not exist", ir_op_table[op].name, buffer);
    else if (writes && f->module->buffers.data[buffer].constant)
        ir_fail(f, "%s: buffer \"%s\" is constant", ir_op_table[op].name,
                f->module->buffers.data[buffer].name);
    return !ir_broken(f);
}

static bool check_word(ir_func *f, ir_op op, ir_type type)
{
    if (ir_broken(f))
        return false;
    if (ir_is_numeric(type))
        return true;
    ir_fail(f, "%s: memory holds i32, u32 and f32, not %s", ir_op_table[op].name, ir_type_names[type]);
    return false;
}

ir_ref ir_load(ir_func *f, ir_type type, uint32_t buffer, ir_ref index)
{
    if (!check_word(f, IR_LOAD, type) || !check_buffer(f, IR_LOAD, buffer, false) ||
        !ir_usable_as(f, IR_LOAD, index, IR_U32))
        return (ir_ref){0};
    const ir_buffer *b = &f->module->buffers.data[buffer];
    if (b->known && ir_is_const(f, index) && ir_get(f, index).a < b->known_count && !f->module->no_fold)
        return ir_const(f, type, b->known[ir_get(f, index).a]);
    ir_inst inst = {.op = IR_LOAD, .type = (uint8_t)type, .a = index.id, .b = buffer};
    return f->module->buffers.data[buffer].constant ? ir_merge(f, inst) : (ir_ref){ir_append(f, inst)};
}

ir_ref ir_dload(ir_func *f, uint32_t buffer, ir_ref index, ir_ref gradient_index)
{
    if (!check_buffer(f, IR_DLOAD, buffer, false) || !ir_usable_as(f, IR_DLOAD, index, IR_U32) ||
        !ir_usable_as(f, IR_DLOAD, gradient_index, IR_U32))
        return (ir_ref){0};
    if (f->module->buffers.data[buffer].gradient < 0) {
        ir_fail(f, "dload: buffer \"%s\" has no gradient partner", f->module->buffers.data[buffer].name);
        return (ir_ref){0};
    }
    ir_inst inst = {.op = IR_DLOAD, .type = IR_F32, .a = index.id, .b = buffer, .c = gradient_index.id};
    return f->module->buffers.data[buffer].constant ? ir_merge(f, inst) : (ir_ref){ir_append(f, inst)};
}

void ir_store(ir_func *f, uint32_t buffer, ir_ref index, ir_ref value)
{
    if (check_buffer(f, IR_STORE, buffer, true) && ir_usable_as(f, IR_STORE, index, IR_U32) &&
        ir_usable(f, IR_STORE, value) && check_word(f, IR_STORE, ir_type_of(f, value)))
        ir_append(f, (ir_inst){.op = IR_STORE, .a = index.id, .b = buffer, .c = value.id});
}

ir_ref ir_atomic_add(ir_func *f, uint32_t buffer, ir_ref index, ir_ref value)
{
    if (!check_buffer(f, IR_ATOMIC_ADD, buffer, true) || !ir_usable_as(f, IR_ATOMIC_ADD, index, IR_U32) ||
        !ir_usable(f, IR_ATOMIC_ADD, value))
        return (ir_ref){0};
    ir_type type = ir_type_of(f, value);
    if (type != IR_U32 && type != IR_F32) {
        ir_fail(f, "atomic_add of %s", ir_type_names[type]);
        return (ir_ref){0};
    }
    return (ir_ref){ir_append(
        f, (ir_inst){.op = IR_ATOMIC_ADD, .type = (uint8_t)type, .a = index.id, .b = buffer, .c = value.id})};
}

ir_ref ir_atomic_cas(ir_func *f, uint32_t buffer, ir_ref index, ir_ref expected, ir_ref value)
{
    if (!check_buffer(f, IR_ATOMIC_CAS, buffer, true) || !ir_usable_as(f, IR_ATOMIC_CAS, index, IR_U32) ||
        !ir_usable_as(f, IR_ATOMIC_CAS, expected, IR_U32) || !ir_usable_as(f, IR_ATOMIC_CAS, value, IR_U32))
        return (ir_ref){0};
    uint32_t at = f->pool.count;
    array_push(&f->pool, expected.id);
    array_push(&f->pool, value.id);
    return (ir_ref){
        ir_append(f, (ir_inst){.op = IR_ATOMIC_CAS, .type = IR_U32, .a = index.id, .b = buffer, .c = at})};
}

void ir_accum(ir_func *f, uint32_t gradient_buffer, ir_ref index, ir_ref value)
{
    if (check_buffer(f, IR_ACCUM, gradient_buffer, true) && ir_usable_as(f, IR_ACCUM, index, IR_U32) &&
        ir_usable_as(f, IR_ACCUM, value, IR_F32))
        ir_append(f, (ir_inst){.op = IR_ACCUM, .a = index.id, .b = gradient_buffer, .c = value.id});
}

void ir_flush(ir_func *f, uint32_t gradient_buffer, ir_ref condition)
{
    if (check_buffer(f, IR_FLUSH, gradient_buffer, true) && ir_usable_as(f, IR_FLUSH, condition, IR_BOOL))
        ir_append(f, (ir_inst){.op = IR_FLUSH, .a = condition.id, .b = gradient_buffer});
}

ir_ref ir_local(ir_func *f, ir_type type, uint32_t count)
{
    if (type == IR_VOID || count == 0 || count > IR_MAX_LOCAL)
        ir_fail(f, "local: %u elements of %s, allowed are 1 to %d", count, ir_type_names[type], IR_MAX_LOCAL);
    return (ir_ref){ir_append(f, (ir_inst){.op = IR_LOCAL, .type = (uint8_t)type, .a = count})};
}

ir_ref ir_parking(ir_func *f, uint32_t count)
{
    ir_ref local = ir_local(f, IR_U32, count);
    if (local.id)
        f->inst.data[local.id].flags |= IR_PARKED;
    return local;
}

static bool check_local(ir_func *f, ir_op op, ir_ref local, ir_ref index)
{
    if (!ir_exists(f, op, local) || !ir_usable_as(f, op, index, IR_U32))
        return false;
    if (ir_get(f, local).op == IR_LOCAL)
        return true;
    ir_fail(f, "%s: %%%u is not a local array", ir_op_table[op].name, local.id);
    return false;
}

ir_ref ir_lload(ir_func *f, ir_ref local, ir_ref index)
{
    if (!check_local(f, IR_LLOAD, local, index))
        return (ir_ref){0};
    return (ir_ref){
        ir_append(f, (ir_inst){.op = IR_LLOAD, .type = ir_get(f, local).type, .a = local.id, .b = index.id})};
}

void ir_lstore(ir_func *f, ir_ref local, ir_ref index, ir_ref value)
{
    if (check_local(f, IR_LSTORE, local, index) && ir_usable_as(f, IR_LSTORE, value, ir_type_of(f, local)))
        ir_append(f, (ir_inst){.op = IR_LSTORE, .a = local.id, .b = index.id, .c = value.id});
}
