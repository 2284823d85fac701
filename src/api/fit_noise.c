/* SPDX-License-Identifier: BSD-3-Clause
 * How noisy the gradients of a fit are (bl_fit_desc.variance_steps). Two gradients g and h of the same values
 * with independent random numbers have the expectation e and the variance v: E[(g - h)^2 / 2] = v and
 * E[g h] = e^2, whatever the noise is like. One pair says little about one value. Summed over the values of a
 * parameter, and over the looks of a fit, it says much.
 *
 * The second gradient is found first, in a run of the step's passes with seeds of its own, and brought to the
 * host; then the step goes on as if there had been none. Its passes leave nothing that the step's do not
 * write anew: film, image, dL/dI, gradient and counters. A pipelined method, whose step needs the image of
 * the one before, would lose that, and is refused. */
#include "api/fit_noise.h"
#include "api/gradient.h"

#include <math.h>
#include <stdlib.h>

bl_result fit_noise_create(bl_fit *fit, bl_error *err)
{
    if (fit->desc.variance_steps == 0)
        return BL_OK;
    if (fit->desc.variance_steps > UINT32_MAX)
        return error_set(err, BL_ERROR_ARGUMENT, "variance_steps is a number of steps, below 2^32");
    if (fit->job->scene->pipelined)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "the noise of rb_biased2 and rb_biased1_2 is not measured: a second gradient would "
                         "take the image that the step needs");
    fit->probe.gradient = memory_alloc(4 * (size_t)fit->job->plan->gradient_count + 4);
    if (!fit->probe.gradient)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a gradient of %u values",
                         fit->job->plan->gradient_count);
    fit->probe.noise = memory_need_zeroed(fit->asked_count, sizeof *fit->probe.noise);
    return BL_OK;
}

void fit_noise_destroy(bl_fit *fit)
{
    memory_free(fit->probe.gradient);
    memory_free(fit->probe.noise);
}

bool fit_noise_due(const bl_fit *fit)
{
    return fit->probe.gradient && fit->status.step % fit->desc.variance_steps == 0;
}

bl_result fit_take_gradient(bl_fit *fit, float *gradient, bl_error *err)
{
    bl_job *job = fit->job;
    TRY(gpu_batch_begin(job->batch, err));
    gradient_record_output(job, NULL, false);
    TRY(gpu_batch_submit(job->batch, err));
    TRY(gpu_batch_wait(job->batch, NULL, err));
    return gpu_buffer_read(job->output, 0, gradient, 4ull * job->plan->gradient_count, err);
}

bl_result fit_noise_keep(bl_fit *fit, bl_error *err)
{
    TRY(fit_take_gradient(fit, fit->probe.gradient, err));
    fit->probe.found = true;
    return BL_OK;
}

/* Of a parameter of the descriptor. own: the step's gradient. */
static bl_fit_noise compare(const bl_fit *fit, const fit_asked *asked, const float *own)
{
    const plan *p = fit->job->plan;
    double variance = 0, square = 0;
    uint32_t count = 0;
    for (uint32_t k = asked->first; k < asked->first + asked->count; k++) {
        const uint32_t index = fit->job->requested[k], first = p->gradient_offset[index],
                       n = fit->job->scene->parameters.data[index].count;
        for (uint32_t i = first; i < first + n; i++) {
            const double g = (double)own[i], h = (double)fit->probe.gradient[i];
            variance += 0.5 * (g - h) * (g - h), square += g * h;
        }
        count += n;
    }
    return (bl_fit_noise){.step = fit->status.step + 1,
                          .variance = variance / fmax(count, 1),
                          .square = square / fmax(count, 1)};
}

bl_result fit_noise_compare(bl_fit *fit, bl_error *err)
{
    if (!fit->probe.found)
        return BL_OK;
    fit->probe.found = false;
    const size_t bytes = 4 * (size_t)fit->job->plan->gradient_count + 4;
    float *own = memory_alloc(bytes);
    if (!own)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a gradient of %zu bytes", bytes);
    bl_result r = fit_take_gradient(fit, own, err);
    for (uint32_t k = 0; r == BL_OK && k < fit->asked_count; k++)
        fit->probe.noise[k] = compare(fit, &fit->asked[k], own);
    memory_free(own);
    return r;
}

bl_result bl_fit_get_noise(const bl_fit *fit, uint32_t k, bl_fit_noise *out)
{
    *out = (bl_fit_noise){0};
    if (k >= fit->asked_count)
        return context_fail_range(fit->job->context, "parameter of the fit", k, fit->asked_count);
    if (fit->probe.noise)
        *out = fit->probe.noise[k];
    return BL_OK;
}
