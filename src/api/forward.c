/* SPDX-License-Identifier: BSD-3-Clause
 * Image derivatives of a job along one direction of its parameters: forward mode. */
#include "api/edges.h"
#include "api/guide.h"
#include "api/job_buffers.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "api/job_split.h"

#include <stdlib.h>
#include <string.h>

/* Writes tangents of all values: the given ones for requested parameters, zeros for the rest. The kernel of
 * derived values computes theirs. */
static bl_result write_tangents(bl_job *job, const float *const *tangents, bl_error *err)
{
    uint32_t n = job->plan->value_count;
    float *all = memory_zeroed(n, sizeof *all);
    if (!all)
        return error_set(err, BL_ERROR_MEMORY, "no memory for %u tangents", n);
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        const uint32_t first = job->plan->value_offset[job->requested[k]];
        for (uint32_t i = 0; i < p->count; i++)
            all[first + i] = !tangents ? 1 : tangents[k] ? tangents[k][i] : 0;
    }
    bl_result r = job_tangents(job, all, err);
    memory_free(all);
    return r;
}

/* Finds the part of the derivative that some kernels find (job_split.h). */
static bl_result run_part(bl_job *job, const job_work_desc *w, float *image, bl_stats *stats, bl_error *err)
{
    const uint64_t edges = stats->edges;
    stats->edges = 0;
    TRY(job_run(job, w, stats, err));
    TRY(job_read_counters(job, stats, err));
    TRY(job_resolve(job, w->spp, w->strips, image, stats, err));
    TRY(edges_add_splats(job, image, stats, err));
    stats->edges += edges;
    return BL_OK;
}

/* Adds the second part of a split job to the image. */
static bl_result add_part(bl_job *job, const job_work_desc *w, float *image, bl_stats *stats, bl_error *err)
{
    const size_t n = job_values(job);
    float *more = image ? memory_alloc(n * sizeof *more) : NULL;
    if (image && !more)
        return error_set(err, BL_ERROR_MEMORY, "no memory for an image of %zu values", n);
    const bl_result r = run_part(job, w, more, stats, err);
    for (size_t i = 0; i < n && image && r == BL_OK; i++)
        image[i] += more[i];
    memory_free(more);
    return r;
}

static bl_result forward(bl_job *job, const bl_forward_desc *desc, float *image, bl_stats *stats,
                         bl_error *err)
{
    const uint32_t parts = job_split_parts(job, RENDER_FORWARD);
    job_work_desc w = {
        .pass = RENDER_FORWARD,
        .spp = job_gradient_spp(job, desc->spp, 1),
        .seed = job_seed(job, desc->seed),
        .stream = 1,
        .edges = desc->edges,
        .own_counts = desc->spp == 0,
        .slice_seconds = desc->slice_seconds,
        .progress = desc->progress,
        .user = desc->user,
        .part = parts > 1,
        .progress_to = 1.0 / parts,
    };
    w.strips = job_strips(job_pixels(job), w.spp);
    if (!job->plan->any_request)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "the job was created without parameters, so there is nothing to differentiate by");
    TRY(guide_follow(job, err));
    TRY(write_tangents(job, desc->tangents, err));
    TRY(run_part(job, &w, image, stats, err));
    if (parts == 1)
        return BL_OK;
    w.part++, w.keeps_status = true;
    w.progress_from = w.progress_to, w.progress_to = 1;
    return add_part(job, &w, image, stats, err);
}

bl_result bl_job_forward(bl_job *job, const bl_forward_desc *desc, float *image, bl_stats *stats)
{
    static const bl_forward_desc defaults;
    bl_stats own = {0};
    bl_error err = {0};
    double start = clock_seconds();
    bl_result r = desc ? CHECK_RESERVED(bl_forward_desc, desc, &err) : BL_OK;
    if (r == BL_OK)
        r = forward(job, desc ? desc : &defaults, image, &own, &err);
    own.seconds = clock_seconds() - start;
    own.device_bytes = job->bytes;
    if (stats)
        *stats = own;
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}
