/* SPDX-License-Identifier: BSD-3-Clause
 * The image by Metropolis chains: where they start, their steps, and what is known of them afterwards
 * (docs/theory/metropolis.md; the kernels are kernels/metropolis.c).
 *
 * First each chain probes: large steps from nowhere, whose values the host reads. Their mean is the factor of
 * the whole image. The chains start at probes that are chosen in proportion to their values, so a chain is in
 * equilibrium from the first step on, and the image has the right expectation after any number of steps
 * (Veach 1997, section 11.3.1). The first round of probes serves MIS weights alone, so that these do not
 * depend on the others.
 *
 * The number of lanes follows from film and samples alone, and each chain from the seed and its number, so
 * the image does not depend on slices. */
#include "api/metropolis.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_kernels.h"
#include "api/job_pass.h"

#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    LANES_FEWEST = 1 << 9,
    LANES_MANY = 1 << 14,
    STEPS_WANTED = 256, /* of a chain, as long as that gives enough lanes and not too many */
    PROBES_SHARE = 8,   /* one path of so many is a probe */
    ROUNDS_LEAST = 2,
    ROUNDS_MOST = 32
};

typedef struct chains {
    bl_job *job;
    const job_work_desc *w;
    uint32_t particles, lanes, count; /* count: of chains */
    uint32_t rounds, steps;           /* rounds: of probes */
    uint32_t direct;                  /* samples of direct light in a pixel; 0: chains have it */
    enum chain_phase phase;
    float *values;      /* of each round, those of all lanes */
    double mean, error; /* of all values but the first round's, and its standard error */
    double direct_mean; /* of the last round's samples of direct light, roughly */
} chains;

static uint32_t power_below(uint64_t n)
{
    uint32_t power = 1;
    while (2ull * power <= n && power < 1u << 30)
        power *= 2;
    return power;
}

static void choose_sizes(chains *c)
{
    const render_metropolis *m = &c->job->scene->metropolis;
    const uint64_t paths = (uint64_t)job_pixels(c->job) * c->w->spp;
    uint64_t lanes = paths / STEPS_WANTED;
    lanes = lanes < LANES_FEWEST ? LANES_FEWEST : lanes > LANES_MANY ? LANES_MANY : lanes;
    c->particles = m->particles;
    c->count = m->chains ? m->chains : power_below(lanes) / m->particles;
    c->lanes = c->count * c->particles;
    uint64_t rounds = paths / PROBES_SHARE / c->lanes;
    c->rounds = rounds < ROUNDS_LEAST ? ROUNDS_LEAST : rounds > ROUNDS_MOST ? ROUNDS_MOST : (uint32_t)rounds;
    const uint64_t steps = (paths + c->lanes - 1) / c->lanes,
                   rest = steps > c->rounds ? steps - c->rounds : 1;
    c->steps = (uint32_t)(rest < UINT32_MAX / 2 ? rest : UINT32_MAX / 2);
    if (m->separates_direct) { /* each pixel has a sample of direct light */
        const uint32_t least = (job_pixels(c->job) + c->lanes - 1) / c->lanes;
        c->steps = c->steps < least ? least : c->steps;
        const uint64_t countable = UINT32_MAX / c->lanes; /* steps; the kernel counts in 32 bits */
        c->direct = (uint32_t)(c->lanes * (c->steps < countable ? c->steps : countable) / job_pixels(c->job));
    }
}

/* ---- dispatches ---- */

static uint64_t plane_at(const chains *c, uint32_t plane)
{
    return 4ull * (CHAIN_HEADER + (uint64_t)plane * c->lanes);
}

static void record_kernel(const chains *c, render_pass pass, job_range r, uint32_t step)
{
    const job_work_desc *w = c->w;
    const uint32_t push[UNIFORM_COUNT] = {
        [UNIFORM_FIRST_LANE] = r.first_lane,
        [UNIFORM_LANE_COUNT] = r.lane_count,
        [UNIFORM_CHAIN_STEP] = step,
        [UNIFORM_CHAIN_LAST] = c->phase == CHAIN_STEP && step == c->rounds + c->steps - 1,
        [UNIFORM_CHAIN_PHASE] = c->phase,
        [UNIFORM_CHAIN_LANES] = c->lanes,
        [UNIFORM_SPP] = w->spp,
        [UNIFORM_SEED] = w->seed,
        [UNIFORM_STREAM] = w->stream,
        [UNIFORM_WIDTH] = c->job->scene->width,
        [UNIFORM_HEIGHT] = c->job->scene->height,
    };
    job_record(c->job, pass, c->job->values, push, r.lane_count);
}

/* Samples of a range are steps. Those of probes come first. */
static void record_steps(void *user, job_range r)
{
    const chains *c = user;
    for (uint32_t step = r.first_sample; step < r.last_sample; step++) {
        record_kernel(c, RENDER_PRIMAL, r, step);
        if (c->phase != CHAIN_PROBE)
            record_kernel(c, RENDER_CHAIN_ACCEPT, r, step);
    }
}

