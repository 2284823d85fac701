/* SPDX-License-Identifier: BSD-3-Clause
 * The passes of moving edges. There are three: edges that the sensor sees, edges that surfaces see, and
 * borders of shadows. In a gradient pass each adds to the same sums. In a forward pass the first and the last
 * are sums of splats, which join the image in the end; after an overflow they are summed again, with a
 * coarser scale. */
#include "api/edges.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_kernels.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "render/sensor/sensor.h"
#include "render/shape/silhouette_words.h"

#include <stdlib.h>
#include <string.h>

/* Random numbers apart from those of image and gradient; of how many samples of the gradient a pass of edges
 * has one, where nothing else is asked for (docs/theory/edges.md); and how many samples of each cell are for
 * learning: a LEARN_SHARE-th of the pass, between these bounds. */
enum {
    EDGES_STREAM = 2,
    LEARN_STREAM = 3,
    EDGES_SHARE = 2,
    LEARN_SHARE = 4,
    LEARN_LEAST = 2,
    LEARN_MOST = 16
};

/* The integrator's own number of samples of pass k; PLAN_NONE: it has none. */
static uint32_t own_samples(const bl_job *job, uint32_t k)
{
    return k == 0 ? job->scene->edge_samples.seen : job->scene->edge_samples.indirect;
}

bool edges_pass(const bl_job *job, bool forward, uint32_t k, render_pass *pass)
{
    static const render_pass all[EDGES_PASSES][2] = {
        {RENDER_EDGES_SEEN, RENDER_EDGES_SEEN_FORWARD},
        {RENDER_EDGES_PATH, RENDER_EDGES_PATH_FORWARD},
        {RENDER_EDGES_LIT, RENDER_EDGES_LIT_FORWARD},
    };
    BL_ASSERT(k < EDGES_PASSES, "pass %u of edges", k);
    int32_t most = job->scene->max_depth;
    bool linked = sensor_of(job->scene->sensor)->link, scatters = most < 0 || most > 1;
    const bool finds[EDGES_PASSES] = {linked, scatters, scatters && edges_from_lights_possible(job->scene)};
    *pass = all[k][forward];
    return finds[k] && own_samples(job, k) > 0;
}

bool edges_wanted(const bl_job *job, const job_work_desc *w)
{
    return job->plan->edges && w->edges != BL_EDGES_NONE &&
           (w->pass == RENDER_FORWARD || w->pass == RENDER_GRADIENT);
}

job_work_desc edges_work(const bl_job *job, const job_work_desc *w, uint32_t k)
{
    job_work_desc e = *w;
    e.lanes = (job_lanes){0}, e.stream = EDGES_STREAM, e.film_spp = w->spp;
    if (w->lanes.count)
        e.strips = job_strips(job_pixels(job), w->spp);
    const uint32_t usual = w->edges_spp ? w->edges_spp : (w->spp + EDGES_SHARE - 1) / EDGES_SHARE;
    bool own = w->own_counts && own_samples(job, k) != PLAN_NONE;
    e.spp = job_spp(job, own ? own_samples(job, k) : usual);
    e.progress_from = e.progress_to;
    return e;
}

/* ---- learning ---- */

/* Words of BUFFER_SAMPLES in which a pass leaves what it has found, and with which the table is made. */
static uint64_t learnt_words(const bl_job *job)
{
    return (uint64_t)job->plan->edge_cells * CELL_LEARNT_WORDS + LEARN_LANES * (LEARN_SUMS + 1);
}

bl_result edges_prepare(bl_job *job, bl_error *err)
{
    gpu_kernel *made;
    TRY(job_kernel(job, RENDER_EDGES_LEARN, &made, err));
    return job_reserve_samples(job, learnt_words(job), err);
}

bool edges_prepared(const bl_job *job)
{
    return job->made->kernels[RENDER_EDGES_LEARN] && gpu_buffer_size(job->samples) >= 4 * learnt_words(job);
}

void edges_record_learning(bl_job *job, const job_work_desc *w, render_pass pass, uint32_t k)
{
    uint32_t cells = job->plan->edge_cells;
    uint64_t each = (uint64_t)job_pixels(job) * w->spp / LEARN_SHARE / cells;
    uint32_t samples = each < LEARN_LEAST ? LEARN_LEAST : each > LEARN_MOST ? LEARN_MOST : (uint32_t)each;
    const uint32_t run[UNIFORM_COUNT] = {
        [UNIFORM_LANE_COUNT] = cells,
        [UNIFORM_SPP] = cells * samples,
        [UNIFORM_SEED] = w->seed,
        [UNIFORM_STRIPS] = 1,
        [UNIFORM_STREAM] = LEARN_STREAM,
        [UNIFORM_WIDTH] = job->scene->width,
        [UNIFORM_HEIGHT] = job->scene->height,
        [UNIFORM_HALVES] = 1,
        [UNIFORM_EDGES_LEARN] = samples,
    };
    job_record(job, pass, job->values, run, cells);
    for (uint32_t step = 0; step < LEARN_STEPS; step++) {
        uint32_t lanes = step == LEARN_VARIANCE ? 1 : LEARN_LANES;
        const uint32_t table[UNIFORM_COUNT] = {
            [UNIFORM_LANE_COUNT] = lanes, [UNIFORM_TABLE_STEP] = k + step * EDGE_TABLES};
        job_record(job, RENDER_EDGES_LEARN, job->values, table, lanes);
    }
}

