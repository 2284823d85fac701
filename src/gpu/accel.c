/* SPDX-License-Identifier: BSD-3-Clause
 * Acceleration structures of static geometry (VK_KHR_acceleration_structure): at the bottom, for each group, one of all triangles and one of
 * all boxes, because a bottom level holds one kind of geometry, and a top level with the instances of each that there is.
 *
 * Kernels find the top level by its device address, so there is no descriptor. Inputs and scratch memory live as long as a build, which is
 * waited for; what is left are the levels, each in a buffer of its own. */
#include "gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

enum { CUSTOM_INDEX_END = 1 << 24, EVERY_RAY = 0xFF, TRIANGLE_BYTES = 9 * 4, BOX_BYTES = 6 * 4 };

typedef struct level {
    VkAccelerationStructureKHR handle;
    gpu_buffer *storage;
} level;

/* Levels of group g are 2 g + one of the first two; the top one is the last. */
enum { LEVEL_TRIANGLES, LEVEL_BOXES };

struct gpu_accel {
    gpu_device *device;
    level *levels;
    uint32_t level_count;
    char *label;
};

static uint64_t level_address(const gpu_accel *a, const level *l)
{
    VkAccelerationStructureDeviceAddressInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR, .accelerationStructure = l->handle};
    return a->device->vk.GetAccelerationStructureDeviceAddressKHR(a->device->handle, &info);
}

/* ---- one level ---- */

/* Everything before it is done and visible to what follows: uploads, levels below, and, at the end, the level itself for kernels. */
static void barrier(gpu_device *d, VkCommandBuffer commands)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    d->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &memory, 0, NULL, 0, NULL);
}

static bl_result run_build(gpu_device *d, gpu_batch *batch, const VkAccelerationStructureBuildGeometryInfoKHR *info, uint32_t count, bl_error *err)
{
    const VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = count}, *ranges = &range;
    TRY(gpu_batch_begin(batch, err));
    VkCommandBuffer commands = gpu_batch_commands(batch);
    barrier(d, commands);
    d->vk.CmdBuildAccelerationStructuresKHR(commands, 1, info, &ranges);
    barrier(d, commands);
    TRY(gpu_batch_submit(batch, err));
    return gpu_batch_wait(batch, NULL, err);
}

static bl_result create_level(gpu_accel *a, level *l, VkAccelerationStructureTypeKHR type, uint64_t size, bl_error *err)
{
    gpu_device *d = a->device;
    TRY(gpu_buffer_create_for(d, GPU_DEVICE, size, VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR, a->label, &l->storage, err));
    VkAccelerationStructureCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
                                                 .buffer = l->storage->handle,
                                                 .size = size,
                                                 .type = type};
    VkResult created = d->vk.CreateAccelerationStructureKHR(d->handle, &info, NULL, &l->handle);
    if (created != VK_SUCCESS) {
        l->handle = VK_NULL_HANDLE;
        return gpu_vk_error(err, "vkCreateAccelerationStructureKHR", created);
    }
    gpu_label(d, VK_OBJECT_TYPE_ACCELERATION_STRUCTURE_KHR, GPU_HANDLE(l->handle), a->label);
    return BL_OK;
}

static bl_result build_level(gpu_accel *a, level *l, VkAccelerationStructureTypeKHR type, const VkAccelerationStructureGeometryKHR *geometry,
                             uint32_t count, bl_error *err)
{
    gpu_device *d = a->device;
    VkAccelerationStructureBuildGeometryInfoKHR info = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
                                                        .type = type,
                                                        .flags = VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR,
                                                        .mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
                                                        .geometryCount = 1,
                                                        .pGeometries = geometry};
    VkAccelerationStructureBuildSizesInfoKHR sizes = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
    d->vk.GetAccelerationStructureBuildSizesKHR(d->handle, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &count, &sizes);
    TRY(create_level(a, l, type, sizes.accelerationStructureSize, err));
    uint64_t alignment = d->candidate->accel_scratch_alignment;
    gpu_buffer *scratch = NULL;
    gpu_batch *batch = NULL;
    bl_result result = gpu_buffer_create(d, GPU_DEVICE, sizes.buildScratchSize + alignment, "scratch of a build", &scratch, err);
    if (result == BL_OK)
        result = gpu_batch_create(d, &batch, err);
    if (result == BL_OK) {
        info.dstAccelerationStructure = l->handle;
        info.scratchData.deviceAddress = (gpu_buffer_address(scratch) + alignment - 1) / alignment * alignment;
        result = run_build(d, batch, &info, count, err);
    }
    gpu_batch_destroy(batch);
    gpu_buffer_destroy(scratch);
    return result;
}

