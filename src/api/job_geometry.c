/* SPDX-License-Identifier: BSD-3-Clause
 * Geometry that changes: positions, normals and texture coordinates of meshes, and to_world of shapes. They
 * stand in the scene buffer. Those that are parameters of a job stand among the values, too, and are copied
 * from there to the scene buffer before a pass. Then the device computes again what depends on positions, by
 * the dispatches that render/refit.h lists.
 *
 * Refitting keeps the hierarchy's tree, which is good for where vertices were when it was built. Its cost by
 * the surface area heuristic is compared with its cost at that time. Beyond a factor of `decayed` a new tree
 * is built on the host. */
#include "api/job_geometry.h"
#include "api/job_buffers.h"
#include "api/job_dispatch.h"
#include "api/job_kernels.h"
#include "api/ray_backend.h"

#include "render/classes.h"
#include "render/refit.h"
#include "render/shape/ellipsoids.h"

#include <stdlib.h>
#include <string.h>

static const double decayed = 1.5;
enum {
    /* After so many updates an acceleration structure is built again, since nothing tells its cost. */
    UPDATES_MOST = 15
};

typedef struct job_geometry {
    bool *moves;      /* for each parameter: it has moved shapes since the job was made */
    bool listed;      /* refit covers all parameters in `moves` */
    uint32_t updates; /* number of updates of the acceleration structure since it was built */
    refit refit;
} job_geometry;

/* Whether a parameter moves shapes: positions of a mesh, the place of a shape that follows it, or, if it is
 * requested, an array of ellipsoids. */
static bool moves_shapes(const bl_job *job, uint32_t parameter)
{
    const render_parameter *p = &job->scene->parameters.data[parameter];
    if (p->slot == PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS)
        return true;
    return to_world_follows(job->plan, parameter) ||
           (job->plan->gradient_offset[parameter] != PLAN_NONE && ellipsoid_moves(job->scene, parameter));
}

/* The offset of a parameter's geometry in the scene buffer, in bytes. */
static uint64_t place_of(const bl_job *job, const render_parameter *p)
{
    return 4ull * (job->plan->geometry + p->source);
}

/* Whether the parameter is an array of a mesh that moves by its to_world. The to_world gives its vertices. */
static bool goes_by_place(const bl_job *job, const render_parameter *p)
{
    bool placed = false;
    for (uint32_t i = 0; i < job->scene->shapes.count && p->slot < PLAN_ARRAY_SLOT + MESH_ARRAY_UVS; i++)
        placed |= job->scene->shapes.data[i].object->index == p->object &&
                  to_world_requested(job->plan, job->scene->shapes.data[i].object);
    return placed;
}

uint64_t geometry_place(const bl_job *job, uint32_t parameter)
{
    return place_of(job, &job->scene->parameters.data[parameter]);
}

bl_result geometry_check(const bl_job *job, uint32_t parameter, bl_error *err)
{
    const render_parameter *p = &job->scene->parameters.data[parameter];
    BL_ASSERT(p->source != PLAN_NONE, "%s is no geometry", p->name);
    return goes_by_place(job, p) ? error_set(err, BL_ERROR_ARGUMENT,
                                             "%s: in this job they follow the shape's to_world", p->name)
                                 : BL_OK;
}

bl_result geometry_set(bl_job *job, uint32_t parameter, const float *values, bl_error *err)
{
    const render_parameter *p = &job->scene->parameters.data[parameter];
    TRY(geometry_check(job, parameter, err));
    return gpu_buffer_write(job->words, place_of(job, p), values, 4ull * p->count, err);
}

bl_result geometry_get(bl_job *job, uint32_t parameter, float *values, bl_error *err)
{
    const render_parameter *p = &job->scene->parameters.data[parameter];
    BL_ASSERT(p->source != PLAN_NONE, "%s is no geometry", p->name);
    return gpu_buffer_read(job->words, place_of(job, p), values, 4ull * p->count, err);
}

void geometry_destroy(bl_job *job)
{
    if (!job->geometry)
        return;
    refit_free(&job->geometry->refit);
    memory_free(job->geometry->moves);
    memory_free(job->geometry);
    job->geometry = NULL;
}

