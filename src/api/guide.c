/* SPDX-License-Identifier: BSD-3-Clause
 * The guide of directions of a job (docs/theory/variance.md): passes that learn, each guided by what those
 * before it have found, and after each the table.
 *
 * What is learnt follows from values, sensor and the wanted number of samples. Its seed and its streams are
 * its own. So a pass gives the same bytes whatever the job did before, and is independent of the guide. */
#include "api/guide.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "render/medium/media.h"

#include <string.h>

enum { GUIDE_STREAM = 4 /* and those after it */, GUIDE_SAMPLES_MOST = 1 << 16 };

static bool some_disperses(const plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->bsdfs.count; i++)
        any |= plan_disperses(p->bsdfs.data[i]);
    return any;
}

/* What is not guided, in words; NULL: all is well. */
static const char *obstacle(const bl_job *job)
{
    const render_scene *s = job->scene;
    const plan *p = job->plan;
    if (s->light_tracing || s->both_ways)
        return "paths that begin at lights";
    if (s->metropolis.particles)
        return "Markov chains";
    if (s->own)
        return "paths of an application's integrator";
    if (p->field || s->ellipsoid_field || s->depth_image || s->no_image)
        return "an integrator without scattering";
    if (plan_has_media(p) || render_bends_rays(s))
        return "paths through media";
    if (some_disperses(p) || s->mode->polarized)
        return "dispersion and polarised light";
    if (p->moves || plan_attaches_paths(p) || plan_moves_segments(p))
        return "paths that move with requested parameters";
    if (p->doubles)
        return "double precision";
    if (job->desc.wavefront != BL_WAVEFRONT_NONE)
        return "walks as many kernels";
    return NULL;
}

bl_result guide_check(const bl_job *job, bl_error *err)
{
    const char *what = obstacle(job);
    if (job->desc.guide > GUIDE_SAMPLES_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "a guide of %llu samples: there are at most %d",
                         (unsigned long long)job->desc.guide, (int)GUIDE_SAMPLES_MOST);
    return what ? error_set(err, BL_ERROR_UNSUPPORTED, "a guide of directions does not know %s", what)
                : BL_OK;
}

static size_t elements(const bl_job *job) { return (size_t)plan_guide_cells(&job->plan->guide) * GUIDE_BINS; }

/* Writes the table. sums: of all bins; NULL: nothing is known. */
static bl_result write_table(bl_job *job, const double *sums, bl_error *err)
{
    const size_t bytes = 4 * (size_t)plan_guide_words(&job->plan->guide);
    float *words = memory_alloc(bytes);
    if (!words)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a guide of %zu bytes", bytes);
    plan_write_guide(job->plan, sums, words);
    bl_result r = gpu_buffer_write(job->values, 4ull * job->plan->guide.at, words, bytes, err);
    memory_free(words);
    return r;
}

bl_result guide_make(bl_job *job, bl_error *err)
{
    const size_t n = elements(job);
    TRY(job_replace_buffer(job, 8 * n, "lessons", &job->lessons, err));
    TRY(job_replace_buffer(job, 4 * n, "scale of lessons", &job->lesson_scale, err));
    return write_table(job, NULL, err);
}

/* Empties the sums and sets their scale. */
static bl_result begin(bl_job *job, bl_error *err)
{
    double seconds;
    bl_stats unused = {0};
    const float scale = job_radiance_scale(job);
    uint32_t word;
    memcpy(&word, &scale, sizeof word);
    TRY(gpu_batch_begin(job->batch, err));
    gpu_batch_fill(job->batch, job->lessons, 0, gpu_buffer_size(job->lessons), 0);
    gpu_batch_fill(job->batch, job->lesson_scale, 0, gpu_buffer_size(job->lesson_scale), word);
    return job_submit(job, &unused, &seconds, err);
}

/* Sums in fixed point as numbers; what has overflowed is none. */
static bl_result read_table(bl_job *job, bl_error *err)
{
    const size_t n = elements(job);
    int64_t *fixed = memory_alloc(n * sizeof *fixed);
    double *sums = memory_alloc(n * sizeof *sums);
    bl_result r = fixed && sums ? gpu_buffer_read(job->lessons, 0, fixed, n * sizeof *fixed, err)
                                : error_set(err, BL_ERROR_MEMORY, "no memory for a guide of %zu bins", n);
    for (size_t k = 0; r == BL_OK && k < n; k++)
        sums[k] = fixed[k] > 0 ? (double)fixed[k] : 0;
    if (r == BL_OK)
        r = write_table(job, sums, err);
    memory_free(fixed), memory_free(sums);
    return r;
}

static bl_result learn(bl_job *job, uint32_t pass, uint32_t spp, bl_error *err)
{
    bl_stats unused = {0};
    const job_work_desc w = {
        .pass = RENDER_GUIDE_LEARN,
        .spp = spp,
        .stream = GUIDE_STREAM + pass,
        .strips = job_strips(job_pixels(job), spp),
    };
    TRY(job_run(job, &w, &unused, err));
    return read_table(job, err);
}

bl_result guide_follow(bl_job *job, bl_error *err)
{
    const uint32_t wanted = (uint32_t)job->desc.guide;
    if (!plan_has_guide(job->plan) || job->guided)
        return BL_OK;
    TRY(write_table(job, NULL, err));
    TRY(begin(job, err));
    for (uint32_t done = 0, pass = 0, spp; done < wanted; done += spp) { /* 1, 1, 2, 4, .. samples */
        spp = done == 0 ? 1 : done < wanted - done ? done : wanted - done;
        spp = job_spp(job, spp);
        TRY(learn(job, pass++, spp, err));
    }
    job->guided = true;
    return BL_OK;
}
