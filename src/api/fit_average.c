/* SPDX-License-Identifier: BSD-3-Clause
 * Averaging over steps (bl_fit_desc.average_from): Polyak, Juditsky 1992, Acceleration of stochastic
 * approximation by averaging. Noise moves parameters about the values at which the loss is least, by more the
 * larger the rate; the mean over T steps has about the error that one step with all of their samples would
 * have. Values go to the host once a step, of the steps that count alone. */
#include "api/fit_average.h"
#include "api/job_buffers.h"

#include <stdlib.h>
#include <string.h>

static uint32_t value_count(const bl_fit *fit)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < fit->job->requested_count; k++)
        n += fit->job->scene->parameters.data[fit->job->requested[k]].count;
    return n;
}

bl_result fit_average_create(bl_fit *fit, bl_error *err)
{
    if (fit->desc.average_from == 0)
        return BL_OK;
    if (fit->desc.average_from > UINT32_MAX)
        return error_set(err, BL_ERROR_ARGUMENT, "average_from is a step, below 2^32");
    const size_t bytes = 4 * (size_t)value_count(fit) + 4;
    fit->average.means = memory_alloc(bytes);
    if (!fit->average.means)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the means of %u values", value_count(fit));
    memset(fit->average.means, 0, bytes);
    return BL_OK;
}

void fit_average_destroy(bl_fit *fit) { memory_free(fit->average.means); }

bl_result fit_average_follow(bl_fit *fit, uint32_t step, bl_error *err)
{
    const bl_job *job = fit->job;
    if (!fit->average.means || step < fit->desc.average_from)
        return BL_OK;
    const uint32_t n = value_count(fit);
    float *values = memory_alloc(4 * (size_t)n + 4), *at = values;
    if (!values)
        return error_set(err, BL_ERROR_MEMORY, "no memory for %u values", n);
    bl_result r = BL_OK;
    for (uint32_t k = 0; k < job->requested_count && r == BL_OK; k++) {
        const uint32_t count = job->scene->parameters.data[job->requested[k]].count;
        r = gpu_buffer_read(job->values, 4ull * job->plan->value_offset[job->requested[k]], at, 4ull * count,
                            err);
        at += count;
    }
    if (step == fit->desc.average_from)
        fit->average.steps = 0; /* a checkpoint may be of a fit that began earlier */
    if (r == BL_OK)
        fit->average.steps++;
    for (uint32_t i = 0; i < n && r == BL_OK; i++)
        fit->average.means[i] += (values[i] - fit->average.means[i]) / (float)fit->average.steps;
    memory_free(values);
    return r;
}

bl_result bl_fit_settle(bl_fit *fit)
{
    bl_job *job = fit->job;
    const float *at = fit->average.means;
    bl_error err = {0};
    for (uint32_t k = 0; k < job->requested_count && fit->average.steps; k++) {
        const uint32_t count = job->scene->parameters.data[job->requested[k]].count;
        if (gpu_buffer_write(job->values, 4ull * job->plan->value_offset[job->requested[k]], at, 4ull * count,
                             &err) != BL_OK)
            return context_fail(job->context, &err);
        job_value_changed(job, job->requested[k]);
        at += count;
    }
    return BL_OK;
}

/* ---- in a checkpoint: the number of steps, then the means ---- */

uint32_t fit_average_words(const bl_fit *fit) { return fit->average.means ? 1 + value_count(fit) : 0; }

void fit_average_move(bl_fit *fit, float *words, bool store)
{
    fit_average *a = &fit->average;
    if (!a->means)
        return;
    memcpy(store ? (void *)&a->steps : words, store ? words : (void *)&a->steps, 4);
    memcpy(store ? a->means : words + 1, store ? words + 1 : a->means, 4 * (size_t)value_count(fit));
}
