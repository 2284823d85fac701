/* SPDX-License-Identifier: BSD-3-Clause
 * Passes of a job in the caller's command buffers (backlight_vulkan.h).
 *
 * Preparing does what may submit: it follows new values, makes kernels and buffers, and runs the recording
 * once without a command buffer, so that whatever is made at first use is made. Recording then appends alone.
 * The recorder's batch takes the place of the job's while that happens. */
#include "api/gradient.h"
#include "api/gradient_forms.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_parts.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "api/recorder.h"
#include "gpu/vulkan/record.h"
#include "render/shape/kinds.h"

typedef struct recording {
    bl_job *job;
    const bl_vulkan_pass *pass;
    const bl_vulkan_pixels *pixels;
    recorder_image image;
    job_work_desc work;
    job_pass_steps steps;
} recording;

/* ---- checks ---- */

static bl_result check_job(const bl_job *job, bl_error *err)
{
    if (!vulkan_is_adopted(job->device->gpu))
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "the job is on %s, a device of Backlight's own; record with one of "
                         "bl_device_from_vulkan",
                         gpu_device_info(job->device->gpu)->name);
    if (job->bounds)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "BL_DEBUG=bounds: checked kernels report after each pass, which is not recorded");
    return BL_OK;
}

static bl_result check_changed(const bl_job *job, const bl_vulkan_pass *pass, bl_error *err)
{
    for (uint32_t i = 0; i < pass->changed_count; i++) {
        uint32_t index = pass->changed[i], count = job->scene->parameters.count;
        if (index >= count)
            return error_set(err, BL_ERROR_ARGUMENT, "changed: there is no parameter %u of %u", index, count);
        const render_parameter *p = &job->scene->parameters.data[index];
        if (p->source != PLAN_NONE || job->plan->value_offset[index] == PLAN_NONE)
            return error_set(err, BL_ERROR_UNSUPPORTED, "changed: %s is geometry, which follows on the host",
                             p->name);
        TRY(job_check_change(job, index, err));
    }
    return BL_OK;
}

static bl_result check_pass(const recording *r, bl_error *err)
{
    uint32_t parts = r->pass->parts ? r->pass->parts : 1;
    TRY(check_job(r->job, err));
    TRY(check_changed(r->job, r->pass, err));
    if (r->pass->part >= parts)
        return error_set(err, BL_ERROR_ARGUMENT, "part %u of %u: they are counted from 0", r->pass->part,
                         parts);
    if (r->pass->coarser > REPEATS_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "coarser: %u; there are %d steps", r->pass->coarser,
                         (int)REPEATS_MOST);
    return BL_OK;
}

/* Whether new values of geometry wait for the host to follow them. */
static bool geometry_waits(const bl_job *job)
{
    for (uint32_t i = 0; i < job->scene->parameters.count; i++)
        if (job->changed[i] && job->scene->parameters.data[i].source != PLAN_NONE)
            return true;
    return false;
}

static bl_result check_prepared(const recording *r, bl_error *err)
{
    const bl_job *job = r->job;
    bool texels =
        !r->pixels->image || (job->texels && gpu_buffer_size(job->texels) >= 16ull * job_pixels(job));
    if (!texels || !job_parts_prepared(job, &r->work) || geometry_waits(job))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "prepare the pass first, with the same descriptor, and again after geometry is set: "
                         "something is not there that recording may not make");
    return BL_OK;
}

/* ---- recording ---- */

/* Appends a part to the batch. Values that commands have changed are followed in the first one. */
static void append(const recording *r, gpu_batch *batch, job_part part)
{
    bl_job *job = r->job;
    gpu_batch *own = job->batch;
    job->batch = batch;
    if (part.part == 0)
        for (uint32_t i = 0; i < r->pass->changed_count; i++)
            job_value_changed(job, r->pass->changed[i]);
    job_record_part(job, &r->work, &r->steps, part);
    job->batch = own;
}

static bl_result record(const recording *r, bl_recorder *recorder, VkCommandBuffer commands, bl_error *err)
{
    TRY(check_pass(r, err));
    if (!recorder || !commands)
        return error_set(err, BL_ERROR_ARGUMENT, "recorder and command buffer must be given");
    if (recorder->device != r->job->device)
        return error_set(err, BL_ERROR_ARGUMENT, "recorder and job are of two devices");
    TRY(check_prepared(r, err));
    vulkan_recorder_begin(recorder->batch, commands);
    append(r, recorder->batch, (job_part){r->pass->part, r->pass->parts ? r->pass->parts : 1});
    TRY(vulkan_recorder_end(recorder->batch, err));
    if (r->pass->part == 0)
        job_values_followed(r->job);
    return BL_OK;
}

