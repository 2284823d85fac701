/* SPDX-License-Identifier: BSD-3-Clause
 * backlight params: every parameter of a scene: name, shape, range, differentiable or why not. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    cli_common common;
    const char *scene;
} arguments;

enum { VALUES_SHOWN = 64 }; /* in JSON; larger parameters have none */

static void add_bound(cJSON *json, const char *key, float bound)
{
    if (isfinite(bound))
        cJSON_AddNumberToObject(json, key, (double)bound);
    else
        cJSON_AddNullToObject(json, key);
}

static cJSON *parameter_json(const bl_parameter_info *info, const float *values)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", info->name);
    if (strcmp(info->path, info->name) != 0)
        cJSON_AddStringToObject(json, "path", info->path);
    cJSON_AddItemToObject(json, "shape", json_shape(info));
    add_bound(json, "least", info->least);
    add_bound(json, "most", info->most);
    cJSON_AddBoolToObject(json, "differentiable", info->differentiable);
    if (info->reason)
        cJSON_AddStringToObject(json, "reason", info->reason);
    if (info->count <= VALUES_SHOWN)
        cJSON_AddItemToObject(json, "value", json_floats(values, info->count));
    return json;
}

static void print_parameter(const bl_parameter_info *info, const float *values, int name_width)
{
    char shape[64] = "", value[80] = "";
    for (uint32_t i = 0; i < info->rank; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%u", i ? "x" : "", info->shape[i]);
    for (uint32_t i = 0; i < info->count && info->count <= 4; i++)
        snprintf(value + strlen(value), sizeof value - strlen(value), "%s%.4g", i ? " " : "",
                 (double)values[i]);
    char range[64];
    snprintf(range, sizeof range, "%g .. %g", (double)info->least, (double)info->most);
    const char *state = info->differentiable ? info->reason ? "incomplete: " : "yes" : "no: ";
    printf("%-*s  %-12s %-16s %-28s %s%s\n", name_width, info->name, shape, range, value, state,
           info->reason ? info->reason : "");
}

static int one(const cli_session *session, uint32_t index, int name_width, cJSON *list)
{
    bl_parameter_info info;
    SESSION_TRY(session, bl_scene_parameter_info(session->scene, index, &info));
    float *values = memory_or_exit(info.count * sizeof *values);
    bl_result result = bl_scene_get_parameter(session->scene, index, values);
    if (result == BL_OK && session->common->json)
        cJSON_AddItemToArray(list, parameter_json(&info, values));
    else if (result == BL_OK)
        print_parameter(&info, values, name_width);
    free(values);
    return result == BL_OK ? CLI_OK : session_fail(session, result);
}

static int widest_name(const cli_session *session, uint32_t count)
{
    int width = 4;
    for (uint32_t i = 0; i < count; i++) {
        bl_parameter_info info;
        if (bl_scene_parameter_info(session->scene, i, &info) == BL_OK && (int)strlen(info.name) > width)
            width = (int)strlen(info.name);
    }
    return width;
}

static int list_parameters(const cli_session *session)
{
    uint32_t count = bl_scene_parameter_count(session->scene);
    int width = widest_name(session, count), status = CLI_OK;
    cJSON *list = cJSON_CreateArray();
    if (!session->common->json)
        printf("%-*s  %-12s %-16s %-28s %s\n", width, "name", "shape", "range", "value", "differentiable");
    for (uint32_t i = 0; i < count && status == CLI_OK; i++)
        status = one(session, i, width, list);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "parameters", list);
    if (status == CLI_OK && session->common->json)
        print_json(json);
    cJSON_Delete(json);
    return status;
}

static int run(void *argument)
{
    const arguments *args = argument;
    cli_session session;
    int status = session_open(&session, &args->common, args->scene);
    if (status == CLI_OK)
        status = list_parameters(&session);
    session_close(&session);
    return status;
}

// clang-format off
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = offsetof(arguments, scene),
     .help = "a Mitsuba 3 scene (XML)", .required = true},
};
// clang-format on
const cli_command command_params = {
    .name = "params",
    .summary = "every parameter of a scene: name, shape, range, differentiable or why not",
    .usage = "SCENE",
    .example = "backlight params assets/cornell/scene.xml",
    CLI_OPTIONS(options),
    .arguments_size = sizeof(arguments),
    .run = run};
