/* SPDX-License-Identifier: BSD-3-Clause
 * backlight grad: reverse mode. For every parameter DIR/NAME.npy (float32, the parameter's shape) and, for
 * two dimensions or more, DIR/NAME.png; DIR/summary.json last, so that its presence means that the rest is
 * complete. With --variance also DIR/NAME.variance.npy, with --each DIR/NAME.gradients.npy (grad_variance.c).
 * With --forward: the derivative of the image instead (grad_forward.c). */
#include "cli.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    cli_common common;
    const char *scene, *output, *adjoint, *target, *loss, *form, *pixels;
    cli_names parameters, forward, tangents;
    uint32_t variance; /* gradients to take; 0: one */
    bool each;         /* all of them are written, too */
} arguments;

typedef struct work {
    cli_session *session;
    arguments *args;
    cli_parameter *parameters;
    float *weights; /* adjoint or target */
    bl_job *job;
    bl_loss loss;
    bl_stats stats;       /* counts and times of all repetitions together, their mean loss */
    cli_moments *moments; /* per parameter */
    double *seconds;      /* per repetition: of the device */
    uint32_t repetitions;
    uint32_t spp, spp_grad;
    double start;
} work;

static int check_forward_usage(const arguments *args)
{
    if (args->parameters.count > 0 || args->adjoint || args->target || args->loss || args->pixels ||
        args->variance || args->each)
        return usage_error("grad", "--forward does not go with --param, --adjoint, --target, --loss, "
                                   "--pixels, --variance and --each");
    if (args->tangents.count > 0 && args->tangents.count != args->forward.count)
        return usage_error("grad", "%u --tangent for %u --forward: give one for each, in order, or none",
                           args->tangents.count, args->forward.count);
    return args->output ? CLI_OK : usage_error("grad", "-o DIR is missing");
}

static int check_usage(const arguments *args)
{
    if (args->tangents.count > 0 && args->forward.count == 0)
        return usage_error("grad", "--tangent needs --forward");
    if (args->forward.count > 0)
        return check_forward_usage(args);
    if (args->parameters.count == 0)
        return usage_error("grad", "--param NAME is missing");
    if (!args->output)
        return usage_error("grad", "-o DIR is missing");
    if (!args->adjoint == !args->target)
        return usage_error("grad",
                           "give either --adjoint (the derivative of the loss by the image) or --target");
    if (args->loss && args->adjoint)
        return usage_error("grad", "--loss needs --target");
    if (args->variance == 1)
        return usage_error("grad", "--variance needs 2 gradients or more");
    if (args->each && !args->variance)
        return usage_error("grad", "--each needs --variance N: it writes the N gradients");
    return CLI_OK;
}

/* ---- the gradient ---- */

static bl_gradient_form gradient_form(const char *name)
{
    int form = BL_FORM_AUTO;
    while (name && strcmp(name, bl_gradient_form_name(form)))
        form++;
    return form;
}

static bl_pixels pixels_of(const char *name)
{
    int pixels = BL_PIXELS_UNIFORM;
    while (name && strcmp(name, bl_pixels_name(pixels)))
        pixels++;
    return pixels;
}

/* Counts and times of one more gradient; its loss joins the mean of `before`. */
static void add_stats(bl_stats *all, const bl_stats *one, uint32_t before)
{
    double loss = all->loss + (one->loss - all->loss) / (before + 1);
    bl_stats sum = *one;
    sum.seconds += all->seconds, sum.device_seconds += all->device_seconds;
    sum.paths += all->paths, sum.slices += all->slices, sum.repeats += all->repeats;
    sum.drifted += all->drifted, sum.overflowed += all->overflowed;
    sum.underflowed += all->underflowed, sum.non_finite += all->non_finite;
    sum.cut += all->cut;
    for (int k = 0; k < BL_SINGULAR_DEPTHS; k++)
        sum.singular[k] += all->singular[k];
    sum.loss = loss;
    *all = sum;
}

static int collect(work *w)
{
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        double *values = memory_or_exit(w->moments[k].values * sizeof *values);
        bl_result result = session_read_gradient(w->session, w->job, k, w->moments[k].values, values);
        if (result == BL_OK)
            moments_add(&w->moments[k], values);
        free(values);
        SESSION_TRY(w->session, result);
    }
    return CLI_OK;
}

