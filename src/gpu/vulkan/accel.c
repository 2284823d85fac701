/* SPDX-License-Identifier: BSD-3-Clause
 * Acceleration structures (VK_KHR_acceleration_structure): at the bottom, for each group, one of all
 * triangles and one of all boxes, because a bottom level holds one kind of geometry, and a top level with the
 * instances of each that there is.
 *
 * Kernels find the top level by its device address, so there is no descriptor. Inputs and scratch memory live
 * as long as a build, which is waited for; what is left are the levels, each in a buffer of its own. Of
 * geometry that changes they are kept: new corners go into the inputs, and the levels are updated or built
 * anew where they are, so their addresses stay. */
#include "gpu/vulkan/vulkan.h"

#include <stdlib.h>
#include <string.h>

enum { CUSTOM_INDEX_END = 1 << 24, EVERY_RAY = 0xFF, TRIANGLE_BYTES = 9 * 4, BOX_BYTES = 6 * 4 };

typedef struct level {
    VkAccelerationStructureKHR handle;
    gpu_buffer *storage;
    gpu_buffer *input, *scratch; /* NULL once built, unless geometry changes */
    uint32_t count;              /* of triangles, boxes, instances */
} level;

/* Levels of group g are 2 g + one of the first two; the top one is the last. */
typedef enum level_kind { LEVEL_TRIANGLES, LEVEL_BOXES, LEVEL_TOP } level_kind;

struct gpu_accel {
    vulkan_device *device;
    level *levels;
    uint32_t level_count;
    bool changes;
    uint32_t *rows; /* of the top level: the first of each instance, and the end */
    char *label;
};

static uint64_t level_address(const gpu_accel *a, const level *l)
{
    VkAccelerationStructureDeviceAddressInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR,
        .accelerationStructure = l->handle};
    return a->device->vk.vkGetAccelerationStructureDeviceAddressKHR(a->device->handle, &info);
}

/* ---- one level ---- */

/* Everything before it is done and visible to what follows: uploads, levels below, and, at the end, the level
 * itself for kernels. */
static void barrier(vulkan_device *d, VkCommandBuffer commands)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    d->vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                               VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &memory, 0, NULL, 0, NULL);
}

static void record_build(vulkan_device *d, VkCommandBuffer commands,
                         const VkAccelerationStructureBuildGeometryInfoKHR *info, uint32_t count)
{
    const VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = count}, *ranges = &range;
    barrier(d, commands);
    d->vk.vkCmdBuildAccelerationStructuresKHR(commands, 1, info, &ranges);
    barrier(d, commands);
}

static bl_result create_level(gpu_accel *a, level *l, VkAccelerationStructureTypeKHR type, uint64_t size,
                              bl_error *err)
{
    vulkan_device *d = a->device;
    const gpu_buffer_desc storage = {.where = GPU_DEVICE,
                                     .size = size,
                                     .usage = VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR,
                                     .label = a->label};
    TRY(gpu_buffer_create_for(&d->head, &storage, &l->storage, err));
    VkAccelerationStructureCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
        .buffer = vulkan_buffer_handle(l->storage),
        .size = size,
        .type = type,
    };
    VkResult created = d->vk.vkCreateAccelerationStructureKHR(d->handle, &info, d->allocator, &l->handle);
    if (created != VK_SUCCESS) {
        l->handle = VK_NULL_HANDLE;
        return gpu_vk_error(err, "vkCreateAccelerationStructureKHR", created);
    }
    gpu_label(d, VK_OBJECT_TYPE_ACCELERATION_STRUCTURE_KHR, GPU_HANDLE(l->handle), a->label);
    return BL_OK;
}

