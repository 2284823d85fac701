/* SPDX-License-Identifier: BSD-3-Clause
 * The forward sweep: instructions are visited from first to last, each makes its tangent from those of its
 * operands.
 *
 * Sparse: a value that does not depend on anything differentiable (activity.c), or that nothing asked for
 * depends on (`wanted`), has no tangent, and neither has one whose tangent is the constant zero.
 *
 * Two places to emit to. A derived function has nothing yet: values are emitted again one by one, each
 * followed by its tangent. At the current place of a function that is being built, values are there already
 * and only tangents are emitted; what is not visible any more (the inside of a closed branch or loop) is
 * emitted again with its tangents, which is only right if it may be repeated (repeat.c).
 *
 * A loop gets one STATE more per wanted STATE, a local array an array of tangents beside it, a CALL becomes a
 * call of derived functions (with the same selector), a DLOAD reads the tangent buffer beside its buffer,
 * and, where effects are emitted, an ACCUM adds to the one beside its own: that is what makes forward over
 * reverse. */
#include "spirv_gen/ad/sweep.h"
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

typedef struct forward {
    ir_func *f; /* receives code */
    const ir_func
        *from; /* what is differentiated; may be f itself, then the first `count` instructions of it */
    uint32_t count;
    ir_copier copy;      /* from -> f: primal values */
    uint32_t copy_first; /* where the region begins that is emitted again */
    /* primal values are emitted beside tangents: in a derived function, in a region that is emitted again */
    bool copying;
    bool effects; /* stores and atomics of the primal program are emitted as well */
    uint8_t *active, *wanted, *given, *live, *writes;
    uint32_t *end;   /* of IF and LOOP: their ENDIF or ENDLOOP, 0 where still open */
    ir_ref *tangent; /* per instruction of from (of a LOCAL: the array of tangents); none: zero */
    ARRAY(uint32_t) pending;
} forward;

static ir_ref zero(const forward *w) { return ir_f32(w->f, 0); }

static ir_ref tangent_of(const forward *w, uint32_t id)
{
    ir_ref t = w->tangent[id];
    return ir_is_none(t) ? zero(w) : t;
}

static bool is_zero(const forward *w, ir_ref r)
{
    return ir_is_none(r) || ir_const_is(w->f, r, 0.0f) || ir_const_is(w->f, r, -0.0f);
}

/* ---- what tangents are wanted ---- */

static void want(forward *w, uint32_t id)
{
    if (!w->active[id] || w->wanted[id])
        return;
    w->wanted[id] = 1;
    if (!w->given[id])
        array_push(&w->pending, id);
}

/* What is given is not computed. */
static bool is_computed(const forward *w, uint32_t id) { return w->wanted[id] && !w->given[id]; }

static void want_args(forward *w, uint32_t call)
{
    ir_operands o = ir_call_operands(w->from, w->from->inst.data[call]);
    for (uint32_t k = 0; k < o.arg_count; k++)
        want(w, o.args[k]);
}

static void want_stores(forward *w, uint32_t local)
{
    for (uint32_t id = local + 1; id < w->count; id++) {
        ir_inst inst = w->from->inst.data[id];
        if (inst.op != IR_LSTORE || inst.a != local)
            continue;
        w->wanted[id] = 1; /* also of what is not active: its tangent of zero has to be stored */
        want(w, inst.c);
    }
}

static void want_operands(forward *w, uint32_t id)
{
    ir_inst inst = w->from->inst.data[id];
    const uint32_t operand[3] = {inst.a, inst.b, inst.c};
    switch (inst.op) {
    case IR_PHI:
    case IR_STATE:
        want(w, inst.a);
        want(w, inst.b);
        break;
    case IR_RESULT:
        want_args(w, inst.a);
        break;
    case IR_LLOAD:
        want(w, inst.a);
        break;
    case IR_LOCAL:
        want_stores(w, id);
        break;
    default:
        for (unsigned k = 0; k < ir_op_table[inst.op].arity; k++)
            if (ad_carries((ir_op)inst.op, k))
                want(w, operand[k]);
    }
}

