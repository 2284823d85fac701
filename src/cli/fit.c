/* SPDX-License-Identifier: BSD-3-Clause
 * backlight fit: optimises parameters of a scene until its image is like a target. Leaves in its folder
 *     before, after, target .exr and .png; difference.png (after - target, blue-white-red, on the scale of before - target)
 *     fit.csv (step, loss, every entry of parameters with at most 64), NAME.npy (final values), result.json (last)
 * Ctrl-C finishes the step, writes the same files and ends with status 1. */
#include "cli.h"
#include "fit_job.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_IN_CSV = 64, ROWS_PRINTED = 24 };

typedef struct arguments {
    cli_common common;
    const char *job, *output;
} arguments;

typedef struct lines { /* the CSV so far; saved as a whole now and then */
    char *data;
    size_t size, capacity;
    double saved;
} lines;

typedef struct fit_parameter {
    cli_parameter parameter;
    float *truth, *initial, *now; /* truth: the scene's values, where the target was rendered from them */
} fit_parameter;

typedef struct work {
    cli_session *session;
    const arguments *args;
    fit_job job;
    const char *folder;
    fit_parameter *parameters;
    bl_fit *fit;
    float *target, *before, *after;
    lines csv;
    bl_fit_status status;
    double first_loss, start, seconds;
    uint64_t drifted, overflowed;
    uint32_t steps, spp, spp_grad, seed;
} work;

/* ---- input ---- */

static int parameter_values(work *w, uint32_t k)
{
    const fit_job_parameter *asked = &w->job.parameters[k];
    fit_parameter *p = &w->parameters[k];
    uint32_t count = p->parameter.info.count;
    p->truth = memory_or_exit(count * sizeof *p->truth);
    p->initial = memory_or_exit(count * sizeof *p->initial);
    p->now = memory_or_exit(count * sizeof *p->now);
    SESSION_TRY(w->session, bl_scene_get_parameter(w->session->scene, p->parameter.index, p->truth));
    if (asked->initial_count > 1 && asked->initial_count != count)
        return fail("%s: parameters[%u].initial: has %u numbers; %s has %u entries", w->args->job, k,
                    asked->initial_count, asked->name, count);
    for (uint32_t i = 0; i < count; i++) {
        p->initial[i] = asked->initial_count > 1    ? asked->initial[i]
                        : asked->initial_count == 1 ? asked->initial[0]
                                                    : p->truth[i];
        double v = (double)p->initial[i];
        if (asked->bounded && (v < asked->least || v > asked->most))
            return fail("%s: parameters[%u].initial: %g is outside the bounds [%g, %g]", w->args->job, k, v,
                        asked->least, asked->most);
    }
    memcpy(p->now, p->initial, count * sizeof *p->now);
    return CLI_OK;
}

static int find_parameters(work *w)
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
        status = parameter_values(w, k);
    }
    free(found);
    free(names);
    return status;
}

static int render_target(work *w)
{
    size_t n = session_values(w->session);
    w->target = memory_or_exit(n * sizeof *w->target);
    if (w->job.target) {
        free(w->target);
        return session_read_image(w->session, w->job.target, &w->target);
    }
    uint32_t spp = w->job.target_spp ? w->job.target_spp : w->session->info.spp;
    cli_progress progress = progress_begin(&w->args->common, "target", (uint64_t)n / 3 * spp);
    bl_job *job;
    CLI_TRY(session_create_job(w->session, (bl_job_desc){0}, &job));
    bl_render_desc desc = {
        .spp = spp, .seed = w->job.target_seed, .progress = progress_call, .user = &progress};
    bl_result result = bl_job_render(job, &desc, w->target, NULL);
    progress_end(&progress);
    int status = result == BL_OK ? CLI_OK : session_fail(w->session, result); /* before the job is gone */
    bl_job_destroy(job);
    return status;
}

