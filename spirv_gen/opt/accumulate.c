/* SPDX-License-Identifier: BSD-3-Clause
 * ACCUM(index, value) -> atomics on the gradient buffer. index = ~0: nothing happens.
 *
 * FIXED: sums in fixed point (fixed_point.c), a list of them at a time: neighbouring ACCUMs whose index is an
 * element of one base (IR_ELEMENT), as a lookup of several values of a parameter leaves them. All elements of
 * a base have its scale; all are wanted or none.
 *
 * Private sums: where there are few elements and the kernel says when sums are due (FLUSH), FIXED values are
 * first added as floats in a per-invocation array, and FLUSH carries what is not zero there to memory, as
 * above. An ACCUM is then a read, an addition and a write instead of some fifty ops and two atomics, which
 * all invocations would fight for (on the Cornell box one cost 800 cycles for four lanes on SwiftShader).
 * What is not wanted adds zero to element 0, so there is no branch, which CPU devices would not take anyway.
 * Overflows and underflows are counted privately wherever there is a FLUSH, however many elements there are:
 * for them alone a third atomic would stand at every ACCUM. An invocation's sums are the same bits wherever
 * it adds the same values in the same order between two FLUSHes, so who cuts work into invocations has to cut
 * at fixed places (src/api/job_dispatch.h: SAMPLES_SUMMED).
 *
 * FLOAT: float atomic add. CAS: compare-exchange loop on the bits. Both in the order of arrival, so sums vary
 * by rounding. */
#include "spirv_gen/opt/fixed_point.h"

/* ---- one way or the other to memory ---- */

static void add_by_exchange(ir_func *f, uint32_t buffer, ir_ref index, ir_ref value)
{
    ir_ref state[2] = {ir_load(f, IR_U32, buffer, index), ir_bool(f, true)};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, state[1]);
    ir_ref sum = ir_bits_to_u32(f, ir_add(f, ir_bits_to_f32(f, state[0]), value));
    ir_ref old = ir_atomic_cas(f, buffer, index, state[0], sum);
    ir_endloop(f, loop, (ir_ref[]){old, ir_ne(f, old, state[0])}, 2);
}

static void add_to_memory(ir_func *f, const opt_options *o, const fixed_list *list, ir_ref counters)
{
    if (o->non_finite_word)
        ir_if(f, fixed_finite(f, o, list, ir_bool(f, true), counters));
    if (o->accumulate == OPT_ACCUMULATE_FIXED)
        fixed_add(f, o, list, counters);
    for (uint32_t k = 0; k < list->count && o->accumulate == OPT_ACCUMULATE_FLOAT; k++)
        ir_atomic_add(f, list->buffer, list->index[k], list->value[k]);
    for (uint32_t k = 0; k < list->count && o->accumulate == OPT_ACCUMULATE_CAS; k++)
        add_by_exchange(f, list->buffer, list->index[k], list->value[k]);
    if (o->non_finite_word) {
        ir_else(f);
        ir_endif(f);
    }
}

/* ---- private sums ---- */

enum { PRIVATE_MOST = 64 }; /* elements: 256 bytes an invocation */

typedef struct private_words {
    bool wanted, sums;      /* counters; sums as well */
    ir_ref array, counters; /* LOCALs of the entry function, once that has begun; array: of sums */
} private_words;

static bool has_flush(const ir_module *m)
{
    for (uint32_t id = 1; m->entry && id < m->entry->inst.count; id++)
        if (m->entry->inst.data[id].op == IR_FLUSH)
            return true;
    return false;
}

/* Fixed point, and FLUSH says when private words are due. */
static bool has_private_words(const ir_module *m, const opt_options *o)
{
    return o->accumulate == OPT_ACCUMULATE_FIXED && has_flush(m);
}

bool opt_sums_privately(const ir_module *m, const opt_options *o)
{
    return o->gradient_elements > 0 && o->gradient_elements <= PRIVATE_MOST && has_private_words(m, o);
}

static void begin_private(ir_func *f, const opt_options *o, private_words *p)
{
    p->counters = ir_local(f, IR_U32, fixed_counters(o));
    for (uint32_t k = 0; k < fixed_counters(o); k++)
        ir_lstore(f, p->counters, ir_u32(f, k), ir_u32(f, 0));
    if (!p->sums)
        return;
    p->array = ir_local(f, IR_F32, o->gradient_elements);
    for (uint32_t k = 0; k < o->gradient_elements; k++)
        ir_lstore(f, p->array, ir_u32(f, k), ir_f32(f, 0));
}

static void add_privately(ir_func *f, const fixed_list *list, ir_ref array, ir_ref wanted)
{
    for (uint32_t k = 0; k < list->count; k++) {
        ir_ref at = ir_select(f, wanted, list->index[k], ir_u32(f, 0)),
               value = ir_select(f, wanted, list->value[k], ir_f32(f, 0));
        ir_lstore(f, array, at, ir_add(f, ir_lload(f, array, at), value));
    }
}

