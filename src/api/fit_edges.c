/* SPDX-License-Identifier: BSD-3-Clause
 * Moving edges over the steps of a fit.
 *
 * Where on edges samples look is learnt (docs/theory/edges.md) and costs what many samples cost. From one
 * step of a fit to the next little changes. So a step of every few learns, and those after it choose by the
 * same tables. Whatever the tables say, a gradient's expectation is the same: they were made of earlier
 * random numbers, and every cell keeps a share of its probability.
 *
 * How many samples edges have follows from noise. Let v and e be the variances of a gradient without edges
 * and of edges alone, found with n and s n samples, and let a sample of edges cost c of the others. Time for
 * the same variance is least with sqrt(s e / (c v)) n samples of edges. Two steps in a row look, and two more
 * every LOOKS_APART steps: they find the gradient of edges once more, alone. They have independent random
 * numbers and nearly the same expectation, so half the square of their difference is the variance. One pair
 * says little of a few values, so with fewer than VALUES_LEAST that are not 0 things stay as they are.
 * Parameters have units of their own, so e / v is of each, and the largest counts. Edges never have more than
 * the usual samples: two looks may miss what is rare.
 *
 * The tables are by what one sensor sees, and there is room for one set. So fits of several views learn at
 * every look, and so do batches; their edges have the usual samples. */
#include "api/fit_edges.h"
#include "api/edges.h"
#include "api/fit_noise.h"
#include "api/fit_words.h"
#include "api/job_pass.h"
#include "api/job_split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEARN_STEPS_APART = 8, LOOKS_APART = 128, VALUES_LEAST = 64 };
static const float USUAL = 0.5f, LEAST = 1 / 16.0f;
static const double COST = 2;

static bool keeps(const bl_fit *fit)
{
    const bl_job *job = fit->job;
    return job->plan->edges && !job_split_edges(job) && fit->seen_count == 1 && !fit->desc.batch;
}

static uint32_t steps_done(const bl_fit *fit) { return fit->status.step - fit->desc.first_step; }

bool fit_edges_learnt(const bl_fit *fit) { return keeps(fit) && steps_done(fit) % LEARN_STEPS_APART != 0; }

/* ---- samples ---- */

bl_result fit_edges_create(bl_fit *fit, bl_error *err)
{
    const size_t n = fit->job->plan->gradient_count;
    if (!keeps(fit) || fit->desc.common_numbers || fit->job->scene->pipelined)
        return BL_OK;
    fit->edges.before = memory_alloc(16 * n + 4);
    if (!fit->edges.before)
        return error_set(err, BL_ERROR_MEMORY, "no memory for four gradients of %zu values", n);
    memset(fit->edges.before, 0, 16 * n + 4);
    TRY(gpu_buffer_create(fit->job->device->gpu, GPU_DEVICE, gpu_buffer_size(fit->job->gradient),
                          "gradient of a step", &fit->edges.step, err));
    fit->bytes += gpu_buffer_size(fit->edges.step);
    return BL_OK;
}

void fit_edges_destroy(bl_fit *fit)
{
    memory_free(fit->edges.before);
    gpu_buffer_destroy(fit->edges.step);
}

uint32_t fit_edges_samples(const bl_fit *fit)
{
    return (uint32_t)ceilf(fit->edges.share * (float)fit->samples.gradient);
}

static bl_result copy(bl_job *job, gpu_buffer *from, gpu_buffer *to, bl_error *err)
{
    bl_stats unused = {0};
    double seconds;
    TRY(gpu_batch_begin(job->batch, err));
    gpu_batch_copy(job->batch, from, 0, to, 0, gpu_buffer_size(to));
    return job_submit(job, &unused, &seconds, err);
}

