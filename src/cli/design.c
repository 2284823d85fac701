/* SPDX-License-Identifier: BSD-3-Clause
 * backlight design: a slab of glass whose caustic is a picture. Leaves in its folder
 *     start.png target.png level_N.png (N: the level's pixels), light_traced .exr .png, verified .exr .png
 *     now.png (while it runs), heights.npy heights.png (millimetres above the thinnest place; black to white)
 *     checkpoint level_N.npy (what --resume goes on from: design_checkpoint.c), lock (work_folder.c)
 *     slab.obj slab.stl (millimetres), verify.xml, design.csv, result.json (last)
 *
 * Every level fits the heights of its grid to the target in its size, by light tracing that is differentiated
 * by the heights (docs/theory/light_tracing.md) and large steps. It begins with the heights of the level
 * before. A design that was killed, however, and is then resumed ends in the same heights as one that was
 * not. At the end the solid itself, as it stands in slab.obj, is rendered by path tracing from the
 * receiver. */
#include "design.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double now_seconds = 10;        /* between pictures of now */
static const double checkpoint_seconds = 30; /* where the job does not count in steps */

typedef struct arguments {
    cli_common common;
    const char *job, *output, *events, *tev;
    bool resume, force;
} arguments;

typedef struct work {
    cli_session *session;
    cli_live live;
    const arguments *args;
    const char *folder;
    work_folder place; /* the folder as what one process works in */
    design_job job;
    design_picture target;  /* as in its file */
    design_picture goal;    /* of the present level */
    design_heights heights; /* of the present level */
    bl_fit *fit;
    design_note note;
    bool resumes;                         /* from the checkpoint, until its level has begun */
    double start, shown, pictured, saved; /* start: of the first step, later by all interruptions */
    double cost_done, cost_all;           /* step_cost of steps */
    double light_traced, verified, verify_seconds;
    uint32_t verify_spp;
    work_log *csv;
} work;

static char *in_folder(const work *w, const char *name) { return text_format("%s/%s", w->folder, name); }

/* Saves p as NAME.png and, where `exr`, NAME.exr. The target's brightest pixel is white. */
static int save_picture(work *w, const char *name, const design_picture *p, bool exr)
{
    double most = 0;
    for (size_t i = 0; i < design_count(&w->goal); i++)
        most = fmax(most, (double)w->goal.values[i]);
    char *png = text_format("%s/%s.png", w->folder, name),
         *linear = text_format("%s/%s.exr", w->folder, name);
    int status = design_picture_save(w->session, png, p, most);
    bl_result r = BL_OK;
    if (status == CLI_OK && exr)
        r = bl_image_write(w->session->ctx, linear, p->width, p->height, p->channels, p->values);
    free(png), free(linear);
    SESSION_TRY(w->session, r);
    return status;
}

/* ---- scenes ---- */

static void close_scene(work *w)
{
    bl_fit_destroy(w->fit);
    bl_scene_destroy(w->session->scene);
    w->fit = NULL, w->session->scene = NULL;
}

/* Loads the text as the session's scene. Light is grey where nothing colours it. */
static int open_scene(work *w, const char *text)
{
    const bl_scene_desc desc = {.mode = w->job.abbe > 0 ? "spectral" : w->job.slide ? "rgb" : "mono"};
    close_scene(w);
    bl_result r = bl_scene_load_string(w->session->ctx, text, w->folder, &desc, &w->session->scene);
    SESSION_TRY(w->session, r);
    SESSION_TRY(w->session, bl_scene_info_get(w->session->scene, &w->session->info));
    return CLI_OK;
}

