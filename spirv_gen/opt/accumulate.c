/* SPDX-License-Identifier: BSD-3-Clause
 * ACCUM(index, value) -> atomics on the gradient buffer. index = ~0: nothing happens.
 *
 * FIXED: element i is a 64-bit two's complement integer in words 2i (low), 2i + 1 (high), in units of 1 / scale[i]; the scale is a
 * power of two. Integer sums are exact and independent of order, so gradients are equal bit for bit from run to run.
 *   x = value * scale; q = |x| rounded to nearest (floor(|x| + 1/2); |x| >= 2^23 is an integer already, and adding 1/2 would round it)
 *   high = floor(q / 2^32), low = q - high * 2^32
 * Both are exact in f32: q is a multiple of its own last place; if that is below 2^32, low is a multiple of it less than 2^24 times as
 * large. This holds for q >= 0 only (-1 would need low = 2^32 - 1, which no f32 is), so the sign is put back on the integers:
 * -(high, low) = (~high + (low == 0), -low).
 * The carry out of the low word is seen in the old value that the atomic returns. The second atomic is left out when it would add zero
 * (measured, SwiftShader and lavapipe: 1.13 to 1.3 and 1.4 times as fast as always adding, for mixed signs too).
 * Counted in the status buffer: overflow, for values that are not finite or |q| >= 2^52 (they are not added) and for sums whose high
 * word leaves +-2^30 (each step moves it by at most 2^20 + 1, so it cannot jump over the 2^30 wide band before it wraps); underflow,
 * for values that are not zero but round to zero.
 *
 * Private sums: where there are few elements and the kernel says when sums are due (FLUSH), FIXED values are first added as floats in a
 * per-invocation array, and FLUSH carries what is not zero there to memory, as above. An ACCUM is then a read, an addition and a write
 * instead of some fifty ops and two atomics, which all invocations would fight for (on the Cornell box one cost 800 cycles for four lanes on
 * SwiftShader). What is not wanted adds zero to element 0, so there is no branch, which CPU devices would not take anyway. Overflows and
 * underflows are counted privately wherever there is a FLUSH, however many elements there are: for them alone a third atomic would
 * stand at every ACCUM.
 * An invocation's sums are the same bits wherever it adds the same values in the same order between two FLUSHes, so who cuts work into
 * invocations has to cut at fixed places (src/api/job_pass.c: SAMPLES_SUMMED).
 *
 * FLOAT: float atomic add. CAS: compare-exchange loop on the bits. Both in the order of arrival, so sums vary by rounding. */
#include "spirv_gen/opt/pass.h"

typedef struct accumulation {
    ir_func *f;
    const opt_options *o;
    uint32_t buffer; /* gradient buffer */
    ir_ref index, value;
    ir_ref counters; /* private ones, or none */
} accumulation;

#define TWO_23 8388608.0f
#define TWO_32 4294967296.0f
#define TWO_52 4503599627370496.0f

static ir_ref word(ir_func *f, uint32_t offset, ir_ref index) { return ir_add(f, index, ir_u32(f, offset)); }

/* |value * scale| rounded to an integer; *fits: finite and below 2^52. Zero where it does not fit. */
static ir_ref rounded(const accumulation *a, ir_ref *negative, ir_ref *fits)
{
    ir_func *f = a->f;
    ir_ref x = ir_mul(f, a->value, ir_load(f, IR_F32, a->o->scale_buffer, word(f, a->o->scale_base, a->index)));
    ir_ref size = ir_abs(f, x), zero = ir_f32(f, 0), integer = ir_floor(f, ir_add(f, size, ir_f32(f, 0.5f)));
    *negative = ir_lt(f, x, zero);
    *fits = ir_lt(f, size, ir_f32(f, TWO_52)); /* false for NaN */
    ir_ref q = ir_select(f, ir_lt(f, size, ir_f32(f, TWO_23)), integer, size);
    return ir_select(f, *fits, q, zero);
}

/* q or -q as two words. */
static void split(ir_func *f, ir_ref q, ir_ref negative, ir_ref *low, ir_ref *high)
{
    ir_ref zero = ir_u32(f, 0), upper = ir_floor(f, ir_mul(f, q, ir_f32(f, 1 / TWO_32)));
    ir_ref lower = ir_sub(f, q, ir_mul(f, upper, ir_f32(f, TWO_32)));
    ir_ref l = ir_to_u32(f, lower), h = ir_to_u32(f, upper);
    ir_ref borrow = ir_select(f, ir_eq(f, l, zero), ir_u32(f, 1), zero);
    *low = ir_select(f, negative, ir_sub(f, zero, l), l);
    *high = ir_select(f, negative, ir_add(f, ir_not(f, h), borrow), h);
}

