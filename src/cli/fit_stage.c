/* SPDX-License-Identifier: BSD-3-Clause
 * The parameters of a fit, and its stages: when one begins, the images and grids that it names are
 * interpolated to its resolution, and the optimisation goes on from there as a fit of its own, whose steps
 * count on. What a stage after the first began with is kept as DIR/stage_N, without which a checkpoint of
 * that stage could not be gone on from. */
#include "fit_work.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- arrays of values ---- */

static float *copy_values(const float *values, uint32_t count)
{
    float *copy = memory_or_exit(count * sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    return copy;
}

/* A copy of the values, interpolated if the parameter now has another shape. */
static float *in_shape_of(const fit_parameter *p, const float *values, const uint32_t *shape)
{
    const bl_parameter_info *info = &p->parameter.info;
    if (memcmp(shape, info->shape, info->rank * sizeof *shape) == 0)
        return copy_values(values, info->count);
    float *made = memory_or_exit(info->count * sizeof *made);
    if (bl_resample(info->rank, shape, values, info->shape, made) != BL_OK)
        exit(fail("out of memory"));
    return made;
}

/* The shape of parameter k in a stage: that of the last stage up to it that names it, else the scene's. */
static void shape_in_stage(const fit_work *w, uint32_t k, uint32_t stage, uint32_t shape[4])
{
    memcpy(shape, w->parameters[k].own_shape, sizeof w->parameters[k].own_shape);
    for (uint32_t s = 0; s <= stage; s++)
        for (uint32_t i = 0; i < w->job.stages[s].size_count; i++)
            if (w->job.stages[s].sizes[i].parameter == k)
                memcpy(shape, w->job.stages[s].sizes[i].sides,
                       w->job.stages[s].sizes[i].side_count * sizeof *shape);
}

/* ---- parameters ---- */

static int check_sizes(const fit_work *w)
{
    for (uint32_t s = 0; s < w->job.stage_count; s++)
        for (uint32_t i = 0; i < w->job.stages[s].size_count; i++) {
            const fit_job_size *size = &w->job.stages[s].sizes[i];
            const bl_parameter_info *info = &w->parameters[size->parameter].parameter.info;
            if (!info->resizable || size->side_count + 1 != info->rank)
                return fail("%s: stages[%u].resolution.%s: %s", w->args->job, s, info->name,
                            info->resizable ? "has the wrong number of sides"
                                            : "its size is fixed; images and grids can be resized");
            w->parameters[size->parameter].sized = true, w->parameters[size->parameter].logged = false;
        }
    return CLI_OK;
}

/* Where the fit starts, in the first stage's shape. */
static int initial_values(fit_work *w, uint32_t k)
{
    const fit_job_parameter *asked = &w->job.parameters[k];
    fit_parameter *p = &w->parameters[k];
    uint32_t count = p->parameter.info.count;
    if (asked->initial_count > 1 && asked->initial_count != count)
        return fail("%s: parameters[%u].initial: has %u numbers; %s has %u entries", w->args->job, k,
                    asked->initial_count, asked->name, count);
    p->start = asked->initial_count == 0 ? in_shape_of(p, p->own_truth, p->own_shape)
                                         : memory_or_exit(count * sizeof *p->start);
    for (uint32_t i = 0; i < count; i++) {
        if (asked->initial_count)
            p->start[i] = asked->initial[asked->initial_count > 1 ? i : 0];
        double v = (double)p->start[i];
        if (asked->bounded && (v < asked->least || v > asked->most))
            return fail("%s: parameters[%u].initial: %g is outside the bounds [%g, %g]", w->args->job, k, v,
                        asked->least, asked->most);
        const bl_parameter_info *info = &p->parameter.info;
        if (asked->initial_count && !asked->bounded && !(v >= (double)info->least && v <= (double)info->most))
            return fail(
                "%s: parameters[%u].initial: %g is outside the range of %s, [%g, %g]; \"bounds\" sets "
                "another one",
                w->args->job, k, v, asked->name, (double)info->least, (double)info->most);
    }
    p->first = copy_values(p->start, count);
    memcpy(p->first_shape, p->parameter.info.shape, sizeof p->first_shape);
    return CLI_OK;
}

static void set_shape(bl_parameter_info *info, const uint32_t shape[4])
{
    info->count = 1;
    for (uint32_t k = 0; k < info->rank; k++)
        info->count *= info->shape[k] = shape[k];
}

static int first_values(fit_work *w, uint32_t k)
{
    fit_parameter *p = &w->parameters[k];
    uint32_t shape[4];
    p->own_truth = memory_or_exit(p->parameter.info.count * sizeof *p->own_truth);
    SESSION_TRY(w->session, bl_scene_get_parameter(w->session->scene, p->parameter.index, p->own_truth));
    shape_in_stage(w, k, 0, shape);
    set_shape(&p->parameter.info, shape);
    return initial_values(w, k);
}

int fit_find_parameters(fit_work *w)
{
    uint32_t count = w->job.parameter_count;
    w->parameters = memory_or_exit(count * sizeof *w->parameters);
    const char **names = memory_or_exit(count * sizeof *names);
    cli_parameter *found = memory_or_exit(count * sizeof *found);
    for (uint32_t k = 0; k < count; k++)
        names[k] = w->job.parameters[k].name;
    int status = session_find_parameters(w->session, names, count, found);
    for (uint32_t k = 0; k < count && status == CLI_OK; k++) {
        w->parameters[k].parameter = found[k];
        w->parameters[k].logged = found[k].info.count <= ENTRIES_IN_CSV;
        memcpy(w->parameters[k].own_shape, found[k].info.shape, sizeof found[k].info.shape);
    }
    if (status == CLI_OK) {
        w->incomplete = session_incomplete(found, count);
        if (w->incomplete)
            note(w->session->common, "warning: this fit goes by incomplete gradients and may go astray: %s",
                 w->incomplete);
        status = check_sizes(w);
    }
    for (uint32_t k = 0; k < count && status == CLI_OK; k++)
        status = first_values(w, k);
    free(found);
    free(names);
    return status;
}

static void free_present(fit_parameter *p)
{
    free(p->truth), free(p->initial), free(p->now);
    p->truth = p->initial = p->now = NULL;
}

void fit_free_parameters(fit_work *w)
{
    for (uint32_t k = 0; w->parameters && k < w->job.parameter_count; k++) {
        free_present(&w->parameters[k]);
        free(w->parameters[k].own_truth), free(w->parameters[k].first), free(w->parameters[k].start);
    }
    free(w->parameters);
    free(w->incomplete);
}

/* ---- a stage ---- */

uint32_t fit_average_steps(const fit_work *w)
{
    const uint32_t last = w->job.stages[w->job.stage_count - 1].steps;
    return w->job.average_auto ? (last + 1) / 2 : w->job.average;
}

/* What the result is made of, in the last stage, as bl_fit_desc.average_from. */
static uint64_t average_from(const fit_work *w)
{
    if (w->stage_end == w->steps && w->job.average_auto)
        return BL_AVERAGE_AUTO + w->steps - fit_average_steps(w) + 1;
    if (!w->job.average || w->stage_end < w->steps)
        return 0;
    return w->job.average < w->steps ? w->steps - w->job.average + 1 : 1;
}

static bl_fit_desc describe(const fit_work *w, const bl_fit_parameter *parameters, const bl_fit_view *views,
                            const bl_composite_loss *composite)
{
    const fit_job *job = &w->job;
    return (bl_fit_desc){.parameters = parameters,
                         .parameter_count = job->parameter_count,
                         .target = job->several ? NULL : w->pictures[0].target,
                         .weights = job->several ? NULL : w->pictures[0].weights,
                         .views = job->several ? views : NULL,
                         .view_count = job->several ? job->view_count : 0,
                         .loss = job->terms[0].loss,
                         .form = job->form,
                         .loss_constant = job->terms[0].constant,
                         .composite = fit_job_composite(job) ? composite : NULL,
                         .optimizer = job->optimizer,
                         .rate = job->rate,
                         .beta_1 = job->beta_1,
                         .beta_2 = job->beta_2,
                         .momentum = job->momentum,
                         .nesterov = job->nesterov,
                         .alpha = job->alpha,
                         .epsilon = job->epsilon,
                         .schedule = job->schedule,
                         .schedule_count = job->schedule_count,
                         .spp = w->spp,
                         .spp_gradient = w->spp_grad,
                         .seed = w->seed,
                         .common_numbers = job->common_numbers,
                         .first_step = w->stage_end - job->stages[w->stage].steps,
                         .no_baking = w->args->common.no_baking,
                         .rays = w->session->rays,
                         .pixels = job->pixels,
                         .batch = job->batch,
                         .variance_steps = job->variance_steps,
                         .wanted_noise = job->wanted_noise,
                         .average_from = average_from(w),
                         .spp_least = job->spp_least,
                         .recursive_images = job->recursive_images,
                         .volume_gradient = session_volume_gradient(w->session)};
}

static int create_fit(fit_work *w)
{
    bl_fit_parameter *list = memory_or_exit(w->job.parameter_count * sizeof *list);
    bl_fit_view *views = memory_or_exit(w->job.view_count * sizeof *views);
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_job_parameter *asked = &w->job.parameters[k];
        list[k] = (bl_fit_parameter){
            .name = asked->name,
            .rate = asked->rate,
            .beta_1 = asked->beta_1,
            .beta_2 = asked->beta_2,
            .sparse = asked->sparse,
            .initial = w->parameters[k].start,
            .total_variation = asked->total_variation,
            .smoothing = asked->smoothing,
            .large_steps = asked->large_steps,
            .fixed_axes = asked->fixed_axes,
            .motion = asked->motion,
            .prior = asked->prior,
            .prior_weight = asked->prior_weight,
            .prior_centre = asked->prior_centre,
        };
        if (asked->bounded)
            list[k].least = asked->least, list[k].most = asked->most;
    }
    for (uint32_t v = 0; v < w->job.view_count; v++)
        views[v] = (bl_fit_view){.target = w->pictures[v].target,
                                 .weights = w->pictures[v].weights,
                                 .weight = w->job.views[v].weight,
                                 .sensor = w->job.views[v].sensor,
                                 .to_world = fit_pose(&w->job.views[v]),
                                 .held_out = w->job.views[v].held_out};
    const bl_composite_loss composite = {.terms = w->job.terms, .term_count = w->job.term_count};
    bl_fit_desc desc = describe(w, list, views, &composite);
    bl_result result = bl_fit_create(w->session->device, w->session->scene, &desc, &w->fit);
    free(views);
    free(list);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

/* The scene's parameter in the stage's shape, and what is compared with it. Takes w->parameters[k].start as
 * it is. */
static int enter_parameter(fit_work *w, uint32_t k)
{
    fit_parameter *p = &w->parameters[k];
    if (p->sized)
        SESSION_TRY(w->session, bl_scene_resize_parameter(w->session->scene, p->parameter.index,
                                                          p->parameter.info.shape, p->start));
    free_present(p);
    p->truth = in_shape_of(p, p->own_truth, p->own_shape);
    p->initial = in_shape_of(p, p->first, p->first_shape);
    p->now = copy_values(p->start, p->parameter.info.count);
    return CLI_OK;
}

/* The parameters have the stage's shapes, and in `start` the values that it begins with. */
static int enter(fit_work *w, uint32_t stage)
{
    bl_fit_destroy(w->fit);
    w->fit = NULL;
    w->stage = w->note.stage = stage;
    w->stage_end = 0;
    for (uint32_t s = 0; s <= stage; s++)
        w->stage_end += w->job.stages[s].steps;
    for (uint32_t k = 0; k < w->job.parameter_count; k++)
        CLI_TRY(enter_parameter(w, k));
    return create_fit(w);
}

int fit_first_stage(fit_work *w) { return enter(w, 0); }

/* ---- DIR/stage_N ---- */

static size_t values_in_stage(const fit_work *w)
{
    size_t count = 0;
    for (uint32_t k = 0; k < w->job.parameter_count; k++)
        count += w->parameters[k].parameter.info.count;
    return count;
}

static int save_start(fit_work *w, uint32_t stage)
{
    float *all = memory_or_exit(values_in_stage(w) * sizeof *all), *at = all;
    for (uint32_t k = 0; k < w->job.parameter_count; k++, at += w->parameters[k - 1].parameter.info.count)
        memcpy(at, w->parameters[k].start, w->parameters[k].parameter.info.count * sizeof *at);
    char *path = text_format("%s/stage_%u", w->folder, stage);
    int status = save_file(path, all, values_in_stage(w) * sizeof *all);
    w->note.start_hash = XXH3_64bits(all, values_in_stage(w) * sizeof *all);
    free(path);
    free(all);
    return status;
}

static int read_start(fit_work *w, uint32_t stage)
{
    size_t size, wanted = values_in_stage(w) * sizeof(float);
    char *path = text_format("%s/stage_%u", w->folder, stage), *all = read_whole(path, wanted, &size),
         *at = all;
    int status =
        !all ? CLI_FAILED
        : size != wanted || XXH3_64bits(all, size) != w->note.start_hash
            ? fail("%s is not what stage %u began with, which the checkpoint goes on from", path, stage)
            : CLI_OK;
    for (uint32_t k = 0; k < w->job.parameter_count && status == CLI_OK; k++) {
        fit_parameter *p = &w->parameters[k];
        free(p->start);
        p->start = memory_or_exit(p->parameter.info.count * sizeof *p->start);
        memcpy(p->start, at, p->parameter.info.count * sizeof *p->start);
        at += p->parameter.info.count * sizeof *p->start;
    }
    free(path);
    free(all);
    return status;
}

/* ---- from stage to stage ---- */

int fit_next_stage(fit_work *w)
{
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        fit_parameter *p = &w->parameters[k];
        uint32_t before[4], shape[4];
        memcpy(before, p->parameter.info.shape, sizeof before);
        SESSION_TRY(w->session, bl_fit_get(w->fit, k, p->now));
        shape_in_stage(w, k, w->stage + 1, shape);
        set_shape(&p->parameter.info, shape);
        free(p->start);
        p->start = in_shape_of(p, p->now, before);
    }
    w->note.skipped += w->status.skipped;
    w->note.samples += w->status.samples;
    w->note.repeats += w->status.repeats;
    CLI_TRY(save_start(w, w->stage + 1));
    return enter(w, w->stage + 1);
}

int fit_enter_stage(fit_work *w, uint32_t stage)
{
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        uint32_t shape[4];
        shape_in_stage(w, k, stage, shape);
        set_shape(&w->parameters[k].parameter.info, shape);
    }
    CLI_TRY(read_start(w, stage));
    return enter(w, stage);
}
