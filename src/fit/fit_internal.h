/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of src/fit share: the set of kernels, and how push constants become words. */
#ifndef BL_FIT_INTERNAL_H
#define BL_FIT_INTERNAL_H

#include "fit/fit.h"

#include <string.h>

/* One row per kernel: name in glsl/, storage buffers, push-constant words. A row and a wrapper is all a new kernel needs. */
#define FIT_KERNEL_TABLE(X)                                                                                  \
    X(resolve, 2, 5)                                                                                         \
    X(gradient_read, 3, 3)                                                                                   \
    X(loss_l2, 4, 2)                                                                                         \
    X(loss_dot, 3, 1)                                                                                        \
    X(reduce_sum, 2, 2)                                                                                      \
    X(adam, 9, 10)

struct fit_kernels {
#define FIT_KERNEL_FIELD(name, buffers, push) gpu_kernel *name;
    FIT_KERNEL_TABLE(FIT_KERNEL_FIELD)
#undef FIT_KERNEL_FIELD
};

enum { FIT_GROUP = 64 }; /* group_size of glsl/common.glsl */

static inline uint32_t float_word(double value)
{
    float narrowed = (float)value;
    uint32_t word;
    memcpy(&word, &narrowed, sizeof word);
    return word;
}

#endif