/* doing: what the progress bar says. out->values: free() them. */
static int render_scene(work *w, const char *doing, uint32_t spp, design_picture *out)
{
    bl_job *job;
    *out = (design_picture){w->session->info.width, w->session->info.height, w->goal.channels, NULL};
    CLI_TRY(session_create_job(w->session, (bl_job_desc){0}, &job));
    out->values = memory_or_exit(design_count(out) * sizeof *out->values);
    const uint64_t paths = (uint64_t)out->width * out->height * spp;
    cli_progress bar = progress_begin(&w->args->common, doing, paths);
    const bl_render_desc d = {.spp = spp, .seed = w->job.seed, .progress = progress_call, .user = &bar};
    bl_result r = bl_job_render(job, &d, out->values, NULL);
    progress_end(&bar);
    bl_job_destroy(job);
    if (r != BL_OK)
        free(out->values);
    SESSION_TRY(w->session, r);
    return CLI_OK;
}

/* ---- levels ---- */

static size_t height_count(const design_heights *h) { return (size_t)h->columns * h->rows; }

static double lowest(const design_heights *h)
{
    double least = INFINITY;
    for (size_t i = 0; i < height_count(h); i++)
        least = fmin(least, (double)h->values[i]);
    return least;
}

static double highest(const design_heights *h)
{
    double most = -INFINITY;
    for (size_t i = 0; i < height_count(h); i++)
        most = fmax(most, (double)h->values[i]);
    return most;
}

/* The heights of the level before on the level's grid; 0 at first. */
static void refine_heights(work *w)
{
    const uint32_t columns = w->goal.width + 1, rows = w->goal.height + 1;
    design_heights next = {columns, rows, NULL};
    if (w->heights.values)
        next = design_heights_resampled(&w->heights, columns, rows);
    else
        next.values = memory_or_exit((size_t)columns * rows * sizeof(float));
    free(w->heights.values);
    w->heights = next;
}

static int begin_fit(work *w, const design_level *level, uint32_t number)
{
    const bl_fit_parameter relief = {
        .name = "relief.heights", .initial = w->heights.values, .large_steps = level->smoothness};
    const bl_fit_desc desc = {.parameters = &relief,
                              .parameter_count = 1,
                              .target = w->goal.values,
                              .rate = level->rate,
                              .beta_2 = 0.99,
                              .spp = level->spp,
                              .seed = w->job.seed + number,
                              .rays = w->session->rays};
    SESSION_TRY(w->session, bl_fit_create(w->session->device, w->session->scene, &desc, &w->fit));
    return CLI_OK;
}

/* At first the light behind the flat slab is measured: the target gets as much. */
static int measure_light(work *w)
{
    design_picture flat;
    CLI_TRY(render_scene(w, "measuring the light", 64, &flat));
    design_means(&flat, w->note.light);
    double all = 0;
    for (uint32_t c = 0; c < flat.channels; c++)
        all += w->note.light[c];
    int status =
        all > 0 ? CLI_OK : fail("no light arrives: is the slab below the light, and does it face it?");
    if (status == CLI_OK) {
        design_rescale(&w->goal, w->note.light);
        status = save_picture(w, "start", &flat, false);
    }
    free(flat.values);
    return status;
}

/* The heights that the level before the checkpoint's ended with. */
static int read_heights(work *w)
{
    if (w->note.level == 0)
        return CLI_OK;
    design_picture before =
        design_resized(&w->target, w->job.levels[w->note.level - 1].picture, w->note.light);
    w->heights = (design_heights){before.width + 1, before.height + 1, NULL};
    free(before.values);
    return design_kept_heights(w->folder, &w->job, &w->note, &w->heights);
}

static int open_level(work *w, uint32_t number)
{
    const design_level *level = &w->job.levels[number];
    w->note.level = number;
    CLI_TRY(w->resumes ? read_heights(w) : design_keep_heights(w->folder, &w->job, &w->heights, &w->note));
    free(w->goal.values);
    static const double one[DESIGN_CHANNELS_MOST] = {1, 1, 1};
    w->goal = design_resized(&w->target, level->picture, number ? w->note.light : one);
    refine_heights(w);
    char *text = design_scene(&w->job, &w->goal, lowest(&w->heights));
    int status = open_scene(w, text);
    free(text);
    CLI_TRY(status);
    if (number == 0)
        CLI_TRY(measure_light(w));
    return begin_fit(w, level, number);
}

