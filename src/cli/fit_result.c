/* SPDX-License-Identifier: BSD-3-Clause
 * What a fit leaves behind besides its log and report: NAME.npy, result.json (documented in
 * README.md; fields are only ever added), the table on standard output. */
#include "fit_work.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_PRINTED = 40 };

/* ---- result.json ---- */

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
    cJSON_AddNumberToObject(json, "rms_error", fit_rms_error(p, p->now));
    cJSON_AddNumberToObject(json, "first_rms_error", fit_rms_error(p, p->initial));
}

/* The rows of the table, as terminal and report show them. */
static cJSON *rows_json(const fit_work *w, const fit_parameter *p)
{
    fit_row rows[FIT_ROWS_MOST];
    const uint32_t count = fit_rows(w, p, rows);
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; i < count; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", rows[i].name);
        cJSON_AddNumberToObject(row, "initial", rows[i].initial);
        cJSON_AddNumberToObject(row, "fitted", rows[i].fitted);
        if (rows[i].true_known) {
            cJSON_AddNumberToObject(row, "true", rows[i].truth);
            cJSON_AddNumberToObject(row, fit_row_relative(&rows[i]) ? "relative_error" : "error",
                                    fit_row_error(&rows[i]));
        }
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

static cJSON *parameter_json(const fit_work *w, uint32_t k)
{
    const fit_parameter *p = &w->parameters[k];
    const bl_parameter_info *info = &p->parameter.info;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", info->name);
    cJSON_AddItemToObject(json, "shape", json_shape(info));
    cJSON_AddNumberToObject(json, "rate", fit_rate(w, k));
    if (w->job.average_auto)
        cJSON_AddNumberToObject(json, "settled", fit_settled(w, k));
    if (info->count <= ENTRIES_IN_CSV) {
        cJSON_AddItemToObject(json, "initial", json_floats(p->initial, info->count));
        cJSON_AddItemToObject(json, "final", json_floats(p->now, info->count));
        if (w->truth_known)
            cJSON_AddItemToObject(json, "true", json_floats(p->truth, info->count));
    }
    if (w->truth_known)
        add_errors(p, json);
    cJSON_AddItemToObject(json, "rows", rows_json(w, p));
    return json;
}

static void add_parameters(const fit_work *w, cJSON *json)
{
    cJSON *list = cJSON_AddArrayToObject(json, "parameters"),
          *incomplete = cJSON_AddArrayToObject(json, "incomplete");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const bl_parameter_info *info = &w->parameters[k].parameter.info;
        cJSON_AddItemToArray(list, parameter_json(w, k));
        if (!info->reason)
            continue;
        char *reason = text_format("%s: %s", info->name, info->reason);
        cJSON_AddItemToArray(incomplete, cJSON_CreateString(reason));
        free(reason);
    }
}

static void add_held_out(const fit_work *w, cJSON *json)
{
    if (!w->job.held_out_count)
        return;
    cJSON *held_out = cJSON_AddObjectToObject(json, "held_out"), *list;
    cJSON_AddNumberToObject(held_out, "psnr", w->held_out.psnr);
    cJSON_AddNumberToObject(held_out, "ssim", w->held_out.ssim);
    cJSON_AddNumberToObject(held_out, "views", w->job.held_out_count);
    list = cJSON_AddArrayToObject(held_out, "per_view");
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        if (!w->job.views[v].held_out)
            continue;
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "view", v);
        cJSON_AddNumberToObject(one, "psnr", w->qualities[v].psnr);
        cJSON_AddNumberToObject(one, "ssim", w->qualities[v].ssim);
        cJSON_AddItemToArray(list, one);
    }
}

static void add_quality(cJSON *json, const char *name, const fit_quality *q)
{
    cJSON *one = cJSON_AddObjectToObject(json, name);
    cJSON_AddNumberToObject(one, "rmse", q->rmse);
    cJSON_AddNumberToObject(one, "psnr", q->psnr);
    cJSON_AddNumberToObject(one, "ssim", q->ssim);
}

static void add_evaluation(const fit_work *w, cJSON *json)
{
    cJSON *evaluation = cJSON_AddObjectToObject(json, "evaluation");
    cJSON_AddNumberToObject(evaluation, "views", w->last_quality.views);
    add_quality(evaluation, "before", &w->first_quality);
    add_quality(evaluation, "after", &w->last_quality);
}

