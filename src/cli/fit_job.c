/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a fit job, by tables of the keys of its objects. Relative paths count from the folder of the job. */
#include "fit_job_parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- objects of the job ---- */

static const char *optimizer_name(uint32_t k) { return bl_optimizer_name((bl_optimizer)k); }
static const char *form_name(uint32_t k) { return bl_gradient_form_name((bl_gradient_form)k); }
static const char *pixels_name(uint32_t k) { return bl_pixels_name((bl_pixels)k); }
static const char *volume_gradient_name(uint32_t k) { return bl_volume_gradient_name((bl_volume_gradient)k); }

static int read_optimizer(json_place at, const cJSON *json, fit_job *job)
{
#define COMMON_KEYS                                                                                          \
    {"type", KEY_OTHER, 0, true}, { "rate", KEY_POSITIVE, offsetof(fit_job, rate), false }
    static const json_key adam[] = {COMMON_KEYS,
                                    {"beta_1", KEY_SHARE, offsetof(fit_job, beta_1), false},
                                    {"beta_2", KEY_SHARE, offsetof(fit_job, beta_2), false},
                                    {"epsilon", KEY_POSITIVE, offsetof(fit_job, epsilon), false},
                                    {0}};
    static const json_key sgd[] = {COMMON_KEYS,
                                   {"momentum", KEY_MOMENTUM, offsetof(fit_job, momentum), false},
                                   {"nesterov", KEY_FLAG, offsetof(fit_job, nesterov), false},
                                   {0}};
    static const json_key rmsprop[] = {COMMON_KEYS,
                                       {"alpha", KEY_SHARE, offsetof(fit_job, alpha), false},
                                       {"epsilon", KEY_POSITIVE, offsetof(fit_job, epsilon), false},
                                       {0}};
#undef COMMON_KEYS
    static const json_key *const keys[BL_OPTIMIZER_COUNT] = {adam, sgd, rmsprop};
    uint32_t kind;
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "optimizer", "an object with a type", json));
    CLI_TRY(json_read_type(&at, json, "optimizer", optimizer_name, &kind));
    CLI_TRY(json_read_keys(&at, json, keys[kind], job));
    job->optimizer = (bl_optimizer)kind;
    if (job->nesterov && !(job->momentum > 0))
        return json_wrong(&at, "nesterov", "needs a momentum above 0");
    return CLI_OK;
}

static int read_schedule(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {{"step", KEY_COUNT, offsetof(bl_fit_change, step), true},
                                    {"factor", KEY_POSITIVE, offsetof(bl_fit_change, factor), true},
                                    {"samples", KEY_POSITIVE, offsetof(bl_fit_change, samples), false},
                                    {0}};
    if (!json)
        return CLI_OK;
    if (!cJSON_IsArray(json))
        return json_wrong(&at, "schedule", "must be a list of objects with step and factor");
    job->schedule = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->schedule);
    for (const cJSON *one = json->child; one; one = one->next) {
        bl_fit_change *c = &job->schedule[job->schedule_count];
        *c = (bl_fit_change){0};
        CLI_TRY(json_read_item(&at, "schedule", job->schedule_count++, "an object with step and factor", one,
                               keys, c));
        if (job->schedule_count > 1 && c->step <= c[-1].step)
            return json_wrong(&at, "step", "must be above the one before it");
    }
    return CLI_OK;
}

static int read_defines(json_place at, const cJSON *json, fit_job *job)
{
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "defines", "an object of texts, numbers, true and false", json));
    job->defines = memory_or_exit((size_t)(cJSON_GetArraySize(json) + 1) * sizeof *job->defines);
    for (const cJSON *one = json->child; one; one = one->next) {
        char number[32];
        snprintf(number, sizeof number, "%.15g", one->valuedouble);
        const char *value = cJSON_IsString(one)   ? one->valuestring
                            : cJSON_IsNumber(one) ? number
                            : cJSON_IsTrue(one)   ? "true"
                            : cJSON_IsFalse(one)  ? "false"
                                                  : NULL;
        if (!value || !*one->string)
            return json_wrong(&at, one->string, "must be a text, a number, true or false");
        job->defines[job->define_count++] = text_format("%s=%s", one->string, value);
    }
    return CLI_OK;
}

/* What --sampler takes. NULL past the last. */
static const char *sampler_name(uint32_t index)
{
    static const char *const names[] = {"scene",       "auto",       "independent", "stratified",
                                        "multijitter", "orthogonal", "ldsampler",   "paddedsobol"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* {"noise": 1, "least": 2} */
static int read_adaptive_samples(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {{"noise", KEY_POSITIVE, offsetof(fit_job, wanted_noise), true},
                                    {"least", KEY_COUNT, offsetof(fit_job, spp_least), false},
                                    {0}};
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "adaptive_samples", "an object with noise and, if wanted, least", json));
    return json_read_keys(&at, json, keys, job);
}

