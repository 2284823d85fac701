/* SPDX-License-Identifier: BSD-3-Clause
 * Passes of a job in the caller's command buffers (backlight_vulkan.h).
 *
 * Preparing does what may submit: it follows new values, makes kernels and buffers, and runs the recording
 * once without a command buffer, so that whatever is made at first use is made. Recording then appends alone.
 * The recorder's batch takes the place of the job's while that happens. */
#include "api/job_recorded.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_geometry.h"
#include "api/job_pass.h"
#include "gpu/vulkan/record.h"

/* ---- checks ---- */

bl_result job_recorded_check(const bl_job *job, bl_error *err)
{
    if (job->desc.wavefront != BL_WAVEFRONT_NONE)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "wavefront mode reads counters back between its kernels, so it is not recorded");
    if (job->desc.guide)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "a guide of directions is learnt on the host between passes, so it is not recorded");
    if (!vulkan_is_adopted(job->device->gpu))
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "the job is on %s, a device of Backlight's own; record with one of "
                         "bl_device_from_vulkan",
                         gpu_device_info(job->device->gpu)->name);
    if (!mode_is_rgb(job->scene->mode))
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "mode %s: images in the caller's memory are red, green and blue; only mode rgb is "
                         "recorded",
                         job->scene->mode->name);
    if (job->scene->metropolis.particles)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "a Metropolis integrator: its chains start where the host chooses, which is not "
                         "recorded; bl_job_render makes the image");
    if (job->bounds)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "BL_DEBUG=bounds: checked kernels report after each pass, which is not recorded");
    return BL_OK;
}

bl_result job_recorded_check_changed(const bl_job *job, const uint32_t *changed, uint32_t count,
                                     bl_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = changed[i], all = job->scene->parameters.count;
        if (index >= all)
            return error_set(err, BL_ERROR_ARGUMENT, "changed: there is no parameter %u of %u", index, all);
        const render_parameter *p = &job->scene->parameters.data[index];
        if (p->source == PLAN_NONE && job->plan->value_offset[index] == PLAN_NONE)
            return error_set(err, BL_ERROR_UNSUPPORTED, "changed: %s has no values on the device in this job",
                             p->name);
        TRY(job_check_change(job, index, err));
        if (p->source != PLAN_NONE)
            TRY(geometry_check(job, index, err));
    }
    return BL_OK;
}

static job_part part_of(const job_recording *r)
{
    return (job_part){r->call->part, r->call->parts ? r->call->parts : 1};
}

static bl_result check_call(const job_recording *r, bl_error *err)
{
    const job_part part = part_of(r);
    uint64_t paths = job_parts_paths(r->job, r->passes);
    TRY(job_recorded_check_changed(r->job, r->call->changed, r->call->changed_count, err));
    if (part.part >= part.parts)
        return error_set(err, BL_ERROR_ARGUMENT, "part %u of %u: they are counted from 0", part.part,
                         part.parts);
    if (part.parts > paths)
        return error_set(err, BL_ERROR_ARGUMENT, "%u parts: there are %llu paths", part.parts,
                         (unsigned long long)paths);
    if (r->call->coarser > REPEATS_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "coarser: %u; there are %d steps", r->call->coarser,
                         (int)REPEATS_MOST);
    return BL_OK;
}

/* Parts come one after another: a part that is not the first goes on where the one before ended. */
static bl_result check_order(const job_recording *r, bl_error *err)
{
    const job_part part = part_of(r), before = r->job->recorded;
    if (part.part == 0 || (part.part == before.part + 1 && part.parts == before.parts))
        return BL_OK;
    return error_set(err, BL_ERROR_ARGUMENT, "part %u of %u does not follow part %u of %u", part.part,
                     part.parts, before.part, before.parts);
}

static bool has_gradient(const job_recording *r)
{
    bool any = false;
    for (uint32_t k = 0; k < r->passes.count; k++)
        any |= r->passes.all[k].work.pass == RENDER_GRADIENT;
    return any;
}

static geometry_changes of_the_caller(const job_recording *r)
{
    return (geometry_changes){r->call->changed, r->call->changed_count, has_gradient(r)};
}

static geometry_changes of_the_passes(const job_recording *r)
{
    return (geometry_changes){.parameters = r->changes, .count = r->change_count};
}

/* Whether new values, which were set from the host or by passes before, move what nothing is prepared for. */
static bool geometry_waits(const bl_job *job)
{
    for (uint32_t i = 0; i < job->scene->parameters.count; i++)
        if (job->changed[i] && job->scene->parameters.data[i].source != PLAN_NONE &&
            !geometry_prepared(job, (geometry_changes){.parameters = &i, .count = 1}))
            return true;
    return false;
}

static bool texels_there(const bl_job *job, uint64_t pixels)
{
    return job->texels && gpu_buffer_size(job->texels) >= 16 * pixels;
}

static bool texels_wanted(const job_recording *r)
{
    return r->texels && !texels_there(r->job, film_pixels(r->job->scene));
}

static bl_result make_texels(bl_job *job, uint64_t pixels, bl_error *err)
{
    return job_replace_buffer(job, 16 * pixels, "texels", &job->texels, err);
}

