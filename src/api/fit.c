/* SPDX-License-Identifier: BSD-3-Clause
 * Optimisation on the device. A step is: image -> loss and dL/dI -> replay -> Adam; parameter values, moments and gradients never leave the
 * device, the loss and the status words come back. Kernels are those of the job; nothing is compiled after the first step. */
#include "api/handles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bl_fit {
    bl_job *job;
    uint32_t spp, spp_gradient, seed, step;
    double beta_1, beta_2, epsilon, largest_adjoint;
    uint32_t coarser; /* steps of the fixed-point scale taken after overflows; they stay */
    gpu_buffer *m, *v, *rate, *lower, *upper, *adam_status;
};

static bl_result element_buffer(bl_fit *fit, const char *label, const float *values, gpu_buffer **out, bl_error *err)
{
    uint64_t bytes = 4ull * fit->job->plan->gradient_count;
    TRY(gpu_buffer_create(fit->job->device->gpu, GPU_DEVICE, bytes, label, out, err));
    return values ? gpu_buffer_write(*out, 0, values, bytes, err) : BL_OK;
}

/* Per-element rates and bounds from the descriptor; initial values. */
static bl_result set_elements(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    bl_job *job = fit->job;
    uint32_t n = job->plan->gradient_count;
    float *rate = calloc(3 * (size_t)n, sizeof *rate), *lower = rate + n, *upper = lower + n;
    BL_ASSERT(rate, "out of memory");
    for (uint32_t k = 0; k < desc->parameter_count; k++) {
        const bl_fit_parameter *f = &desc->parameters[k];
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        uint32_t first = job->plan->gradient_offset[job->requested[k]];
        bool own = f->least != 0 || f->most != 0;
        for (uint32_t i = first; i < first + p->count; i++) {
            rate[i] = (float)(f->rate > 0 ? f->rate : desc->rate > 0 ? desc->rate : 0.05);
            lower[i] = own ? (float)f->least : p->least;
            upper[i] = own ? (float)f->most : p->most;
        }
        bl_result r = f->initial ? bl_job_set_parameter(job, job->requested[k], f->initial) : BL_OK;
        if (r != BL_OK) {
            free(rate);
            return error_set(err, r, "%s", bl_context_error(job->context));
        }
    }
    bl_result r = element_buffer(fit, "learning rates", rate, &fit->rate, err);
    if (r == BL_OK)
        r = element_buffer(fit, "lower bounds", lower, &fit->lower, err);
    if (r == BL_OK)
        r = element_buffer(fit, "upper bounds", upper, &fit->upper, err);
    free(rate);
    return r;
}

static bl_result prepare(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    bl_job *job = fit->job;
    uint64_t n = 3ull * job_pixels(job->scene);
    TRY(set_elements(fit, desc, err));
    TRY(element_buffer(fit, "first moments", NULL, &fit->m, err));
    TRY(element_buffer(fit, "second moments", NULL, &fit->v, err));
    TRY(gpu_buffer_create(job->device->gpu, GPU_DEVICE, 16, "optimiser status", &fit->adam_status, err));
    TRY(gpu_buffer_create(job->device->gpu, GPU_DEVICE, 4 * n, "target", &job->target, err));
    TRY(gpu_buffer_write(job->target, 0, desc->target, 4 * n, err));
    /* |dL/dI| = 2 |I - T| / n: the scale leaves room for images far brighter than the target, and stays the same for the whole fit */
    double most = 1e-3;
    for (uint64_t i = 0; i < n; i++)
        if (isfinite(desc->target[i]) && desc->target[i] > most)
            most = (double)desc->target[i];
    fit->largest_adjoint = 2 * most / (double)n;
    return job_set_scale(job, fit->largest_adjoint, fit->spp_gradient, 0, err);
}

static bl_result check_desc(bl_context *ctx, const bl_fit_desc *desc)
{
    bl_error err;
    if (desc && desc->target && desc->parameters && desc->parameter_count > 0)
        return BL_OK;
    error_set(&err, BL_ERROR_ARGUMENT, "a fit needs a target image and at least one parameter");
    return context_fail(ctx, &err);
}

bl_result bl_fit_create(bl_device *device, const bl_scene *scene, const bl_fit_desc *desc, bl_fit **out)
{
    *out = NULL;
    TRY(check_desc(device->context, desc));
    const char **names = malloc(desc->parameter_count * sizeof *names);
    bl_fit *fit = calloc(1, sizeof *fit);
    BL_ASSERT(names && fit, "out of memory");
    for (uint32_t k = 0; k < desc->parameter_count; k++)
        names[k] = desc->parameters[k].name;
    bl_result r = bl_job_create(device, scene, &(bl_job_desc){.parameters = names, .parameter_count = desc->parameter_count, .no_baking = desc->no_baking},
                                &fit->job);
    free(names);
    if (r != BL_OK) {
        free(fit);
        return r;
    }
    fit->spp = desc->spp ? desc->spp : 16, fit->spp_gradient = desc->spp_gradient ? desc->spp_gradient : fit->spp, fit->seed = desc->seed;
    fit->beta_1 = desc->beta_1 > 0 ? desc->beta_1 : 0.9, fit->beta_2 = desc->beta_2 > 0 ? desc->beta_2 : 0.999;
    fit->epsilon = desc->epsilon > 0 ? desc->epsilon : 1e-8;
    bl_error err = {0};
    if (prepare(fit, desc, &err) != BL_OK) {
        bl_fit_destroy(fit);
        return context_fail(device->context, &err);
    }
    *out = fit;
    return BL_OK;
}

