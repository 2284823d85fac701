/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of src/fit share: the set of kernels, and how push constants become words. */
#ifndef BL_FIT_INTERNAL_H
#define BL_FIT_INTERNAL_H

#include "fit/fit.h"

#include <string.h>

/* One row per kernel: name in glsl/, storage buffers, push-constant words. A row and a wrapper is all a new
 * kernel needs. */
#define FIT_KERNEL_TABLE(X)                                                                                  \
    X(resolve, 2, 5)                                                                                         \
    X(gradient_read, 3, 3)                                                                                   \
    X(loss_l2, 4, 3)                                                                                         \
    X(loss_l1, 4, 3)                                                                                         \
    X(loss_relative_l2, 4, 3)                                                                                \
    X(loss_huber, 4, 3)                                                                                      \
    X(halves_l2, 5, 7)                                                                                       \
    X(halves_relative_l2, 5, 7)                                                                              \
    X(loss_dot, 3, 1)                                                                                        \
    X(reduce_sum, 2, 2)                                                                                      \
    X(total_variation, 2, 8)                                                                                 \
    X(optimizer_adam, 6, 13)                                                                                 \
    X(optimizer_sgd, 6, 13)                                                                                  \
    X(optimizer_rmsprop, 6, 13)

/* The same kernel twice: over buffers that are bound, and over buffers reached by their addresses. The second
 * is NULL where no buffer can be larger than a binding reaches, or the device has no addresses. */
typedef struct fit_kernel {
    gpu_kernel *bound, *addressed;
    uint32_t buffer_count;
} fit_kernel;

struct fit_kernels {
    uint32_t max_buffer_range; /* of the device */
#define FIT_KERNEL_FIELD(name, buffers, push) fit_kernel name;
    FIT_KERNEL_TABLE(FIT_KERNEL_FIELD)
#undef FIT_KERNEL_FIELD
};

/* The kernel whose field is at this offset: how tables of losses and optimisers name theirs. */
static inline const fit_kernel *fit_kernel_at(const fit_kernels *kernels, size_t offset)
{
    return (const fit_kernel *)(const void *)((const char *)kernels + offset);
}

/* gpu_batch_dispatch of the form that these buffers need. */
void fit_dispatch(gpu_batch *batch, const fit_kernels *kernels, const fit_kernel *kernel,
                  gpu_buffer *const *buffers, const uint32_t *push, uint64_t invocations);

enum { FIT_GROUP = 64 }; /* group_size of glsl/common.glsl */

static inline uint32_t float_word(double value)
{
    float narrowed = (float)value;
    uint32_t word;
    memcpy(&word, &narrowed, sizeof word);
    return word;
}

#endif
