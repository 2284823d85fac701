/* SPDX-License-Identifier: BSD-3-Clause
 * The part of a fit job that says what is minimised: a loss, or a weighted list of losses. */
#include "fit_job_parts.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *loss_name(uint32_t k) { return bl_loss_info_get((bl_loss)k).name; }

/* 4, or [1, 0.5, 0.25] */
static int read_levels(const json_place *at, const cJSON *json, bl_loss_term *term)
{
    const int count = cJSON_IsArray(json)    ? cJSON_GetArraySize(json)
                      : cJSON_IsNumber(json) ? json->valueint
                                             : 0;
    double sum = 0;
    if (!json)
        return CLI_OK;
    if (count < 1 || count > BL_LOSS_LEVELS_MOST || (cJSON_IsNumber(json) && json->valuedouble != count))
        return json_wrong(at, "levels", "must be a whole number from 1 to %d, or a list of as many weights",
                          BL_LOSS_LEVELS_MOST);
    term->levels = (uint32_t)count;
    if (!cJSON_IsArray(json))
        return CLI_OK;
    double *weights = memory_or_exit((size_t)count * sizeof *weights);
    term->level_weights = weights;
    for (const cJSON *one = json->child; one; one = one->next) {
        sum += *weights = one->valuedouble;
        if (!cJSON_IsNumber(one) || !(*weights >= 0 && *weights <= 3.4e38))
            return json_wrong(at, "levels", "weights must be numbers from 0 to 3.4e38");
        weights++;
    }
    return sum > 0 ? CLI_OK : json_wrong(at, "levels", "all weights are 0");
}

/* "l1", or {"type": "l1", "weight": 2, "levels": 4}. at: of the loss in front of a dot; field: its own name
 */
static int read_term(json_place at, const char *field, const cJSON *json, bl_loss_term *term)
{
    uint32_t kind;
    if (cJSON_IsString(json)) {
        CLI_TRY(json_find_name(&at, field, "loss", json->valuestring, loss_name, &kind));
        term->loss = (bl_loss)kind;
        return CLI_OK;
    }
    CLI_TRY(json_enter(&at, field, "a loss's name or an object with a type", json));
    CLI_TRY(json_read_type(&at, json, "loss", loss_name, &kind));
    term->loss = (bl_loss)kind;
    const char *constant = bl_loss_info_get(term->loss).constant_name;
    const json_key keys[] = {{"type", KEY_OTHER, 0, true},
                             {"weight", KEY_POSITIVE, offsetof(bl_loss_term, weight), false},
                             {"levels", KEY_OTHER, 0, false},
                             {constant, KEY_POSITIVE, offsetof(bl_loss_term, constant), false},
                             {0}};
    CLI_TRY(json_read_keys(&at, json, keys, term));
    return read_levels(&at, cJSON_GetObjectItemCaseSensitive(json, "levels"), term);
}

int job_read_loss(json_place at, const cJSON *json, fit_job *job)
{
    int status = CLI_OK;
    const bool list = cJSON_IsArray(json);
    job->term_count = 1;
    if (!json)
        return CLI_OK;
    if (!list)
        return read_term(at, "loss", json, &job->terms[0]);
    job->term_count = 0;
    if (cJSON_GetArraySize(json) < 1 || cJSON_GetArraySize(json) > BL_LOSS_TERMS_MOST)
        return json_wrong(&at, "loss", "must have 1 to %d terms", BL_LOSS_TERMS_MOST);
    for (const cJSON *one = json->child; one; one = one->next) {
        char field[16];
        snprintf(field, sizeof field, "loss[%u]", job->term_count);
        status |= read_term(at, field, one, &job->terms[job->term_count++]);
    }
    return status;
}

bool fit_job_composite(const fit_job *job)
{
    return job->term_count > 1 || job->terms[0].levels > 1 || job->terms[0].weight > 0;
}
