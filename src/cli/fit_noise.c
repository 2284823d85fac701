/* SPDX-License-Identifier: BSD-3-Clause
 * How noisy the gradients of a fit are, where its job asks ("variance_steps"): DIR/noise.csv has a row for
 * each look, with the step whose gradient was looked at and two numbers of each parameter, as bl_fit_noise
 * has them; result.json has the same numbers, report.html their ratio as a curve. */
#include "fit_work.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char table[] = "noise.csv";

/* step,NAME:variance,NAME:square,..; free() it */
static char *head_of(const fit_work *w)
{
    char *head = NULL;
    size_t size = 0;
    FILE *text = stream_or_exit(&head, &size);
    fprintf(text, "step");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        fit_csv_name(text, w->parameters[k].parameter.info.name, ":variance");
        fit_csv_name(text, w->parameters[k].parameter.info.name, ":square");
    }
    fprintf(text, "\n");
    end_or_exit(text);
    return head;
}

int fit_noise_begin(const fit_work *w)
{
    uint32_t last;
    if (!w->job.variance_steps)
        return CLI_OK;
    char *head = head_of(w);
    int status = fit_table_begin(w, table, head, w->first_step, &last);
    free(head);
    return status;
}

int fit_noise_step(const fit_work *w)
{
    bl_fit_noise noise = {0};
    if (w->job.variance_steps)
        SESSION_TRY(w->session, bl_fit_get_noise(w->fit, 0, &noise));
    if (noise.step != w->status.step)
        return CLI_OK;
    char *line = NULL;
    size_t size = 0;
    FILE *text = stream_or_exit(&line, &size);
    fprintf(text, "%u", noise.step);
    bl_result result = BL_OK;
    for (uint32_t k = 0; k < w->job.parameter_count && result == BL_OK; k++) {
        result = bl_fit_get_noise(w->fit, k, &noise);
        fprintf(text, ",%.9g,%.9g", noise.variance, noise.square);
    }
    fprintf(text, "\n");
    end_or_exit(text);
    int status = result == BL_OK ? fit_table_append(w, table, line) : session_fail(w->session, result);
    free(line);
    return status;
}

int fit_noise_read(const fit_work *w, uint32_t *row_count, double ***columns)
{
    const uint32_t count = 1 + 2 * w->job.parameter_count;
    *columns = memory_or_exit(count * sizeof **columns);
    int status = fit_table_read(w, table, count, row_count, *columns);
    if (status != CLI_OK)
        free(*columns);
    return status;
}

int fit_noise_add(const fit_work *w, cJSON *json)
{
    uint32_t rows;
    double **columns;
    if (!w->job.variance_steps)
        return CLI_OK;
    CLI_TRY(fit_noise_read(w, &rows, &columns));
    cJSON *noise = cJSON_AddObjectToObject(json, "noise");
    cJSON_AddItemToObject(noise, "steps", cJSON_CreateDoubleArray(columns[0], (int)rows));
    cJSON *list = cJSON_AddArrayToObject(noise, "parameters");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", w->parameters[k].parameter.info.name);
        cJSON_AddItemToObject(one, "variance", cJSON_CreateDoubleArray(columns[1 + 2 * k], (int)rows));
        cJSON_AddItemToObject(one, "square", cJSON_CreateDoubleArray(columns[2 + 2 * k], (int)rows));
        cJSON_AddItemToArray(list, one);
    }
    free(columns[0]);
    free(columns);
    return CLI_OK;
}
