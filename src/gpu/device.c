/* SPDX-License-Identifier: BSD-3-Clause
 * Which devices there are, in which order; choosing one; creating it with the features Backlight uses.
 *
 * Devices are created without robustBufferAccess: our indices are checked where they are made, and the
 * driver's own checks cost 40 % on SwiftShader. Kernels must therefore never index outside a buffer. */
#include "gpu/gpu_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void gpu_log(const gpu *g, const char *format, ...)
{
    if (!g->log)
        return;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args); /* validation messages are long: no fixed buffer */
    char *message = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (message) {
        vsnprintf(message, (size_t)length + 1, format, again);
        g->log(g->user, message);
    }
    free(message);
    va_end(again);
    va_end(args);
}

/* A missing driver is no error, because other devices may do. The reason is logged, and kept for the error of
 * a selector that asks for that driver. */
static void note(gpu *g, const bl_error *reason)
{
    text_add(&g->notes, "%s%s", g->notes.length ? "; " : "", reason->text);
    gpu_log(g, "%s", reason->text);
}

static bl_result add_devices(gpu *g, const gpu_driver *driver, bl_error *err)
{
    ARRAY(VkPhysicalDevice) found = {0};
    uint32_t count = 0;
    VkResult result = driver->vk.EnumeratePhysicalDevices(driver->instance, &count, NULL);
    array_reserve(&found, count);
    if (result == VK_SUCCESS && count > 0)
        result = driver->vk.EnumeratePhysicalDevices(driver->instance, &count, found.data);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
        gpu_candidate candidate;
        if (gpu_probe(driver, found.data[i], &candidate))
            array_push(&g->candidates, candidate);
    }
    array_free(&found);
    return result == VK_SUCCESS ? BL_OK : gpu_vk_error(err, "vkEnumeratePhysicalDevices", result);
}

/* SwiftShader may come both ways. One stays: the validated one, else the one whose path was given, else the
 * loader's. */
static void drop_second_swiftshader(gpu *g, bool path_given)
{
    const gpu_driver *loader = &g->drivers[GPU_LOADER], *direct = &g->drivers[GPU_DIRECT];
    const gpu_driver *dropped = path_given && !loader->validated ? loader : direct;
    bool by_loader = false, by_path = false;
    for (uint32_t i = 0; i < g->candidates.count; i++)
        if (g->candidates.data[i].info.kind == GPU_SWIFTSHADER) {
            by_loader = by_loader || g->candidates.data[i].driver == loader;
            by_path = by_path || g->candidates.data[i].driver == direct;
        }
    if (!by_loader || !by_path)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->candidates.count; i++)
        if (g->candidates.data[i].info.kind != GPU_SWIFTSHADER || g->candidates.data[i].driver != dropped)
            g->candidates.data[kept++] = g->candidates.data[i];
    g->candidates.count = kept;
}

static bool comes_before(const gpu_info *a, const gpu_info *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return a->kind == GPU_LAVAPIPE &&
           a->api_version > b->api_version; /* a system's old Mesa beside a newer one */
}

/* Insertion sort: stable, so that the loader's order stays among equals. */
static void sort_candidates(gpu *g)
{
    gpu_candidate *list = g->candidates.data;
    for (uint32_t i = 1; i < g->candidates.count; i++)
        for (uint32_t j = i; j > 0 && comes_before(&list[j].info, &list[j - 1].info); j--) {
            gpu_candidate swapped = list[j];
            list[j] = list[j - 1];
            list[j - 1] = swapped;
        }
}

static bl_result open_drivers(gpu *g, const gpu_options *options, bl_error *err)
{
    bl_error reason = {0};
    if (gpu_driver_open_loader(g, &g->drivers[GPU_LOADER], options->validation, &reason) == BL_OK) {
        if (add_devices(g, &g->drivers[GPU_LOADER], &reason) != BL_OK)
            note(g, &reason);
    } else if (options->validation && reason.code == BL_ERROR_UNSUPPORTED) {
        return error_set(err, reason.code, "%s", reason.text); /* checks that were asked for and do not run */
    } else {
        note(g, &reason);
    }
    if (gpu_driver_open_swiftshader(g, &g->drivers[GPU_DIRECT], options->swiftshader, &reason) == BL_OK) {
        if (add_devices(g, &g->drivers[GPU_DIRECT], &reason) != BL_OK)
            note(g, &reason);
    } else if (options->swiftshader) {
        return error_set(err, reason.code, "%s", reason.text);
    } else {
        note(g, &reason);
    }
    return BL_OK;
}