static bl_result run_steps(chains *c, enum chain_phase phase, uint32_t first, uint32_t last, bl_stats *stats,
                           bl_error *err)
{
    const job_work_desc *w = c->w;
    const double all = c->rounds + c->steps, length = w->progress_to - w->progress_from;
    job_work_desc piece = *w;
    piece.progress_from = w->progress_from + length * (first / all);
    piece.progress_to = w->progress_from + length * (last / all);
    c->phase = phase;
    const job_slices slices = {
        .device = c->job->device,
        .batch = c->job->batch,
        .work = &piece,
        .window = {.lane_count = c->lanes, .first_sample = first, .last_sample = last},
        .speed = &c->job->made->paths_per_second[RENDER_PRIMAL],
        .record = record_steps,
        .user = c,
    };
    return job_slice(&slices, stats, err);
}

/* ---- probes ---- */

static double mean_of(const float *values, size_t count, double *error)
{
    double sum = 0, squares = 0;
    for (size_t k = 0; k < count; k++)
        sum += (double)values[k], squares += (double)values[k] * (double)values[k];
    const double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    *error = count > 1 && variance > 0 ? sqrt(variance / (double)(count - 1)) : 0;
    return mean;
}

/* A number in [0, 1) of the seed. */
static double fraction_of(uint32_t seed) { return (double)(XXH3_64bits(&seed, sizeof seed) >> 11) * 0x1p-53; }

/* Chooses a probe for each chain, with a probability in proportion to its value: one random number, and equal
 * distances from there (systematic resampling). Those of the first round are left out. */
static bl_result write_starts(chains *c, bl_error *err)
{
    const size_t count = (size_t)(c->rounds - 1) * c->lanes;
    const float *values = c->values + c->lanes;
    TRY(memory_check(8 * (size_t)c->lanes, err));
    uint32_t *names = memory_need(8 * (size_t)c->lanes + 8), *steps = names + c->lanes;
    const double each = c->mean * (double)count / c->count;
    double sum = 0, wanted = fraction_of(c->w->seed) * each;
    size_t k = 0;
    for (uint32_t i = 0; i < c->count; i++, wanted += each) {
        while (k + 1 < count && sum + (double)values[k] <= wanted)
            sum += (double)values[k++];
        while (values[k] <= 0) /* only where sums are rounded, at the end */
            k--;
        for (uint32_t p = 0; p < c->particles; p++) {
            names[i * c->particles + p] = (uint32_t)(k % c->lanes);
            steps[i * c->particles + p] = (uint32_t)(k / c->lanes) + 1;
        }
    }
    bl_result r =
        gpu_buffer_write(c->job->samples, plane_at(c, CHAIN_START_NAME), names, 8ull * c->lanes, err);
    memory_free(names);
    return r;
}

static bl_result write_header(chains *c, double mean_for_weights, bl_error *err)
{
    const float words[3] = {
        [CHAIN_UNIT] = (float)(job_pixels(c->job) / ((double)c->count * c->steps)),
        [CHAIN_MEAN] = (float)mean_for_weights,
        [CHAIN_RATIO] = (float)(c->mean / mean_for_weights),
    };
    return gpu_buffer_write(c->job->samples, 0, words, sizeof words, err);
}

/* first: the step with which samples of direct light begin. */
static bl_result write_direct(chains *c, uint32_t first, bl_error *err)
{
    const uint32_t words[2] = {first, c->direct};
    _Static_assert(CHAIN_DIRECT == CHAIN_FIRST + 1, "the words are neighbours");
    return gpu_buffer_write(c->job->samples, 4 * CHAIN_FIRST, words, sizeof words, err);
}

/* The mean over the last round's samples of direct light, of their brightest channel; it uses c->values. */
static bl_result read_direct(chains *c, bl_error *err)
{
    double unused;
    c->direct_mean = 0;
    for (uint32_t k = 0; k < c->job->scene->film_channels && c->direct; k++) {
        TRY(gpu_buffer_read(c->job->samples, plane_at(c, CHAIN_DIRECT_COLOR + k), c->values, 4ull * c->lanes,
                            err));
        c->direct_mean = fmax(c->direct_mean, mean_of(c->values, c->lanes, &unused));
    }
    return BL_OK;
}

/* Neither chains nor samples of direct light have found any. */
static bool is_dark(const chains *c) { return c->mean <= 0 && c->direct_mean <= 0; }

/* Probes, and leaves the chains at their starts. Where no probe has found light the mean is 0; if there is
 * direct light all the same, the chains start anywhere, and only their large steps count. */
