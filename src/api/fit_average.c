/* SPDX-License-Identifier: BSD-3-Clause
 * Averaging over steps (bl_fit_desc.average_from): Polyak, Juditsky 1992, Acceleration of stochastic
 * approximation by averaging. Noise moves parameters about the values at which the loss is least, by more the
 * larger the rate; the mean over T steps has about the error that one step with all of their samples would
 * have. Values go to the host once a step, of the steps that count alone. */
#include "api/fit_average.h"
#include "api/fit_roots.h"
#include "api/fit_words.h"
#include "api/job_buffers.h"

#include <stdlib.h>
#include <string.h>

bl_result fit_average_create(bl_fit *fit, bl_error *err)
{
    if ((fit->desc.average_from & ~BL_AVERAGE_AUTO) > UINT32_MAX)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "average_from is a step, below 2^32, to which BL_AVERAGE_AUTO may be added");
    if (fit->desc.average_from == 0 || fit->desc.average_from & BL_AVERAGE_AUTO)
        return BL_OK;
    const size_t bytes = 4 * (size_t)fit_value_count(fit) + 4;
    fit->average.means = memory_alloc(bytes);
    if (!fit->average.means)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the means of %u values", fit_value_count(fit));
    memset(fit->average.means, 0, bytes);
    return BL_OK;
}

void fit_average_destroy(bl_fit *fit) { memory_free(fit->average.means); }

bl_result fit_average_follow(bl_fit *fit, uint32_t step, bl_error *err)
{
    fit_average *a = &fit->average;
    if (!a->means || step < fit->desc.average_from)
        return BL_OK;
    const uint32_t n = fit_value_count(fit);
    float *values = memory_alloc(4 * (size_t)n + 4);
    if (!values)
        return error_set(err, BL_ERROR_MEMORY, "no memory for %u values", n);
    bl_result r = fit_move_values(fit, values, false, err);
    if (step == fit->desc.average_from)
        a->steps = 0; /* a checkpoint may be of a fit that began earlier */
    if (r == BL_OK)
        a->steps++;
    for (uint32_t i = 0; i < n && r == BL_OK; i++)
        a->means[i] += (values[i] - a->means[i]) / (float)a->steps;
    memory_free(values);
    return r;
}

bl_result bl_fit_settle(bl_fit *fit)
{
    bl_job *job = fit->job;
    bl_error err = {0};
    bl_result r = BL_OK;
    if (!fit->average.steps && !fit->roots.steps)
        return BL_OK;
    if (fit->average.steps)
        r = fit_move_values(fit, fit->average.means, true, &err);
    else
        r = fit_roots_settle(fit, &err);
    if (r != BL_OK)
        return context_fail(job->context, &err);
    for (uint32_t k = 0; k < job->requested_count; k++)
        job_value_changed(job, job->requested[k]);
    return BL_OK;
}

/* ---- in a checkpoint: the number of steps, then the means ---- */

uint32_t fit_average_words(const bl_fit *fit) { return fit->average.means ? 1 + fit_value_count(fit) : 0; }

void fit_average_move(bl_fit *fit, float *words, bool store)
{
    fit_average *a = &fit->average;
    if (!a->means)
        return;
    fit_copy_words(&a->steps, words, 1, store);
    fit_copy_words(a->means, words + 1, fit_value_count(fit), store);
}
