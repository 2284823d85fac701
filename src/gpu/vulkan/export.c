/* SPDX-License-Identifier: BSD-3-Clause
 * Memory for other devices, processes and APIs: as opaque file descriptors, or as opaque handles of Windows.
 * The latter is compiled everywhere, so that it stays correct C, and has never been run. */
#include "gpu/vulkan/vulkan.h"

#include "gpu/vulkan/record.h"

#include <wchar.h>

#ifdef _WIN32
#include <windows.h>
#else /* the types of Windows that the header below uses, by their documented meaning */
typedef void *HANDLE;
typedef HANDLE HINSTANCE, HWND, HMONITOR;
typedef const wchar_t *LPCWSTR;
typedef unsigned long DWORD;
typedef struct SECURITY_ATTRIBUTES SECURITY_ATTRIBUTES;
#endif
#include <vulkan/vulkan_win32.h>

const char vulkan_export_win32_extension[] = VK_KHR_EXTERNAL_MEMORY_WIN32_EXTENSION_NAME;

bl_result vulkan_export_choose(vulkan_adopted *a, bool fd, bool win32, bl_error *err)
{
    const vulkan_candidate *c = &a->candidate;
    const vulkan_device usage_of = {.candidate = c};
    const VkExternalMemoryHandleTypeFlagBits type =
        fd ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT;
    const VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = vulkan_buffer_usage(&usage_of, 0),
        .handleType = type};
    VkExternalBufferProperties found = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    if (!fd && !win32)
        return error_set(err, BL_ERROR_ARGUMENT, "export_memory is set, and `extensions` lacks %s (or %s)",
                         VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, vulkan_export_win32_extension);
    a->driver.vk.GetPhysicalDeviceExternalBufferProperties(c->physical, &info, &found);
    VkExternalMemoryFeatureFlags features = found.externalMemoryProperties.externalMemoryFeatures;
    if (!(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s exports no buffers as opaque %s", c->head.info.name,
                         fd ? "file descriptors" : "handles of Windows");
    a->exports = type;
    a->dedicated = features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
    return BL_OK;
}

static bl_result get_fd(vulkan_device *d, VkDeviceMemory memory, int *out, bl_error *err)
{
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = memory,
                                       .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    GPU_TRY(d, err, GetMemoryFdKHR, d->handle, &info, out);
    return BL_OK;
}

/* The function's type is not known where the table of functions is. */
static bl_result get_handle(vulkan_device *d, VkDeviceMemory memory, void **out, bl_error *err)
{
    const VkMemoryGetWin32HandleInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_WIN32_HANDLE_INFO_KHR,
                                                .memory = memory,
                                                .handleType =
                                                    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT};
    PFN_vkGetMemoryWin32HandleKHR get =
        (PFN_vkGetMemoryWin32HandleKHR)d->candidate->driver->vk.GetDeviceProcAddr(
            d->handle, "vkGetMemoryWin32HandleKHR");
    if (!get)
        return error_set(err, BL_ERROR_DEVICE, "the driver has no vkGetMemoryWin32HandleKHR");
    VkResult result = get(d->handle, &info, out);
    return result == VK_SUCCESS ? BL_OK : gpu_vk_error(err, "vkGetMemoryWin32HandleKHR", result);
}

bl_result vulkan_buffer_export(const gpu_buffer *head, uint64_t offset, uint64_t size, bl_vulkan_export *out,
                               bl_error *err)
{
    const vulkan_buffer *b = (const vulkan_buffer *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    if (!d->adopted || !d->adopted->exports)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "the device exports no memory: bl_vulkan_device_desc.export_memory was not set");
    *out = (bl_vulkan_export){
        .fd = -1,
        .allocation_size = head->allocated,
        .memory_type = b->memory_type,
        .dedicated = d->adopted->dedicated,
        .buffer_size = head->size,
        .buffer_usage = b->usage,
        .offset = offset,
        .size = size,
    };
    return d->adopted->exports == VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
               ? get_fd(d, b->memory, &out->fd, err)
               : get_handle(d, b->memory, &out->handle, err);
}
