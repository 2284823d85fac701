/* SPDX-License-Identifier: BSD-3-Clause
 * Steps of a fit in the caller's command buffers (backlight_vulkan.h). A step is a sequence of passes: for
 * each view an image with its comparison, where the form needs one, and a gradient, to which those of the
 * views before add up; behind the last one the optimiser moves. Everything that our own loop writes from the
 * host between passes is a command here: the sensor's record of a view that has its own; of a batch the list
 * of its pixels and their targets, which are drawn when the step is recorded. */
#include "api/fit_samples.h"
#include "api/fit_views.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_pass.h"
#include "api/job_recorded.h"
#include "api/job_results.h"
#include "gpu/vulkan/record.h"
#include "render/sensor/sensor.h"
#include "render/shape/kinds.h"

#include <stdlib.h>
#include <string.h>

/* What a step does with one view. */
typedef struct glance {
    bl_fit *fit;
    fit_sight sight;
    uint32_t number; /* among the views that are not held out */
    job_loss loss;
    job_work_desc image, gradient;
} glance;

typedef struct step_recording {
    glance *glances;
    job_recorded_pass *passes;
    uint32_t count;
} step_recording;

/* ---- what a pass appends ---- */

static void record_sensor(const glance *g)
{
    bl_job *job = g->fit->job;
    const fit_view *view = &g->fit->views[g->sight.view];
    uint32_t count, *words = job_sensor_words(job, view->sensor, view->posed ? view->to_world : NULL, &count);
    vulkan_record_update(job->batch, job->words, 4ull * plan_sensor_word(job->plan), words,
                         count * sizeof *words);
    memory_free(words);
}

static void record_batch(const glance *g)
{
    bl_fit *fit = g->fit;
    uint32_t pixels = fit->desc.batch;
    uint64_t bytes = fit_draw_batch(fit);
    vulkan_record_update(fit->job->batch, fit->job->words, 4ull * plan_batch_word(fit->job->plan),
                         fit->batch.list, 4ull * pixels);
    vulkan_record_update(fit->job->batch, fit->batch.target, 0, fit->batch.gathered, bytes);
}

/* Where the passes of a glance look. */
static void record_look(const glance *g)
{
    if (g->fit->desc.batch)
        record_batch(g);
    else if (g->fit->job->desc.sensor_moves)
        record_sensor(g);
}

static void keep_loss(const glance *g)
{
    gpu_batch_copy(g->fit->job->batch, g->fit->job->results, 0, g->fit->losses, 4ull * g->number, 4);
}

static void begin_image(void *user)
{
    const glance *g = user;
    record_look(g);
    if (job_splats(g->fit->job, g->image.pass))
        job_record_splat_scale(g->fit->job, g->image.spp, 0);
    job_recorded_begin(g->fit->job, &g->image);
}

static void end_image(void *user)
{
    const glance *g = user;
    fit_record_comparison(g->fit, &g->loss);
    keep_loss(g);
}

static void begin_gradient(void *user)
{
    const glance *g = user;
    if (bl_gradient_form_finds_loss(g->fit->desc.form)) /* no image has come before */
        record_look(g);
    job_recorded_begin(g->fit->job, &g->gradient);
}

static void end_gradient(void *user)
{
    const glance *g = user;
    if (bl_gradient_form_finds_loss(g->fit->desc.form))
        keep_loss(g);
    if (!g->sight.last)
        return;
    job_record_end(g->fit->job);
    fit_record_move(g->fit);
}

/* ---- the sequence ---- */

static void describe_glance(bl_fit *fit, glance *g, fit_sight sight, uint32_t number)
{
    *g = (glance){
        .fit = fit,
        .sight = sight,
        .number = number,
        .loss = fit_sight_loss(fit, &sight),
    };
    bool own_image = bl_gradient_form_finds_loss(fit->desc.form);
    g->image = fit_image_work(fit, sight.seed);
    g->gradient = fit_gradient_work(fit, &g->loss, sight.seed);
    g->gradient.adds = number > 0, g->gradient.unfinished = !sight.last;
    g->image.keeps_status = number > 0;
    g->gradient.keeps_status = number > 0 || !own_image;
}

