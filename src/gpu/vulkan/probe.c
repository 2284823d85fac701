/* SPDX-License-Identifier: BSD-3-Clause
 * What a physical device can do, as gpu_info and the few limits the other files need. */
#include "gpu/vulkan/vulkan.h"

#include <string.h>

static gpu_extensions find_extensions(const gpu_driver *driver, VkPhysicalDevice physical)
{
    gpu_extensions found = {0};
    uint32_t count = 0;
    ARRAY(VkExtensionProperties) list = {0};
    driver->vk.EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
    array_reserve(&list, count);
    if (driver->vk.EnumerateDeviceExtensionProperties(physical, NULL, &count, list.data) != VK_SUCCESS)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
#define GPU_EXTENSION_FIND(field, text)                                                                      \
    if (strcmp(list.data[i].extensionName, text) == 0)                                                       \
        found.field = true;
        GPU_EXTENSIONS(GPU_EXTENSION_FIND)
#undef GPU_EXTENSION_FIND
    }
    array_free(&list);
    return found;
}

/* A compute family without graphics is preferred, so that long kernels do not hold up the desktop. */
static bool find_queue(const gpu_driver *driver, vulkan_candidate *c)
{
    uint32_t count = 0;
    ARRAY(VkQueueFamilyProperties) families = {0};
    driver->vk.GetPhysicalDeviceQueueFamilyProperties(c->physical, &count, NULL);
    array_reserve(&families, count);
    driver->vk.GetPhysicalDeviceQueueFamilyProperties(c->physical, &count, families.data);
    int best = 0;
    for (uint32_t i = 0; i < count; i++) {
        const VkQueueFamilyProperties *family = &families.data[i];
        if (!(family->queueFlags & VK_QUEUE_COMPUTE_BIT) || family->queueCount == 0)
            continue;
        int score =
            1 + (family->queueFlags & VK_QUEUE_GRAPHICS_BIT ? 0 : 1) + (family->timestampValidBits ? 2 : 0);
        if (score > best) {
            best = score;
            c->queue_family = i;
            c->timestamp_bits = family->timestampValidBits;
        }
    }
    array_free(&families);
    return best > 0;
}

void gpu_features_query(const vulkan_candidate *c, gpu_features *f)
{
    *f = (gpu_features){
        .core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &f->vulkan12},
        .vulkan12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
        .atomic_float = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT},
        .acceleration_structure = {.sType =
                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR},
        .ray_query = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR},
        .executables = {.sType =
                            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR},
    };
    void **end = &f->vulkan12.pNext;
    if (c->extensions.shader_atomic_float) {
        *end = &f->atomic_float;
        end = &f->atomic_float.pNext;
    }
    if (c->extensions.acceleration_structure) {
        *end = &f->acceleration_structure;
        end = &f->acceleration_structure.pNext;
    }
    if (c->extensions.ray_query) {
        *end = &f->ray_query;
        end = &f->ray_query.pNext;
    }
    if (c->extensions.pipeline_executable_properties)
        *end = &f->executables;
    c->driver->vk.GetPhysicalDeviceFeatures2(c->physical, &f->core);
}

static gpu_kind kind_of(const VkPhysicalDeviceProperties *properties, VkDriverId driver)
{
    if (driver == VK_DRIVER_ID_GOOGLE_SWIFTSHADER || strstr(properties->deviceName, "SwiftShader"))
        return GPU_SWIFTSHADER;
    if (driver == VK_DRIVER_ID_MESA_LLVMPIPE || strstr(properties->deviceName, "llvmpipe"))
        return GPU_LAVAPIPE;
    switch (properties->deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return GPU_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return GPU_INTEGRATED;
    default:
        return GPU_OTHER;
    }
}

static void describe_accel(vulkan_candidate *c)
{
    VkPhysicalDeviceAccelerationStructurePropertiesKHR accel = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &accel};
    if (!c->head.info.ray_query)
        return;
    c->driver->vk.GetPhysicalDeviceProperties2(c->physical, &all);
    c->max_accel_primitives = accel.maxPrimitiveCount;
    c->accel_scratch_alignment = accel.minAccelerationStructureScratchOffsetAlignment;
}