/* What is built, of a level whose input is there. */
static VkAccelerationStructureGeometryKHR geometry_of(const level *l, level_kind kind)
{
    VkAccelerationStructureGeometryKHR g = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};
    BL_ASSERT(l->input, "a level of %u elements has no input", l->count);
    uint64_t address = gpu_buffer_address(l->input);
    if (kind == LEVEL_TRIANGLES) {
        g.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR, g.flags = VK_GEOMETRY_OPAQUE_BIT_KHR;
        g.geometry.triangles = (VkAccelerationStructureGeometryTrianglesDataKHR){
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
            .vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
            .vertexData.deviceAddress = address,
            .vertexStride = 3 * sizeof(float),
            .maxVertex = 3 * l->count - 1,
            .indexType = VK_INDEX_TYPE_NONE_KHR};
    } else if (kind == LEVEL_BOXES) {
        g.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR, g.flags = VK_GEOMETRY_OPAQUE_BIT_KHR;
        g.geometry.aabbs = (VkAccelerationStructureGeometryAabbsDataKHR){
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
            .data.deviceAddress = address,
            .stride = BOX_BYTES};
    } else {
        g.geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR;
        g.geometry.instances = (VkAccelerationStructureGeometryInstancesDataKHR){
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
            .data.deviceAddress = address};
    }
    return g;
}

static VkAccelerationStructureTypeKHR type_of(level_kind kind)
{
    return kind == LEVEL_TOP ? VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR
                             : VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR;
}

static VkAccelerationStructureBuildGeometryInfoKHR
build_info(const gpu_accel *a, level_kind kind, const VkAccelerationStructureGeometryKHR *geometry)
{
    VkBuildAccelerationStructureFlagsKHR update =
        a->changes && kind == LEVEL_TRIANGLES ? VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_UPDATE_BIT_KHR : 0;
    return (VkAccelerationStructureBuildGeometryInfoKHR){
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .type = type_of(kind),
        .flags = VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR | update,
        .mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
        .geometryCount = 1,
        .pGeometries = geometry};
}

/* Appends the building of a level from its input; update: of what adapts the structure that is there. */
static void record_level(gpu_accel *a, gpu_batch *batch, level *l, level_kind kind, bool update)
{
    uint64_t alignment = a->device->candidate->accel_scratch_alignment;
    BL_ASSERT(l->handle && l->scratch && alignment, "a level of '%s' is filled before it is made, or after",
              a->label);
    VkCommandBuffer commands = vulkan_batch_commands(batch);
    if (!commands)
        return;
    VkAccelerationStructureGeometryKHR geometry = geometry_of(l, kind);
    VkAccelerationStructureBuildGeometryInfoKHR info = build_info(a, kind, &geometry);
    info.dstAccelerationStructure = l->handle;
    info.scratchData.deviceAddress = (gpu_buffer_address(l->scratch) + alignment - 1) / alignment * alignment;
    if (update)
        info.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR,
        info.srcAccelerationStructure = l->handle;
    record_build(a->device, commands, &info, l->count);
}

static bl_result fill_level(gpu_accel *a, level *l, level_kind kind, bl_error *err)
{
    gpu_batch *batch = NULL;
    TRY(gpu_batch_create(&a->device->head, &batch, err));
    bl_result result = gpu_batch_begin(batch, err);
    if (result == BL_OK) {
        record_level(a, batch, l, kind, false);
        result = gpu_batch_submit(batch, err);
    }
    if (result == BL_OK)
        result = gpu_batch_wait(batch, NULL, err);
    gpu_batch_destroy(batch);
    return result;
}

static void drop_input(level *l)
{
    gpu_buffer_destroy(l->input);
    gpu_buffer_destroy(l->scratch);
    l->input = l->scratch = NULL;
}

