/* SPDX-License-Identifier: BSD-3-Clause
 * Gradients of a job: first the image, its loss and dL/dI, then the gradient pass in the form that suits. If
 * the fixed-point sums overflow, the pass is repeated with a coarser scale. */
#include "api/gradient.h"
#include "api/gradient_forms.h"
#include "api/gradient_scale.h"
#include "api/guide.h"
#include "api/job_buffers.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "api/pixel_sampling.h"

#include <math.h>
#include <stdlib.h>

bl_loss_info bl_loss_info_get(bl_loss loss)
{
    return (unsigned)loss < BL_LOSS_COUNT ? fit_loss_info(loss) : (bl_loss_info){0};
}

bl_result gradient_check_image(const bl_job *job, const char *what, const float *image, const float *weights,
                               bl_error *err)
{
    const uint32_t channels = film_channels(job->scene), width = job->scene->width;
    const size_t n = (size_t)channels * film_pixels(job->scene);
    for (size_t i = 0; i < n; i++) {
        const size_t pixel = i / channels;
        if (!isfinite(image[i]) && !(weights && weights[pixel] == 0))
            return error_set(
                err, BL_ERROR_ARGUMENT,
                "%s has %g in channel %zu of the pixel at %zu, %zu: values that count must be finite", what,
                (double)image[i], i % channels, pixel % width, pixel / width);
    }
    return BL_OK;
}

static double largest(const float *values, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)values[i]));
    return most;
}

static bl_result target_buffer(bl_job *job, const float *target, bl_error *err)
{
    TRY(job_reserve_target(job, err));
    return gpu_buffer_write(job->target, 0, target, 4ull * job_values(job), err);
}

/* What the caller asks to compare the image with. */
static job_loss loss_of(const bl_job *job, const bl_gradient_desc *desc)
{
    return (job_loss){.kind = desc->loss, .constant = desc->loss_constant, .target = job->target};
}

/* Renders the image, and from it computes loss and dL/dI on the device. */
static bl_result primal_of_gradient(bl_job *job, const bl_gradient_desc *desc, uint32_t spp, bl_stats *stats,
                                    bl_error *err)
{
    uint32_t n = job_values(job);
    job_work_desc w = {
        .pass = RENDER_PRIMAL,
        .spp = spp,
        .seed = job_seed(job, desc->seed),
        .slice_seconds = desc->slice_seconds,
        .progress = desc->progress,
        .user = desc->user,
        .progress_to = 0.3,
    };
    w.strips = job_strips(job_pixels(job), spp);
    TRY(job_run(job, &w, stats, err));
    TRY(job_read_counters(job, stats, err));
    double seconds;
    TRY(gpu_batch_begin(job->batch, err));
    job_record_resolve(job, spp, w.strips);
    const job_loss loss = loss_of(job, desc);
    if (desc->target)
        job_record_loss(job, &loss);
    TRY(job_submit(job, stats, &seconds, err));
    TRY(job_read_loss(job, &stats->loss, err));
    return desc->image ? gpu_buffer_read(job->image, 0, desc->image, 4ull * n, err) : BL_OK;
}

/* Does what primal_of_gradient does, but with the image of the gradient pass before. */
static bl_result pipelined_comparison(bl_job *job, const bl_gradient_desc *desc, bl_stats *stats,
                                      bl_error *err)
{
    double seconds;
    const job_loss loss = loss_of(job, desc);
    TRY(gpu_batch_begin(job->batch, err));
    job_record_loss(job, &loss);
    TRY(job_submit(job, stats, &seconds, err));
    TRY(job_read_loss(job, &stats->loss, err));
    return desc->image ? gpu_buffer_read(job->image, 0, desc->image, 4ull * job_values(job), err) : BL_OK;
}

/* Appends the sum of W * I, where I is the gradient pass's own image, or what its listed lanes have found. */
static void record_loss_dot(bl_job *job, const job_work_desc *w)
{
    fit_loss_dot dot = {
        .image = job->image,
        .weights = job->adjoint,
        .partials = job->partials,
        .results = job->results,
        .n = job_values(job),
    };
    if (w->lanes.count)
        dot.image = job->film, dot.weights = job->lanes,
        dot.n = lane_row_words(film_channels(job->scene)) * w->lanes.count;
    else if (job_gradient_leaves_image(job)) /* else it is there from before */
        job_record_resolve(job, w->spp, job_strips(job_pixels(job), w->spp));
    fit_record_loss_dot(job->batch, job->device->fixed, &dot);
}

