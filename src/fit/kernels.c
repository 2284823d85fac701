/* SPDX-License-Identifier: BSD-3-Clause
 * Creates and destroys the set of fixed kernels, and runs one.
 *
 * A buffer larger than a binding reaches (128 MiB on lavapipe) needs the form of a kernel that finds its
 * buffers by address. Both forms do the same arithmetic on the same words in the same order, so they give the
 * same bytes. The bound form is preferred, because a CPU driver runs it faster. */
#include "fit/fit_internal.h"

#include "glsl_kernels.h"

#include <stdlib.h>

/* d: of the bound form. */
static bl_result create(gpu_device *device, gpu_kernel_desc d, const uint32_t *addressed, size_t word_count,
                        fit_kernel *kernel, bl_error *err)
{
    const gpu_info *info = gpu_device_info(device);
    BL_ASSERT(d.buffer_count < 32, "%s: %u buffers", d.label, d.buffer_count);
    kernel->buffer_count = d.buffer_count;
    TRY(gpu_kernel_create(device, &d, &kernel->bound, err));
    if (!info->buffer_address || info->max_allocation <= info->max_buffer_range)
        return BL_OK;
    d.words = addressed, d.word_count = word_count, d.addressed = (1u << d.buffer_count) - 1;
    return gpu_kernel_create(device, &d, &kernel->addressed, err);
}

static bl_result create_all(gpu_device *device, fit_kernels *kernels, bl_error *err)
{
#define FIT_KERNEL_CREATE(name, buffers, push)                                                               \
    TRY(create(device,                                                                                       \
               (gpu_kernel_desc){.words = glsl_##name,                                                       \
                                 .word_count = glsl_##name##_words,                                          \
                                 .buffer_count = buffers,                                                    \
                                 .push_words = push,                                                         \
                                 .local_size = FIT_GROUP,                                                    \
                                 .label = #name},                                                            \
               glsl_##name##_addressed, glsl_##name##_addressed_words, &kernels->name, err));
    FIT_KERNEL_TABLE(FIT_KERNEL_CREATE)
#undef FIT_KERNEL_CREATE
    return BL_OK;
}

bl_result fit_kernels_create(gpu_device *device, fit_kernels **out, bl_error *err)
{
    *out = NULL;
    fit_kernels *kernels = calloc(1, sizeof *kernels);
    if (!kernels)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for the kernels of a fit");
    kernels->max_buffer_range = gpu_device_info(device)->max_buffer_range;
    bl_result result = create_all(device, kernels, err);
    if (result == BL_OK)
        *out = kernels;
    else
        fit_kernels_destroy(kernels);
    return result;
}

void fit_kernels_destroy(fit_kernels *kernels)
{
    if (!kernels)
        return;
#define FIT_KERNEL_DESTROY(name, buffers, push)                                                              \
    gpu_kernel_destroy(kernels->name.bound);                                                                 \
    gpu_kernel_destroy(kernels->name.addressed);
    FIT_KERNEL_TABLE(FIT_KERNEL_DESTROY)
#undef FIT_KERNEL_DESTROY
    free(kernels);
}

void fit_dispatch(gpu_batch *batch, const fit_kernels *kernels, const fit_kernel *kernel,
                  gpu_buffer *const *buffers, const uint32_t *push, uint64_t invocations)
{
    bool large = false;
    for (uint32_t i = 0; i < kernel->buffer_count; i++)
        large |= gpu_buffer_size(buffers[i]) > kernels->max_buffer_range;
    gpu_kernel *form = large && kernel->addressed ? kernel->addressed : kernel->bound;
    gpu_batch_dispatch(batch, form, buffers, push, invocations);
}
