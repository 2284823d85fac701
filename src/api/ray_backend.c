/* SPDX-License-Identifier: BSD-3-Clause
 * Rays of jobs: whether to use ray queries, and the acceleration structure that they need, made of a scene's
 * primitives; and what answers rays on the native device.
 *
 * Entry k of a group is its box k, or its triangle k - box_count (render/plan_bvh.c orders them so).
 * Triangles are given with the corners of their meshes as they are when the scene is loaded, boxes with the
 * bounds of what is in them. Vertices that move make corners anew on the device (job_geometry.c). */
#include "api/ray_backend.h"
#include "render/shape/kinds.h"

#include <stdlib.h>
#include <string.h>

/* CPU devices traverse our own hierarchy at least as fast as they answer ray queries
 * (docs/decisions/ray-queries.md). A GPU has units for queries. */
static bool query_suits(const gpu_info *device)
{
    return device->ray_query && device->kind != GPU_LAVAPIPE && device->kind != GPU_SWIFTSHADER;
}

bl_result ray_backend_choose(const gpu_info *device, const render_scene *s, const bl_job_desc *desc,
                             plan_rays *out, bl_error *err)
{
    bool bake = !desc->no_baking && !desc->geometry_changes && plan_can_bake(s);
    if ((unsigned)desc->rays >= BL_RAYS_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "%d is no way to trace rays", (int)desc->rays);
    if (desc->rays == BL_RAYS_QUERY && !device->ray_query)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "%s has no ray queries (VK_KHR_ray_query); use the ray backend bvh", device->name);
    const bool doubles = desc->precision == BL_PRECISION_DOUBLE; /* queries have floats alone */
    if (desc->rays == BL_RAYS_QUERY && doubles)
        return error_set(
            err, BL_ERROR_UNSUPPORTED,
            "ray queries are in single precision; use the ray backend bvh with double precision");
    if (desc->rays == BL_RAYS_QUERY ||
        (desc->rays == BL_RAYS_AUTO && !bake && !doubles && query_suits(device)))
        *out = PLAN_RAYS_QUERY;
    else
        *out = bake ? PLAN_RAYS_BAKED : PLAN_RAYS_BVH;
    return BL_OK;
}

static void triangle_corners(const render_scene *s, const render_primitive *p, float out[9])
{
    const uint32_t *words = s->geometry.data, *mesh = words + s->shapes.data[p->entry[BVH_ENTRY_SHAPE]].data;
    const uint32_t *face = words + mesh[MESH_FACES] + 3 * p->entry[BVH_ENTRY_PRIMITIVE];
    for (int k = 0; k < 3; k++)
        memcpy(out + 3 * k, words + mesh[MESH_POSITIONS] + 3 * face[k], 3 * sizeof *out);
}

/* Gathers corners and bounds of a group's primitives, in the order of its entries. Both are malloc'ed. */
static bl_result gather(const plan *p, const plan_group *g, gpu_accel_group *out, bl_error *err)
{
    const render_scene *s = p->scene;
    uint32_t boxes = g->box_count, triangles = g->count - boxes;
    float *bounds = memory_alloc((size_t)boxes * 6 * sizeof *bounds + 1),
          *corners = memory_alloc((size_t)triangles * 9 * sizeof *corners + 1);
    *out = (gpu_accel_group){
        .triangles = corners, .boxes = bounds, .triangle_count = triangles, .box_count = boxes};
    if (!bounds || !corners)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the corners of %u triangles", triangles);
    for (uint32_t k = 0; k < g->count; k++) {
        const render_primitive *primitive = &s->primitives.data[p->order[g->first + k]];
        if (k < boxes)
            memcpy(bounds + 6 * (size_t)k, primitive->bounds, sizeof primitive->bounds);
        else
            triangle_corners(s, primitive, corners + 9 * (size_t)(k - boxes));
    }
    return BL_OK;
}

/* Lists the instances. Their custom indices are rows of the table of instances or, without such a table,
 * entries. */