/* RDNA1 and RDNA2 share 512 registers of 64 lanes out to a SIMD. Their drivers run kernels in waves of 64, or
 * of 32 if they are asked to, and of a kernel with many registers more lanes fit then
 * (docs/decisions/registers.md). RDNA3 and later, which have no fragment masks, do two operations at a time
 * in waves of 64, and keep those. */
static void choose_subgroup(vulkan_candidate *c)
{
    enum { NARROW = 32, REGISTERS = 512 };
    VkPhysicalDeviceShaderCorePropertiesAMD core = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT, .pNext = &core};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &sizes};
    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &control};
    if (!c->extensions.subgroup_size_control || !c->extensions.shader_core_properties ||
        !c->extensions.shader_fragment_mask)
        return;
    c->driver->vk.GetPhysicalDeviceProperties2(c->physical, &all);
    c->driver->vk.GetPhysicalDeviceFeatures2(c->physical, &features);
    if (control.subgroupSizeControl && core.vgprsPerSimd == REGISTERS && sizes.minSubgroupSize <= NARROW &&
        sizes.maxSubgroupSize > NARROW && (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT))
        c->asked_subgroup = NARROW;
}

/* SIMDs of a compute unit share its memory. RADV does not tell the step of hardware that is not there: of no
 * AMD GPU it is more than a 64th of the registers. Of RDNA4 it tells the registers of RDNA2 (Mesa 25.0), so
 * GPUs without fragment masks count as those that tell nothing. */
static void describe_simd(vulkan_candidate *c)
{
    enum { STEPS = 64, WORD = sizeof(uint32_t) };
    gpu_info *info = &c->head.info;
    VkPhysicalDeviceShaderCorePropertiesAMD core = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &core};
    if (!c->extensions.shader_core_properties || !c->extensions.shader_fragment_mask)
        return;
    c->driver->vk.GetPhysicalDeviceProperties2(c->physical, &all);
    if (!core.simdPerComputeUnit || !core.vgprsPerSimd || !core.wavefrontSize || !info->subgroup_size)
        return;
    uint32_t step =
                 core.vgprAllocationGranularity ? core.vgprAllocationGranularity : core.vgprsPerSimd / STEPS,
             narrow = core.wavefrontSize / info->subgroup_size;
    info->simd_registers = core.vgprsPerSimd * narrow, info->register_step = step * narrow;
    info->simd_words = all.properties.limits.maxComputeSharedMemorySize /
                       (core.simdPerComputeUnit * info->subgroup_size * WORD);
}

