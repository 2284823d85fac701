/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers: sizes, ranges, statistics. Where memory comes from is the back end's. A device that runs nothing
 * has no memory: its buffers are not built. */
#include "gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

bl_result gpu_buffer_create(gpu_device *d, gpu_memory where, uint64_t size, const char *label,
                            gpu_buffer **out, bl_error *err)
{
    return gpu_buffer_create_for(d, &(gpu_buffer_desc){.where = where, .size = size, .label = label}, out,
                                 err);
}

bl_result gpu_buffer_create_for(gpu_device *d, const gpu_buffer_desc *desc, gpu_buffer **out, bl_error *err)
{
    *out = NULL;
    const char *label = desc->label ? desc->label : "buffer";
    uint64_t size = desc->size, limit = d->candidate->info.max_allocation;
    if (d->runs && (size > limit || size > UINT64_MAX - 15))
        return error_set(err, BL_ERROR_DEVICE_MEMORY,
                         "buffer '%s' needs %llu bytes; %s allocates at most %llu", label,
                         (unsigned long long)size, d->candidate->info.name, (unsigned long long)limit);
    gpu_buffer *b = calloc(1, d->backend->buffer_size);
    if (b)
        b->label = strdup(label);
    if (!b || !b->label) {
        free(b);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    b->device = d;
    b->asked = size;
    b->size = size ? (size + 15) & ~(uint64_t)15 : 16;
    bl_result result = d->runs ? d->backend->buffer_build(b, desc, err) : BL_OK;
    if (result != BL_OK)
        gpu_buffer_destroy(b);
    else
        *out = b;
    return result;
}

void gpu_buffer_allocated(gpu_buffer *b, uint64_t bytes)
{
    gpu_stats *stats = &b->device->stats;
    b->allocated = bytes;
    stats->bytes_allocated += bytes;
    if (stats->bytes_allocated > stats->bytes_peak)
        stats->bytes_peak = stats->bytes_allocated;
}

void gpu_buffer_destroy(gpu_buffer *b)
{
    if (!b)
        return;
    gpu_device *d = b->device;
    BL_ASSERT(b->allocated <= d->stats.bytes_allocated, "buffer '%s' frees %llu bytes of %llu", b->label,
              (unsigned long long)b->allocated, (unsigned long long)d->stats.bytes_allocated);
    d->backend->buffer_destroy(b);
    d->stats.bytes_allocated -= b->allocated;
    free(b->label);
    free(b);
}

uint64_t gpu_buffer_size(const gpu_buffer *b) { return b->size; }
uint64_t gpu_buffer_asked_size(const gpu_buffer *b) { return b->asked; }

void *gpu_buffer_mapped(gpu_buffer *b) { return b->mapped; }

uint64_t gpu_buffer_address(const gpu_buffer *b)
{
    bool has = b->device->candidate->info.buffer_address && b->device->runs;
    return has ? b->device->backend->buffer_address(b) : 0;
}

static bl_result check_range(const gpu_buffer *b, const char *what, uint64_t offset, uint64_t size,
                             bl_error *err)
{
    if (offset <= b->size && size <= b->size - offset)
        return BL_OK;
    return error_set(err, BL_ERROR_ARGUMENT, "%s %llu bytes at %llu of buffer '%s', which has %llu", what,
                     (unsigned long long)size, (unsigned long long)offset, b->label,
                     (unsigned long long)b->size);
}

bl_result gpu_buffer_write(gpu_buffer *b, uint64_t offset, const void *data, uint64_t size, bl_error *err)
{
    BL_ASSERT(data || !size, "%llu bytes for buffer '%s' from nowhere", (unsigned long long)size, b->label);
    TRY(check_range(b, "writing", offset, size, err));
    if (size == 0 || !b->device->runs)
        return BL_OK;
    if (!b->mapped)
        return b->device->backend->buffer_write(b, offset, data, size, err);
    memcpy((char *)b->mapped + offset, data, size);
    return BL_OK;
}

bl_result gpu_buffer_read(gpu_buffer *b, uint64_t offset, void *data, uint64_t size, bl_error *err)
{
    BL_ASSERT(data || !size, "%llu bytes of buffer '%s' to nowhere", (unsigned long long)size, b->label);
    TRY(check_range(b, "reading", offset, size, err));
    if (size == 0)
        return BL_OK;
    if (!b->device->runs)
        return gpu_runs_nothing(b->device, err);
    if (!b->mapped)
        return b->device->backend->buffer_read(b, offset, data, size, err);
    memcpy(data, (const char *)b->mapped + offset, size);
    return BL_OK;
}
