/* SPDX-License-Identifier: BSD-3-Clause
 * A whole pass: geometry, derived values and sampling tables before it, the kernels that its form asks for,
 * the adjoint of derived values after it. */
#include "api/job_pass.h"
#include "api/edges.h"
#include "api/gradient_forms.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_geometry.h"
#include "api/job_kernels.h"
#include "api/job_results.h"
#include "api/job_split.h"
#include "api/tape.h"

#include <string.h>

job_work_desc job_image_work(const bl_job *job, const bl_render_desc *desc)
{
    uint32_t spp = job_spp(job, desc->spp);
    return (job_work_desc){
        .pass = desc->frozen || desc->frozen_doubles ? RENDER_FROZEN
                : desc->variance                     ? RENDER_VARIANCE
                                                     : RENDER_PRIMAL,
        .spp = spp,
        .seed = job_seed(job, desc->seed),
        .stream = desc->gradient_stream ? 1 : 0,
        .strips = job_strips(job_pixels(job), spp),
        .slice_seconds = desc->slice_seconds,
        .progress = desc->progress,
        .user = desc->user,
        .progress_to = 1,
    };
}

/* ---- derived values ---- */

static bool follows_changed(const bl_job *job, const plan_table *b)
{
    bool changed = !job->tables_built || job->lights_moved;
    for (uint32_t k = 0; k < b->follow_count; k++)
        changed |= job->changed[b->follows[k]];
    return changed;
}

/* Appends the building of the sampling tables whose values have changed, step by step. */
static void record_tables(bl_job *job)
{
    for (uint32_t i = 0; i < job->plan->table_builds.count; i++) {
        const plan_table *b = &job->plan->table_builds.data[i];
        if (!follows_changed(job, b))
            continue;
        const uint32_t push[UNIFORM_COUNT] = {
            [UNIFORM_LANE_COUNT] = b->lanes,
            [UNIFORM_TABLE_STEP] = b->function,
            [UNIFORM_TABLE_RECORD] = b->record,
        };
        job_record(job, RENDER_TABLES, job->values, push, b->lanes);
    }
}

void job_record_end(bl_job *job)
{
    geometry_record_adjoint(job);
    if (job->plan->update_requested)
        job_record_update(job, RENDER_UPDATE_ADJOINT, job->values);
}

/* Passes the adjoints of derived values on to the parameters from which these values come. */
static bl_result finish_gradient(bl_job *job, bl_stats *stats, bl_error *err)
{
    gpu_kernel *kernel;
    double seconds;
    if (!job->plan->update_requested && !job->plan->normals_derived)
        return BL_OK;
    TRY(geometry_prepare(job, (geometry_changes){.gradient = true}, err));
    if (job->plan->update_requested)
        TRY(job_kernel(job, RENDER_UPDATE_ADJOINT, &kernel, err));
    TRY(gpu_batch_begin(job->batch, err));
    job_record_end(job);
    TRY(job_submit(job, stats, &seconds, err));
    return bounds_check(job->bounds, err);
}

/* ---- a pass ---- */

bl_result job_make_kernels(bl_job *job, const job_work_desc *w, bl_error *err)
{
    gpu_kernel *made;
    if (job->plan->update_count && (job->values_changed || w->pass == RENDER_FROZEN))
        TRY(job_kernel(job, RENDER_UPDATE, &made, err));
    if (job->plan->table_builds.count && job->values_changed)
        TRY(job_kernel(job, RENDER_TABLES, &made, err));
    if (job->plan->update_requested && w->pass == RENDER_FORWARD)
        TRY(job_kernel(job, RENDER_UPDATE_TANGENT, &made, err));
    return BL_OK;
}

void job_record_begin(bl_job *job, const job_work_desc *w)
{
    if (job->plan->update_count && job->values_changed)
        job_record_update(job, RENDER_UPDATE, job->values);
    if (job->plan->update_count && w->pass == RENDER_FROZEN)
        job_record_update(job, RENDER_UPDATE, job->frozen);
    if (job->plan->table_builds.count && job->values_changed)
        record_tables(job);
    if (job->plan->update_requested && w->pass == RENDER_FORWARD)
        job_record_update(job, RENDER_UPDATE_TANGENT, job->values);
    if (w->pass == RENDER_GRADIENT && !w->adds)
        gpu_batch_fill(job->batch, job->gradient, 0, gpu_buffer_size(job->gradient), 0);
    if (job_splats(job, w->pass))
        gpu_batch_fill(job->batch, job->splats, 0, gpu_buffer_size(job->splats), 0);
    if (render_passes[w->pass].kind != PASS_RAYS)
        gpu_batch_fill(job->batch, job->film, 0, gpu_buffer_size(job->film), 0);
    for (uint32_t half = 0; half < 2 && w->shared; half++)
        gpu_batch_copy(job->batch, job->image, 0, job->film, 4ull * half * job_values(job),
                       4ull * job_values(job));
    if (!w->keeps_status) {
        gpu_batch_fill(job->batch, job->status, 0, gpu_buffer_size(job->status), 0);
        memset(job->counted, 0, sizeof job->counted);
        job->paths_uncounted = 0;
    }
}

void job_values_followed(bl_job *job)
{
    job->values_changed = false;
    job->tables_built = true, job->lights_moved = false;
    memset(job->changed, false, job->scene->parameters.count);
}

bl_result job_prepare(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    double seconds;
    TRY(geometry_follow(job, stats, err));
    if (w->pass == RENDER_FROZEN)
        TRY(geometry_freeze(job, stats, err));
    if (w->pass == RENDER_FORWARD)
        TRY(geometry_tangent(job, stats, err));
    TRY(job_make_kernels(job, w, err));
    TRY(gpu_batch_begin(job->batch, err));
    job_record_begin(job, w);
    TRY(job_submit(job, stats, &seconds, err));
    job_values_followed(job);
    return bounds_check(job->bounds, err);
}