/* A high word has left +-2^30. */
static ir_ref outside_range(ir_func *f, ir_ref high)
{
    return ir_le(f, ir_u32(f, 0x80000000u), ir_add(f, high, ir_u32(f, 0x40000000u)));
}

/* Adds (low, high) to the element in memory; returns whether the sum has left its range. */
static ir_ref add_words(const accumulation *a, ir_ref low, ir_ref high)
{
    ir_func *f = a->f;
    ir_ref zero = ir_u32(f, 0), at = ir_shl(f, a->index, ir_u32(f, 1));
    ir_ref old = ir_atomic_add(f, a->buffer, at, low);
    ir_ref carry = ir_select(f, ir_lt(f, ir_add(f, old, low), old), ir_u32(f, 1), zero);
    ir_ref step = ir_add(f, high, carry);
    ir_ref branch = ir_if(f, ir_ne(f, step, zero));
    ir_ref sum = ir_add(f, ir_atomic_add(f, a->buffer, word(f, 1, at), step), step);
    ir_ref outside = outside_range(f, sum);
    ir_else(f);
    ir_endif(f);
    return ir_phi(f, branch, outside, ir_bool(f, false));
}

static void count_if(const accumulation *a, ir_ref condition, ir_ref status_word, ir_ref times)
{
    ir_func *f = a->f;
    ir_if(f, condition);
    ir_atomic_add(f, a->o->status_buffer, status_word, times);
    ir_else(f);
    ir_endif(f);
}

/* bool: a value that fits and is not zero rounded to zero */
static ir_ref vanished(const accumulation *a, ir_ref q, ir_ref fits)
{
    ir_ref zero = ir_f32(a->f, 0);
    return ir_and(a->f, fits, ir_and(a->f, ir_eq(a->f, q, zero), ir_ne(a->f, a->value, zero)));
}

enum { OVERFLOWS, UNDERFLOWS, COUNTERS }; /* words of private counters */

static void count_privately(const accumulation *a, uint32_t counter, ir_ref condition)
{
    ir_ref at = ir_u32(a->f, counter);
    ir_lstore(a->f, a->counters, at, ir_add(a->f, ir_lload(a->f, a->counters, at), ir_to_u32(a->f, condition)));
}

static void add_fixed(const accumulation *a)
{
    ir_func *f = a->f;
    ir_ref negative, fits, low, high, q = rounded(a, &negative, &fits);
    split(f, q, negative, &low, &high);
    ir_ref overflow = ir_or(f, add_words(a, low, high), ir_not(f, fits)), underflow = vanished(a, q, fits);
    if (!ir_is_none(a->counters)) {
        count_privately(a, OVERFLOWS, overflow);
        count_privately(a, UNDERFLOWS, underflow);
        return;
    }
    ir_ref counter = ir_select(f, overflow, ir_u32(f, a->o->overflow_word), ir_u32(f, a->o->underflow_word));
    count_if(a, ir_or(f, overflow, underflow), counter, ir_u32(f, 1));
}

static void add_by_exchange(const accumulation *a)
{
    ir_func *f = a->f;
    ir_ref state[2] = {ir_load(f, IR_U32, a->buffer, a->index), ir_bool(f, true)};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, state[1]);
    ir_ref sum = ir_bits_to_u32(f, ir_add(f, ir_bits_to_f32(f, state[0]), a->value));
    ir_ref old = ir_atomic_cas(f, a->buffer, a->index, state[0], sum);
    ir_endloop(f, loop, (ir_ref[]){old, ir_ne(f, old, state[0])}, 2);
}

static void add_to_memory(const accumulation *a)
{
    switch (a->o->accumulate) {
    case OPT_ACCUMULATE_FIXED: add_fixed(a); break;
    case OPT_ACCUMULATE_FLOAT: ir_atomic_add(a->f, a->buffer, a->index, a->value); break;
    case OPT_ACCUMULATE_CAS: add_by_exchange(a); break;
    }
}

/* ---- private sums ---- */

enum { PRIVATE_MOST = 64 }; /* elements: 256 bytes an invocation */

typedef struct private_words {
    bool wanted, sums; /* fixed point, and FLUSH says when it is due; few enough elements */
    ir_ref array, counters; /* LOCALs of the entry function, once that has begun; array: of sums */
} private_words;