static int create_fit(work *w)
{
    uint32_t count = w->job.parameter_count;
    bl_fit_parameter *list = memory_or_exit(count * sizeof *list);
    for (uint32_t k = 0; k < count; k++) {
        const fit_job_parameter *asked = &w->job.parameters[k];
        list[k] =
            (bl_fit_parameter){.name = asked->name, .rate = asked->rate, .initial = w->parameters[k].initial};
        if (asked->bounded) {
            list[k].least = asked->least;
            list[k].most = asked->most;
        }
    }
    bl_fit_desc desc = {.parameters = list,
                        .parameter_count = count,
                        .target = w->target,
                        .rate = w->job.rate,
                        .beta_1 = w->job.beta_1,
                        .beta_2 = w->job.beta_2,
                        .epsilon = w->job.epsilon,
                        .spp = w->spp,
                        .spp_gradient = w->spp_grad,
                        .seed = w->seed,
                        .no_baking = w->args->common.no_baking};
    bl_result result = bl_fit_create(w->session->device, w->session->scene, &desc, &w->fit);
    free(list);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

/* ---- pictures ---- */

static int save_picture(const work *w, const char *name, const float *image)
{
    static const char *const kinds[] = {"exr", "png"};
    for (int i = 0; i < 2; i++) {
        char *path = text_format("%s/%s.%s", w->folder, name, kinds[i]);
        bl_result result =
            bl_image_write(w->session->ctx, path, w->session->info.width, w->session->info.height, 3, image);
        free(path);
        SESSION_TRY(w->session, result);
    }
    return CLI_OK;
}

/* With a count that the target deserves: what is seen should be the parameters, not the noise. */
static int render_now(work *w, const char *name, float **image)
{
    uint32_t spp = w->job.target_spp ? w->job.target_spp : w->session->info.spp;
    *image = memory_or_exit(session_values(w->session) * sizeof **image);
    cli_progress progress =
        progress_begin(&w->args->common, name, (uint64_t)session_values(w->session) / 3 * spp);
    bl_render_desc desc = {.spp = spp, .seed = w->seed};
    if (!interrupted()) { /* after Ctrl-C the last picture is still wanted, and cannot be cancelled */
        desc.progress = progress_call;
        desc.user = &progress;
    }
    bl_result result = bl_fit_render(w->fit, 0, &desc, *image);
    progress_end(&progress);
    SESSION_TRY(w->session, result);
    return save_picture(w, name, *image);
}

static int save_difference(const work *w)
{
    size_t n = session_values(w->session);
    float *difference = memory_or_exit(n * sizeof *difference);
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        double was = (double)w->before[i] - (double)w->target[i];
        square += was * was / (double)n;
        difference[i] = w->after[i] - w->target[i];
    }
    char *path = text_format("%s/difference.png", w->folder);
    int status = save_signed_png(w->session, path, w->session->info.width, w->session->info.height, 3,
                                 difference, 2 * sqrt(square));
    free(path);
    free(difference);
    return status;
}

/* ---- the CSV ---- */

static void add_text(lines *l, const char *format, ...) CLI_PRINTF(2, 3);
static void add_text(lines *l, const char *format, ...)
{
    char piece[400];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    length = length < (int)sizeof piece ? length : (int)sizeof piece - 1;
    if (l->size + (size_t)length + 1 > l->capacity) {
        size_t capacity = 2 * l->capacity + 65536;
        char *grown = memory_or_exit(capacity);
        if (l->data)
            memcpy(grown, l->data, l->size);
        free(l->data);
        l->data = grown;
        l->capacity = capacity;
    }
    memcpy(l->data + l->size, piece, (size_t)length + 1);
    l->size += (size_t)length;
}

static void csv_head(work *w)
{
    add_text(&w->csv, "step,loss");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const bl_parameter_info *info = &w->parameters[k].parameter.info;
        for (uint32_t i = 0; i < info->count && info->count <= ENTRIES_IN_CSV; i++)
            add_text(&w->csv, info->count == 1 ? ",%s" : ",%s[%u]", info->name, i);
    }
    add_text(&w->csv, "\n");
}