/* The picture of the present heights. */
static int render_now(work *w, uint32_t spp, design_picture *out)
{
    *out = (design_picture){w->goal.width, w->goal.height, w->goal.channels,
                            memory_or_exit(design_count(&w->goal) * sizeof(float))};
    const bl_render_desc d = {.spp = spp, .seed = w->job.seed};
    bl_result r = bl_fit_render(w->fit, 0, &d, out->values);
    if (r != BL_OK)
        free(out->values);
    SESSION_TRY(w->session, r);
    return CLI_OK;
}

static int picture_now(work *w)
{
    design_picture now;
    if (seconds_now() - w->pictured < now_seconds)
        return CLI_OK;
    CLI_TRY(render_now(w, 64, &now));
    int status = save_picture(w, "now", &now, false);
    live_image(&w->live, w->session, "now", now.values);
    free(now.values);
    w->pictured = seconds_now();
    return status;
}

/* Of a step, in samples; of a square target, which is as good where costs are compared. */
static double step_cost(const design_level *level)
{
    return (double)level->picture * level->picture * level->spp;
}

static int tell_step(work *w, const design_level *level, const bl_fit_status *status)
{
    const double elapsed = seconds_now() - w->start;
    cJSON *event = live_event(&w->live, "step");
    if (event) {
        cJSON_AddNumberToObject(event, "picture", level->picture);
        cJSON_AddNumberToObject(event, "step", status->step);
        cJSON_AddNumberToObject(event, "steps", level->steps);
        cJSON_AddNumberToObject(event, "loss", status->loss);
    }
    live_send(&w->live, event);
    char line[100];
    const int length =
        snprintf(line, sizeof line, "%u,%u,%.6g,%.3f\n", level->picture, status->step, status->loss, elapsed);
    CLI_TRY(work_log_add(w->csv, line, (size_t)length));
    if (!progress_on_terminal(&w->args->common) || seconds_now() - w->shown < 0.1)
        return CLI_OK;
    w->shown = seconds_now();
    fprintf(stderr, "\r%u x %u  step %u/%u  loss %.4g  ETA %s \033[K", w->goal.width, w->goal.height,
            status->step, level->steps, status->loss,
            duration_text(elapsed * (w->cost_all / w->cost_done - 1)));
    return CLI_OK;
}

static int end_level(work *w, uint32_t number, double loss)
{
    const design_level *level = &w->job.levels[number];
    design_picture now;
    char name[32];
    snprintf(name, sizeof name, "level_%u", level->picture);
    SESSION_TRY(w->session, bl_fit_get(w->fit, 0, w->heights.values));
    CLI_TRY(render_now(w, w->job.light == DESIGN_AREA ? 256 * DESIGN_AREA_PATHS : 256, &now));
    const double correlation = design_correlation(&now, &w->goal);
    w->light_traced = correlation;
    w->note.levels[number] = (design_result){correlation, loss, seconds_now() - w->start};
    int status = save_picture(w, name, &now, false);
    if (status == CLI_OK && number + 1 == w->job.level_count)
        status = save_picture(w, "light_traced", &now, true);
    free(now.values);
    note(&w->args->common, "%s%u x %u: loss %.4g, correlation %.4f after %s",
         progress_on_terminal(&w->args->common) ? "\r\033[K" : "", w->goal.width, w->goal.height, loss,
         correlation, duration_text(w->note.levels[number].seconds));
    return status;
}

static int save_checkpoint(work *w)
{
    CLI_TRY(work_log_sync(w->csv, &w->note.log)); /* first: a checkpoint knows of no lines that may be lost */
    w->saved = seconds_now();
    w->note.seconds = w->saved - w->start;
    char *path = in_folder(w, "checkpoint");
    bl_result r = bl_fit_save(w->fit, path, &w->note, sizeof w->note);
    free(path);
    SESSION_TRY(w->session, r);
    return CLI_OK;
}

