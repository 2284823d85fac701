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
    BL_ASSERT(head->state == BATCH_IDLE, "state %d of a recorder", (int)head->state);
    return vulkan_batch_reset_sets((vulkan_batch *)head, err);
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

VkBuffer vulkan_buffer_expose(const gpu_buffer *b) { return vulkan_buffer_handle(b); }

void vulkan_record_update(gpu_batch *head, gpu_buffer *to, uint64_t offset, const void *data, uint64_t size)
{
    vulkan_batch *b = (vulkan_batch *)head;
    BL_ASSERT(size % 4 == 0 && size <= 65536 && offset + size <= to->size, "%llu bytes at %llu of '%s'",
              (unsigned long long)size, (unsigned long long)offset, to->label);
    if (head->error.code != BL_OK || !b->commands)
        return;
    vulkan_batch_barrier(b);
    vulkan_device_of(head->device)
        ->vk.CmdUpdateBuffer(b->commands, vulkan_buffer_handle(to), offset, size, data);
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
        ->vk.CmdCopyBufferToImage(b->commands, vulkan_buffer_handle(from), to->image, to->layout, 1, &region);
}

void vulkan_record_from_image(gpu_batch *head, const vulkan_texels *from, gpu_buffer *to)
{
    vulkan_batch *b = (vulkan_batch *)head;
    VkBufferImageCopy region = whole(from);
    if (head->error.code != BL_OK || !b->commands)
        return;
    vulkan_batch_barrier(b);
    vulkan_device_of(head->device)
        ->vk.CmdCopyImageToBuffer(b->commands, from->image, from->layout, vulkan_buffer_handle(to), 1,
                                  &region);
}