static bool accumulates_tangents(const forward *w, ir_inst inst)
{
    return inst.op == IR_ACCUM && w->active[inst.c] && w->from->module->buffers.data[inst.b].tangent >= 0;
}

static bool call_writes(forward *w, ir_inst call)
{
    if (!w->writes)
        w->writes = opt_writes(w->from->module);
    ir_operands o = ir_call_operands(w->from, call);
    for (uint32_t k = 0; k < o.target_count; k++)
        if (w->writes[o.targets[k]])
            return true;
    return false;
}

/* Effects that have derivatives: on gradients, here or in what is called. */
static void want_effects(forward *w)
{
    for (uint32_t id = 1; id < w->count; id++) {
        ir_inst inst = w->from->inst.data[id];
        if (accumulates_tangents(w, inst)) {
            w->wanted[id] = 1;
            want(w, inst.c);
        } else if (inst.op == IR_CALL && call_writes(w, inst)) {
            w->wanted[id] = 1;
            want_args(w, id);
        }
    }
}

static void find_ends(forward *w)
{
    for (uint32_t id = 1; id < w->count; id++) {
        ir_inst inst = w->from->inst.data[id];
        if (inst.op == IR_ENDIF || inst.op == IR_ENDLOOP)
            w->end[inst.a] = id;
    }
}

/* ---- values ---- */

static ir_ref value_tangent(forward *w, uint32_t id, ir_inst inst)
{
    const uint32_t operand[3] = {inst.a, inst.b, inst.c};
    unsigned arity = ir_op_table[inst.op].arity;
    ir_ref in[3] = {{0}, {0}, {0}}, sum = {0};
    for (unsigned k = 0; k < arity; k++)
        in[k] = ir_copied(&w->copy, operand[k]);
    if (inst.op == IR_SELECT) /* as the sum of its two rules, in one op */
        return ir_select(w->f, in[0], tangent_of(w, inst.b), tangent_of(w, inst.c));
    ad_site site = {w->f, in[0], in[1], in[2], ir_copied(&w->copy, id)};
    for (unsigned k = 0; k < arity; k++) {
        if (ir_is_none(w->tangent[operand[k]]) || !ad_carries((ir_op)inst.op, k))
            continue;
        ir_ref part = ad_rules[inst.op](&site, k, w->tangent[operand[k]]);
        if (!is_zero(w, part))
            sum = ir_is_none(sum) ? part : ir_add(w->f, sum, part);
    }
    return sum;
}

/* The word beside; 0 where the read has no gradient, so that forward and reverse mode are each other's
 * transpose. */
static ir_ref dload_tangent(forward *w, ir_inst inst)
{
    ir_func *f = w->f;
    uint32_t tangents = (uint32_t)f->module->buffers.data[inst.b].tangent;
    ir_ref there = ir_ne(f, ir_copied(&w->copy, inst.c), ir_u32(f, ~0u));
    return ir_select(f, there, ir_load(f, IR_F32, tangents, ir_copied(&w->copy, inst.a)), zero(w));
}

/* Where the branches were not emitted, they have nothing to say: both tangents come from outside. */
static ir_ref phi_tangent(forward *w, ir_inst inst)
{
    ir_ref a = tangent_of(w, inst.a), b = tangent_of(w, inst.b);
    bool emitted = w->copying || w->copy.map[inst.c].id != inst.c;
    return emitted ? ir_phi(w->f, w->copy.map[inst.c], a, b)
                   : ir_select(w->f, ir_copied(&w->copy, w->from->inst.data[inst.c].a), a, b);
}