static bl_result rehearse(const recording *r, bl_error *err)
{
    gpu_batch *batch;
    TRY(vulkan_recorder_create(r->job->device->gpu, &batch, err));
    vulkan_recorder_begin(batch, NULL);
    append(r, batch, (job_part){0, 1});
    bl_result result = vulkan_recorder_end(batch, err);
    gpu_batch_destroy(batch);
    return result;
}

static bl_result prepare(const recording *r, bl_vulkan_cost *cost, bl_error *err)
{
    bl_job *job = r->job;
    bl_stats stats = {0};
    uint64_t texels = 16ull * job_pixels(job);
    TRY(check_pass(r, err));
    TRY(job_parts_prepare(job, &r->work, err));
    if (r->pixels->image && (!job->texels || gpu_buffer_size(job->texels) < texels))
        TRY(job_replace_buffer(job, texels, "texels", &job->texels, err));
    TRY(job_prepare(job, &r->work, &stats, err));
    TRY(rehearse(r, err));
    if (cost)
        *cost = (bl_vulkan_cost){
            .paths = job_parts_paths(job, &r->work),
            .seconds = job_parts_seconds(job, &r->work),
            .device_bytes = job->bytes,
        };
    return BL_OK;
}

static void copy_pixels(const recording *r, gpu_buffer *own)
{
    recorder_copy_pixels(r->job->batch, r->job->device, own, r->job->texels, r->pixels, r->image);
}

static recorder_image image_of(const bl_job *job, bool written, const char *what)
{
    return (recorder_image){job->scene->width, job->scene->height, written, what};
}

/* ---- images ---- */

static void begin_image(void *user)
{
    const recording *r = user;
    if (job_splats(r->job, r->work.pass))
        job_record_splat_scale(r->job, r->work.spp, r->pass->coarser);
    job_record_begin(r->job, &r->work);
}

static void end_image(void *user)
{
    const recording *r = user;
    job_record_resolve(r->job, r->work.spp, r->work.strips);
    if (recorder_has_pixels(r->pixels))
        copy_pixels(r, r->job->image);
}

static bl_result describe_image(bl_job *job, const bl_vulkan_image_desc *desc, recording *r, bl_error *err)
{
    *r = (recording){
        .job = job,
        .pass = &desc->pass,
        .pixels = &desc->image,
        .image = image_of(job, true, "image"),
        .work = job_image_work(job, &(bl_render_desc){.spp = desc->pass.spp, .seed = desc->pass.seed}),
        .steps = {begin_image, end_image, NULL},
    };
    r->steps.user = r;
    return recorder_has_pixels(r->pixels) ? recorder_check_pixels(job->device, r->pixels, r->image, err)
                                          : BL_OK;
}

bl_result bl_job_prepare_image(bl_job *job, const bl_vulkan_image_desc *desc, bl_vulkan_cost *cost)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_image(job, desc, &r, &err);
    if (result == BL_OK)
        result = prepare(&r, cost, &err);
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_record_image(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                              const bl_vulkan_image_desc *desc)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_image(job, desc, &r, &err);
    if (result == BL_OK)
        result = record(&r, recorder, commands, &err);
    job->pipeline_filled = false;
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

/* ---- gradients ---- */

static void begin_gradient(void *user)
{
    const recording *r = user;
    copy_pixels(r, r->job->adjoint);
    job_record_scale(r->job, r->work.spp, r->pass->coarser);
    job_record_begin(r->job, &r->work);
}

static void end_gradient(void *user)
{
    const recording *r = user;
    job_record_end(r->job);
    gradient_record_output(r->job, &r->work, true);
}

/* The reason why a job's gradients cannot be recorded, or NULL if they can. */
static const char *gradient_obstacle(const bl_job *job)
{
    if (!job->plan->any_request)
        return "the job was created without parameters, so there is no gradient to compute";
    if (job->plan->moves & MOVE_SURFACE || job->plan->normals_derived)
        return "gradients by geometry are not recorded yet: what follows from it looks at the device from "
               "the "
               "host";
    if (job->scene->light_tracing || job->scene->method == METHOD_TAPE)
        return "gradients of ptracer and of the tape are not recorded yet";
    if (job->desc.pixels == BL_PIXELS_ADJOINT)
        return "samples in proportion to |dL/dI| are distributed on the host, so they are not recorded";
    return NULL;
}

