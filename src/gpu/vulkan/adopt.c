/* SPDX-License-Identifier: BSD-3-Clause
 * Devices of the caller's. What is behind such a device is as behind one of ours: a driver (here a table of
 * the caller's instance) and a candidate (here with what the caller says is enabled, instead of all there
 * is). Both belong to the device, and nothing of the caller's is ever destroyed. */
#include "gpu/vulkan/vulkan.h"

#include "gpu/vulkan/adopt.h"

#include <stdlib.h>
#include <string.h>

/* ---- the caller's instance ---- */

static bl_result open_driver(const bl_vulkan_instance *given, gpu_driver *driver, bl_error *err)
{
    if (!given->get_instance_proc_addr || !given->instance)
        return error_set(err, BL_ERROR_ARGUMENT, "get_instance_proc_addr and instance must be given");
    if (given->api_version < VK_API_VERSION_1_2)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "the instance is for Vulkan %u.%u (api_version); Backlight needs 1.2",
                         VK_API_VERSION_MAJOR(given->api_version), VK_API_VERSION_MINOR(given->api_version));
    *driver = (gpu_driver){.get = given->get_instance_proc_addr,
                           .instance = given->instance,
                           .api_version = given->api_version,
                           .found = "the caller's device"};
    return gpu_load_instance_table(driver->get, driver->instance, &driver->vk, err);
}

static bl_result probe(const gpu_driver *driver, VkPhysicalDevice physical, vulkan_candidate *out,
                       bl_error *err)
{
    VkPhysicalDeviceProperties properties;
    if (!physical)
        return error_set(err, BL_ERROR_ARGUMENT, "the physical device must be given");
    if (gpu_probe(driver, physical, out))
        return BL_OK;
    driver->vk.GetPhysicalDeviceProperties(physical, &properties);
    return error_set(err, BL_ERROR_UNSUPPORTED,
                     "%s has Vulkan %u.%u; Backlight needs 1.2 and a queue with compute",
                     properties.deviceName, VK_API_VERSION_MAJOR(properties.apiVersion),
                     VK_API_VERSION_MINOR(properties.apiVersion));
}

/* ---- requirements ---- */

static void link_chain(const gpu_info *info, bl_vulkan_needs *n)
{
    void **end = &n->vulkan12.pNext;
    n->features.pNext = &n->vulkan12;
    n->vulkan12.pNext = n->atomic_float.pNext = n->acceleration_structure.pNext = n->ray_query.pNext = NULL;
    if (info->float_atomics) {
        *end = &n->atomic_float;
        end = &n->atomic_float.pNext;
    }
    if (info->ray_query) {
        *end = &n->acceleration_structure;
        n->acceleration_structure.pNext = &n->ray_query;
    }
}

bl_result vulkan_requirements(const bl_vulkan_instance *instance, VkPhysicalDevice physical,
                              bl_vulkan_needs *out, bl_error *err)
{
    gpu_driver driver;
    vulkan_candidate c;
    gpu_features wanted, has;
    _Static_assert((int)BL_VULKAN_EXTENSIONS == (int)GPU_EXTENSIONS_MOST, "all extensions have room");
    TRY(open_driver(instance, &driver, err));
    TRY(probe(&driver, physical, &c, err));
    gpu_features_query(&c, &has);
    gpu_features_choose(&c, &wanted);
    wanted.vulkan12.timelineSemaphore = has.vulkan12.timelineSemaphore; /* ours do without */
    const gpu_info *info = &c.head.info;
    *out = (bl_vulkan_needs){
        .api_version = VK_API_VERSION_1_2,
        .queue_family = c.queue_family,
        .uses = {{"bufferDeviceAddress",
                  "scenes and films larger than maxStorageBufferRange; needed for ray queries",
                  info->buffer_address},
                 {"shaderBufferFloat32AtomicAdd",
                  "gradients by BL_ACCUMULATE_FLOAT, faster and not the same bytes on every run",
                  info->float_atomics},
                 {"rayQuery", "rays found by the device's own acceleration structures", info->ray_query},
                 {"timelineSemaphore", "submissions that wait for and signal semaphores that count",
                  has.vulkan12.timelineSemaphore}},
        .features = wanted.core,
        .vulkan12 = wanted.vulkan12,
        .atomic_float = wanted.atomic_float,
        .acceleration_structure = wanted.acceleration_structure,
        .ray_query = wanted.ray_query,
    };
    out->extension_count = gpu_extensions_choose(&c, out->extensions);
    link_chain(info, out);
    return BL_OK;
}