/* A row holds the loss of a step and the values after it. */
static int csv_row(work *w)
{
    add_text(&w->csv, "%u,%.9g", w->status.step, w->status.loss);
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        fit_parameter *p = &w->parameters[k];
        if (p->parameter.info.count > ENTRIES_IN_CSV)
            continue;
        SESSION_TRY(w->session, bl_fit_get(w->fit, k, p->now));
        for (uint32_t i = 0; i < p->parameter.info.count; i++)
            add_text(&w->csv, ",%.9g", (double)p->now[i]);
    }
    add_text(&w->csv, "\n");
    return CLI_OK;
}

static int csv_save(work *w)
{
    char *path = text_format("%s/fit.csv", w->folder);
    int status = save_file(path, w->csv.data, w->csv.size);
    free(path);
    w->csv.saved = seconds_now();
    return status;
}

/* ---- the loop ---- */

static void show_step(const work *w, double *last_shown)
{
    double now = seconds_now(), elapsed = now - w->start;
    bool last = w->status.step == w->steps;
    double rate = w->status.step / fmax(elapsed, 1e-9);
    const char *left = duration_text((w->steps - w->status.step) / rate);
    if (progress_on_terminal(&w->args->common)) {
        if (now - *last_shown < .1 && !last)
            return;
        fprintf(stderr, "\rstep %u/%u  loss %.4g  %.1f steps/s  ETA %s \033[K%s", w->status.step, w->steps,
                w->status.loss, rate, left, last ? "\n" : "");
        *last_shown = now;
    } else if (last || w->status.step == 1 || w->status.step % ((w->steps + 9) / 10) == 0) {
        note(&w->args->common, "step %u/%u  loss %.4g  %.1f steps/s  ETA %s", w->status.step, w->steps,
             w->status.loss, rate, left);
    }
}

static int optimise(work *w)
{
    double shown = 0;
    csv_head(w);
    w->start = w->csv.saved = seconds_now();
    while (w->status.step < w->steps && !interrupted()) {
        SESSION_TRY(w->session, bl_fit_step(w->fit, &w->status));
        if (w->status.step == 1)
            w->first_loss = w->status.loss;
        if (!isfinite(w->status.loss))
            return fail("the loss of step %u is not finite", w->status.step);
        CLI_TRY(csv_row(w));
        show_step(w, &shown);
        if (seconds_now() - w->csv.saved > 2)
            CLI_TRY(csv_save(w));
    }
    w->seconds = seconds_now() - w->start;
    if (interrupted())
        note(&w->args->common, "%sinterrupted after step %u: writing what there is",
             progress_on_terminal(&w->args->common) ? "\n" : "", w->status.step);
    return csv_save(w);
}

/* ---- result.json, NAME.npy and the table ---- */

static void add_errors(const fit_parameter *p, cJSON *json)
{
    double absolute = 0, relative = 0;
    for (uint32_t i = 0; i < p->parameter.info.count; i++) {
        double error = fabs((double)p->now[i] - (double)p->truth[i]);
        absolute = fmax(absolute, error);
        relative = fmax(relative, error / fmax(fabs((double)p->truth[i]), 1e-3));
    }
    cJSON_AddNumberToObject(json, "largest_error", absolute);
    cJSON_AddNumberToObject(json, "largest_relative_error", relative);
}

static cJSON *parameter_json(const work *w, const fit_parameter *p)
{
    const bl_parameter_info *info = &p->parameter.info;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", info->name);
    cJSON_AddItemToObject(json, "shape", json_shape(info));
    if (info->count <= ENTRIES_IN_CSV) {
        cJSON_AddItemToObject(json, "initial", json_floats(p->initial, info->count));
        cJSON_AddItemToObject(json, "final", json_floats(p->now, info->count));
        if (w->job.render_target)
            cJSON_AddItemToObject(json, "true", json_floats(p->truth, info->count));
    }
    if (w->job.render_target)
        add_errors(p, json);
    return json;
}

