/* SPDX-License-Identifier: BSD-3-Clause
 * Building a trace: modules, functions, and the pipe that every emission runs through (values: build_value.c;
 * regions and calls: build_control.c; memory: build_memory.c). The pipe: check types, fold, look for an equal
 * visible value, append.
 *
 * Folding is exact: a fold gives the bits that the device would compute. Identities that change a NaN, an
 * infinity or the sign of a zero (x*0, x-x, x+0, reassociation) are left alone for reals. Merging is scoped
 * value numbering: a hash table over (op, type, operands) holds the newest instruction of each key; an entry
 * whose region has been closed can never become visible again and is replaced. Invariants: operands have
 * smaller ids than their users (except the back-patched `next` of STATE); a function's open regions form a
 * stack. */
#include "spirv_gen/ir/internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules and functions ---- */

ir_module *ir_module_create(void)
{
    ir_module *m = memory_need_zeroed(1, sizeof *m);
    return m;
}

void ir_builder_free(ir_func *f)
{
    if (!f->builder)
        return;
    array_free(&f->builder->regions);
    array_free(&f->builder->open);
    memory_free(f->builder->slots);
    memory_free(f->builder);
    f->builder = NULL;
}

void ir_module_destroy(ir_module *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->functions.count; i++) {
        ir_func *f = m->functions.data[i];
        ir_builder_free(f);
        array_free(&f->inst);
        array_free(&f->scope);
        array_free(&f->pool);
        array_free(&f->params);
        array_free(&f->results);
    }
    array_free(&m->functions);
    array_free(&m->buffers);
    arena_free(&m->arena);
    memory_free(m);
}

uint32_t ir_buffer_add(ir_module *m, const char *name, bool constant, int32_t gradient)
{
    array_push(&m->buffers, ((ir_buffer){.name = arena_strdup(&m->arena, name),
                                         .constant = constant,
                                         .gradient = gradient,
                                         .tangent = -1}));
    return m->buffers.count - 1;
}

ir_func *ir_func_create(ir_module *m, const char *name)
{
    ir_func *f = arena_alloc(&m->arena, sizeof *f);
    f->module = m;
    f->name = arena_strdup(&m->arena, name);
    f->index = m->functions.count;
    f->builder = memory_need_zeroed(1, sizeof *f->builder);
    array_push(&m->functions, f);
    array_push(&f->inst, (ir_inst){0});
    array_push(&f->scope, 0u);
    array_push(&f->builder->open, (uint8_t)1);
    return f;
}

void ir_func_reserve(ir_func *f, uint32_t count)
{
    BL_ASSERT(f->inst.count == 1 && !f->builder->slots, "\"%s\" has %u instructions before the reservation",
              f->name, f->inst.count);
    array_reserve(&f->inst, count);
    array_reserve(&f->scope, count);
    array_reserve(&f->builder->open, count);
    ir_builder *b = f->builder;
    for (b->slot_count = 256; b->slot_count < 2 * count;)
        b->slot_count *= 2;
    b->slots = memory_need_zeroed(b->slot_count, sizeof *b->slots);
}

void ir_fail(ir_func *f, const char *format, ...)
{
    ir_module *m = f->module;
    if (m->error.code != BL_OK)
        return;
    char detail[768];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    error_set(&m->error, BL_ERROR_COMPILE, "trace: function \"%s\" after %%%u: %s", f->name,
              f->inst.count - 1, detail);
}

bl_result ir_finish(ir_module *m, bl_error *err)
{
    for (uint32_t i = 0; i < m->functions.count && m->error.code == BL_OK; i++)
        if (!m->functions.data[i]->finished)
            ir_fail(m->functions.data[i], "the function was never ended by ir_return");
    if (m->error.code != BL_OK)
        return error_set(err, m->error.code, "%s", m->error.text);
    return BL_OK;
}

/* ---- appending ---- */

uint32_t ir_current_region(const ir_func *f)
{
    const ir_builder *b = f->builder;
    BL_ASSERT(b, "\"%s\" is built further after its end", f->name);
    return b->regions.count ? b->regions.data[b->regions.count - 1] : 0;
}

/* What is valid everywhere is the same inside and outside a suspended scope. */
static uint16_t flags_of(const ir_func *f, ir_inst inst)
{
    return ir_op_table[inst.op].effect == IR_EFFECT_FLOAT ? 0 : f->builder->flags;
}

bool ir_suspend(ir_func *f, bool suspended)
{
    if (f->finished)
        return false;
    bool before = f->builder->flags & IR_SUSPENDED;
    f->builder->flags = suspended ? IR_SUSPENDED : 0;
    return before;
}

uint32_t ir_append_in(ir_func *f, ir_inst inst, uint32_t scope)
{
    BL_ASSERT(inst.op < IR_OP_COUNT && inst.type < IR_TYPE_COUNT, "op %u of type %u", inst.op, inst.type);
    BL_ASSERT(scope < f->inst.count && f->scope.count == f->inst.count, "scope %%%u, %u of %u instructions",
              scope, f->scope.count, f->inst.count);
    if (ir_broken(f))
        return 0;
    if (inst.op != IR_PHI && ir_op_table[inst.op].effect != IR_EFFECT_FLOAT)
        f->builder->last_closed_if = inst.op == IR_ENDIF ? inst.a : 0;
    inst.flags = flags_of(f, inst);
    array_push(&f->inst, inst);
    array_push(&f->scope, scope);
    array_push(&f->builder->open, (uint8_t)0);
    return f->inst.count - 1;
}