/* Goes on where the checkpoint is, in the level that has begun. */
static int restore(work *w, const design_level *level, bl_fit_status *status)
{
    char *path = in_folder(w, "checkpoint");
    bl_result r = bl_fit_restore(w->fit, path, NULL, NULL);
    free(path);
    SESSION_TRY(w->session, r);
    *status = bl_fit_status_get(w->fit);
    if (status->step > level->steps)
        return fail("the checkpoint in %s is at step %u, beyond the %u of its level", w->folder, status->step,
                    level->steps);
    for (uint32_t k = 0; k < w->note.level; k++)
        w->cost_done += step_cost(&w->job.levels[k]) * w->job.levels[k].steps;
    w->cost_done += step_cost(level) * status->step;
    w->note.resumed++;
    w->resumes = false;
    note(&w->args->common, "going on with %u x %u after step %u", w->goal.width, w->goal.height,
         status->step);
    return CLI_OK;
}

static int one_step(work *w, const design_level *level, bool first, bl_fit_status *status)
{
    interrupt_may_end(first); /* which compiles */
    const bl_result r = bl_fit_step(w->fit, status);
    interrupt_may_end(false);
    SESSION_TRY(w->session, r);
    if (!isfinite(status->loss))
        return fail("the loss of step %u is not finite: a smaller \"rate\" may help", status->step);
    w->cost_done += step_cost(level);
    CLI_TRY(tell_step(w, level, status));
    return picture_now(w);
}

static int run_level(work *w, uint32_t number)
{
    const design_level *level = &w->job.levels[number];
    bl_fit_status status = {0};
    CLI_TRY(open_level(w, number));
    if (w->start == 0)
        w->saved = w->pictured = seconds_now(), w->start = w->saved - w->note.seconds;
    if (w->resumes)
        CLI_TRY(restore(w, level, &status));
    for (bool first = true; status.step < level->steps && !interrupted(); first = false) {
        CLI_TRY(one_step(w, level, first, &status));
        if (w->job.checkpoint_steps ? status.step % w->job.checkpoint_steps == 0
                                    : seconds_now() - w->saved > checkpoint_seconds)
            CLI_TRY(save_checkpoint(w));
    }
    CLI_TRY(save_checkpoint(w));
    return end_level(w, number, status.loss);
}

/* ---- results ---- */

static int save_heights(work *w)
{
    const double least = lowest(&w->heights);
    for (size_t i = 0; i < height_count(&w->heights); i++)
        w->heights.values[i] = (float)((double)w->heights.values[i] - least);
    char *npy = in_folder(w, "heights.npy"), *png = in_folder(w, "heights.png"),
         *obj = in_folder(w, "slab.obj"), *stl = in_folder(w, "slab.stl");
    const design_sides sides = design_sides_of(&w->job, &w->goal);
    const design_picture grey = {w->heights.columns, w->heights.rows, 1, w->heights.values};
    int status = save_npy(npy, w->heights.values, (const uint32_t[]){w->heights.rows, w->heights.columns}, 2);
    status = status ? status : design_picture_save(w->session, png, &grey, fmax(highest(&w->heights), 1e-9));
    status = status ? status : design_slab_save(obj, stl, &w->heights, sides, w->job.thickness);
    free(npy), free(png), free(obj), free(stl);
    return status;
}

/* The relief stands where the design had it: at z = distance where its heights were 0. */
static int verify(work *w, double deepest)
{
    const double begun = seconds_now();
    design_picture seen;
    char *text =
        design_verification(&w->job, &w->goal, "slab.obj", deepest,
                            design_steepest(&w->heights, design_sides_of(&w->job, &w->goal)), &w->verify_spp);
    if (w->job.verify_spp)
        w->verify_spp = w->job.verify_spp;
    char *path = in_folder(w, "verify.xml");
    int status = save_file(path, text, strlen(text));
    free(path);
    if (status == CLI_OK)
        status = open_scene(w, text);
    free(text);
    CLI_TRY(status);
    CLI_TRY(render_scene(w, "verifying", w->verify_spp, &seen));
    w->verified = design_correlation(&seen, &w->goal);
    w->verify_seconds = seconds_now() - begun;
    status = save_picture(w, "verified", &seen, true);
    free(seen.values);
    return status;
}

