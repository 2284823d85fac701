/* SPDX-License-Identifier: BSD-3-Clause
 * Optimisation on the device. A step does this for each view, or once for a batch of pixels of all views
 * (fit_views.c): image -> loss and dL/dI -> replay. The gradients of the views add up. Then the optimiser
 * runs. Parameter values, state and gradients never leave the device; the loss and the status words come
 * back. Kernels are those of the job, and nothing is compiled after the first step. fit_state.c saves all
 * that the next step depends on. */
#include "api/fit.h"
#include "api/fit_average.h"
#include "api/fit_edges.h"
#include "api/fit_noise.h"
#include "api/fit_parameters.h"
#include "api/fit_recursion.h"
#include "api/fit_roots.h"
#include "api/fit_samples.h"
#include "api/fit_state.h"
#include "api/fit_views.h"
#include "api/gradient_forms.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"
#include "api/job_pass.h"
#include "api/job_results.h"
#include "api/large_steps.h"
#include "api/pixel_sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is made once ---- */

static bl_result new_buffer(bl_fit *fit, uint64_t bytes, const char *label, gpu_buffer **out, bl_error *err)
{
    TRY(gpu_buffer_create(fit->job->device->gpu, GPU_DEVICE, bytes, label, out, err));
    fit->bytes += gpu_buffer_size(*out);
    return BL_OK;
}

static bl_result prepare(bl_fit *fit, const gradient_wish *wish, const bl_scene *scene,
                         const bl_fit_desc *desc, bl_error *err)
{
    fit->desc.spp_gradient = gradient_form_spp(wish, fit->desc.form);
    if (bl_gradient_form_finds_loss(fit->desc.form))
        fit->desc.spp = fit->desc.spp_gradient + gradient_form_shared(fit->job, wish, fit->desc.form);
    for (uint32_t k = 0; k < fit->job->requested_count; k++)
        TRY(job_check_change(fit->job, fit->job->requested[k], err));
    uint32_t n = fit->job->plan->gradient_count;
    TRY(fit_set_parameters(fit, desc, err));
    TRY(fit_views_create(fit, desc, err));
    TRY(fit_identify(fit, scene, desc, err));
    TRY(large_steps_create(fit, desc, err));
    TRY(fit_average_create(fit, err));
    TRY(fit_roots_create(fit, err));
    TRY(fit_edges_create(fit, err));
    TRY(fit_noise_create(fit, err));
    TRY(fit_samples_create(fit, err));
    TRY(fit_recursion_create(fit, err));
    for (uint32_t i = 0; i < fit_optimizer_states(fit->desc.optimizer); i++)
        TRY(new_buffer(fit, 4ull * n, "state of the optimiser", &fit->state[i], err));
    return new_buffer(fit, 16, "optimiser status", &fit->optimizer_status, err);
}

static bl_result check_schedule(const bl_fit_desc *d, bl_error *err)
{
    for (uint32_t i = 0; i < d->schedule_count; i++) {
        if (d->schedule[i].step <= (i ? d->schedule[i - 1].step : 0))
            return error_set(err, BL_ERROR_ARGUMENT, "schedule %u: its step must be above the one before it",
                             i);
        if (!(d->schedule[i].factor >= 0) || !isfinite(d->schedule[i].factor))
            return error_set(err, BL_ERROR_ARGUMENT, "schedule %u: its factor must be a number, 0 or above",
                             i);
        if (!fit_usable(d->schedule[i].samples) ||
            d->schedule[i].samples * fmax(d->spp ? d->spp : 16, d->spp_gradient) > UINT32_MAX)
            return error_set(err, BL_ERROR_ARGUMENT,
                             "schedule %u: its samples must be a number above 0, and times spp below 2^32",
                             i);
    }
    return BL_OK;
}

static bl_result check_numbers(const bl_fit_desc *d, bl_error *err)
{
    bool good = fit_usable(d->rate) && fit_usable(d->epsilon) && fit_usable(d->loss_constant);
    for (uint32_t k = 0; k < d->parameter_count; k++)
        good = good && fit_usable(d->parameters[k].rate);
    return good ? BL_OK
                : error_set(
                      err, BL_ERROR_ARGUMENT,
                      "rates, epsilon and the loss's constant must be 0, for their defaults, or positive "
                      "numbers from 1.2e-38 to 3.4e38");
}

