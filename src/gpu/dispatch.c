/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: a command buffer with its fence, timestamps and descriptor pools, recorded again and again.
 *
 * Recording calls return nothing. Their first error sticks to the batch, the commands after it are dropped,
 * and submit returns it. Descriptor sets are allocated per dispatch (consecutive dispatches with equal
 * bindings share one) from a chain of pools that grows with the longest batch and is reset, not freed, by
 * begin. */
#include "gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 65535, FIRST_POOL_SETS = 64, LARGEST_POOL_SETS = 16384, BUFFERS_PER_SET = 8 };

typedef enum batch_state { BATCH_IDLE, BATCH_RECORDING, BATCH_SUBMITTED } batch_state;

struct gpu_batch {
    gpu_device *device;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkQueryPool timestamps; /* two; null where the queue has none */
    ARRAY(VkDescriptorPool) pools;
    uint32_t current_pool;
    uint32_t pool_sets; /* of the pool made last */
    batch_state state;
    bl_error error; /* the first of this recording; code BL_OK: none */
    double submitted_at;
    const gpu_kernel *bound_kernel; /* of the last dispatch, with its buffers; NULL: none yet */
    ARRAY(const gpu_buffer *) bound;
};

static bl_result build(gpu_batch *b, bl_error *err)
{
    gpu_device *d = b->device;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = d->candidate->queue_family};
    GPU_TRY(d, err, CreateCommandPool, d->handle, &pool, NULL, &b->command_pool);
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = b->command_pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    GPU_TRY(d, err, AllocateCommandBuffers, d->handle, &commands, &b->commands);
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    GPU_TRY(d, err, CreateFence, d->handle, &fence, NULL, &b->fence);
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2};
    if (d->candidate->info.timestamps)
        GPU_TRY(d, err, CreateQueryPool, d->handle, &queries, NULL, &b->timestamps);
    return BL_OK;
}

bl_result gpu_batch_create(gpu_device *d, gpu_batch **out, bl_error *err)
{
    *out = NULL;
    gpu_batch *b = calloc(1, sizeof *b);
    if (!b)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    b->device = d;
    bl_result result = build(b, err);
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
    gpu_device *d = b->device;
    if (b->state == BATCH_SUBMITTED) /* its objects are in use; a lost device returns at once */
        d->vk.WaitForFences(d->handle, 1, &b->fence, VK_TRUE, UINT64_MAX);
    for (uint32_t i = 0; i < b->pools.count; i++)
        d->vk.DestroyDescriptorPool(d->handle, b->pools.data[i], NULL);
    d->vk.DestroyQueryPool(d->handle, b->timestamps, NULL);
    d->vk.DestroyFence(d->handle, b->fence, NULL);
    d->vk.DestroyCommandPool(d->handle, b->command_pool, NULL);
    array_free(&b->pools);
    array_free(&b->bound);
    free(b);
}

bl_result gpu_batch_begin(gpu_batch *b, bl_error *err)
{
    gpu_device *d = b->device;
    if (b->state == BATCH_SUBMITTED)
        return error_set(err, BL_ERROR_ARGUMENT, "a batch in flight is begun again without a wait");
    b->state = BATCH_IDLE;
    b->error = (bl_error){0};
    b->bound_kernel = NULL;
    b->current_pool = 0;
    GPU_TRY(d, err, ResetCommandPool, d->handle, b->command_pool, 0);
    for (uint32_t i = 0; i < b->pools.count; i++)
        GPU_TRY(d, err, ResetDescriptorPool, d->handle, b->pools.data[i], 0);
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    GPU_TRY(d, err, BeginCommandBuffer, b->commands, &info);
    if (b->timestamps) {
        /* At the bottom of the pipe: the clock starts when earlier batches have finished. */
        d->vk.CmdResetQueryPool(b->commands, b->timestamps, 0, 2);
        d->vk.CmdWriteTimestamp(b->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->timestamps, 0);
    }
    b->state = BATCH_RECORDING;
    return BL_OK;
}

VkCommandBuffer gpu_batch_commands(gpu_batch *b)
{
    BL_ASSERT(b->state == BATCH_RECORDING, "commands outside begin and submit (state %d)", (int)b->state);
    return b->commands;
}

/* Whether a command may be recorded. */
static bool recording(const gpu_batch *b)
{
    BL_ASSERT(b->state == BATCH_RECORDING, "a command outside begin and submit (state %d)", (int)b->state);
    return b->error.code == BL_OK;
}

