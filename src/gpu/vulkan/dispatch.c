/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: a command buffer with its fence, timestamps and descriptor pools, recorded again and again.
 *
 * Descriptor sets are allocated per dispatch (consecutive dispatches with equal bindings share one) from a
 * chain of pools that grows with the longest batch and is reset, not freed, by begin. */
#include "gpu/vulkan/vulkan.h"

enum { MAX_GROUPS = 65535, FIRST_POOL_SETS = 64, LARGEST_POOL_SETS = 16384, BUFFERS_PER_SET = 8 };

static vulkan_device *device_of(const vulkan_batch *b) { return vulkan_device_of(b->head.device); }

bl_result vulkan_batch_build(gpu_batch *head, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = device_of(b);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = d->candidate->queue_family};
    GPU_TRY(d, err, CreateCommandPool, d->handle, &pool, d->allocator, &b->command_pool);
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = b->command_pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    GPU_TRY(d, err, AllocateCommandBuffers, d->handle, &commands, &b->commands);
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    GPU_TRY(d, err, CreateFence, d->handle, &fence, d->allocator, &b->fence);
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = 2};
    if (d->candidate->head.info.timestamps)
        GPU_TRY(d, err, CreateQueryPool, d->handle, &queries, d->allocator, &b->timestamps);
    return BL_OK;
}

void vulkan_batch_destroy(gpu_batch *head)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = device_of(b);
    if (head->state == BATCH_SUBMITTED ||
        b->in_flight) /* its objects are in use; a lost device returns at once */
        d->vk.vkWaitForFences(d->handle, 1, &b->fence, VK_TRUE, UINT64_MAX);
    for (uint32_t i = 0; i < b->pools.count; i++)
        d->vk.vkDestroyDescriptorPool(d->handle, b->pools.data[i], d->allocator);
    d->vk.vkDestroyQueryPool(d->handle, b->timestamps, d->allocator);
    d->vk.vkDestroyFence(d->handle, b->fence, d->allocator);
    d->vk.vkDestroyCommandPool(d->handle, b->command_pool, d->allocator);
    array_free(&b->pools);
    array_free(&b->bound);
}

bl_result vulkan_batch_reset_sets(vulkan_batch *b, bl_error *err)
{
    vulkan_device *d = device_of(b);
    b->current_pool = 0;
    for (uint32_t i = 0; i < b->pools.count; i++)
        GPU_TRY(d, err, ResetDescriptorPool, d->handle, b->pools.data[i], 0);
    return BL_OK;
}

bl_result vulkan_batch_begin(gpu_batch *head, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = device_of(b);
    BL_ASSERT(!b->records, "a batch of the caller's commands has state %d", (int)head->state);
    b->bound_kernel = NULL;
    GPU_TRY(d, err, ResetCommandPool, d->handle, b->command_pool, 0);
    TRY(vulkan_batch_reset_sets(b, err));
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    GPU_TRY(d, err, BeginCommandBuffer, b->commands, &info);
    if (b->timestamps) {
        /* At the bottom of the pipe: the clock starts when earlier batches have finished. */
        d->vk.vkCmdResetQueryPool(b->commands, b->timestamps, 0, 2);
        d->vk.vkCmdWriteTimestamp(b->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->timestamps, 0);
    }
    return BL_OK;
}

VkCommandBuffer vulkan_batch_commands(gpu_batch *b)
{
    BL_ASSERT(b->state == BATCH_RECORDING, "commands outside begin and submit (state %d)", (int)b->state);
    return ((vulkan_batch *)b)->commands;
}

void vulkan_batch_barrier(vulkan_batch *b)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                               VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    device_of(b)->vk.vkCmdPipelineBarrier(b->commands, stages, stages, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* Makes the pool after the last one, larger than it, with room for at least one set of `buffers`. */
static bl_result add_pool(vulkan_batch *b, uint32_t buffers, bl_error *err)
{
    vulkan_device *d = device_of(b);
    uint32_t sets = b->pool_sets ? b->pool_sets * 2 : FIRST_POOL_SETS;
    sets = sets > LARGEST_POOL_SETS ? LARGEST_POOL_SETS : sets;
    uint32_t descriptors = sets * BUFFERS_PER_SET > buffers ? sets * BUFFERS_PER_SET : buffers;
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = descriptors};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = sets,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    VkDescriptorPool pool;
    GPU_TRY(d, err, CreateDescriptorPool, d->handle, &info, d->allocator, &pool);
    array_push(&b->pools, pool);
    b->pool_sets = sets;
    return BL_OK;
}