void gradient_record_output(bl_job *job, const job_work_desc *w, bool with_loss)
{
    uint32_t n = job->plan->gradient_count;
    if (with_loss)
        record_loss_dot(job, w);
    if (job->fixed_point)
        fit_record_gradient_read(
            job->batch, job->device->fixed,
            &(fit_gradient_read){
                .gradient = job->gradient, .scale = job->scale, .output = job->output, .count = n});
    else
        gpu_batch_copy(job->batch, job->gradient, 0, job->output, 0, 4ull * n);
}

static bl_result read_out(bl_job *job, const job_work_desc *w, bool with_loss, bl_stats *stats, bl_error *err)
{
    double seconds;
    TRY(gpu_batch_begin(job->batch, err));
    gradient_record_output(job, w, with_loss);
    TRY(job_submit(job, stats, &seconds, err));
    return with_loss ? job_read_loss(job, &stats->loss, err) : BL_OK;
}

/* Reads what a pass that finds the loss leaves besides gradients: image and loss. */
static bl_result read_image_and_loss(bl_job *job, float *image, bl_stats *stats, bl_error *err)
{
    TRY(job_read_loss(job, &stats->loss, err));
    return image ? gpu_buffer_read(job->image, 0, image, 4ull * job_values(job), err) : BL_OK;
}

/* Runs the gradient pass of so many samples per pixel, and repeats it with a coarser scale after an overflow.
 * shared: as in job_work_desc; most: the largest |dL/dI|. */
static bl_result replay(bl_job *job, const bl_gradient_desc *desc, uint32_t spp, uint32_t shared, double most,
                        double progress_from, bl_stats *stats, bl_error *err)
{
    const job_loss loss = loss_of(job, desc);
    job_work_desc w = {
        .pass = RENDER_GRADIENT,
        .form = stats->form,
        .edges = desc->edges,
        .own_counts = desc->spp == 0,
        .loss = &loss,
        .spp = spp,
        .seed = job_seed(job, desc->seed),
        .stream = 1,
        .strips = gradient_form_strips(job, stats->form, spp),
        .shared = shared,
        .slice_seconds = desc->slice_seconds,
        .progress = desc->progress,
        .user = desc->user,
        .progress_from = progress_from,
        .progress_to = 1,
    };
    TRY(pixel_sampling_distribute(job, &w, err));
    if (w.lanes.count)
        most = spp * w.lanes.largest;
    for (uint32_t coarser = 0;; coarser++) {
        TRY(job_set_scale(job, most, spp, coarser, err));
        TRY(job_run(job, &w, stats, err));
        TRY(job_read_counters(job, stats, err));
        stats->repeats = coarser;
        if (stats->overflowed == 0)
            break;
        if (coarser == REPEATS_MOST || !job->fixed_point)
            return error_set(err, BL_ERROR_DEVICE,
                             "gradients overflow: %llu contributions are too large or not finite",
                             (unsigned long long)stats->overflowed);
    }
    TRY(read_out(job, &w, desc->adjoint != NULL, stats, err));
    return bl_gradient_form_finds_loss(stats->form) ? read_image_and_loss(job, desc->image, stats, err)
                                                    : BL_OK;
}

/* The largest |dL/dI| of the adjoint image on the device. */
static bl_result largest_adjoint(bl_job *job, double *most, bl_error *err)
{
    size_t n = (size_t)job_values(job);
    float *adjoint = memory_alloc(n * sizeof *adjoint);
    if (!adjoint)
        return error_set(err, BL_ERROR_MEMORY, "no memory for an image of %zu values", n);
    bl_result r = gpu_buffer_read(job->adjoint, 0, adjoint, n * sizeof *adjoint, err);
    *most = largest(adjoint, n);
    memory_free(adjoint);
    return r;
}