static void barrier(gpu_batch *b)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                               VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    b->device->vk.CmdPipelineBarrier(b->commands, stages, stages, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* Makes the pool after the last one, larger than it, with room for at least one set of `buffers`. */
static bl_result add_pool(gpu_batch *b, uint32_t buffers, bl_error *err)
{
    gpu_device *d = b->device;
    uint32_t sets = b->pool_sets ? b->pool_sets * 2 : FIRST_POOL_SETS;
    sets = sets > LARGEST_POOL_SETS ? LARGEST_POOL_SETS : sets;
    uint32_t descriptors = sets * BUFFERS_PER_SET > buffers ? sets * BUFFERS_PER_SET : buffers;
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = descriptors};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = sets,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkDescriptorPool pool;
    GPU_TRY(d, err, CreateDescriptorPool, d->handle, &info, NULL, &pool);
    array_push(&b->pools, pool);
    b->pool_sets = sets;
    return BL_OK;
}

static bl_result allocate_set(gpu_batch *b, const gpu_kernel *k, VkDescriptorSet *set, bl_error *err)
{
    gpu_device *d = b->device;
    BL_ASSERT(b->current_pool <= b->pools.count, "pool %u of %u", b->current_pool, b->pools.count);
    for (;;) {
        bool fresh = b->current_pool == b->pools.count;
        if (fresh)
            TRY(add_pool(b, k->buffer_count, err));
        VkDescriptorSetAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = b->pools.data[b->current_pool],
            .descriptorSetCount = 1,
            .pSetLayouts = &k->set_layout,
        };
        VkResult allocated = d->vk.AllocateDescriptorSets(d->handle, &info, set);
        if (allocated == VK_SUCCESS)
            return BL_OK;
        bool full = allocated == VK_ERROR_OUT_OF_POOL_MEMORY || allocated == VK_ERROR_FRAGMENTED_POOL;
        if (!full || fresh) /* an empty pool that is too small would be so for ever */
            return gpu_vk_error(err, "vkAllocateDescriptorSets", allocated);
        b->current_pool++;
    }
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
        if (gpu_kernel_addresses(k, i)) {
            if (!gpu_buffer_of_address(buffers[i], err))
                return err->code;
        } else if (buffers[i]->size > info->max_buffer_range)
            return error_set(err, BL_ERROR_UNSUPPORTED,
                             "kernel '%s': buffer '%s' has %llu bytes; a binding of %s reaches %u", k->label,
                             buffers[i]->label, (unsigned long long)buffers[i]->size, info->name,
                             info->max_buffer_range);
    }
    return BL_OK;
}

static void write_set(gpu_batch *b, VkDescriptorSet set, const gpu_kernel *k, gpu_buffer *const *buffers)
{
    enum { PART = 32 };
    VkDescriptorBufferInfo infos[PART];
    for (uint32_t done = 0, part; done < k->buffer_count; done += part) {
        part = k->buffer_count - done < PART ? k->buffer_count - done : PART;
        for (uint32_t i = 0; i < part; i++) {
            const gpu_buffer *buffer =
                gpu_kernel_addresses(k, done + i) ? buffers[done + i]->address : buffers[done + i];
            infos[i] = (VkDescriptorBufferInfo){.buffer = buffer->handle, .range = VK_WHOLE_SIZE};
        }
        /* Runs over into the following bindings, all of one element and one type. */
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .dstBinding = done,
                                      .descriptorCount = part,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = infos};
        b->device->vk.UpdateDescriptorSets(b->device->handle, 1, &write, 0, NULL);
    }
}

static bool is_bound(const gpu_batch *b, const gpu_kernel *k, gpu_buffer *const *buffers)
{
    if (b->bound_kernel != k)
        return false;
    BL_ASSERT(b->bound.count == k->buffer_count, "%u buffers are bound to '%s', which has %u", b->bound.count,
              k->label, k->buffer_count);
    for (uint32_t i = 0; i < k->buffer_count; i++)
        if (b->bound.data[i] != buffers[i])
            return false;
    return true;
}