/* Returns the job's state of moving geometry, and makes it at the first call. At first it lists the positions
 * from which normals are derived as moved. */
static job_geometry *begin(bl_job *job)
{
    const plan *p = job->plan;
    if (job->geometry)
        return job->geometry;
    job_geometry *g = job->geometry = memory_need_zeroed(1, sizeof *g);
    g->moves = memory_need_zeroed(job->scene->parameters.count + 1u, sizeof *g->moves);
    for (uint32_t i = 0; i < job->scene->parameters.count; i++)
        if (p->normals_of[i] != PLAN_NONE)
            g->moves[p->normals_of[i]] = true;
    return g;
}

/* The parameter that moves shapes when this one changes: for a pose the to_world that it goes with. */
static uint32_t mover_of(const bl_job *job, uint32_t parameter)
{
    uint32_t to_world = to_world_said_by(job->scene, parameter);
    return to_world == PLAN_NONE ? parameter : to_world;
}

/* Notes which parameters have moved shapes. Returns whether there are any. */
static bool note_moves(bl_job *job)
{
    const render_scene *s = job->scene;
    bool any = false;
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        if (!job->changed[i] || !moves_shapes(job, i))
            continue;
        job_geometry *g = begin(job);
        uint32_t by = mover_of(job, i);
        g->listed &= g->moves[by];
        g->moves[by] = job->changed[by] = any = true;
    }
    return any;
}

static bl_result make_lists(bl_job *job, bl_error *err)
{
    job_geometry *g = begin(job);
    if (g->listed)
        return BL_OK;
    refit_free(&g->refit);
    refit_create(job->plan, g->moves, &g->refit);
    uint64_t bytes = 4ull * g->refit.work.count;
    TRY(job_replace_buffer(job, bytes, "refitting", &job->refit, err));
    TRY(gpu_buffer_write(job->refit, 0, g->refit.work.data, bytes, err));
    g->listed = true;
    return BL_OK;
}

/* Appends copies of the values of the job's parameters to the scene buffer. */
static void record_copies(bl_job *job)
{
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        if (p->source != PLAN_NONE && job->changed[job->requested[k]])
            gpu_batch_copy(job->batch, job->values, 4ull * job->plan->value_offset[job->requested[k]],
                           job->words, place_of(job, p), 4ull * p->count);
    }
}

static void record(bl_job *job, render_pass pass, gpu_buffer *values, const refit_dispatch *d)
{
    const uint32_t push[UNIFORM_COUNT] = {
        [UNIFORM_LANE_COUNT] = d->lanes, [UNIFORM_TABLE_STEP] = d->step, [UNIFORM_TABLE_RECORD] = d->record};
    job_record(job, pass, values, push, d->lanes);
}

static void record_refit(bl_job *job)
{
    if (job->plan->posed)
        job_record_update(job, RENDER_UPDATE, job->values);
    for (uint32_t i = 0; i < job->geometry->refit.dispatches.count; i++) {
        const refit_dispatch *d = &job->geometry->refit.dispatches.data[i];
        if (d->parameter == PLAN_NONE || job->changed[d->parameter])
            record(job, RENDER_GEOMETRY, job->values, d);
    }
}

static bl_result read_cost(bl_job *job, double *cost, bl_error *err)
{
    float parts[REFIT_COST_PARTS];
    TRY(gpu_buffer_read(job->refit, 4ull * job->geometry->refit.work.data[REFIT_COSTS], parts, sizeof parts,
                        err));
    *cost = 0;
    for (uint32_t k = 0; k < REFIT_COST_PARTS; k++)
        *cost += (double)parts[k];
    return BL_OK;
}

/* Builds new trees over the triangles as they are now on the device. */
static bl_result rebuild(bl_job *job, bl_error *err)
{
    plan *p = job->plan;
    TRY(gpu_buffer_read(job->words, 0, p->words.data, 4ull * p->words.count, err));
    TRY(refit_rebuild(p, err));
    if (gpu_buffer_size(job->words) < 4ull * p->words.count)
        TRY(job_replace_buffer(job, 4ull * p->words.count, "scene", &job->words, err));
    job->geometry->listed = false;
    return job_write_words(job, err);
}

