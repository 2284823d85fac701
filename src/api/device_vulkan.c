/* SPDX-License-Identifier: BSD-3-Clause
 * Devices of the caller's (backlight_vulkan.h). */
#include "api/device.h"
#include "gpu/vulkan/adopt.h"

bl_result bl_vulkan_requirements(bl_context *ctx, const bl_vulkan_instance *instance,
                                 VkPhysicalDevice physical, bl_vulkan_needs *out)
{
    bl_error err = {0};
    return vulkan_requirements(instance, physical, out, &err) == BL_OK ? BL_OK : context_fail(ctx, &err);
}

bl_result bl_device_from_vulkan(bl_context *ctx, const bl_vulkan_device_desc *desc, bl_device **out)
{
    bl_error err = {0};
    gpu_device *adopted;
    *out = NULL;
    if (!ctx->gpu)
        error_set(&err, BL_ERROR_NO_DEVICE, "the context was created with no_devices");
    else if (vulkan_adopt(ctx->gpu, desc, &adopted, &err) == BL_OK)
        return device_wrap(ctx, adopted, out);
    return context_fail(ctx, &err);
}
