/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed kernels as traces. Every function that begins with fit_trace_ records one kernel: a module with
 * its buffers in the order of their bindings, and its push-constant words as uniforms. The head of a file
 * documents both. src/fit/kernels.c makes code of them for a device; the interpreter runs the same traces.
 *
 * Every kernel compares its invocation with its own bound, because a dispatch may have more invocations than
 * it was asked for (gpu.h). Sums have an order that depends on sizes alone, and there are no atomics of
 * floats, so results are the same bytes on every device and in every run. */
#ifndef BL_FIT_KERNELS_TRACES_H
#define BL_FIT_KERNELS_TRACES_H

#include "spirv_gen/ir/ir.h"

/* One row per kernel: its name in capitals and in small letters, and how many buffers it has. */
#define FIT_KERNEL_TABLE(X)                                                                                  \
    X(RESOLVE, resolve, 2)                                                                                   \
    X(GRADIENT_READ, gradient_read, 3)                                                                       \
    X(LOSS_L2, loss_l2, 4)                                                                                   \
    X(LOSS_L1, loss_l1, 4)                                                                                   \
    X(LOSS_RELATIVE_L2, loss_relative_l2, 4)                                                                 \
    X(LOSS_HUBER, loss_huber, 4)                                                                             \
    X(HALVES_L2, halves_l2, 5)                                                                               \
    X(HALVES_RELATIVE_L2, halves_relative_l2, 5)                                                             \
    X(LOSS_DOT, loss_dot, 3)                                                                                 \
    X(COARSER, coarser, 3)                                                                                   \
    X(COARSER_ADJOINT, coarser_adjoint, 3)                                                                   \
    X(ADD, add, 2)                                                                                           \
    X(REDUCE_SUM, reduce_sum, 2)                                                                             \
    X(TOTAL_VARIATION, total_variation, 2)                                                                   \
    X(PRIOR_L2, prior_l2, 2)                                                                                 \
    X(PRIOR_L1, prior_l1, 2)                                                                                 \
    X(OPTIMIZER_ADAM, optimizer_adam, 6)                                                                     \
    X(OPTIMIZER_ADAM_SPARSE, optimizer_adam_sparse, 6)                                                       \
    X(OPTIMIZER_SGD, optimizer_sgd, 6)                                                                       \
    X(OPTIMIZER_RMSPROP, optimizer_rmsprop, 6)                                                               \
    X(PIXELS_OUT, pixels_out, 2)                                                                             \
    X(PIXELS_IN, pixels_in, 2)                                                                               \
    X(LARGEST, largest, 2)                                                                                   \
    X(SCALES, scales, 2)

#define FIT_KERNEL_TRACE(NAME, name, buffers) ir_module *fit_trace_##name(void);
FIT_KERNEL_TABLE(FIT_KERNEL_TRACE)
#undef FIT_KERNEL_TRACE

/* The first stage of a sum over values: a block of them belongs to FIT_BLOCK_LANES invocations, each of which
 * leaves one partial sum. FIT_FAN_IN partial sums become one in each stage after it (reduce.c). */
enum { FIT_BLOCK_VALUES = 1024, FIT_BLOCK_LANES = 64, FIT_FAN_IN = 64 };

/* ---- pixels.c: what a pixel of the caller's is ---- */

enum { PIXELS_RGB, PIXELS_RGBA, PIXELS_HALF, PIXELS_FACES };

/* ---- scale.c: what a stage of `largest` looks at: values, for the largest magnitude or, turned, for the
 * smallest; or what the stage before has left ---- */

typedef enum fit_reduced { FIT_REDUCED_MAGNITUDES, FIT_REDUCED_TURNED, FIT_REDUCED_PARTIALS } fit_reduced;

/* ---- record.c: what all of them share ---- */

typedef struct fit_binding {
    const char *name;
    bool constant; /* the kernel only reads it */
} fit_binding;

ir_func *fit_trace_begin(const char *name, const fit_binding *bindings, uint32_t count);
ir_module *fit_trace_end(ir_func *f);

static inline ir_ref fit_word(ir_func *f, uint32_t word) { return ir_uniform(f, IR_U32, word); }
static inline ir_ref fit_real(ir_func *f, uint32_t word) { return ir_uniform(f, IR_F32, word); }
/* What follows runs where the condition holds, until fit_where_end. */
static inline void fit_where(ir_func *f, ir_ref condition) { ir_if(f, condition); }
static inline void fit_where_end(ir_func *f)
{
    ir_else(f);
    ir_endif(f);
}
/* The exponent of a float is the largest: it is NaN or infinite. */
ir_ref fit_not_finite(ir_func *f, ir_ref value);

/* A sum over numbers from, from + step, .. below `end`, in this order: begins at 0, adds what `term` returns.
 */
typedef ir_ref (*fit_term)(ir_func *f, ir_ref number, const void *user);
ir_ref fit_sum(ir_func *f, ir_ref from, ir_ref end, ir_ref step, fit_term term, const void *user);

/* The values of an invocation in the first stage of a sum: values first, first + FIT_BLOCK_LANES, .. below
 * `end`, which are all of the same block. Lane k of block b has number b * FIT_BLOCK_LANES + k. */
typedef struct fit_lane {
    ir_ref number, first, end;
    ir_ref exists; /* bool: the block has values */
} fit_lane;
fit_lane fit_lane_of(ir_func *f, ir_ref number, ir_ref value_count);
ir_ref fit_lane_sum(ir_func *f, const fit_lane *lane, fit_term term, const void *user);

/* ---- fixed_point.c ---- */

/* A 64-bit integer in two's complement (low and high word) divided by a scale, rounded once. */
ir_ref fit_fixed_to_float(ir_func *f, ir_ref low, ir_ref high, ir_ref scale);

/* ---- loss_terms.c ---- */

/* What one value of an image adds to a loss, and its derivative by the value. */
typedef struct fit_loss_term {
    ir_ref value, slope;
} fit_loss_term;
/* constant: the loss's own number. */
typedef fit_loss_term (*fit_loss_function)(ir_func *f, ir_ref image, ir_ref target, ir_ref constant);
/* The weight of value number `at`: 1, or what stands `weights` (u32, not 0) words behind its target. */
ir_ref fit_weight(ir_func *f, uint32_t targets, ir_ref at, ir_ref weights);
/* number * weight, and 0 where the weight is, also where a target that does not count is not finite. */
ir_ref fit_times_weight(ir_func *f, ir_ref number, ir_ref weight);
fit_loss_term fit_term_l2(ir_func *f, ir_ref image, ir_ref target, ir_ref constant);
fit_loss_term fit_term_l1(ir_func *f, ir_ref image, ir_ref target, ir_ref constant);
fit_loss_term fit_term_relative_l2(ir_func *f, ir_ref image, ir_ref target, ir_ref constant);
fit_loss_term fit_term_huber(ir_func *f, ir_ref image, ir_ref target, ir_ref constant);

#endif
