/* SPDX-License-Identifier: BSD-3-Clause
 * Regions (if, loop), the end of a function, calls and rays. A function's open regions form a stack; what was
 * defined in a closed one is no longer visible, save for PHIs and STATEs, which stand outside. */
#include "spirv_gen/ir/internal.h"

#include <string.h>

/* ---- regions ---- */

static void region_open(ir_func *f, uint32_t id)
{
    if (!id)
        return;
    BL_ASSERT(id < f->builder->open.count && !f->builder->open.data[id], "region %%%u is open already", id);
    array_push(&f->builder->regions, id);
    f->builder->open.data[id] = 1;
}

static uint32_t region_close(ir_func *f)
{
    ir_builder *b = f->builder;
    BL_ASSERT(b->regions.count > 0, "\"%s\" has no open region", f->name);
    uint32_t id = b->regions.data[--b->regions.count];
    b->open.data[id] = 0;
    return id;
}

static bool region_is(ir_func *f, ir_op wanted, ir_op op)
{
    if (ir_broken(f))
        return false;
    uint32_t id = ir_current_region(f);
    if (id && f->inst.data[id].op == wanted)
        return true;
    ir_fail(f, "%s without an open %s", ir_op_table[op].name, ir_op_table[wanted].name);
    return false;
}

ir_ref ir_if(ir_func *f, ir_ref condition)
{
    if (!ir_usable_as(f, IR_IF, condition, IR_BOOL))
        return (ir_ref){0};
    uint32_t id = ir_append(f, (ir_inst){.op = IR_IF, .a = condition.id});
    region_open(f, id);
    return (ir_ref){id};
}

void ir_else(ir_func *f)
{
    if (!region_is(f, IR_IF, IR_ELSE))
        return;
    uint32_t if_id = region_close(f);
    region_open(f, ir_append(f, (ir_inst){.op = IR_ELSE, .a = if_id}));
}

void ir_endif(ir_func *f)
{
    if (!region_is(f, IR_ELSE, IR_ENDIF))
        return;
    uint32_t if_id = f->inst.data[region_close(f)].a;
    BL_ASSERT(f->inst.data[if_id].op == IR_IF, "an ELSE of %%%u, which is %s", if_id,
              ir_op_table[f->inst.data[if_id].op].name);
    ir_append(f, (ir_inst){.op = IR_ENDIF, .a = if_id});
}

/* A value of a branch that has just been closed: defined directly in it, or outside before its IF. */
static bool branch_value(ir_func *f, ir_ref r, uint32_t branch, uint32_t if_id)
{
    if (r.id && r.id < f->inst.count && ir_is_value(f, r)) {
        bool floats = ir_op_table[f->inst.data[r.id].op].effect == IR_EFFECT_FLOAT;
        if (floats || f->scope.data[r.id] == branch || (r.id < if_id && ir_visible(f, r.id)))
            return true;
    }
    ir_fail(f, "phi: value %%%u does not belong to its branch", r.id);
    return false;
}

ir_ref ir_phi(ir_func *f, ir_ref if_op, ir_ref then_value, ir_ref else_value)
{
    if (ir_broken(f))
        return (ir_ref){0};
    if (!if_op.id || if_op.id != f->builder->last_closed_if) {
        ir_fail(f, "phi of %%%u does not follow its endif", if_op.id);
        return (ir_ref){0};
    }
    uint32_t else_id = 0;
    for (uint32_t i = f->inst.count - 1; i > if_op.id && !else_id; i--)
        if (f->inst.data[i].op == IR_ELSE && f->inst.data[i].a == if_op.id)
            else_id = i;
    BL_ASSERT(else_id, "%%%u has ended without an ELSE", if_op.id);
    if (!branch_value(f, then_value, if_op.id, if_op.id) || !branch_value(f, else_value, else_id, if_op.id))
        return (ir_ref){0};
    ir_type type = ir_type_of(f, then_value);
    if (type != ir_type_of(f, else_value)) {
        ir_fail(f, "phi of %s and %s", ir_type_names[type], ir_type_names[ir_type_of(f, else_value)]);
        return (ir_ref){0};
    }
    if (ir_same(then_value, else_value) && ir_visible(f, then_value.id) && !f->module->no_fold &&
        !f->builder->flags)
        return then_value;
    return (ir_ref){
        ir_append(
            f,
            (ir_inst){
                .op = IR_PHI, .type = (uint8_t)type, .a = then_value.id, .b = else_value.id, .c = if_op.id}),
    };
}