void gpu_features_describe(vulkan_candidate *c, const gpu_features *f)
{
    gpu_info *info = &c->head.info;
    info->subgroup_size = c->asked_subgroup ? c->asked_subgroup : c->driver_subgroup;
    describe_simd(c);
    info->int64 = f->core.features.shaderInt64;
    info->float64 = f->core.features.shaderFloat64;
    info->float_atomics = f->atomic_float.shaderBufferFloat32AtomicAdd;
    info->ray_query = f->ray_query.rayQuery && f->acceleration_structure.accelerationStructure &&
                      f->vulkan12.bufferDeviceAddress && c->extensions.deferred_host_operations;
    info->buffer_address = f->vulkan12.bufferDeviceAddress;
    info->int64_atomics = info->int64 && f->vulkan12.shaderBufferInt64Atomics;
    info->memory_model = f->vulkan12.vulkanMemoryModel && f->vulkan12.vulkanMemoryModelDeviceScope;
    info->scalar_layout = f->vulkan12.scalarBlockLayout;
    c->executables = f->executables.pipelineExecutableInfo;
    describe_accel(c);
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The largest buffer that can exist: limits of one allocation and of one buffer, and the largest heap. */
static uint64_t largest_allocation(const gpu_driver *driver, VkPhysicalDevice physical, uint64_t limit)
{
    VkPhysicalDeviceMemoryProperties memory;
    driver->vk.GetPhysicalDeviceMemoryProperties(physical, &memory);
    uint64_t heap = 0;
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
        if (memory.memoryHeaps[i].size > heap)
            heap = memory.memoryHeaps[i].size;
    return smaller(limit, heap);
}

static void write_uuid(const uint8_t bytes[VK_UUID_SIZE], char out[40])
{
    for (uint32_t i = 0; i < VK_UUID_SIZE; i++)
        out += sprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

bool gpu_probe(const gpu_driver *driver, VkPhysicalDevice physical, vulkan_candidate *c)
{
    *c = (vulkan_candidate){.head.backend = &vulkan_backend, .driver = driver, .physical = physical};
    VkPhysicalDeviceProperties properties;
    driver->vk.GetPhysicalDeviceProperties(physical, &properties);
    uint32_t version =
        properties.apiVersion < driver->api_version ? properties.apiVersion : driver->api_version;
    if (version < VK_API_VERSION_1_2 || !find_queue(driver, c))
        return false;

    VkPhysicalDeviceMaintenance4Properties maintenance4 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES, .maxBufferSize = UINT64_MAX};
    VkPhysicalDeviceVulkan12Properties vulkan12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceVulkan11Properties vulkan11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &vulkan12};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &vulkan11};
    if (version >= VK_API_VERSION_1_3)
        vulkan12.pNext = &maintenance4;
    driver->vk.GetPhysicalDeviceProperties2(physical, &all);

    const VkPhysicalDeviceLimits *limits = &properties.limits;
    c->type = properties.deviceType;
    c->extensions = find_extensions(driver, physical);
    c->buffer_alignment = limits->minStorageBufferOffsetAlignment;
    c->timestamp_seconds = 1e-9 * (double)limits->timestampPeriod;
    c->head.max_workgroup_size = limits->maxComputeWorkGroupSize[0] < limits->maxComputeWorkGroupInvocations
                                     ? limits->maxComputeWorkGroupSize[0]
                                     : limits->maxComputeWorkGroupInvocations;
    gpu_info *info = &c->head.info;
    snprintf(info->name, sizeof info->name, "%s", properties.deviceName);
    write_uuid(vulkan11.deviceUUID, info->uuid);
    snprintf(info->found, sizeof info->found, "%s", driver->found);
    snprintf(info->driver, sizeof info->driver, "%.100s%s%.100s (%u.%u.%u)", vulkan12.driverName,
             *vulkan12.driverInfo ? " " : "", vulkan12.driverInfo,
             VK_API_VERSION_MAJOR(properties.driverVersion), VK_API_VERSION_MINOR(properties.driverVersion),
             VK_API_VERSION_PATCH(properties.driverVersion));
    info->kind = kind_of(&properties, vulkan12.driverID);
    info->rounds = gpu_is_processor(info->kind); /* Vulkan has no query for it */
    /* Mesa's drivers call what stands in for a device so: "Null hardware (RADV NAVI31)". */
    info->null_hardware = strncmp(properties.deviceName, "Null hardware", 13) == 0;
    info->api_version = properties.apiVersion;
    c->driver_subgroup = vulkan11.subgroupSize;
    info->max_buffer_range = limits->maxStorageBufferRange;
    info->max_allocation = largest_allocation(
        driver, physical, smaller(vulkan11.maxMemoryAllocationSize, maintenance4.maxBufferSize));
    info->max_storage_buffers = (uint32_t)smaller(limits->maxPerStageDescriptorStorageBuffers,
                                                  limits->maxDescriptorSetStorageBuffers);
    info->timestamps = c->timestamp_bits > 0 && c->timestamp_seconds > 0;
    info->signed_zero_inf_nan_preserve = vulkan12.shaderSignedZeroInfNanPreserveFloat32;
    info->validated = driver->validated;
    choose_subgroup(c);
    gpu_features has;
    gpu_features_query(c, &has);
    gpu_features_describe(c, &has);
    return true;
}