static cJSON *result_json(const work *w)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", BL_VERSION_TEXT);
    cJSON_AddStringToObject(json, "job", w->args->job);
    cJSON_AddStringToObject(json, "scene", w->job.scene);
    cJSON_AddStringToObject(json, "device", w->session->device_info.name);
    cJSON_AddStringToObject(json, "driver", w->session->device_info.driver);
    cJSON_AddBoolToObject(json, "complete", w->status.step == w->steps);
    cJSON_AddNumberToObject(json, "steps", w->status.step);
    cJSON_AddNumberToObject(json, "spp", w->spp);
    cJSON_AddNumberToObject(json, "spp_grad", w->spp_grad);
    cJSON_AddNumberToObject(json, "seed", w->seed);
    cJSON_AddNumberToObject(json, "first_loss", w->first_loss);
    cJSON_AddNumberToObject(json, "last_loss", w->status.loss);
    cJSON_AddNumberToObject(json, "drifted_samples", (double)w->status.drifted);
    cJSON_AddNumberToObject(json, "overflow", (double)w->status.overflowed);
    cJSON_AddNumberToObject(json, "seconds", w->seconds);
    cJSON_AddNumberToObject(json, "steps_per_second", w->seconds > 0 ? w->status.step / w->seconds : 0);
    cJSON_AddNumberToObject(json, "host_peak_bytes", (double)host_peak_bytes());
    cJSON *list = cJSON_AddArrayToObject(json, "parameters"),
          *incomplete = cJSON_AddArrayToObject(json, "incomplete");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const bl_parameter_info *info = &w->parameters[k].parameter.info;
        cJSON_AddItemToArray(list, parameter_json(w, &w->parameters[k]));
        if (!info->reason)
            continue;
        char *reason = text_format("%s: %s", info->name, info->reason);
        cJSON_AddItemToArray(incomplete, cJSON_CreateString(reason));
        free(reason);
    }
    return json;
}

static void print_table(const work *w)
{
    bool truth = w->job.render_target;
    uint32_t rows = 0;
    printf("%-36s %10s %10s", "parameter", "initial", "fitted");
    printf(truth ? " %10s %10s\n" : "\n", "true", "error");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_parameter *p = &w->parameters[k];
        for (uint32_t i = 0; i < p->parameter.info.count && rows < ROWS_PRINTED; i++, rows++) {
            char name[200];
            snprintf(name, sizeof name, p->parameter.info.count == 1 ? "%.190s" : "%.190s[%u]",
                     p->parameter.info.name, i);
            printf("%-36s %10.4f %10.4f", name, (double)p->initial[i], (double)p->now[i]);
            double reference = (double)p->truth[i];
            if (truth)
                printf(" %10.4f %9.2f%%", reference,
                       100 * ((double)p->now[i] - reference) / fmax(fabs(reference), 1e-3));
            printf("\n");
        }
    }
    if (rows == ROWS_PRINTED)
        printf("(further entries: %s/NAME.npy)\n", w->folder);
    printf("loss %.4g -> %.4g in %u steps, %s\n", w->first_loss, w->status.loss, w->status.step,
           duration_text(w->seconds));
    printf("pictures: %s/before.png, after.png, target.png, difference.png\n", w->folder);
}

static int save_result(work *w)
{
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        fit_parameter *p = &w->parameters[k];
        SESSION_TRY(w->session, bl_fit_get(w->fit, k, p->now));
        char *path = text_format("%s/%s.npy", w->folder, p->parameter.info.name);
        int status = save_npy(path, p->now, p->parameter.info.shape, p->parameter.info.rank);
        free(path);
        CLI_TRY(status);
    }
    cJSON *json = result_json(w);
    char *path = text_format("%s/result.json", w->folder);
    int status = save_json(path, json);
    if (status == CLI_OK && w->args->common.json)
        print_json(json);
    free(path);
    cJSON_Delete(json);
    CLI_TRY(status);
    if (!w->args->common.json)
        print_table(w);
    return CLI_OK;
}