/* data: `count` triangles, boxes or instances. */
static bl_result build_level(gpu_accel *a, level *l, level_kind kind, const void *data, uint32_t count,
                             bl_error *err)
{
    static const uint64_t bytes[] = {[LEVEL_TRIANGLES] = TRIANGLE_BYTES,
                                     [LEVEL_BOXES] = BOX_BYTES,
                                     [LEVEL_TOP] = sizeof(VkAccelerationStructureInstanceKHR)};
    vulkan_device *d = a->device;
    const gpu_buffer_desc input = {
        .where = GPU_DEVICE,
        .size = count * bytes[kind],
        .usage = VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR,
        .label = "input of a build",
    };
    l->count = count;
    TRY(gpu_buffer_create_for(&d->head, &input, &l->input, err));
    TRY(gpu_buffer_write(l->input, 0, data, input.size, err));
    VkAccelerationStructureGeometryKHR geometry = geometry_of(l, kind);
    VkAccelerationStructureBuildGeometryInfoKHR info = build_info(a, kind, &geometry);
    VkAccelerationStructureBuildSizesInfoKHR sizes = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
    d->vk.vkGetAccelerationStructureBuildSizesKHR(d->handle, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR,
                                                  &info, &count, &sizes);
    TRY(create_level(a, l, type_of(kind), sizes.accelerationStructureSize, err));
    uint64_t scratch =
        sizes.buildScratchSize > sizes.updateScratchSize ? sizes.buildScratchSize : sizes.updateScratchSize;
    TRY(gpu_buffer_create(&d->head, GPU_DEVICE, scratch + d->candidate->accel_scratch_alignment,
                          "scratch of a build", &l->scratch, err));
    TRY(fill_level(a, l, kind, err));
    if (!a->changes || kind == LEVEL_BOXES)
        drop_input(l);
    return BL_OK;
}

/* ---- the top level ---- */

static void add_instance(const gpu_accel *a, const gpu_accel_instance *instance, level_kind which,
                         VkAccelerationStructureInstanceKHR *list, uint32_t *count)
{
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    BL_ASSERT(2 * instance->group + 1 < a->level_count, "an instance of group %u", instance->group);
    const level *l = &a->levels[2 * instance->group + which];
    if (!l->handle)
        return;
    VkAccelerationStructureInstanceKHR *out = &list[(*count)++];
    *out = (VkAccelerationStructureInstanceKHR){
        .instanceCustomIndex = (which == LEVEL_TRIANGLES ? instance->triangle_index : instance->box_index) &
                               (CUSTOM_INDEX_END - 1),
        .mask = instance->hidden ? 0 : EVERY_RAY,
        .flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR,
        .accelerationStructureReference = level_address(a, l)};
    memcpy(out->transform.matrix, instance->hidden ? identity : instance->to_world, sizeof identity);
}

static bl_result build_top(gpu_accel *a, const gpu_accel_desc *desc, bl_error *err)
{
    VkAccelerationStructureInstanceKHR *list = calloc(2 * (size_t)desc->instance_count + 1, sizeof *list);
    uint32_t count = 0;
    if (!list)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < desc->instance_count; k++) {
        a->rows[k] = count;
        for (level_kind which = LEVEL_TRIANGLES; which <= LEVEL_BOXES; which++)
            add_instance(a, &desc->instances[k], which, list, &count);
    }
    a->rows[desc->instance_count] = count;
    bl_result result = build_level(a, &a->levels[a->level_count - 1], LEVEL_TOP, list, count, err);
    free(list);
    return result;
}

/* ---- life ---- */

static bl_result check_desc(const gpu_device *d, const gpu_accel_desc *desc, const char *label, bl_error *err)
{
    const gpu_info *info = gpu_device_info(d);
    if (!info->ray_query)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s has no ray queries (VK_KHR_ray_query)", info->name);
    const vulkan_candidate *c = (const vulkan_candidate *)d->candidate;
    for (uint32_t k = 0; k < desc->group_count; k++)
        if (desc->groups[k].triangle_count > c->max_accel_primitives ||
            desc->groups[k].box_count > c->max_accel_primitives)
            return error_set(err, BL_ERROR_UNSUPPORTED,
                             "'%s': %u triangles and %u boxes; %s takes at most %llu of a kind", label,
                             desc->groups[k].triangle_count, desc->groups[k].box_count, info->name,
                             (unsigned long long)c->max_accel_primitives);
    for (uint32_t k = 0; k < desc->instance_count; k++)
        if (desc->instances[k].triangle_index >= CUSTOM_INDEX_END ||
            desc->instances[k].box_index >= CUSTOM_INDEX_END)
            return error_set(err, BL_ERROR_UNSUPPORTED,
                             "'%s': indices %u and %u of instance %u; ray queries have 24 bits for them",
                             label, desc->instances[k].triangle_index, desc->instances[k].box_index, k);
    return BL_OK;
}