bl_result gpu_open(const gpu_options *options, gpu **out, bl_error *err)
{
    static const gpu_options defaults;
    options = options ? options : &defaults;
    *out = NULL;
    gpu *g = calloc(1, sizeof *g);
    if (!g)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    g->log = options->log;
    g->user = options->user;
    bl_result result = open_drivers(g, options, err);
    if (result != BL_OK) {
        gpu_close(g);
        return result;
    }
    const char *environment = secure_getenv("BL_SWIFTSHADER");
    drop_second_swiftshader(g, options->swiftshader || (environment && *environment));
    sort_candidates(g);
    for (uint32_t k = 0; options->buffer_range && k < g->candidates.count; k++)
        if (g->candidates.data[k].info.max_buffer_range > options->buffer_range)
            g->candidates.data[k].info.max_buffer_range = options->buffer_range;
    *out = g;
    return BL_OK;
}

void gpu_close(gpu *g)
{
    if (!g)
        return;
    BL_ASSERT(g->devices_alive == 0, "%u devices outlive the instance", g->devices_alive);
    for (int i = GPU_DRIVER_COUNT; i-- > 0;)
        gpu_driver_close(&g->drivers[i]);
    array_free(&g->candidates);
    text_free(&g->notes);
    free(g);
}

uint32_t gpu_count(const gpu *g) { return g->candidates.count; }

const gpu_info *gpu_info_at(const gpu *g, uint32_t index)
{
    BL_ASSERT(index < g->candidates.count, "device %u of %u", index, g->candidates.count);
    return &g->candidates.data[index].info;
}

uint32_t gpu_validation_messages(const gpu *g) { return __atomic_load_n(&g->messages, __ATOMIC_RELAXED); }

static bool matches(const gpu_info *info, const char *selector)
{
    if (!selector || !*selector || strcasecmp(selector, "auto") == 0)
        return true;
    if (strcasecmp(selector, "swiftshader") == 0)
        return info->kind == GPU_SWIFTSHADER;
    if (strcasecmp(selector, "lavapipe") == 0)
        return info->kind == GPU_LAVAPIPE;
    return strcasestr(info->name, selector) != NULL;
}

static bl_result no_match(const gpu *g, const char *selector, bl_error *err)
{
    text list = {0};
    for (uint32_t i = 0; i < g->candidates.count; i++)
        text_add(&list, "%s%s", i ? ", " : "", g->candidates.data[i].info.name);
    bl_result result = error_set(err, BL_ERROR_NO_DEVICE, "no Vulkan device matches '%s'; there %s%s%s%s%s",
                                 selector ? selector : "auto", list.length ? "is: " : "are none",
                                 list.length ? list.data : "", g->notes.length ? " (" : "",
                                 g->notes.length ? g->notes.data : "", g->notes.length ? ")" : "");
    text_free(&list);
    return result;
}

/* Switches on what the device has of what Backlight uses, and nothing else. */
static void choose_features(const gpu_candidate *c, gpu_features *wanted)
{
    gpu_features has;
    gpu_features_query(c, &has);
    *wanted = (gpu_features){
        .core = {.sType = has.core.sType,
                 .pNext = &wanted->vulkan12,
                 .features = {.shaderInt64 = c->info.int64, .shaderFloat64 = c->info.float64}},
        .vulkan12 = {.sType = has.vulkan12.sType,
                     .shaderBufferInt64Atomics = c->info.int64_atomics,
                     .scalarBlockLayout = has.vulkan12.scalarBlockLayout,
                     .bufferDeviceAddress = has.vulkan12.bufferDeviceAddress,
                     .vulkanMemoryModel = c->info.memory_model,
                     .vulkanMemoryModelDeviceScope = c->info.memory_model},
        .atomic_float = {.sType = has.atomic_float.sType,
                         .shaderBufferFloat32Atomics = has.atomic_float.shaderBufferFloat32Atomics,
                         .shaderBufferFloat32AtomicAdd = has.atomic_float.shaderBufferFloat32AtomicAdd},
        .acceleration_structure = {.sType = has.acceleration_structure.sType,
                                   .accelerationStructure = VK_TRUE},
        .ray_query = {.sType = has.ray_query.sType, .rayQuery = VK_TRUE},
    };
    void **end = &wanted->vulkan12.pNext;
    if (c->info.float_atomics) {
        *end = &wanted->atomic_float;
        end = &wanted->atomic_float.pNext;
    }
    if (c->info.ray_query) {
        *end = &wanted->acceleration_structure;
        wanted->acceleration_structure.pNext = &wanted->ray_query;
    }
}

