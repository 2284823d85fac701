/* SPDX-License-Identifier: BSD-3-Clause
 * Seeds and sample counts as the scene's sampler wants them, and what comes back from the device after a
 * pass: image, loss, counters. */
#include "api/job_results.h"
#include "api/job_buffers.h"
#include "api/job_dispatch.h"
#include "render/sampler/samplers.h"

uint32_t job_seed(const bl_job *job, uint32_t seed)
{
    return seed + (job->scene->sampler ? (uint32_t)scene_number(job->scene->sampler, "seed") : 0);
}

/* The number that the sampler can spread over so many sets. */
static uint32_t count_in_sets(const bl_job *job, uint32_t wanted, uint32_t sets)
{
    const uint64_t most = 1u << 28;
    uint32_t spp = wanted || sets > 1 ? sampler_count(job->scene, wanted ? wanted : job->scene->spp, sets)
                                      : job->scene->spp;
    if (job->scene->paths_per_sample == 1)
        return spp;
    uint64_t paths = (uint64_t)spp * job->scene->paths_per_sample;
    return sampler_count(job->scene, (uint32_t)(paths < most ? paths : most), sets);
}

uint32_t job_spp(const bl_job *job, uint32_t wanted) { return count_in_sets(job, wanted, 1); }

uint32_t job_gradient_spp(const bl_job *job, uint32_t wanted, uint32_t sets)
{
    uint32_t own = job->scene->edge_samples.interior;
    return count_in_sets(job, wanted || own == PLAN_NONE ? wanted : own, sets);
}

/* ---- image ---- */

void job_record_resolve(bl_job *job, uint32_t spp, uint32_t strips)
{
    BL_ASSERT(spp > 0 && strips > 0, "%u samples in %u strips", spp, strips);
    if (scene_splats(job->scene)) {
        fit_record_gradient_read(job->batch, job->device->fixed,
                                 &(fit_gradient_read){.gradient = job->splats,
                                                      .scale = job->splat_scale,
                                                      .output = job->image,
                                                      .count = job_values(job)});
        return;
    }
    fit_resolve r = {
        .film = job->film,
        .image = job->image,
        .pixels = job_pixels(job),
        .channels = film_channels(job->scene),
        .strips = strips,
        .scale = 1.0f / (float)spp,
    };
    fit_record_resolve(job->batch, job->device->fixed, &r);
}

bl_result job_resolve(bl_job *job, uint32_t spp, uint32_t strips, float *image, bl_stats *stats,
                      bl_error *err)
{
    double seconds;
    TRY(gpu_batch_begin(job->batch, err));
    job_record_resolve(job, spp, strips);
    TRY(job_submit(job, stats, &seconds, err));
    return image ? gpu_buffer_read(job->image, 0, image, 4ull * job_values(job), err) : BL_OK;
}

/* ---- in double precision ---- */

static bl_result check_doubles(const bl_job *job, bl_error *err)
{
    return job->plan->doubles
               ? BL_OK
               : error_set(err, BL_ERROR_ARGUMENT, "results as doubles need a job of BL_PRECISION_DOUBLE");
}

bl_result job_read_sums(const bl_job *job, const job_sums *s, double *values, bl_error *err)
{
    TRY(check_doubles(job, err));
    int64_t *sums = memory_alloc((s->count + 1) * sizeof *sums);
    float *scales = memory_alloc((s->count + 1) * sizeof *scales);
    bl_result r = sums && scales ? BL_OK
                                 : error_set(err, BL_ERROR_MEMORY, "no memory for %llu sums",
                                             (unsigned long long)s->count);
    if (r == BL_OK)
        r = gpu_buffer_read(s->sums, 8 * s->first, sums, 8 * s->count, err);
    if (r == BL_OK)
        r = gpu_buffer_read(s->scales, 4 * s->first, scales, 4 * s->count, err);
    for (uint64_t i = 0; i < s->count && r == BL_OK; i++)
        values[i] = (double)sums[i] / (double)scales[i];
    memory_free(sums);
    memory_free(scales);
    return r;
}

/* Adds the strips of a film whose sums are pairs of words. */
static bl_result read_film(const bl_job *job, uint32_t spp, uint32_t strips, double *image, bl_error *err)
{
    const size_t values = job_values(job), n = values * strips;
    const uint64_t half = gpu_buffer_size(job->film) / 2;
    float *film = memory_alloc((2 * n + 1) * sizeof *film);
    if (!film)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a film of %zu values", n);
    bl_result r = gpu_buffer_read(job->film, 0, film, n * sizeof *film, err);
    if (r == BL_OK)
        r = gpu_buffer_read(job->film, half, film + n, n * sizeof *film, err);
    for (size_t i = 0; r == BL_OK && i < values; i++) {
        double sum = 0;
        for (size_t s = 0; s < strips; s++)
            sum += (double)film[s * values + i] + (double)film[n + s * values + i];
        image[i] = sum / spp;
    }
    memory_free(film);
    return r;
}

bl_result job_read_image_doubles(const bl_job *job, uint32_t spp, uint32_t strips, double *image,
                                 bl_error *err)
{
    TRY(check_doubles(job, err));
    const job_sums splats = {.sums = job->splats, .scales = job->splat_scale, .count = job_values(job)};
    return scene_splats(job->scene) ? job_read_sums(job, &splats, image, err)
                                    : read_film(job, spp, strips, image, err);
}

/* ---- loss and counters ---- */

void job_record_loss(bl_job *job, const job_loss *loss)
{
    if (loss->composite) {
        fit_record_composite(job->batch, job->device->fixed, loss->composite,
                             &(fit_composite_use){.weight = loss->weight,
                                                  .image = job->image,
                                                  .target = loss->target,
                                                  .adjoint = job->adjoint,
                                                  .results = job->results});
        return;
    }
    fit_record_loss(job->batch, job->device->fixed,
                    &(fit_loss){.loss = loss->kind,
                                .constant = loss->constant,
                                .weight = loss->weight,
                                .weighted = loss->weighted,
                                .image = job->image,
                                .target = loss->target,
                                .adjoint = job->adjoint,
                                .partials = job->partials,
                                .results = job->results,
                                .n = job_values(job)});
}

bl_result job_read_loss(bl_job *job, double *loss, bl_error *err)
{
    float value;
    TRY(gpu_buffer_read(job->results, 0, &value, sizeof value, err));
    *loss = (double)value;
    return BL_OK;
}

bl_result job_read_counters(bl_job *job, bl_stats *stats, bl_error *err)
{
    uint64_t status[STATUS_COUNT];
    TRY(job_read_status(job, status, err));
    stats->drifted = status[STATUS_DRIFT], stats->overflowed = status[STATUS_OVERFLOW];
    stats->underflowed = status[STATUS_UNDERFLOW], stats->non_finite += status[STATUS_NON_FINITE],
    stats->cut += status[STATUS_CUT];
    _Static_assert((int)SINGULAR_DEPTHS == (int)BL_SINGULAR_DEPTHS, "one count for both");
    for (uint32_t k = 0; k < SINGULAR_DEPTHS; k++)
        stats->singular[k] = status[STATUS_SINGULAR + k];
    return BL_OK;
}
