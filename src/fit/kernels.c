/* SPDX-License-Identifier: BSD-3-Clause
 * Creates and destroys the set of fixed kernels. */
#include "fit/fit_internal.h"

#include "glsl_kernels.h"

#include <stdlib.h>

static bl_result create_all(gpu_device *device, fit_kernels *kernels, bl_error *err)
{
#define FIT_KERNEL_CREATE(name, buffers, push)                                                               \
    TRY(gpu_kernel_create(device,                                                                            \
                          &(gpu_kernel_desc){.words = glsl_##name,                                           \
                                             .word_count = glsl_##name##_words,                              \
                                             .buffer_count = buffers,                                        \
                                             .push_words = push,                                             \
                                             .local_size = FIT_GROUP,                                        \
                                             .label = #name},                                                \
                          &kernels->name, err));
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
#define FIT_KERNEL_DESTROY(name, buffers, push) gpu_kernel_destroy(kernels->name);
    FIT_KERNEL_TABLE(FIT_KERNEL_DESTROY)
#undef FIT_KERNEL_DESTROY
    free(kernels);
}