/* One gradient, of seed --seed + repetition. */
static int compute(work *w, uint32_t repetition)
{
    uint64_t paths = (uint64_t)w->session->info.width * w->session->info.height * w->spp_grad;
    cli_progress progress = progress_begin(&w->args->common, "gradient", paths);
    bl_stats stats;
    bl_gradient_desc desc = {
        .form = gradient_form(w->args->form),
        .spp = w->spp_grad,
        .spp_primal = w->spp,
        .seed = w->args->common.seed + repetition,
        .progress = progress_call,
        .user = &progress,
    };
    desc.loss = w->loss;
    if (w->args->target)
        desc.target = w->weights;
    else
        desc.adjoint = w->weights;
    interrupt_may_end(true);
    bl_result result = bl_job_gradient(w->job, &desc, &stats);
    interrupt_may_end(false);
    progress_end(&progress);
    SESSION_TRY(w->session, result);
    w->seconds[repetition] = stats.device_seconds;
    add_stats(&w->stats, &stats, repetition);
    return collect(w);
}

/* Rounds, where they are not doubles to keep. */
static int save_numbers(const work *w, const char *path, const double *values, const uint32_t *shape,
                        uint32_t rank)
{
    if (session_doubles(w->session))
        return save_npy_doubles(path, values, shape, rank);
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= shape[i];
    float *rounded = memory_or_exit(count * sizeof *rounded);
    for (size_t i = 0; i < count; i++)
        rounded[i] = (float)values[i];
    int status = save_npy(path, rounded, shape, rank);
    free(rounded);
    return status;
}

/* DIR/NAME.SUFFIX.npy; with `each` the gradients of all seeds, N in front of the parameter's shape. */
static int save_array(const work *w, const bl_parameter_info *info, const char *suffix, const double *values,
                      bool each)
{
    uint32_t shape[1 + sizeof info->shape / sizeof *info->shape] = {w->repetitions};
    memcpy(shape + 1, info->shape, info->rank * sizeof *shape);
    char *path = text_format("%s/%s%s.npy", w->args->output, info->name, suffix);
    int status = save_numbers(w, path, values, each ? shape : shape + 1, info->rank + each);
    free(path);
    return status;
}

static int save_one(const work *w, uint32_t k)
{
    const bl_parameter_info *info = &w->parameters[k].info;
    double *variance = memory_or_exit(info->count * sizeof *variance);
    float *shown = memory_or_exit(info->count * sizeof *shown);
    char *picture = text_format("%s/%s.png", w->args->output, info->name);
    for (uint32_t i = 0; i < info->count; i++)
        shown[i] = (float)w->moments[k].mean[i];
    int status = save_array(w, info, "", w->moments[k].mean, false);
    if (status == CLI_OK && info->rank >= 2)
        status = save_gradient_png(w->session, picture, info, shown);
    if (status == CLI_OK && w->args->variance) {
        moments_variance(&w->moments[k], variance);
        status = save_array(w, info, ".variance", variance, false);
    }
    if (status == CLI_OK && w->args->each)
        status = save_array(w, info, ".gradients", w->moments[k].each, true);
    free(picture);
    free(variance);
    free(shown);
    return status;
}

/* ---- summary.json: documented in README.md; fields are only ever added ---- */

static double drift(const bl_stats *stats)
{
    return stats->paths ? (double)stats->drifted / (double)stats->paths : 0;
}

static void add_variances(cJSON *json, const work *w)
{
    cJSON *parameters = cJSON_GetObjectItem(json, "parameters"), *time = cJSON_GetObjectItem(json, "time");
    for (uint32_t k = 0; k < w->args->parameters.count; k++)
        grad_add_variance(cJSON_GetArrayItem(parameters, (int)k), &w->moments[k]);
    cJSON_AddItemToObject(time, "repetitions", cJSON_CreateDoubleArray(w->seconds, (int)w->repetitions));
}