static bool finite_and_not_below(double number) { return number >= 0 && number <= FLT_MAX; }

static bl_result check_term(const bl_loss_term *t, uint32_t k, bl_error *err)
{
    bool some = !t->level_weights;
    TRY(CHECK_RESERVED(bl_loss_term, t, err));
    if ((unsigned)t->loss >= BL_LOSS_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "term %u: there is no loss %d", k, (int)t->loss);
    if (t->levels > BL_LOSS_LEVELS_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "term %u: %u levels; there may be %d", k, t->levels,
                         BL_LOSS_LEVELS_MOST);
    if (!fit_usable(t->constant) || !fit_usable(t->weight))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "term %u: its constant and its weight must be 0, for their defaults, or positive "
                         "numbers from 1.2e-38 to 3.4e38",
                         k);
    for (uint32_t l = 0; t->level_weights && l < fit_term_levels(t); l++) {
        some |= t->level_weights[l] > 0;
        if (!finite_and_not_below(t->level_weights[l]))
            return error_set(err, BL_ERROR_ARGUMENT,
                             "term %u: the weight of level %u must be a number, 0 or above", k, l);
    }
    return some ? BL_OK
                : error_set(err, BL_ERROR_ARGUMENT, "term %u: all of its levels have the weight 0", k);
}

static bl_result check_composite(const bl_fit_desc *d, bl_error *err)
{
    const bl_composite_loss *c = d->composite;
    if (!c)
        return BL_OK;
    TRY(CHECK_RESERVED(bl_composite_loss, c, err));
    if (!c->terms || c->term_count == 0 || c->term_count > BL_LOSS_TERMS_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "a loss that is a sum has 1 to %d terms",
                         BL_LOSS_TERMS_MOST);
    for (uint32_t k = 0; k < c->term_count; k++)
        TRY(check_term(&c->terms[k], k, err));
    return BL_OK;
}

/* Levels that only repeat the one before are a mistake. */
static bl_result check_levels(const bl_fit_desc *d, const render_scene *s, bl_error *err)
{
    uint32_t most = 1, side = s->width > s->height ? s->width : s->height;
    for (; side > 1; side = (side + 1) / 2)
        most++;
    if (d->composite && fit_composite_levels(d->composite) > most)
        return error_set(err, BL_ERROR_ARGUMENT, "%u levels of a loss: %u x %u pixels have %u",
                         fit_composite_levels(d->composite), s->width, s->height, most);
    const uint32_t block = fit_batch_side(d);
    if (d->batch && (s->width % block || s->height % block || d->batch % (block * block)))
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "with %u levels of a loss a batch is of blocks of %u x %u pixels: it must be a multiple of "
            "%u, and width and height of the image, %u x %u, multiples of %u",
            fit_composite_levels(d->composite), block, block, block * block, s->width, s->height, block);
    return BL_OK;
}

static bl_result check_desc(const bl_fit_desc *d, bl_error *err)
{
    if (!d || !d->parameters || d->parameter_count == 0)
        return error_set(err, BL_ERROR_ARGUMENT, "a fit needs at least one parameter");
    TRY(CHECK_RESERVED(bl_fit_desc, d, err));
    for (uint32_t k = 0; k < d->parameter_count; k++)
        TRY(CHECK_RESERVED(bl_fit_parameter, &d->parameters[k], err));
    for (uint32_t v = 0; d->views && v < d->view_count; v++)
        TRY(CHECK_RESERVED(bl_fit_view, &d->views[v], err));
    TRY(check_numbers(d, err));
    if (!d->target == !(d->views && d->view_count))
        return error_set(err, BL_ERROR_ARGUMENT, "a fit needs either a target image or at least one view");
    if ((unsigned)d->loss >= BL_LOSS_COUNT || (unsigned)d->optimizer >= BL_OPTIMIZER_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no such loss or optimiser: %d, %d", (int)d->loss,
                         (int)d->optimizer);
    if (!(d->beta_1 >= 0 && d->beta_1 < 1 && d->beta_2 >= 0 && d->beta_2 < 1 && d->alpha >= 0 &&
          d->alpha < 1 && d->momentum >= 0 && d->momentum < 1))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "beta_1, beta_2, alpha and momentum must be 0 or above, and below 1");
    TRY(check_composite(d, err));
    if (d->nesterov && !(d->momentum > 0))
        return error_set(err, BL_ERROR_ARGUMENT, "Nesterov's acceleration needs a momentum above 0");
    return check_schedule(d, err);
}