edges_tables edges_tables_of(const bl_job *job)
{
    const plan *p = job->plan;
    if (!p->edges)
        return (edges_tables){0};
    return (edges_tables){.first = p->words.data[p->words.data[HEADER_SILHOUETTES] + SILHOUETTE_GUIDE],
                          .count = EDGE_TABLES * (CELL_TABLE_WORDS * p->edge_cells + 1)};
}

static bl_result learn(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    for (uint32_t k = 0; k < EDGES_PASSES; k++) {
        const job_work_desc e = edges_work(job, w, k);
        double seconds;
        gpu_kernel *made;
        render_pass pass;
        if (!edges_pass(job, w->pass == RENDER_FORWARD, k, &pass))
            continue;
        TRY(job_kernel(job, pass, &made, err));
        TRY(gpu_batch_begin(job->batch, err));
        edges_record_learning(job, &e, pass, k);
        TRY(job_submit(job, stats, &seconds, err));
        TRY(bounds_check(job->bounds, err));
    }
    return BL_OK;
}

/* ---- running ---- */

static bl_result clear_splats(bl_job *job, uint32_t spp, uint32_t coarser, bl_stats *stats, bl_error *err)
{
    double seconds;
    TRY(job_reserve_splats(job, err));
    TRY(job_set_splat_scale(job, spp, coarser, err));
    TRY(gpu_batch_begin(job->batch, err));
    gpu_batch_fill(job->batch, job->splats, 0, gpu_buffer_size(job->splats), 0);
    return job_submit(job, stats, &seconds, err);
}

/* Runs those passes that splat, or those that do not. */
static bl_result run_passes(bl_job *job, const job_work_desc *w, bool splatting, bl_stats *stats,
                            bl_error *err)
{
    for (uint32_t k = 0; k < EDGES_PASSES; k++) {
        const job_work_desc e = edges_work(job, w, k);
        render_pass pass;
        if (!edges_pass(job, w->pass == RENDER_FORWARD, k, &pass) || job_splats(job, pass) != splatting)
            continue;
        TRY(job_run_part(job, &e, pass, job_everything(&e, job_pixels(job)), stats, err));
        stats->edges += (uint64_t)job_pixels(job) * e.spp;
    }
    return BL_OK;
}

static bl_result run_splats(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    uint64_t before[STATUS_COUNT];
    TRY(job_take_status(job, err));
    memcpy(before, job->counted, sizeof before);
    for (uint32_t coarser = 0;; coarser++) {
        uint64_t edges = stats->edges;
        TRY(clear_splats(job, w->spp, coarser, stats, err));
        TRY(run_passes(job, w, true, stats, err));
        TRY(job_take_status(job, err));
        if (job->counted[STATUS_OVERFLOW] == before[STATUS_OVERFLOW] || coarser == REPEATS_MOST)
            return BL_OK; /* what still overflows stays counted */
        memcpy(job->counted, before, sizeof before);
        stats->edges = edges;
    }
}

bl_result edges_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    if (!edges_wanted(job, w))
        return BL_OK;
    TRY(edges_prepare(job, err));
    if (!w->edges_learnt)
        TRY(learn(job, w, stats, err));
    TRY(run_passes(job, w, false, stats, err));
    return w->pass == RENDER_FORWARD ? run_splats(job, w, stats, err) : BL_OK;
}

bl_result edges_add_splats(bl_job *job, float *image, bl_stats *stats, bl_error *err)
{
    uint32_t n = job_values(job);
    double seconds;
    if (stats->edges == 0 || !image)
        return BL_OK;
    float *splats = memory_alloc(4 * (size_t)n);
    if (!splats)
        return error_set(err, BL_ERROR_MEMORY, "no memory for an image of %u values", n);
    bl_result r = gpu_batch_begin(job->batch, err);
    fit_gradient_read read = {
        .gradient = job->splats, .scale = job->splat_scale, .output = job->image, .count = n};
    if (r == BL_OK)
        fit_record_gradient_read(job->batch, job->device->fixed, &read),
            r = job_submit(job, stats, &seconds, err);
    if (r == BL_OK)
        r = gpu_buffer_read(job->image, 0, splats, 4ull * n, err);
    for (uint32_t i = 0; i < n && r == BL_OK; i++)
        image[i] += splats[i];
    memory_free(splats);
    return r;
}
