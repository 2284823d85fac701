/* SPDX-License-Identifier: BSD-3-Clause
 * The reverse sweep: instructions are visited from last to first, each hands its adjoint on to its operands.
 *
 * Sparse: a value without adjoint costs nothing, a first contribution is taken as it is, constant zeros are
 * dropped, and values that do not depend on anything wanted (activity.c) never get one.
 *
 * An IF whose PHIs have adjoints becomes a new IF with the same condition. In each branch the branch's code
 * is emitted again, because what was computed in the old branch is not visible any more; dead code
 * elimination drops what the derivative does not use. Then the branch is swept. Adjoints of values from
 * outside are collected per branch (`touched`) and leave it as PHIs. Where the PHIs only choose between
 * values from outside, two selects do the same.
 *
 * Recomputation repeats loads and rays, so what a differentiated branch or callee reads must not have been
 * overwritten since. Atomics and calls that write cannot be repeated: they are refused where their value is
 * needed.
 *
 * Reverse mode differentiates only loops that add to their states (sum_loop.c); forward mode takes all loops.
 * Local arrays: array.c. */
#include "spirv_gen/ad/sweep.h"
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

static bool broken(const ad_sweep *s) { return s->f->module->error.code != BL_OK; }

/* ---- recomputation ---- */

static bool refuse_effects(ir_copier *c, uint32_t id, ir_inst inst)
{
    ad_sweep *s = c->user;
    if (inst.op == IR_LSTORE && inst.a < s->copy_first)
        return true; /* has happened; what reads the array since is refused */
    return ad_refuse_repeat(c->to, c->from, id, s->copy_first, &s->writes);
}

void ad_recompute(ad_sweep *s, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last; id++)
        if (ir_op_table[s->from->inst.data[id].op].effect != IR_EFFECT_FLOAT)
            s->copy.map[id] = (ir_ref){0};
    s->copy_first = first;
    ir_copy_range(&s->copy, first, last);
}

/* ---- adjoints ---- */

static bool belongs_to_frame(const ad_sweep *s, uint32_t id)
{
    return id >= s->frame.first && ir_op_table[s->from->inst.data[id].op].effect != IR_EFFECT_FLOAT;
}

void ad_add(ad_sweep *s, uint32_t id, ir_ref value)
{
    if (broken(s) || ir_is_none(value) || !s->active[id] || ir_const_is(s->f, value, 0.0f) ||
        ir_const_is(s->f, value, -0.0f))
        return;
    if (s->frame.first && !belongs_to_frame(s, id) && s->frame_of[id] != s->frame.number) {
        array_push(&s->touched, ((ad_touch){id, s->frame_of[id], s->adjoint[id]}));
        s->frame_of[id] = s->frame.number;
        s->adjoint[id] = (ir_ref){0};
    }
    s->adjoint[id] = ir_is_none(s->adjoint[id]) ? value : ir_add(s->f, s->adjoint[id], value);
}

ir_ref ad_adjoint(const ad_sweep *s, ir_ref value)
{
    ir_ref adjoint = s->adjoint[value.id];
    return ir_is_none(adjoint) ? ir_f32(s->f, 0) : adjoint;
}

uint32_t ad_take_pending(ad_sweep *s, uint32_t owner)
{
    if (!s->pending.count)
        return 0;
    uint32_t id = s->pending.data[s->pending.count - 1];
    ir_inst inst = s->from->inst.data[id];
    if ((inst.op == IR_PHI ? inst.c : inst.a) != owner)
        return 0;
    s->pending.count--;
    return id;
}

/* ---- value ops and memory ---- */

static void reverse_value(ad_sweep *s, uint32_t id, ir_inst inst)
{
    const uint32_t operand[3] = {inst.a, inst.b, inst.c};
    unsigned arity = ir_op_table[inst.op].arity;
    ir_ref in[3] = {{0}, {0}, {0}};
    for (unsigned k = 0; k < arity; k++)
        in[k] = ir_copied(&s->copy, operand[k]);
    ad_site site = {s->f, in[0], in[1], in[2], ir_copied(&s->copy, id)};
    ir_ref adjoint = s->adjoint[id];
    for (unsigned k = 0; k < arity && ad_rules[inst.op]; k++)
        if (s->active[operand[k]])
            ad_add(s, operand[k], ad_rules[inst.op](&site, k, adjoint));
}