static double or_default(double given, double otherwise) { return given > 0 ? given : otherwise; }

/* Copies all fields of the descriptor that are not pointers, with defaults, and the schedule. */
static bl_fit_desc resolve(const bl_job *job, const bl_fit_desc *desc)
{
    bl_fit_desc d = *desc;
    d.parameters = NULL, d.target = NULL, d.views = NULL, d.weights = NULL, d.schedule = NULL,
    d.composite = NULL;
    d.view_count = desc->views ? desc->view_count : 1;
    d.rate = or_default(d.rate, 0.05), d.epsilon = or_default(d.epsilon, 1e-8);
    d.beta_1 = or_default(d.beta_1, 0.9), d.beta_2 = or_default(d.beta_2, 0.999),
    d.alpha = or_default(d.alpha, 0.99);
    d.loss_constant = or_default(d.loss_constant, fit_loss_info(d.loss).constant);
    const double most = fit_samples_most(desc);
    d.spp = job_spp(job, (uint32_t)ceil(most * (d.spp ? d.spp : 16))),
    d.spp_gradient = d.spp_gradient ? job_spp(job, (uint32_t)ceil(most * d.spp_gradient)) : d.spp;
    if (d.schedule_count) {
        bl_fit_change *copy = memory_need(d.schedule_count * sizeof *copy);
        memcpy(copy, desc->schedule, d.schedule_count * sizeof *copy);
        d.schedule = copy;
    }
    return d;
}

/* Makes the job, and in `asked` what the descriptor's parameters are in it. */
static bl_result create_job(bl_device *device, const bl_scene *scene, const bl_fit_desc *desc, bl_job **out,
                            fit_asked **asked)
{
    const char **names;
    uint32_t count;
    TRY(fit_name_parameters(scene, desc, &names, &count, asked));
    bl_job_desc d = {
        .parameters = names,
        .parameter_count = count,
        .sensor_moves = desc->views != NULL,
        .no_baking = desc->no_baking,
        .rays = desc->rays,
        .volume_gradient = desc->volume_gradient,
        .pixels = desc->pixels,
    };
    const job_fit fit = {.batch_pixels = desc->batch, .views = desc->views ? desc->view_count : 1};
    bl_result r = job_create(device, scene, &d, &fit, out);
    memory_free(names);
    if (r != BL_OK)
        memory_free(*asked);
    return r;
}