static void emit_tangent(forward *w, uint32_t id, ir_inst inst)
{
    ir_ref t = {0};
    switch (inst.op) {
    case IR_RESULT:
    case IR_CALL:
        return; /* with the call */
    case IR_STATE:
        if (!w->copying) /* that of a closed loop is made with it */
            ir_fail(w->f,
                    "a tangent is wanted of the state %%%u of a loop in \"%s\" that is still open: give it "
                    "one, or detach the state "
                    "where it is used",
                    id, w->from->name);
        return;
    case IR_LOCAL:
        t = ir_local(w->f, IR_F32, inst.a);
        break;
    case IR_LLOAD:
        t = ir_lload(w->f, w->tangent[inst.a], ir_copied(&w->copy, inst.b));
        break;
    case IR_LSTORE:
        ir_lstore(w->f, w->tangent[inst.a], ir_copied(&w->copy, inst.b), tangent_of(w, inst.c));
        return;
    case IR_ACCUM:
        ir_accum(w->f, (uint32_t)w->f->module->buffers.data[inst.b].tangent, ir_copied(&w->copy, inst.a),
                 tangent_of(w, inst.c));
        return;
    case IR_DLOAD:
        t = dload_tangent(w, inst);
        break;
    case IR_PHI:
        t = phi_tangent(w, inst);
        break;
    default:
        t = value_tangent(w, id, inst);
        break;
    }
    w->tangent[id] = is_zero(w, t) ? (ir_ref){0} : t;
}

/* ---- loops ---- */

/* Initial or next values of the loop's STATEs that are kept, then tangents of those that want one. */
static uint32_t loop_values(forward *w, uint32_t loop, bool next, ir_ref *out)
{
    uint32_t count = 0;
    for (int tangents = 0; tangents < 2; tangents++)
        for (uint32_t id = loop + 1;
             id < w->count && w->from->inst.data[id].op == IR_STATE && w->from->inst.data[id].c == loop;
             id++) {
            ir_inst state = w->from->inst.data[id];
            uint32_t value = next ? state.b : state.a;
            if (!tangents && w->live[id])
                out[count++] = ir_copied(&w->copy, value);
            else if (tangents && is_computed(w, id))
                out[count++] = tangent_of(w, value);
        }
    return count;
}

static void keep_states(forward *w, uint32_t loop, const ir_ref *states)
{
    for (int tangents = 0; tangents < 2; tangents++)
        for (uint32_t id = loop + 1;
             id < w->count && w->from->inst.data[id].op == IR_STATE && w->from->inst.data[id].c == loop;
             id++) {
            if (!tangents && w->live[id])
                w->copy.map[id] = *states++;
            else if (tangents && is_computed(w, id))
                w->tangent[id] = *states++;
        }
}

static void loop_edge(forward *w, uint32_t loop, bool end)
{
    ir_ref *values = memory_need(2 * (size_t)w->count * sizeof *values);
    uint32_t count = loop_values(w, loop, end, values);
    if (end) {
        ir_endloop(w->f, w->copy.map[loop], values, count);
    } else {
        w->copy.map[loop] = ir_loop(w->f, values, count);
        keep_states(w, loop, values);
    }
    memory_free(values);
}

/* ---- the sweep ---- */

static void sweep(forward *w, uint32_t first, uint32_t last);

static bool is_wanted(const forward *w, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last; id++)
        if (is_computed(w, id))
            return true;
    return false;
}

/* A closed branch or loop, seen from outside: emitted again if there are tangents in it. Its STATEs keep
 * their old values. The tangent that is given of one belongs to its last value: in the loop it counts as a
 * constant. */
static void region_again(forward *w, uint32_t id)
{
    uint32_t end = w->end[id], states = 0;
    if (!is_wanted(w, id, end))
        return;
    while (w->from->inst.data[id + 1 + states].op == IR_STATE)
        states++;
    ir_ref *given = memory_need((states + 1) * sizeof *given), *tangent = w->tangent + id + 1;
    for (uint32_t k = 0; k < states; k++)
        given[k] = tangent[k], tangent[k] = (ir_ref){0};
    w->copying = true;
    w->copy_first = id;
    sweep(w, id, end + 1);
    w->copying = false;
    for (uint32_t k = 0; k < states; k++) {
        w->copy.map[id + 1 + k] = (ir_ref){id + 1 + k};
        if (w->given[id + 1 + k])
            tangent[k] = given[k];
    }
    memory_free(given);
}