/* ---- what the levels are made of ---- */

static bl_result upload(gpu_accel *a, const void *data, uint64_t size, gpu_buffer **out, bl_error *err)
{
    TRY(gpu_buffer_create_for(a->device, GPU_DEVICE, size, VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR,
                              "input of a build", out, err));
    bl_result result = gpu_buffer_write(*out, 0, data, size, err);
    if (result != BL_OK) {
        gpu_buffer_destroy(*out);
        *out = NULL;
    }
    return result;
}

static bl_result build_triangles(gpu_accel *a, level *l, const gpu_accel_group *desc, bl_error *err)
{
    gpu_buffer *corners;
    TRY(upload(a, desc->triangles, (uint64_t)desc->triangle_count * TRIANGLE_BYTES, &corners, err));
    VkAccelerationStructureGeometryKHR geometry = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
        .geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR,
        .geometry.triangles = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
                               .vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
                               .vertexData.deviceAddress = gpu_buffer_address(corners),
                               .vertexStride = 3 * sizeof(float),
                               .maxVertex = 3 * desc->triangle_count - 1,
                               .indexType = VK_INDEX_TYPE_NONE_KHR},
        .flags = VK_GEOMETRY_OPAQUE_BIT_KHR};
    bl_result result = build_level(a, l, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, &geometry, desc->triangle_count, err);
    gpu_buffer_destroy(corners);
    return result;
}

static bl_result build_boxes(gpu_accel *a, level *l, const gpu_accel_group *desc, bl_error *err)
{
    gpu_buffer *boxes;
    TRY(upload(a, desc->boxes, (uint64_t)desc->box_count * BOX_BYTES, &boxes, err));
    VkAccelerationStructureGeometryKHR geometry = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
        .geometryType = VK_GEOMETRY_TYPE_AABBS_KHR,
        .geometry.aabbs = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
                           .data.deviceAddress = gpu_buffer_address(boxes),
                           .stride = BOX_BYTES},
        .flags = VK_GEOMETRY_OPAQUE_BIT_KHR};
    bl_result result = build_level(a, l, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, &geometry, desc->box_count, err);
    gpu_buffer_destroy(boxes);
    return result;
}

static void add_instance(const gpu_accel *a, const gpu_accel_instance *instance, uint32_t which, VkAccelerationStructureInstanceKHR *list, uint32_t *count)
{
    const level *l = &a->levels[2 * instance->group + which];
    if (!l->handle)
        return;
    VkAccelerationStructureInstanceKHR *out = &list[(*count)++];
    *out = (VkAccelerationStructureInstanceKHR){
        .instanceCustomIndex = (which == LEVEL_TRIANGLES ? instance->triangle_index : instance->box_index) & (CUSTOM_INDEX_END - 1),
        .mask = EVERY_RAY,
        .flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR,
        .accelerationStructureReference = level_address(a, l)};
    memcpy(out->transform.matrix, instance->to_world, sizeof instance->to_world);
}