static bl_result check_prepared(const job_recording *r, bl_error *err)
{
    bool there = !texels_wanted(r) && !geometry_waits(r->job) &&
                 geometry_prepared(r->job, of_the_caller(r)) && geometry_prepared(r->job, of_the_passes(r));
    for (uint32_t k = 0; k < r->passes.count; k++)
        there &= job_parts_prepared(r->job, &r->passes.all[k].work);
    return there ? BL_OK
                 : error_set(err, BL_ERROR_ARGUMENT,
                             "prepare the pass first, with the same descriptor: something is not there that "
                             "recording may not make");
}

/* ---- recording ---- */

void job_recorded_begin(bl_job *job, const job_work_desc *w)
{
    geometry_record_follow(job);
    job_record_begin(job, w);
    job_values_followed(job);
}

/* Appends a part to the batch. Values that commands have changed are followed in the first one. */
static void append(const job_recording *r, gpu_batch *batch, job_part part)
{
    bl_job *job = r->job;
    gpu_batch *own = job->batch;
    job->batch = batch;
    if (part.part == 0)
        for (uint32_t i = 0; i < r->call->changed_count; i++)
            job_value_changed(job, r->call->changed[i]);
    job_record_part(job, r->passes, part);
    job->batch = own;
}

static bl_result check_recorder(const bl_job *job, const bl_recorder *recorder, VkCommandBuffer commands,
                                bl_error *err)
{
    if (!recorder || !commands)
        return error_set(err, BL_ERROR_ARGUMENT, "recorder and command buffer must be given");
    return recorder->device == job->device
               ? BL_OK
               : error_set(err, BL_ERROR_ARGUMENT, "recorder and job are of two devices");
}

bl_result job_recorded_append(const job_recording *r, bl_recorder *recorder, VkCommandBuffer commands,
                              bl_error *err)
{
    TRY(check_call(r, err));
    TRY(check_recorder(r->job, recorder, commands, err));
    TRY(check_prepared(r, err));
    TRY(check_order(r, err));
    r->job->pipeline_filled = false;
    vulkan_recorder_begin(recorder->batch, commands);
    append(r, recorder->batch, part_of(r));
    TRY(vulkan_recorder_end(recorder->batch, err));
    r->job->recorded = part_of(r);
    return BL_OK;
}

static bl_result rehearse(const job_recording *r, bl_error *err)
{
    gpu_batch *batch;
    TRY(vulkan_recorder_create(r->job->device->gpu, &batch, err));
    vulkan_recorder_begin(batch, NULL);
    append(r, batch, (job_part){0, 1});
    bl_result result = vulkan_recorder_end(batch, err);
    gpu_batch_destroy(batch);
    return result;
}

bl_result job_recorded_prepare(const job_recording *r, bl_vulkan_cost *cost, bl_error *err)
{
    bl_job *job = r->job;
    bl_stats stats = {0};
    TRY(check_call(r, err));
    for (uint32_t k = 0; k < r->passes.count; k++)
        TRY(job_parts_prepare(job, &r->passes.all[k].work, err));
    if (texels_wanted(r))
        TRY(make_texels(job, film_pixels(job->scene), err));
    TRY(job_prepare(job, &r->passes.all[0].work, &stats, err));
    TRY(geometry_prepare(job, of_the_caller(r), err));
    TRY(geometry_prepare(job, of_the_passes(r), err));
    TRY(rehearse(r, err));
    if (cost)
        *cost = (bl_vulkan_cost){
            .paths = job_parts_paths(job, r->passes),
            .seconds = job_parts_seconds(job, r->passes),
            .device_bytes = job->bytes,
        };
    return BL_OK;
}

/* ---- copies alone ---- */

static bool copy_lacks_texels(const job_recorded_copy *c)
{
    return c->from->image && !texels_there(c->job, (uint64_t)c->image.width * c->image.height);
}

static bl_result append_copy(const job_recorded_copy *c, gpu_batch *batch, VkCommandBuffer commands,
                             bl_error *err)
{
    vulkan_recorder_begin(batch, commands);
    recorder_copy_pixels(batch, c->job->device, c->to, c->job->texels, c->from, c->image);
    return vulkan_recorder_end(batch, err);
}

static bl_result check_copy(const job_recorded_copy *c, bl_error *err)
{
    TRY(job_recorded_check(c->job, err));
    return recorder_check_pixels(c->job->device, c->from, c->image, err);
}

bl_result job_recorded_prepare_copy(const job_recorded_copy *c, bl_error *err)
{
    gpu_batch *batch;
    TRY(check_copy(c, err));
    if (copy_lacks_texels(c))
        TRY(make_texels(c->job, (uint64_t)c->image.width * c->image.height, err));
    TRY(vulkan_recorder_create(c->job->device->gpu, &batch, err));
    bl_result result = append_copy(c, batch, NULL, err);
    gpu_batch_destroy(batch);
    return result;
}

bl_result job_recorded_append_copy(const job_recorded_copy *c, bl_recorder *recorder,
                                   VkCommandBuffer commands, bl_error *err)
{
    TRY(check_copy(c, err));
    TRY(check_recorder(c->job, recorder, commands, err));
    if (copy_lacks_texels(c))
        return error_set(err, BL_ERROR_ARGUMENT, "%s: prepare this first, with an image", c->image.what);
    return append_copy(c, recorder->batch, commands, err);
}