void ad_reverse_DLOAD(ad_sweep *s, uint32_t id)
{
    ir_inst inst = s->from->inst.data[id];
    uint32_t gradient = (uint32_t)s->f->module->buffers.data[inst.b].gradient;
    ir_accum(s->f, gradient, ir_copied(&s->copy, inst.c), s->adjoint[id]);
}

void ad_reverse_RESULT(ad_sweep *s, uint32_t id) { array_push(&s->pending, id); }
void ad_reverse_PHI(ad_sweep *s, uint32_t id) { array_push(&s->pending, id); }

/* ---- branches ---- */

typedef struct choice { /* a PHI with an adjoint: values of the branches, by instruction of `from` */
    uint32_t value[2];
    ir_ref adjoint;
} choice;

typedef ARRAY(choice) choice_list;

static void take_choices(ad_sweep *s, uint32_t if_id, choice_list *choices)
{
    for (uint32_t id; (id = ad_take_pending(s, if_id)) != 0;) {
        ir_inst phi = s->from->inst.data[id];
        array_push(choices, ((choice){{phi.a, phi.b}, s->adjoint[id]}));
    }
}

/* Does an adjoint go to a value that was computed inside the branch? */
static bool enters_branch(const ad_sweep *s, const choice_list *choices, unsigned side, uint32_t if_id)
{
    for (uint32_t k = 0; k < choices->count; k++) {
        uint32_t id = choices->data[k].value[side];
        if (id > if_id && s->active[id] && ir_op_table[s->from->inst.data[id].op].effect != IR_EFFECT_FLOAT)
            return true;
    }
    return false;
}

static void reverse_selects(ad_sweep *s, ir_ref condition, const choice_list *choices)
{
    ir_ref zero = ir_f32(s->f, 0);
    for (uint32_t k = 0; k < choices->count; k++) {
        const choice *c = &choices->data[k];
        ad_add(s, c->value[0], ir_select(s->f, condition, c->adjoint, zero));
        ad_add(s, c->value[1], ir_select(s->f, condition, zero, c->adjoint));
    }
}

ad_frame ad_enter_frame(ad_sweep *s, uint32_t first)
{
    ad_frame outer = s->frame;
    s->frame = (ad_frame){first, ++s->frame_count};
    return outer;
}

void ad_leave_frame(ad_sweep *s, ad_frame outer, uint32_t base, ad_touch_list *out)
{
    for (uint32_t k = base; k < s->touched.count; k++) {
        ad_touch t = s->touched.data[k];
        array_push(out, ((ad_touch){.id = t.id, .adjoint = s->adjoint[t.id]}));
        s->adjoint[t.id] = t.adjoint;
        s->frame_of[t.id] = t.frame;
    }
    s->touched.count = base;
    s->frame = outer;
}

/* Sweeps one branch, instructions [first, last); the adjoints that leave it are moved to *out. */
static void reverse_branch(ad_sweep *s, const choice_list *choices, unsigned side, uint32_t first,
                           uint32_t last, ad_touch_list *out)
{
    uint32_t base = s->touched.count;
    ad_frame outer = ad_enter_frame(s, first);
    if (enters_branch(s, choices, side, first - 1) || ad_stores_outside(s, first, last)) {
        ad_recompute(s, first, last);
        ad_open_arrays(s, first, last);
    }
    for (uint32_t k = 0; k < choices->count; k++)
        ad_add(s, choices->data[k].value[side], choices->data[k].adjoint);
    ad_run(s, first, last);
    ad_leave_frame(s, outer, base, out);
}