bl_result bl_fit_create(bl_device *device, const bl_scene *scene, const bl_fit_desc *desc, bl_fit **out)
{
    bl_error err = {0};
    *out = NULL;
    if (check_desc(desc, &err) != BL_OK || check_levels(desc, scene->render, &err) != BL_OK)
        return context_fail(device->context, &err);
    if (scene->render->pipelined && (desc->view_count > 1 || desc->batch)) {
        error_set(&err, BL_ERROR_UNSUPPORTED,
                  "rb_biased2 and rb_biased1_2 need the image of the step before, and fits keep it of one "
                  "view, whole");
        return context_fail(device->context, &err);
    }
    bl_job *job;
    fit_asked *asked;
    TRY(create_job(device, scene, desc, &job, &asked));
    bl_fit *fit = memory_need_zeroed(1, sizeof *fit);
    fit->job = job;
    fit->asked = asked, fit->asked_count = desc->parameter_count;
    fit->desc = resolve(job, desc);
    fit->status.step = fit->desc.first_step;
    const gradient_wish wish = {
        .form = desc->recursive_images && desc->form == BL_FORM_AUTO ? BL_FORM_SEPARATE : desc->form,
        .target = true,
        .loss = desc->loss,
        .composite = desc->composite,
        .spp = fit->desc.spp,
        .spp_gradient = fit->desc.spp_gradient,
        .spp_halves = job_gradient_spp(job, fit->desc.spp_gradient, 2),
    };
    if (gradient_form_choose(job, &wish, &fit->desc.form, &err) != BL_OK ||
        prepare(fit, &wish, scene, desc, &err) != BL_OK) {
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
    gpu_buffer *own[] = {fit->state[0], fit->state[1], fit->optimizer_status, fit->losses};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        gpu_buffer_destroy(own[i]);
    fit_views_destroy(fit);
    fit_average_destroy(fit);
    fit_roots_destroy(fit);
    fit_edges_destroy(fit);
    fit_noise_destroy(fit);
    fit_samples_destroy(fit);
    fit_recursion_destroy(fit);
    large_steps_destroy(fit);
    memory_free(fit->parameters);
    memory_free(fit->asked);
    memory_free((bl_fit_change *)(uintptr_t)fit->desc.schedule);
    bl_job_destroy(fit->job);
    memory_free(fit);
}

/* ---- a step ---- */

static bl_result finish_batch(bl_job *job, bl_error *err)
{
    TRY(gpu_batch_submit(job->batch, err));
    TRY(gpu_batch_wait(job->batch, NULL, err));
    return fit_kernels_check(job->device->fixed, err);
}

static bl_result count(bl_fit *fit, bl_fit_status *s, bl_error *err)
{
    uint64_t words[STATUS_COUNT];
    TRY(job_read_status(fit->job, words, err));
    s->drifted += words[STATUS_DRIFT], s->overflowed += words[STATUS_OVERFLOW],
        s->non_finite += words[STATUS_NON_FINITE], s->cut += words[STATUS_CUT];
    return BL_OK;
}

job_work_desc fit_gradient_work(const bl_fit *fit, const job_loss *loss, uint32_t seed)
{
    return (job_work_desc){
        .pass = RENDER_GRADIENT,
        .form = fit->desc.form,
        .loss = loss,
        .spp = fit->samples.gradient,
        .shared =
            bl_gradient_form_finds_loss(fit->desc.form) ? fit->samples.image - fit->samples.gradient : 0,
        .seed = seed,
        .stream = 1,
        .strips = gradient_form_strips(fit->job, fit->desc.form, fit->samples.gradient),
        .edges_learnt = fit_edges_learnt(fit),
        .edges_spp = fit_edges_samples(fit),
    };
}

void fit_record_comparison(bl_fit *fit, const job_loss *loss)
{
    job_work_desc image = fit_image_work(fit, 0);
    job_record_resolve(fit->job, image.spp, image.strips);
    job_record_loss(fit->job, loss);
}

/* Adds the loss of a sight, and what its terms add to it. */
static bl_result add_loss(bl_fit *fit, bl_fit_status *s, bl_error *err)
{
    double value;
    TRY(job_read_loss(fit->job, &value, err));
    s->loss += value;
    return fit->composite ? fit_composite_add_values(fit->composite, fit->terms, err) : BL_OK;
}

/* Renders the image that a step looks at, unless a pipelined method has left one, and computes its dL/dI.
 * Adds its loss to s->loss. */
static bl_result compare(bl_fit *fit, const fit_sight *sight, bl_fit_status *s, bl_error *err)
{
    bl_job *job = fit->job;
    bl_stats stats = {0};
    job_work_desc image = fit_image_work(fit, sight->seed);
    const job_loss loss = fit_sight_loss(fit, sight);
    if (!job->pipeline_filled) {
        TRY(job_run(job, &image, &stats, err));
        TRY(count(fit, s, err));
        s->samples += stats.paths;
    }
    if (fit->trails)
        TRY(fit_recursion_combine(fit, sight->view, err));
    TRY(gpu_batch_begin(job->batch, err));
    if (job->pipeline_filled || fit->trails)
        job_record_loss(job, &loss);
    else
        fit_record_comparison(fit, &loss);
    TRY(finish_batch(job, err));
    return add_loss(fit, s, err);
}

/* Runs the gradient pass of what a step looks at. first: the gradients are the first of the step; else they
 * are added to those before. The forms without an image of their own also find the loss. */
static bl_result differentiate(bl_fit *fit, const fit_sight *sight, bool first, bl_fit_status *s,
                               bl_error *err)
{
    bl_job *job = fit->job;
    bl_stats stats = {0};
    const job_loss loss = fit_sight_loss(fit, sight);
    job_work_desc w = fit_gradient_work(fit, &loss, sight->seed);
    w.adds = !first, w.unfinished = !sight->last;
    TRY(pixel_sampling_distribute(job, &w, err));
    TRY(job_run(job, &w, &stats, err));
    s->samples += stats.paths;
    if (bl_gradient_form_finds_loss(fit->desc.form))
        TRY(add_loss(fit, s, err));
    return count(fit, s, err);
}

/* Computes loss and gradient of all that the step looks at. After an overflow it repeats this with a coarser
 * scale (docs/architecture.md, Fixed-point scale). The coarser scale stays. A second gradient, which must not
 * change what comes, is left as it is. */
static bl_result all_sights(bl_fit *fit, bl_fit_status *s, bl_error *err)
{
    enum { COARSEST = 8 };
    for (;;) {
        fit_sight sight = {0};
        bool first = true;
        memset(fit->terms, 0, sizeof fit->terms);
        s->loss = 0, s->drifted = s->overflowed = s->non_finite = s->cut = 0;
        for (uint32_t v = 0; !sight.last; first = false) {
            TRY(fit_look(fit, &v, &sight, err));
            if (!bl_gradient_form_finds_loss(fit->desc.form))
                TRY(compare(fit, &sight, s, err));
            TRY(differentiate(fit, &sight, first, s, err));
        }
        if (s->overflowed == 0 || fit->coarser == COARSEST || fit->probe.running)
            return BL_OK;
        TRY(job_set_scale(fit->job, fit->largest_adjoint, fit->samples.gradient, ++fit->coarser, err));
    }
}

/* Finds a second gradient before the step's own, where the step is one to look at the noise. */
static bl_result probe(bl_fit *fit, bl_error *err)
{
    bl_fit_status unused = fit->status;
    if (!fit_noise_due(fit))
        return BL_OK;
    fit->probe.running = true;
    bl_result r = all_sights(fit, &unused, err);
    fit->probe.running = false;
    return r == BL_OK && unused.overflowed == 0 ? fit_noise_keep(fit, err) : r;
}

/* Looks at the noise of edges, where the step is one to do so. */
static bl_result look_at_edges(bl_fit *fit, bl_error *err)
{
    fit_sight sight = {0};
    uint32_t view = 0;
    if (!fit_edges_due(fit))
        return BL_OK;
    TRY(fit_look(fit, &view, &sight, err));
    const job_loss loss = fit_sight_loss(fit, &sight);
    const job_work_desc w = fit_gradient_work(fit, &loss, sight.seed);
    return fit_edges_look(fit, &w, err);
}

/* A pipelined method: keeps the image that the gradient pass has made, for the next step. */
static bl_result keep_image(bl_fit *fit, bl_error *err)
{
    bl_job *job = fit->job;
    bl_stats stats = {0};
    if (!job->scene->pipelined)
        return BL_OK;
    uint32_t spp = fit->samples.gradient;
    job->pipeline_filled = true;
    return job_resolve(job, spp, gradient_form_strips(job, fit->desc.form, spp), NULL, &stats, err);
}

static double rate_factor(const bl_fit *fit, uint32_t step)
{
    double factor = 1;
    for (uint32_t i = 0; i < fit->desc.schedule_count && fit->desc.schedule[i].step <= step; i++)
        factor = fit->desc.schedule[i].factor;
    return factor;
}

/* Appends the conversion of a parameter's gradient from fixed point. */
static void record_read(bl_fit *fit, const render_parameter *p, uint32_t first)
{
    fit_record_gradient_read(fit->job->batch, fit->job->device->fixed,
                             &(fit_gradient_read){.gradient = fit->job->gradient,
                                                  .scale = fit->job->scale,
                                                  .output = fit->job->output,
                                                  .gradient_first = first,
                                                  .output_first = first,
                                                  .count = p->count});
}

/* Appends the addition of the penalties' gradients to what record_read leaves. */
static void record_penalties(bl_fit *fit, const render_parameter *p, uint32_t value_first,
                             uint32_t gradient_first, const fit_parameter *f)
{
    if (f->prior != BL_PRIOR_NONE)
        fit_record_prior(fit->job->batch, fit->job->device->fixed,
                         &(fit_prior){.kind = f->prior,
                                      .parameters = fit->job->values,
                                      .gradient = fit->job->output,
                                      .parameter_first = value_first,
                                      .gradient_first = gradient_first,
                                      .count = p->count,
                                      .weight = f->prior_weight,
                                      .centre = f->prior_centre});
    if (!(f->total_variation > 0))
        return;
    fit_variation v = {
        .parameters = fit->job->values,
        .gradient = fit->job->output,
        .parameter_first = value_first,
        .gradient_first = gradient_first,
        .rank = p->rank,
        .weight = f->total_variation,
        .smoothing = f->smoothing,
    };
    memcpy(v.shape, p->shape, sizeof v.shape);
    fit_record_variation(fit->job->batch, fit->job->device->fixed, &v);
}

/* Fails with the name of the first parameter that has values which are not finite. There is one. */
static bl_result name_lost(bl_fit *fit, uint32_t step, bl_error *err)
{
    bl_job *job = fit->job;
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        float *values = memory_alloc(4ull * p->count);
        uint32_t lost = 0;
        if (!values)
            return error_set(err, BL_ERROR_MEMORY, "no memory for %u values of %s", p->count, p->name);
        bl_result r = gpu_buffer_read(job->values, 4ull * job->plan->value_offset[job->requested[k]], values,
                                      4ull * p->count, err);
        for (uint32_t i = 0; r == BL_OK && i < p->count; i++)
            lost += !isfinite(values[i]);
        memory_free(values);
        TRY(r);
        if (lost)
            return error_set(err, BL_ERROR_DEVICE,
                             "%s: %u of its %u values are NaN or infinite after step %u; smaller rates or "
                             "bounds may help",
                             p->name, lost, p->count, step);
    }
    return BL_OK;
}

