/* SPDX-License-Identifier: BSD-3-Clause
 * Batches that record into the caller's command buffers. Nothing is submitted, waited for or mapped here.
 * Descriptor sets come from the pools of the batch, which grow while it records and are reset when the caller
 * says that what was recorded is done. */
#include "gpu/vulkan/vulkan.h"

#include "gpu/vulkan/record.h"

#include <stdlib.h>
#include <string.h>

bool vulkan_is_adopted(const gpu_device *d)
{
    return d->backend == &vulkan_backend && ((const vulkan_device *)d)->adopted;
}

/* ---- batches ---- */

bl_result vulkan_recorder_create(gpu_device *d, gpu_batch **out, bl_error *err)
{
    BL_ASSERT(vulkan_is_adopted(d), "%s is not the caller's", d->candidate->info.name);
    vulkan_batch *b = calloc(1, sizeof *b);
    *out = NULL;
    if (!b)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    b->head.device = d;
    b->records = true;
    *out = &b->head;
    return BL_OK;
}

void vulkan_recorder_begin(gpu_batch *head, VkCommandBuffer commands)
{
    vulkan_batch *b = (vulkan_batch *)head;
    BL_ASSERT(b->records && head->state == BATCH_IDLE, "state %d of a recorder", (int)head->state);
    b->commands = commands;
    b->bound_kernel = NULL;
    head->error = (bl_error){0};
    head->state = BATCH_RECORDING;
}

bl_result vulkan_recorder_end(gpu_batch *head, bl_error *err)
{
    BL_ASSERT(head->state == BATCH_RECORDING, "state %d of a recorder", (int)head->state);
    head->state = BATCH_IDLE;
    ((vulkan_batch *)head)->commands = NULL;
    return head->error.code == BL_OK ? BL_OK : error_set(err, head->error.code, "%s", head->error.text);
}

bl_result vulkan_recorder_reset(gpu_batch *head, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    BL_ASSERT(head->state == BATCH_IDLE, "state %d of a recorder", (int)head->state);
    if (b->in_flight)
        GPU_TRY(d, err, WaitForFences, d->handle, 1, &b->fence, VK_TRUE, UINT64_MAX);
    b->in_flight = b->open = false;
    return vulkan_batch_reset_sets(b, err);
}

/* ---- submissions of our own ---- */

static bl_result make_own(vulkan_batch *b, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(b->head.device);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = d->candidate->queue_family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (!b->fence)
        GPU_TRY(d, err, CreateFence, d->handle, &fence, d->allocator, &b->fence);
    if (!b->command_pool)
        GPU_TRY(d, err, CreateCommandPool, d->handle, &pool, d->allocator, &b->command_pool);
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = b->command_pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    if (!b->own)
        GPU_TRY(d, err, AllocateCommandBuffers, d->handle, &info, &b->own);
    return BL_OK;
}

bl_result vulkan_recorder_open(gpu_batch *head, VkCommandBuffer *out, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    *out = NULL;
    if (b->open || b->in_flight)
        return error_set(err, BL_ERROR_ARGUMENT, "the recorder's command buffer is in use: %s",
                         b->open ? "submit it, or reset the recorder" : "reset the recorder first");
    TRY(make_own(b, err));
    GPU_TRY(d, err, ResetCommandPool, d->handle, b->command_pool, 0);
    GPU_TRY(d, err, BeginCommandBuffer, b->own, &info);
    b->open = true;
    *out = b->own;
    return BL_OK;
}

enum { SEMAPHORES_MOST = 16 };

typedef struct semaphores {
    VkSemaphore handles[SEMAPHORES_MOST];
    uint64_t values[SEMAPHORES_MOST];
    VkPipelineStageFlags stages[SEMAPHORES_MOST];
} semaphores;

static bl_result take_semaphores(const bl_vulkan_semaphore *given, uint32_t count, semaphores *out,
                                 bl_error *err)
{
    if (count > SEMAPHORES_MOST || (count && !given))
        return error_set(err, BL_ERROR_ARGUMENT, "%u semaphores; there are at most %d", count,
                         (int)SEMAPHORES_MOST);
    for (uint32_t i = 0; i < count; i++) {
        if (!given[i].semaphore)
            return error_set(err, BL_ERROR_ARGUMENT, "semaphore %u is null", i);
        out->handles[i] = given[i].semaphore, out->values[i] = given[i].value;
        out->stages[i] = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    }
    return BL_OK;
}

