/* SPDX-License-Identifier: BSD-3-Clause
 * The views of a fit: all pixels of one after the other, or a batch of pixels of all of them. Without a batch
 * each target is an image on the device. With a batch the targets stay with the caller, and those of the
 * step's pixels are gathered and sent; how many views there are then does not matter to the device. */
#include "api/fit_views.h"
#include "api/gradient.h"
#include "api/gradient_forms.h"
#include "api/gradient_scale.h"
#include "api/pixel_batch.h"

#include "render/sensor/sensor.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is made once ---- */

/* values: of the target; where the fit is weighted, their weights stand behind them. */
static bl_result new_target(bl_fit *fit, uint32_t values, gpu_buffer **out, bl_error *err)
{
    const uint64_t bytes = (fit->weighted ? 8ull : 4ull) * values;
    TRY(gpu_buffer_create(fit->job->device->gpu, GPU_DEVICE, bytes, "target", out, err));
    fit->bytes += gpu_buffer_size(*out);
    return BL_OK;
}

/* Weights of pixels, one number each, as those of values. */
static bl_result write_weights(bl_fit *fit, const float *weights, gpu_buffer *target, bl_error *err)
{
    const uint32_t pixels = film_pixels(fit->job->scene), channels = film_channels(fit->job->scene);
    float *each = memory_alloc(4 * (size_t)pixels * channels);
    if (!each)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the weights of %u pixels", pixels);
    for (uint32_t i = 0; i < pixels * channels; i++)
        each[i] = weights ? weights[i / channels] : 1;
    bl_result r = gpu_buffer_write(target, 4ull * pixels * channels, each, 4ull * pixels * channels, err);
    memory_free(each);
    return r;
}

static bl_result make_target(bl_fit *fit, const bl_fit_view *given, gpu_buffer **out, bl_error *err)
{
    const uint32_t values = film_channels(fit->job->scene) * film_pixels(fit->job->scene);
    TRY(new_target(fit, values, out, err));
    TRY(gpu_buffer_write(*out, 0, given->target, 4ull * values, err));
    return fit->weighted ? write_weights(fit, given->weights, *out, err) : BL_OK;
}

static bl_fit_view view_of(const bl_fit *fit, const bl_fit_desc *desc, uint32_t v)
{
    return desc->views ? desc->views[v]
                       : (bl_fit_view){.target = desc->target,
                                       .weights = desc->weights,
                                       .sensor = fit->job->scene->sensor_index};
}

static bl_result check_weights(const bl_fit *fit, const bl_fit_view *given, uint32_t v, bl_error *err)
{
    bool some = !given->weights;
    if (!(given->weight >= 0 && given->weight <= FLT_MAX))
        return error_set(err, BL_ERROR_ARGUMENT, "view %u: its weight must be a number, 0 or above", v);
    for (uint32_t i = 0; given->weights && i < film_pixels(fit->job->scene); i++) {
        if (!(given->weights[i] >= 0 && given->weights[i] <= FLT_MAX))
            return error_set(err, BL_ERROR_ARGUMENT,
                             "view %u: weights must be numbers, 0 or above; that of pixel %u is %g", v, i,
                             (double)given->weights[i]);
        some |= given->weights[i] > 0;
    }
    return some ? BL_OK
                : error_set(err, BL_ERROR_ARGUMENT, "view %u: all of its pixels have the weight 0", v);
}

/* Whether pixels have weights of their own. In a batch those of views are weights of pixels, too. */
static bool has_weights(const bl_fit *fit, const bl_fit_desc *desc)
{
    bool any = !desc->views && desc->weights;
    for (uint32_t v = 0; desc->views && v < desc->view_count; v++)
        any |= !desc->views[v].held_out &&
               (desc->views[v].weights || (fit->desc.batch && desc->views[v].weight > 0));
    return any;
}

