/* SPDX-License-Identifier: BSD-3-Clause
 * Activity: which values depend differentiably on what is being differentiated. Only they get adjoints or
 * tangents.
 *
 * One forward pass in emission order; a loop needs more, because a STATE is active as soon as its next value
 * is, and a local array as soon as something active is stored into it. A call's result is active if it is in
 * any target, given which arguments are; of a custom operation it is as soon as an argument is. A STATE of a
 * loop that is still open is active: its next value is not known yet, and taking it for a constant would lose
 * gradients silently. */
#include "spirv_gen/ad/sweep.h"

#include <stdlib.h>

/* A DLOAD with a gradient or, forward, with a tangent. */
static bool is_differentiable(const ir_func *f, ir_inst inst, ad_mode mode)
{
    ir_inst gradient = f->inst.data[inst.c];
    const ir_buffer *b = &f->module->buffers.data[inst.b];
    return (mode == AD_FORWARD ? b->tangent : b->gradient) >= 0 &&
           !(gradient.op == IR_CONST && gradient.a == ~0u);
}

static bool value_active(const uint8_t *active, ir_inst inst)
{
    const uint32_t operand[3] = {inst.a, inst.b, inst.c};
    for (unsigned k = 0; k < ir_op_table[inst.op].arity; k++)
        if (active[operand[k]] && ad_carries((ir_op)inst.op, k))
            return true;
    return false;
}

/* Marks the RESULTs of a call that `target` makes active. */
static void mark_results(const ir_func *f, uint32_t call, const ir_func *target, uint8_t *active,
                         ad_mode mode)
{
    ir_operands o = ir_call_operands(f, f->inst.data[call]);
    ir_ref *wrt = memory_need((target->inst.count + 1) * sizeof *wrt);
    uint32_t count = 0;
    for (uint32_t id = 1; id < target->inst.count; id++)
        if (target->inst.data[id].op == IR_PARAM && active[o.args[target->inst.data[id].a]])
            wrt[count++].id = id;
    uint8_t *inside = ad_active(target, wrt, count, mode);
    bool custom = count > 0 && (mode == AD_FORWARD ? target->jvp : target->vjp);
    for (uint32_t id = call + 1; id < f->inst.count; id++) {
        ir_inst result = f->inst.data[id];
        if (result.op != IR_RESULT || result.a != call)
            break;
        active[id] |= inside[target->results.data[result.b].id] || (custom && result.type == IR_F32);
    }
    memory_free(inside);
    memory_free(wrt);
}

static void visit_call(const ir_func *f, uint32_t id, uint8_t *active, ad_mode mode)
{
    ir_operands o = ir_call_operands(f, f->inst.data[id]);
    for (uint32_t k = 0; k < o.target_count; k++)
        mark_results(f, id, f->module->functions.data[o.targets[k]], active, mode);
}

static bool is_active(const ir_func *f, uint32_t id, const uint8_t *active, ad_mode mode)
{
    ir_inst inst = f->inst.data[id];
    if (inst.type != IR_F32 || (inst.flags & IR_SUSPENDED))
        return false;
    switch (inst.op) {
    case IR_DLOAD:
        return is_differentiable(f, inst, mode);
    case IR_LLOAD:
        return active[inst.a];
    case IR_PHI:
        return active[inst.a] || active[inst.b];
    case IR_STATE:
        return active[inst.a] || inst.b == 0 || active[inst.b];
    default:
        return ad_rules[inst.op] && value_active(active, inst);
    }
}

/* One pass in emission order; true if something became active that earlier instructions may depend on. */
static bool spread(const ir_func *f, uint8_t *active, ad_mode mode)
{
    bool back = false;
    for (uint32_t id = 1; id < f->inst.count; id++) {
        ir_inst inst = f->inst.data[id];
        if (inst.op == IR_CALL && !(inst.flags & IR_SUSPENDED))
            visit_call(f, id, active, mode);
        if (inst.op == IR_LSTORE && active[inst.c] && !active[inst.a])
            active[inst.a] = back = true;
        if (active[id] || !is_active(f, id, active, mode))
            continue;
        active[id] = 1;
        back |= inst.op == IR_STATE;
    }
    for (uint32_t id = 1; id < f->inst.count && !back;
         id++) /* a next value that became active behind its STATE */
        back = f->inst.data[id].op == IR_STATE && !active[id] && is_active(f, id, active, mode);
    return back;
}

uint8_t *ad_active(const ir_func *f, const ir_ref *wrt, uint32_t count, ad_mode mode)
{
    uint8_t *active = memory_need_zeroed(f->inst.count, 1);
    for (uint32_t k = 0; k < count; k++)
        active[wrt[k].id] = ir_type_of(f, wrt[k]) == IR_F32;
    while (spread(f, active, mode))
        continue;
    return active;
}