static bl_result allocate_set(vulkan_batch *b, const vulkan_kernel *k, VkDescriptorSet *set, bl_error *err)
{
    vulkan_device *d = device_of(b);
    BL_ASSERT(b->current_pool <= b->pools.count, "pool %u of %u", b->current_pool, b->pools.count);
    for (;;) {
        bool fresh = b->current_pool == b->pools.count;
        if (fresh)
            TRY(add_pool(b, k->head.buffer_count, err));
        VkDescriptorSetAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = b->pools.data[b->current_pool],
            .descriptorSetCount = 1,
            .pSetLayouts = &k->set_layout,
        };
        VkResult allocated = d->vk.vkAllocateDescriptorSets(d->handle, &info, set);
        if (allocated == VK_SUCCESS)
            return BL_OK;
        bool full = allocated == VK_ERROR_OUT_OF_POOL_MEMORY || allocated == VK_ERROR_FRAGMENTED_POOL;
        if (!full || fresh) /* an empty pool that is too small would be so for ever */
            return gpu_vk_error(err, "vkAllocateDescriptorSets", allocated);
        b->current_pool++;
    }
}

static void write_set(const vulkan_batch *b, VkDescriptorSet set, const gpu_kernel *k,
                      gpu_buffer *const *buffers)
{
    enum { PART = 32 };
    VkDescriptorBufferInfo infos[PART];
    vulkan_device *d = device_of(b);
    for (uint32_t done = 0, part; done < k->buffer_count; done += part) {
        part = k->buffer_count - done < PART ? k->buffer_count - done : PART;
        for (uint32_t i = 0; i < part; i++) {
            const vulkan_buffer *buffer = (const vulkan_buffer *)buffers[done + i];
            if (gpu_kernel_addresses(k, done + i))
                buffer = (const vulkan_buffer *)buffer->address;
            infos[i] = (VkDescriptorBufferInfo){.buffer = buffer->handle,
                                                .offset = buffer->first,
                                                .range = buffer->foreign ? buffer->head.size : VK_WHOLE_SIZE};
        }
        /* Runs over into the following bindings, all of one element and one type. */
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = set,
                                      .dstBinding = done,
                                      .descriptorCount = part,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = infos};
        d->vk.vkUpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
    }
}

static bool is_bound(const vulkan_batch *b, const gpu_kernel *k, gpu_buffer *const *buffers)
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

/* Makes the addresses of buffers that the kernel reaches so. Making one may submit, so a recorder only makes
 * them in its dry run. */
static bl_result make_addresses(vulkan_batch *b, const gpu_kernel *k, gpu_buffer *const *buffers,
                                bl_error *err)
{
    for (uint32_t i = 0; i < k->buffer_count; i++) {
        if (!gpu_kernel_addresses(k, i))
            continue;
        if (b->records && b->commands && !((vulkan_buffer *)buffers[i])->address)
            return error_set(err, BL_ERROR_ARGUMENT, "buffer '%s' has not been prepared for recording",
                             buffers[i]->label);
        if (!vulkan_buffer_of_address(buffers[i], err))
            return err->code;
    }
    return BL_OK;
}

/* Pipeline and descriptor set; nothing where both are as the last dispatch left them. */
static bl_result bind(vulkan_batch *b, const gpu_kernel *k, gpu_buffer *const *buffers, bl_error *err)
{
    if (is_bound(b, k, buffers))
        return BL_OK;
    const vulkan_kernel *own = (const vulkan_kernel *)k;
    vulkan_device *d = device_of(b);
    if (k->buffer_count) {
        VkDescriptorSet set;
        TRY(allocate_set(b, own, &set, err));
        write_set(b, set, k, buffers);
        d->vk.vkCmdBindDescriptorSets(b->commands, VK_PIPELINE_BIND_POINT_COMPUTE, own->layout, 0, 1, &set, 0,
                                      NULL);
    }
    d->vk.vkCmdBindPipeline(b->commands, VK_PIPELINE_BIND_POINT_COMPUTE, own->pipeline);
    b->bound_kernel = k;
    b->bound.count = 0;
    for (uint32_t i = 0; i < k->buffer_count; i++)
        array_push(&b->bound, buffers[i]);
    return BL_OK;
}