static bool call_is_wanted(const forward *w, uint32_t call)
{
    for (uint32_t id = call + 1;
         id < w->count && w->from->inst.data[id].op == IR_RESULT && w->from->inst.data[id].a == call; id++)
        if (is_computed(w, id))
            return true;
    return w->wanted[call];
}

static void forward_call(forward *w, uint32_t id, ir_inst call);

static void copy_primal(forward *w, uint32_t id, ir_inst inst)
{
    if (!w->effects && ad_refuse_repeat(w->f, w->from, id, w->copy_first, &w->writes))
        return;
    if (inst.op != IR_LOOP && inst.op != IR_ENDLOOP) {
        ir_copy_range(&w->copy, id, id + 1);
        return;
    }
    bool before = ir_suspend(w->f, inst.flags & IR_SUSPENDED);
    loop_edge(w, inst.op == IR_LOOP ? id : inst.a, inst.op == IR_ENDLOOP);
    ir_suspend(w->f, before);
}

static void sweep(forward *w, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last && w->f->module->error.code == BL_OK; id++) {
        ir_inst inst = w->from->inst.data[id];
        if (!w->live[id] || ir_op_table[inst.op].effect == IR_EFFECT_FLOAT)
            continue;
        if (!w->copying && w->end[id]) {
            region_again(w, id);
            id = w->end[id];
        } else if (inst.op == IR_CALL && call_is_wanted(w, id)) {
            forward_call(w, id, inst);
        } else {
            if (w->copying)
                copy_primal(w, id, inst);
            if (is_computed(w, id))
                emit_tangent(w, id, inst);
        }
    }
}

/* map: the value in f of each instruction of from, or 0 where there is none yet. Taken over. */
static forward *forward_begin(ir_func *f, const ir_func *from, ir_ref *map, const ir_ref *wrt,
                              const ir_ref *tangents, uint32_t wrt_count)
{
    forward *w = memory_need_zeroed(1, sizeof *w);
    *w = (forward){.f = f, .from = from, .count = from->inst.count};
    w->active = ad_active(from, wrt, wrt_count, AD_FORWARD);
    w->wanted = memory_need_zeroed(w->count, 1);
    w->given = memory_need_zeroed(w->count, 1);
    w->end = memory_need_zeroed(w->count, sizeof *w->end);
    w->tangent = memory_need_zeroed(w->count, sizeof *w->tangent);
    find_ends(w);
    for (uint32_t k = 0; k < wrt_count; k++) {
        w->given[wrt[k].id] = 1;
        w->tangent[wrt[k].id] = tangents[k];
    }
    w->copy = (ir_copier){.from = from, .to = f, .map = map, .keep_suspended = true};
    return w;
}

/* Tangents of outputs[i], zero where nothing arrived. */
static void forward_run(forward *w, const ir_ref *outputs, ir_ref *output_tangents, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        want(w, outputs[k].id);
    if (w->effects)
        want_effects(w);
    while (w->pending.count)
        want_operands(w, w->pending.data[--w->pending.count]);
    w->copy.live = w->live;
    sweep(w, 1, w->count);
    for (uint32_t k = 0; k < count; k++)
        output_tangents[k] = tangent_of(w, outputs[k].id);
}

static void forward_end(forward *w)
{
    memory_free(w->copy.map);
    memory_free(w->active);
    memory_free(w->wanted);
    memory_free(w->given);
    memory_free(w->live);
    memory_free(w->writes);
    memory_free(w->end);
    memory_free(w->tangent);
    array_free(&w->pending);
    memory_free(w);
}