static bl_result build(gpu_accel *a, const gpu_accel_desc *desc, bl_error *err)
{
    for (uint32_t k = 0; k < desc->group_count; k++) {
        const gpu_accel_group *g = &desc->groups[k];
        level *of = a->levels + 2 * (size_t)k;
        if (g->triangle_count)
            TRY(build_level(a, &of[LEVEL_TRIANGLES], LEVEL_TRIANGLES, g->triangles, g->triangle_count, err));
        if (g->box_count)
            TRY(build_level(a, &of[LEVEL_BOXES], LEVEL_BOXES, g->boxes, g->box_count, err));
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
        a->rows = calloc(desc->instance_count + 1u, sizeof *a->rows);
    }
    if (!a || !a->label || !a->levels || !a->rows) {
        if (a)
            free(a->label), free(a->levels), free(a->rows);
        free(a);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    a->device = vulkan_device_of(d), a->changes = desc->changes;
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
            a->device->vk.vkDestroyAccelerationStructureKHR(a->device->handle, a->levels[k].handle,
                                                            a->device->allocator);
        gpu_buffer_destroy(a->levels[k].storage);
        drop_input(&a->levels[k]);
    }
    free(a->levels);
    free(a->rows);
    free(a->label);
    free(a);
}

uint64_t gpu_accel_address(const gpu_accel *a) { return level_address(a, &a->levels[a->level_count - 1]); }

uint64_t gpu_accel_size(const gpu_accel *a)
{
    uint64_t size = 0;
    for (uint32_t k = 0; k < a->level_count; k++)
        for (int which = 0; which < 3; which++) {
            gpu_buffer *const kept[3] = {a->levels[k].storage, a->levels[k].input, a->levels[k].scratch};
            size += kept[which] ? gpu_buffer_size(kept[which]) : 0;
        }
    return size;
}

bool gpu_accel_changes(const gpu_accel *a) { return a->changes; }

gpu_buffer *gpu_accel_corners(gpu_accel *a, uint32_t group)
{
    BL_ASSERT(a->changes && 2 * group + 1 < a->level_count, "corners of group %u of '%s'", group, a->label);
    return a->levels[2 * (size_t)group + LEVEL_TRIANGLES].input;
}

gpu_buffer *gpu_accel_instances(gpu_accel *a) { return a->levels[a->level_count - 1].input; }

uint32_t gpu_accel_maps(const gpu_accel *a, uint32_t instance, uint64_t at[2])
{
    uint32_t first = a->rows[instance], count = a->rows[instance + 1] - first;
    for (uint32_t k = 0; k < count; k++)
        at[k] = (uint64_t)(first + k) * sizeof(VkAccelerationStructureInstanceKHR) +
                offsetof(VkAccelerationStructureInstanceKHR, transform);
    return count;
}

void gpu_accel_record_follow(gpu_accel *a, gpu_batch *batch, uint32_t group, bool anew)
{
    BL_ASSERT(a->changes && 2 * group + 1 < a->level_count, "group %u of '%s' does not change", group,
              a->label);
    record_level(a, batch, &a->levels[2 * (size_t)group + LEVEL_TRIANGLES], LEVEL_TRIANGLES, !anew);
}

void gpu_accel_record_follow_top(gpu_accel *a, gpu_batch *batch)
{
    record_level(a, batch, &a->levels[a->level_count - 1], LEVEL_TOP, false);
}