static bool has_flush(const ir_module *m)
{
    for (uint32_t id = 1; m->entry && id < m->entry->inst.count; id++)
        if (m->entry->inst.data[id].op == IR_FLUSH)
            return true;
    return false;
}

static void begin_private(ir_func *f, const opt_options *o, private_words *p)
{
    p->counters = ir_local(f, IR_U32, COUNTERS);
    for (uint32_t k = 0; k < COUNTERS; k++)
        ir_lstore(f, p->counters, ir_u32(f, k), ir_u32(f, 0));
    if (!p->sums)
        return;
    p->array = ir_local(f, IR_F32, o->gradient_elements);
    for (uint32_t k = 0; k < o->gradient_elements; k++)
        ir_lstore(f, p->array, ir_u32(f, k), ir_f32(f, 0));
}

static void add_privately(const accumulation *a, ir_ref array, ir_ref wanted)
{
    ir_func *f = a->f;
    ir_ref at = ir_select(f, wanted, a->index, ir_u32(f, 0)), value = ir_select(f, wanted, a->value, ir_f32(f, 0));
    ir_lstore(f, array, at, ir_add(f, ir_lload(f, array, at), value));
}

/* Every private sum to memory, and zero again, where `condition`. */
static void flush_sums(accumulation a, ir_ref condition, ir_ref array)
{
    ir_func *f = a.f;
    ir_ref none = ir_u32(f, 0), zero = ir_f32(f, 0), index = none, count = ir_select(f, condition, ir_u32(f, a.o->gradient_elements), none);
    ir_ref loop = ir_loop(f, &index, 1);
    ir_while(f, ir_lt(f, index, count));
    a.index = index, a.value = ir_lload(f, array, index);
    ir_if(f, ir_not(f, ir_eq(f, a.value, zero))); /* NaN, too */
    add_fixed(&a);
    ir_else(f);
    ir_endif(f);
    ir_lstore(f, array, index, zero);
    ir_ref next = ir_add(f, index, ir_u32(f, 1));
    ir_endloop(f, loop, &next, 1);
}

static void flush_counter(const accumulation *a, ir_ref condition, uint32_t counter, uint32_t status_word)
{
    ir_func *f = a->f;
    ir_ref at = ir_u32(f, counter), times = ir_lload(f, a->counters, at);
    count_if(a, ir_and(f, condition, ir_ne(f, times, ir_u32(f, 0))), ir_u32(f, status_word), times);
    ir_lstore(f, a->counters, at, ir_u32(f, 0));
}

static bool lower_accum(ir_copier *c, uint32_t id, ir_inst inst)
{
    (void)id;
    const opt_pass *pass = c->user;
    private_words *words = pass->user;
    bool private = words->wanted && c->from == pass->from->entry;
    if (private && ir_is_none(words->counters))
        begin_private(c->to, pass->options, words);
    accumulation a = {.f = c->to, .o = pass->options, .buffer = inst.b, .counters = private ? words->counters : (ir_ref){0}};
    if (inst.op == IR_FLUSH && private) {
        ir_ref condition = ir_copied(c, inst.a);
        if (words->sums)
            flush_sums(a, condition, words->array);
        flush_counter(&a, condition, OVERFLOWS, a.o->overflow_word);
        flush_counter(&a, condition, UNDERFLOWS, a.o->underflow_word);
    }
    if (inst.op != IR_ACCUM)
        return inst.op == IR_FLUSH;
    a.index = ir_copied(c, inst.a), a.value = ir_copied(c, inst.c);
    ir_ref wanted = ir_ne(c->to, a.index, ir_u32(c->to, ~0u));
    bool always = ir_is_const(c->to, wanted);
    if (always && !ir_get(c->to, wanted).a)
        return true;
    if (private && words->sums) {
        add_privately(&a, words->array, wanted);
        return true;
    }
    if (!always)
        ir_if(c->to, wanted);
    add_to_memory(&a);
    if (!always) {
        ir_else(c->to);
        ir_endif(c->to);
    }
    return true;
}

ir_module *opt_accumulate_lower(const ir_module *m, const opt_options *o)
{
    private_words words = {.wanted = o->accumulate == OPT_ACCUMULATE_FIXED && has_flush(m),
                           .sums = o->gradient_elements > 0 && o->gradient_elements <= PRIVATE_MOST};
    opt_pass pass = {.from = m, .options = o, .hook = lower_accum, .user = &words};
    return opt_rebuild(&pass);
}