static bl_result describe_gradient(bl_job *job, const bl_vulkan_gradient_desc *desc, recording *r,
                                   bl_error *err)
{
    const char *obstacle = gradient_obstacle(job);
    uint32_t spp = job_spp(job, desc->pass.spp);
    const gradient_wish wish = {.form = desc->form, .spp = spp, .spp_gradient = spp};
    if (obstacle)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s", obstacle);
    *r = (recording){
        .job = job,
        .pass = &desc->pass,
        .pixels = &desc->adjoint,
        .image = image_of(job, false, "adjoint"),
        .work = {.pass = RENDER_GRADIENT, .spp = spp, .seed = job_seed(job, desc->pass.seed), .stream = 1},
        .steps = {begin_gradient, end_gradient, NULL},
    };
    r->steps.user = r;
    TRY(gradient_form_choose(job, &wish, &r->work.form, err));
    r->work.strips = gradient_form_strips(job, r->work.form, spp);
    return recorder_check_pixels(job->device, r->pixels, r->image, err);
}

bl_result bl_job_prepare_gradient(bl_job *job, const bl_vulkan_gradient_desc *desc, bl_vulkan_cost *cost)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_gradient(job, desc, &r, &err);
    if (result == BL_OK)
        result = prepare(&r, cost, &err);
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_record_gradient(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                                 const bl_vulkan_gradient_desc *desc)
{
    bl_error err = {0};
    recording r;
    bl_result result = describe_gradient(job, desc, &r, &err);
    if (result == BL_OK)
        result = record(&r, recorder, commands, &err);
    job->pipeline_filled = false;
    return result == BL_OK ? BL_OK : context_fail(job->context, &err);
}

/* ---- where things are ---- */

static bl_vulkan_region region(const gpu_buffer *b, uint64_t offset, uint64_t size)
{
    return (bl_vulkan_region){vulkan_buffer_expose(b), offset, size};
}

bl_result bl_job_vulkan_results(bl_job *job, bl_vulkan_results *out)
{
    bl_error err = {0};
    _Static_assert((int)BL_VULKAN_DRIFTED == (int)STATUS_DRIFT &&
                       (int)BL_VULKAN_OVERFLOWED == (int)STATUS_OVERFLOW &&
                       (int)BL_VULKAN_UNDERFLOWED == (int)STATUS_UNDERFLOW &&
                       (int)BL_VULKAN_NON_FINITE == (int)STATUS_NON_FINITE,
                   "one list of words");
    if (check_job(job, &err) != BL_OK)
        return context_fail(job->context, &err);
    *out = (bl_vulkan_results){
        .image = region(job->image, 0, 12ull * job_pixels(job)),
        .loss = region(job->results, 0, sizeof(float)),
        .status = region(job->status, 0, sizeof(uint32_t) * BL_VULKAN_STATUS_COUNT),
    };
    return BL_OK;
}

bl_result bl_job_vulkan_gradient(bl_job *job, uint32_t k, bl_vulkan_region *out)
{
    bl_error err = {0};
    if (check_job(job, &err) == BL_OK && k >= job->requested_count)
        error_set(&err, BL_ERROR_ARGUMENT, "there is no gradient %u: the job has %u parameters", k,
                  job->requested_count);
    if (err.code != BL_OK)
        return context_fail(job->context, &err);
    uint32_t index = job->requested[k];
    *out = region(job->output, 4ull * job->plan->gradient_offset[index],
                  4ull * job->scene->parameters.data[index].count);
    return BL_OK;
}

bl_result bl_job_vulkan_parameter(bl_job *job, uint32_t index, bl_vulkan_region *out)
{
    bl_error err = {0};
    const bl_vulkan_pass pass = {.changed = &index, .changed_count = 1};
    if (check_job(job, &err) != BL_OK || check_changed(job, &pass, &err) != BL_OK)
        return context_fail(job->context, &err);
    *out = region(job->values, 4ull * job->plan->value_offset[index],
                  4ull * job->scene->parameters.data[index].count);
    return BL_OK;
}
