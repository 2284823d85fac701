/* SPDX-License-Identifier: BSD-3-Clause
 * Building a trace: every emission runs through one pipe: check types, fold, look for an equal visible value, append.
 *
 * Folding is exact: a fold gives the bits that the device would compute. Identities that change a NaN, an infinity or the sign of a
 * zero (x*0, x-x, x+0, reassociation) are left alone for reals.
 * Merging is scoped value numbering: a hash table over (op, type, operands) holds the newest instruction of each key; an entry whose
 * region has been closed can never become visible again and is replaced.
 * Invariants: operands have smaller ids than their users (except the back-patched `next` of STATE); a function's open regions form a stack. */
#include "spirv_gen/ir/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct ir_builder {
    ARRAY(uint32_t) regions;  /* open regions, innermost last: ids of IF, ELSE, LOOP */
    ARRAY(uint8_t) open;      /* per instruction: it is a region that is open */
    uint32_t *slots;          /* hash table of instruction ids, 0: free */
    uint32_t slot_count, used;
    uint32_t last_closed_if;  /* the IF whose ENDIF has only PHIs and floating values behind it so far, or 0 */
} ir_builder;

/* ---- modules and functions ---- */

ir_module *ir_module_create(void)
{
    ir_module *m = calloc(1, sizeof *m);
    BL_ASSERT(m, "out of memory");
    return m;
}

static void builder_free(ir_func *f)
{
    if (!f->builder)
        return;
    array_free(&f->builder->regions);
    array_free(&f->builder->open);
    free(f->builder->slots);
    free(f->builder);
    f->builder = NULL;
}

void ir_module_destroy(ir_module *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->functions.count; i++) {
        ir_func *f = m->functions.data[i];
        builder_free(f);
        array_free(&f->inst);
        array_free(&f->scope);
        array_free(&f->pool);
        array_free(&f->params);
        array_free(&f->results);
    }
    array_free(&m->functions);
    array_free(&m->buffers);
    arena_free(&m->arena);
    free(m);
}

uint32_t ir_buffer_add(ir_module *m, const char *name, bool constant, int32_t gradient)
{
    array_push(&m->buffers, ((ir_buffer){.name = arena_strdup(&m->arena, name), .constant = constant, .gradient = gradient}));
    return m->buffers.count - 1;
}