static bl_result probe(chains *c, uint32_t coarser, bl_stats *stats, bl_error *err)
{
    for (uint32_t k = 0; k < c->rounds; k++) {
        if (k + 1 == c->rounds) /* before that CHAIN_DIRECT is 0 */
            TRY(write_direct(c, 0, err));
        TRY(run_steps(c, CHAIN_PROBE, k, k + 1, stats, err));
        TRY(gpu_buffer_read(c->job->samples, plane_at(c, CHAIN_NEW_VALUE), c->values + (size_t)k * c->lanes,
                            4ull * c->lanes, err));
    }
    double unused;
    const double first = mean_of(c->values, c->lanes, &unused);
    c->mean = mean_of(c->values + c->lanes, (size_t)(c->rounds - 1) * c->lanes, &c->error);
    if (c->mean > 0)
        TRY(write_starts(c, err));
    TRY(read_direct(c, err)); /* where values were */
    TRY(job_set_splat_size(c->job, fmax(c->mean, c->direct_mean) / c->w->spp, coarser, err));
    if (is_dark(c))
        return BL_OK;
    TRY(write_header(c, first > 0 ? first : c->mean > 0 ? c->mean : 1, err));
    TRY(write_direct(c, c->rounds, err));
    return run_steps(c, CHAIN_START, 0, 1, stats, err);
}

/* ---- what is known of them ---- */

static bl_result read_plane(const chains *c, uint32_t plane, uint32_t *words, bl_error *err)
{
    return gpu_buffer_read(c->job->samples, plane_at(c, plane), words, 4ull * c->lanes, err);
}

static bl_result sum_plane(const chains *c, uint32_t plane, uint32_t stride, uint32_t *words, uint64_t *sum,
                           bl_error *err)
{
    TRY(read_plane(c, plane, words, err));
    *sum = 0;
    for (uint32_t k = 0; k < c->lanes; k += stride)
        *sum += words[k];
    return BL_OK;
}

static bl_result read_statistics(const chains *c, uint32_t *words, bl_chains *out, bl_error *err)
{
    uint64_t taken, large, large_taken;
    TRY(sum_plane(c, CHAIN_TAKEN, c->particles, words, &taken, err));
    TRY(sum_plane(c, CHAIN_LARGE, c->particles, words, &large, err));
    TRY(sum_plane(c, CHAIN_LARGE_TAKEN, c->particles, words, &large_taken, err));
    TRY(sum_plane(c, CHAIN_VERTICES, 1, words, &out->vertices, err));
    const double small = (double)c->count * c->steps - (double)large;
    out->count = c->count, out->particles = c->particles, out->steps = c->steps, out->probes = c->rounds;
    out->mean = c->mean, out->mean_error = c->error;
    out->taken = small > 0 ? (double)taken / small : 0;
    out->large_taken = large > 0 ? (double)large_taken / (double)large : 0;
    TRY(read_plane(c, CHAIN_LARGE_SUM, words, err));
    double sum = 0;
    for (uint32_t k = 0; k < c->lanes; k += c->particles) {
        float value;
        memcpy(&value, &words[k], sizeof value);
        sum += (double)value;
    }
    out->large_mean = large > 0 ? sum / (double)large : 0;
    return BL_OK;
}

static bl_result know(const chains *c, bl_error *err)
{
    TRY(memory_check(4ull * c->lanes, err));
    uint32_t *words = memory_need(4 * (size_t)c->lanes + 4);
    bl_result r = read_statistics(c, words, &c->job->chains, err);
    memory_free(words);
    return r;
}

/* ---- the pass ---- */

static bl_result prepare(chains *c, bl_stats *stats, bl_error *err)
{
    double seconds;
    bl_job *job = c->job;
    TRY(job_prepare(job, c->w, stats, err));
    TRY(gpu_batch_begin(job->batch, err));
    gpu_batch_fill(job->batch, job->samples, 0, gpu_buffer_size(job->samples), 0);
    job_record_splat_scale(job, c->w->spp, 0); /* until probes tell a better one */
    return job_submit(job, stats, &seconds, err);
}

/* Repeats everything with a coarser scale after an overflow. */
static bl_result run(chains *c, bl_stats *stats, bl_error *err)
{
    bool fit = false;
    for (uint32_t coarser = 0; !fit; coarser++) {
        TRY(prepare(c, stats, err));
        TRY(probe(c, coarser, stats, err));
        if (is_dark(c))
            c->steps = 0; /* there is nothing to walk to */
        else
            TRY(run_steps(c, CHAIN_STEP, c->rounds, c->rounds + c->steps, stats, err));
        TRY(job_splats_fit(c->job, coarser, &fit, err));
    }
    return BL_OK;
}

bl_chains bl_job_chains(const bl_job *job) { return job->chains; }

bl_result metropolis_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    chains c = {.job = job, .w = w};
    gpu_kernel *kernel;
    choose_sizes(&c);
    const uint64_t words =
        CHAIN_HEADER + (uint64_t)CHAIN_PLANES * c.lanes + (uint64_t)CHAIN_BLOCKS * CHAIN_BLOCK * c.count;
    TRY(memory_check(4ull * c.rounds * c.lanes, err));
    TRY(job_reserve_samples(job, words, err));
    TRY(job_kernel(job, RENDER_PRIMAL, &kernel, err));
    TRY(job_kernel(job, RENDER_CHAIN_ACCEPT, &kernel, err));
    c.values = memory_need(4 * (size_t)c.rounds * c.lanes + 4);
    bl_result r = run(&c, stats, err);
    memory_free(c.values);
    TRY(r);
    stats->paths += (uint64_t)c.lanes * (c.rounds + c.steps);
    TRY(know(&c, err));
    return bounds_check(job->bounds, err);
}