/* ---- derived functions ---- */

/* Calls the callee itself, where its results are wanted, and the user's derivative, with zeros for what has
 * no tangent. */
static void emit_custom(ir_func *callee, ir_func *derived, const ad_mask *m, bool primal)
{
    uint32_t params = callee->params.count, count = params, primals = primal ? callee->results.count : 0,
             results = primals;
    ir_ref *args = memory_need_zeroed(2 * params + 1, sizeof *args),
           *own = memory_need_zeroed(2 * callee->results.count + 1, sizeof *own);
    ir_ref *tangents = memory_need_zeroed(callee->results.count + 1, sizeof *tangents);
    for (uint32_t k = 0; k < params; k++)
        args[k] = ir_param(derived, (ir_type)callee->params.data[k]);
    for (uint32_t k = 0; k < params; k++)
        if (callee->params.data[k] == IR_F32)
            args[count++] = m->params[k] ? ir_param(derived, IR_F32) : ir_f32(derived, 0);
    if (primal)
        ir_call(derived, ir_u32(derived, 0), &callee, 1, args, params, own);
    ir_call(derived, ir_u32(derived, 0), &callee->jvp, 1, args, count, tangents);
    for (uint32_t k = 0, next = 0; k < callee->results.count; k++) {
        bool real = ir_type_of(callee, callee->results.data[k]) == IR_F32;
        if (m->results[k])
            own[results++] = tangents[next];
        next += real;
    }
    ir_return(derived, own, results);
    memory_free(args);
    memory_free(own);
    memory_free(tangents);
}

static void emit_derived(ir_func *callee, ir_func *derived, const ad_mask *m, bool primal)
{
    uint32_t primals = primal ? callee->results.count : 0, count = 0;
    ir_ref *map = ad_derived_params(callee, derived);
    ir_ref *wrt = memory_need_zeroed(callee->params.count + 1, sizeof *wrt),
           *given = memory_need_zeroed(callee->params.count + 1, sizeof *given);
    ir_ref *outputs = memory_need_zeroed(callee->results.count + 1, sizeof *outputs),
           *out = memory_need_zeroed(2 * callee->results.count + 1, sizeof *out);
    uint32_t wrt_count = ad_param_insts(callee, m->params, wrt);
    for (uint32_t k = 0; k < wrt_count; k++)
        given[k] = ir_param(derived, IR_F32);
    for (uint32_t k = 0; k < callee->results.count; k++)
        if (m->results[k])
            outputs[count++] = callee->results.data[k];
    forward *w = forward_begin(derived, callee, map, wrt, given, wrt_count);
    w->copying = true, w->effects = primal;
    if (primal)
        w->writes = opt_writes(callee->module);
    w->live = primal ? opt_live(callee, callee->results.data, callee->results.count, w->writes, NULL)
                     : opt_live(callee, outputs, count, NULL, NULL);
    forward_run(w, outputs, out + primals, count);
    for (uint32_t k = 0; k < primals; k++)
        out[k] = ir_copied(&w->copy, callee->results.data[k].id);
    forward_end(w);
    ir_return(derived, out, primals + count);
    memory_free(wrt);
    memory_free(given);
    memory_free(outputs);
    memory_free(out);
}

/* primal: with its results before the tangents, and its effects. */
static ir_func *derive(ir_func *callee, const ad_mask *m, bool primal)
{
    const char *name = ad_derived_name(callee, primal ? "dual" : "jvp", m);
    ir_func *derived = ad_derived_find(callee->module, name);
    if (derived)
        return derived;
    derived = ad_derived_create(callee->module, name);
    (callee->jvp ? emit_custom : emit_derived)(callee, derived, m, primal);
    return derived;
}

