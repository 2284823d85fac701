/* SPDX-License-Identifier: BSD-3-Clause
 * backlight fit: optimises parameters of a scene until its images are like targets. Leaves in its folder
 *     fit.csv (while it runs), checkpoint (so too: what --resume goes on from), stage_N (where the job has
 *     stages: what N began with)
 *     held_out.csv (while it runs, where views are held out); noise.csv and samples.csv (so too,
 *     where the job asks)
 *     before, after, target .exr and .png; difference.png (after - target, blue-white-red, full colours at
 *     three times its RMS)
 *     step_N.png (a view after 1, 2, 4 .. steps)
 *     NAME.npy (final values), NAME_before, NAME_after, NAME_true .png (images, slices of grids),
 *     report.html, result.json (last)
 *     lock (work_folder.c)
 * With several views the pictures are called before_0, before_1 and so on; with a batch only some views have
 * them (fit_shown).
 *
 * A fit that was killed, however, and is then resumed ends in the same bytes (NAME.npy, fit.csv, pictures) as
 * one that was not. Ctrl-C finishes the step, writes the checkpoint and all the rest, and ends with status
 * 130 (143 after SIGTERM). */
#include "fit_work.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double checkpoint_seconds = 30; /* where the job does not count in steps */

/* ---- checkpoints ---- */