static ir_ref take_touch(ad_touch_list *list, uint32_t id, ir_ref otherwise)
{
    for (uint32_t k = 0; k < list->count; k++)
        if (list->data[k].id == id) {
            ir_ref adjoint = list->data[k].adjoint;
            list->data[k].adjoint = (ir_ref){0};
            return ir_is_none(adjoint) ? otherwise : adjoint;
        }
    return otherwise;
}

/* What left the branches, joined by PHIs. All PHIs first: they have to follow their ENDIF. */
static void merge_branches(ad_sweep *s, ir_ref branch, ad_touch_list *then_list, ad_touch_list *else_list)
{
    ir_ref zero = ir_f32(s->f, 0);
    ad_touch_list joined = {0};
    for (uint32_t k = 0; k < then_list->count; k++) {
        ad_touch t = then_list->data[k];
        ir_ref other = take_touch(else_list, t.id, zero);
        array_push(&joined, ((ad_touch){.id = t.id, .adjoint = ir_phi(s->f, branch, t.adjoint, other)}));
    }
    for (uint32_t k = 0; k < else_list->count; k++) {
        ad_touch t = else_list->data[k];
        if (!ir_is_none(t.adjoint))
            array_push(&joined, ((ad_touch){.id = t.id, .adjoint = ir_phi(s->f, branch, zero, t.adjoint)}));
    }
    for (uint32_t k = 0; k < joined.count; k++)
        ad_add(s, joined.data[k].id, joined.data[k].adjoint);
    array_free(&joined);
}

static void reverse_regions(ad_sweep *s, ir_ref condition, const choice_list *choices, uint32_t if_id,
                            uint32_t else_id, uint32_t end_id)
{
    ad_touch_list lists[2] = {{0}, {0}};
    ir_ref branch = ir_if(s->f, condition);
    reverse_branch(s, choices, 0, if_id + 1, else_id, &lists[0]);
    ir_else(s->f);
    reverse_branch(s, choices, 1, else_id + 1, end_id, &lists[1]);
    ir_endif(s->f);
    if (!broken(s))
        merge_branches(s, branch, &lists[0], &lists[1]);
    array_free(&lists[0]);
    array_free(&lists[1]);
}

static void reverse_if(ad_sweep *s, uint32_t if_id, uint32_t end_id)
{
    choice_list choices = {0};
    bool stores = ad_stores_outside(s, if_id, end_id);
    take_choices(s, if_id, &choices);
    if (!choices.count && !stores)
        return;
    ir_ref condition = ir_copied(&s->copy, s->from->inst.data[if_id].a);
    uint32_t else_id = if_id;
    for (uint32_t id = if_id + 1; id < end_id; id++)
        if (s->from->inst.data[id].op == IR_ELSE && s->from->inst.data[id].a == if_id)
            else_id = id;
    if (stores || enters_branch(s, &choices, 0, if_id) || enters_branch(s, &choices, 1, if_id))
        reverse_regions(s, condition, &choices, if_id, else_id, end_id);
    else
        reverse_selects(s, condition, &choices);
    array_free(&choices);
}

/* ---- the sweep ---- */

typedef void (*reverse_step)(ad_sweep *s, uint32_t id);
#define STEP_DIFF(NAME) ad_reverse_##NAME
#define STEP_FLAT(NAME) NULL
#define STEP_NONE(NAME) NULL
static const reverse_step steps[IR_OP_COUNT] = {
#define IR_VALUE(NAME, name, n, rule, commutes, fold, f, i, u, b, sf, si, su, sb, adjoint)
#define IR_STRUCT(NAME, name, effect, a, b, c, adjoint) [IR_##NAME] = STEP_##adjoint(NAME),
#include "spirv_gen/ir/ops.def"
#undef IR_VALUE
#undef IR_STRUCT
};

