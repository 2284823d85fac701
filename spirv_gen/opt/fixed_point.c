/* SPDX-License-Identifier: BSD-3-Clause
 * Sums in 64-bit fixed point. Element i is a two's complement integer in words 2i (low), 2i + 1 (high) of the
 * gradient buffer, in units of 1 / scale; the scale is a power of two. Integer sums are exact and independent
 * of order, so gradients are equal bit for bit from run to run.
 *   x = value * scale
 *   high = x / 2^32 rounded (0 where |x| < 2^31, since there the sum that rounds could reach the next one);
 *   rest = x - high * 2^32
 *   low = rest rounded, as one cuts off what is behind the point of |rest| + 1/2 (|x| in [2^23, 2^24), an
 *   integer: one unit off at most)
 * rest is exact in f32: it is a multiple of the last place of x, and at most 2^24 times as large. It is
 * within [-2^31, 2^31), so it converts as a signed word, whose sign is taken to the high word. Minus x is
 * minus what x is. The carry out of the low word is seen in the old value that the atomic returns. The second
 * atomic is left out when it would add zero (measured, SwiftShader and lavapipe: 1.13 to 1.3 and 1.4 times as
 * fast as always adding, for mixed signs too), which is nearly always: a low word has room for hundreds of
 * contributions of the size that the scale is made for.
 *
 * A list is what one lookup adds, the eight voxels of a trilinear one, say. CPU devices run all of that for
 * every vertex, so what can be done once for a list is: its scale is read once, it is counted once, and high
 * words move in a loop that has one atomic for all of them. On GPUs (opt_options.live_most) a few words wait
 * at a time, and high words move in branches.
 *
 * A list is counted as
 *   - an overflow where its values are not all finite, or the sum of their sizes is 2^52 or more (then none
 * of them is added); or where one of the sums has a high word that has left +-2^30 (each step moves it by at
 *     most 2^20 + 1, so it cannot jump over the 2^30 wide band before it wraps);
 *   - an underflow where the sum of their sizes is not 0 and would round to 0.
 * Where that is asked for (opt_options.non_finite_word) a list whose values are not all finite is no
 * overflow, and is counted by itself: a coarser scale would not help it. */
#include "spirv_gen/opt/fixed_point.h"

enum { TOGETHER = 4 }; /* low words that a GPU adds to before high words move */

static const float finite_most = 3e38f, two_31 = 0x1p31f, two_32 = 0x1p32f, two_52 = 0x1p52f;

/* The same of doubles, which hold every integer below 2^52: of the nearest integer, exactly. */
static void split_double(ir_func *f, ir_ref x, ir_ref *low, ir_ref *high)
{
    ir_ref half = ir_f32(f, 0.5f), whole = ir_floor(f, ir_add(f, x, half)),
           upper = ir_floor(f, ir_add(f, ir_mul(f, whole, ir_f32(f, 1 / two_32)), half));
    ir_ref lower = ir_to_i32(f, ir_sub(f, whole, ir_mul(f, upper, ir_f32(f, two_32))));
    *low = ir_to_u32(f, lower);
    *high = ir_to_u32(f, ir_add(f, ir_to_i32(f, upper), ir_shr(f, lower, ir_u32(f, 31))));
}

/* A value of this size as two words. */
static void split(ir_func *f, ir_ref x, ir_ref size, ir_ref *low, ir_ref *high)
{
    if (f->module->doubles) {
        split_double(f, x, low, high);
        return;
    }
    ir_ref half = ir_f32(f, 0.5f), zero = ir_f32(f, 0), small = ir_lt(f, size, ir_f32(f, two_31));
    ir_ref nearest = ir_floor(f, ir_add(f, ir_mul(f, x, ir_f32(f, 1 / two_32)), half)),
           upper = ir_select(f, small, zero, nearest);
    ir_ref rest = ir_sub(f, x, ir_mul(f, upper, ir_f32(f, two_32)));
    ir_ref lower = ir_to_i32(f, ir_add(f, rest, ir_select(f, ir_lt(f, rest, zero), ir_f32(f, -0.5f), half)));
    *low = ir_to_u32(f, lower);
    *high = ir_to_u32(f, ir_add(f, ir_to_i32(f, upper), ir_shr(f, lower, ir_u32(f, 31))));
}

/* A high word has left +-2^30. */
static ir_ref outside_range(ir_func *f, ir_ref high)
{
    return ir_le(f, ir_u32(f, 0x80000000u), ir_add(f, high, ir_u32(f, 0x40000000u)));
}

/* Adds to the low word at `at` of an element; returns what its high word is to move by. */
static ir_ref add_low(ir_func *f, uint32_t buffer, ir_ref at, ir_ref low, ir_ref high)
{
    ir_ref old = ir_atomic_add(f, buffer, at, low), carries = ir_lt(f, ir_add(f, old, low), old);
    return ir_add(f, high, ir_select(f, carries, ir_u32(f, 1), ir_u32(f, 0)));
}

/* at[]: low words. Whether the high word of some sum has left its range. One word after another, where there
 * is one to move. */