/* Replaces an acceleration structure that cannot change by one that can. For now it has the corners of the
 * loaded scene. */
static bl_result make_changing(bl_job *job, bl_error *err)
{
    plan *p = job->plan;
    if (!job->accel || gpu_accel_changes(job->accel))
        return BL_OK;
    job->bytes -= gpu_accel_size(job->accel);
    gpu_accel_destroy(job->accel);
    job->accel = NULL;
    TRY(ray_backend_build(job->device->gpu, p, true, &job->accel, err));
    job->bytes += gpu_accel_size(job->accel);
    return gpu_buffer_write(job->words, 4 * HEADER_ACCEL, p->words.data + HEADER_ACCEL, 8, err);
}

/* Copies maps and masks of the instances that have moved. */
static void copy_maps(bl_job *job)
{
    const render_scene *s = job->scene;
    for (uint32_t k = 0; k < s->instances.count; k++) {
        const uint64_t record = job->geometry->refit.instances[k];
        uint64_t at[2];
        for (uint32_t i = record ? gpu_accel_maps(job->accel, k, at) : 0; i-- > 0;) {
            gpu_buffer *to = gpu_accel_instances(job->accel);
            gpu_batch_copy(job->batch, job->refit, 4 * (record + REFIT_INSTANCE_MAP), to, at[i],
                           sizeof s->instances.data[k].to_world);
            gpu_batch_copy(job->batch, job->refit, 4 * (record + REFIT_INSTANCE_MASK), to,
                           at[i] + GPU_ACCEL_MASK, 1);
        }
    }
}

/* Appends copies of the corners of the groups in which something moves. Then updates of the structures of
 * these groups, or builds every so many times (UPDATES_MOST), and of the top structure. */
static void record_queries(bl_job *job)
{
    job_geometry *g = job->geometry;
    const plan *p = job->plan;
    bool anew = g->updates >= UPDATES_MOST;
    for (uint32_t k = 0; k < p->group_count; k++)
        if (g->refit.corners[k])
            gpu_batch_copy(job->batch, job->refit, 4ull * g->refit.corners[k],
                           gpu_accel_corners(job->accel, k), 0,
                           36ull * (p->groups[k].count - p->groups[k].box_count));
    copy_maps(job);
    g->updates = anew ? 0 : g->updates + 1;
    for (uint32_t k = 0; k < p->group_count; k++)
        if (g->refit.corners[k])
            gpu_accel_record_follow(job->accel, job->batch, k, anew);
    gpu_accel_record_follow_top(job->accel, job->batch);
}

/* Makes what following the moved shapes needs. */
static bl_result prepare(bl_job *job, bl_error *err)
{
    gpu_kernel *kernel;
    TRY(make_lists(job, err));
    TRY(job_kernel(job, RENDER_GEOMETRY, &kernel, err));
    if (job->plan->posed)
        TRY(job_kernel(job, RENDER_UPDATE, &kernel, err));
    return job->plan->query ? make_changing(job, err) : BL_OK;
}

/* Builds new trees where the refitted ones have become bad. */
static bl_result mend(bl_job *job, bl_stats *stats, bl_error *err)
{
    double cost, seconds;
    TRY(read_cost(job, &cost, err));
    if (cost <= decayed * job->geometry->refit.cost)
        return BL_OK;
    TRY(rebuild(job, err));
    stats->rebuilds++;
    TRY(make_lists(job, err));
    TRY(gpu_batch_begin(job->batch, err));
    record_refit(job);
    return job_submit(job, stats, &seconds, err);
}

static void record_moves(bl_job *job)
{
    record_refit(job);
    job->lights_moved = true;
    if (job->accel)
        record_queries(job);
}