static bl_result set_view(bl_fit *fit, const bl_fit_view *given, uint32_t v, bl_error *err)
{
    fit_view *view = &fit->views[v];
    if (!given->target && !given->held_out)
        return error_set(err, BL_ERROR_ARGUMENT, "view %u has no target image", v);
    TRY(job_check_sensor(fit->job, given->sensor, given->to_world, err));
    view->sensor = given->sensor, view->posed = given->to_world != NULL, view->held_out = given->held_out;
    if (view->posed)
        memcpy(view->to_world, given->to_world, sizeof view->to_world);
    if (fit->desc.batch)
        TRY(job_write_sensor(fit->job, v, view->sensor, given->to_world, err));
    if (view->held_out)
        return BL_OK;
    fit->seen[fit->seen_count++] = v;
    view->share = given->weight > 0 ? given->weight : 1;
    TRY(check_weights(fit, given, v, err));
    char what[48];
    snprintf(what, sizeof what, "the target of view %u", v);
    TRY(gradient_check_image(fit->job, what, given->target, given->weights, err));
    if (!fit->desc.batch)
        return make_target(fit, given, &view->target, err);
    view->pixels = given->target, view->weights = given->weights;
    return BL_OK;
}

/* Makes the sum of the views' shares 1. */
static void set_shares(bl_fit *fit)
{
    double sum = 0;
    for (uint32_t k = 0; k < fit->seen_count; k++)
        sum += fit->views[fit->seen[k]].share;
    for (uint32_t k = 0; k < fit->seen_count; k++)
        fit->views[fit->seen[k]].share /= sum;
}

/* The scale of gradients leaves room for images far brighter than the targets, and stays the same for the
 * whole fit. */
static bl_result set_scale(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    const uint32_t pixels = film_pixels(fit->job->scene), channels = film_channels(fit->job->scene);
    double part =
        (double)pixels * channels / job_values(fit->job); /* of one value, in a batch and in an image */
    for (uint32_t k = 0; k < fit->seen_count; k++) {
        bl_fit_view given = view_of(fit, desc, fit->seen[k]);
        const fit_goal goal = {given.target, given.weights, pixels, channels, false};
        double share = fit->views[fit->seen[k]].share * (fit->desc.batch ? fit->seen_count : 1),
               steepest = fit->composite ? fit_composite_steepest(fit->composite, &goal)
                                         : fit_loss_steepest(fit->desc.loss, fit->desc.loss_constant, &goal);
        fit->largest_adjoint = fmax(fit->largest_adjoint, steepest * share * part);
    }
    return job_set_scale(fit->job, fit->largest_adjoint, fit->desc.spp_gradient, 0, err);
}

static bl_result make_batch(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    uint32_t pixels = fit->desc.batch, values = job_values(fit->job);
    fit->batch.side = fit_batch_side(desc);
    fit->batch.list = memory_alloc(pixels * sizeof *fit->batch.list);
    fit->batch.gathered =
        memory_alloc((fit->weighted ? 2 : 1) * (size_t)values * sizeof *fit->batch.gathered);
    if (!fit->batch.list || !fit->batch.gathered)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a batch of %u pixels", pixels);
    return new_target(fit, values, &fit->batch.target, err);
}

uint32_t fit_batch_side(const bl_fit_desc *desc)
{
    return desc->composite ? 1u << (fit_composite_levels(desc->composite) - 1) : 1;
}

/* Of a loss that is a sum of terms: what that needs. A batch is a column of blocks, one below the other:
 * since their sides are powers of two, its pyramid is that of each block. */
static bl_result make_composite(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    const render_scene *s = fit->job->scene;
    if (!desc->composite)
        return BL_OK;
    const fit_composite_desc d = {
        .loss = desc->composite,
        .width = fit->desc.batch ? fit->batch.side : s->width,
        .height = fit->desc.batch ? fit->desc.batch / fit->batch.side : s->height,
        .channels = film_channels(s),
        .weighted = fit->weighted,
        .halves = fit->desc.form == BL_FORM_TWO_WALK,
    };
    fit->term_count = desc->composite->term_count;
    TRY(fit_composite_create(fit->job->device->gpu, &d, &fit->composite, err));
    fit->bytes += fit_composite_bytes(fit->composite);
    return BL_OK;
}

bl_result fit_views_create(bl_fit *fit, const bl_fit_desc *desc, bl_error *err)
{
    fit->views = memory_need_zeroed(fit->desc.view_count, sizeof *fit->views);
    fit->seen = memory_need_zeroed(fit->desc.view_count, sizeof *fit->seen);
    fit->weighted = has_weights(fit, desc);
    for (uint32_t v = 0; v < fit->desc.view_count; v++) {
        bl_fit_view given = view_of(fit, desc, v);
        TRY(set_view(fit, &given, v, err));
    }
    if (fit->seen_count == 0)
        return error_set(err, BL_ERROR_ARGUMENT, "all %u views are held out", fit->desc.view_count);
    set_shares(fit);
    if (fit->desc.batch)
        TRY(make_batch(fit, desc, err));
    TRY(make_composite(fit, desc, err));
    return set_scale(fit, desc, err);
}

