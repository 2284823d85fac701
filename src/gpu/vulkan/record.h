/* SPDX-License-Identifier: BSD-3-Clause
 * A third door of the Vulkan back end: batches whose commands go into command buffers of the caller's, and
 * buffers of the caller's. Devices are those of vulkan_adopt. */
#ifndef GPU_VULKAN_RECORD_H
#define GPU_VULKAN_RECORD_H

#include <backlight/backlight_vulkan.h>

#include "gpu/gpu.h"

/* Whether the device is a caller's. */
bool vulkan_is_adopted(const gpu_device *d);

/* A batch that is never submitted: it appends to a command buffer. Its descriptor sets live until a reset. */
bl_result vulkan_recorder_create(gpu_device *d, gpu_batch **out, bl_error *err);
/* Between these two, gpu_batch_dispatch and the like append to `commands`, which is in the recording state.
 * commands NULL: nothing is recorded, but everything is made that recording would have to make. */
void vulkan_recorder_begin(gpu_batch *b, VkCommandBuffer commands);
/* The first error of a command, if there was one: then what came before it has been recorded. */
bl_result vulkan_recorder_end(gpu_batch *b, bl_error *err);
/* Waits for what vulkan_recorder_submit has submitted. */
bl_result vulkan_recorder_reset(gpu_batch *b, bl_error *err);

/* A command buffer of the recorder's own, begun; one at a time, until a reset. */
bl_result vulkan_recorder_open(gpu_batch *b, VkCommandBuffer *out, bl_error *err);
/* Submits it, and returns. */
bl_result vulkan_recorder_submit(gpu_batch *b, const bl_vulkan_sync *sync, bl_error *err);
/* Whether it has been executed. */
bl_result vulkan_recorder_poll(gpu_batch *b, bool *done, bl_error *err);

/* A part of a buffer of the caller's, for dispatches as they are recorded. Its first byte lies at offset
 * *within (a multiple of 4) of what kernels see, because bindings have an alignment. */
bl_result vulkan_buffer_wrap(gpu_device *d, VkBuffer handle, uint64_t offset, uint64_t size,
                             const char *label, gpu_buffer **out, uint64_t *within, bl_error *err);
/* The device address of an acceleration structure of the caller's. */
uint64_t vulkan_accel_address(gpu_device *d, VkAccelerationStructureKHR handle);
/* The handle of a buffer, for the caller. */
VkBuffer vulkan_buffer_expose(const gpu_buffer *b);

/* The memory of a buffer, of a device that exports; for the region at offset. */
bl_result vulkan_buffer_export(const gpu_buffer *b, uint64_t offset, uint64_t size, bl_vulkan_export *out,
                               bl_error *err);

/* Writes `size` bytes, a multiple of 4, when the commands are executed. The data become part of these. */
void vulkan_record_update(gpu_batch *b, gpu_buffer *to, uint64_t offset, const void *data, uint64_t size);

/* Texels in rows without gaps, from or to the one layer of mip level 0 of a colour image. */
typedef struct vulkan_texels {
    VkImage image;
    VkImageLayout layout;
    uint32_t width, height;
} vulkan_texels;
void vulkan_record_to_image(gpu_batch *b, gpu_buffer *from, const vulkan_texels *to);
void vulkan_record_from_image(gpu_batch *b, const vulkan_texels *from, gpu_buffer *to);

#endif