static void add_optimizer(const fit_work *w, cJSON *json)
{
    char *text = fit_optimizer_text(w);
    cJSON_AddStringToObject(json, "optimizer", bl_optimizer_name(w->job.optimizer));
    cJSON_AddStringToObject(json, "optimizer_text", text);
    free(text);
}

static cJSON *result_json(const fit_work *w, int *status)
{
    char *loss = fit_loss_text(w);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", BL_VERSION_TEXT);
    cJSON_AddStringToObject(json, "job", w->args->job);
    work_folder_add_job(&w->place, json);
    cJSON_AddStringToObject(json, "folder", w->folder);
    cJSON_AddStringToObject(json, "scene", w->job.scene);
    cJSON_AddStringToObject(json, "light_mode", w->session->info.mode);
    cJSON_AddStringToObject(json, "device", w->session->device_info.name);
    cJSON_AddStringToObject(json, "driver", w->session->device_info.driver);
    cJSON_AddBoolToObject(json, "complete", fit_complete(w));
    if (w->stopped)
        cJSON_AddStringToObject(json, "stopped", w->stopped);
    cJSON_AddNumberToObject(json, "steps", w->status.step);
    cJSON_AddNumberToObject(json, "stages", w->job.stage_count);
    cJSON_AddNumberToObject(json, "resumed", (double)w->note.resumed);
    cJSON_AddNumberToObject(json, "views", w->job.view_count - w->job.held_out_count);
    cJSON_AddNumberToObject(json, "batch", w->job.batch);
    cJSON_AddStringToObject(json, "loss_kind", loss);
    free(loss);
    cJSON_AddBoolToObject(json, "unbiased", fit_loss_unbiased(w));
    cJSON_AddStringToObject(json, "form", bl_gradient_form_name(w->status.form));
    cJSON_AddStringToObject(json, "pixels", bl_pixels_name(w->job.pixels));
    cJSON_AddStringToObject(json, "volume_gradient", bl_volume_gradient_name(w->status.volume_gradient));
    cJSON_AddStringToObject(json, "sampling", bl_fit_sampling(w->fit));
    cJSON_AddStringToObject(json, "sampler", w->session->info.sampler);
    add_optimizer(w, json);
    cJSON_AddNumberToObject(json, "spp", w->spp);
    cJSON_AddNumberToObject(json, "spp_grad", w->spp_grad);
    cJSON_AddNumberToObject(json, "average", fit_average_steps(w));
    cJSON_AddBoolToObject(json, "average_auto", w->job.average_auto);
    cJSON_AddNumberToObject(json, "wanted_noise", w->job.wanted_noise);
    cJSON_AddBoolToObject(json, "recursive_images", w->job.recursive_images);
    cJSON_AddNumberToObject(json, "samples", (double)(w->note.samples + w->status.samples));
    cJSON_AddNumberToObject(json, "seed", w->seed);
    cJSON_AddNumberToObject(json, "first_loss", w->note.first_loss);
    cJSON_AddNumberToObject(json, "last_loss", w->status.loss);
    cJSON_AddNumberToObject(json, "drifted_samples", (double)w->note.drifted);
    cJSON_AddNumberToObject(json, "overflow", (double)w->note.overflowed);
    cJSON_AddNumberToObject(json, "non_finite", (double)w->note.non_finite);
    cJSON_AddNumberToObject(json, "cut", (double)w->note.cut);
    cJSON_AddNumberToObject(json, "skipped_updates", (double)(w->note.skipped + w->status.skipped));
    cJSON_AddNumberToObject(json, "repeats", w->note.repeats + w->status.repeats);
    cJSON_AddNumberToObject(json, "seconds", w->note.seconds);
    cJSON_AddNumberToObject(json, "steps_per_second",
                            w->note.seconds > 0 ? w->status.step / w->note.seconds : 0);
    cJSON_AddNumberToObject(json, "host_peak_bytes", (double)host_peak_bytes());
    cJSON_AddNumberToObject(json, "device_bytes", (double)w->status.device_bytes);
    add_evaluation(w, json);
    add_held_out(w, json);
    add_parameters(w, json);
    fit_target_noise_add(w, json);
    fit_terms_add(w, json);
    *status = fit_noise_add(w, json);
    return json;
}

