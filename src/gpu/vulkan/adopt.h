/* SPDX-License-Identifier: BSD-3-Clause
 * A second door of the Vulkan back end: devices that are the caller's. */
#ifndef GPU_VULKAN_ADOPT_H
#define GPU_VULKAN_ADOPT_H

#include <backlight/backlight_vulkan.h>

#include "gpu/gpu.h"

/* As bl_vulkan_requirements. */
bl_result vulkan_requirements(const bl_vulkan_instance *instance, VkPhysicalDevice physical,
                              bl_vulkan_needs *out, bl_error *err);
/* A device on the caller's, as bl_device_from_vulkan. Opens no driver. */
bl_result vulkan_adopt(gpu *g, const bl_vulkan_device_desc *desc, gpu_device **out, bl_error *err);

#endif