static void list_instances(const plan *p, gpu_accel_instance *list)
{
    const render_scene *s = p->scene;
    list[0] = (gpu_accel_instance){
        .to_world = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
        .triangle_index = p->groups[0].box_count,
    };
    for (uint32_t k = 0; k < s->instances.count; k++) {
        list[k] = (gpu_accel_instance){
            .group = s->instances.data[k].group,
            .triangle_index = 2 * k,
            .box_index = 2 * k + 1,
            .hidden = s->instances.data[k].hidden,
        };
        memcpy(list[k].to_world, s->instances.data[k].to_world, sizeof list[k].to_world);
    }
}

static void put_address(plan *p, uint64_t address)
{
    p->words.data[HEADER_ACCEL] = (uint32_t)address,
    p->words.data[HEADER_ACCEL + 1] = (uint32_t)(address >> 32);
}

bl_result ray_backend_build(gpu_device *d, plan *p, bool changes, gpu_accel **out, bl_error *err)
{
    BL_ASSERT(p->query && p->group_count > 0, "%u groups for ray queries", p->group_count);
    const render_scene *s = p->scene;
    uint32_t instances = s->has_groups ? s->instances.count : 1;
    gpu_accel_group *groups = memory_zeroed(p->group_count + 1, sizeof *groups);
    gpu_accel_instance *list = memory_zeroed(instances + 1, sizeof *list);
    bl_result r = groups && list ? BL_OK : error_set(err, BL_ERROR_MEMORY, "out of memory");
    for (uint32_t g = 0; r == BL_OK && g < p->group_count; g++)
        r = gather(p, &p->groups[g], &groups[g], err);
    if (r == BL_OK) {
        list_instances(p, list);
        r = gpu_accel_create(d,
                             &(gpu_accel_desc){.groups = groups,
                                               .group_count = p->group_count,
                                               .instances = list,
                                               .instance_count = instances,
                                               .changes = changes,
                                               .label = "scene"},
                             out, err);
    }
    for (uint32_t g = 0; groups && g < p->group_count; g++)
        memory_free((void *)(uintptr_t)groups[g].triangles), memory_free((void *)(uintptr_t)groups[g].boxes);
    memory_free(groups);
    memory_free(list);
    if (r != BL_OK)
        return r;
    put_address(p, gpu_accel_address(*out));
    return BL_OK;
}

uint64_t ray_backend_host_bytes(const render_scene *s)
{
    uint64_t nodes = s->bvh.node_count;
    for (uint32_t g = 0; g < s->groups.count; g++)
        nodes += s->groups.data[g].bvh.node_count;
    return 4 * (nodes * BVH_NODE_WORDS + (uint64_t)s->primitives.count * BVH_ENTRY_WORDS);
}

/* The number of triangles among the kinds of a scene; ~0: there are none. */
static uint32_t triangle_kind(const plan *p) { return p->scene->kind_used[SHAPE_TRIANGLES] ? 0 : ~0u; }

spv_rays ray_backend_lowering(const plan *p)
{
    return (spv_rays){
        .query = p->query,
        .scene_buffer = BUFFER_SCENE,
        .accel_word = HEADER_ACCEL,
        .entry_base_word = HEADER_ENTRIES,
        .level_word = p->scene->has_groups ? HEADER_INSTANCES : 0,
        .triangle_kind = triangle_kind(p),
    };
}

x86_options ray_backend_native(const plan *p, x86_target target)
{
    return (x86_options){.target = target,
                         .rays_buffer = BUFFER_SCENE,
                         .rays_word = HEADER_ACCEL,
                         .triangle_kind = triangle_kind(p)};
}

bool ray_backend_wants_hierarchy(const gpu_info *device, const plan *p)
{
    return device->native_target && !p->query && !p->baked && !p->doubles;
}

bl_result ray_backend_hierarchy(gpu_device *d, plan *p, gpu_buffer *scene, gpu_hierarchy **out, bl_error *err)
{
    const gpu_hierarchy_desc desc = {
        .scene = scene,
        .node_base_word = HEADER_NODES,
        .entry_base_word = HEADER_ENTRIES,
        .level_word = p->scene->groups.count ? HEADER_LEVEL : 0,
        .triangle_kind = triangle_kind(p),
    };
    TRY(gpu_hierarchy_create(d, &desc, out, err));
    put_address(p, gpu_hierarchy_address(*out));
    return gpu_buffer_write(scene, 4 * HEADER_ACCEL, p->words.data + HEADER_ACCEL, 8, err);
}
