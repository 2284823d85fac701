/* SPDX-License-Identifier: BSD-3-Clause
 * The gradient pass of the integrator `tape` (render/integrator/kernels/tape.c): all vertices of all samples
 * are stored at once, as a wavefront renderer does, so that what it takes is seen. */
#include "api/tape.h"
#include "api/job_buffers.h"

static uint64_t tape_words(const bl_job *job, const job_work_desc *w, uint64_t *paths)
{
    job_range all = job_everything(w, job_pixels(job));
    *paths = (uint64_t)all.lane_count * all.last_sample;
    return *paths * (1 + (uint64_t)job->scene->max_depth * tape_vertex_words(job->scene->mode->channels));
}

bl_result tape_reserve(bl_job *job, const job_work_desc *w, bl_error *err)
{
    const double mebibyte = 1 << 20;
    int32_t depth = job->scene->max_depth;
    if (depth < 0)
        return error_set(err, BL_ERROR_ARGUMENT, "the tape needs paths that end: give max_depth");
    uint64_t paths, words = tape_words(job, w, &paths);
    if (words > UINT32_MAX)
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "a tape of %llu samples of up to %d vertices takes %.0f MiB, more than the %.0f that can be "
            "reached: fewer pixels, samples or vertices",
            (unsigned long long)paths, depth, 4 * (double)words / mebibyte, 4.0 * UINT32_MAX / mebibyte);
    return job_reserve_samples(job, words, err);
}

bool tape_reserved(const bl_job *job, const job_work_desc *w)
{
    uint64_t paths;
    return job->scene->max_depth >= 0 && gpu_buffer_size(job->samples) >= 4 * tape_words(job, w, &paths);
}

bl_result tape_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    BL_ASSERT(job->scene->method == METHOD_TAPE, "integrator %d has no tape", (int)job->scene->method);
    job_range all = job_everything(w, job_pixels(job));
    TRY(tape_reserve(job, w, err));
    job_work_desc half = *w;
    half.progress_to = 0.5 * (w->progress_from + w->progress_to);
    TRY(job_run_part(job, &half, RENDER_TAPE, all, stats, err));
    half.progress_from = half.progress_to, half.progress_to = w->progress_to;
    return job_run_part(job, &half, RENDER_TAPE_ADJOINT, all, stats, err);
}
