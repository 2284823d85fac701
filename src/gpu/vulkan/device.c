/* SPDX-License-Identifier: BSD-3-Clause
 * Vulkan's devices in the list; creating one with the features that Backlight uses; the table of the back
 * end.
 *
 * Devices are created without robustBufferAccess: our indices are checked where they are made, and the
 * driver's own checks cost 40 % on SwiftShader. Kernels must therefore never index outside a buffer. */
#include "gpu/vulkan/vulkan.h"

#include <stdlib.h>

static bl_result add_devices(gpu *g, const gpu_driver *driver, bl_error *err)
{
    ARRAY(VkPhysicalDevice) found = {0};
    uint32_t count = 0;
    VkResult result = driver->vk.EnumeratePhysicalDevices(driver->instance, &count, NULL);
    array_reserve(&found, count);
    if (result == VK_SUCCESS && count > 0)
        result = driver->vk.EnumeratePhysicalDevices(driver->instance, &count, found.data);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
        vulkan_candidate *candidate = memory_need(sizeof *candidate);
        if (gpu_probe(driver, found.data[i], candidate))
            array_push(&g->candidates, &candidate->head);
        else
            memory_free(candidate);
    }
    array_free(&found);
    return result == VK_SUCCESS ? BL_OK : gpu_vk_error(err, "vkEnumeratePhysicalDevices", result);
}

static const gpu_driver *driver_of(const gpu_candidate *c)
{
    BL_ASSERT(c->backend == &vulkan_backend, "%s is no device of Vulkan", c->info.name);
    return ((const vulkan_candidate *)c)->driver;
}

/* SwiftShader may come both ways. One stays: the validated one, else the one whose path was given, else the
 * loader's. */
static void drop_second_swiftshader(gpu *g, bool path_given)
{
    const gpu_driver *loader = &g->vulkan->all[GPU_LOADER], *direct = &g->vulkan->all[GPU_DIRECT];
    const gpu_driver *dropped = path_given && !loader->validated ? loader : direct;
    bool by_loader = false, by_path = false;
    for (uint32_t i = 0; i < g->candidates.count; i++)
        if (g->candidates.data[i]->info.kind == GPU_SWIFTSHADER) {
            by_loader = by_loader || driver_of(g->candidates.data[i]) == loader;
            by_path = by_path || driver_of(g->candidates.data[i]) == direct;
        }
    if (!by_loader || !by_path)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->candidates.count; i++) {
        gpu_candidate *c = g->candidates.data[i];
        if (c->info.kind == GPU_SWIFTSHADER && driver_of(c) == dropped)
            free(c);
        else
            g->candidates.data[kept++] = c;
    }
    g->candidates.count = kept;
}

static bl_result open_drivers(gpu *g, const char *swiftshader, bl_error *err)
{
    bl_error reason = {0};
    bool validation = g->options.validation;
    gpu_driver *drivers = g->vulkan->all;
    if (gpu_driver_open_loader(g, &drivers[GPU_LOADER], validation, &reason) == BL_OK) {
        if (add_devices(g, &drivers[GPU_LOADER], &reason) != BL_OK)
            gpu_note(g, &reason);
    } else if (validation && reason.code == BL_ERROR_UNSUPPORTED) {
        return error_set(err, reason.code, "%s", reason.text); /* checks that were asked for and do not run */
    } else {
        gpu_note(g, &reason);
    }
    if (gpu_driver_open_swiftshader(g, &drivers[GPU_DIRECT], swiftshader, &reason) == BL_OK) {
        if (add_devices(g, &drivers[GPU_DIRECT], &reason) != BL_OK)
            gpu_note(g, &reason);
    } else if (swiftshader) {
        return error_set(err, reason.code, "%s", reason.text);
    } else {
        gpu_note(g, &reason);
    }
    return BL_OK;
}

bl_result vulkan_open(gpu *g, const char *swiftshader, bl_error *err)
{
    BL_ASSERT(!g->vulkan, "Vulkan is opened twice by %u candidates", g->candidates.count);
    g->vulkan = calloc(1, sizeof *g->vulkan);
    if (!g->vulkan)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    TRY(open_drivers(g, swiftshader, err));
    const char *environment = secure_getenv("BL_SWIFTSHADER");
    drop_second_swiftshader(g, swiftshader || (environment && *environment));
    return BL_OK;
}

void vulkan_close(vulkan_drivers *v)
{
    for (int i = GPU_DRIVER_COUNT; v && i-- > 0;)
        gpu_driver_close(&v->all[i]);
    free(v);
}

void gpu_features_choose(const vulkan_candidate *c, gpu_features *wanted)
{
    gpu_features has;
    const gpu_info *info = &c->head.info;
    gpu_features_query(c, &has);
    *wanted = (gpu_features){
        .core = {.sType = has.core.sType,
                 .pNext = &wanted->vulkan12,
                 .features = {.shaderInt64 = info->int64, .shaderFloat64 = info->float64}},
        .vulkan12 = {.sType = has.vulkan12.sType,
                     .shaderBufferInt64Atomics = info->int64_atomics,
                     .scalarBlockLayout = has.vulkan12.scalarBlockLayout,
                     .bufferDeviceAddress = has.vulkan12.bufferDeviceAddress,
                     .vulkanMemoryModel = info->memory_model,
                     .vulkanMemoryModelDeviceScope = info->memory_model},
        .atomic_float = {.sType = has.atomic_float.sType,
                         .shaderBufferFloat32Atomics = has.atomic_float.shaderBufferFloat32Atomics,
                         .shaderBufferFloat32AtomicAdd = has.atomic_float.shaderBufferFloat32AtomicAdd},
        .acceleration_structure = {.sType = has.acceleration_structure.sType,
                                   .accelerationStructure = VK_TRUE},
        .ray_query = {.sType = has.ray_query.sType, .rayQuery = VK_TRUE},
    };
    void **end = &wanted->vulkan12.pNext;
    if (info->float_atomics) {
        *end = &wanted->atomic_float;
        end = &wanted->atomic_float.pNext;
    }
    if (info->ray_query) {
        *end = &wanted->acceleration_structure;
        wanted->acceleration_structure.pNext = &wanted->ray_query;
    }
}

