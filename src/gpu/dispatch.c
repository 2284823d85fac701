/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: their states, and what is checked of every command before a back end records it.
 *
 * Recording calls return nothing. Their first error sticks to the batch, the commands after it are dropped,
 * and submit returns it. */
#include "gpu/gpu_internal.h"

#include <stdlib.h>

bl_result gpu_batch_create(gpu_device *d, gpu_batch **out, bl_error *err)
{
    *out = NULL;
    gpu_batch *b = calloc(1, d->backend->batch_size);
    if (!b)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    b->device = d;
    bl_result result = d->runs ? d->backend->batch_build(b, err) : BL_OK;
    if (result != BL_OK)
        gpu_batch_destroy(b);
    else
        *out = b;
    return result;
}

void gpu_batch_destroy(gpu_batch *b)
{
    if (!b)
        return;
    b->device->backend->batch_destroy(b);
    free(b);
}

bl_result gpu_batch_begin(gpu_batch *b, bl_error *err)
{
    if (b->state == BATCH_SUBMITTED)
        return error_set(err, BL_ERROR_ARGUMENT, "a batch in flight is begun again without a wait");
    if (!b->device->runs)
        return gpu_runs_nothing(b->device, err);
    b->state = BATCH_IDLE;
    b->error = (bl_error){0};
    TRY(b->device->backend->batch_begin(b, err));
    b->state = BATCH_RECORDING;
    return BL_OK;
}

/* Whether a command may be recorded. */
static bool recording(const gpu_batch *b)
{
    BL_ASSERT(b->state == BATCH_RECORDING, "a command outside begin and submit (state %d)", (int)b->state);
    return b->error.code == BL_OK;
}

static bl_result check_buffers(const gpu_batch *b, const gpu_kernel *k, gpu_buffer *const *buffers,
                               bl_error *err)
{
    const gpu_info *info = &b->device->candidate->info;
    for (uint32_t i = 0; i < k->buffer_count; i++) {
        if (!buffers[i])
            return error_set(err, BL_ERROR_ARGUMENT, "kernel '%s': buffer %u is missing", k->label, i);
        BL_ASSERT(buffers[i]->device == b->device, "buffer '%s' belongs to another device",
                  buffers[i]->label);
        if (!gpu_kernel_addresses(k, i) && buffers[i]->size > info->max_buffer_range)
            return error_set(err, BL_ERROR_UNSUPPORTED,
                             "kernel '%s': buffer '%s' has %llu bytes; a binding of %s reaches %llu",
                             k->label, buffers[i]->label, (unsigned long long)buffers[i]->size, info->name,
                             (unsigned long long)info->max_buffer_range);
    }
    return BL_OK;
}

void gpu_batch_dispatch(gpu_batch *b, gpu_kernel *k, gpu_buffer *const *buffers, const uint32_t *push,
                        uint64_t invocations)
{
    if (!recording(b) || invocations == 0)
        return;
    gpu_device *d = b->device;
    BL_ASSERT(k->device == d, "kernel '%s' belongs to another device", k->label);
    BL_ASSERT((buffers || !k->buffer_count) && (push || !k->push_words),
              "kernel '%s' needs %u buffers and %u push-constant words", k->label, k->buffer_count,
              k->push_words);
    if (check_buffers(b, k, buffers, &b->error) == BL_OK &&
        d->backend->batch_dispatch(b, k, buffers, push, invocations, &b->error) == BL_OK)
        d->stats.dispatches++;
}

static bool in_range(gpu_batch *b, const char *what, const gpu_buffer *buffer, uint64_t offset, uint64_t size)
{
    BL_ASSERT(buffer->device == b->device, "buffer '%s' belongs to another device", buffer->label);
    if (offset <= buffer->size && size <= buffer->size - offset)
        return true;
    error_set(&b->error, BL_ERROR_ARGUMENT, "%s %llu bytes at %llu of buffer '%s', which has %llu", what,
              (unsigned long long)size, (unsigned long long)offset, buffer->label,
              (unsigned long long)buffer->size);
    return false;
}

void gpu_batch_fill(gpu_batch *b, gpu_buffer *buffer, uint64_t offset, uint64_t size, uint32_t word)
{
    if (!recording(b) || !in_range(b, "filling", buffer, offset, size) || size == 0)
        return;
    if (offset % 4 || size % 4)
        error_set(&b->error, BL_ERROR_ARGUMENT, "filling %llu bytes at %llu of buffer '%s': not whole words",
                  (unsigned long long)size, (unsigned long long)offset, buffer->label);
    else
        b->device->backend->batch_fill(b, buffer, offset, size, word);
}

void gpu_batch_copy(gpu_batch *b, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                    uint64_t size)
{
    if (!recording(b) || !in_range(b, "copying from", from, from_offset, size) ||
        !in_range(b, "copying to", to, to_offset, size) || size == 0)
        return;
    uint64_t apart = from_offset < to_offset ? to_offset - from_offset : from_offset - to_offset;
    if (from == to && apart < size)
        error_set(&b->error, BL_ERROR_ARGUMENT, "copying %llu bytes within buffer '%s': the ranges overlap",
                  (unsigned long long)size, from->label);
    else
        b->device->backend->batch_copy(b, from, from_offset, to, to_offset, size);
}

void gpu_batch_fail(gpu_batch *b, const bl_error *error)
{
    BL_ASSERT(error->code != BL_OK, "no error");
    if (recording(b))
        b->error = *error;
}

bl_result gpu_batch_submit(gpu_batch *b, bl_error *err)
{
    BL_ASSERT(b->state == BATCH_RECORDING, "submit without begin (state %d)", (int)b->state);
    b->state = BATCH_IDLE;
    if (b->error.code != BL_OK)
        return error_set(err, b->error.code, "%s", b->error.text);
    TRY(b->device->backend->batch_submit(b, err));
    b->state = BATCH_SUBMITTED;
    b->device->stats.submits++;
    return BL_OK;
}

bl_result gpu_batch_wait(gpu_batch *b, double *seconds, bl_error *err)
{
    BL_ASSERT(b->state == BATCH_SUBMITTED, "wait without submit (state %d)", (int)b->state);
    bl_result result = b->device->backend->batch_wait(b, seconds, err);
    b->state = BATCH_IDLE;
    return result;
}
