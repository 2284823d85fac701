/* SPDX-License-Identifier: BSD-3-Clause
 * Recorders, and images of the caller's: checked, then read and written where they are by the kernels of
 * src/fit. A VkImage goes by way of a buffer of texels, because kernels see buffers only. */
#include "api/recorder.h"
#include "gpu/vulkan/record.h"

#include <stdlib.h>

static bl_result told(const bl_recorder *r, bl_result result, const bl_error *err)
{
    return result == BL_OK ? BL_OK : context_fail(r->device->context, err);
}

bl_result bl_recorder_create(bl_device *device, bl_recorder **out)
{
    bl_error err = {0};
    *out = NULL;
    if (!vulkan_is_adopted(device->gpu)) {
        error_set(&err, BL_ERROR_UNSUPPORTED,
                  "%s is a device of Backlight's own; record with one of bl_device_from_vulkan",
                  gpu_device_info(device->gpu)->name);
        return context_fail(device->context, &err);
    }
    bl_recorder *r = memory_zeroed(1, sizeof *r);
    if (!r) {
        error_set(&err, BL_ERROR_MEMORY, "out of memory");
        return context_fail(device->context, &err);
    }
    r->device = device;
    if (vulkan_recorder_create(device->gpu, &r->batch, &err) != BL_OK) {
        memory_free(r);
        return context_fail(device->context, &err);
    }
    *out = r;
    return BL_OK;
}

void bl_recorder_destroy(bl_recorder *recorder)
{
    if (!recorder)
        return;
    gpu_batch_destroy(recorder->batch);
    memory_free(recorder);
}

bl_result bl_recorder_reset(bl_recorder *recorder)
{
    bl_error err = {0};
    return told(recorder, vulkan_recorder_reset(recorder->batch, &err), &err);
}

bl_result bl_recorder_begin(bl_recorder *recorder, VkCommandBuffer *out)
{
    bl_error err = {0};
    return told(recorder, vulkan_recorder_open(recorder->batch, out, &err), &err);
}

bl_result bl_submit(bl_recorder *recorder, const bl_vulkan_sync *sync)
{
    static const bl_vulkan_sync none;
    bl_error err = {0};
    return told(recorder, vulkan_recorder_submit(recorder->batch, sync ? sync : &none, &err), &err);
}

bl_result bl_recorder_poll(bl_recorder *recorder, bool *done)
{
    bl_error err = {0};
    return told(recorder, vulkan_recorder_poll(recorder->batch, done, &err), &err);
}

/* ---- checks ---- */

enum { ALIGNMENT_MOST = 256 /* of a binding's offset, by the specification */ };

static uint64_t stride_of(const bl_vulkan_pixels *p) { return p->stride ? p->stride : 12; }

static uint64_t bytes_of(const bl_vulkan_pixels *p, recorder_image image)
{
    return ((uint64_t)image.width * image.height - 1) * stride_of(p) + 12;
}

static bl_result check_buffer(const bl_device *device, const bl_vulkan_pixels *p, recorder_image image,
                              bl_error *err)
{
    const gpu_info *info = gpu_device_info(device->gpu);
    uint64_t bytes = bytes_of(p, image);
    if (!(p->buffer_usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: the buffer needs VK_BUFFER_USAGE_STORAGE_BUFFER_BIT; its usage is 0x%x",
                         image.what, p->buffer_usage);
    if (p->offset % 4 || p->stride % 4 || stride_of(p) < 12)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: offset %llu and stride %u must be multiples of 4, the stride 12 or more",
                         image.what, (unsigned long long)p->offset, p->stride);
    if (p->offset > p->buffer_size || bytes > p->buffer_size - p->offset)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: %u x %u pixels take %llu bytes from %llu on; the buffer has %llu", image.what,
                         image.width, image.height, (unsigned long long)bytes, (unsigned long long)p->offset,
                         (unsigned long long)p->buffer_size);
    if (bytes + ALIGNMENT_MOST > info->max_buffer_range)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s: %llu bytes; a binding of %s reaches %llu, less %d",
                         image.what, (unsigned long long)bytes, info->name,
                         (unsigned long long)info->max_buffer_range, (int)ALIGNMENT_MOST);
    return BL_OK;
}

