/* SPDX-License-Identifier: BSD-3-Clause
 * How many samples a step has, where that changes: as the schedule says, or as follows from noise. In either
 * case spp and spp_gradient of the fit's own descriptor are the most that a step has.
 *
 * From noise (bl_fit_desc.wanted_noise): as many as make the standard error of its gradient
 * the wanted share of the gradient's magnitude. This is the norm test (Byrd, Chin, Nocedal, Wu 2012, Sample
 * size selection in optimization methods for machine learning, section 3) with a variance that costs nothing.
 *
 * Gradients g of neighbouring steps have independent random numbers and nearly the same expectation e. With n
 * and m samples of variance w each,
 *
 *     E[(g - h)^2] / (1 / n + 1 / m) = w   and   E[g h] = e^2,
 *
 * both but for how far e moves in one step. Means of both over about MEMORY steps give the share of chance of
 * each parameter, q = v / (v + e^2), v = w / n, sums over its values. Parameters have units of their own;
 * shares have none, so their sums say how noisy the step is: r = sum q / sum (1 - q), which falls as 1 / n.
 * The next step has n r / wanted^2 samples, at most GROWTH times more or fewer. Where noise hides the
 * gradient e^2 is estimated as 0 or below, and the samples grow to their most.
 *
 * All of it is a function of the gradients, whose bytes do not depend on how passes are cut. */
#include "api/fit_samples.h"
#include "api/fit_noise.h"
#include "api/fit_words.h"
#include "api/gradient_scale.h"
#include "api/job_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 10, LEAST = 2, STATE_WORDS = 4 };
static const double growth = 1.5;

/* In two walks, the gradient's and those of an image that both halves share. */
static uint32_t image_samples(const bl_fit *fit, double wanted)
{
    const uint32_t own = fit->desc.form == BL_FORM_TWO_WALK ? fit->samples.gradient : 0;
    return own + job_spp(fit->job, (uint32_t)fmax(1, ceil(wanted - own)));
}

/* Even, for two halves; as many as the sampler can have. The image has its part. */
static void set(bl_fit *fit, double wanted)
{
    const uint32_t most = fit->desc.spp_gradient,
                   least = fit->desc.spp_least ? (uint32_t)fit->desc.spp_least : LEAST;
    const double n = fmin(fmax(wanted, least), most);
    uint32_t even = 2 * (uint32_t)ceil(n / 2);
    const uint32_t sets = fit->desc.form == BL_FORM_TWO_WALK ? 2 : 1;
    fit->samples.gradient = job_gradient_spp(fit->job, even < most ? even : most, sets);
    if (fit->samples.gradient > most)
        fit->samples.gradient = most;
    if (fit->desc.spp == most)
        fit->samples.image = fit->samples.gradient;
    else
        fit->samples.image = image_samples(fit, (double)fit->desc.spp * fit->samples.gradient / most);
}

/* ---- as the schedule says ---- */

double fit_samples_most(const bl_fit_desc *d)
{
    double most = 1;
    for (uint32_t i = 0; i < d->schedule_count; i++)
        most = fmax(most, d->schedule[i].samples);
    return most;
}

static bool scheduled(const bl_fit_desc *d)
{
    for (uint32_t i = 0; i < d->schedule_count; i++)
        if (d->schedule[i].samples > 0)
            return true;
    return false;
}

bool fit_samples_change(const bl_fit_desc *d) { return d->wanted_noise != 0 || scheduled(d); }

void fit_samples_schedule(bl_fit *fit, uint32_t step)
{
    const bl_fit_desc *d = &fit->desc;
    double factor = 1;
    if (!scheduled(d))
        return;
    for (uint32_t i = 0; i < d->schedule_count && d->schedule[i].step <= step; i++)
        factor = d->schedule[i].samples > 0 ? d->schedule[i].samples : factor;
    set(fit, factor / fit_samples_most(d) * d->spp_gradient);
}

/* ---- as follows from noise ---- */

