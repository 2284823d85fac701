/* SPDX-License-Identifier: BSD-3-Clause
 * Where the gradients of a fit's last steps vanish (BL_AVERAGE_AUTO of bl_fit_desc.average_from): estimation
 * after stochastic approximation, by least squares (Lai, Robbins 1979, Adaptive design and stochastic
 * approximation; Frees, Ruppert 1990, Estimation following a sequentially designed experiment).
 *
 * Near the goal the gradient g of a value x is a line, g = h (x - root) + noise, and the noise of steps is
 * independent, whatever way the optimiser has taken. So over n steps, with means X and G, and sums of squares
 * and products S of deviations from them,
 *
 *     h = Sxg / Sxx,   root = X - G / h,   z^2 = h^2 Sxx / s^2,   s^2 = (Sgg - h Sxg) / (n - 2) .
 *
 * Where G is 0 the root is the mean of the values (Polyak, Juditsky 1992); where the values have overshot, or
 * are still on their way, -G / h is what the mean lags behind. z says whether anything holds the value at
 * all. Without, values walk as their own gradients push them, and a regression on such a walk finds a slope
 * by chance (Dickey, Fuller 1979): z is above 2.86 in one of 20 cases then. So the last value v becomes
 *
 *     v + max(0, 1 - 2.86^2 / z^2) (root - v) ,
 *
 * and stays, to a few per cent, where it drifts. A root may not be farther from the mean than a steady drift
 * would have come in these steps, sqrt(3) standard deviations: nothing is extrapolated. Meshes of large steps
 * stay, since a share for each coordinate would roughen them. */
#include "api/fit_roots.h"
#include "api/fit_words.h"
#include "api/job_buffers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_STEPS = 8 };       /* with fewer a chance slope looks too sure */
static const double chance = 8; /* the square of 2.86 */

/* Of a value and its gradient over steps. */
typedef struct line {
    double x, g, xx, xg, gg; /* means; sums of squares and products of deviations */
} line;

enum { LINE_WORDS = sizeof(line) / 4 };

static uint32_t first_step(const bl_fit *fit)
{
    const uint32_t from = (uint32_t)fit->desc.average_from;
    return from ? from : 1;
}

bl_result fit_roots_create(bl_fit *fit, bl_error *err)
{
    if (!(fit->desc.average_from & BL_AVERAGE_AUTO))
        return BL_OK;
    const size_t n = fit_value_count(fit);
    fit_roots *r = &fit->roots;
    r->lines = memory_alloc(n * sizeof(line) + 4);
    r->values = memory_alloc(8 * n + 4);
    if (!r->lines || !r->values)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the lines of %zu values", n);
    memset(r->lines, 0, n * sizeof(line));
    r->shares = memory_need_zeroed(fit->asked_count, sizeof *r->shares);
    return BL_OK;
}

void fit_roots_destroy(bl_fit *fit)
{
    memory_free(fit->roots.lines);
    memory_free(fit->roots.values);
    memory_free(fit->roots.shares);
}

/* ---- a step ---- */

bool fit_roots_due(const bl_fit *fit, uint32_t step) { return fit->roots.lines && step >= first_step(fit); }

bl_result fit_roots_look(bl_fit *fit, uint32_t step, bl_error *err)
{
    return fit_roots_due(fit, step) ? fit_move_values(fit, fit->roots.values, false, err) : BL_OK;
}

/* The n-th point of a line (Welford 1962). */
static void add(line *l, double x, double g, uint32_t n)
{
    const double dx = x - l->x, dg = g - l->g;
    l->x += dx / n, l->g += dg / n;
    l->xx += dx * (x - l->x), l->xg += dx * (g - l->g), l->gg += dg * (g - l->g);
}

static bl_result read_gradients(bl_fit *fit, float *to, bl_error *err)
{
    const bl_job *job = fit->job;
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const uint32_t index = job->requested[k], count = job->scene->parameters.data[index].count;
        TRY(gpu_buffer_read(job->output, 4ull * job->plan->gradient_offset[index], to, 4ull * count, err));
        to += count;
    }
    return BL_OK;
}