/* ---- what the caller has enabled ---- */

/* Feature structures that say the same as a part of VkPhysicalDeviceVulkan12Features. */
static void take_single(const VkBaseInStructure *s, VkPhysicalDeviceVulkan12Features *f)
{
    switch (s->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        f->bufferDeviceAddress =
            ((const VkPhysicalDeviceBufferDeviceAddressFeatures *)(const void *)s)->bufferDeviceAddress;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES:
        f->scalarBlockLayout =
            ((const VkPhysicalDeviceScalarBlockLayoutFeatures *)(const void *)s)->scalarBlockLayout;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES:
        f->shaderBufferInt64Atomics =
            ((const VkPhysicalDeviceShaderAtomicInt64Features *)(const void *)s)->shaderBufferInt64Atomics;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
        const VkPhysicalDeviceVulkanMemoryModelFeatures *m = (const void *)s;
        f->vulkanMemoryModel = m->vulkanMemoryModel;
        f->vulkanMemoryModelDeviceScope = m->vulkanMemoryModelDeviceScope;
        break;
    }
    default:
        break;
    }
}

static void take_features(const void *chain, gpu_features *f)
{
    *f = (gpu_features){0};
    for (const VkBaseInStructure *s = chain; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            f->core = *(const VkPhysicalDeviceFeatures2 *)(const void *)s;
        else if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            f->vulkan12 = *(const VkPhysicalDeviceVulkan12Features *)(const void *)s;
        else if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT)
            f->atomic_float = *(const VkPhysicalDeviceShaderAtomicFloatFeaturesEXT *)(const void *)s;
        else if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR)
            f->acceleration_structure =
                *(const VkPhysicalDeviceAccelerationStructureFeaturesKHR *)(const void *)s;
        else if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR)
            f->ray_query = *(const VkPhysicalDeviceRayQueryFeaturesKHR *)(const void *)s;
        else
            take_single(s, &f->vulkan12);
    }
}

static bool named(const bl_vulkan_device_desc *desc, const char *extension)
{
    for (uint32_t i = 0; i < desc->extension_count; i++)
        if (desc->extensions[i] && strcmp(desc->extensions[i], extension) == 0)
            return true;
    return false;
}

static bl_result need_extension(const bl_vulkan_device_desc *desc, const char *feature, const char *extension,
                                bl_error *err)
{
    return named(desc, extension) ? BL_OK
                                  : error_set(err, BL_ERROR_ARGUMENT,
                                              "`features` says that %s is enabled, and `extensions` lacks %s",
                                              feature, extension);
}

/* Sets what the candidate can do to what is enabled, which must be there. */
static bl_result take_enabled(const bl_vulkan_device_desc *desc, vulkan_candidate *c, bl_error *err)
{
    gpu_features has, on;
    gpu_features_query(c, &has);
    take_features(desc->features, &on);
    const struct {
        const char *name;
        bool on, has;
    } features[] = {
        {"shaderInt64", on.core.features.shaderInt64, has.core.features.shaderInt64},
        {"shaderFloat64", on.core.features.shaderFloat64, has.core.features.shaderFloat64},
        {"bufferDeviceAddress", on.vulkan12.bufferDeviceAddress, has.vulkan12.bufferDeviceAddress},
        {"shaderBufferFloat32AtomicAdd", on.atomic_float.shaderBufferFloat32AtomicAdd,
         has.atomic_float.shaderBufferFloat32AtomicAdd},
        {"accelerationStructure", on.acceleration_structure.accelerationStructure,
         has.acceleration_structure.accelerationStructure},
        {"rayQuery", on.ray_query.rayQuery, has.ray_query.rayQuery},
    };
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (features[i].on && !features[i].has)
            return error_set(err, BL_ERROR_ARGUMENT, "`features` says that %s is enabled, which %s lacks",
                             features[i].name, c->head.info.name);
    if (on.atomic_float.shaderBufferFloat32AtomicAdd)
        TRY(need_extension(desc, "shaderBufferFloat32AtomicAdd", VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME,
                           err));
    if (on.acceleration_structure.accelerationStructure)
        TRY(need_extension(desc, "accelerationStructure", VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME, err));
    if (on.ray_query.rayQuery)
        TRY(need_extension(desc, "rayQuery", VK_KHR_RAY_QUERY_EXTENSION_NAME, err));
#define EXTENSION_NAMED(field, name) .field = named(desc, name),
    c->asked_subgroup = 0; /* the caller has not been asked to enable it */
    c->extensions = (gpu_extensions){GPU_EXTENSIONS(EXTENSION_NAMED)};
#undef EXTENSION_NAMED
    gpu_features_describe(c, &on);
    return BL_OK;
}

