/* SPDX-License-Identifier: BSD-3-Clause
 * Function tables of instances and devices, and the text of Vulkan's errors. */
#include "gpu/vulkan/vulkan.h"

#define LOAD_REQUIRED(name)                                                                                  \
    table->name = (PFN_vk##name)get(handle, "vk" #name);                                                     \
    if (!table->name)                                                                                        \
        return error_set(err, BL_ERROR_DEVICE, "the driver has no vk" #name);
#define LOAD_OPTIONAL(name) table->name = (PFN_vk##name)get(handle, "vk" #name);

bl_result gpu_load_instance_table(PFN_vkGetInstanceProcAddr get, VkInstance handle, gpu_instance_table *table,
                                  bl_error *err)
{
    GPU_INSTANCE_FUNCTIONS(LOAD_REQUIRED)
    GPU_INSTANCE_OPTIONAL(LOAD_OPTIONAL)
    return BL_OK;
}

typedef struct gpu_device_loader {
    PFN_vkGetDeviceProcAddr get;
    VkDevice device;
} gpu_device_loader;

static PFN_vkVoidFunction of_device(void *user, const char *name)
{
    const gpu_device_loader *l = user;
    return l->get(l->device, name);
}

#define CHECK_REQUIRED(name)                                                                                 \
    if (!table->vk##name)                                                                                    \
        return error_set(err, BL_ERROR_DEVICE, "the driver has no vk" #name);

bl_result gpu_load_device_table(PFN_vkGetDeviceProcAddr get, VkDevice handle, gpu_device_table *table,
                                bl_error *err)
{
    gpu_device_loader loader = {get, handle};
    gpu_volk_load(table, &loader, of_device);
    GPU_DEVICE_FUNCTIONS(CHECK_REQUIRED)
    return BL_OK;
}

/* The codes that the calls of this folder can return. */
#define VK_RESULTS(X)                                                                                        \
    X(VK_SUCCESS)                                                                                            \
    X(VK_NOT_READY)                                                                                          \
    X(VK_TIMEOUT)                                                                                            \
    X(VK_INCOMPLETE)                                                                                         \
    X(VK_ERROR_OUT_OF_HOST_MEMORY)                                                                           \
    X(VK_ERROR_OUT_OF_DEVICE_MEMORY)                                                                         \
    X(VK_ERROR_INITIALIZATION_FAILED)                                                                        \
    X(VK_ERROR_DEVICE_LOST)                                                                                  \
    X(VK_ERROR_MEMORY_MAP_FAILED)                                                                            \
    X(VK_ERROR_LAYER_NOT_PRESENT)                                                                            \
    X(VK_ERROR_EXTENSION_NOT_PRESENT)                                                                        \
    X(VK_ERROR_FEATURE_NOT_PRESENT)                                                                          \
    X(VK_ERROR_INCOMPATIBLE_DRIVER)                                                                          \
    X(VK_ERROR_TOO_MANY_OBJECTS)                                                                             \
    X(VK_ERROR_FRAGMENTED_POOL)                                                                              \
    X(VK_ERROR_UNKNOWN)                                                                                      \
    X(VK_ERROR_OUT_OF_POOL_MEMORY)                                                                           \
    X(VK_ERROR_INVALID_EXTERNAL_HANDLE)                                                                      \
    X(VK_ERROR_FRAGMENTATION)                                                                                \
    X(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)                                                               \
    X(VK_ERROR_VALIDATION_FAILED_EXT)                                                                        \
    X(VK_ERROR_INVALID_SHADER_NV)                                                                            \
    X(VK_ERROR_NOT_PERMITTED_KHR)

const char *gpu_vk_result_name(VkResult result)
{
#define VK_RESULT_NAME(name)                                                                                 \
    if (result == name)                                                                                      \
        return #name;
    VK_RESULTS(VK_RESULT_NAME)
#undef VK_RESULT_NAME
    return "unknown VkResult";
}

bl_result gpu_result_of(VkResult result)
{
    switch (result) {
    case VK_SUCCESS:
        return BL_OK;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return BL_ERROR_MEMORY;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return BL_ERROR_DEVICE_MEMORY;
    case VK_ERROR_DEVICE_LOST:
        return BL_ERROR_DEVICE_LOST;
    default:
        return BL_ERROR_DEVICE;
    }
}

bl_result gpu_vk_error(bl_error *err, const char *call, VkResult result)
{
    const char *advice = result == VK_ERROR_DEVICE_LOST
                             ? ": the device or its driver was reset, or a dispatch took longer than the "
                               "system allows. Start again; a fit goes on with --resume, a render with its "
                               "--checkpoint"
                             : "";
    return error_set(err, gpu_result_of(result), "%s failed: %s (%d)%s", call, gpu_vk_result_name(result),
                     (int)result, advice);
}