static cJSON *levels_json(const work *w)
{
    cJSON *list = cJSON_CreateArray();
    for (uint32_t k = 0; k < w->job.level_count; k++) {
        const design_level *level = &w->job.levels[k];
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "picture", level->picture);
        cJSON_AddNumberToObject(one, "steps", level->steps);
        cJSON_AddNumberToObject(one, "spp", level->spp);
        cJSON_AddNumberToObject(one, "rate", level->rate);
        cJSON_AddNumberToObject(one, "smoothness", level->smoothness);
        cJSON_AddNumberToObject(one, "loss", w->note.levels[k].loss);
        cJSON_AddNumberToObject(one, "correlation", w->note.levels[k].correlation);
        cJSON_AddNumberToObject(one, "seconds", w->note.levels[k].seconds);
        cJSON_AddItemToArray(list, one);
    }
    return list;
}

static int save_result(work *w)
{
    const design_sides sides = design_sides_of(&w->job, &w->goal);
    const double slope = design_steepest(&w->heights, sides), range = highest(&w->heights);
    cJSON *json = cJSON_CreateObject();
    json_add_origin(json, w->session, w->args->job);
    work_folder_add_job(&w->place, json);
    cJSON_AddBoolToObject(json, "complete", true);
    cJSON_AddNumberToObject(json, "resumed", w->note.resumed);
    cJSON_AddNumberToObject(json, "light_traced_correlation", w->light_traced);
    cJSON_AddNumberToObject(json, "verified_correlation", w->verified);
    cJSON_AddNumberToObject(json, "height_range_mm", range);
    cJSON_AddNumberToObject(json, "steepest_slope", slope);
    cJSON_AddNumberToObject(json, "width_mm", sides.width);
    cJSON_AddNumberToObject(json, "height_mm", sides.height);
    cJSON_AddNumberToObject(json, "thickest_mm", w->job.thickness + range);
    cJSON_AddNumberToObject(json, "seconds", w->note.levels[w->job.level_count - 1].seconds);
    cJSON_AddNumberToObject(json, "verify_spp", w->verify_spp);
    cJSON_AddNumberToObject(json, "verify_seconds", w->verify_seconds);
    cJSON_AddItemToObject(json, "levels", levels_json(w));
    char *path = in_folder(w, "result.json");
    int status = save_json(path, json);
    if (status == CLI_OK && w->args->common.json)
        print_json(json);
    free(path);
    cJSON_Delete(json);
    note(&w->args->common,
         "correlation %.4f by light tracing, %.4f by path tracing of slab.obj (%u samples per pixel, %s)\n"
         "relief %.3f mm high, steepest slope %.3f (%.1f degrees); slab %.4g x %.4g x %.4g mm in %s",
         w->light_traced, w->verified, w->verify_spp, duration_text(w->verify_seconds), range, slope,
         atan(slope) * 57.29577951308232, sides.width, sides.height, w->job.thickness + range, w->folder);
    return status;
}

/* ---- the command ---- */

/* Goes on from the checkpoint if one is wanted and exists; else begins at the start. */
static int begin(work *w)
{
    static const char head[] = "picture,step,loss,seconds\n";
    int status;
    CLI_TRY(work_folder_resumes(&w->place, &w->resumes));
    if (w->resumes) {
        CLI_TRY(design_note_read(w->session, w->folder, &w->job, &w->note));
        w->csv = work_log_resume(in_folder(w, "design.csv"), w->note.log, &status);
    } else {
        w->csv = work_log_begin(in_folder(w, "design.csv"), &status);
        if (status == CLI_OK)
            status = work_log_add(w->csv, head, sizeof head - 1);
    }
    CLI_TRY(status);
    work_folder_remove_remains(&w->place);
    return CLI_OK;
}

