/* SPDX-License-Identifier: BSD-3-Clause
 * The caller's rays through a job's scene: the camera's rays, closest hits, any hits.
 *
 * Rays go to the device in chunks, and in a chunk by slices of measured time as any pass does. A ray's hit
 * depends on the ray alone, so results are the same bytes whatever the cut. A chunk's rays and hits stand in
 * the buffer of samples, which other passes fill anew. */
#include "api/job_buffers.h"
#include "api/job_kernels.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "api/ray_backend.h"

#include <stdlib.h>

_Static_assert(sizeof(bl_ray) == 4 * RENDER_RAY_WORDS && sizeof(bl_hit) == 4 * RENDER_HIT_WORDS,
               "rays and hits are copied as they are");

enum { CHUNK = 1 << 20 /* rays */ };

typedef struct ray_call {
    bl_job *job;
    job_work_desc work;
    bl_stats stats;
} ray_call;

static uint32_t chunk_of(uint64_t left) { return left < CHUNK ? (uint32_t)left : CHUNK; }

/* Gets the scene ready, and room for `most` rays with so many words of results each. */
static bl_result prepare(ray_call *c, uint32_t most, uint32_t result_words, bl_error *err)
{
    TRY(job_prepare(c->job, &c->work, &c->stats, err));
    return job_reserve_samples(c->job, (uint64_t)most * (RENDER_RAY_WORDS + result_words), err);
}

static bl_result run_chunk(ray_call *c, uint32_t first, uint32_t count, uint32_t sample, bl_error *err)
{
    const job_range part = {first, count, sample, sample + 1};
    return job_run_part(c->job, &c->work, c->work.pass, part, &c->stats, err);
}

static bl_result finish(const ray_call *c, bl_result r, double start, bl_stats *stats, const bl_error *err)
{
    if (stats) {
        *stats = c->stats;
        stats->seconds = clock_seconds() - start;
        stats->device_bytes = c->job->bytes;
    }
    return r == BL_OK ? BL_OK : context_fail(c->job->context, err);
}

static ray_call call_of(bl_job *job, render_pass pass)
{
    return (ray_call){.job = job, .work = {.pass = pass, .spp = 1, .strips = 1}};
}

static bl_result camera_rays(ray_call *c, uint32_t sample, bl_ray *rays, bl_error *err)
{
    uint32_t pixels = film_pixels(c->job->scene);
    if (sample >= c->work.spp)
        return error_set(err, BL_ERROR_ARGUMENT, "sample %u of %u of a pixel", sample, c->work.spp);
    TRY(prepare(c, chunk_of(pixels), 0, err));
    for (uint32_t first = 0, n; first < pixels; first += n) {
        n = chunk_of(pixels - first);
        TRY(run_chunk(c, first, n, sample, err));
        TRY(gpu_buffer_read(c->job->samples, 0, rays + first, n * sizeof *rays, err));
    }
    return BL_OK;
}

bl_result bl_job_camera_rays(bl_job *job, uint32_t spp, uint32_t seed, uint32_t sample, bl_ray *rays)
{
    bl_error err = {0};
    double start = clock_seconds();
    ray_call c = call_of(job, RENDER_CAMERA_RAYS);
    c.work.spp = job_spp(job, spp), c.work.seed = job_seed(job, seed);
    return finish(&c, camera_rays(&c, sample, rays, &err), start, NULL, &err);
}

/* words: of a ray's results; receive: takes those of `count` rays from the buffer. */
static bl_result trace(ray_call *c, uint64_t count, const bl_ray *rays, uint32_t words, void *results,
                       bl_result (*receive)(ray_call *c, uint64_t first, uint32_t count, void *results,
                                            bl_error *err),
                       bl_error *err)
{
    if (count > 0)
        TRY(prepare(c, chunk_of(count), words, err));
    for (uint64_t first = 0; first < count; first += CHUNK) {
        uint32_t n = chunk_of(count - first);
        TRY(gpu_buffer_write(c->job->samples, 0, rays + first, n * sizeof *rays, err));
        TRY(run_chunk(c, 0, n, 0, err));
        TRY(receive(c, first, n, results, err));
    }
    return BL_OK;
}

static bl_result receive_hits(ray_call *c, uint64_t first, uint32_t count, void *results, bl_error *err)
{
    return gpu_buffer_read(c->job->samples, count * sizeof(bl_ray), (bl_hit *)results + first,
                           count * sizeof(bl_hit), err);
}

bl_result bl_job_closest_hits(bl_job *job, uint64_t count, const bl_ray *rays, bl_hit *hits, bl_stats *stats)
{
    bl_error err = {0};
    double start = clock_seconds();
    ray_call c = call_of(job, RENDER_RAYS);
    return finish(&c, trace(&c, count, rays, RENDER_HIT_WORDS, hits, receive_hits, &err), start, stats, &err);
}

static bl_result receive_blocked(ray_call *c, uint64_t first, uint32_t count, void *results, bl_error *err)
{
    bool *blocked = (bool *)results + first;
    uint32_t *words = memory_alloc(count * sizeof *words);
    if (!words)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the hits of %u rays", count);
    bl_result r = gpu_buffer_read(c->job->samples, count * sizeof(bl_ray), words, count * sizeof *words, err);
    for (uint32_t k = 0; r == BL_OK && k < count; k++)
        blocked[k] = words[k] != 0;
    memory_free(words);
    return r;
}

bl_result bl_job_any_hits(bl_job *job, uint64_t count, const bl_ray *rays, bool *blocked, bl_stats *stats)
{
    bl_error err = {0};
    double start = clock_seconds();
    ray_call c = call_of(job, RENDER_RAYS_ANY);
    return finish(&c, trace(&c, count, rays, 1, blocked, receive_blocked, &err), start, stats, &err);
}

bl_rays_info bl_job_rays_info(const bl_job *job)
{
    return (bl_rays_info){
        .name = bl_job_rays(job),
        .host_seconds = job->scene->bvh_seconds,
        .device_seconds = job->rays_seconds,
        .host_bytes = ray_backend_host_bytes(job->scene),
        .device_bytes = job->accel       ? gpu_accel_size(job->accel)
                        : job->hierarchy ? gpu_hierarchy_size(job->hierarchy)
                                         : 0,
    };
}