uint32_t gpu_extensions_choose(const vulkan_candidate *c, const char *names[GPU_EXTENSIONS_MOST])
{
    uint32_t count = 0;
    if (c->head.info.float_atomics)
        names[count++] = VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME;
    if (c->head.info.ray_query) {
        names[count++] = VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME;
        names[count++] = VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME;
        names[count++] = VK_KHR_RAY_QUERY_EXTENSION_NAME;
    }
    return count;
}

bl_result vulkan_device_finish(vulkan_device *d, bl_error *err)
{
    const vulkan_candidate *c = d->candidate;
    TRY(gpu_load_device_table(c->driver->vk.GetDeviceProcAddr, d->handle, &d->vk, err));
    if (c->driver->validated) /* an address may come back although debug utils are not enabled */
        d->set_name = (PFN_vkSetDebugUtilsObjectNameEXT)c->driver->vk.GetDeviceProcAddr(
            d->handle, "vkSetDebugUtilsObjectNameEXT");
    c->driver->vk.GetPhysicalDeviceMemoryProperties(c->physical, &d->memory);
    return BL_OK;
}

static bl_result build(gpu_device *head, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(head);
    const vulkan_candidate *c = d->candidate = (const vulkan_candidate *)head->candidate;
    gpu_features features;
    gpu_features_choose(c, &features);
    const char *extensions[GPU_EXTENSIONS_MOST + 2];
    uint32_t extension_count = gpu_extensions_choose(c, extensions);
    void *chain = &features.core;
    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT,
        .pNext = chain,
        .subgroupSizeControl = VK_TRUE};
    if (c->asked_subgroup) {
        chain = &control;
        extensions[extension_count++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    }
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pNext = chain,
        .pipelineExecutableInfo = VK_TRUE};
    if (vulkan_device_tells(d)) {
        chain = &executables;
        extensions[extension_count++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    }
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = c->queue_family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .pNext = chain,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue,
                                 .enabledExtensionCount = extension_count,
                                 .ppEnabledExtensionNames = extensions};
    VkResult result = c->driver->vk.CreateDevice(c->physical, &create, NULL, &d->handle);
    if (result != VK_SUCCESS) {
        d->handle = NULL;
        return gpu_vk_error(err, "vkCreateDevice", result);
    }
    TRY(vulkan_device_finish(d, err));
    d->vk.vkGetDeviceQueue(d->handle, c->queue_family, 0, &d->queue);
    return BL_OK;
}

static void destroy(gpu_device *head)
{
    vulkan_device *d = vulkan_device_of(head);
    gpu_batch_destroy(d->transfers);
    gpu_buffer_destroy(d->staging);
    if (!d->adopted && head->runs && d->handle && d->vk.vkDeviceWaitIdle) /* null hardware has no queue */
        d->vk.vkDeviceWaitIdle(d->handle);
    if (!d->adopted && d->handle && d->vk.vkDestroyDevice)
        d->vk.vkDestroyDevice(d->handle, NULL);
    free(d->adopted);
}

/* ---- the queue ---- */

void vulkan_queue_lock(const vulkan_device *d)
{
    if (d->adopted && d->adopted->lock)
        d->adopted->lock(d->adopted->user);
}

void vulkan_queue_unlock(const vulkan_device *d)
{
    if (d->adopted && d->adopted->unlock)
        d->adopted->unlock(d->adopted->user);
}

/* On a lost device both calls return at once. Of a caller's device only the one queue may be waited for:
 * vkDeviceWaitIdle needs all of them for itself. */
void vulkan_queue_drain(vulkan_device *d)
{
    if (!d->adopted) {
        d->vk.vkDeviceWaitIdle(d->handle);
        return;
    }
    vulkan_queue_lock(d);
    d->vk.vkQueueWaitIdle(d->queue);
    vulkan_queue_unlock(d);
}

void gpu_label(vulkan_device *d, VkObjectType type, uint64_t handle, const char *label)
{
    if (!d->set_name || !label)
        return;
    VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = handle,
        .pObjectName = label,
    };
    d->set_name(d->handle, &info);
}

const gpu_backend vulkan_backend = {
    .device_size = sizeof(vulkan_device),
    .buffer_size = sizeof(vulkan_buffer),
    .kernel_size = sizeof(vulkan_kernel),
    .batch_size = sizeof(vulkan_batch),
    .device_build = build,
    .device_destroy = destroy,
    .buffer_build = vulkan_buffer_build,
    .buffer_destroy = vulkan_buffer_destroy,
    .buffer_address = vulkan_buffer_address,
    .buffer_write = vulkan_buffer_write,
    .buffer_read = vulkan_buffer_read,
    .kernel_build = vulkan_kernel_build,
    .kernel_destroy = vulkan_kernel_destroy,
    .batch_build = vulkan_batch_build,
    .batch_destroy = vulkan_batch_destroy,
    .batch_begin = vulkan_batch_begin,
    .batch_dispatch = vulkan_batch_dispatch,
    .batch_fill = vulkan_batch_fill,
    .batch_copy = vulkan_batch_copy,
    .batch_submit = vulkan_batch_submit,
    .batch_wait = vulkan_batch_wait,
};
