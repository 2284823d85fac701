/* SPDX-License-Identifier: BSD-3-Clause
 * Saving a fit and going on from what was saved.
 *
 * The state between two steps: parameter values, the optimiser's arrays, the number of steps (which gives
 * each step's random numbers, rates and bias corrections) and how often the fixed-point scale became coarser.
 * Everything else follows from scene and descriptor. So a checkpoint holds hashes of these instead: of the
 * kernels' words (any change to the program that can change a result changes them), of the scene buffer and
 * all initial values, and of the descriptor with its targets. The scale itself follows from initial values
 * and descriptor; that is why restoring writes parameters past bl_job_set_parameter, which would move it. */
#include "api/fit_state.h"
#include "api/fit_average.h"
#include "api/fit_edges.h"
#include "api/fit_recursion.h"
#include "api/fit_roots.h"
#include "api/fit_samples.h"
#include "api/fit_words.h"
#include "api/gradient_scale.h"
#include "api/job_buffers.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- what a state belongs to ---- */

static void add(XXH3_state_t *h, const void *data, size_t size) { XXH3_64bits_update(h, data, size); }

static bl_result hash_program(bl_fit *fit, uint64_t *out, bl_error *err)
{
    XXH3_state_t h;
    XXH3_64bits_reset(&h);
    add(&h, BL_VERSION_TEXT, sizeof BL_VERSION_TEXT);
    static const bl_pass fused[] = {BL_PASS_PRIMAL, BL_PASS_GRADIENT},
                         separate[] = {BL_PASS_REPLAY, BL_PASS_ADJOINT, BL_PASS_PRIMAL};
    const bl_pass *passes = fit->desc.form == BL_FORM_FUSED ? fused : separate;
    int count_of_form =
        fit->desc.form == BL_FORM_SEPARATE ? 3 : 2; /* Others of two kernels render no image. */
    for (int k = 0; k < count_of_form; k++) {
        uint32_t *words;
        size_t count;
        bl_result r = bl_job_spirv(fit->job, passes[k], &words, &count);
        if (r != BL_OK)
            return error_set(err, r, "%s", bl_context_error(fit->job->context));
        add(&h, words, 4 * count);
        memory_free(words);
    }
    *out = XXH3_64bits_digest(&h);
    return BL_OK;
}

/* The scene's words, with zeros for the address of what answers rays, which is another one in every process.
 */
static void add_words(XXH3_state_t *h, const plan *p)
{
    static const uint32_t address[2] = {0};
    const uint32_t behind = HEADER_ACCEL + 2;
    add(h, p->words.data, 4 * (size_t)HEADER_ACCEL);
    add(h, address, sizeof address);
    add(h, p->words.data + behind, 4 * (size_t)(p->words.count - behind));
}

static uint64_t hash_scene(const bl_fit *fit, const bl_scene *scene)
{
    const plan *p = fit->job->plan;
    const render_scene *s = scene->render;
    XXH3_state_t h;
    XXH3_64bits_reset(&h);
    uint32_t size[2] = {s->width, s->height};
    add(&h, size, sizeof size);
    add_words(&h, p);
    add(&h, s->values.data, 4 * (size_t)s->values.count);
    return XXH3_64bits_digest(&h);
}

static void add_views(XXH3_state_t *h, const bl_fit *fit, const bl_fit_desc *desc)
{
    size_t image = sizeof(float) * film_channels(fit->job->scene) * film_pixels(fit->job->scene);
    for (uint32_t v = 0; v < fit->desc.view_count; v++) {
        uint32_t how[3] = {fit->views[v].sensor, fit->views[v].posed, fit->views[v].held_out};
        add(h, how, sizeof how);
        add(h, fit->views[v].to_world, sizeof fit->views[v].to_world);
        if (fit->views[v].held_out)
            continue;
        add(h, desc->views ? desc->views[v].target : desc->target, image);
        add(h, &fit->views[v].share, sizeof fit->views[v].share);
        const float *weights = desc->views ? desc->views[v].weights : desc->weights;
        if (weights)
            add(h, weights, image / film_channels(fit->job->scene));
    }
}

static void add_composite(XXH3_state_t *h, const bl_composite_loss *c)
{
    for (uint32_t t = 0; c && t < c->term_count; t++) {
        const bl_loss_term *term = &c->terms[t];
        uint32_t how[3] = {term->loss, fit_term_levels(term), term->level_weights != NULL};
        double real[2] = {term->constant, term->weight};
        add(h, how, sizeof how);
        add(h, real, sizeof real);
        if (term->level_weights)
            add(h, term->level_weights, fit_term_levels(term) * sizeof *term->level_weights);
    }
}