ir_func *ad_jvp(ir_func *callee)
{
    ad_mask m = ad_mask_create(callee);
    for (uint32_t k = 0; k < callee->params.count; k++)
        m.params[k] = callee->params.data[k] == IR_F32;
    for (uint32_t k = 0; k < callee->results.count; k++)
        m.results[k] = ir_type_of(callee, callee->results.data[k]) == IR_F32;
    ir_func *derived = derive(callee, &m, true);
    ad_mask_free(&m);
    return derived;
}

/* ---- calls ---- */

static void keep_results(forward *w, uint32_t id, const ir_ref *results, uint32_t primals)
{
    const ir_ref *tangents = results + primals;
    for (uint32_t k = id + 1;
         k < w->count && w->from->inst.data[k].op == IR_RESULT && w->from->inst.data[k].a == id; k++) {
        if (primals)
            w->copy.map[k] = results[w->from->inst.data[k].b];
        if (is_computed(w, k))
            w->tangent[k] = *tangents++;
    }
}

static void forward_call(forward *w, uint32_t id, ir_inst call)
{
    if (!w->effects && ad_refuse_repeat(w->f, w->from, id, w->copy_first, &w->writes))
        return;
    ir_operands o = ir_call_operands(w->from, call);
    ir_func *first = w->f->module->functions.data[o.targets[0]];
    uint32_t arg_count = o.arg_count, target_count = o.target_count,
             primals = w->copying ? first->results.count : 0;
    ad_mask m = ad_mask_create(first);
    ir_ref *args = memory_need_zeroed(2 * arg_count + 1, sizeof *args),
           *results = memory_need_zeroed(2 * first->results.count + 1, sizeof *results);
    ir_func **targets = memory_need((target_count + 1) * sizeof *targets);
    uint32_t count = arg_count;
    for (uint32_t k = 0; k < arg_count; k++) {
        args[k] = ir_copied(&w->copy, o.args[k]);
        m.params[k] = !ir_is_none(w->tangent[o.args[k]]);
        if (m.params[k])
            args[count++] = w->tangent[o.args[k]];
    }
    for (uint32_t k = id + 1;
         k < w->count && w->from->inst.data[k].op == IR_RESULT && w->from->inst.data[k].a == id; k++)
        m.results[w->from->inst.data[k].b] = is_computed(w, k);
    for (uint32_t k = 0; k < target_count; k++) /* the operands may move while functions are made */
        targets[k] =
            derive(w->f->module->functions.data[ir_call_operands(w->from, call).targets[k]], &m, w->copying);
    ir_call(w->f, ir_copied(&w->copy, call.a), targets, target_count, args, count, results);
    keep_results(w, id, results, primals);
    ad_mask_free(&m);
    memory_free(args);
    memory_free(results);
    memory_free(targets);
}

/* ---- at the current place ---- */

static bool usable(ir_func *f, const ir_ref *values, uint32_t count, const char *what)
{
    for (uint32_t k = 0; k < count; k++)
        if (f->module->error.code == BL_OK &&
            (values[k].id == 0 || values[k].id >= f->inst.count || ir_type_of(f, values[k]) != IR_F32))
            ir_fail(f, "ad_forward: %s %u (%%%u) is not a f32 value", what, k, values[k].id);
    return f->module->error.code == BL_OK;
}

void ad_forward(ir_func *f, const ir_ref *wrt, const ir_ref *wrt_tangents, uint32_t wrt_count,
                const ir_ref *outputs, ir_ref *output_tangents, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        output_tangents[k] = (ir_ref){0};
    if (!usable(f, wrt, wrt_count, "wrt") || !usable(f, wrt_tangents, wrt_count, "tangent") ||
        !usable(f, outputs, count, "output"))
        return;
    ir_ref *map = memory_need(f->inst.count * sizeof *map);
    for (uint32_t id = 0; id < f->inst.count; id++)
        map[id].id = id;
    forward *w = forward_begin(f, f, map, wrt, wrt_tangents, wrt_count);
    w->live = opt_live(f, outputs, count, NULL, NULL);
    forward_run(w, outputs, output_tangents, count);
    forward_end(w);
}