static void describe_step(bl_fit *fit, step_recording *s)
{
    bool own_image = bl_gradient_form_finds_loss(fit->desc.form);
    const uint32_t count = fit_sight_count(fit);
    *s = (step_recording){.glances = memory_need_zeroed(count, sizeof *s->glances),
                          .passes = memory_need_zeroed(2ull * count, sizeof *s->passes)};
    for (uint32_t k = 0, v = 0; k < count; k++) {
        glance *g = &s->glances[k];
        describe_glance(fit, g, fit_next_sight(fit, &v), k);
        if (!own_image)
            s->passes[s->count++] = (job_recorded_pass){g->image, begin_image, end_image, g};
        s->passes[s->count++] = (job_recorded_pass){g->gradient, begin_gradient, end_gradient, g};
    }
}

static void forget_step(step_recording *s)
{
    memory_free(s->glances);
    memory_free(s->passes);
}

static bl_result check_fit(const bl_fit *fit, bl_error *err)
{
    const bl_job *job = fit->job;
    TRY(job_recorded_check(job, err));
    const char *obstacle = NULL;
    for (uint32_t k = 0; k < job->requested_count; k++)
        if (fit->parameters[k].large_steps)
            obstacle = "large steps of meshes are solved for on the host";
    if (job->desc.pixels == BL_PIXELS_ADJOINT)
        obstacle = "samples in proportion to |dL/dI| are distributed on the host";
    if (job->scene->pipelined)
        obstacle = "they need the image of the step before (rb_biased2, rb_biased1_2)";
    if (fit_samples_change(&fit->desc))
        obstacle = "their numbers of samples (wanted_noise, schedule) are found on the host";
    if (fit->desc.form == BL_FORM_TWO_WALK && fit->desc.spp > fit->desc.spp_gradient)
        obstacle = "two walks whose image has more samples than the gradient are not";
    if (fit->average.means || fit->roots.lines)
        obstacle = "means over steps (average_from) are kept on the host";
    if (fit->trails)
        obstacle = "recursive images are made on the host";
    if (fit->probe.gradient)
        obstacle = "the noise of gradients (variance_steps) is found on the host";
    return obstacle ? error_set(err, BL_ERROR_UNSUPPORTED, "steps of this fit are not recorded: %s", obstacle)
                    : BL_OK;
}

/* ---- calls ---- */

/* Makes the scale coarser if the step before has overflowed, and takes over the optimiser's counters. */
static bl_result look_back(bl_fit *fit, bl_error *err)
{
    uint64_t status[STATUS_COUNT];
    uint32_t counts[2];
    static const uint32_t none[2] = {0};
    TRY(job_read_status(fit->job, status, err));
    if (status[STATUS_OVERFLOW])
        TRY(job_set_scale(fit->job, fit->largest_adjoint, fit->desc.spp_gradient, ++fit->coarser, err));
    TRY(gpu_buffer_read(fit->optimizer_status, 0, counts, sizeof counts, err));
    fit->status.skipped += counts[0];
    return gpu_buffer_write(fit->optimizer_status, 0, none, sizeof none, err);
}

static bl_result prepare(bl_fit *fit, bl_vulkan_cost *cost, bl_error *err)
{
    static const bl_vulkan_pass whole;
    step_recording s;
    TRY(check_fit(fit, err));
    TRY(look_back(fit, err));
    if (!fit->losses) {
        TRY(gpu_buffer_create(fit->job->device->gpu, GPU_DEVICE, 4ull * fit_sight_count(fit), "losses",
                              &fit->losses, err));
        fit->bytes += gpu_buffer_size(fit->losses);
    }
    describe_step(fit, &s);
    const job_recording r = {.job = fit->job,
                             .passes = {s.passes, s.count},
                             .call = &whole,
                             .changes = fit->job->requested,
                             .change_count = fit->job->requested_count};
    bl_result result = job_recorded_prepare(&r, cost, err);
    if (result == BL_OK && cost)
        cost->device_bytes += fit->bytes;
    forget_step(&s);
    return result;
}

bl_result bl_fit_prepare_step(bl_fit *fit, bl_vulkan_cost *cost)
{
    bl_error err = {0};
    return prepare(fit, cost, &err) == BL_OK ? BL_OK : context_fail(fit->job->context, &err);
}