bl_result job_splats_fit(bl_job *job, uint32_t coarser, bool *fit, bl_error *err)
{
    uint64_t status[STATUS_COUNT];
    TRY(job_read_status(job, status, err));
    *fit = status[STATUS_OVERFLOW] == 0;
    if (!*fit && coarser == REPEATS_MOST)
        return error_set(err, BL_ERROR_DEVICE,
                         "the image overflows: %llu contributions are too large or not finite",
                         (unsigned long long)status[STATUS_OVERFLOW]);
    return BL_OK;
}

/* Runs a pass that adds to an image of splats, and repeats it with a coarser scale after an overflow. */
static bl_result run_splats(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    bool fit = false;
    for (uint32_t coarser = 0; !fit; coarser++) {
        TRY(job_set_splat_scale(job, w->spp, coarser, err));
        TRY(job_prepare(job, w, stats, err));
        TRY(job_run_part(job, w, w->pass, job_everything(w, job_pixels(job)), stats, err));
        TRY(job_splats_fit(job, coarser, &fit, err));
    }
    return BL_OK;
}

/* Runs the pass of the integrator `tape`, and repeats it where a path has not found room. */
static bl_result run_tape(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    for (bool fits = false; !fits;) {
        TRY(tape_write(job, w, &fits, stats, err));
        if (!fits)
            TRY(job_prepare(job, w, stats, err));
    }
    return tape_read(job, w, stats, err);
}

/* Leaves in job->image half the sum of the samples that both halves of two walks share. */
static bl_result find_shared(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    const job_work_desc image = {
        .pass = RENDER_PRIMAL,
        .spp = w->shared,
        .seed = w->seed,
        .strips = job_strips(job_pixels(job), w->shared),
        .slice_seconds = w->slice_seconds,
        .keeps_status = w->keeps_status,
    };
    TRY(job_run(job, &image, stats, err));
    return job_resolve(job, 2, image.strips, NULL, stats, err);
}

/* Walks all lanes and samples of a pass, in its form, and then its edges. */
static bl_result walk(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    if (w->edges_alone)
        BL_ASSERT(w->pass == RENDER_GRADIENT, "edges alone in pass %d", (int)w->pass);
    else if (w->pass == RENDER_GRADIENT && job->scene->method == METHOD_TAPE)
        TRY(run_tape(job, w, stats, err));
    else if (w->pass == RENDER_GRADIENT && w->form != BL_FORM_FUSED)
        TRY(gradient_form_run(job, w, stats, err));
    else if (!job_splats(job, w->pass))
        TRY(job_run_part(job, w, w->pass, job_everything(w, job_pixels(job)), stats, err));
    stats->paths += w->lanes.count ? w->lanes.samples : (uint64_t)job_pixels(job) * w->spp;
    return edges_run(job, w, stats, err);
}

job_work_desc job_split_work(const bl_job *job, const job_work_desc *w, uint32_t k)
{
    const uint32_t count = job_split_parts(job, w->pass);
    const double range = (w->progress_to - w->progress_from) / count;
    job_work_desc part = *w;
    if (w->part || count == 1)
        return part;
    part.progress_from = w->progress_from + k * range, part.progress_to = part.progress_from + range;
    part.compared = k > 0;
    part.adds |= k > 0, part.keeps_status |= k > 0;
    return part;
}

bool job_split_clears(const job_work_desc *w, uint32_t k)
{
    return k > 0 && !w->part && !bl_gradient_form_finds_loss(w->form);
}

static bl_result clear_film(bl_job *job, bl_stats *stats, bl_error *err)
{
    double seconds;
    TRY(gpu_batch_begin(job->batch, err));
    gpu_batch_fill(job->batch, job->film, 0, gpu_buffer_size(job->film), 0);
    return job_submit(job, stats, &seconds, err);
}

static bl_result walk_parts(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    const uint32_t first = w->part ? w->part - 1 : 0, end = w->part ? w->part : job_split_parts(job, w->pass);
    for (uint32_t k = first; k < end; k++) {
        const job_work_desc part = job_split_work(job, w, k);
        if (job_split_clears(w, k))
            TRY(clear_film(job, stats, err));
        job_split_enter(job, w->pass, k);
        const bl_result r = walk(job, &part, stats, err);
        job_split_leave(job);
        TRY(r);
    }
    return BL_OK;
}

static bl_result run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    BL_ASSERT(w->spp > 0 && w->strips > 0, "%u samples in %u strips", w->spp, w->strips);
    BL_ASSERT(w->pass != RENDER_GRADIENT || w->form != BL_FORM_AUTO, "a gradient pass without a form");
    BL_ASSERT(!bl_gradient_form_finds_loss(w->form) || w->loss, "form %d without a loss", (int)w->form);
    BL_ASSERT(w->lanes.count == 0 || job->plan->lists_lanes, "a list of %u lanes that no kernel reads",
              w->lanes.count);
    job_range all = job_everything(w, job_pixels(job));
    TRY(job_reserve_film(job, w->pass, all.lane_count, err));
    bool splats = job_splats(job, w->pass);
    TRY(splats ? run_splats(job, w, stats, err) : job_prepare(job, w, stats, err));
    TRY(walk_parts(job, w, stats, err));
    return w->pass == RENDER_GRADIENT && !w->unfinished ? finish_gradient(job, stats, err) : BL_OK;
}

bl_result job_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    job_work_desc rest = *w;
    if (w->shared) {
        TRY(find_shared(job, w, stats, err));
        rest.keeps_status = true;
    }
    return run(job, &rest, stats, err);
}