static bl_result take_queue(const bl_vulkan_device_desc *desc, vulkan_candidate *c, bl_error *err)
{
    uint32_t count = 0;
    ARRAY(VkQueueFamilyProperties) families = {0};
    c->driver->vk.GetPhysicalDeviceQueueFamilyProperties(c->physical, &count, NULL);
    array_reserve(&families, count);
    c->driver->vk.GetPhysicalDeviceQueueFamilyProperties(c->physical, &count, families.data);
    bool there = desc->queue_family < count,
         compute = there && families.data[desc->queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT;
    if (compute) {
        c->queue_family = desc->queue_family;
        c->timestamp_bits = families.data[desc->queue_family].timestampValidBits;
        c->head.info.timestamps = c->timestamp_bits > 0 && c->timestamp_seconds > 0;
    }
    array_free(&families);
    if (!there)
        return error_set(err, BL_ERROR_ARGUMENT, "queue family %u: %s has %u", desc->queue_family,
                         c->head.info.name, count);
    return compute ? BL_OK
                   : error_set(err, BL_ERROR_ARGUMENT,
                               "queue family %u of %s has no compute, and Backlight has compute kernels only",
                               desc->queue_family, c->head.info.name);
}

/* ---- the device ---- */

static bl_result check_desc(const bl_vulkan_device_desc *desc, bl_error *err)
{
    if (!desc->device || !desc->queue)
        return error_set(err, BL_ERROR_ARGUMENT, "device and queue must be given");
    if (desc->extension_count && !desc->extensions)
        return error_set(err, BL_ERROR_ARGUMENT, "%u extensions from nowhere", desc->extension_count);
    if (!desc->lock_queue != !desc->unlock_queue)
        return error_set(err, BL_ERROR_ARGUMENT, "give both lock_queue and unlock_queue, or neither");
    if (!desc->allocate_memory != !desc->free_memory)
        return error_set(err, BL_ERROR_ARGUMENT, "give both allocate_memory and free_memory, or neither");
    if (desc->allocate_memory && desc->export_memory)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "export_memory is of memory that Backlight allocates: give no allocate_memory");
    return BL_OK;
}

static bl_result build(vulkan_device *d, const bl_vulkan_device_desc *desc, bl_error *err)
{
    vulkan_adopted *a = d->adopted;
    vulkan_candidate *c = &a->candidate;
    TRY(check_desc(desc, err));
    TRY(open_driver(&desc->instance, &a->driver, err));
    TRY(probe(&a->driver, desc->physical_device, c, err));
    TRY(take_queue(desc, c, err));
    TRY(take_enabled(desc, c, err));
    if (desc->export_memory)
        TRY(vulkan_export_choose(a, named(desc, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME),
                                 named(desc, vulkan_export_win32_extension), err));
    uint32_t range = d->head.owner->options.buffer_range;
    if (range && c->head.info.max_buffer_range > range)
        c->head.info.max_buffer_range = range;
    a->pipeline_cache = desc->pipeline_cache, a->budget = desc->memory_budget;
    a->allocate = desc->allocate_memory, a->free = desc->free_memory;
    a->lock = desc->lock_queue, a->unlock = desc->unlock_queue, a->user = desc->user;
    if (desc->allocator) {
        a->allocator = *desc->allocator;
        d->allocator = &a->allocator;
    }
    d->handle = desc->device, d->queue = desc->queue;
    return vulkan_device_finish(d, err);
}

bl_result vulkan_adopt(gpu *g, const bl_vulkan_device_desc *desc, gpu_device **out, bl_error *err)
{
    *out = NULL;
    vulkan_device *d = calloc(1, sizeof *d);
    if (d)
        d->adopted = calloc(1, sizeof *d->adopted);
    if (!d || !d->adopted) {
        free(d);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    d->head = (gpu_device){
        .owner = g, .backend = &vulkan_backend, .candidate = &d->adopted->candidate.head, .runs = true};
    d->candidate = &d->adopted->candidate;
    g->devices_alive++;
    bl_result result = build(d, desc, err);
    if (result != BL_OK)
        gpu_device_destroy(&d->head);
    else
        *out = &d->head;
    return result;
}