static uint64_t hash_job(const bl_fit *fit, const bl_fit_desc *desc)
{
    const bl_fit_desc *d = &fit->desc;
    const bl_job *job = fit->job;
    uint32_t whole[] = {d->loss,
                        d->form,
                        d->optimizer,
                        d->nesterov,
                        d->spp,
                        d->spp_gradient,
                        d->seed,
                        d->view_count,
                        d->schedule_count,
                        d->first_step,
                        d->common_numbers,
                        d->pixels,
                        d->batch,
                        (uint32_t)d->spp_least,
                        d->recursive_images != 0,
                        (d->average_from != 0) + 2 * (d->average_from >= BL_AVERAGE_AUTO)};
    double real[] = {d->loss_constant, d->beta_1,  d->beta_2,      d->momentum,
                     d->alpha,         d->epsilon, d->wanted_noise};
    XXH3_state_t h;
    XXH3_64bits_reset(&h);
    add(&h, whole, sizeof whole);
    add(&h, real, sizeof real);
    add_composite(&h, desc->composite);
    for (uint32_t i = 0; i < d->schedule_count; i++) {
        add(&h, &d->schedule[i].step, sizeof d->schedule[i].step);
        add(&h, &d->schedule[i].factor, sizeof d->schedule[i].factor);
        add(&h, &d->schedule[i].samples, sizeof d->schedule[i].samples);
    }
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const fit_parameter *f = &fit->parameters[k];
        double how[] = {f->rate,   (double)f->lower, (double)f->upper, f->total_variation, f->smoothing,
                        f->lambda, f->fixed_axes,    f->prior,         f->prior_weight,    f->prior_centre,
                        f->beta_1, f->beta_2,        f->sparse};
        add(&h, how, sizeof how);
    }
    add(&h, job->requested, 4 * (size_t)job->requested_count);
    add(&h, job->host_values, 4 * (size_t)job->plan->stored_count); /* initial values */
    add_views(&h, fit, desc);
    return XXH3_64bits_digest(&h);
}

bl_result fit_identify(bl_fit *fit, const bl_scene *scene, const bl_fit_desc *desc, bl_error *err)
{
    BL_ASSERT(desc->parameter_count == fit->asked_count, "%u parameters, the fit has %u",
              desc->parameter_count, fit->asked_count);
    TRY(hash_program(fit, &fit->identity.program, err));
    fit->identity.scene = hash_scene(fit, scene);
    fit->identity.job = hash_job(fit, desc);
    return BL_OK;
}

/* ---- words: the requested parameters in the order of their gradients, then the arrays of state, then the
 * image that a pipelined method keeps, what samples follow from, recursive images, means, lines, what edges
 * have learnt ---- */

static uint32_t state_words(const bl_fit *fit)
{
    uint32_t image = fit->job->scene->pipelined ? job_values(fit->job) : 0;
    return fit_value_count(fit) + fit_optimizer_states(fit->desc.optimizer) * fit->job->plan->gradient_count +
           image + fit_samples_words(fit) + fit_recursion_words(fit) + fit_average_words(fit) +
           fit_roots_words(fit) + fit_edges_words(fit);
}

static bl_result move_state(bl_fit *fit, float *words, bool store, bl_error *err)
{
    const bl_job *job = fit->job;
    const uint32_t n = job->plan->gradient_count;
    TRY(fit_move_values(fit, words, store, err));
    words += fit_value_count(fit);
    for (uint32_t i = 0; i < fit_optimizer_states(fit->desc.optimizer); i++, words += n)
        TRY(fit_move_words(fit->state[i], 0, words, n, store, err));
    if (job->scene->pipelined) {
        TRY(fit_move_words(job->image, 0, words, job_values(job), store, err));
        words += job_values(job);
    }
    fit_samples_move(fit, words, store);
    words += fit_samples_words(fit);
    fit_recursion_move(fit, words, store);
    words += fit_recursion_words(fit);
    fit_average_move(fit, words, store);
    words += fit_average_words(fit);
    fit_roots_move(fit, words, store);
    words += fit_roots_words(fit);
    return fit_edges_move(fit, words, store, err);
}

/* ---- saving ---- */

static void copy_name(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    memcpy(to, from, length < size ? length : size - 1);
}

static bl_result save(bl_fit *fit, const char *path, const void *note, size_t note_size, bl_error *err)
{
    const gpu_info *device = gpu_device_info(fit->job->device->gpu);
    const bl_fit_status *s = &fit->status;
    uint32_t count = state_words(fit);
    float *words = memory_alloc(4 * (size_t)count + 4);
    if (!words)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the state of a fit: %u words", count);
    fit_checkpoint c = {
        .head = {.program = fit->identity.program,
                 .scene = fit->identity.scene,
                 .job = fit->identity.job,
                 .step = s->step,
                 .coarser = fit->coarser,
                 .skipped = s->skipped,
                 .loss = s->loss,
                 .drifted = s->drifted,
                 .overflowed = s->overflowed,
                 .non_finite = s->non_finite,
                 .cut = s->cut,
                 .device_bytes = s->device_bytes,
                 .samples = s->samples,
                 .spp = s->spp,
                 .spp_gradient = s->spp_gradient},
        .words = words,
        .word_count = count,
        .note = note,
        .note_size = note_size,
    };
    copy_name(c.head.device, sizeof c.head.device, device->name);
    copy_name(c.head.driver, sizeof c.head.driver, device->driver);
    bl_result r = move_state(fit, words, false, err);
    if (r == BL_OK)
        r = fit_checkpoint_write(path, &c, err);
    memory_free(words);
    return r;
}

