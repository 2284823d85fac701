/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of src/fit share: how a fixed kernel is dispatched, and how push constants become words. */
#ifndef BL_FIT_INTERNAL_H
#define BL_FIT_INTERNAL_H

#include "fit/fit.h"
#include "fit/kernels/traces.h"

#include <string.h>

typedef enum fit_kernel {
#define FIT_KERNEL_NUMBER(NAME, name, buffers) FIT_##NAME,
    FIT_KERNEL_TABLE(FIT_KERNEL_NUMBER)
#undef FIT_KERNEL_NUMBER
        FIT_KERNEL_COUNT
} fit_kernel;

/* gpu_batch_dispatch of a kernel, made for these buffers if it does not exist yet. An error is the batch's.
 */
void fit_dispatch(gpu_batch *batch, fit_kernels *kernels, fit_kernel kernel, gpu_buffer *const *buffers,
                  const uint32_t *push, uint64_t invocations);

static inline uint32_t float_word(double value)
{
    float narrowed = (float)value;
    uint32_t word;
    memcpy(&word, &narrowed, sizeof word);
    return word;
}

#endif