/* ---- standard output ---- */

static void print_row(const fit_work *w, const fit_row *row, int width)
{
    char error[32];
    printf("%-*s %10.4g %10.4g", width, row->name, row->initial, row->fitted);
    if (w->truth_known && row->true_known)
        printf(" %10.4g %10s", row->truth, fit_row_error_text(row, error));
    printf("\n");
}

static void print_values(const fit_work *w)
{
    fit_row rows[FIT_ROWS_MOST];
    uint32_t printed = 0;
    int width = 20;
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const uint32_t count = fit_rows(w, &w->parameters[k], rows);
        for (uint32_t i = 0; i < count; i++)
            width = (int)strlen(rows[i].name) > width ? (int)strlen(rows[i].name) : width;
    }
    printf("%-*s %10s %10s", width, "parameter", "initial", "fitted");
    printf(w->truth_known ? " %10s %10s\n" : "\n", "true", "error");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const uint32_t count = fit_rows(w, &w->parameters[k], rows);
        for (uint32_t i = 0; i < count && printed < ROWS_PRINTED; i++, printed++)
            print_row(w, &rows[i], width);
    }
    if (printed == ROWS_PRINTED)
        printf("(further values: %s/NAME.npy)\n", w->folder);
}

static void print_terms(const fit_work *w)
{
    for (uint32_t t = 0; t < fit_term_count(w); t++) {
        char *name = fit_term_text(w, t);
        printf("    %s: %.3g -> %.3g\n", name, w->first_terms[t], w->last_terms[t]);
        free(name);
    }
}

static void print_table(const fit_work *w)
{
    const fit_quality *first = &w->first_quality, *last = &w->last_quality;
    if (w->incomplete)
        printf("incomplete gradients: %s\n", w->incomplete);
    printf("RMSE %.3g -> %.3g, PSNR %.1f -> %.1f dB against the target, of pictures rendered for this\n",
           first->rmse, last->rmse, first->psnr, last->psnr);
    print_values(w);
    char *loss = fit_loss_text(w);
    printf("loss (%s) %.3g -> %.3g in %u steps, %s\n", loss, w->note.first_loss, w->status.loss,
           w->status.step, duration_text(w->note.seconds));
    free(loss);
    print_terms(w);
    if (w->stopped)
        printf("stopped after step %u of %u: %s\n", w->status.step, w->steps, w->stopped);
    char *rates = fit_rates_text(w);
    if (rates)
        printf("rates %s\n", rates);
    free(rates);
    char *average = fit_average_text(w);
    if (average)
        printf("values: %s\n", average);
    free(average);
    if (fit_loss_note(w))
        printf("(%s)\n", fit_loss_note(w));
    if (fit_target_noise_note(w))
        printf("warning: %s\n", fit_target_noise_note(w));
    if (w->job.held_out_count)
        printf("held out: PSNR %.2f dB, SSIM %.4f, means over %u view%s\n", w->held_out.psnr,
               w->held_out.ssim, w->job.held_out_count, w->job.held_out_count == 1 ? "" : "s");
    printf("report: %s/report.html; pictures beside it\n", w->folder);
}

int fit_save_result(fit_work *w)
{
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        fit_parameter *p = &w->parameters[k];
        SESSION_TRY(w->session, bl_fit_get(w->fit, k, p->now));
        char *path = text_format("%s/%s.npy", w->folder, p->parameter.info.name);
        int status = save_npy(path, p->now, p->parameter.info.shape, p->parameter.info.rank);
        free(path);
        CLI_TRY(status);
    }
    CLI_TRY(fit_save_slices(w));
    CLI_TRY(fit_save_report(w));
    int status;
    cJSON *json = result_json(w, &status);
    char *path = text_format("%s/result.json", w->folder);
    if (status == CLI_OK)
        status = save_json(path, json);
    if (status == CLI_OK && w->args->common.json)
        print_json(json);
    free(path);
    cJSON_Delete(json);
    if (status == CLI_OK && !w->args->common.json)
        print_table(w);
    return status;
}