static bl_result record(bl_fit *fit, bl_recorder *recorder, VkCommandBuffer commands,
                        const bl_vulkan_pass *call, bl_error *err)
{
    step_recording s;
    TRY(check_fit(fit, err));
    if (!fit->losses)
        return error_set(err, BL_ERROR_ARGUMENT, "call bl_fit_prepare_step first");
    describe_step(fit, &s);
    const job_recording r = {.job = fit->job,
                             .passes = {s.passes, s.count},
                             .call = call,
                             .changes = fit->job->requested,
                             .change_count = fit->job->requested_count};
    bl_result result = job_recorded_append(&r, recorder, commands, err);
    forget_step(&s);
    if (result != BL_OK || call->part + 1 < call->parts)
        return result;
    for (uint32_t k = 0; k < fit->job->requested_count; k++)
        job_value_changed(fit->job, fit->job->requested[k]);
    fit->status.step++;
    return BL_OK;
}

bl_result bl_fit_record_step(bl_fit *fit, bl_recorder *recorder, VkCommandBuffer commands, uint32_t part,
                             uint32_t parts)
{
    bl_error err = {0};
    const bl_vulkan_pass call = {.part = part, .parts = parts};
    return record(fit, recorder, commands, &call, &err) == BL_OK ? BL_OK
                                                                 : context_fail(fit->job->context, &err);
}

/* ---- targets ---- */

static bl_result describe_target(bl_fit *fit, uint32_t view, const bl_vulkan_pixels *target,
                                 job_recorded_copy *out, bl_error *err)
{
    if (view >= fit->desc.view_count)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no view %u: the fit has %u, counted from 0", view,
                         fit->desc.view_count);
    if (fit->views[view].held_out)
        return error_set(err, BL_ERROR_ARGUMENT, "view %u is held out, so it has no target", view);
    if (fit->desc.batch)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "targets of a fit with batches of pixels stay on the host, where they are gathered");
    *out = (job_recorded_copy){.job = fit->job,
                               .to = fit->views[view].target,
                               .from = target,
                               .image = {fit->job->scene->width, fit->job->scene->height, false, "target"}};
    return BL_OK;
}

bl_result bl_fit_prepare_target(bl_fit *fit, uint32_t view, const bl_vulkan_pixels *target)
{
    bl_error err = {0};
    job_recorded_copy copy;
    bl_result result = describe_target(fit, view, target, &copy, &err);
    if (result == BL_OK)
        result = job_recorded_prepare_copy(&copy, &err);
    return result == BL_OK ? BL_OK : context_fail(fit->job->context, &err);
}

bl_result bl_fit_record_target(bl_fit *fit, bl_recorder *recorder, VkCommandBuffer commands, uint32_t view,
                               const bl_vulkan_pixels *target)
{
    bl_error err = {0};
    job_recorded_copy copy;
    bl_result result = describe_target(fit, view, target, &copy, &err);
    if (result == BL_OK)
        result = job_recorded_append_copy(&copy, recorder, commands, &err);
    return result == BL_OK ? BL_OK : context_fail(fit->job->context, &err);
}

/* ---- where things are ---- */

bl_result bl_fit_vulkan_results(bl_fit *fit, bl_vulkan_step_results *out)
{
    bl_error err = {0};
    bl_vulkan_results results;
    if (check_fit(fit, &err) == BL_OK && !fit->losses)
        error_set(&err, BL_ERROR_ARGUMENT, "call bl_fit_prepare_step first");
    if (err.code != BL_OK)
        return context_fail(fit->job->context, &err);
    TRY(bl_job_vulkan_results(fit->job, &results));
    *out = (bl_vulkan_step_results){
        .losses = {vulkan_buffer_expose(fit->losses), 0, 4ull * fit_sight_count(fit)},
        .status = results.status,
        .optimizer = {vulkan_buffer_expose(fit->optimizer_status), 0, 8},
    };
    return BL_OK;
}

bl_result bl_fit_vulkan_parameter(bl_fit *fit, uint32_t k, bl_vulkan_region *out)
{
    bl_error err = {0};
    if (k < fit->asked_count && fit->asked[k].to_world == PLAN_NONE)
        return bl_job_vulkan_parameter(fit->job, fit->job->requested[fit->asked[k].first], out);
    if (k < fit->asked_count)
        error_set(&err, BL_ERROR_UNSUPPORTED,
                  "parameter %u is a to_world that moves as a whole; ask for its translation and rotation",
                  k);
    else
        error_set(&err, BL_ERROR_ARGUMENT, "there is no parameter %u: the fit has %u", k, fit->asked_count);
    return context_fail(fit->job->context, &err);
}