/* {"window": 50, "improvement": 0.01, "patience": 3}. After stages and views. */
static int read_stop(json_place at, const cJSON *json, fit_job *job)
{
    enum { WINDOW_MOST = 1000000 };
    static const json_key keys[] = {{"window", KEY_COUNT, offsetof(fit_job, stop_window), false},
                                    {"improvement", KEY_POSITIVE, offsetof(fit_job, stop_improvement), false},
                                    {"patience", KEY_COUNT, offsetof(fit_job, stop_patience), false},
                                    {0}};
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "stop", "an object with window, patience, or both", json));
    CLI_TRY(json_read_keys(&at, json, keys, job));
    if (!job->stop_window && !job->stop_patience)
        return json_wrong(&at, "window",
                          "give a window of steps, or the patience in looks at held-out views");
    if (job->stop_improvement > 0 && !job->stop_window)
        return json_wrong(&at, "improvement", "needs a window");
    if (job->stop_window == 1 || job->stop_window > WINDOW_MOST)
        return json_wrong(&at, "window", "must be a whole number from 2 to %d", WINDOW_MOST);
    if (job->stop_patience && job->held_out_count == 0)
        return json_wrong(&at, "patience", "needs views that are held out (\"held_out\")");
    if (job->average || job->average_auto)
        return json_wrong(&at, "window", "\"average\" needs to know the last step: give one of the two");
    return CLI_OK;
}

/* 50, or "auto" */
static int read_average(const json_place *at, const cJSON *json, fit_job *job)
{
    if (!json)
        return CLI_OK;
    const double number = cJSON_IsNumber(json) ? json->valuedouble : 0;
    job->average_auto = cJSON_IsString(json) && strcmp(json->valuestring, "auto") == 0;
    if (!job->average_auto && !(number >= 1 && number <= UINT32_MAX && number == floor(number)))
        return json_wrong(at, "average", "must be a whole number from 1 to %u, or \"auto\"", UINT32_MAX);
    job->average = (uint32_t)number;
    return CLI_OK;
}

/* ---- the file ---- */

static int read_job(json_place at, fit_job *job)
{
    typedef struct head {
        const char *scene, *mode, *sampler, *form, *pixels, *volume_gradient, *output, *schema;
        uint32_t steps, spp, spp_grad, seed, checkpoint_steps, batch, held_out_steps, variance_steps;
        bool common_numbers, recursive_images;
    } head;
    static const json_key keys[] = {
        {"scene", KEY_TEXT, offsetof(head, scene), true},
        {"mode", KEY_TEXT, offsetof(head, mode), false},
        {"sampler", KEY_TEXT, offsetof(head, sampler), false},
        {"target", KEY_OTHER, 0, false},
        {"mask", KEY_OTHER, 0, false},
        {"views", KEY_OTHER, 0, false},
        {"held_out", KEY_OTHER, 0, false},
        {"held_out_steps", KEY_COUNT, offsetof(head, held_out_steps), false},
        {"background", KEY_OTHER, 0, false},
        {"silhouette", KEY_OTHER, 0, false},
        {"batch", KEY_COUNT, offsetof(head, batch), false},
        {"loss", KEY_OTHER, 0, false},
        {"form", KEY_TEXT, offsetof(head, form), false},
        {"pixels", KEY_TEXT, offsetof(head, pixels), false},
        {"volume_gradient", KEY_TEXT, offsetof(head, volume_gradient), false},
        {"parameters", KEY_OTHER, 0, true},
        {"groups", KEY_OTHER, 0, false},
        {"optimizer", KEY_OTHER, 0, false},
        {"schedule", KEY_OTHER, 0, false},
        {"steps", KEY_STEPS, offsetof(head, steps), false},
        {"stages", KEY_OTHER, 0, false},
        {"spp", KEY_COUNT, offsetof(head, spp), false},
        {"spp_grad", KEY_COUNT, offsetof(head, spp_grad), false},
        {"seed", KEY_SEED, offsetof(head, seed), false},
        {"common_random_numbers", KEY_FLAG, offsetof(head, common_numbers), false},
        {"checkpoint_steps", KEY_COUNT, offsetof(head, checkpoint_steps), false},
        {"adaptive_samples", KEY_OTHER, 0, false},
        {"stop", KEY_OTHER, 0, false},
        {"average", KEY_OTHER, 0, false},
        {"recursive_images", KEY_FLAG, offsetof(head, recursive_images), false},
        {"variance_steps", KEY_COUNT, offsetof(head, variance_steps), false},
        {"output", KEY_TEXT, offsetof(head, output), false},
        {"defines", KEY_OTHER, 0, false},
        {"$schema", KEY_TEXT, offsetof(head, schema), false}, /* for editors */
        {0}};
    uint32_t sampler, form = BL_FORM_AUTO, pixels = BL_PIXELS_UNIFORM,
                      volume_gradient = BL_VOLUME_GRADIENT_AUTO;
    head h = {0};
    const cJSON *json = job->json;
    int status = json_read_keys(&at, json, keys, &h);
    CLI_TRY(h.scene ? CLI_OK : status);
    job->scene = json_beside(at.file, h.scene);
    job->mode = h.mode, job->sampler = h.sampler;
    job->output = h.output ? json_beside(at.file, h.output) : NULL;
    job->steps = h.steps;
    job->spp = h.spp;
    job->spp_grad = h.spp_grad;
    job->seed = h.seed;
    job->common_numbers = h.common_numbers;
    job->checkpoint_steps = h.checkpoint_steps;
    job->batch = h.batch;
    job->variance_steps = h.variance_steps;
    job->recursive_images = h.recursive_images;
    job->held_out_steps = h.held_out_steps;
    /* All mistakes are said, each part's first ones at once; stages name parameters, which must be good. */
    status |= job_read_goal(at, json, job);
    status |= job_read_loss(at, cJSON_GetObjectItemCaseSensitive(json, "loss"), job);
    status |= json_find_name(&at, "sampler", "sampler", h.sampler, sampler_name, &sampler);
    status |= json_find_name(&at, "form", "form", h.form, form_name, &form);
    job->form = (bl_gradient_form)form;
    status |= json_find_name(&at, "pixels", "choice", h.pixels, pixels_name, &pixels);
    job->pixels = (bl_pixels)pixels;
    status |= json_find_name(&at, "volume_gradient", "way", h.volume_gradient, volume_gradient_name,
                             &volume_gradient);
    job->volume_gradient = (bl_volume_gradient)volume_gradient;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "parameters");
    int parameters = list ? job_read_parameters(at, list, job) : CLI_FAILED;
    if (parameters == CLI_OK && status == CLI_OK)
        status |= job_read_stages(at, cJSON_GetObjectItemCaseSensitive(json, "stages"), job);
    if (parameters == CLI_OK)
        status |= job_read_groups(at, cJSON_GetObjectItemCaseSensitive(json, "groups"), job);
    status |= parameters;
    status |= read_defines(at, cJSON_GetObjectItemCaseSensitive(json, "defines"), job);
    status |= read_adaptive_samples(at, cJSON_GetObjectItemCaseSensitive(json, "adaptive_samples"), job);
    status |= read_average(&at, cJSON_GetObjectItemCaseSensitive(json, "average"), job);
    status |= read_stop(at, cJSON_GetObjectItemCaseSensitive(json, "stop"), job);
    status |= read_schedule(at, cJSON_GetObjectItemCaseSensitive(json, "schedule"), job);
    return status | read_optimizer(at, cJSON_GetObjectItemCaseSensitive(json, "optimizer"), job);
}

