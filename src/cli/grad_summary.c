/* SPDX-License-Identifier: BSD-3-Clause
 * What the summary.json of both modes of `backlight grad` have in common (README.md; fields are only ever
 * added). */
#include "cli.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

void grad_add_parameters(cJSON *json, const cli_parameter *parameters, uint32_t count)
{
    cJSON *list = cJSON_AddArrayToObject(json, "parameters"),
          *incomplete = cJSON_AddArrayToObject(json, "incomplete");
    for (uint32_t k = 0; k < count; k++) {
        const bl_parameter_info *info = &parameters[k].info;
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", info->name);
        cJSON_AddItemToObject(one, "shape", json_shape(info));
        cJSON_AddItemToArray(list, one);
        if (!info->reason)
            continue;
        char *reason = text_format("%s: %s", info->name, info->reason);
        cJSON_AddItemToArray(incomplete, cJSON_CreateString(reason));
        free(reason);
    }
}

void grad_add_singular(cJSON *json, const bl_stats *stats)
{
    cJSON *depths = cJSON_AddArrayToObject(json, "singular");
    for (int k = 0; k < BL_SINGULAR_DEPTHS; k++)
        cJSON_AddItemToArray(depths, cJSON_CreateNumber((double)stats->singular[k]));
}

void grad_note_singular(const cli_common *common, const bl_stats *stats)
{
    uint64_t all = 0;
    for (int k = 0; k < BL_SINGULAR_DEPTHS; k++)
        all += stats->singular[k];
    if (all)
        note(common, "warning: the derivatives of %llu rays were not finite and were dropped",
             (unsigned long long)all);
}

void grad_add_effort(cJSON *json, const cli_session *session, const bl_stats *stats, double start)
{
    cJSON *time = cJSON_AddObjectToObject(json, "time"), *memory = cJSON_AddObjectToObject(json, "memory");
    cJSON_AddNumberToObject(time, "total_seconds", seconds_now() - start);
    cJSON_AddNumberToObject(time, "pass_seconds", stats->seconds);
    cJSON_AddNumberToObject(time, "device_seconds", stats->device_seconds);
    cJSON_AddNumberToObject(time, "compile_seconds", bl_device_stats_get(session->device).compile_seconds);
    cJSON_AddNumberToObject(memory, "device_bytes", (double)stats->device_bytes);
    cJSON_AddNumberToObject(memory, "host_peak_bytes", (double)host_peak_bytes());
}
