/* SPDX-License-Identifier: BSD-3-Clause
 * The views of a fit: all pixels of one after the other, or a batch of pixels of all of them. Without a batch
 * each target is an image on the device. With a batch the targets stay with the caller, and those of the
 * step's pixels are gathered and sent; how many views there are then does not matter to the device. */
#include "api/fit_views.h"
#include "api/gradient_scale.h"
#include "api/pixel_batch.h"

#include "render/sensor/sensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is made once ---- */

static bl_result new_target(bl_fit *fit, uint32_t values, const float *from, gpu_buffer **out, bl_error *err)
{
    TRY(gpu_buffer_create(fit->job->device->gpu, GPU_DEVICE, 4ull * values, "target", out, err));
    fit->bytes += gpu_buffer_size(*out);
    return from ? gpu_buffer_write(*out, 0, from, 4ull * values, err) : BL_OK;
}

static bl_fit_view view_of(const bl_fit *fit, const bl_fit_desc *desc, uint32_t v)
{
    return desc->views ? desc->views[v]
                       : (bl_fit_view){.target = desc->target, .sensor = fit->job->scene->sensor_index};
}

static bl_result set_view(bl_fit *fit, const bl_fit_view *given, uint32_t v, bl_error *err)
{
    fit_view *view = &fit->views[v];
    if (!given->target && !given->held_out)
        return error_set(err, BL_ERROR_ARGUMENT, "view %u has no target image", v);
    TRY(sensor_check(fit->job->scene, given->sensor, given->to_world, err));
    view->sensor = given->sensor, view->posed = given->to_world != NULL, view->held_out = given->held_out;
    if (view->posed)
        memcpy(view->to_world, given->to_world, sizeof view->to_world);
    if (fit->desc.batch)
        TRY(job_write_sensor(fit->job, v, view->sensor, given->to_world, err));
    if (view->held_out)
        return BL_OK;
    fit->seen[fit->seen_count++] = v;
    if (!fit->desc.batch)
        return new_target(fit, film_channels(fit->job->scene) * film_pixels(fit->job->scene), given->target,
                          &view->target, err);
    view->pixels = given->target;
    return BL_OK;
}

/* The scale of gradients leaves room for images far brighter than the targets, and stays the same for the
 * whole fit. */
static bl_result set_scale(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    uint32_t n = film_channels(fit->job->scene) * film_pixels(fit->job->scene),
             images = fit->desc.batch ? 1 : fit->seen_count;
    double share = (double)n / job_values(fit->job); /* of one value, in a batch and in an image */
    for (uint32_t k = 0; k < fit->seen_count; k++) {
        bl_fit_view given = view_of(fit, desc, fit->seen[k]);
        double slope = fit_loss_steepest(fit->desc.loss, fit->desc.loss_constant, given.target, n);
        fit->largest_adjoint = fmax(fit->largest_adjoint, slope * share / images);
    }
    return job_set_scale(fit->job, fit->largest_adjoint, fit->desc.spp_gradient, 0, err);
}

static bl_result make_batch(bl_fit *fit, bl_error *err)
{
    uint32_t pixels = fit->desc.batch, values = job_values(fit->job);
    fit->batch.list = memory_alloc(pixels * sizeof *fit->batch.list);
    fit->batch.gathered = memory_alloc(values * sizeof *fit->batch.gathered);
    if (!fit->batch.list || !fit->batch.gathered)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a batch of %u pixels", pixels);
    return new_target(fit, values, NULL, &fit->batch.target, err);
}

bl_result fit_views_create(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    fit->views = memory_need_zeroed(fit->desc.view_count, sizeof *fit->views);
    fit->seen = memory_need_zeroed(fit->desc.view_count, sizeof *fit->seen);
    for (uint32_t v = 0; v < fit->desc.view_count; v++) {
        bl_fit_view given = view_of(fit, desc, v);
        TRY(set_view(fit, &given, v, err));
    }
    if (fit->seen_count == 0)
        return error_set(err, BL_ERROR_ARGUMENT, "all %u views are held out", fit->desc.view_count);
    if (fit->desc.batch)
        TRY(make_batch(fit, err));
    return set_scale(fit, desc, err);
}