ir_func *ir_func_create(ir_module *m, const char *name)
{
    ir_func *f = arena_alloc(&m->arena, sizeof *f);
    f->module = m;
    f->name = arena_strdup(&m->arena, name);
    f->index = m->functions.count;
    f->builder = calloc(1, sizeof *f->builder);
    BL_ASSERT(f->builder, "out of memory");
    array_push(&m->functions, f);
    array_push(&f->inst, (ir_inst){0});
    array_push(&f->scope, 0u);
    array_push(&f->builder->open, (uint8_t)1);
    return f;
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
    error_set(&m->error, BL_ERROR_COMPILE, "trace: function \"%s\" after %%%u: %s", f->name, f->inst.count - 1, detail);
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

static bool broken(const ir_func *f) { return f->module->error.code != BL_OK; }

static uint32_t current_region(const ir_func *f)
{
    const ir_builder *b = f->builder;
    return b->regions.count ? b->regions.data[b->regions.count - 1] : 0;
}

static uint32_t append_in(ir_func *f, ir_inst inst, uint32_t scope)
{
    if (broken(f))
        return 0;
    if (f->finished) {
        ir_fail(f, "%s emitted after the end of the function", ir_op_table[inst.op].name);
        return 0;
    }
    if (inst.op != IR_PHI && ir_op_table[inst.op].effect != IR_EFFECT_FLOAT)
        f->builder->last_closed_if = inst.op == IR_ENDIF ? inst.a : 0;
    array_push(&f->inst, inst);
    array_push(&f->scope, scope);
    array_push(&f->builder->open, (uint8_t)0);
    return f->inst.count - 1;
}

static uint32_t append(ir_func *f, ir_inst inst) { return append_in(f, inst, current_region(f)); }

static bool visible(const ir_func *f, uint32_t id)
{
    return ir_op_table[f->inst.data[id].op].effect == IR_EFFECT_FLOAT || f->builder->open.data[f->scope.data[id]];
}

/* Something that can be an operand: neither a region, a call nor a local array. */
static bool is_value(const ir_func *f, ir_ref r)
{
    return f->inst.data[r.id].type != IR_VOID && f->inst.data[r.id].op != IR_LOCAL;
}

/* An operand that a builder was given: exists and is visible here. */
static bool exists(ir_func *f, ir_op op, ir_ref r)
{
    if (broken(f))
        return false;
    if (r.id == 0 || r.id >= f->inst.count) {
        ir_fail(f, "%s: operand %%%u does not exist", ir_op_table[op].name, r.id);
        return false;
    }
    if (!visible(f, r.id)) {
        ir_fail(f, "%s: operand %%%u (%s) was defined in a branch or loop that has ended", ir_op_table[op].name, r.id,
                ir_op_table[f->inst.data[r.id].op].name);
        return false;
    }
    return true;
}

static bool usable(ir_func *f, ir_op op, ir_ref r)
{
    if (!exists(f, op, r))
        return false;
    if (is_value(f, r))
        return true;
    ir_fail(f, "%s: operand %%%u (%s) is not a value", ir_op_table[op].name, r.id, ir_op_table[f->inst.data[r.id].op].name);
    return false;
}

static bool usable_as(ir_func *f, ir_op op, ir_ref r, ir_type type)
{
    if (!usable(f, op, r))
        return false;
    if (ir_type_of(f, r) != type) {
        ir_fail(f, "%s: operand %%%u is %s, expected %s", ir_op_table[op].name, r.id, ir_type_names[ir_type_of(f, r)], ir_type_names[type]);
        return false;
    }
    return true;
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
    return x.op == y.op && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c;
}

static void table_grow(ir_func *f)
{
    ir_builder *b = f->builder;
    uint32_t *old = b->slots, old_count = b->slot_count;
    b->slot_count = old_count ? old_count * 2 : 256;
    b->slots = calloc(b->slot_count, sizeof *b->slots);
    BL_ASSERT(b->slots, "out of memory");
    for (uint32_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        uint32_t at = hash_inst(f->inst.data[old[i]]) & (b->slot_count - 1);
        while (b->slots[at])
            at = (at + 1) & (b->slot_count - 1);
        b->slots[at] = old[i];
    }
    free(old);
}

/* Appends unless an equal visible instruction exists. */
static ir_ref merge(ir_func *f, ir_inst inst)
{
    if (broken(f))
        return (ir_ref){0};
    if (f->module->no_merge && ir_op_table[inst.op].effect != IR_EFFECT_FLOAT)
        return (ir_ref){append(f, inst)};
    ir_builder *b = f->builder;
    if (b->used * 2 >= b->slot_count)
        table_grow(f);
    uint32_t at = hash_inst(inst) & (b->slot_count - 1);
    while (b->slots[at] && !same_inst(f->inst.data[b->slots[at]], inst))
        at = (at + 1) & (b->slot_count - 1);
    if (b->slots[at] && visible(f, b->slots[at]))
        return (ir_ref){b->slots[at]};
    if (!b->slots[at])
        b->used++;
    b->slots[at] = append(f, inst);
    return (ir_ref){b->slots[at]};
}

/* ---- constants and other values that are valid everywhere ---- */

ir_ref ir_const(ir_func *f, ir_type type, uint32_t bits)
{
    return merge(f, (ir_inst){.op = IR_CONST, .type = (uint8_t)type, .a = type == IR_BOOL ? bits != 0 : bits});
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

ir_ref ir_f32(ir_func *f, float value) { return ir_const(f, IR_F32, float_bits(value)); }
ir_ref ir_u32(ir_func *f, uint32_t value) { return ir_const(f, IR_U32, value); }
ir_ref ir_i32(ir_func *f, int32_t value) { return ir_const(f, IR_I32, (uint32_t)value); }
ir_ref ir_bool(ir_func *f, bool value) { return ir_const(f, IR_BOOL, value); }

bool ir_is_const(const ir_func *f, ir_ref r) { return f->inst.data[r.id].op == IR_CONST; }

bool ir_const_is(const ir_func *f, ir_ref r, float value)
{
    return ir_is_const(f, r) && f->inst.data[r.id].type == IR_F32 && f->inst.data[r.id].a == float_bits(value);
}

ir_ref ir_param(ir_func *f, ir_type type)
{
    array_push(&f->params, (uint8_t)type);
    return merge(f, (ir_inst){.op = IR_PARAM, .type = (uint8_t)type, .a = f->params.count - 1});
}

ir_ref ir_uniform(ir_func *f, ir_type type, uint32_t word)
{
    if (word >= f->module->uniform_count)
        f->module->uniform_count = word + 1;
    return merge(f, (ir_inst){.op = IR_UNIFORM, .type = (uint8_t)type, .a = word});
}

ir_ref ir_global_id(ir_func *f) { return merge(f, (ir_inst){.op = IR_GLOBAL_ID, .type = IR_U32}); }

/* ---- value ops: type rules ---- */

static bool is_integer(ir_type t) { return t == IR_I32 || t == IR_U32; }
static bool is_numeric(ir_type t) { return is_integer(t) || t == IR_F32; }

/* Result type, or IR_VOID where the operand types break the rule. */
ir_type ir_rule_result(ir_rule rule, ir_type a, ir_type b, ir_type c, unsigned arity)
{
    bool same = arity < 2 || a == b;
    switch (rule) {
    case IR_RULE_NUM: return same && is_numeric(a) ? a : IR_VOID;
    case IR_RULE_INT: return same && is_integer(a) ? a : IR_VOID;
    case IR_RULE_REAL: return same && a == IR_F32 ? a : IR_VOID;
    case IR_RULE_COMPARE: return same && a != IR_VOID ? IR_BOOL : IR_VOID;
    case IR_RULE_ORDER: return same && is_numeric(a) ? IR_BOOL : IR_VOID;
    case IR_RULE_LOGIC: return same && (a == IR_BOOL || is_integer(a)) ? a : IR_VOID;
    case IR_RULE_SHIFT: return is_integer(a) && b == IR_U32 ? a : IR_VOID;
    case IR_RULE_SELECT: return a == IR_BOOL && b == c ? b : IR_VOID;
    case IR_RULE_TO_I32: return a != IR_VOID ? IR_I32 : IR_VOID;
    case IR_RULE_TO_U32: return a != IR_VOID ? IR_U32 : IR_VOID;
    case IR_RULE_TO_F32: return a != IR_VOID ? IR_F32 : IR_VOID;
    case IR_RULE_BITS_U: return is_numeric(a) ? IR_U32 : IR_VOID;
    case IR_RULE_BITS_F: return is_integer(a) ? IR_F32 : IR_VOID;
    case IR_RULE_SAME: return a;
    case IR_RULE_NONE: break;
    }
    return IR_VOID;
}

/* ---- value ops: folding ---- */

static ir_value const_value(ir_inst i)
{
    ir_value v = {0};
    if (i.type == IR_F32)
        v.f = (double)bits_float(i.a);
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

/* Conversions out of range are the device's own choice, and its steering functions are polynomials of ours that round differently from
 * the C library: neither is folded. */
static bool foldable(ir_op op, ir_type type, ir_value a, ir_value b)
{
    switch (op) {
    case IR_TO_I32: return type != IR_F32 || fabs(a.f) < 2147483648.0;
    case IR_TO_U32: return type != IR_F32 || (a.f >= 0 && a.f < 4294967296.0);
    case IR_DIV:
    case IR_MOD: return type == IR_F32 || b.u != 0;
    case IR_SIN: case IR_COS: case IR_EXP: case IR_LOG: case IR_POW: case IR_ATAN2: case IR_ACOS: return false;
    default: return true;
    }
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
    ir_value v = ir_eval_op(op, deciding, false, va, vb, vc);
    if (result == IR_F32 && isnan(v.f))
        return (ir_ref){0};
    return value_const(f, result, v);
}

static bool const_bits(ir_inst i, uint32_t bits) { return i.op == IR_CONST && i.a == bits; }

static ir_ref fold_integer(ir_func *f, ir_op op, ir_ref a, ir_ref b, ir_inst ib)
{
    bool zero = const_bits(ib, 0), ones = const_bits(ib, ir_type_of(f, a) == IR_BOOL ? 1u : ~0u);
    switch (op) {
    case IR_ADD: case IR_SUB: case IR_SHL: case IR_SHR: return zero ? a : (ir_ref){0};
    case IR_XOR: return zero ? a : ir_same(a, b) ? ir_const(f, ir_type_of(f, a), 0) : (ir_ref){0};
    case IR_OR: return zero || ir_same(a, b) ? a : ones ? b : (ir_ref){0};
    case IR_AND: return ones || ir_same(a, b) ? a : zero ? b : (ir_ref){0};
    case IR_MUL: return zero ? b : const_bits(ib, 1) ? a : (ir_ref){0};
    case IR_DIV: return const_bits(ib, 1) ? a : (ir_ref){0};
    case IR_EQ: return ir_same(a, b) ? ir_bool(f, true) : (ir_ref){0};
    case IR_NE: return ir_same(a, b) ? ir_bool(f, false) : (ir_ref){0};
    default: return (ir_ref){0};
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

static bool commutes(ir_op op)
{
    return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR || op == IR_EQ || op == IR_NE;
}

ir_ref ir_value_op(ir_func *f, ir_op op, ir_ref a, ir_ref b, ir_ref c)
{
    const ir_op_info *info = &ir_op_table[op];
    unsigned arity = info->arity;
    if (!usable(f, op, a) || (arity > 1 && !usable(f, op, b)) || (arity > 2 && !usable(f, op, c)))
        return (ir_ref){0};
    ir_inst ia = ir_get(f, a), ib = ir_get(f, b), ic = ir_get(f, c);
    ir_type result = ir_rule_result((ir_rule)info->rule, (ir_type)ia.type, (ir_type)ib.type, (ir_type)ic.type, arity);
    if (result == IR_VOID) {
        ir_fail(f, "%s(%s%s%s%s%s): wrong operand types", info->name, ir_type_names[ia.type], arity > 1 ? ", " : "",
                arity > 1 ? ir_type_names[ib.type] : "", arity > 2 ? ", " : "", arity > 2 ? ir_type_names[ic.type] : "");
        return (ir_ref){0};
    }
    if (commutes(op)) { /* constants to the right, otherwise by age */
        bool swap = ir_is_const(f, a) != ir_is_const(f, b) ? ir_is_const(f, a) : a.id > b.id;
        ir_ref t = a;
        if (swap)
            a = b, b = t;
    }
    if (!f->module->no_fold) {
        ir_ref folded = fold_constants(f, op, result, ir_get(f, a), ir_get(f, b), ir_get(f, c));
        if (ir_is_none(folded))
            folded = fold_identity(f, op, result, a, b, c);
        if (!ir_is_none(folded) || broken(f))
            return folded;
    }
    return merge(f, (ir_inst){.op = (uint8_t)op, .type = (uint8_t)result, .a = a.id, .b = b.id, .c = c.id});
}

/* ---- regions ---- */

static void region_open(ir_func *f, uint32_t id)
{
    if (!id)
        return;
    array_push(&f->builder->regions, id);
    f->builder->open.data[id] = 1;
}

static uint32_t region_close(ir_func *f)
{
    ir_builder *b = f->builder;
    uint32_t id = b->regions.data[--b->regions.count];
    b->open.data[id] = 0;
    return id;
}

static bool region_is(ir_func *f, ir_op wanted, ir_op op)
{
    if (broken(f))
        return false;
    uint32_t id = current_region(f);
    if (id && f->inst.data[id].op == wanted)
        return true;
    ir_fail(f, "%s without an open %s", ir_op_table[op].name, ir_op_table[wanted].name);
    return false;
}

ir_ref ir_if(ir_func *f, ir_ref condition)
{
    if (!usable_as(f, IR_IF, condition, IR_BOOL))
        return (ir_ref){0};
    uint32_t id = append(f, (ir_inst){.op = IR_IF, .a = condition.id});
    region_open(f, id);
    return (ir_ref){id};
}

void ir_else(ir_func *f)
{
    if (!region_is(f, IR_IF, IR_ELSE))
        return;
    uint32_t if_id = region_close(f);
    region_open(f, append(f, (ir_inst){.op = IR_ELSE, .a = if_id}));
}

void ir_endif(ir_func *f)
{
    if (!region_is(f, IR_ELSE, IR_ENDIF))
        return;
    uint32_t if_id = f->inst.data[region_close(f)].a;
    append(f, (ir_inst){.op = IR_ENDIF, .a = if_id});
}

/* A value of a branch that has just been closed: defined directly in it, or outside before its IF. */
static bool branch_value(ir_func *f, ir_ref r, uint32_t branch, uint32_t if_id)
{
    if (r.id && r.id < f->inst.count && is_value(f, r)) {
        bool floats = ir_op_table[f->inst.data[r.id].op].effect == IR_EFFECT_FLOAT;
        if (floats || f->scope.data[r.id] == branch || (r.id < if_id && visible(f, r.id)))
            return true;
    }
    ir_fail(f, "phi: value %%%u does not belong to its branch", r.id);
    return false;
}

ir_ref ir_phi(ir_func *f, ir_ref if_op, ir_ref then_value, ir_ref else_value)
{
    if (broken(f))
        return (ir_ref){0};
    if (!if_op.id || if_op.id != f->builder->last_closed_if) {
        ir_fail(f, "phi of %%%u does not follow its endif", if_op.id);
        return (ir_ref){0};
    }
    uint32_t else_id = 0;
    for (uint32_t i = f->inst.count - 1; i > if_op.id && !else_id; i--)
        if (f->inst.data[i].op == IR_ELSE && f->inst.data[i].a == if_op.id)
            else_id = i;
    if (!branch_value(f, then_value, if_op.id, if_op.id) || !branch_value(f, else_value, else_id, if_op.id))
        return (ir_ref){0};
    ir_type type = ir_type_of(f, then_value);
    if (type != ir_type_of(f, else_value)) {
        ir_fail(f, "phi of %s and %s", ir_type_names[type], ir_type_names[ir_type_of(f, else_value)]);
        return (ir_ref){0};
    }
    if (ir_same(then_value, else_value) && visible(f, then_value.id) && !f->module->no_fold)
        return then_value;
    return (ir_ref){append(f, (ir_inst){.op = IR_PHI, .type = (uint8_t)type, .a = then_value.id, .b = else_value.id, .c = if_op.id})};
}

ir_ref ir_loop(ir_func *f, ir_ref *state, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!usable(f, IR_LOOP, state[i]))
            return (ir_ref){0};
    uint32_t outer = current_region(f), loop = append(f, (ir_inst){.op = IR_LOOP});
    for (uint32_t i = 0; i < count && !broken(f); i++)
        state[i].id = append_in(f, (ir_inst){.op = IR_STATE, .type = f->inst.data[state[i].id].type, .a = state[i].id, .c = loop}, outer);
    region_open(f, loop);
    return (ir_ref){loop};
}

static bool loop_is_tested(const ir_func *f, uint32_t loop)
{
    for (uint32_t i = f->inst.count - 1; i > loop; i--)
        if (f->inst.data[i].op == IR_WHILE && f->inst.data[i].b == loop)
            return true;
    return false;
}

void ir_while(ir_func *f, ir_ref condition)
{
    if (!region_is(f, IR_LOOP, IR_WHILE) || !usable_as(f, IR_WHILE, condition, IR_BOOL))
        return;
    if (loop_is_tested(f, current_region(f))) {
        ir_fail(f, "while: the loop has one already");
        return;
    }
    append(f, (ir_inst){.op = IR_WHILE, .a = condition.id, .b = current_region(f)});
}

void ir_endloop(ir_func *f, ir_ref loop, const ir_ref *next, uint32_t count)
{
    if (!region_is(f, IR_LOOP, IR_ENDLOOP))
        return;
    if (current_region(f) != loop.id) {
        ir_fail(f, "endloop of %%%u, but the innermost open loop is %%%u", loop.id, current_region(f));
        return;
    }
    if (!loop_is_tested(f, loop.id)) {
        ir_fail(f, "endloop: the loop has no while");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t state = loop.id + 1 + i;
        if (state >= f->inst.count || f->inst.data[state].op != IR_STATE || f->inst.data[state].c != loop.id) {
            ir_fail(f, "endloop: %u next values, the loop has %u states", count, i);
            return;
        }
        if (!usable_as(f, IR_ENDLOOP, next[i], (ir_type)f->inst.data[state].type))
            return;
        f->inst.data[state].b = next[i].id;
    }
    uint32_t end = loop.id + 1 + count;
    if (end < f->inst.count && f->inst.data[end].op == IR_STATE && f->inst.data[end].c == loop.id) {
        ir_fail(f, "endloop: %u next values, the loop has more states", count);
        return;
    }
    region_close(f);
    append(f, (ir_inst){.op = IR_ENDLOOP, .a = loop.id});
}

void ir_return(ir_func *f, const ir_ref *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (broken(f))
            return;
        if (values[i].id == 0 || values[i].id >= f->inst.count || !visible(f, values[i].id) || !is_value(f, values[i])) {
            ir_fail(f, "return: value %%%u is not visible at the end", values[i].id);
            return;
        }
        array_push(&f->results, values[i]);
    }
    if (f->builder->regions.count)
        ir_fail(f, "return inside an open %s", ir_op_table[f->inst.data[current_region(f)].op].name);
    f->finished = true;
    builder_free(f);
}

/* ---- calls and rays ---- */

static bool same_signature(const ir_func *x, const ir_func *y)
{
    if (x->params.count != y->params.count || x->results.count != y->results.count)
        return false;
    for (uint32_t i = 0; i < x->params.count; i++)
        if (x->params.data[i] != y->params.data[i])
            return false;
    for (uint32_t i = 0; i < x->results.count; i++)
        if (ir_type_of(x, x->results.data[i]) != ir_type_of(y, y->results.data[i]))
            return false;
    return true;
}

static bool check_targets(ir_func *f, ir_op op, ir_func *const *targets, uint32_t count)
{
    if (broken(f))
        return false;
    if (count == 0) {
        ir_fail(f, "%s without targets", ir_op_table[op].name);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (targets[i]->module != f->module || !targets[i]->finished)
            ir_fail(f, "%s: target \"%s\" is of another module or not finished", ir_op_table[op].name, targets[i]->name);
        else if (!same_signature(targets[0], targets[i]))
            ir_fail(f, "%s: targets \"%s\" and \"%s\" differ in signature", ir_op_table[op].name, targets[0]->name, targets[i]->name);
    }
    return !broken(f);
}

static uint32_t push_operands(ir_func *f, ir_func *const *targets, uint32_t target_count, const ir_ref *args, uint32_t arg_count)
{
    uint32_t at = f->pool.count;
    array_push(&f->pool, target_count);
    for (uint32_t i = 0; i < target_count; i++)
        array_push(&f->pool, targets[i]->index);
    array_push(&f->pool, arg_count);
    for (uint32_t i = 0; i < arg_count; i++)
        array_push(&f->pool, args[i].id);
    return at;
}

static void emit_results(ir_func *f, uint32_t call, ir_ref *results)
{
    if (broken(f))
        return;
    uint32_t count = ir_result_count(f, f->inst.data[call]);
    for (uint32_t k = 0; k < count; k++)
        results[k].id = append(f, (ir_inst){.op = IR_RESULT, .type = (uint8_t)ir_result_type(f, f->inst.data[call], k), .a = call, .b = k});
}

void ir_call(ir_func *f, ir_ref selector, ir_func *const *targets, uint32_t target_count, const ir_ref *args, uint32_t arg_count,
             ir_ref *results)
{
    for (uint32_t k = 0; target_count && k < targets[0]->results.count; k++)
        results[k] = (ir_ref){0};
    if (!usable_as(f, IR_CALL, selector, IR_U32) || !check_targets(f, IR_CALL, targets, target_count))
        return;
    if (targets[0]->params.count != arg_count) {
        ir_fail(f, "call of \"%s\" with %u arguments, it has %u parameters", targets[0]->name, arg_count, targets[0]->params.count);
        return;
    }
    for (uint32_t i = 0; i < arg_count; i++)
        if (!usable_as(f, IR_CALL, args[i], (ir_type)targets[0]->params.data[i]))
            return;
    uint32_t pool = push_operands(f, targets, target_count, args, arg_count);
    emit_results(f, append(f, (ir_inst){.op = IR_CALL, .a = selector.id, .b = pool}), results);
}

static const ir_type intersect_params[9] = {IR_U32, IR_F32, IR_F32, IR_F32, IR_F32, IR_F32, IR_F32, IR_F32, IR_F32};

static uint32_t emit_ray(ir_func *f, ir_op op, ir_func *const *intersect, uint32_t kinds, const ir_ref args[8])
{
    if (!check_targets(f, op, intersect, kinds))
        return 0;
    bool fits = intersect[0]->params.count == 9 && intersect[0]->results.count == 3;
    for (uint32_t i = 0; fits && i < 9; i++)
        fits = intersect[0]->params.data[i] == intersect_params[i];
    for (uint32_t i = 0; fits && i < 3; i++)
        fits = ir_type_of(intersect[0], intersect[0]->results.data[i]) == IR_F32;
    if (!fits) {
        ir_fail(f, "%s: \"%s\" has not the signature of an intersection function", ir_op_table[op].name, intersect[0]->name);
        return 0;
    }
    for (uint32_t i = 0; i < 8; i++)
        if (!usable_as(f, op, args[i], IR_F32))
            return 0;
    return append(f, (ir_inst){.op = (uint8_t)op, .b = push_operands(f, intersect, kinds, args, 8)});
}

void ir_ray_closest(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[8], ir_ref results[4])
{
    memset(results, 0, 4 * sizeof *results);
    emit_results(f, emit_ray(f, IR_RAY_CLOSEST, intersect, kinds, args), results);
}

ir_ref ir_ray_any(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[8])
{
    ir_ref hit = {0};
    emit_results(f, emit_ray(f, IR_RAY_ANY, intersect, kinds, args), &hit);
    return hit;
}

ir_operands ir_call_operands(const ir_func *f, ir_inst call)
{
    const uint32_t *p = f->pool.data + call.b;
    return (ir_operands){.target_count = p[0], .targets = p + 1, .arg_count = p[1 + p[0]], .args = p + 2 + p[0]};
}

uint32_t ir_result_count(const ir_func *f, ir_inst call)
{
    if (call.op == IR_RAY_CLOSEST)
        return 4;
    if (call.op == IR_RAY_ANY)
        return 1;
    return f->module->functions.data[ir_call_operands(f, call).targets[0]]->results.count;
}

ir_type ir_result_type(const ir_func *f, ir_inst call, uint32_t k)
{
    if (call.op == IR_RAY_CLOSEST)
        return k == 1 ? IR_U32 : IR_F32;
    if (call.op == IR_RAY_ANY)
        return IR_BOOL;
    const ir_func *target = f->module->functions.data[ir_call_operands(f, call).targets[0]];
    return ir_type_of(target, target->results.data[k]);
}

/* ---- memory ---- */

static bool check_buffer(ir_func *f, ir_op op, uint32_t buffer, bool writes)
{
    if (broken(f))
        return false;
    if (buffer >= f->module->buffers.count)
        ir_fail(f, "%s: buffer %u does not exist", ir_op_table[op].name, buffer);
    else if (writes && f->module->buffers.data[buffer].constant)
        ir_fail(f, "%s: buffer \"%s\" is constant", ir_op_table[op].name, f->module->buffers.data[buffer].name);
    return !broken(f);
}

static bool check_word(ir_func *f, ir_op op, ir_type type)
{
    if (broken(f))
        return false;
    if (is_numeric(type))
        return true;
    ir_fail(f, "%s: memory holds i32, u32 and f32, not %s", ir_op_table[op].name, ir_type_names[type]);
    return false;
}

ir_ref ir_load(ir_func *f, ir_type type, uint32_t buffer, ir_ref index)
{
    if (!check_word(f, IR_LOAD, type) || !check_buffer(f, IR_LOAD, buffer, false) || !usable_as(f, IR_LOAD, index, IR_U32))
        return (ir_ref){0};
    const ir_buffer *b = &f->module->buffers.data[buffer];
    if (b->known && ir_is_const(f, index) && ir_get(f, index).a < b->known_count && !f->module->no_fold)
        return ir_const(f, type, b->known[ir_get(f, index).a]);
    ir_inst inst = {.op = IR_LOAD, .type = (uint8_t)type, .a = index.id, .b = buffer};
    return f->module->buffers.data[buffer].constant ? merge(f, inst) : (ir_ref){append(f, inst)};
}

ir_ref ir_dload(ir_func *f, uint32_t buffer, ir_ref index, ir_ref gradient_index)
{
    if (!check_buffer(f, IR_DLOAD, buffer, false) || !usable_as(f, IR_DLOAD, index, IR_U32) ||
        !usable_as(f, IR_DLOAD, gradient_index, IR_U32))
        return (ir_ref){0};
    if (f->module->buffers.data[buffer].gradient < 0) {
        ir_fail(f, "dload: buffer \"%s\" has no gradient partner", f->module->buffers.data[buffer].name);
        return (ir_ref){0};
    }
    ir_inst inst = {.op = IR_DLOAD, .type = IR_F32, .a = index.id, .b = buffer, .c = gradient_index.id};
    return f->module->buffers.data[buffer].constant ? merge(f, inst) : (ir_ref){append(f, inst)};
}

void ir_store(ir_func *f, uint32_t buffer, ir_ref index, ir_ref value)
{
    if (check_buffer(f, IR_STORE, buffer, true) && usable_as(f, IR_STORE, index, IR_U32) && usable(f, IR_STORE, value) &&
        check_word(f, IR_STORE, ir_type_of(f, value)))
        append(f, (ir_inst){.op = IR_STORE, .a = index.id, .b = buffer, .c = value.id});
}

ir_ref ir_atomic_add(ir_func *f, uint32_t buffer, ir_ref index, ir_ref value)
{
    if (!check_buffer(f, IR_ATOMIC_ADD, buffer, true) || !usable_as(f, IR_ATOMIC_ADD, index, IR_U32) || !usable(f, IR_ATOMIC_ADD, value))
        return (ir_ref){0};
    ir_type type = ir_type_of(f, value);
    if (type != IR_U32 && type != IR_F32) {
        ir_fail(f, "atomic_add of %s", ir_type_names[type]);
        return (ir_ref){0};
    }
    return (ir_ref){append(f, (ir_inst){.op = IR_ATOMIC_ADD, .type = (uint8_t)type, .a = index.id, .b = buffer, .c = value.id})};
}

ir_ref ir_atomic_cas(ir_func *f, uint32_t buffer, ir_ref index, ir_ref expected, ir_ref value)
{
    if (!check_buffer(f, IR_ATOMIC_CAS, buffer, true) || !usable_as(f, IR_ATOMIC_CAS, index, IR_U32) ||
        !usable_as(f, IR_ATOMIC_CAS, expected, IR_U32) || !usable_as(f, IR_ATOMIC_CAS, value, IR_U32))
        return (ir_ref){0};
    uint32_t at = f->pool.count;
    array_push(&f->pool, expected.id);
    array_push(&f->pool, value.id);
    return (ir_ref){append(f, (ir_inst){.op = IR_ATOMIC_CAS, .type = IR_U32, .a = index.id, .b = buffer, .c = at})};
}

void ir_accum(ir_func *f, uint32_t gradient_buffer, ir_ref index, ir_ref value)
{
    if (check_buffer(f, IR_ACCUM, gradient_buffer, true) && usable_as(f, IR_ACCUM, index, IR_U32) && usable_as(f, IR_ACCUM, value, IR_F32))
        append(f, (ir_inst){.op = IR_ACCUM, .a = index.id, .b = gradient_buffer, .c = value.id});
}

void ir_flush(ir_func *f, uint32_t gradient_buffer, ir_ref condition)
{
    if (check_buffer(f, IR_FLUSH, gradient_buffer, true) && usable_as(f, IR_FLUSH, condition, IR_BOOL))
        append(f, (ir_inst){.op = IR_FLUSH, .a = condition.id, .b = gradient_buffer});
}

ir_ref ir_local(ir_func *f, ir_type type, uint32_t count)
{
    if (type == IR_VOID || count == 0 || count > IR_MAX_LOCAL)
        ir_fail(f, "local: %u elements of %s, allowed are 1 to %d", count, ir_type_names[type], IR_MAX_LOCAL);
    return (ir_ref){append(f, (ir_inst){.op = IR_LOCAL, .type = (uint8_t)type, .a = count})};
}

static bool check_local(ir_func *f, ir_op op, ir_ref local, ir_ref index)
{
    if (!exists(f, op, local) || !usable_as(f, op, index, IR_U32))
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
    return (ir_ref){append(f, (ir_inst){.op = IR_LLOAD, .type = ir_get(f, local).type, .a = local.id, .b = index.id})};
}

void ir_lstore(ir_func *f, ir_ref local, ir_ref index, ir_ref value)
{
    if (check_local(f, IR_LSTORE, local, index) && usable_as(f, IR_LSTORE, value, ir_type_of(f, local)))
        append(f, (ir_inst){.op = IR_LSTORE, .a = local.id, .b = index.id, .c = value.id});
}