static cJSON *summary(const work *w)
{
    cJSON *json = cJSON_CreateObject();
    json_add_origin(json, w->session, w->args->scene);
    cJSON_AddStringToObject(json, "ray_backend", bl_job_rays(w->job));
    cJSON_AddStringToObject(json, "precision", session_doubles(w->session) ? "double" : "single");
    cJSON_AddStringToObject(json, "mode", "reverse");
    cJSON_AddStringToObject(json, "loss_kind", w->args->target ? bl_loss_info_get(w->loss).name : "adjoint");
    cJSON_AddNumberToObject(json, "loss", w->stats.loss);
    cJSON_AddStringToObject(json, "form", bl_gradient_form_name(w->stats.form));
    cJSON_AddStringToObject(json, "pixels", bl_pixels_name(pixels_of(w->args->pixels)));
    cJSON_AddStringToObject(json, "volume_gradient", bl_volume_gradient_name(bl_job_volume_gradient(w->job)));
    cJSON_AddStringToObject(json, "sampling", bl_job_sampling(w->job));
    cJSON_AddStringToObject(json, "sampler", w->session->info.sampler);
    cJSON_AddNumberToObject(json, "drift", drift(&w->stats));
    cJSON_AddNumberToObject(json, "drifted_samples", (double)w->stats.drifted);
    cJSON_AddNumberToObject(json, "overflow", (double)w->stats.overflowed);
    cJSON_AddNumberToObject(json, "underflow", (double)w->stats.underflowed);
    cJSON_AddNumberToObject(json, "non_finite", (double)w->stats.non_finite);
    cJSON_AddNumberToObject(json, "cut", (double)w->stats.cut);
    grad_add_singular(json, &w->stats);
    cJSON_AddNumberToObject(json, "repeats", w->stats.repeats);
    cJSON_AddNumberToObject(json, "paths", (double)w->stats.paths);
    cJSON_AddNumberToObject(json, "slices", (double)w->stats.slices);
    cJSON_AddNumberToObject(json, "spp", w->spp);
    cJSON_AddNumberToObject(json, "spp_grad", w->spp_grad);
    cJSON *seeds = cJSON_AddArrayToObject(json, "seeds");
    for (uint32_t r = 0; r < w->repetitions; r++)
        cJSON_AddItemToArray(seeds, cJSON_CreateNumber(w->args->common.seed + r));
    grad_add_effort(json, w->session, &w->stats, w->start);
    grad_add_parameters(json, w->parameters, w->args->parameters.count);
    if (w->args->variance)
        add_variances(json, w);
    return json;
}

static int report(const work *w)
{
    const cli_common *common = &w->args->common;
    if (drift(&w->stats) > 1e-3)
        note(common, "warning: %.3g %% of the samples were replayed along another path",
             100 * drift(&w->stats));
    if (w->stats.overflowed)
        note(common, "warning: %llu contributions left the range of the gradient",
             (unsigned long long)w->stats.overflowed);
    note_dropped(common, &w->stats);
    grad_note_singular(common, &w->stats);
    cJSON *json = summary(w);
    char *path = text_format("%s/summary.json", w->args->output);
    int status = save_json(path, json);
    if (status == CLI_OK && common->json)
        print_json(json);
    if (status == CLI_OK)
        note(common, "loss %.6g, %u gradient%s in %s (%s)", w->stats.loss, w->args->parameters.count,
             w->args->parameters.count == 1 ? "" : "s", w->args->output, duration_text(w->stats.seconds));
    free(path);
    cJSON_Delete(json);
    return status;
}

/* ---- the order of things: input, output folder, device ---- */

static int prepare(work *w)
{
    arguments *args = w->args;
    CLI_TRY(session_open(w->session, &args->common, args->scene));
    CLI_TRY(session_expand_names(w->session, &args->parameters));
    w->parameters = memory_or_exit(args->parameters.count * sizeof *w->parameters);
    CLI_TRY(
        session_find_parameters(w->session, args->parameters.items, args->parameters.count, w->parameters));
    session_warn_incomplete(w->session, w->parameters, args->parameters.count);
    CLI_TRY(session_read_pixels(w->session, args->target ? args->target : args->adjoint, &w->weights));
    w->repetitions = args->variance ? args->variance : 1;
    w->seconds = memory_or_exit(w->repetitions * sizeof *w->seconds);
    w->moments = memory_or_exit(args->parameters.count * sizeof *w->moments);
    for (uint32_t k = 0; k < args->parameters.count; k++)
        moments_begin(&w->moments[k], w->parameters[k].info.count, args->each ? w->repetitions : 0);
    if (args->loss)
        find_loss(args->loss, &w->loss); /* the options allow no other name */
    CLI_TRY(session_open_device(w->session));
    CLI_TRY(make_folder(args->output)); /* not before: a run without a device leaves nothing behind */
    w->spp = bl_scene_spp(w->session->scene, args->common.spp);
    w->spp_grad = args->common.spp_grad ? bl_scene_spp(w->session->scene, args->common.spp_grad) : w->spp;
    bl_job_desc desc = {
        .parameters = args->parameters.items,
        .parameter_count = args->parameters.count,
        .pixels = pixels_of(args->pixels),
    };
    CLI_TRY(session_create_job(w->session, desc, &w->job));
    return CLI_OK;
}

static int gradients(work *w)
{
    CLI_TRY(prepare(w));
    interrupt_install();
    for (uint32_t r = 0; r < w->repetitions; r++)
        CLI_TRY(compute(w, r));
    for (uint32_t k = 0; k < w->args->parameters.count; k++)
        CLI_TRY(save_one(w, k));
    return report(w);
}