static bl_result gradient(bl_job *job, const bl_gradient_desc *desc, bl_stats *stats, bl_error *err)
{
    uint32_t n = job_values(job), spp,
             spp_primal = job_spp(job, desc->spp_primal ? desc->spp_primal : desc->spp);
    if (!job->plan->any_request)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "the job was created without parameters, so there is no gradient to compute");
    if (!desc->adjoint == !desc->target)
        return error_set(err, BL_ERROR_ARGUMENT, "give either an adjoint image (dL/dI) or a target");
    if ((unsigned)desc->loss >= BL_LOSS_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no loss %d", (int)desc->loss);
    if (!fit_usable(desc->loss_constant))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "the loss's constant must be 0, for its default, or a positive number from 1.2e-38 "
                         "to 3.4e38, not %g",
                         desc->loss_constant);
    TRY(gradient_check_image(job, desc->target ? "the target" : "dL/dI",
                             desc->target ? desc->target : desc->adjoint, NULL, err));
    const gradient_wish wish = {
        .form = desc->form,
        .target = desc->target != NULL,
        .loss = desc->loss,
        .spp = spp_primal,
        .spp_gradient = job_gradient_spp(job, desc->spp, 1),
        .spp_halves = job_gradient_spp(job, desc->spp, 2),
    };
    TRY(gradient_form_choose(job, &wish, &stats->form, err));
    TRY(guide_follow(job, err));
    spp = gradient_form_spp(&wish, stats->form);
    double most = 0;
    if (desc->target)
        TRY(target_buffer(job, desc->target, err));
    else
        TRY(gpu_buffer_write(job->adjoint, 0, desc->adjoint, 4ull * n, err));
    if (bl_gradient_form_finds_loss(stats->form))
        return replay(
            job, desc, spp, gradient_form_shared(job, &wish, stats->form),
            fit_loss_steepest(desc->loss, desc->loss_constant, &(fit_goal){desc->target, NULL, n, 1, false}),
            0, stats, err);
    bool image = desc->target || desc->image || !job_gradient_leaves_image(job);
    bool pipelined = job->scene->pipelined && desc->target;
    if (pipelined && job->pipeline_filled)
        TRY(pipelined_comparison(job, desc, stats, err));
    else if (image)
        TRY(primal_of_gradient(job, desc, spp_primal, stats, err));
    if (desc->target)
        TRY(largest_adjoint(job, &most, err));
    else
        most = largest(desc->adjoint, n);
    TRY(replay(job, desc, spp, 0, most, image ? 0.3 : 0, stats, err));
    job->pipeline_filled = pipelined;
    return pipelined ? job_resolve(job, spp, job_strips(job_pixels(job), spp), NULL, stats, err) : BL_OK;
}

bl_result bl_job_gradient(bl_job *job, const bl_gradient_desc *desc, bl_stats *stats)
{
    static const bl_gradient_desc defaults;
    bl_stats own = {0};
    bl_error err = {0};
    double start = clock_seconds();
    bl_result r = desc ? CHECK_RESERVED(bl_gradient_desc, desc, &err) : BL_OK;
    if (r == BL_OK)
        r = gradient(job, desc ? desc : &defaults, &own, &err);
    own.seconds = clock_seconds() - start;
    own.device_bytes = job->bytes;
    if (stats)
        *stats = own;
    return r == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_read_gradient_doubles(bl_job *job, uint32_t k, double *values)
{
    if (k >= job->requested_count)
        return context_fail_range(job->context, "parameter of the job", k, job->requested_count);
    bl_error err = {0};
    const job_sums sums = {.sums = job->gradient,
                           .scales = job->scale,
                           .first = job->plan->gradient_offset[job->requested[k]],
                           .count = job->scene->parameters.data[job->requested[k]].count};
    return job_read_sums(job, &sums, values, &err) == BL_OK ? BL_OK : context_fail(job->context, &err);
}

bl_result bl_job_read_gradient(bl_job *job, uint32_t k, float *values)
{
    if (k >= job->requested_count)
        return context_fail_range(job->context, "parameter of the job", k, job->requested_count);
    bl_error err = {0};
    const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
    uint64_t first = job->plan->gradient_offset[job->requested[k]];
    if (gpu_buffer_read(job->output, 4 * first, values, 4ull * p->count, &err) != BL_OK)
        return context_fail(job->context, &err);
    return BL_OK;
}
