/* SPDX-License-Identifier: BSD-3-Clause
 * Images of a job: the image itself, its variance, channels of the first hit, frozen-path evaluations. */
#include "api/guide.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "api/job_split.h"
#include "api/metropolis.h"

#include <stdlib.h>
#include <string.h>

/* Renders the scene's channels of the first hit, with the samples of the image. The host adds the sums of the
 * strips in double precision. */
static bl_result render_channels(bl_job *job, const job_work_desc *image, float *channels, bl_stats *stats,
                                 bl_error *err)
{
    size_t pixels = job_pixels(job), count = job->scene->channels.count, n = count * pixels * image->strips;
    job_work_desc w = *image;
    w.pass = RENDER_CHANNELS;
    bl_stats own = {0};
    TRY(job_run(job, &w, &own, err));
    stats->device_seconds += own.device_seconds;
    float *film = memory_alloc((n + 1) * sizeof *film);
    if (!film)
        return error_set(err, BL_ERROR_MEMORY, "no memory for %zu values of channels", n);
    bl_result r = gpu_buffer_read(job->film, 0, film, n * sizeof *film, err);
    for (size_t i = 0; r == BL_OK && i < count * pixels; i++) {
        double sum = 0;
        for (size_t s = 0; s < image->strips; s++)
            sum += (double)film[s * count * pixels + i];
        channels[i] = (float)(sum / w.spp);
    }
    memory_free(film);
    return r;
}

/* Computes the variance of one sample from the sums and sums of squares in the film. The host does it in
 * double precision. */
static bl_result read_variance(bl_job *job, uint32_t spp, uint32_t strips, float *variance, bl_error *err)
{
    size_t values = job_values(job), n = values * strips;
    float *film = memory_alloc(2 * n * sizeof *film);
    if (!film)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the variance of %zu values", n);
    bl_result r = gpu_buffer_read(job->film, 0, film, 2 * n * sizeof *film, err);
    for (size_t i = 0; r == BL_OK && i < values; i++) {
        double sum = 0, squares = 0;
        for (size_t s = 0; s < strips; s++) {
            sum += film[s * values + i];
            squares += film[n + s * values + i];
        }
        double mean = sum / spp, v = spp > 1 ? (squares - sum * mean) / (spp - 1.0) : 0;
        variance[i] = v > 0 ? (float)v : 0;
    }
    memory_free(film);
    return r;
}

/* Writes the frozen values. Of geometry the job takes only its own parameters. What classes keep beside
 * parameters stays. In double precision, what floats lack goes to the second half of the buffer. */
static bl_result write_frozen(bl_job *job, const bl_render_desc *desc, bl_error *err)
{
    const render_scene *s = job->scene;
    const plan *p = job->plan;
    const size_t n = p->stored_count;
    float *all = memory_zeroed(2 * n + 1, sizeof *all);
    if (!all)
        return error_set(err, BL_ERROR_MEMORY, "no memory for %u values", p->stored_count);
    memcpy(all, job->host_values, n * sizeof *all);
    for (uint32_t i = 0, from = 0; i < s->parameters.count; i++) {
        const uint32_t offset = p->value_offset[i], count = s->parameters.data[i].count;
        for (uint32_t k = 0; k < count && offset != PLAN_NONE; k++) {
            const double v =
                desc->frozen_doubles ? desc->frozen_doubles[from + k] : (double)desc->frozen[from + k];
            all[offset + k] = (float)v, all[n + offset + k] = (float)(v - (double)(float)v);
        }
        from += count;
    }
    bl_result r = n ? gpu_buffer_write(job->frozen, 0, all, 4 * n, err) : BL_OK;
    if (r == BL_OK && n && p->doubles)
        r = gpu_buffer_write(job->frozen, gpu_buffer_size(job->frozen) / 2, all + n, 4 * n, err);
    memory_free(all);
    return r;
}

/* Chooses the part of a split job whose kernels find an image of frozen values: that of the values that
 * differ from the job's. Where none do, it is that of the frozen image before, so that differences subtract
 * alike. */