/* Every private sum to memory, and zero again, where `condition`. */
static void flush_sums(ir_func *f, const opt_options *o, uint32_t buffer, ir_ref condition,
                       const private_words *words)
{
    ir_ref none = ir_u32(f, 0), zero = ir_f32(f, 0), index = none,
           count = ir_select(f, condition, ir_u32(f, o->gradient_elements), none);
    ir_ref loop = ir_loop(f, &index, 1);
    ir_while(f, ir_lt(f, index, count));
    fixed_list one = {
        .buffer = buffer,
        .base = index,
        .count = 1,
        .index = {index},
        .value = {ir_lload(f, words->array, index)},
    };
    ir_if(f, ir_not(f, ir_eq(f, one.value[0], zero))); /* NaN, too */
    fixed_add(f, o, &one, words->counters);
    ir_else(f);
    ir_endif(f);
    ir_lstore(f, words->array, index, zero);
    ir_ref next = ir_add(f, index, ir_u32(f, 1));
    ir_endloop(f, loop, &next, 1);
}

static void flush_counter(ir_func *f, const opt_options *o, ir_ref condition, ir_ref counters,
                          uint32_t counter, uint32_t status_word)
{
    ir_ref at = ir_u32(f, counter), times = ir_lload(f, counters, at);
    ir_if(f, ir_and(f, condition, ir_ne(f, times, ir_u32(f, 0))));
    ir_atomic_add(f, o->status_buffer, ir_u32(f, status_word), times);
    ir_else(f);
    ir_endif(f);
    ir_lstore(f, counters, at, ir_u32(f, 0));
}

static void flush(ir_func *f, const opt_options *o, uint32_t buffer, ir_ref condition,
                  const private_words *words)
{
    if (words->sums)
        flush_sums(f, o, buffer, condition, words);
    flush_counter(f, o, condition, words->counters, FIXED_OVERFLOWS, o->overflow_word);
    flush_counter(f, o, condition, words->counters, FIXED_UNDERFLOWS, o->underflow_word);
    if (o->non_finite_word)
        flush_counter(f, o, condition, words->counters, FIXED_NON_FINITES, o->non_finite_word);
}

/* ---- lists ---- */

typedef struct accumulation {
    private_words words;
    fixed_list list; /* what waits for the next ACCUM */
} accumulation;

static bool is_element(const ir_func *f, uint32_t index) { return f->inst.data[index].op == IR_ELEMENT; }

/* What an index is an element of; element 0 is the base itself. */
static uint32_t base_of(const ir_func *f, uint32_t index)
{
    return is_element(f, index) ? f->inst.data[index].a : index;
}

/* Is the next effect behind an ACCUM another one, to an element of the same base? */
static bool another_follows(const ir_func *f, uint32_t id)
{
    ir_inst own = f->inst.data[id], next = {0};
    for (uint32_t k = id + 1; k < f->inst.count; k++) {
        next = f->inst.data[k];
        ir_effect effect = (ir_effect)ir_op_table[next.op].effect;
        bool waits =
            effect == IR_EFFECT_READ && next.op != IR_LLOAD && !f->module->buffers.data[next.b].constant;
        if (effect == IR_EFFECT_WRITE || effect == IR_EFFECT_CONTROL || waits)
            break;
    }
    if (next.op != IR_ACCUM || next.b != own.b)
        return false;
    return (is_element(f, own.a) || is_element(f, next.a)) && base_of(f, next.a) == base_of(f, own.a);
}

static void put(ir_copier *c, ir_inst accum, fixed_list *list)
{
    ir_inst index = c->from->inst.data[accum.a];
    list->buffer = accum.b;
    list->base = ir_copied(c, base_of(c->from, accum.a));
    list->index[list->count] =
        is_element(c->from, accum.a) ? ir_add(c->to, list->base, ir_copied(c, index.b)) : list->base;
    list->value[list->count++] = ir_copied(c, accum.c);
}

static void add_list(ir_func *f, const opt_options *o, const fixed_list *list, const private_words *private)
{
    ir_ref wanted = ir_ne(f, list->base, ir_u32(f, ~0u));
    bool always = ir_is_const(f, wanted);
    if (always && !ir_get(f, wanted).a)
        return;
    if (private && private->sums) {
        if (o->non_finite_word)
            wanted = fixed_finite(f, o, list, wanted, private->counters);
        add_privately(f, list, private->array, wanted);
        return;
    }
    if (!always)
        ir_if(f, wanted);
    add_to_memory(f, o, list, private ? private->counters : (ir_ref){0});
    if (!always) {
        ir_else(f);
        ir_endif(f);
    }
}

/* ---- the pass ---- */

static bool lower_accum(ir_copier *c, uint32_t id, ir_inst inst)
{
    const opt_pass *pass = c->user;
    accumulation *a = pass->user;
    bool private = a->words.wanted && c->from == pass->from->entry;
    if (private && ir_is_none(a->words.counters))
        begin_private(c->to, pass->options, &a->words);
    if (inst.op == IR_FLUSH && private)
        flush(c->to, pass->options, inst.b, ir_copied(c, inst.a), &a->words);
    if (inst.op != IR_ACCUM)
        return inst.op == IR_FLUSH;
    put(c, inst, &a->list);
    if (a->list.count == FIXED_MOST || !another_follows(c->from, id)) {
        add_list(c->to, pass->options, &a->list, private ? &a->words : NULL);
        a->list.count = 0;
    }
    return true;
}

ir_module *opt_accumulate_lower(const ir_module *m, const opt_options *o)
{
    accumulation a = {
        .words = {.wanted = has_private_words(m, o), .sums = opt_sums_privately(m, o)},
    };
    opt_pass pass = {.from = m, .options = o, .hook = lower_accum, .user = &a};
    return opt_rebuild(&pass);
}