static int save_checkpoint(fit_work *w)
{
    CLI_TRY(work_log_sync(
        w->log, &w->note.log)); /* first: a checkpoint never knows of lines that are not on the disk */
    fit_note carried = w->note;
    carried.seconds += seconds_now() - w->start;
    char *path = text_format("%s/checkpoint", w->folder);
    bl_result result = bl_fit_save(w->fit, path, &carried, sizeof carried);
    free(path);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

static int read_note(fit_work *w, const char *path)
{
    void *carried;
    size_t size;
    SESSION_TRY(w->session, bl_fit_read_note(w->session->ctx, path, &carried, &size));
    bool fits = size == sizeof w->note;
    if (fits)
        memcpy(&w->note, carried, size);
    free(carried);
    if (!fits)
        return fail("the checkpoint %s was not written by this command", path);
    if (w->note.stage >= w->job.stage_count)
        return fail("the checkpoint %s is of stage %u; the job has %u, counted from 0", path, w->note.stage,
                    w->job.stage_count);
    return CLI_OK;
}

static int restore(fit_work *w, const char *path)
{
    CLI_TRY(read_note(w, path));
    if (w->note.stage > 0)
        CLI_TRY(fit_enter_stage(w, w->note.stage));
    SESSION_TRY(w->session, bl_fit_restore(w->fit, path, NULL, NULL));
    w->status = bl_fit_status_get(w->fit);
    w->first_step = w->status.step;
    w->note.resumed++;
    if (w->status.step > w->steps)
        return fail("the checkpoint %s is at step %u, beyond the %u steps of the job", path, w->status.step,
                    w->steps);
    CLI_TRY(fit_log_resume(w));
    note(&w->args->common, "going on after step %u", w->status.step);
    return CLI_OK;
}

/* Goes on from the checkpoint if one is wanted and exists; else begins at the start. */
static int begin(fit_work *w)
{
    char *path = text_format("%s/checkpoint", w->folder);
    bool resumes;
    int status = work_folder_resumes(&w->place, &resumes);
    if (status == CLI_OK)
        status = resumes ? restore(w, path) : fit_log_begin(w);
    free(path);
    CLI_TRY(status);
    CLI_TRY(fit_held_out_begin(w));
    CLI_TRY(fit_noise_begin(w));
    CLI_TRY(fit_samples_begin(w));
    CLI_TRY(fit_stop_begin(w));
    work_folder_remove_remains(&w->place);
    return CLI_OK;
}

/* ---- the loop ---- */

static void show_step(fit_work *w, double *last_shown)
{
    double now = seconds_now(), elapsed = now - w->start;
    bool last = w->status.step == w->steps;
    /* The first step compiles: it would make the others look slow. */
    uint32_t steps = w->status.step - w->first_step;
    if (steps == 1)
        w->first_seconds = elapsed;
    double rate = steps > 1 ? (steps - 1) / fmax(elapsed - w->first_seconds, 1e-9) : NAN;
    const char *left = duration_text((w->steps - w->status.step) / rate);
    char speed[32] = "?";
    if (steps > 1)
        snprintf(speed, sizeof speed, "%.1f", rate);
    if (progress_on_terminal(&w->args->common)) {
        if (now - *last_shown < .1 && !last)
            return;
        fprintf(stderr, "\rstep %u/%u  loss %.4g  %s steps/s  ETA %s \033[K%s", w->status.step, w->steps,
                w->status.loss, speed, left, last ? "\n" : "");
        *last_shown = now;
    } else if (last || w->status.step == 1 || w->status.step % ((w->steps + 9) / 10) == 0) {
        note(&w->args->common, "step %u/%u  loss %.4g  %s steps/s  ETA %s", w->status.step, w->steps,
             w->status.loss, speed, left);
    }
}

static void tell_step(const fit_work *w)
{
    cJSON *event = live_event(w->live, "step");
    if (event) {
        cJSON_AddNumberToObject(event, "step", w->status.step);
        cJSON_AddNumberToObject(event, "steps", w->steps);
        cJSON_AddNumberToObject(event, "loss", w->status.loss);
    }
    live_send(w->live, event);
}

static void tell_end(const fit_work *w, int status)
{
    cJSON *event = live_end(w->live, status);
    if (event && w->last_quality.views) {
        cJSON_AddNumberToObject(event, "rmse", w->last_quality.rmse);
        cJSON_AddNumberToObject(event, "psnr", w->last_quality.psnr);
        cJSON_AddStringToObject(event, "output", w->folder);
    }
    live_send(w->live, event);
}

/* The checkpoint before stays as it is. */
static int lost(const fit_work *w, const char *why)
{
    char *path = text_format("%s/checkpoint", w->folder);
    int status =
        access(path, F_OK) == 0
            ? fail("%s (%s is from before: --resume goes on from it)", why, path)
            : fail("%s (before the first checkpoint: \"checkpoint_steps\" makes them more often)", why);
    free(path);
    return status;
}

/* Once: an optimiser that leaves out part of a gradient, or an element, may go anywhere. */
static void warn_of_losses(fit_work *w)
{
    if (w->warned || !(w->status.overflowed || w->status.skipped))
        return;
    w->warned = true;
    note(&w->args->common,
         "warning: step %u leaves out %llu contributions to gradients and %llu updates that are too large "
         "or not finite: the fit may go astray",
         w->status.step, (unsigned long long)w->status.overflowed, (unsigned long long)w->status.skipped);
}

static int one_step(fit_work *w)
{
    interrupt_may_end(w->status.step == w->first_step); /* which compiles */
    const bl_result result = bl_fit_step(w->fit, &w->status);
    interrupt_may_end(false);
    if (result != BL_OK)
        return lost(w, bl_context_error(w->session->ctx));
    if (w->status.step == 1)
        w->note.first_loss = w->status.loss;
    if (!isfinite(w->status.loss)) {
        char *why = text_format("the loss of step %u is not finite: smaller rates may help", w->status.step);
        int status = lost(w, why);
        free(why);
        return status;
    }
    warn_of_losses(w);
    w->note.drifted += w->status.drifted;
    w->note.overflowed += w->status.overflowed;
    w->note.non_finite += w->status.non_finite;
    w->note.cut += w->status.cut;
    return fit_log_step(w);
}

static int optimise(fit_work *w)
{
    double shown = 0, saved = w->start = seconds_now();
    while (!fit_complete(w) && !interrupted()) {
        if (w->status.step == w->stage_end)
            CLI_TRY(fit_next_stage(w));
        CLI_TRY(one_step(w));
        show_step(w, &shown);
        tell_step(w);
        CLI_TRY(fit_noise_step(w));
        CLI_TRY(fit_samples_step(w));
        CLI_TRY(fit_held_out_step(w));
        CLI_TRY(fit_thumb_step(w));
        CLI_TRY(fit_stop_step(w));
        bool due = w->job.checkpoint_steps ? w->status.step % w->job.checkpoint_steps == 0
                                           : seconds_now() - saved > checkpoint_seconds;
        if (due && !fit_complete(w)) {
            CLI_TRY(save_checkpoint(w));
            saved = seconds_now();
        }
    }
    CLI_TRY(save_checkpoint(w));
    w->note.seconds += seconds_now() - w->start;
    if (w->status.step == w->steps)
        SESSION_TRY(w->session, bl_fit_settle(w->fit)); /* behind the checkpoint, from which steps go on */
    if (w->stopped)
        note(&w->args->common, "%sstopped after step %u of %u: %s",
             progress_on_terminal(&w->args->common) ? "\n" : "", w->status.step, w->steps, w->stopped);
    if (interrupted() && !w->stopped)
        note(&w->args->common,
             "%sinterrupted after step %u: writing what there is; --resume goes on from here",
             progress_on_terminal(&w->args->common) ? "\n" : "", w->status.step);
    return CLI_OK;
}

/* ---- the command ---- */

/* What the command line says wins over the job. */
static void merge_options(fit_work *w, cli_common *common)
{
    fit_job_merge(&w->job, common);
    w->spp = common->spp ? common->spp : w->job.spp ? w->job.spp : 16;
    w->spp_grad = common->spp_grad ? common->spp_grad : w->job.spp_grad ? w->job.spp_grad : w->spp;
    w->seed = common->seed_given ? common->seed : w->job.seed;
    w->steps = w->job.steps;
    w->folder = w->args->output ? w->args->output : w->job.output;
}

/* Nothing in the folder is written before a checkpoint that was asked for has turned out to be good. */
static int prepare(fit_work *w, cli_common *common)
{
    CLI_TRY(fit_job_read(w->args->job, &w->job));
    merge_options(w, common);
    if (!w->folder)
        return usage_error("fit", "-o DIR is missing (the job has no \"output\" either)");
    CLI_TRY(fit_check_paths(w));
    CLI_TRY(session_open(w->session, common, w->job.scene));
    CLI_TRY(fit_find_parameters(w));
    CLI_TRY(fit_check_views(w));
    CLI_TRY(session_open_device(w->session));
    CLI_TRY(make_folder(w->folder));
    w->place = (work_folder){common, w->folder, w->args->job, "fit", w->args->resume, w->args->force, -1};
    CLI_TRY(work_folder_lock(&w->place));
    CLI_TRY(work_folder_check(&w->place));
    interrupt_install();
    uint32_t views = w->job.view_count - w->job.held_out_count;
    note(common, "fitting %u parameters to %u view%s of %u x %u pixels on %s", w->job.parameter_count, views,
         views == 1 ? "" : "s", w->session->info.width, w->session->info.height,
         w->session->device_info.name);
    double start = seconds_now();
    CLI_TRY(fit_make_targets(w));
    w->target_seconds = seconds_now() - start;
    CLI_TRY(fit_first_stage(w));
    CLI_TRY(fit_render_before(w)); /* with initial values, so before they are restored */
    CLI_TRY(fit_measure(w, false, &w->first_quality));
    return begin(w);
}

static int fit(fit_work *w, cli_common *common)
{
    CLI_TRY(live_open_events(w->live, w->args->events, w->args->resume));
    CLI_TRY(live_open_tev(w->live, w->args->tev));
    CLI_TRY(prepare(w, common));
    CLI_TRY(fit_save_beginning(w));
    CLI_TRY(optimise(w));
    CLI_TRY(fit_render_after(w));
    CLI_TRY(fit_measure(w, true, &w->last_quality));
    fit_target_noise_end(w);
    CLI_TRY(fit_terms_end(w));
    CLI_TRY(fit_held_out_end(w));
    CLI_TRY(fit_save_result(w));
    return fit_complete(w) ? CLI_OK : CLI_FAILED;
}

static void free_work(fit_work *w)
{
    work_log_free(w->log);
    bl_fit_destroy(w->fit);
    work_folder_unlock(&w->place);
    fit_free_parameters(w);
    for (uint32_t v = 0; w->pictures && v < w->job.view_count; v++) {
        free(w->pictures[v].target);
        free(w->pictures[v].second);
        free(w->pictures[v].weights);
        free(w->pictures[v].before);
        free(w->pictures[v].after);
    }
    free(w->pictures);
    free(w->qualities);
    free(w->first_thumb);
    free(w->recent);
    free(w->stopped);
}

static int run(void *argument)
{
    fit_arguments *args = argument;
    cli_session session = {0};
    cli_live live = {.tev = -1};
    fit_work w = {.session = &session, .args = args, .place.lock = -1, .live = &live};
    int status = fit(&w, &args->common);
    tell_end(&w, status);
    live_close(&live);
    free_work(&w);
    session_close(&session);
    fit_job_free(&w.job);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(fit_arguments, name)
static const cli_option options[] = {
    {.name = "JOB.json", .kind = CLI_POSITIONAL, .offset = FIELD(job),
     .help = "scene, target or views, loss, parameters, optimizer, steps or stages "
             "(docs/fit-job.schema.json)", .required = true},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "DIR", .offset = FIELD(output),
     .help = "folder for report.html, pictures, fit.csv, checkpoint, result.json (default: the job's)"},
    CLI_LIVE_OPTIONS(FIELD(events), FIELD(tev)),
    {.name = "--resume", .kind = CLI_FLAG, .offset = FIELD(resume),
     .help = "go on from the checkpoint in DIR, if there is one; the end is the same bytes as without the "
             "interruption"},
    {.name = "--force", .kind = CLI_FLAG, .offset = FIELD(force),
     .help = "begin anew where DIR has the checkpoint of a fit that was not finished or the result of "
             "another job, and where another fit has locked it"},
};
// clang-format on
const cli_command command_fit = {
    .name = "fit",
    .summary = "optimise parameters until the image is like a target",
    .usage = "JOB.json -o DIR [--resume | --force]",
    .example = "backlight fit assets/demo/fit.json -o build/demo",
    CLI_OPTIONS(options),
    .groups = CLI_ALL,
    .arguments_size = sizeof(fit_arguments),
    .run = run,
};