int fit_job_read(const char *path, fit_job *job)
{
    *job = (fit_job){0};
    CLI_TRY(json_read_file(path, &job->json, &job->text));
    return cJSON_IsObject(job->json) ? read_job((json_place){.file = path}, job)
                                     : fail("%s: a fit job is a JSON object", path);
}

void fit_job_merge(const fit_job *job, cli_common *common)
{
    for (uint32_t i = 0; i < job->define_count; i++)
        define_default(&common->defines, job->defines[i]);
    common->silhouette = job->silhouette;
    common->mode = common->mode ? common->mode : job->mode;
    if (!common->sampler)
        common->sampler = job->sampler ? job->sampler : job->recursive_images ? "scene" : "auto";
    if (job->volume_gradient != BL_VOLUME_GRADIENT_AUTO && !common->volume_gradient)
        common->volume_gradient = bl_volume_gradient_name(job->volume_gradient);
    if (job->batch && !common->edges)
        common->edges = "none"; /* batches leave moving edges out, and what is incomplete is said */
}

char *fit_job_place(const fit_job *job, uint32_t view, const char *key)
{
    return job->several ? text_format("views[%u].%s", view, key) : text_format("%s", key);
}

void fit_job_free(fit_job *job)
{
    for (uint32_t i = 0; i < job->parameter_count; i++)
        free(job->parameters[i].initial);
    for (uint32_t i = 0; i < job->stage_count; i++)
        free(job->stages[i].sizes);
    free(job->stages);
    for (uint32_t i = 0; i < job->define_count; i++)
        free((char *)(uintptr_t)job->defines[i]);
    for (uint32_t i = 0; i < job->view_count; i++)
        free(job->views[i].target), free(job->views[i].mask);
    free(job->views);
    for (uint32_t t = 0; t < job->term_count; t++)
        free((double *)(uintptr_t)job->terms[t].level_weights);
    free(job->schedule);
    free(job->parameters);
    free(job->defines);
    free(job->text);
    free(job->scene);
    free(job->silhouette);
    free(job->output);
    cJSON_Delete(job->json);
    *job = (fit_job){0};
}