ir_ref ir_loop(ir_func *f, ir_ref *state, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!ir_usable(f, IR_LOOP, state[i]))
            return (ir_ref){0};
    if (ir_broken(f))
        return (ir_ref){0};
    uint32_t outer = ir_current_region(f), loop = ir_append(f, (ir_inst){.op = IR_LOOP});
    for (uint32_t i = 0; i < count && !ir_broken(f); i++)
        state[i].id = ir_append_in(
            f, (ir_inst){.op = IR_STATE, .type = f->inst.data[state[i].id].type, .a = state[i].id, .c = loop},
            outer);
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
    if (!region_is(f, IR_LOOP, IR_WHILE) || !ir_usable_as(f, IR_WHILE, condition, IR_BOOL))
        return;
    if (loop_is_tested(f, ir_current_region(f))) {
        ir_fail(f, "while: the loop has one already");
        return;
    }
    ir_append(f, (ir_inst){.op = IR_WHILE, .a = condition.id, .b = ir_current_region(f)});
}

void ir_endloop(ir_func *f, ir_ref loop, const ir_ref *next, uint32_t count)
{
    if (!region_is(f, IR_LOOP, IR_ENDLOOP))
        return;
    if (ir_current_region(f) != loop.id) {
        ir_fail(f, "endloop of %%%u, but the innermost open loop is %%%u", loop.id, ir_current_region(f));
        return;
    }
    if (!loop_is_tested(f, loop.id)) {
        ir_fail(f, "endloop: the loop has no while");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t state = loop.id + 1 + i;
        if (state >= f->inst.count || f->inst.data[state].op != IR_STATE ||
            f->inst.data[state].c != loop.id) {
            ir_fail(f, "endloop: %u next values, the loop has %u states", count, i);
            return;
        }
        if (!ir_usable_as(f, IR_ENDLOOP, next[i], (ir_type)f->inst.data[state].type))
            return;
        f->inst.data[state].b = next[i].id;
    }
    uint32_t end = loop.id + 1 + count;
    if (end < f->inst.count && f->inst.data[end].op == IR_STATE && f->inst.data[end].c == loop.id) {
        ir_fail(f, "endloop: %u next values, the loop has more states", count);
        return;
    }
    region_close(f);
    ir_append(f, (ir_inst){.op = IR_ENDLOOP, .a = loop.id});
}

void ir_return(ir_func *f, const ir_ref *values, uint32_t count)
{
    if (ir_broken(f))
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (values[i].id == 0 || values[i].id >= f->inst.count || !ir_visible(f, values[i].id) ||
            !ir_is_value(f, values[i])) {
            ir_fail(f, "return: value %%%u is not visible at the end", values[i].id);
            return;
        }
        array_push(&f->results, values[i]);
    }
    if (f->builder->regions.count)
        ir_fail(f, "return inside an open %s", ir_op_table[f->inst.data[ir_current_region(f)].op].name);
    f->finished = true;
    ir_builder_free(f);
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
    if (ir_broken(f))
        return false;
    if (count == 0) {
        ir_fail(f, "%s without targets", ir_op_table[op].name);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (targets[i]->module != f->module || !targets[i]->finished)
            ir_fail(f, "%s: target \"%s\" is of another module or not finished", ir_op_table[op].name,
                    targets[i]->name);
        else if (!same_signature(targets[0], targets[i]))
            ir_fail(f, "%s: targets \"%s\" and \"%s\" differ in signature", ir_op_table[op].name,
                    targets[0]->name, targets[i]->name);
    }
    return !ir_broken(f);
}

static uint32_t push_operands(ir_func *f, ir_func *const *targets, uint32_t target_count, const ir_ref *args,
                              uint32_t arg_count)
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
    if (ir_broken(f))
        return;
    BL_ASSERT(call && ir_is_call(f->inst.data[call].op), "results of %%%u, no call", call);
    uint32_t count = ir_result_count(f, f->inst.data[call]);
    for (uint32_t k = 0; k < count; k++)
        results[k].id = ir_append(f, (ir_inst){.op = IR_RESULT,
                                               .type = (uint8_t)ir_result_type(f, f->inst.data[call], k),
                                               .a = call,
                                               .b = k});
}

