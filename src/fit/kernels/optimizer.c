/* SPDX-License-Identifier: BSD-3-Clause
 * One step of an optimiser: one invocation per element reads its gradient and state, asks for the way to go,
 * and stores x = clamp(x - rate * way, lower, upper). An element whose gradient, state or way is NaN or
 * infinite keeps its value and its state, and is counted. So is an element whose value is NaN or infinite in
 * the end. optimizer_adam_sparse leaves out elements whose gradient is exactly 0: as PyTorch's SparseAdam,
 * their moments do not decay, and the bias correction of others counts all steps.
 *
 * binding 0  parameters x, f32; element i is word parameter_first + i
 * binding 1  gradient: f32 per element, or two words (fixed_point.c) with flag 1; element i is number
 *            gradient_first + i, which is also its index in bindings 2 .. 4
 *
 * binding 2  scale, f32 per element (read with flag 1 only)
 * binding 3  state 1, f32
 * binding 4  state 2, f32 (untouched by optimisers that keep one)
 * binding 5  status, u32: word 0 counts elements left unchanged, word 1 those whose value is not finite
 * push       count, parameter_first, gradient_first, flags (1: fixed point), then floats: rate, lower, upper,
 *            and six numbers of the optimiser's own */
#include "fit/kernels/traces.h"

enum { PARAMETERS, GRADIENT, SCALE, STATE, STATUS = STATE + 2, BINDINGS };
enum { COUNT, PARAMETER_FIRST, GRADIENT_FIRST, FLAGS, RATE, LOWER, UPPER, NUMBERS };
enum { UNCHANGED, LOST }; /* words of the status */

/* The way for gradient g, to be multiplied by the rate. state: before, and after. */
typedef ir_ref (*step_function)(ir_func *f, ir_ref g, ir_ref *state);

static ir_ref number(ir_func *f, uint32_t k) { return fit_real(f, NUMBERS + k); }

static ir_ref read_gradient(ir_func *f, ir_ref element)
{
    ir_ref one = ir_u32(f, 1), word = ir_shl(f, element, one), flags = fit_word(f, FLAGS);
    ir_ref fixed = ir_if(f, ir_ne(f, ir_and(f, flags, one), ir_u32(f, 0)));
    ir_ref low = ir_load(f, IR_U32, GRADIENT, word),
           high = ir_load(f, IR_U32, GRADIENT, ir_add(f, word, one));
    ir_ref converted = fit_fixed_to_float(f, low, high, ir_load(f, IR_F32, SCALE, element));
    ir_else(f);
    ir_ref plain = ir_load(f, IR_F32, GRADIENT, element);
    ir_endif(f);
    return ir_phi(f, fixed, converted, plain);
}

static void count(ir_func *f, uint32_t word, ir_ref condition)
{
    fit_where(f, condition);
    ir_atomic_add(f, STATUS, ir_u32(f, word), ir_u32(f, 1));
    fit_where_end(f);
}

static ir_ref bounded(ir_func *f, ir_ref value)
{
    ir_ref magnitude = ir_and(f, ir_bits_to_u32(f, value), ir_u32(f, 0x7fffffffu));
    ir_ref nan = ir_lt(f, ir_u32(f, 0x7f800000u), magnitude);
    return ir_select(f, nan, value, ir_min(f, ir_max(f, value, fit_real(f, LOWER)), fit_real(f, UPPER)));
}

/* Whether an element has a gradient: not all of its bits are 0. */
static ir_ref has_gradient(ir_func *f, ir_ref element)
{
    ir_ref one = ir_u32(f, 1), zero = ir_u32(f, 0), word = ir_shl(f, element, one);
    ir_ref fixed = ir_if(f, ir_ne(f, ir_and(f, fit_word(f, FLAGS), one), zero));
    ir_ref both =
        ir_or(f, ir_load(f, IR_U32, GRADIENT, word), ir_load(f, IR_U32, GRADIENT, ir_add(f, word, one)));
    ir_else(f);
    ir_ref plain = ir_bits_to_u32(f, ir_load(f, IR_F32, GRADIENT, element));
    ir_endif(f);
    return ir_ne(f, ir_phi(f, fixed, both, plain), zero);
}

/* sparse: elements without a gradient stay as they are, their state included, and nothing of them is read but
 * that. */