bl_result vulkan_batch_dispatch(gpu_batch *head, gpu_kernel *k, gpu_buffer *const *buffers,
                                const uint32_t *push, uint64_t invocations, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = device_of(b);
    uint64_t groups = invocations / k->local_size + (invocations % k->local_size != 0);
    uint32_t x = groups < MAX_GROUPS ? (uint32_t)groups : MAX_GROUPS;
    uint64_t rows = x ? (groups + x - 1) / x : 0;
    /* The linear index has 32 bits, and the last row is always whole: a wrap would run low indices twice. */
    if (groups > UINT32_MAX || rows * x * k->local_size > (uint64_t)UINT32_MAX + 1)
        return error_set(err, BL_ERROR_ARGUMENT, "kernel '%s': %llu invocations in one dispatch", k->label,
                         (unsigned long long)invocations);
    TRY(make_addresses(b, k, buffers, err));
    if (!b->commands) /* a dry run (record.h) */
        return BL_OK;
    TRY(bind(b, k, buffers, err));
    if (k->push_words)
        d->vk.vkCmdPushConstants(b->commands, ((vulkan_kernel *)k)->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 4 * k->push_words, push);
    vulkan_batch_barrier(b);
    d->vk.vkCmdDispatch(b->commands, x, (uint32_t)rows, 1);
    return BL_OK;
}

void vulkan_batch_fill(gpu_batch *head, gpu_buffer *buffer, uint64_t offset, uint64_t size, uint32_t word)
{
    vulkan_batch *b = (vulkan_batch *)head;
    if (!b->commands)
        return;
    vulkan_batch_barrier(b);
    device_of(b)->vk.vkCmdFillBuffer(b->commands, vulkan_buffer_handle(buffer), offset, size, word);
}

void vulkan_batch_copy(gpu_batch *head, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to,
                       uint64_t to_offset, uint64_t size)
{
    vulkan_batch *b = (vulkan_batch *)head;
    if (!b->commands)
        return;
    vulkan_batch_barrier(b);
    VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = size};
    device_of(b)->vk.vkCmdCopyBuffer(b->commands, vulkan_buffer_handle(from), vulkan_buffer_handle(to), 1,
                                     &region);
}

/* What the host reads after the fence must be made visible to it; a fence alone does not. */
static void barrier_to_host(vulkan_batch *b)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
    device_of(b)->vk.vkCmdPipelineBarrier(
        b->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
        VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, NULL, 0, NULL);
}

bl_result vulkan_batch_submit(gpu_batch *head, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = device_of(b);
    barrier_to_host(b);
    if (b->timestamps)
        d->vk.vkCmdWriteTimestamp(b->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, b->timestamps, 1);
    GPU_TRY(d, err, EndCommandBuffer, b->commands);
    GPU_TRY(d, err, ResetFences, d->handle, 1, &b->fence);
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &b->commands};
    b->submitted_at = clock_seconds();
    vulkan_queue_lock(d);
    VkResult submitted = d->vk.vkQueueSubmit(d->queue, 1, &info, b->fence);
    vulkan_queue_unlock(d);
    return submitted == VK_SUCCESS ? BL_OK : gpu_vk_error(err, "vkQueueSubmit", submitted);
}

static bl_result read_timestamps(vulkan_batch *b, double *seconds, bl_error *err)
{
    vulkan_device *d = device_of(b);
    const vulkan_candidate *c = d->candidate;
    uint64_t ticks[2];
    GPU_TRY(d, err, GetQueryPoolResults, d->handle, b->timestamps, 0, 2, sizeof ticks, ticks, sizeof *ticks,
            VK_QUERY_RESULT_64_BIT);
    uint64_t mask = c->timestamp_bits < 64 ? ((uint64_t)1 << c->timestamp_bits) - 1 : UINT64_MAX;
    *seconds = (double)((ticks[1] - ticks[0]) & mask) * c->timestamp_seconds;
    return BL_OK;
}

bl_result vulkan_batch_wait(gpu_batch *head, double *seconds, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = device_of(b);
    VkResult waited = d->vk.vkWaitForFences(d->handle, 1, &b->fence, VK_TRUE, UINT64_MAX);
    if (waited != VK_SUCCESS) {
        vulkan_queue_drain(d); /* the caller will free what the batch uses */
        return gpu_vk_error(err, "vkWaitForFences", waited);
    }
    if (!seconds)
        return BL_OK;
    *seconds = clock_seconds() - b->submitted_at;
    return b->timestamps ? read_timestamps(b, seconds, err) : BL_OK;
}