void fit_record_move(bl_fit *fit)
{
    bl_job *job = fit->job;
    const bl_fit_desc *d = &fit->desc;
    const uint32_t step = fit->status.step + 1;
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        const fit_parameter *f = &fit->parameters[k];
        uint32_t value_first = job->plan->value_offset[job->requested[k]],
                 first = job->plan->gradient_offset[job->requested[k]];
        bool penalised = f->total_variation > 0 || f->prior != BL_PRIOR_NONE;
        if (f->large_steps || penalised || fit_roots_due(fit, step))
            record_read(fit, p, first);
        if (penalised)
            record_penalties(fit, p, value_first, first, f);
        if (f->large_steps)
            continue;
        fit_record_optimizer(job->batch, job->device->fixed,
                             &(fit_optimizer){.kind = d->optimizer,
                                              .parameters = job->values,
                                              .gradient = penalised ? job->output : job->gradient,
                                              .scale = job->scale,
                                              .state = {fit->state[0], fit->state[1]},
                                              .rate = f->rate,
                                              .lower = (double)f->lower,
                                              .upper = (double)f->upper,
                                              .status = fit->optimizer_status,
                                              .count = p->count,
                                              .parameter_first = value_first,
                                              .gradient_first = first,
                                              .fixed_point = !penalised,
                                              .sparse = f->sparse,
                                              .step = step - d->first_step,
                                              .factor = rate_factor(fit, step),
                                              .beta_1 = f->beta_1,
                                              .beta_2 = f->beta_2,
                                              .momentum = d->momentum,
                                              .nesterov = d->nesterov,
                                              .alpha = d->alpha,
                                              .epsilon = d->epsilon});
    }
}

