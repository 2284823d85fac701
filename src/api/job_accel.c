/* SPDX-License-Identifier: BSD-3-Clause
 * An acceleration structure of the caller's in place of a job's (backlight_vulkan.h). Kernels find what a
 * query has hit by custom index plus primitive index, a row of the list of entries. That list then stands in
 * the order of shapes and faces, and the job's own structure goes. */
#include "api/job.h"
#include "api/job_recorded.h"
#include "gpu/vulkan/record.h"

static bl_result check_scene(const bl_job *job, bl_error *err)
{
    const render_scene *s = job->scene;
    TRY(job_recorded_check(job, err));
    if (!job->plan->query)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "an acceleration structure is for jobs whose rays are queries (BL_RAYS_QUERY)");
    if (s->has_groups)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "an acceleration structure of the caller's cannot show shapegroups");
    if (job->plan->groups[0].box_count)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "an acceleration structure of the caller's is for scenes of meshes: %u primitives "
                         "are no triangles",
                         job->plan->groups[0].box_count);
    return BL_OK;
}

static bl_result describe_mesh(const bl_job *job, uint32_t shape, bl_vulkan_mesh *out, bl_error *err)
{
    TRY(check_scene(job, err));
    if (shape >= job->scene->shapes.count)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no shape %u of %u", shape,
                         job->scene->shapes.count);
    const render_shape *own = &job->scene->shapes.data[shape];
    *out =
        (bl_vulkan_mesh){.custom_index = own->first_entry_primitive, .triangle_count = own->primitive_count};
    return BL_OK;
}

bl_result bl_job_vulkan_mesh(bl_job *job, uint32_t shape, bl_vulkan_mesh *out)
{
    bl_error err = {0};
    return describe_mesh(job, shape, out, &err) == BL_OK ? BL_OK : context_fail(job->context, &err);
}

static bl_result use(bl_job *job, VkAccelerationStructureKHR top, bl_error *err)
{
    plan *p = job->plan;
    TRY(check_scene(job, err));
    if (!top)
        return error_set(err, BL_ERROR_ARGUMENT, "no acceleration structure is given");
    if (job->accel && job->geometry)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "give the acceleration structure before anything of the job has moved");
    uint64_t address = vulkan_accel_address(job->device->gpu, top);
    p->words.data[HEADER_ACCEL] = (uint32_t)address,
    p->words.data[HEADER_ACCEL + 1] = (uint32_t)(address >> 32);
    if (job->accel) {
        const uint32_t at = p->words.data[HEADER_ENTRIES];
        plan_order_by_shape(p);
        TRY(gpu_buffer_write(job->words, 4ull * at, p->words.data + at,
                             4ull * (BVH_ENTRY_WORDS + (uint32_t)p->edges) * p->scene->primitives.count,
                             err));
        job->bytes -= gpu_accel_size(job->accel);
        gpu_accel_destroy(job->accel);
        job->accel = NULL;
    }
    return gpu_buffer_write(job->words, 4 * HEADER_ACCEL, p->words.data + HEADER_ACCEL, 8, err);
}

bl_result bl_job_use_accel(bl_job *job, VkAccelerationStructureKHR top)
{
    bl_error err = {0};
    return use(job, top, &err) == BL_OK ? BL_OK : context_fail(job->context, &err);
}