bl_result vulkan_recorder_submit(gpu_batch *head, const bl_vulkan_sync *sync, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    semaphores waits, signals;
    TRY(take_semaphores(sync->waits, sync->wait_count, &waits, err));
    TRY(take_semaphores(sync->signals, sync->signal_count, &signals, err));
    if (!b->open)
        return error_set(err, BL_ERROR_ARGUMENT, "the recorder has no command buffer that is open");
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = sync->wait_count,
                                                  .pWaitSemaphoreValues = waits.values,
                                                  .signalSemaphoreValueCount = sync->signal_count,
                                                  .pSignalSemaphoreValues = signals.values};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = sync->wait_count,
                               .pWaitSemaphores = waits.handles,
                               .pWaitDstStageMask = waits.stages,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &b->own,
                               .signalSemaphoreCount = sync->signal_count,
                               .pSignalSemaphores = signals.handles};
    b->open = false;
    GPU_TRY(d, err, EndCommandBuffer, b->own);
    GPU_TRY(d, err, ResetFences, d->handle, 1, &b->fence);
    vulkan_queue_lock(d);
    VkResult submitted = d->vk.vkQueueSubmit(d->queue, 1, &info, b->fence);
    vulkan_queue_unlock(d);
    if (submitted != VK_SUCCESS)
        return gpu_vk_error(err, "vkQueueSubmit", submitted);
    b->in_flight = true;
    head->device->stats.submits++;
    return BL_OK;
}

bl_result vulkan_recorder_poll(gpu_batch *head, bool *done, bl_error *err)
{
    vulkan_batch *b = (vulkan_batch *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    VkResult status = b->in_flight ? d->vk.vkGetFenceStatus(d->handle, b->fence) : VK_SUCCESS;
    *done = status == VK_SUCCESS;
    return status == VK_SUCCESS || status == VK_NOT_READY ? BL_OK
                                                          : gpu_vk_error(err, "vkGetFenceStatus", status);
}

/* ---- buffers ---- */

bl_result vulkan_buffer_wrap(gpu_device *d, VkBuffer handle, uint64_t offset, uint64_t size,
                             const char *label, gpu_buffer **out, uint64_t *within, bl_error *err)
{
    const vulkan_candidate *c = vulkan_device_of(d)->candidate;
    vulkan_buffer *b = calloc(1, sizeof *b);
    *out = NULL;
    if (b)
        b->head.label = strdup(label);
    if (!b || !b->head.label) {
        free(b);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    BL_ASSERT(offset % 4 == 0 && size > 0, "%llu bytes at %llu", (unsigned long long)size,
              (unsigned long long)offset);
    *within = offset % c->buffer_alignment;
    b->handle = handle, b->foreign = true, b->first = offset - *within;
    b->head.device = d;
    b->head.asked = b->head.size = size + *within;
    *out = &b->head;
    return BL_OK;
}

uint64_t vulkan_accel_address(gpu_device *head, VkAccelerationStructureKHR handle)
{
    const vulkan_device *d = vulkan_device_of(head);
    const VkAccelerationStructureDeviceAddressInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR,
        .accelerationStructure = handle};
    return d->vk.vkGetAccelerationStructureDeviceAddressKHR(d->handle, &info);
}

VkBuffer vulkan_buffer_expose(const gpu_buffer *b) { return vulkan_buffer_handle(b); }

void vulkan_record_update(gpu_batch *head, gpu_buffer *to, uint64_t offset, const void *data, uint64_t size)
{
    vulkan_batch *b = (vulkan_batch *)head;
    const uint64_t most = 65536; /* of one command, by the specification */
    BL_ASSERT(size % 4 == 0 && offset + size <= to->size, "%llu bytes at %llu of '%s'",
              (unsigned long long)size, (unsigned long long)offset, to->label);
    if (head->error.code != BL_OK || !b->commands)
        return;
    vulkan_batch_barrier(b);
    for (uint64_t at = 0; at < size; at += most)
        vulkan_device_of(head->device)
            ->vk.vkCmdUpdateBuffer(b->commands, vulkan_buffer_handle(to), offset + at,
                                   size - at < most ? size - at : most, (const char *)data + at);
}

/* ---- images ---- */

static VkBufferImageCopy whole(const vulkan_texels *t)
{
    return (VkBufferImageCopy){.imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
                               .imageExtent = {t->width, t->height, 1}};
}

void vulkan_record_to_image(gpu_batch *head, gpu_buffer *from, const vulkan_texels *to)
{
    vulkan_batch *b = (vulkan_batch *)head;
    VkBufferImageCopy region = whole(to);
    if (head->error.code != BL_OK || !b->commands)
        return;
    vulkan_batch_barrier(b);
    vulkan_device_of(head->device)
        ->vk.vkCmdCopyBufferToImage(b->commands, vulkan_buffer_handle(from), to->image, to->layout, 1,
                                    &region);
}

void vulkan_record_from_image(gpu_batch *head, const vulkan_texels *from, gpu_buffer *to)
{
    vulkan_batch *b = (vulkan_batch *)head;
    VkBufferImageCopy region = whole(from);
    if (head->error.code != BL_OK || !b->commands)
        return;
    vulkan_batch_barrier(b);
    vulkan_device_of(head->device)
        ->vk.vkCmdCopyImageToBuffer(b->commands, from->image, from->layout, vulkan_buffer_handle(to), 1,
                                    &region);
}