static bl_result move_parameters(bl_fit *fit, bl_fit_status *s, bl_error *err)
{
    bl_job *job = fit->job;
    TRY(gpu_batch_begin(job->batch, err));
    fit_record_move(fit);
    TRY(finish_batch(job, err));
    for (uint32_t k = 0; k < job->requested_count; k++) {
        if (fit->parameters[k].large_steps)
            TRY(large_steps_move(fit, k, rate_factor(fit, s->step + 1), s, err));
        job_value_changed(job, job->requested[k]);
    }
    uint32_t counts[2]; /* elements left unchanged, and values that are not finite, since they were cleared */
    static const uint32_t none[2] = {0};
    TRY(gpu_buffer_read(fit->optimizer_status, 0, counts, sizeof counts, err));
    s->skipped += counts[0];
    if (counts[0] || counts[1])
        TRY(gpu_buffer_write(fit->optimizer_status, 0, none, sizeof none, err));
    return counts[1] ? name_lost(fit, s->step + 1, err) : BL_OK;
}

static bl_result step(bl_fit *fit, bl_error *err)
{
    bl_fit_status s = fit->status;
    if (s.step == UINT32_MAX)
        return error_set(err, BL_ERROR_ARGUMENT, "the fit has done %u steps: it cannot count more", s.step);
    TRY(probe(fit, err));
    TRY(all_sights(fit, &s, err));
    TRY(look_at_edges(fit, err));
    TRY(fit_noise_compare(fit, err));
    TRY(keep_image(fit, err));
    TRY(fit_recursion_follow(fit, &s, err));
    s.spp = fit->samples.image, s.spp_gradient = fit->samples.gradient;
    TRY(fit_samples_follow(fit, err));
    TRY(fit_roots_look(fit, s.step + 1, err));
    TRY(move_parameters(fit, &s, err));
    if (fit->samples.gradient != s.spp_gradient) /* after the move, which reads the gradient by its scale */
        TRY(job_set_scale(fit->job, fit->largest_adjoint, fit->samples.gradient, fit->coarser, err));
    s.step++;
    TRY(fit_average_follow(fit, s.step, err));
    TRY(fit_roots_follow(fit, s.step, err));
    s.repeats = fit->coarser;
    s.form = fit->desc.form, s.volume_gradient = bl_job_volume_gradient(fit->job);
    s.device_bytes = fit->job->bytes + fit->bytes;
    fit->status = s;
    return BL_OK;
}