static bl_result choose_part(bl_job *job, const bl_render_desc *desc, job_work_desc *w, bl_error *err)
{
    const render_scene *s = job->scene;
    bool moved[PLAN_SPLITS] = {false};
    if (job_split_parts(job, RENDER_FROZEN) == 1)
        return BL_OK;
    for (uint32_t i = 0, from = 0; i < s->parameters.count; i++) {
        const uint32_t offset = job->plan->value_offset[i], count = s->parameters.data[i].count;
        for (uint32_t k = 0; k < count && offset != PLAN_NONE; k++) {
            const double v =
                desc->frozen_doubles ? desc->frozen_doubles[from + k] : (double)desc->frozen[from + k];
            moved[plan_split_of(s, i) - PLAN_SHAPES] |= v != (double)job->host_values[offset + k];
        }
        from += count;
    }
    if (moved[0] && moved[1])
        return error_set(
            err, BL_ERROR_UNSUPPORTED,
            "frozen values differ both of what moves shapes and of what turns mirrors, the camera "
            "or other parameters: give one image for either");
    if (moved[0] || moved[1])
        job->frozen_part = moved[1];
    w->part = 1 + job->frozen_part;
    return BL_OK;
}

/* Samples that a pixel has: its strips share them evenly (kernel.c in render/integrator/walk). */
static uint32_t samples_so_far(const job_work_desc *w, const job_reached *r, uint32_t pixel)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < w->strips; k++) {
        const uint32_t lane = pixel * w->strips + k, own = w->spp / w->strips + (k < w->spp % w->strips);
        if (lane < r->lane)
            sum += own;
        else if (lane - r->lane < r->lanes)
            sum += r->samples < own ? r->samples : own;
    }
    return sum;
}

/* What a cancelled pass has left, each pixel as its mean over the samples that it has. An error here is told
 * instead of the cancellation. */
static bl_result resolve_part(bl_job *job, const job_work_desc *w, float *image, bl_stats *stats)
{
    bl_error err = {0};
    const uint32_t channels = film_channels(job->scene), pixels = job_pixels(job);
    TRY(job_resolve(job, w->spp, w->strips, image, stats, &err));
    for (uint32_t p = 0; p < pixels; p++) {
        const uint32_t samples = samples_so_far(w, &job->reached, p);
        for (uint32_t c = 0; c < channels && samples; c++)
            image[(size_t)channels * p + c] *= (float)w->spp / (float)samples;
    }
    return BL_OK;
}

static bl_result render(bl_job *job, const bl_render_desc *desc, float *image, bl_stats *stats, bl_error *err)
{
    job_work_desc w = job_image_work(job, desc);
    const bool frozen = desc->frozen || desc->frozen_doubles;
    if ((desc->doubles || desc->frozen_doubles) && !job->plan->doubles)
        return error_set(err, BL_ERROR_ARGUMENT, "doubles need a job of BL_PRECISION_DOUBLE");
    if (desc->frozen && desc->frozen_doubles)
        return error_set(err, BL_ERROR_ARGUMENT, "give either frozen values or those in double precision");
    if (frozen && !job->desc.frozen)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "a frozen-path evaluation needs a job created with `frozen`");
    if (frozen && desc->variance)
        return error_set(err, BL_ERROR_ARGUMENT, "a frozen-path evaluation has no variance image");
    if (frozen) {
        TRY(write_frozen(job, desc, err));
        TRY(choose_part(job, desc, &w, err));
    }
    TRY(guide_follow(job, err));
    job->reached = (job_reached){0};
    const bool chains = job->scene->metropolis.particles && w.pass == RENDER_PRIMAL;
    const bl_result ran = chains ? metropolis_run(job, &w, stats, err) : job_run(job, &w, stats, err);
    if (ran == BL_ERROR_CANCELLED && desc->partial)
        TRY(resolve_part(job, &w, image, stats));
    TRY(ran);
    TRY(job_read_counters(job, stats, err));
    TRY(job_resolve(job, w.spp, w.strips, image, stats, err));
    if (desc->doubles)
        TRY(job_read_image_doubles(job, w.spp, w.strips, desc->doubles, err));
    if (desc->variance)
        TRY(read_variance(job, w.spp, w.strips, desc->variance, err));
    return desc->channels && job->scene->channels.count ? render_channels(job, &w, desc->channels, stats, err)
                                                        : BL_OK;
}

bl_result bl_job_render(bl_job *job, const bl_render_desc *desc, float *image, bl_stats *stats)
{
    static const bl_render_desc defaults;
    bl_stats own = {0};
    bl_error err = {0};
    double start = clock_seconds();
    job->pipeline_filled = false;
    bl_result r = desc ? CHECK_RESERVED(bl_render_desc, desc, &err) : BL_OK;
    if (r == BL_OK)
        r = render(job, desc ? desc : &defaults, image, &own, &err);
    own.seconds = clock_seconds() - start;
    own.device_bytes = job->bytes;
    if (stats)
        *stats = own;
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}