bl_result bl_fit_save(bl_fit *fit, const char *path, const void *note, size_t note_size)
{
    bl_error err = {0};
    return save(fit, path, note, note_size, &err) == BL_OK ? BL_OK : context_fail(fit->job->context, &err);
}

/* ---- restoring ---- */

static bl_result check_origin(const bl_fit *fit, const char *path, const fit_checkpoint *c, bl_error *err)
{
    const gpu_info *device = gpu_device_info(fit->job->device->gpu);
    fit_checkpoint_head here = {0};
    copy_name(here.device, sizeof here.device, device->name);
    copy_name(here.driver, sizeof here.driver, device->driver);
    const char *differs =
        c->head.scene != fit->identity.scene ? "with another scene"
        : c->head.job != fit->identity.job
            ? "with other settings (parameters, targets, views, loss, optimiser, schedule, samples or seed)"
        : c->word_count != state_words(fit) ? "with other parameters"
                                            : NULL;
    if (differs)
        return error_set(err, BL_ERROR_ARGUMENT, "the checkpoint %s belongs to a fit %s", path, differs);
    if (strcmp(c->head.device, here.device) != 0 || strcmp(c->head.driver, here.driver) != 0)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "the checkpoint %s was made on %s (%s), not on %s (%s): results would differ", path,
                         c->head.device, c->head.driver, here.device, here.driver);
    if (c->head.program != fit->identity.program)
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "the checkpoint %s was made by another version of this program, whose kernels differ", path);
    return BL_OK;
}

static bl_result take_note(const fit_checkpoint *c, void **note, size_t *note_size, bl_error *err)
{
    if (!note)
        return BL_OK;
    *note = memory_alloc(c->note_size + 1);
    if (!*note)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a note of %zu bytes", c->note_size);
    memcpy(*note, c->note, c->note_size);
    *note_size = c->note_size;
    return BL_OK;
}

bl_result bl_fit_read_note(bl_context *ctx, const char *path, void **note, size_t *note_size)
{
    bl_error err = {0};
    fit_checkpoint c;
    *note = NULL, *note_size = 0;
    bl_result r = fit_checkpoint_read(path, UINT32_MAX, &c, &err);
    if (r == BL_OK)
        r = take_note(&c, note, note_size, &err);
    fit_checkpoint_free(&c);
    return r == BL_OK ? BL_OK : context_fail(ctx, &err);
}

static bl_result restore(bl_fit *fit, const fit_checkpoint *c, bl_error *err)
{
    TRY(move_state(fit, (float *)(uintptr_t)c->words, true, err));
    fit_samples_schedule(fit, c->head.step + 1);
    fit->coarser = c->head.coarser;
    fit->job->pipeline_filled = fit->job->scene->pipelined && c->head.step > fit->desc.first_step;
    TRY(job_set_scale(fit->job, fit->largest_adjoint, fit->samples.gradient, fit->coarser, err));
    for (uint32_t k = 0; k < fit->job->requested_count; k++)
        job_value_changed(fit->job, fit->job->requested[k]);
    fit->status = (bl_fit_status){
        .step = c->head.step,
        .loss = c->head.loss,
        .form = fit->desc.form,
        .drifted = c->head.drifted,
        .overflowed = c->head.overflowed,
        .non_finite = c->head.non_finite,
        .cut = c->head.cut,
        .skipped = c->head.skipped,
        .repeats = c->head.coarser,
        .device_bytes = c->head.device_bytes,
        .samples = c->head.samples,
        .spp = c->head.spp,
        .spp_gradient = c->head.spp_gradient,
    };
    return BL_OK;
}

bl_result bl_fit_restore(bl_fit *fit, const char *path, void **note, size_t *note_size)
{
    bl_error err = {0};
    fit_checkpoint c;
    if (note)
        *note = NULL, *note_size = 0;
    bl_result r = fit_checkpoint_read(path, state_words(fit), &c, &err);
    if (r == BL_OK)
        r = check_origin(fit, path, &c, &err);
    if (r == BL_OK)
        r = take_note(&c, note, note_size, &err);
    if (r == BL_OK)
        r = restore(fit, &c, &err);
    fit_checkpoint_free(&c);
    return r == BL_OK ? BL_OK : context_fail(fit->job->context, &err);
}