static int run(void *argument)
{
    CLI_TRY(check_usage(argument));
    arguments *args = argument;
    if (!args->common.sampler)
        args->common.sampler = "auto";
    if (args->forward.count > 0)
        return grad_forward(
            &(cli_forward){&args->common, args->scene, args->output, &args->forward, &args->tangents});
    cli_session session = {0};
    work w = {.session = &session, .args = argument, .start = seconds_now()};
    int status = gradients(&w);
    bl_job_destroy(w.job);
    for (uint32_t k = 0; w.moments && k < args->parameters.count; k++)
        moments_end(&w.moments[k]);
    free(w.moments);
    free(w.seconds);
    free(w.weights);
    free(w.parameters);
    session_close(&session);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = FIELD(scene),
     .help = "a scene of Mitsuba 3 (XML) or in glTF 2.0 (.gltf, .glb)", .required = true},
    {.name = "--param", .kind = CLI_NAMES, .value = "NAME", .offset = FIELD(parameters),
     .help = "parameters, or patterns of names ('*.reflectance.*'); repeatable"},
    {.name = "--adjoint", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(adjoint),
     .help = "weights W, an image or .npy: gradient of sum(W * image)"},
    {.name = "--target", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(target),
     .help = "an image or .npy: gradient of the loss against it"},
    {.name = "--loss", .kind = CLI_TEXT, .value = "NAME", .offset = FIELD(loss),
     .help = "of the image against the target: l2 (squared error, the default), l1, relative_l2, huber; "
             "means over all values",
     .choices = "l2|l1|relative_l2|huber"},
    {.name = "--form", .kind = CLI_TEXT, .value = "NAME", .offset = FIELD(form),
     .help = "how samples are walked: auto (the default, the fastest that is right), fused, separate, "
             "two-walk, or one-image, for samples without noise",
     .choices = "auto|fused|separate|two-walk|one-image"},
    {.name = "--pixels", .kind = CLI_TEXT, .value = "WHICH", .offset = FIELD(pixels),
     .help = "where the samples of the gradient are: uniform (the default), or adjoint, as many in all but "
             "in proportion to |dL/dI|, for losses that depend on few pixels",
     .choices = "uniform|adjoint"},
    {.name = "--variance", .kind = CLI_COUNT, .value = "N", .offset = FIELD(variance),
     .help = "take N whole gradients, of seeds from --seed on: their mean, and the variance of one of them "
             "in NAME.variance.npy and summary.json ('--variance 16')"},
    {.name = "--each", .kind = CLI_FLAG, .offset = FIELD(each),
     .help = "with --variance: all N gradients, too, in NAME.gradients.npy"},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "DIR", .offset = FIELD(output),
     .help = "folder for NAME.npy, NAME.png and summary.json"},
    {.name = "--forward", .kind = CLI_NAMES, .value = "NAME[=V]", .offset = FIELD(forward),
     .help = "instead: derivative of the image by this parameter, whose entries all move by V (1); of "
             "several: along all at once"},
    {.name = "--tangent", .kind = CLI_NAMES, .value = "FILE", .offset = FIELD(tangents),
     .help = "for each --forward an .npy file of its shape: how its entries move"},
    {.name = "--guide", .kind = CLI_COUNT, .value = "N", .offset = FIELD(common.guide),
     .help = "learn from N samples per pixel where light comes from, and sample by that, too: for light that "
             "few paths find ('--guide 64')"},
    {.name = "--wavefront", .kind = CLI_TEXT, .value = "HOW", .offset = FIELD(common.wavefront),
     .help = "walks as many kernels, for comparison: cut by vertex, or by material",
     .choices = "vertex|target"},
    {.name = "--precision", .kind = CLI_TEXT, .value = "HOW", .offset = FIELD(common.precision),
     .help = "single (the default), or double, for references; .npy are then float64",
     .choices = "single|double"},
};
// clang-format on
const cli_command command_grad = {
    .name = "grad",
    .summary = "the gradient of a loss with respect to parameters of a scene, or the image's derivative",
    .usage = "SCENE (--param NAME... (--adjoint FILE | --target FILE) | --forward NAME...) -o DIR",
    .example = "backlight grad assets/cornell/scene.xml --param "
               "red.reflectance.value --target photo.exr -o gradients",
    CLI_OPTIONS(options),
    .groups = CLI_ALL,
    .arguments_size = sizeof(arguments),
    .run = run};