/* ---- the command ---- */

static bool has_define(const cli_names *defines, const char *key_value)
{
    size_t length = strcspn(key_value, "=") + 1;
    for (uint32_t i = 0; i < defines->count; i++)
        if (!strncmp(defines->items[i], key_value, length))
            return true;
    return false;
}

/* What the command line says wins over the job. */
static void merge_options(work *w, cli_common *common)
{
    cli_names *defines = &common->defines;
    const char **items = memory_or_exit((defines->count + w->job.define_count) * sizeof *items);
    uint32_t count = 0;
    for (; count < defines->count; count++)
        items[count] = defines->items[count];
    for (uint32_t i = 0; i < w->job.define_count; i++)
        if (!has_define(defines, w->job.defines[i]))
            items[count++] = w->job.defines[i];
    free(defines->items);
    *defines = (cli_names){.items = items, .count = count};
    w->spp = common->spp ? common->spp : w->job.spp ? w->job.spp : 16;
    w->spp_grad = common->spp_grad ? common->spp_grad : w->job.spp_grad ? w->job.spp_grad : w->spp;
    w->seed = common->seed ? common->seed : w->job.seed;
    w->steps = w->job.steps;
    w->folder = w->args->output ? w->args->output : w->job.output;
}

static int prepare(work *w, cli_common *common)
{
    CLI_TRY(fit_job_read(w->args->job, &w->job));
    merge_options(w, common);
    if (!w->folder)
        return usage_error("fit", "-o DIR is missing (the job has no \"output\" either)");
    CLI_TRY(session_open(w->session, common, w->job.scene));
    CLI_TRY(find_parameters(w));
    CLI_TRY(session_open_device(w->session));
    CLI_TRY(make_folder(w->folder));
    interrupt_install();
    note(common, "fitting %u parameters to %u x %u pixels on %s", w->job.parameter_count,
         w->session->info.width, w->session->info.height, w->session->device_info.name);
    CLI_TRY(render_target(w));
    CLI_TRY(save_picture(w, "target", w->target));
    return create_fit(w);
}

static int fit(work *w, cli_common *common)
{
    CLI_TRY(prepare(w, common));
    CLI_TRY(render_now(w, "before", &w->before));
    CLI_TRY(optimise(w));
    CLI_TRY(render_now(w, "after", &w->after));
    CLI_TRY(save_difference(w));
    CLI_TRY(save_result(w));
    return w->status.step == w->steps ? CLI_OK : CLI_FAILED;
}

static int run(void *argument)
{
    arguments *args = argument;
    cli_session session = {0};
    work w = {.session = &session, .args = args};
    int status = fit(&w, &args->common);
    bl_fit_destroy(w.fit);
    for (uint32_t k = 0; w.parameters && k < w.job.parameter_count; k++) {
        free(w.parameters[k].truth);
        free(w.parameters[k].initial);
        free(w.parameters[k].now);
    }
    free(w.parameters);
    free(w.target);
    free(w.before);
    free(w.after);
    free(w.csv.data);
    session_close(&session);
    fit_job_free(&w.job);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "JOB.json", .kind = CLI_POSITIONAL, .offset = FIELD(job), .help = "scene, target, parameters, optimizer, steps (docs/fit-job.schema.json)", .required = true},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "DIR", .offset = FIELD(output), .help = "folder for pictures, fit.csv and result.json (default: the job's)"},
};
// clang-format on
const cli_command command_fit = {.name = "fit",
                                 .summary = "optimise parameters until the image is like a target",
                                 .usage = "JOB.json -o DIR",
                                 .example = "backlight fit assets/demo/fit.json -o build/demo",
                                 CLI_OPTIONS(options),
                                 .arguments_size = sizeof(arguments),
                                 .run = run};