static bl_result check_image(const bl_vulkan_pixels *p, recorder_image image, bl_error *err)
{
    VkImageUsageFlags usage =
        image.written ? VK_IMAGE_USAGE_TRANSFER_DST_BIT : VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VkImageLayout optimal =
        image.written ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const char *way = image.written ? "DST" : "SRC";
    if (!(p->image_usage & usage))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: the image needs VK_IMAGE_USAGE_TRANSFER_%s_BIT; its usage is 0x%x", image.what,
                         way, p->image_usage);
    if (p->format != VK_FORMAT_R32G32B32A32_SFLOAT && p->format != VK_FORMAT_R16G16B16A16_SFLOAT)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: VkFormat %d; images are R32G32B32A32_SFLOAT (%d) or R16G16B16A16_SFLOAT (%d)",
                         image.what, (int)p->format, (int)VK_FORMAT_R32G32B32A32_SFLOAT,
                         (int)VK_FORMAT_R16G16B16A16_SFLOAT);
    if (p->width != image.width || p->height != image.height)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: the image has %u x %u pixels, the film %u x %u",
                         image.what, p->width, p->height, image.width, image.height);
    if (p->layout != VK_IMAGE_LAYOUT_GENERAL && p->layout != optimal)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%s: VkImageLayout %d; it must be GENERAL or TRANSFER_%s_OPTIMAL", image.what,
                         (int)p->layout, way);
    return BL_OK;
}

bool recorder_has_pixels(const bl_vulkan_pixels *p) { return p->buffer || p->image; }

bl_result recorder_check_pixels(const bl_device *device, const bl_vulkan_pixels *p, recorder_image image,
                                bl_error *err)
{
    if (p->buffer && p->image)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: give a buffer or an image, not both", image.what);
    if (!recorder_has_pixels(p))
        return error_set(err, BL_ERROR_ARGUMENT, "%s: neither a buffer nor an image is given", image.what);
    return p->buffer ? check_buffer(device, p, image, err) : check_image(p, image, err);
}

/* ---- copies ---- */

static void copy(gpu_batch *batch, bl_device *device, gpu_buffer *own, const fit_pixels *theirs,
                 recorder_image image)
{
    uint32_t pixels = image.width * image.height;
    if (image.written)
        fit_record_pixels_out(batch, device->fixed, own, theirs, pixels);
    else
        fit_record_pixels_in(batch, device->fixed, theirs, own, image.first, pixels);
}

static void copy_buffer(gpu_batch *batch, bl_device *device, gpu_buffer *own, const bl_vulkan_pixels *p,
                        recorder_image image)
{
    bl_error err = {0};
    gpu_buffer *wrapped;
    uint64_t within;
    if (vulkan_buffer_wrap(device->gpu, p->buffer, p->offset, bytes_of(p, image), image.what, &wrapped,
                           &within, &err) != BL_OK) {
        gpu_batch_fail(batch, &err);
        return;
    }
    copy(batch, device, own,
         &(fit_pixels){wrapped, image.last ? FIT_FACES : FIT_RGB, (uint32_t)(within / 4),
                       (uint32_t)(stride_of(p) / 4), image.last},
         image);
    gpu_buffer_destroy(wrapped);
}

static void copy_image(gpu_batch *batch, bl_device *device, gpu_buffer *own, gpu_buffer *texels,
                       const bl_vulkan_pixels *p, recorder_image image)
{
    bool half = p->format == VK_FORMAT_R16G16B16A16_SFLOAT;
    const fit_pixels between = {texels, half ? FIT_RGBA_HALF : FIT_RGBA, 0, half ? 2 : 4, 0};
    const vulkan_texels theirs = {p->image, p->layout, image.width, image.height};
    if (!image.written)
        vulkan_record_from_image(batch, &theirs, texels);
    copy(batch, device, own, &between, image);
    if (image.written)
        vulkan_record_to_image(batch, texels, &theirs);
}

void recorder_copy_pixels(gpu_batch *batch, bl_device *device, gpu_buffer *own, gpu_buffer *texels,
                          const bl_vulkan_pixels *p, recorder_image image)
{
    if (p->buffer)
        copy_buffer(batch, device, own, p, image);
    else
        copy_image(batch, device, own, texels, p, image);
}