/* Pipeline and descriptor set; nothing where both are as the last dispatch left them. */
static bl_result bind(gpu_batch *b, const gpu_kernel *k, gpu_buffer *const *buffers, bl_error *err)
{
    if (is_bound(b, k, buffers))
        return BL_OK;
    gpu_device *d = b->device;
    TRY(check_buffers(b, k, buffers, err));
    if (k->buffer_count) {
        VkDescriptorSet set;
        TRY(allocate_set(b, k, &set, err));
        write_set(b, set, k, buffers);
        d->vk.CmdBindDescriptorSets(b->commands, VK_PIPELINE_BIND_POINT_COMPUTE, k->layout, 0, 1, &set, 0,
                                    NULL);
    }
    d->vk.CmdBindPipeline(b->commands, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
    b->bound_kernel = k;
    b->bound.count = 0;
    for (uint32_t i = 0; i < k->buffer_count; i++)
        array_push(&b->bound, buffers[i]);
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
    uint64_t groups = invocations / k->local_size + (invocations % k->local_size != 0);
    uint32_t x = groups < MAX_GROUPS ? (uint32_t)groups : MAX_GROUPS;
    uint64_t rows = (groups + x - 1) / x;
    /* The linear index has 32 bits, and the last row is always whole: a wrap would run low indices twice. */
    if (groups > UINT32_MAX || rows * x * k->local_size > (uint64_t)UINT32_MAX + 1) {
        error_set(&b->error, BL_ERROR_ARGUMENT, "kernel '%s': %llu invocations in one dispatch", k->label,
                  (unsigned long long)invocations);
        return;
    }
    if (bind(b, k, buffers, &b->error) != BL_OK)
        return;
    if (k->push_words)
        d->vk.CmdPushConstants(b->commands, k->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * k->push_words,
                               push);
    barrier(b);
    d->vk.CmdDispatch(b->commands, x, (uint32_t)rows, 1);
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
    if (offset % 4 || size % 4) {
        error_set(&b->error, BL_ERROR_ARGUMENT, "filling %llu bytes at %llu of buffer '%s': not whole words",
                  (unsigned long long)size, (unsigned long long)offset, buffer->label);
        return;
    }
    barrier(b);
    b->device->vk.CmdFillBuffer(b->commands, buffer->handle, offset, size, word);
}

void gpu_batch_copy(gpu_batch *b, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                    uint64_t size)
{
    if (!recording(b) || !in_range(b, "copying from", from, from_offset, size) ||
        !in_range(b, "copying to", to, to_offset, size) || size == 0)
        return;
    uint64_t apart = from_offset < to_offset ? to_offset - from_offset : from_offset - to_offset;
    if (from == to && apart < size) {
        error_set(&b->error, BL_ERROR_ARGUMENT, "copying %llu bytes within buffer '%s': the ranges overlap",
                  (unsigned long long)size, from->label);
        return;
    }
    barrier(b);
    VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = size};
    b->device->vk.CmdCopyBuffer(b->commands, from->handle, to->handle, 1, &region);
}

/* What the host reads after the fence must be made visible to it; a fence alone does not. */
static void barrier_to_host(gpu_batch *b)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
    b->device->vk.CmdPipelineBarrier(b->commands,
                                     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                                     VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, NULL, 0, NULL);
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
    gpu_device *d = b->device;
    b->state = BATCH_IDLE;
    barrier_to_host(b);
    if (b->timestamps)
        d->vk.CmdWriteTimestamp(b->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->timestamps, 1);
    GPU_TRY(d, err, EndCommandBuffer, b->commands);
    if (b->error.code != BL_OK)
        return error_set(err, b->error.code, "%s", b->error.text);
    GPU_TRY(d, err, ResetFences, d->handle, 1, &b->fence);
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &b->commands};
    b->submitted_at = clock_seconds();
    GPU_TRY(d, err, QueueSubmit, d->queue, 1, &info, b->fence);
    b->state = BATCH_SUBMITTED;
    d->stats.submits++;
    return BL_OK;
}

static bl_result read_timestamps(gpu_batch *b, double *seconds, bl_error *err)
{
    const gpu_candidate *c = b->device->candidate;
    uint64_t ticks[2];
    GPU_TRY(b->device, err, GetQueryPoolResults, b->device->handle, b->timestamps, 0, 2, sizeof ticks, ticks,
            sizeof *ticks, VK_QUERY_RESULT_64_BIT);
    uint64_t mask = c->timestamp_bits < 64 ? ((uint64_t)1 << c->timestamp_bits) - 1 : UINT64_MAX;
    *seconds = (double)((ticks[1] - ticks[0]) & mask) * c->timestamp_seconds;
    return BL_OK;
}

bl_result gpu_batch_wait(gpu_batch *b, double *seconds, bl_error *err)
{
    BL_ASSERT(b->state == BATCH_SUBMITTED, "wait without submit (state %d)", (int)b->state);
    gpu_device *d = b->device;
    VkResult waited = d->vk.WaitForFences(d->handle, 1, &b->fence, VK_TRUE, UINT64_MAX);
    b->state = BATCH_IDLE;
    if (waited != VK_SUCCESS) {
        d->vk.DeviceWaitIdle(
            d->handle); /* the caller will free what the batch uses; on a lost device this returns at once */
        return gpu_vk_error(err, "vkWaitForFences", waited);
    }
    if (!seconds)
        return BL_OK;
    *seconds = clock_seconds() - b->submitted_at;
    return b->timestamps ? read_timestamps(b, seconds, err) : BL_OK;
}
