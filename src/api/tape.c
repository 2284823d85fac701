/* SPDX-License-Identifier: BSD-3-Clause
 * The gradient pass of the integrator `tape` (render/integrator/kernels/tape.c): all vertices of all samples
 * are stored at once, as a wavefront renderer does, so that what it takes is seen.
 *
 * Every sample has room for as many vertices. Among surfaces that is max_depth. In media paths also cross
 * surfaces that are not there, and how often is known when they have been walked: where the longest path has
 * not found room, the tape is written again with more. */
#include "api/tape.h"
#include "api/job_buffers.h"

/* The first room in media: the longest path, and two borders. */
enum { BORDERS = 2 };

static uint64_t path_count(const bl_job *job, const job_work_desc *w)
{
    job_range all = job_everything(w, job_pixels(job));
    return (uint64_t)all.lane_count * all.last_sample;
}

static uint64_t tape_words(const bl_job *job, const job_work_desc *w)
{
    const render_scene *s = job->scene;
    uint64_t vertex = tape_vertex_words(s->mode->channels, s->volumetric, plan_attaches_paths(job->plan));
    return path_count(job, w) * (1 + job->tape_room * vertex);
}

bl_result tape_reserve(bl_job *job, const job_work_desc *w, bl_error *err)
{
    const double mebibyte = 1 << 20;
    const render_scene *s = job->scene;
    if (s->max_depth < 0)
        return error_set(err, BL_ERROR_ARGUMENT, "the tape needs paths that end: give max_depth");
    if (job->tape_room == 0)
        job->tape_room = (uint32_t)s->max_depth + (s->volumetric ? BORDERS : 0);
    uint64_t words = tape_words(job, w);
    if (words > UINT32_MAX)
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "a tape of %llu samples of up to %u vertices takes %.0f MiB, more than the %.0f that can be "
            "reached: fewer pixels, samples or vertices",
            (unsigned long long)path_count(job, w), job->tape_room, 4 * (double)words / mebibyte,
            4.0 * UINT32_MAX / mebibyte);
    return job_reserve_samples(job, words, err);
}

bl_result tape_check_recorded(const bl_job *job, bl_error *err)
{
    return job->scene->volumetric
               ? error_set(
                     err, BL_ERROR_UNSUPPORTED,
                     "the tape in media is not recorded: how many vertices it stores is known when they "
                     "have been walked")
               : BL_OK;
}

bool tape_reserved(const bl_job *job, const job_work_desc *w)
{
    return job->scene->max_depth >= 0 && gpu_buffer_size(job->samples) >= 4 * tape_words(job, w);
}

/* The most vertices that a sample on the tape has had. */
static bl_result longest_path(const bl_job *job, const job_work_desc *w, uint32_t *most, bl_error *err)
{
    const uint64_t paths = path_count(job, w);
    uint32_t *counts = memory_alloc(4 * paths);
    if (!counts)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the lengths of %llu paths",
                         (unsigned long long)paths);
    bl_result r = gpu_buffer_read(job->samples, 0, counts, 4 * paths, err);
    *most = 0;
    for (uint64_t k = 0; r == BL_OK && k < paths; k++)
        *most = counts[k] > *most ? counts[k] : *most;
    memory_free(counts);
    return r;
}

bl_result tape_write(bl_job *job, const job_work_desc *w, bool *fits, bl_stats *stats, bl_error *err)
{
    BL_ASSERT(job->scene->method == METHOD_TAPE, "integrator %d has no tape", (int)job->scene->method);
    uint32_t longest;
    job_work_desc half = *w;
    half.progress_to = 0.5 * (w->progress_from + w->progress_to);
    TRY(tape_reserve(job, w, err));
    TRY(job_run_part(job, &half, RENDER_TAPE, job_everything(w, job_pixels(job)), stats, err));
    *fits = true;
    if (!job->scene->volumetric)
        return BL_OK;
    TRY(longest_path(job, w, &longest, err));
    *fits = longest <= job->tape_room;
    if (!*fits)
        job->tape_room = longest;
    return BL_OK;
}

bl_result tape_read(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    job_work_desc half = *w;
    half.progress_from = 0.5 * (w->progress_from + w->progress_to);
    return job_run_part(job, &half, RENDER_TAPE_ADJOINT, job_everything(w, job_pixels(job)), stats, err);
}