static ir_module *trace_optimizer(const char *name, uint32_t states, step_function step, bool sparse)
{
    static const fit_binding bindings[BINDINGS] = {{"parameters", false}, {"gradient", true},
                                                   {"scale", true},       {"state_1", false},
                                                   {"state_2", false},    {"status", false}};
    ir_func *f = fit_trace_begin(name, bindings, BINDINGS);
    ir_ref i = ir_global_id(f), state[2];
    fit_where(f, ir_lt(f, i, fit_word(f, COUNT)));
    ir_ref e = ir_add(f, fit_word(f, GRADIENT_FIRST), i), p = ir_add(f, fit_word(f, PARAMETER_FIRST), i);
    if (sparse)
        fit_where(f, has_gradient(f, e));
    ir_ref g = read_gradient(f, e), bad = fit_not_finite(f, g), x = ir_load(f, IR_F32, PARAMETERS, p);
    for (uint32_t k = 0; k < states; k++)
        state[k] = ir_load(f, IR_F32, STATE + k, e);
    ir_ref way = ir_mul(f, fit_real(f, RATE), step(f, g, state));
    for (uint32_t k = 0; k < states; k++)
        bad = ir_or(f, bad, fit_not_finite(f, state[k]));
    bad = ir_or(f, bad, fit_not_finite(f, way));
    ir_ref next = ir_select(f, bad, x, bounded(f, ir_sub(f, x, way)));
    count(f, UNCHANGED, bad);
    count(f, LOST, fit_not_finite(f, next));
    fit_where(f, ir_not(f, bad));
    for (uint32_t k = 0; k < states; k++)
        ir_store(f, STATE + k, e, state[k]);
    ir_store(f, PARAMETERS, p, next);
    fit_where_end(f);
    if (sparse)
        fit_where_end(f);
    fit_where_end(f);
    return fit_trace_end(f);
}

static ir_ref weighted(ir_func *f, uint32_t a, ir_ref x, uint32_t b, ir_ref y)
{
    return ir_add(f, ir_mul(f, number(f, a), x), ir_mul(f, number(f, b), y));
}

/* Adam (Kingma and Ba 2015, algorithm 1 in the form of the end of section 2, as in Mitsuba and Dr.Jit):
 *     m = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2        way = correction * m / (sqrt(v) + epsilon),
 *     correction = factor * sqrt(1 - b2^t) / (1 - b1^t), computed on the host in double precision.
 *
 * numbers    b1, 1 - b1, b2, 1 - b2, epsilon, correction; factor is the schedule's */
static ir_ref adam(ir_func *f, ir_ref g, ir_ref *state)
{
    state[0] = weighted(f, 0, state[0], 1, g);
    state[1] = weighted(f, 2, state[1], 3, ir_mul(f, g, g));
    return ir_div(f, ir_mul(f, number(f, 5), state[0]), ir_add(f, ir_sqrt(f, state[1]), number(f, 4)));
}

/* Stochastic gradient descent with momentum, as in Mitsuba, Dr.Jit and PyTorch (dampening 0):
 *     v = momentum v + g        way = factor * v, or with Nesterov's acceleration factor * (g + momentum v).
 * numbers    momentum, Nesterov (1 or 0), factor: the schedule's */
static ir_ref sgd(ir_func *f, ir_ref g, ir_ref *state)
{
    ir_ref v = state[0] = ir_add(f, ir_mul(f, number(f, 0), state[0]), g);
    ir_ref ahead = ir_add(f, g, ir_mul(f, number(f, 0), v)), nesterov = ir_ne(f, number(f, 1), ir_f32(f, 0));
    return ir_mul(f, number(f, 2), ir_select(f, nesterov, ahead, v));
}

/* RMSProp (Hinton's lecture 6), as in Mitsuba, Dr.Jit and PyTorch:
 *     v = alpha v + (1 - alpha) g^2        way = factor * g / (sqrt(v) + epsilon).
 * numbers    alpha, 1 - alpha, epsilon, factor: the schedule's */
static ir_ref rmsprop(ir_func *f, ir_ref g, ir_ref *state)
{
    state[0] = weighted(f, 0, state[0], 1, ir_mul(f, g, g));
    return ir_div(f, ir_mul(f, number(f, 3), g), ir_add(f, ir_sqrt(f, state[0]), number(f, 2)));
}

ir_module *fit_trace_optimizer_adam(void) { return trace_optimizer("optimizer_adam", 2, adam, false); }
ir_module *fit_trace_optimizer_adam_sparse(void)
{
    return trace_optimizer("optimizer_adam_sparse", 2, adam, true);
}
ir_module *fit_trace_optimizer_sgd(void) { return trace_optimizer("optimizer_sgd", 1, sgd, false); }
ir_module *fit_trace_optimizer_rmsprop(void)
{
    return trace_optimizer("optimizer_rmsprop", 1, rmsprop, false);
}