/* Finds the gradient of edges alone, with the random numbers of the step. Takes that of all, which stays. */
static bl_result walk_alone(bl_fit *fit, const job_work_desc *step, float *all, float *alone, bl_error *err)
{
    bl_job *job = fit->job;
    bl_stats unused = {0};
    job_work_desc w = *step;
    w.edges_alone = w.edges_learnt = true, w.shared = 0;
    TRY(fit_take_gradient(fit, all, err));
    TRY(copy(job, job->gradient, fit->edges.step, err));
    TRY(job_run(job, &w, &unused, err));
    TRY(fit_take_gradient(fit, alone, err));
    return copy(job, fit->edges.step, job->gradient, err);
}

/* Of a parameter: the variance of edges over that of the rest; infinite: too few values tell. Edges that
 * bring nothing to it do not count. */
static double ratio(const bl_fit *fit, uint32_t k, const float *rest, const float *alone)
{
    const bl_job *job = fit->job;
    const float *rest_before = fit->edges.before, *alone_before = rest_before + job->plan->gradient_count;
    double sums[2] = {0};
    uint32_t reached = 0;
    for (uint32_t i = fit->asked[k].first; i < fit->asked[k].first + fit->asked[k].count; i++) {
        const uint32_t first = job->plan->gradient_offset[job->requested[i]],
                       end = first + job->scene->parameters.data[job->requested[i]].count;
        for (uint32_t j = first; j < end; j++) {
            const double a = (double)rest[j] - (double)rest_before[j],
                         b = (double)alone[j] - (double)alone_before[j];
            reached += a != 0 || b != 0;
            if (isfinite(a) && isfinite(b))
                sums[0] += a * a, sums[1] += b * b;
        }
    }
    if (!(sums[1] > 0))
        return 0;
    return reached < VALUES_LEAST || !(sums[0] > 0) ? (double)INFINITY : sums[1] / sums[0];
}

/* The share of the gradient's samples that edges should have. */
static float share(const bl_fit *fit, const float *rest, const float *alone)
{
    const float now = fit->edges.share > 0 ? fit->edges.share : USUAL;
    double most = 0;
    for (uint32_t k = 0; k < fit->asked_count; k++)
        most = fmax(most, ratio(fit, k, rest, alone));
    return fminf(fmaxf((float)sqrt(most * (double)now / COST), LEAST), USUAL);
}

static uint32_t look_number(const bl_fit *fit) { return steps_done(fit) % LOOKS_APART; }

bool fit_edges_due(const bl_fit *fit) { return fit->edges.step && look_number(fit) < 2; }

bl_result fit_edges_look(bl_fit *fit, const job_work_desc *step, bl_error *err)
{
    const uint32_t n = fit->job->plan->gradient_count;
    float *rest = fit->edges.before + 2 * (size_t)n, *alone = rest + n;
    TRY(walk_alone(fit, step, rest, alone, err));
    for (uint32_t i = 0; i < n; i++)
        rest[i] -= alone[i];
    if (look_number(fit) == 1)
        fit->edges.share = share(fit, rest, alone);
    memcpy(fit->edges.before, rest, 8 * (size_t)n);
    return BL_OK;
}

/* ---- in a checkpoint: the tables, the share, and the gradients of the step before ---- */

static uint32_t look_words(const bl_fit *fit)
{
    return fit->edges.step ? 1 + 2 * fit->job->plan->gradient_count : 0;
}

uint32_t fit_edges_words(const bl_fit *fit)
{
    return keeps(fit) ? edges_tables_of(fit->job).count + look_words(fit) : 0;
}

bl_result fit_edges_move(bl_fit *fit, float *words, bool store, bl_error *err)
{
    const edges_tables tables = edges_tables_of(fit->job);
    if (!keeps(fit))
        return BL_OK;
    TRY(fit_move_words(fit->job->values, 4ull * tables.first, words, tables.count, store, err));
    if (!look_words(fit))
        return BL_OK;
    words += tables.count;
    fit_copy_words(&fit->edges.share, words, 1, store);
    fit_copy_words(fit->edges.before, words + 1, 2 * (size_t)fit->job->plan->gradient_count, store);
    return BL_OK;
}
