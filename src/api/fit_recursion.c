/* SPDX-License-Identifier: BSD-3-Clause
 * Recursive images (bl_fit_desc.recursive_images): Nicolet, Rousselle, Novak, Keller, Jakob, Mueller 2023,
 * Recursive Control Variates for Inverse Rendering, section 4. I(t) is an image of the parameters t with the
 * random numbers of step i, F the image that the step's loss looks at:
 *
 *     F_i = I(t_i) + a (F_{i-1} - I(t_{i-1})),
 *
 * which is their equation 5 in another order. I(t_{i-1}) is rendered at the end of step i - 1, with the seed
 * of step i, before the parameters move; so nothing has to be kept but the difference.
 *
 * The weight. With variances and covariances relative to that of I(t_{i-1}): c that of the two images, v that
 * of I(t_i), r that of F_{i-1}, the variance of F_i is v - 2 a c + a^2 (1 + r), least at a = c / (1 + r).
 * Where nothing moves c = v = 1, a = 1 / 2, 2 / 3, 3 / 4 .., and F is the mean of all images. c and v come of
 * the two halves of the samples of both images: half their difference has the variance of their mean. They
 * are means over the last MEMORY steps and the channels of a pixel, and a is of the steps before alone, so it
 * knows nothing of the random numbers of the images that it weighs.
 *
 * E[F_i] = I: the error of F_i is that of I(t_i) - a I(t_{i-1}), of mean 0 whatever came before, plus a times
 * that of F_{i-1}. What remains is how a and the error of F_{i-1} go together, both being of steps before; it
 * would be 0 if halves' differences told nothing of their mean. Errors of neighbouring steps go together,
 * too, and t_i has moved by that of F_{i-1}: docs/theory/variance.md says what a fit has of it.
 *
 * It is done on the host; images go there and back once a step. */
#include "api/fit_recursion.h"
#include "api/fit_samples.h"
#include "api/fit_views.h"
#include "api/fit_words.h"
#include "api/gradient_forms.h"
#include "api/job_buffers.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "render/sampler/samplers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 16 };

/* Arrays of a trail, values or pixels long. State: what is added to the next image; half the difference of
 * the halves of I(t_{i-1}); r; means of variance of I(t_i), covariance, variance of I(t_{i-1}). Scratch: F
 * and the half difference of this step's image; a. */
typedef struct trail_arrays {
    float *ahead, *earlier_half, *ratio, *own, *both, *earlier, *image, *half, *weight;
} trail_arrays;

static trail_arrays arrays_of(const bl_fit *fit, uint32_t view)
{
    const size_t values = job_values(fit->job), pixels = job_pixels(fit->job);
    float *s = fit->trails[view].state, *t = fit->trails[view].scratch;
    return (trail_arrays){.ahead = s,
                          .earlier_half = s + values,
                          .ratio = s + 2 * values,
                          .own = s + 2 * values + pixels,
                          .both = s + 2 * values + 2 * pixels,
                          .earlier = s + 2 * values + 3 * pixels,
                          .image = t,
                          .half = t + values,
                          .weight = t + 2 * values};
}

static uint32_t state_words(const bl_fit *fit) { return 2 * job_values(fit->job) + 4 * job_pixels(fit->job); }

static const char *obstacle_of(const bl_fit *fit)
{
    const bl_job *job = fit->job;
    const bl_fit_desc *d = &fit->desc;
    if (bl_gradient_form_finds_loss(d->form))
        return "they need a form with an image of its own, fused or separate";
    if (d->batch)
        return "the pixels of a batch are others in every step";
    if (scene_splats(job->scene) || job->scene->pipelined)
        return "the image must be one of camera paths of the step alone";
    if (job->scene->spreads->one)
        return "their weights need two independent halves of the samples: the sampler `independent`";
    if (d->wanted_noise == 0 && fit_samples_change(d))
        return "the schedule changes their numbers of samples";
    if (d->spp % 2)
        return "their weights need two halves of the samples: an even spp";
    if (d->wanted_noise > 0 || d->variance_steps)
        return "the gradients of neighbouring steps are then not independent, so wanted_noise and "
               "variance_steps would not see their noise";
    return NULL;
}

bl_result fit_recursion_create(bl_fit *fit, bl_error *err)
{
    if (!fit->desc.recursive_images)
        return BL_OK;
    const char *obstacle = obstacle_of(fit);
    if (obstacle)
        return error_set(err, BL_ERROR_ARGUMENT, "no recursive images: %s", obstacle);
    fit->trails = memory_need_zeroed(fit->desc.view_count, sizeof *fit->trails);
    for (uint32_t k = 0; k < fit->seen_count; k++) {
        fit_trail *t = &fit->trails[fit->seen[k]];
        const size_t state = 4 * (size_t)state_words(fit),
                     scratch = 4 * (2 * (size_t)job_values(fit->job) + job_pixels(fit->job));
        t->state = memory_alloc(state), t->scratch = memory_alloc(scratch);
        if (!t->state || !t->scratch)
            return error_set(err, BL_ERROR_MEMORY, "no memory for the recursive image of %u values",
                             job_values(fit->job));
        memset(t->state, 0, state), memset(t->scratch, 0, scratch);
    }
    return BL_OK;
}

void fit_recursion_destroy(bl_fit *fit)
{
    for (uint32_t v = 0; fit->trails && v < fit->desc.view_count; v++) {
        memory_free(fit->trails[v].state);
        memory_free(fit->trails[v].scratch);
    }
    memory_free(fit->trails);
}