static int prepare(work *w)
{
    CLI_TRY(design_job_read(w->args->job, &w->job));
    w->folder = w->args->output ? w->args->output : w->job.output;
    if (!w->folder)
        return usage_error("design", "-o DIR is missing (the job has no \"output\" either)");
    if (w->args->common.seed_given)
        w->job.seed = w->args->common.seed;
    CLI_TRY(session_open(w->session, &w->args->common, NULL));
    CLI_TRY(design_target_read(w->session, &w->job, &w->target));
    CLI_TRY(session_open_device(w->session));
    CLI_TRY(make_folder(w->folder));
    w->place = (work_folder){&w->args->common, w->folder, w->args->job, "design", w->args->resume,
                             w->args->force,   -1};
    CLI_TRY(work_folder_lock(&w->place));
    CLI_TRY(work_folder_check(&w->place));
    interrupt_install();
    for (uint32_t k = 0; k < w->job.level_count; k++)
        w->cost_all += step_cost(&w->job.levels[k]) * w->job.levels[k].steps;
    return begin(w);
}

static int design(work *w)
{
    CLI_TRY(live_open_events(&w->live, w->args->events, w->args->resume));
    CLI_TRY(live_open_tev(&w->live, w->args->tev));
    CLI_TRY(prepare(w));
    note(&w->args->common, "designing a slab for %s (%u x %u pixels) on %s", w->job.target, w->target.width,
         w->target.height, w->session->device_info.name);
    for (uint32_t k = w->note.level; k < w->job.level_count && !interrupted(); k++)
        CLI_TRY(run_level(w, k));
    CLI_TRY(save_picture(w, "target", &w->goal, false));
    const double deepest = lowest(&w->heights);
    CLI_TRY(save_heights(w));
    if (interrupted()) {
        note(&w->args->common,
             "interrupted: the relief so far is in %s; nothing was verified; --resume goes on from here",
             w->folder);
        return CLI_FAILED;
    }
    CLI_TRY(verify(w, deepest));
    return save_result(w);
}

static int run(void *argument)
{
    const arguments *args = argument;
    cli_session session = {0};
    work w = {.session = &session, .args = args, .place.lock = -1, .live = {.tev = -1}};
    int status = design(&w);
    live_send(&w.live, live_end(&w.live, status));
    live_close(&w.live);
    work_log_free(w.csv);
    close_scene(&w);
    work_folder_unlock(&w.place);
    session_close(&session);
    free(w.heights.values);
    free(w.goal.values);
    free(w.target.values);
    design_job_free(&w.job);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "JOB.json", .kind = CLI_POSITIONAL, .offset = FIELD(job),
     .help = "target, slab, distance, light, resolutions, steps (docs/design-job.schema.json)",
     .required = true},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "DIR", .offset = FIELD(output),
     .help = "folder for slab.obj, slab.stl, heights.npy, pictures, result.json (default: the job's)"},
    CLI_LIVE_OPTIONS(FIELD(events), FIELD(tev)),
    {.name = "--resume", .kind = CLI_FLAG, .offset = FIELD(resume),
     .help = "go on from the checkpoint in DIR, if there is one; the heights are the same bytes as "
             "without the interruption"},
    {.name = "--force", .kind = CLI_FLAG, .offset = FIELD(force),
     .help = "begin anew where DIR has the checkpoint of a design that was not finished or the result of "
             "another job, and where another design has locked it"},
};
// clang-format on
const cli_command command_design = {
    .name = "design",
    .summary = "shape a slab of glass whose caustic is a picture",
    .usage = "JOB.json [-o DIR] [--resume | --force]",
    .example = "backlight design assets/leaf/design.json -o build/leaf",
    CLI_OPTIONS(options),
    .groups = CLI_DEVICE,
    .arguments_size = sizeof(arguments),
    .run = run,
};