void bl_fit_destroy(bl_fit *fit)
{
    if (!fit)
        return;
    gpu_buffer *own[] = {fit->m, fit->v, fit->rate, fit->lower, fit->upper, fit->adam_status};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        gpu_buffer_destroy(own[i]);
    bl_job_destroy(fit->job);
    free(fit);
}

/* One seed per step, far apart from other fits' with neighbouring seeds. */
static uint32_t step_seed(const bl_fit *fit) { return (fit->seed * 0x9E3779B1u + fit->step) * 0x85EBCA77u + 0x27D4EB2Fu; }

static bl_result finish_batch(bl_job *job, bl_error *err)
{
    TRY(gpu_batch_submit(job->batch, err));
    return gpu_batch_wait(job->batch, NULL, err);
}

static void record_adam(bl_fit *fit)
{
    bl_job *job = fit->job;
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        fit_record_adam(job->batch, job->device->fixed,
                        &(fit_adam){.parameters = job->values, .gradient = job->gradient, .scale = job->scale, .m = fit->m, .v = fit->v,
                                    .rate = fit->rate, .lower = fit->lower, .upper = fit->upper, .status = fit->adam_status,
                                    .count = p->count, .parameter_first = p->offset,
                                    .gradient_first = job->plan->gradient_offset[job->requested[k]], .fixed_point = true,
                                    .step = fit->step + 1, .beta_1 = fit->beta_1, .beta_2 = fit->beta_2, .epsilon = fit->epsilon});
    }
}

/* The gradient pass, repeated with a coarser scale after an overflow (contracts.md, Fixed-point scale). words: its counters. */
static bl_result replay_step(bl_fit *fit, const job_work_desc *w, uint32_t words[STATUS_COUNT], bl_error *err)
{
    enum { COARSEST = 8 };
    for (;;) {
        bl_stats stats = {0};
        TRY(job_run(fit->job, w, &stats, err));
        TRY(job_read_status(fit->job, words, err));
        if (words[STATUS_OVERFLOW] == 0 || fit->coarser == COARSEST)
            return BL_OK;
        TRY(job_set_scale(fit->job, fit->largest_adjoint, fit->spp_gradient, ++fit->coarser, err));
    }
}

static bl_result step(bl_fit *fit, bl_fit_status *status, bl_error *err)
{
    bl_job *job = fit->job;
    uint32_t n = 3 * job_pixels(job->scene), words[STATUS_COUNT];
    bl_stats stats = {0};
    job_work_desc image = {.pass = RENDER_PRIMAL, .spp = fit->spp, .seed = step_seed(fit), .strips = job_strips(job->scene, fit->spp)};
    TRY(job_run(job, &image, &stats, err));
    TRY(gpu_batch_begin(job->batch, err));
    job_record_resolve(job, image.spp, image.strips);
    fit_record_loss_l2(job->batch, job->device->fixed, &(fit_loss_l2){.image = job->image, .target = job->target, .adjoint = job->adjoint,
                                                                      .partials = job->partials, .results = job->results, .n = n});
    TRY(finish_batch(job, err));
    job_work_desc replay = image;
    replay.pass = RENDER_GRADIENT, replay.spp = fit->spp_gradient, replay.stream = 1, replay.strips = job_strips(job->scene, fit->spp_gradient);
    TRY(replay_step(fit, &replay, words, err));
    TRY(gpu_batch_begin(job->batch, err));
    record_adam(fit);
    TRY(finish_batch(job, err));
    job->values_changed = true;
    float loss;
    TRY(gpu_buffer_read(job->results, 0, &loss, sizeof loss, err));
    fit->step++;
    if (status)
        *status = (bl_fit_status){.step = fit->step, .loss = loss, .drifted = words[STATUS_DRIFT], .overflowed = words[STATUS_OVERFLOW]};
    return BL_OK;
}

bl_result bl_fit_step(bl_fit *fit, bl_fit_status *status)
{
    bl_error err = {0};
    return step(fit, status, &err) == BL_OK ? BL_OK : context_fail(fit->job->context, &err);
}

bl_result bl_fit_get(bl_fit *fit, uint32_t k, float *values)
{
    return k < fit->job->requested_count ? bl_job_get_parameter(fit->job, fit->job->requested[k], values) : BL_ERROR_ARGUMENT;
}

bl_result bl_fit_render(bl_fit *fit, const bl_render_desc *desc, float *image) { return bl_job_render(fit->job, desc, image, NULL); }