void fit_views_destroy(bl_fit *fit)
{
    for (uint32_t v = 0; fit->views && v < fit->desc.view_count; v++)
        gpu_buffer_destroy(fit->views[v].target);
    gpu_buffer_destroy(fit->batch.target);
    memory_free(fit->batch.list);
    memory_free(fit->batch.gathered);
    memory_free(fit->views);
    memory_free(fit->seen);
}

/* ---- a step ---- */

/* The seed of a view in this step. It is far apart from the seeds of fits with neighbouring seeds. With
 * common numbers it is the same in all steps. */
static uint32_t view_seed(const bl_fit *fit, uint32_t view)
{
    return (fit->desc.seed * 0x9E3779B1u + (fit->desc.common_numbers ? 0 : fit->status.step)) * 0x85EBCA77u +
           0x27D4EB2Fu + view * 0xC2B2AE3Du;
}

static bl_result look_through(bl_fit *fit, uint32_t v, bl_error *err)
{
    BL_ASSERT(v < fit->desc.view_count, "view %u of %u", v, fit->desc.view_count);
    const fit_view *view = &fit->views[v];
    if (!fit->job->desc.sensor_moves)
        return BL_OK;
    bl_result r = bl_job_set_sensor(fit->job, view->sensor, view->posed ? view->to_world : NULL);
    return r == BL_OK ? BL_OK : error_set(err, r, "%s", bl_context_error(fit->job->context));
}

void fit_draw_batch(bl_fit *fit)
{
    const uint32_t all = film_pixels(fit->job->scene), count = fit->desc.batch;
    const size_t channels = film_channels(fit->job->scene);
    uint32_t *list = fit->batch.list;
    pixel_batch_draw(fit->desc.seed, fit->status.step, (uint64_t)fit->seen_count * all, count, list);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t v = fit->seen[list[k] / all], pixel = list[k] % all;
        list[k] = v * all + pixel;
        memcpy(fit->batch.gathered + channels * k, fit->views[v].pixels + channels * pixel,
               channels * sizeof *fit->batch.gathered);
    }
}

static bl_result look_at_batch(bl_fit *fit, bl_error *err)
{
    fit_draw_batch(fit);
    TRY(pixel_batch_list(fit->job, fit->batch.list, err));
    return gpu_buffer_write(fit->batch.target, 0, fit->batch.gathered, 4ull * job_values(fit->job), err);
}

uint32_t fit_sight_count(const bl_fit *fit) { return fit->desc.batch ? 1 : fit->seen_count; }

fit_sight fit_next_sight(const bl_fit *fit, uint32_t *v)
{
    if (fit->desc.batch)
        return (fit_sight){.target = fit->batch.target, .weight = 1, .seed = view_seed(fit, 0), .last = true};
    while (fit->views[*v].held_out)
        ++*v;
    uint32_t view = (*v)++;
    return (fit_sight){
        .target = fit->views[view].target,
        .weight = 1.0 / fit->seen_count,
        .seed = view_seed(fit, view),
        .view = view,
        .last = view == fit->seen[fit->seen_count - 1],
    };
}

bl_result fit_look(bl_fit *fit, uint32_t *v, fit_sight *out, bl_error *err)
{
    *out = fit_next_sight(fit, v);
    return fit->desc.batch ? look_at_batch(fit, err) : look_through(fit, out->view, err);
}

/* ---- pictures ---- */

bl_result bl_fit_render(bl_fit *fit, uint32_t view, const bl_render_desc *desc, float *image)
{
    static const bl_render_desc defaults;
    bl_error err = {0};
    bl_result r = desc ? CHECK_RESERVED(bl_render_desc, desc, &err) : BL_OK;
    if (r != BL_OK)
        return context_fail(fit->job->context, &err);
    r = BL_ERROR_ARGUMENT;
    if (view >= fit->desc.view_count)
        error_set(&err, r, "there is no view %u: the fit has %u, counted from 0", view, fit->desc.view_count);
    else if (fit->desc.batch)
        r = pixel_batch_render(fit->job, view, desc ? desc : &defaults, image, &err);
    else if ((r = look_through(fit, view, &err)) == BL_OK)
        return bl_job_render(fit->job, desc, image, NULL);
    return r == BL_OK ? BL_OK : context_fail(fit->job->context, &err);
}