void fit_views_destroy(bl_fit *fit)
{
    for (uint32_t v = 0; fit->views && v < fit->desc.view_count; v++)
        gpu_buffer_destroy(fit->views[v].target);
    gpu_buffer_destroy(fit->batch.target);
    fit_composite_destroy(fit->composite);
    memory_free(fit->batch.list);
    memory_free(fit->batch.gathered);
    memory_free(fit->views);
    memory_free(fit->seen);
}

/* ---- a step ---- */

/* The fit's seed; another one for the second gradient of the same values. */
static uint32_t own_seed(const bl_fit *fit)
{
    return fit->desc.seed ^ (fit->probe.running ? 0x5DEECE66u : 0);
}

/* The seed of a view in this step. It is far apart from the seeds of fits with neighbouring seeds. With
 * common numbers it is the same in all steps. */
static uint32_t view_seed(const bl_fit *fit, uint32_t view)
{
    return (own_seed(fit) * 0x9E3779B1u + (fit->desc.common_numbers ? 0 : fit->status.step)) * 0x85EBCA77u +
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

/* Pixel k of the batch. Views are drawn alike, so a view's share counts here. */
static void gather(bl_fit *fit, uint32_t v, uint32_t pixel, uint32_t k)
{
    const uint32_t channels = film_channels(fit->job->scene);
    const fit_view *view = &fit->views[v];
    float *to = fit->batch.gathered + channels * k, *weights = to + job_values(fit->job);
    fit->batch.list[k] = v * film_pixels(fit->job->scene) + pixel;
    memcpy(to, view->pixels + channels * pixel, channels * sizeof *to);
    for (uint32_t c = 0; fit->weighted && c < channels; c++)
        weights[c] =
            (float)(view->share * fit->seen_count * (view->weights ? (double)view->weights[pixel] : 1));
}

/* Blocks are drawn, and then their pixels take the places of the numbers in the list, from behind. */
uint64_t fit_draw_batch(bl_fit *fit)
{
    const render_scene *s = fit->job->scene;
    const uint32_t side = fit->batch.side, block = side * side, across = s->width / side,
                   blocks = film_pixels(s) / block, count = fit->desc.batch / block;
    pixel_batch_draw(own_seed(fit), fit->status.step, (uint64_t)fit->seen_count * blocks, count,
                     fit->batch.list);
    for (uint32_t k = count; k-- > 0;) {
        const uint32_t drawn = fit->batch.list[k], at = drawn % blocks,
                       first = at / across * side * s->width + at % across * side;
        for (uint32_t i = 0; i < block; i++)
            gather(fit, fit->seen[drawn / blocks], first + i / side * s->width + i % side, k * block + i);
    }
    return (fit->weighted ? 8ull : 4ull) * job_values(fit->job);
}

static bl_result look_at_batch(bl_fit *fit, bl_error *err)
{
    uint64_t bytes = fit_draw_batch(fit);
    TRY(pixel_batch_list(fit->job, fit->batch.list, err));
    return gpu_buffer_write(fit->batch.target, 0, fit->batch.gathered, bytes, err);
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
        .weight = fit->views[view].share,
        .seed = view_seed(fit, view),
        .view = view,
        .last = view == fit->seen[fit->seen_count - 1],
    };
}

job_loss fit_sight_loss(const bl_fit *fit, const fit_sight *sight)
{
    return (job_loss){
        .kind = fit->desc.loss,
        .constant = fit->desc.loss_constant,
        .weight = sight->weight,
        .weighted = fit->weighted,
        .target = sight->target,
        .composite = fit->composite,
    };
}

job_work_desc fit_image_work(const bl_fit *fit, uint32_t seed)
{
    return (job_work_desc){
        .pass = RENDER_PRIMAL,
        .spp = fit->samples.image,
        .seed = seed,
        .strips = fit->trails ? gradient_form_strips(fit->job, BL_FORM_TWO_WALK, fit->samples.image)
                              : job_strips(job_pixels(fit->job), fit->samples.image),
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