uint32_t ir_append(ir_func *f, ir_inst inst)
{
    return ir_broken(f) ? 0 : ir_append_in(f, inst, ir_current_region(f));
}

bool ir_exists(ir_func *f, ir_op op, ir_ref r)
{
    if (ir_broken(f))
        return false;
    if (r.id == 0 || r.id >= f->inst.count) {
        ir_fail(f, "%s: operand %%%u does not exist", ir_op_table[op].name, r.id);
        return false;
    }
    if (!ir_visible(f, r.id)) {
        ir_fail(f, "%s: operand %%%u (%s) was defined in a branch or loop that has ended",
                ir_op_table[op].name, r.id, ir_op_table[f->inst.data[r.id].op].name);
        return false;
    }
    return true;
}

bool ir_report_unusable(ir_func *f, ir_op op, ir_ref r)
{
    if (!ir_exists(f, op, r))
        return false;
    ir_fail(f, "%s: operand %%%u (%s) is not a value", ir_op_table[op].name, r.id,
            ir_op_table[f->inst.data[r.id].op].name);
    return false;
}

bool ir_usable_as(ir_func *f, ir_op op, ir_ref r, ir_type type)
{
    if (!ir_usable(f, op, r))
        return false;
    if (ir_type_of(f, r) != type) {
        ir_fail(f, "%s: operand %%%u is %s, expected %s", ir_op_table[op].name, r.id,
                ir_type_names[ir_type_of(f, r)], ir_type_names[type]);
        return false;
    }
    return true;
}

const char *ir_misfit(const ir_func *f, ir_ref r, ir_type type)
{
    if (r.id == 0)
        return "nothing";
    if (r.id >= f->inst.count)
        return "a value of another function";
    if (!f->builder || !ir_visible(f, r.id))
        return "a value of a branch or loop that has ended";
    if (!ir_is_value(f, r))
        return "no value";
    return ir_type_of(f, r) == type ? NULL : ir_type_names[ir_type_of(f, r)];
}

/* Values alone are merged: what has an effect happens as often as it is emitted. */
static bool is_mergeable(ir_op op)
{
    ir_effect effect = (ir_effect)ir_op_table[op].effect;
    return effect == IR_EFFECT_PURE || effect == IR_EFFECT_FLOAT || effect == IR_EFFECT_READ;
}

static uint32_t hash_inst(ir_inst i)
{
    uint32_t h = i.op * 0x9E3779B1u ^ i.type * 0x85EBCA77u;
    h = (h ^ i.a) * 0xC2B2AE3Du;
    h = (h ^ (h >> 15) ^ i.b) * 0x27D4EB2Fu;
    h = (h ^ (h >> 13) ^ i.c) * 0x165667B1u;
    return h ^ (h >> 16);
}

static bool same_inst(ir_inst x, ir_inst y)
{
    return x.op == y.op && x.type == y.type && x.flags == y.flags && x.a == y.a && x.b == y.b && x.c == y.c;
}

static void table_grow(ir_func *f)
{
    ir_builder *b = f->builder;
    uint32_t *old = b->slots, old_count = b->slot_count;
    b->slot_count = old_count ? old_count * 2 : 256;
    b->slots = memory_need_zeroed(b->slot_count, sizeof *b->slots);
    for (uint32_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        uint32_t at = hash_inst(f->inst.data[old[i]]) & (b->slot_count - 1);
        while (b->slots[at])
            at = (at + 1) & (b->slot_count - 1);
        b->slots[at] = old[i];
    }
    memory_free(old);
}

/* Appends unless an equal visible instruction exists. */
ir_ref ir_merge(ir_func *f, ir_inst inst)
{
    if (ir_broken(f))
        return (ir_ref){0};
    if (f->module->no_merge && ir_op_table[inst.op].effect != IR_EFFECT_FLOAT)
        return (ir_ref){ir_append(f, inst)};
    ir_builder *b = f->builder;
    BL_ASSERT(b && is_mergeable((ir_op)inst.op), "%s in \"%s\" is to be merged", ir_op_table[inst.op].name,
              f->name);
    inst.flags = flags_of(f, inst);
    if (b->used * 2 >= b->slot_count)
        table_grow(f);
    uint32_t at = hash_inst(inst) & (b->slot_count - 1);
    while (b->slots[at] && !same_inst(f->inst.data[b->slots[at]], inst))
        at = (at + 1) & (b->slot_count - 1);
    if (b->slots[at] && ir_visible(f, b->slots[at]))
        return (ir_ref){b->slots[at]};
    if (!b->slots[at])
        b->used++;
    b->slots[at] = ir_append(f, inst);
    return (ir_ref){b->slots[at]};
}