bl_result fit_samples_create(bl_fit *fit, bl_error *err)
{
    const bl_fit_desc *d = &fit->desc;
    fit->samples.image = d->spp, fit->samples.gradient = d->spp_gradient;
    if (fit_samples_change(d) && fit->job->scene->pipelined)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "rb_biased2 and rb_biased1_2 keep images, so their samples stay as many");
    if (d->wanted_noise != 0 && scheduled(d))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "samples follow from noise (wanted_noise) or from the schedule, not from both");
    if (scheduled(d)) {
        fit_samples_schedule(fit, d->first_step + 1);
        return job_set_scale(fit->job, fit->largest_adjoint, fit->samples.gradient, fit->coarser, err);
    }
    if (d->wanted_noise == 0 && d->spp_least == 0)
        return BL_OK;
    if (!(d->wanted_noise > 0 && isfinite(d->wanted_noise)))
        return error_set(err, BL_ERROR_ARGUMENT, "wanted_noise must be a number above 0");
    if (d->spp_least > d->spp_gradient)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "spp_least (%llu) is above spp_gradient (%u), which a step has at most",
                         (unsigned long long)d->spp_least, d->spp_gradient);
    if (d->common_numbers)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "steps with common random numbers do not show their noise: wanted_noise is not for "
                         "them");
    fit->samples.gradients = memory_alloc(8 * (size_t)fit->job->plan->gradient_count + 8);
    if (!fit->samples.gradients)
        return error_set(err, BL_ERROR_MEMORY, "no memory for two gradients of %u values",
                         fit->job->plan->gradient_count);
    memset(fit->samples.gradients, 0, 8 * (size_t)fit->job->plan->gradient_count + 8);
    fit->samples.means = memory_need_zeroed(2 * (size_t)fit->asked_count, sizeof *fit->samples.means);
    set(fit, d->spp_least ? (double)d->spp_least : LEAST);
    return job_set_scale(fit->job, fit->largest_adjoint, fit->samples.gradient, fit->coarser, err);
}

void fit_samples_destroy(bl_fit *fit)
{
    memory_free(fit->samples.means);
    memory_free(fit->samples.gradients);
}

/* Adds a pair of gradients to the means of a parameter. */
static void compare(bl_fit *fit, uint32_t k, const float *g, const float *h)
{
    const bl_job *job = fit->job;
    const double parts = 1.0 / fit->samples.gradient + 1.0 / fit->samples.before,
                 weight = 1.0 / (fit->samples.pairs < MEMORY ? fit->samples.pairs + 1 : MEMORY);
    double sums[2] = {0};
    for (uint32_t i = fit->asked[k].first; i < fit->asked[k].first + fit->asked[k].count; i++) {
        const uint32_t first = job->plan->gradient_offset[job->requested[i]],
                       end = first + job->scene->parameters.data[job->requested[i]].count;
        for (uint32_t j = first; j < end; j++) {
            const double a = (double)g[j], b = (double)h[j];
            if (isfinite(a) && isfinite(b))
                sums[0] += (a - b) * (a - b) / parts, sums[1] += a * b;
        }
    }
    for (int m = 0; m < 2; m++)
        fit->samples.means[2 * k + m] += weight * (sums[m] - fit->samples.means[2 * k + m]);
}

/* Chance over signal of the step's gradient, in squares; -1: nothing is known. */
static double chance(const bl_fit *fit)
{
    double noise = 0, signal = 0;
    for (uint32_t k = 0; k < fit->asked_count; k++) {
        const double v = fit->samples.means[2 * k] / fit->samples.gradient,
                     e = fmax(fit->samples.means[2 * k + 1], 0);
        if (v + e > 0)
            noise += v / (v + e), signal += e / (v + e);
    }
    return noise + signal > 0 ? noise / signal : -1;
}

static bl_result follow_noise(bl_fit *fit, bl_error *err)
{
    fit_samples *s = &fit->samples;
    const uint32_t n = fit->job->plan->gradient_count, before = s->gradient;
    TRY(fit_take_gradient(fit, s->gradients + n, err));
    if (s->before) {
        for (uint32_t k = 0; k < fit->asked_count; k++)
            compare(fit, k, s->gradients + n, s->gradients);
        s->pairs++;
        const double r = chance(fit),
                     factor = r < 0 ? 1 : r / (fit->desc.wanted_noise * fit->desc.wanted_noise);
        set(fit, before * fmin(fmax(factor, 1 / growth), growth));
    }
    memcpy(s->gradients, s->gradients + n, 4 * (size_t)n);
    s->before = before;
    return BL_OK;
}

bl_result fit_samples_follow(bl_fit *fit, bl_error *err)
{
    fit_samples_schedule(fit, fit->status.step + 2); /* the status still is that of the step before */
    return fit->samples.means ? follow_noise(fit, err) : BL_OK;
}

/* ---- in a checkpoint: four numbers, the means, the gradient before ---- */

uint32_t fit_samples_words(const bl_fit *fit)
{
    return fit->samples.means ? STATE_WORDS + 4 * fit->asked_count + fit->job->plan->gradient_count : 0;
}

void fit_samples_move(bl_fit *fit, float *words, bool store)
{
    fit_samples *s = &fit->samples;
    if (!s->means)
        return;
    uint32_t numbers[STATE_WORDS] = {s->image, s->gradient, s->before, s->pairs};
    fit_copy_words(numbers, words, STATE_WORDS, store);
    fit_copy_words(s->means, words + STATE_WORDS, 4 * (size_t)fit->asked_count, store);
    fit_copy_words(s->gradients, words + STATE_WORDS + 4 * fit->asked_count, fit->job->plan->gradient_count,
                   store);
    if (store)
        s->image = numbers[0], s->gradient = numbers[1], s->before = numbers[2], s->pairs = numbers[3];
}
