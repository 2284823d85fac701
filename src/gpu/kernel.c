/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels: what is checked of their descriptions on every device, and their life. */
#include "gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PUSH_WORDS = 32 };

static bl_result check_desc(const gpu_device *d, const gpu_kernel_desc *desc, const char *label,
                            bl_error *err)
{
    const gpu_info *info = &d->candidate->info;
    if (desc->push_words > MAX_PUSH_WORDS)
        return error_set(err, BL_ERROR_ARGUMENT, "kernel '%s': %u push-constant words, at most %d", label,
                         desc->push_words, MAX_PUSH_WORDS);
    if (desc->buffer_count > info->max_storage_buffers)
        return error_set(err, BL_ERROR_COMPILE, "kernel '%s': %u storage buffers; %s binds at most %u", label,
                         desc->buffer_count, info->name, info->max_storage_buffers);
    if (desc->local_size == 0 || desc->local_size > d->candidate->max_workgroup_size)
        return error_set(err, BL_ERROR_COMPILE, "kernel '%s': workgroups of %u; %s has 1 to %u", label,
                         desc->local_size, info->name, d->candidate->max_workgroup_size);
    return BL_OK;
}

bl_result gpu_kernel_create(gpu_device *d, const gpu_kernel_desc *desc, gpu_kernel **out, bl_error *err)
{
    *out = NULL;
    const char *label = desc->label ? desc->label : "kernel";
    BL_ASSERT(desc->driver_data || !desc->driver_data_size, "%zu bytes of driver data from nowhere",
              desc->driver_data_size);
    BL_ASSERT(!desc->addressed || d->candidate->info.buffer_address, "buffers of '%s' are addressed on %s",
              label, d->candidate->info.name);
    TRY(check_desc(d, desc, label, err));
    gpu_kernel *k = calloc(1, d->backend->kernel_size);
    if (k)
        k->label = strdup(label);
    if (!k || !k->label) {
        free(k);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    k->device = d;
    k->buffer_count = desc->buffer_count;
    k->push_words = desc->push_words;
    k->local_size = desc->local_size;
    k->addressed = desc->addressed;
    double started = clock_seconds();
    bl_result result = d->backend->kernel_build(k, desc, err);
    if (result != BL_OK) {
        gpu_kernel_destroy(k);
        return result;
    }
    d->stats.pipelines_created++;
    d->stats.driver_compile_seconds += clock_seconds() - started;
    *out = k;
    return BL_OK;
}

void gpu_kernel_destroy(gpu_kernel *k)
{
    if (!k)
        return;
    k->device->backend->kernel_destroy(k);
    free(k->driver_data);
    array_free(&k->statistics);
    free(k->label);
    free(k);
}

const void *gpu_kernel_driver_data(const gpu_kernel *k, size_t *size)
{
    *size = k->driver_data_size;
    return k->driver_data;
}

uint32_t gpu_kernel_statistics(const gpu_kernel *k, const gpu_statistic **out)
{
    *out = k->statistics.data;
    return k->statistics.count;
}