void ir_call(ir_func *f, ir_ref selector, ir_func *const *targets, uint32_t target_count, const ir_ref *args,
             uint32_t arg_count, ir_ref *results)
{
    for (uint32_t k = 0; target_count && k < targets[0]->results.count; k++)
        results[k] = (ir_ref){0};
    if (!ir_usable_as(f, IR_CALL, selector, IR_U32) || !check_targets(f, IR_CALL, targets, target_count))
        return;
    if (targets[0]->params.count != arg_count) {
        ir_fail(f, "call of \"%s\" with %u arguments, it has %u parameters", targets[0]->name, arg_count,
                targets[0]->params.count);
        return;
    }
    for (uint32_t i = 0; i < arg_count; i++)
        if (!ir_usable_as(f, IR_CALL, args[i], (ir_type)targets[0]->params.data[i]))
            return;
    uint32_t pool = push_operands(f, targets, target_count, args, arg_count);
    emit_results(f, ir_append(f, (ir_inst){.op = IR_CALL, .a = selector.id, .b = pool}), results);
}

static const ir_type intersect_params[9] = {IR_U32, IR_F32, IR_F32, IR_F32, IR_F32,
                                            IR_F32, IR_F32, IR_F32, IR_F32};

/* args: 8 of them, or 9 (ir_ray_next). */
static uint32_t emit_ray(ir_func *f, ir_op op, ir_func *const *intersect, uint32_t kinds, const ir_ref *args,
                         uint32_t arg_count)
{
    if (!check_targets(f, op, intersect, kinds))
        return 0;
    bool fits = intersect[0]->params.count == 9 && intersect[0]->results.count == 3;
    for (uint32_t i = 0; fits && i < 9; i++)
        fits = intersect[0]->params.data[i] == intersect_params[i];
    for (uint32_t i = 0; fits && i < 3; i++)
        fits = ir_type_of(intersect[0], intersect[0]->results.data[i]) == IR_F32;
    if (!fits) {
        ir_fail(f, "%s: \"%s\" has not the signature of an intersection function", ir_op_table[op].name,
                intersect[0]->name);
        return 0;
    }
    for (uint32_t i = 0; i < arg_count; i++)
        if (!ir_usable_as(f, op, args[i], i < 8 ? IR_F32 : IR_U32))
            return 0;
    return ir_append(f,
                     (ir_inst){.op = (uint8_t)op, .b = push_operands(f, intersect, kinds, args, arg_count)});
}

void ir_ray_closest(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[8],
                    ir_ref results[5])
{
    memset(results, 0, 5 * sizeof *results);
    emit_results(f, emit_ray(f, IR_RAY_CLOSEST, intersect, kinds, args, 8), results);
}

void ir_ray_next(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[9],
                 ir_ref results[5])
{
    memset(results, 0, 5 * sizeof *results);
    emit_results(f, emit_ray(f, IR_RAY_CLOSEST, intersect, kinds, args, 9), results);
}

ir_ref ir_ray_any(ir_func *f, ir_func *const *intersect, uint32_t kinds, const ir_ref args[8])
{
    ir_ref hit = {0};
    emit_results(f, emit_ray(f, IR_RAY_ANY, intersect, kinds, args, 8), &hit);
    return hit;
}

ir_operands ir_call_operands(const ir_func *f, ir_inst call)
{
    const uint32_t *p = f->pool.data + call.b;
    BL_ASSERT(ir_is_call(call.op) && call.b < f->pool.count && p[0] < f->pool.count - call.b - 1,
              "operands of %s at %u of %u", ir_op_table[call.op].name, call.b, f->pool.count);
    return (ir_operands){
        .target_count = p[0], .targets = p + 1, .arg_count = p[1 + p[0]], .args = p + 2 + p[0]};
}

uint32_t ir_result_count(const ir_func *f, ir_inst call)
{
    if (call.op == IR_RAY_CLOSEST)
        return 5;
    if (call.op == IR_RAY_ANY)
        return 1;
    return f->module->functions.data[ir_call_operands(f, call).targets[0]]->results.count;
}

ir_type ir_result_type(const ir_func *f, ir_inst call, uint32_t k)
{
    if (call.op == IR_RAY_CLOSEST)
        return k == 1 || k == 4 ? IR_U32 : IR_F32;
    if (call.op == IR_RAY_ANY)
        return IR_BOOL;
    const ir_func *target = f->module->functions.data[ir_call_operands(f, call).targets[0]];
    BL_ASSERT(k < target->results.count, "result %u of \"%s\", which has %u", k, target->name,
              target->results.count);
    return ir_type_of(target, target->results.data[k]);
}