static void reverse_inst(ad_sweep *s, uint32_t id, ir_inst inst)
{
    if (inst.op == IR_CALL) { /* has no adjoint of its own: its RESULTs do */
        ad_reverse_CALL(s, id);
        return;
    }
    if (inst.op == IR_LSTORE)
        ad_reverse_LSTORE(s, id);
    if (ir_is_none(s->adjoint[id]) || s->stop[id] || inst.op == IR_LOCAL)
        return;
    if (inst.op == IR_STATE)
        ir_fail(s->f,
                "a derivative arrives at the state %%%u of a loop in \"%s\" that is still open: detach the "
                "state where it is used, or "
                "differentiate the loop by replaying it",
                id, s->from->name);
    else if (steps[inst.op])
        steps[inst.op](s, id);
    else
        reverse_value(s, id, inst);
}

void ad_run(ad_sweep *s, uint32_t first, uint32_t last)
{
    for (uint32_t id = last; id-- > first && !broken(s);) {
        ir_inst inst = s->from->inst.data[id];
        if (inst.op == IR_ENDIF || inst.op == IR_ENDLOOP) {
            (inst.op == IR_ENDIF ? reverse_if : ad_reverse_loop)(s, inst.a, id);
            id = inst.a;
        } else {
            reverse_inst(s, id, inst);
        }
    }
}

void ad_sweep_begin(ad_sweep *s, ir_func *f, const ir_func *from, ir_ref *map, ad_values outputs,
                    ad_values wrt)
{
    *s = (ad_sweep){.f = f, .from = from, .count = from->inst.count};
    s->active = ad_active(from, wrt.data, wrt.count, AD_REVERSE);
    s->live = opt_live(from, outputs.data, outputs.count, NULL, NULL);
    s->stop = memory_need_zeroed(s->count, 1);
    s->adjoint = memory_need_zeroed(s->count, sizeof *s->adjoint);
    s->frame_of = memory_need_zeroed(s->count, sizeof *s->frame_of);
    for (uint32_t k = 0; k < wrt.count; k++)
        s->stop[wrt.data[k].id] = 1;
    s->copy = (ir_copier){
        .from = from,
        .to = f,
        .map = map,
        .live = s->live,
        .keep_suspended = true,
        .hook = refuse_effects,
        .user = s,
    };
}

void ad_sweep_end(ad_sweep *s)
{
    memory_free(s->copy.map);
    memory_free(s->active);
    memory_free(s->stop);
    memory_free(s->live);
    memory_free(s->writes);
    memory_free(s->adjoint);
    memory_free(s->frame_of);
    array_free(&s->touched);
    array_free(&s->pending);
}

static bool usable(ir_func *f, const ir_ref *values, uint32_t count, const char *what)
{
    for (uint32_t k = 0; k < count; k++)
        if (f->module->error.code == BL_OK &&
            (values[k].id == 0 || values[k].id >= f->inst.count || ir_type_of(f, values[k]) != IR_F32))
            ir_fail(f, "ad_backward: %s %u (%%%u) is not a f32 value", what, k, values[k].id);
    return f->module->error.code == BL_OK;
}

void ad_backward(ir_func *f, const ir_ref *outputs, const ir_ref *seeds, uint32_t count, const ir_ref *wrt,
                 ir_ref *wrt_adjoints, uint32_t wrt_count)
{
    for (uint32_t k = 0; k < wrt_count; k++)
        wrt_adjoints[k] = (ir_ref){0};
    if (!usable(f, outputs, count, "output") || !usable(f, seeds, count, "seed") ||
        !usable(f, wrt, wrt_count, "wrt"))
        return;
    ir_ref *map = memory_need(f->inst.count * sizeof *map);
    for (uint32_t id = 0; id < f->inst.count; id++)
        map[id].id = id;
    ad_sweep s;
    ad_sweep_begin(&s, f, f, map, (ad_values){outputs, count}, (ad_values){wrt, wrt_count});
    for (uint32_t k = 0; k < count; k++)
        ad_add(&s, outputs[k].id, seeds[k]);
    ad_open_arrays(&s, 1, s.count);
    ad_run(&s, 1, s.count);
    for (uint32_t k = 0; k < wrt_count; k++)
        wrt_adjoints[k] = ad_adjoint(&s, wrt[k]);
    ad_sweep_end(&s);
}