static ir_ref add_high(ir_func *f, uint32_t buffer, uint32_t count, const ir_ref *at, const ir_ref *step)
{
    ir_ref zero = ir_u32(f, 0), state[2] = {zero, ir_bool(f, false)};
    for (uint32_t k = 0; k < count; k++)
        state[0] = ir_or(f, state[0], ir_select(f, ir_ne(f, step[k], zero), ir_u32(f, 1u << k), zero));
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_ne(f, state[0], zero));
    ir_ref first = ir_and(f, state[0], ir_sub(f, zero, state[0])), word = at[0], by = step[0];
    for (uint32_t k = 1; k < count; k++) {
        ir_ref is = ir_eq(f, first, ir_u32(f, 1u << k));
        word = ir_select(f, is, at[k], word), by = ir_select(f, is, step[k], by);
    }
    ir_ref sum = ir_add(f, ir_atomic_add(f, buffer, ir_add(f, word, ir_u32(f, 1)), by), by);
    ir_endloop(f, loop, (ir_ref[]){ir_xor(f, state[0], first), ir_or(f, state[1], outside_range(f, sum))}, 2);
    return state[1];
}

/* The same by branches. A GPU has no registers to spare for what the loop chooses from. */
static ir_ref add_high_apart(ir_func *f, uint32_t buffer, uint32_t count, const ir_ref *at,
                             const ir_ref *step)
{
    ir_ref zero = ir_u32(f, 0), no = ir_bool(f, false), outside = no;
    for (uint32_t k = 0; k < count; k++) {
        ir_ref branch = ir_if(f, ir_ne(f, step[k], zero)), word = ir_add(f, at[k], ir_u32(f, 1));
        ir_ref left = outside_range(f, ir_add(f, ir_atomic_add(f, buffer, word, step[k]), step[k]));
        ir_else(f);
        ir_endif(f);
        outside = ir_or(f, outside, ir_phi(f, branch, left, no));
    }
    return outside;
}

static void count_privately(ir_func *f, ir_ref counters, uint32_t counter, ir_ref condition)
{
    ir_ref at = ir_u32(f, counter);
    ir_lstore(f, counters, at, ir_add(f, ir_lload(f, counters, at), ir_to_u32(f, condition)));
}

static void count_list(ir_func *f, const opt_options *o, ir_ref counters, ir_ref overflow, ir_ref underflow)
{
    if (!ir_is_none(counters)) {
        count_privately(f, counters, FIXED_OVERFLOWS, overflow);
        count_privately(f, counters, FIXED_UNDERFLOWS, underflow);
        return;
    }
    ir_ref word = ir_select(f, overflow, ir_u32(f, o->overflow_word), ir_u32(f, o->underflow_word));
    ir_if(f, ir_or(f, overflow, underflow));
    ir_atomic_add(f, o->status_buffer, word, ir_u32(f, 1));
    ir_else(f);
    ir_endif(f);
}

ir_ref fixed_finite(ir_func *f, const opt_options *o, const fixed_list *list, ir_ref wanted, ir_ref counters)
{
    ir_ref finite = wanted;
    for (uint32_t k = 0; k < list->count; k++) /* false for NaN */
        finite = ir_and(f, finite, ir_lt(f, ir_abs(f, list->value[k]), ir_f32(f, finite_most)));
    ir_ref lost = ir_and(f, wanted, ir_not(f, finite));
    if (!ir_is_none(counters)) {
        count_privately(f, counters, FIXED_NON_FINITES, lost);
        return finite;
    }
    ir_if(f, lost);
    ir_atomic_add(f, o->status_buffer, ir_u32(f, o->non_finite_word), ir_u32(f, 1));
    ir_else(f);
    ir_endif(f);
    return finite;
}

void fixed_add(ir_func *f, const opt_options *o, const fixed_list *list, ir_ref counters)
{
    ir_ref x[FIXED_MOST], sizes[FIXED_MOST], at[FIXED_MOST], step[FIXED_MOST], size = ir_f32(f, 0);
    ir_ref scale = ir_load(f, IR_F32, o->scale_buffer, ir_add(f, list->base, ir_u32(f, o->scale_base)));
    for (uint32_t k = 0; k < list->count; k++) {
        x[k] = ir_mul(f, list->value[k], scale), sizes[k] = ir_abs(f, x[k]);
        size = k ? ir_add(f, size, sizes[k]) : sizes[k];
    }
    ir_ref fits = ir_lt(f, size, ir_f32(f, two_52)); /* false for NaN */
    ir_ref branch = ir_if(f, fits), outside = ir_bool(f, false);
    for (uint32_t k = 0; k < list->count; k++) {
        ir_ref low, high;
        split(f, x[k], sizes[k], &low, &high);
        at[k] = ir_shl(f, list->index[k], ir_u32(f, 1));
        step[k] = add_low(f, list->buffer, at[k], low, high);
        if (o->live_most && ((k + 1) % TOGETHER == 0 || k + 1 == list->count)) {
            uint32_t first = k / TOGETHER * TOGETHER, count = k + 1 - first;
            outside = ir_or(f, outside, add_high_apart(f, list->buffer, count, at + first, step + first));
        }
    }
    if (!o->live_most)
        outside = add_high(f, list->buffer, list->count, at, step);
    ir_else(f);
    ir_endif(f);
    ir_ref overflow = ir_phi(f, branch, outside, ir_bool(f, true));
    ir_ref underflow = ir_and(f, ir_lt(f, ir_f32(f, 0), size), ir_lt(f, size, ir_f32(f, 0.5f)));
    count_list(f, o, counters, overflow, underflow);
}