bl_result bl_fit_step(bl_fit *fit, bl_fit_status *status)
{
    bl_error err = {0};
    if (step(fit, &err) != BL_OK)
        return context_fail(fit->job->context, &err);
    if (status)
        *status = fit->status;
    return BL_OK;
}

/* ---- what comes back ---- */

const char *bl_optimizer_name(bl_optimizer optimizer)
{
    return (unsigned)optimizer < BL_OPTIMIZER_COUNT ? fit_optimizer_name(optimizer) : NULL;
}

const char *bl_prior_name(bl_prior prior)
{
    return (unsigned)prior < BL_PRIOR_COUNT ? fit_prior_name(prior) : NULL;
}

bl_fit_status bl_fit_status_get(const bl_fit *fit) { return fit->status; }
const char *bl_fit_sampling(const bl_fit *fit) { return bl_job_sampling(fit->job); }

bl_result bl_fit_get_terms(const bl_fit *fit, double *values)
{
    if (!fit->composite) {
        bl_error err = {0};
        error_set(&err, BL_ERROR_ARGUMENT, "the fit's loss is no sum of terms (bl_fit_desc.composite)");
        return context_fail(fit->job->context, &err);
    }
    memcpy(values, fit->terms, fit->term_count * sizeof *values);
    return BL_OK;
}

bl_result bl_fit_get(bl_fit *fit, uint32_t k, float *values)
{
    return k < fit->asked_count
               ? fit_get_parameter(fit, k, values)
               : context_fail_range(fit->job->context, "parameter of the fit", k, fit->asked_count);
}