bl_result geometry_follow(bl_job *job, bl_stats *stats, bl_error *err)
{
    double seconds;
    bool moved = job->values_changed && note_moves(job);
    if (!job->values_changed || !(moved || job->plan->moves & MOVE_SURFACE))
        return BL_OK;
    if (moved)
        TRY(prepare(job, err));
    TRY(gpu_batch_begin(job->batch, err));
    record_copies(job);
    if (moved)
        record_moves(job);
    TRY(job_submit(job, stats, &seconds, err));
    TRY(bounds_check(job->bounds, err));
    if (moved && !job->plan->query)
        TRY(mend(job, stats, err));
    if (moved && job->hierarchy)
        gpu_hierarchy_follow(job->hierarchy);
    return BL_OK;
}

/* ---- for passes that are recorded ---- */

bl_result geometry_prepare(bl_job *job, geometry_changes c, bl_error *err)
{
    gpu_kernel *kernel;
    bl_stats stats = {0};
    bool moved = false;
    for (uint32_t i = 0; i < c.count; i++) {
        if (!moves_shapes(job, c.parameters[i]))
            continue;
        job_geometry *g = begin(job);
        uint32_t by = mover_of(job, c.parameters[i]);
        g->listed &= g->moves[by];
        g->moves[by] = moved = true;
    }
    if (moved)
        TRY(prepare(job, err));
    if (moved && !job->plan->query)
        TRY(mend(job, &stats, err));
    if (!c.gradient || !job->plan->normals_derived)
        return BL_OK;
    TRY(make_lists(job, err));
    return job_kernel(job, RENDER_GEOMETRY_ADJOINT, &kernel, err);
}

bool geometry_prepared(const bl_job *job, geometry_changes c)
{
    const job_geometry *g = job->geometry;
    bool there = true, moved = false;
    for (uint32_t i = 0; i < c.count; i++)
        if (moves_shapes(job, c.parameters[i])) {
            moved = true;
            there &= g && g->moves[mover_of(job, c.parameters[i])];
        }
    if (moved)
        there &= g && g->listed && job->made->kernels[RENDER_GEOMETRY] &&
                 (!job->plan->posed || job->made->kernels[RENDER_UPDATE]) &&
                 (!job->accel || gpu_accel_changes(job->accel));
    if (c.gradient && job->plan->normals_derived)
        there &= g && g->listed && job->made->kernels[RENDER_GEOMETRY_ADJOINT];
    return there;
}

void geometry_record_follow(bl_job *job)
{
    if (!job->values_changed)
        return;
    record_copies(job);
    if (note_moves(job))
        record_moves(job);
}

/* ---- derived normals ---- */

static void record_normals(bl_job *job, render_pass pass, gpu_buffer *values)
{
    for (uint32_t i = 0; i < job->geometry->refit.dispatches.count; i++) {
        const refit_dispatch *d = &job->geometry->refit.dispatches.data[i];
        if (d->step == REFIT_NORMAL_VALUES)
            record(job, pass, values, d);
    }
}

/* Runs the pass with one dispatch for each mesh whose normals are derived from positions. */
static bl_result derived_normals(bl_job *job, render_pass pass, gpu_buffer *values, bl_stats *stats,
                                 bl_error *err)
{
    gpu_kernel *kernel;
    double seconds;
    if (!job->plan->normals_derived)
        return BL_OK;
    TRY(make_lists(job, err));
    TRY(job_kernel(job, pass, &kernel, err));
    TRY(gpu_batch_begin(job->batch, err));
    record_normals(job, pass, values);
    TRY(job_submit(job, stats, &seconds, err));
    return bounds_check(job->bounds, err);
}

bl_result geometry_freeze(bl_job *job, bl_stats *stats, bl_error *err)
{
    return derived_normals(job, RENDER_GEOMETRY, job->frozen, stats, err);
}

void geometry_record_adjoint(bl_job *job)
{
    if (job->plan->normals_derived)
        record_normals(job, RENDER_GEOMETRY_ADJOINT, job->values);
}

bl_result geometry_tangent(bl_job *job, bl_stats *stats, bl_error *err)
{
    return derived_normals(job, RENDER_GEOMETRY_TANGENT, job->values, stats, err);
}
