/* SPDX-License-Identifier: BSD-3-Clause
 * Recorders, and images of the caller's. */
#ifndef BL_API_RECORDER_H
#define BL_API_RECORDER_H

#include <backlight/backlight_vulkan.h>

#include "api/device.h"

struct bl_recorder {
    bl_device *device;
    gpu_batch *batch;
};

/* The size that an image of the caller's must have, and which way it goes. */
typedef struct recorder_image {
    uint32_t width, height;
    bool written; /* else it is read, */
    const char *what;
    uint32_t first; /* to words of our buffer from this one on */
    uint32_t last;  /* not 0: it is no image but faces, and this is the last vertex */
} recorder_image;

/* Fails, with what was expected and what came, if the caller's pixels cannot be that. */
bl_result recorder_check_pixels(const bl_device *device, const bl_vulkan_pixels *p, recorder_image image,
                                bl_error *err);
/* Whether there are any pixels. */
bool recorder_has_pixels(const bl_vulkan_pixels *p);
/* Appends a copy between `own`, 3 floats a pixel, and the caller's checked pixels. texels: of 16 bytes a
 * pixel, for images. */
void recorder_copy_pixels(gpu_batch *batch, bl_device *device, gpu_buffer *own, gpu_buffer *texels,
                          const bl_vulkan_pixels *p, recorder_image image);

#endif