bl_result fit_roots_follow(bl_fit *fit, uint32_t step, bl_error *err)
{
    fit_roots *r = &fit->roots;
    const uint32_t n = fit_value_count(fit);
    if (!fit_roots_due(fit, step))
        return BL_OK;
    TRY(read_gradients(fit, r->values + n, err));
    if (step == first_step(fit)) { /* a checkpoint may be of a fit that began earlier */
        r->steps = 0;
        memset(r->lines, 0, n * sizeof(line));
    }
    r->steps++;
    for (uint32_t i = 0; i < n; i++)
        add((line *)r->lines + i, (double)r->values[i], (double)r->values[n + i], r->steps);
    r->settled = false;
    return BL_OK;
}

/* ---- the end ---- */

/* How far from the last value to the root, as a share; 0 where a gradient was not finite, too. */
static double share_of(const line *l, uint32_t steps)
{
    if (steps < LEAST_STEPS || !(l->xx > 0 && l->xg > 0))
        return 0;
    const double explained = l->xg * l->xg / l->xx, left = fmax(l->gg - explained, 0) / (steps - 2);
    return explained > chance * left ? 1 - chance * left / explained : 0;
}

static double root_of(const line *l, uint32_t steps)
{
    const double most = sqrt(3 * l->xx / steps);
    return l->x + fmin(fmax(-l->g * l->xx / l->xg, -most), most);
}

/* Moves the values of a parameter of the job. Returns the sum of their shares. */
static double settle(const fit_parameter *f, const line *lines, uint32_t steps, float *values, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count && !f->large_steps; i++) {
        const double share = share_of(&lines[i], steps), last = (double)values[i];
        if (share > 0) {
            const double moved = last + share * (root_of(&lines[i], steps) - last);
            values[i] = (float)fmin(fmax(moved, (double)f->lower), (double)f->upper);
        }
        sum += share;
    }
    return sum;
}

bl_result fit_roots_settle(bl_fit *fit, bl_error *err)
{
    fit_roots *r = &fit->roots;
    const line *lines = r->lines;
    float *values = r->values;
    if (!r->steps || r->settled)
        return BL_OK;
    TRY(fit_move_values(fit, values, false, err));
    for (uint32_t a = 0; a < fit->asked_count; a++) {
        double sum = 0;
        uint32_t all = 0;
        for (uint32_t k = fit->asked[a].first; k < fit->asked[a].first + fit->asked[a].count; k++) {
            const uint32_t count = fit->job->scene->parameters.data[fit->job->requested[k]].count;
            sum += settle(&fit->parameters[k], lines, r->steps, values, count);
            lines += count, values += count, all += count;
        }
        r->shares[a] = sum / all;
    }
    r->settled = true;
    return fit_move_values(fit, r->values, true, err);
}

bl_result bl_fit_get_settled(const bl_fit *fit, uint32_t k, double *share)
{
    *share = 0;
    if (k >= fit->asked_count)
        return context_fail_range(fit->job->context, "parameter of the fit", k, fit->asked_count);
    if (fit->roots.settled)
        *share = fit->roots.shares[k];
    return BL_OK;
}

/* ---- in a checkpoint: the number of steps, then the lines ---- */

uint32_t fit_roots_words(const bl_fit *fit)
{
    return fit->roots.lines ? 1 + LINE_WORDS * fit_value_count(fit) : 0;
}

void fit_roots_move(bl_fit *fit, float *words, bool store)
{
    fit_roots *r = &fit->roots;
    if (!r->lines)
        return;
    fit_copy_words(&r->steps, words, 1, store);
    fit_copy_words(r->lines, words + 1, LINE_WORDS * (size_t)fit_value_count(fit), store);
    r->settled = false;
}