static bl_result build_top(gpu_accel *a, const gpu_accel_desc *desc, bl_error *err)
{
    VkAccelerationStructureInstanceKHR *list = calloc(2 * (size_t)desc->instance_count + 1, sizeof *list);
    uint32_t count = 0;
    gpu_buffer *instances;
    if (!list)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < desc->instance_count; k++)
        for (uint32_t which = LEVEL_TRIANGLES; which <= LEVEL_BOXES; which++)
            add_instance(a, &desc->instances[k], which, list, &count);
    bl_result uploaded = upload(a, list, (count + !count) * sizeof *list, &instances, err);
    free(list);
    TRY(uploaded);
    VkAccelerationStructureGeometryKHR geometry = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
        .geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR,
        .geometry.instances = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
                               .data.deviceAddress = gpu_buffer_address(instances)}};
    bl_result result = build_level(a, &a->levels[a->level_count - 1], VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, &geometry, count, err);
    gpu_buffer_destroy(instances);
    return result;
}

/* ---- life ---- */

static bl_result check_desc(const gpu_device *d, const gpu_accel_desc *desc, const char *label, bl_error *err)
{
    const gpu_candidate *c = d->candidate;
    if (!c->info.ray_query)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s has no ray queries (VK_KHR_ray_query)", c->info.name);
    for (uint32_t k = 0; k < desc->group_count; k++)
        if (desc->groups[k].triangle_count > c->max_accel_primitives || desc->groups[k].box_count > c->max_accel_primitives)
            return error_set(err, BL_ERROR_UNSUPPORTED, "'%s': %u triangles and %u boxes; %s takes at most %llu of a kind", label,
                             desc->groups[k].triangle_count, desc->groups[k].box_count, c->info.name, (unsigned long long)c->max_accel_primitives);
    for (uint32_t k = 0; k < desc->instance_count; k++)
        if (desc->instances[k].triangle_index >= CUSTOM_INDEX_END || desc->instances[k].box_index >= CUSTOM_INDEX_END)
            return error_set(err, BL_ERROR_UNSUPPORTED, "'%s': indices %u and %u of instance %u; ray queries have 24 bits for them", label,
                             desc->instances[k].triangle_index, desc->instances[k].box_index, k);
    return BL_OK;
}

static bl_result build(gpu_accel *a, const gpu_accel_desc *desc, bl_error *err)
{
    for (uint32_t k = 0; k < desc->group_count; k++) {
        if (desc->groups[k].triangle_count)
            TRY(build_triangles(a, &a->levels[2 * k + LEVEL_TRIANGLES], &desc->groups[k], err));
        if (desc->groups[k].box_count)
            TRY(build_boxes(a, &a->levels[2 * k + LEVEL_BOXES], &desc->groups[k], err));
    }
    return build_top(a, desc, err);
}

bl_result gpu_accel_create(gpu_device *d, const gpu_accel_desc *desc, gpu_accel **out, bl_error *err)
{
    *out = NULL;
    const char *label = desc->label ? desc->label : "acceleration structure";
    TRY(check_desc(d, desc, label, err));
    gpu_accel *a = calloc(1, sizeof *a);
    if (a) {
        a->label = strdup(label);
        a->level_count = 2 * desc->group_count + 1;
        a->levels = calloc(a->level_count, sizeof *a->levels);
    }
    if (!a || !a->label || !a->levels) {
        if (a)
            free(a->label), free(a->levels);
        free(a);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    a->device = d;
    bl_result result = build(a, desc, err);
    if (result != BL_OK)
        gpu_accel_destroy(a);
    else
        *out = a;
    return result;
}

void gpu_accel_destroy(gpu_accel *a)
{
    if (!a)
        return;
    for (uint32_t k = a->level_count; k-- > 0;) {
        if (a->levels[k].handle)
            a->device->vk.DestroyAccelerationStructureKHR(a->device->handle, a->levels[k].handle, NULL);
        gpu_buffer_destroy(a->levels[k].storage);
    }
    free(a->levels);
    free(a->label);
    free(a);
}

uint64_t gpu_accel_address(const gpu_accel *a) { return level_address(a, &a->levels[a->level_count - 1]); }

uint64_t gpu_accel_size(const gpu_accel *a)
{
    uint64_t size = 0;
    for (uint32_t k = 0; k < a->level_count; k++)
        size += a->levels[k].storage ? gpu_buffer_size(a->levels[k].storage) : 0;
    return size;
}