/* Of the samples in the film: their image, and half the difference of the images of both halves. */
static bl_result read_halves(bl_fit *fit, float *image, float *half, bl_error *err)
{
    bl_job *job = fit->job;
    const uint32_t n = job_values(job), spp = fit->samples.image,
                   strips = gradient_form_strips(job, BL_FORM_TWO_WALK, spp);
    float *film = memory_alloc(4 * (size_t)n * strips);
    if (!film)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a film of %u strips", strips);
    bl_result r = gpu_buffer_read(job->film, 0, film, 4ull * n * strips, err);
    for (uint32_t i = 0; r == BL_OK && i < n; i++) {
        float sums[2] = {0};
        for (uint32_t s = 0; s < strips; s++)
            sums[s % 2] += film[(size_t)s * n + i];
        image[i] = (sums[0] + sums[1]) / (float)spp;
        half[i] = (sums[0] - sums[1]) / (float)spp;
    }
    memory_free(film);
    return r;
}

/* The quotient of two means; 1 where nothing is known. */
static float over(float a, float b) { return b > 0 ? a / b : 1; }

bl_result fit_recursion_combine(bl_fit *fit, uint32_t view, bl_error *err)
{
    const fit_trail *t = &fit->trails[view];
    const trail_arrays a = arrays_of(fit, view);
    const uint32_t pixels = job_pixels(fit->job), channels = film_channels(fit->job->scene);
    TRY(read_halves(fit, a.image, a.half, err));
    for (uint32_t p = 0; p < pixels && t->steps; p++) {
        const float c = over(a.both[p], a.earlier[p]);
        a.weight[p] = fminf(fmaxf(c / (1 + a.ratio[p]), 0), 1);
        for (uint32_t i = channels * p; i < channels * (p + 1); i++)
            a.image[i] += a.weight[p] * a.ahead[i];
    }
    return gpu_buffer_write(fit->job->image, 0, a.image, 4ull * job_values(fit->job), err);
}

static float mean(float old, double sum, float share) { return old + share * ((float)sum - old); }

/* Takes the step's halves into the means, and finds the variance of its F. */
static void learn(bl_fit *fit, uint32_t view)
{
    const fit_trail *t = &fit->trails[view];
    const trail_arrays a = arrays_of(fit, view);
    const uint32_t channels = film_channels(fit->job->scene);
    const float share = 1.0f / (float)(t->steps < MEMORY ? t->steps : MEMORY);
    for (uint32_t p = 0; p < job_pixels(fit->job); p++) {
        double own = 0, both = 0, earlier = 0;
        for (uint32_t i = channels * p; i < channels * (p + 1); i++) {
            const double h = (double)a.half[i], g = (double)a.earlier_half[i];
            own += h * h, both += h * g, earlier += g * g;
        }
        a.own[p] = mean(a.own[p], own, share), a.both[p] = mean(a.both[p], both, share);
        a.earlier[p] = mean(a.earlier[p], earlier, share);
        const float c = over(a.both[p], a.earlier[p]), v = over(a.own[p], a.earlier[p]), w = a.weight[p];
        a.ratio[p] = v > 0 ? (v - 2 * w * c + w * w * (1 + a.ratio[p])) / v : 1;
    }
}

static void begin(bl_fit *fit, uint32_t view)
{
    const trail_arrays a = arrays_of(fit, view);
    for (uint32_t p = 0; p < job_pixels(fit->job); p++)
        a.ratio[p] = 1;
}

/* The image of the values before the move with the numbers of the step after it. */
static bl_result look_ahead(bl_fit *fit, const fit_sight *sight, bl_fit_status *s, bl_error *err)
{
    const trail_arrays a = arrays_of(fit, sight->view);
    fit_trail *t = &fit->trails[sight->view];
    bl_stats stats = {0};
    if (t->steps)
        learn(fit, sight->view);
    else
        begin(fit, sight->view);
    job_work_desc image = fit_image_work(fit, sight->seed);
    TRY(job_run(fit->job, &image, &stats, err));
    s->samples += stats.paths;
    TRY(read_halves(fit, a.ahead, a.earlier_half, err));
    for (uint32_t i = 0; i < job_values(fit->job); i++)
        a.ahead[i] = a.image[i] - a.ahead[i];
    t->steps++;
    return BL_OK;
}

bl_result fit_recursion_follow(bl_fit *fit, bl_fit_status *s, bl_error *err)
{
    fit_sight sight = {0};
    bl_result r = BL_OK;
    if (!fit->trails)
        return BL_OK;
    fit->status.step++; /* whose seeds these are */
    for (uint32_t v = 0; r == BL_OK && !sight.last;) {
        r = fit_look(fit, &v, &sight, err);
        if (r == BL_OK)
            r = look_ahead(fit, &sight, s, err);
    }
    fit->status.step--;
    return r;
}

/* ---- in a checkpoint: the number of steps, then the states ---- */

uint32_t fit_recursion_words(const bl_fit *fit)
{
    return fit->trails ? fit->seen_count * (1 + state_words(fit)) : 0;
}

void fit_recursion_move(bl_fit *fit, float *words, bool store)
{
    for (uint32_t k = 0; fit->trails && k < fit->seen_count; k++, words += 1 + state_words(fit)) {
        fit_trail *t = &fit->trails[fit->seen[k]];
        fit_copy_words(&t->steps, words, 1, store);
        fit_copy_words(t->state, words + 1, state_words(fit), store);
    }
}