static bl_result create_handle(gpu_device *d, bl_error *err)
{
    const gpu_candidate *c = d->candidate;
    gpu_features features;
    choose_features(c, &features);
    const char *extensions[4];
    uint32_t extension_count = 0;
    if (c->info.float_atomics)
        extensions[extension_count++] = VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME;
    if (c->info.ray_query) {
        extensions[extension_count++] = VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME;
        extensions[extension_count++] = VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME;
        extensions[extension_count++] = VK_KHR_RAY_QUERY_EXTENSION_NAME;
    }
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = c->queue_family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features.core,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = extension_count,
                               .ppEnabledExtensionNames = extensions};
    VkResult result = c->driver->vk.CreateDevice(c->physical, &info, NULL, &d->handle);
    if (result != VK_SUCCESS) {
        d->handle = NULL;
        return gpu_vk_error(err, "vkCreateDevice", result);
    }
    TRY(gpu_load_device_table(c->driver->vk.GetDeviceProcAddr, d->handle, &d->vk, err));
    if (!c->driver->validated) /* an address may come back although debug utils are not enabled */
        d->vk.SetDebugUtilsObjectNameEXT = NULL;
    d->vk.GetDeviceQueue(d->handle, c->queue_family, 0, &d->queue);
    c->driver->vk.GetPhysicalDeviceMemoryProperties(c->physical, &d->memory);
    return BL_OK;
}

bl_result gpu_device_create(gpu *g, const char *selector, gpu_device **out, bl_error *err)
{
    *out = NULL;
    const gpu_candidate *chosen = NULL;
    for (uint32_t i = 0; i < g->candidates.count && !chosen; i++)
        if (matches(&g->candidates.data[i].info, selector))
            chosen = &g->candidates.data[i];
    if (!chosen)
        return no_match(g, selector, err);
    gpu_device *d = calloc(1, sizeof *d);
    if (!d)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    d->owner = g;
    d->candidate = chosen;
    g->devices_alive++;
    bl_result result = create_handle(d, err);
    if (result != BL_OK)
        gpu_device_destroy(d);
    else
        *out = d;
    return result;
}

void gpu_device_destroy(gpu_device *d)
{
    if (!d)
        return;
    gpu_batch_destroy(d->transfers);
    gpu_buffer_destroy(d->staging);
    BL_ASSERT(d->stats.bytes_allocated == 0, "buffers of %llu bytes outlive their device",
              (unsigned long long)d->stats.bytes_allocated);
    if (d->handle && d->vk.DeviceWaitIdle)
        d->vk.DeviceWaitIdle(d->handle);
    if (d->handle && d->vk.DestroyDevice)
        d->vk.DestroyDevice(d->handle, NULL);
    d->owner->devices_alive--;
    free(d);
}

const gpu_info *gpu_device_info(const gpu_device *d) { return &d->candidate->info; }

gpu_stats gpu_device_stats(const gpu_device *d) { return d->stats; }

void gpu_label(gpu_device *d, VkObjectType type, uint64_t handle, const char *label)
{
    if (!d->vk.SetDebugUtilsObjectNameEXT || !label)
        return;
    VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = handle,
        .pObjectName = label,
    };
    d->vk.SetDebugUtilsObjectNameEXT(d->handle, &info);
}
