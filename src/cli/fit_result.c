/* SPDX-License-Identifier: BSD-3-Clause
 * What a fit leaves behind besides its log and report: NAME.npy, result.json (documented in
 * README.md; fields are only ever added), the table on standard output. */
#include "fit_work.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS_PRINTED = 24 };

/* ---- result.json ---- */

static void add_errors(const fit_parameter *p, cJSON *json)
{
    double absolute = 0, relative = 0, square = 0, first_square = 0;
    for (uint32_t i = 0; i < p->parameter.info.count; i++) {
        double error = fabs((double)p->now[i] - (double)p->truth[i]);
        absolute = fmax(absolute, error);
        square += error * error / p->parameter.info.count;
        first_square += pow((double)p->initial[i] - (double)p->truth[i], 2) / p->parameter.info.count;
        relative = fmax(relative, error / fmax(fabs((double)p->truth[i]), 1e-3));
    }
    cJSON_AddNumberToObject(json, "largest_error", absolute);
    cJSON_AddNumberToObject(json, "largest_relative_error", relative);
    cJSON_AddNumberToObject(json, "rms_error", sqrt(square));
    cJSON_AddNumberToObject(json, "first_rms_error", sqrt(first_square));
}

static cJSON *parameter_json(const fit_work *w, const fit_parameter *p)
{
    const bl_parameter_info *info = &p->parameter.info;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", info->name);
    cJSON_AddItemToObject(json, "shape", json_shape(info));
    if (info->count <= ENTRIES_IN_CSV) {
        cJSON_AddItemToObject(json, "initial", json_floats(p->initial, info->count));
        cJSON_AddItemToObject(json, "final", json_floats(p->now, info->count));
        if (w->truth_known)
            cJSON_AddItemToObject(json, "true", json_floats(p->truth, info->count));
    }
    if (w->truth_known)
        add_errors(p, json);
    return json;
}

static void add_parameters(const fit_work *w, cJSON *json)
{
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

static cJSON *result_json(const fit_work *w)
{
    bl_loss_info loss = bl_loss_info_get(w->job.loss);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", BL_VERSION_TEXT);
    cJSON_AddStringToObject(json, "job", w->args->job);
    cJSON_AddStringToObject(json, "scene", w->job.scene);
    cJSON_AddStringToObject(json, "device", w->session->device_info.name);
    cJSON_AddStringToObject(json, "driver", w->session->device_info.driver);
    cJSON_AddBoolToObject(json, "complete", w->status.step == w->steps);
    cJSON_AddNumberToObject(json, "steps", w->status.step);
    cJSON_AddNumberToObject(json, "stages", w->job.stage_count);
    cJSON_AddNumberToObject(json, "resumed", (double)w->note.resumed);
    cJSON_AddNumberToObject(json, "views", w->job.view_count - w->job.held_out_count);
    cJSON_AddNumberToObject(json, "batch", w->job.batch);
    cJSON_AddStringToObject(json, "loss_kind", loss.name);
    cJSON_AddBoolToObject(json, "unbiased", loss.unbiased && w->status.form != BL_FORM_ONE_IMAGE);
    cJSON_AddStringToObject(json, "form", bl_gradient_form_name(w->status.form));
    cJSON_AddStringToObject(json, "pixels", bl_pixels_name(w->job.pixels));
    cJSON_AddStringToObject(json, "volume_gradient", bl_volume_gradient_name(w->status.volume_gradient));
    cJSON_AddStringToObject(json, "optimizer", bl_optimizer_name(w->job.optimizer));
    cJSON_AddNumberToObject(json, "spp", w->spp);
    cJSON_AddNumberToObject(json, "spp_grad", w->spp_grad);
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
    add_held_out(w, json);
    add_parameters(w, json);
    return json;
}

/* ---- standard output ---- */

/* The truth, and the error: relative to it, but where it is about 0 as it is. */
static void print_error(double found, double truth)
{
    if (fabs(truth) < 1e-3)
        printf(" %10.4f %10.2g", truth, found - truth);
    else
        printf(" %10.4f %9.2f%%", truth, 100 * (found - truth) / fabs(truth));
}

static void print_table(const fit_work *w)
{
    uint32_t rows = 0;
    printf("%-36s %10s %10s", "parameter", "initial", "fitted");
    printf(w->truth_known ? " %10s %10s\n" : "\n", "true", "error");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_parameter *p = &w->parameters[k];
        for (uint32_t i = 0; i < p->parameter.info.count && rows < ROWS_PRINTED; i++, rows++) {
            char name[200];
            snprintf(name, sizeof name, p->parameter.info.count == 1 ? "%.190s" : "%.190s[%u]",
                     p->parameter.info.name, i);
            printf("%-36s %10.4f %10.4f", name, (double)p->initial[i], (double)p->now[i]);
            if (w->truth_known)
                print_error((double)p->now[i], (double)p->truth[i]);
            printf("\n");
        }
    }
    if (rows == ROWS_PRINTED)
        printf("(further entries: %s/NAME.npy)\n", w->folder);
    printf("loss %.4g -> %.4g in %u steps, %s\n", w->note.first_loss, w->status.loss, w->status.step,
           duration_text(w->note.seconds));
    if (w->status.loss < 0)
        printf("(below 0 by noise: in two walks the loss is an unbiased estimate from two halves of the "
               "samples)\n");
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
    cJSON *json = result_json(w);
    char *path = text_format("%s/result.json", w->folder);
    int status = save_json(path, json);
    if (status == CLI_OK && w->args->common.json)
        print_json(json);
    free(path);
    cJSON_Delete(json);
    if (status == CLI_OK && !w->args->common.json)
        print_table(w);
    return status;
}
