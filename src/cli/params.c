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

/* ---- the table ---- */

enum { SHAPE, RANGE, VALUE, GRADIENT, COLUMNS };
static const char *const heads[COLUMNS] = {"shape", "range", "value", "gradient"};

typedef struct line {
    const char *name;
    char cells[COLUMNS][64];
} line;

typedef struct table {
    line *lines;
    uint32_t count;
    const char **reasons; /* why gradients lack terms, or are not there: footnotes, from 1 on */
    uint32_t reason_count;
} table;

static void shape_cell(const bl_parameter_info *info, char *out, size_t size)
{
    for (uint32_t i = 0; i < info->rank; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%u", i ? "x" : "", info->shape[i]);
}

static void range_cell(const bl_parameter_info *info, char *out, size_t size)
{
    const bool below = isfinite(info->least), above = isfinite(info->most);
    if (below && above)
        snprintf(out, size, "%.4g to %.4g", (double)info->least, (double)info->most);
    else if (below || above)
        snprintf(out, size, "%s %.4g", below ? ">=" : "<=", (double)(below ? info->least : info->most));
    else
        snprintf(out, size, "any");
}

static uint32_t footnote(table *t, const char *reason)
{
    for (uint32_t k = 0; k < t->reason_count; k++)
        if (!strcmp(t->reasons[k], reason))
            return k + 1;
    t->reasons[t->reason_count++] = reason;
    return t->reason_count;
}

static void add_line(table *t, const bl_parameter_info *info, const float *values)
{
    line *l = &t->lines[t->count++];
    l->name = info->name;
    shape_cell(info, l->cells[SHAPE], sizeof l->cells[SHAPE]);
    range_cell(info, l->cells[RANGE], sizeof l->cells[RANGE]);
    char *value = l->cells[VALUE], *gradient = l->cells[GRADIENT];
    for (uint32_t i = 0; i < info->count && info->count <= 4; i++)
        snprintf(value + strlen(value), sizeof l->cells[VALUE] - strlen(value), "%s%.4g", i ? " " : "",
                 (double)values[i]);
    snprintf(gradient, sizeof l->cells[GRADIENT],
             !info->differentiable ? "no"
             : info->reason        ? "in part"
                                   : "yes");
    if (info->reason)
        snprintf(gradient + strlen(gradient), 16, " [%u]", footnote(t, info->reason));
}

/* Without values where the terminal is too narrow for them. */
static void print_table(const table *t)
{
    int name = 4, widths[COLUMNS], all = 0;
    for (int c = 0; c < COLUMNS; c++)
        widths[c] = (int)strlen(heads[c]);
    for (uint32_t i = 0; i < t->count; i++) {
        name = (int)strlen(t->lines[i].name) > name ? (int)strlen(t->lines[i].name) : name;
        for (int c = 0; c < COLUMNS; c++)
            if ((int)strlen(t->lines[i].cells[c]) > widths[c])
                widths[c] = (int)strlen(t->lines[i].cells[c]);
    }
    for (int c = 0; c < COLUMNS; c++)
        all += 2 + widths[c];
    const bool valued = name + all <= terminal_width();
    for (uint32_t i = 0; i <= t->count; i++) {
        printf("%-*s", name, i ? t->lines[i - 1].name : "name");
        for (int c = 0; c < COLUMNS; c++) {
            const char *cell = i ? t->lines[i - 1].cells[c] : heads[c];
            if (c != VALUE || valued)
                printf("  %-*s", c + 1 < COLUMNS ? widths[c] : 0, cell);
        }
        printf("\n");
    }
    for (uint32_t k = 0; k < t->reason_count; k++) {
        const int used = printf("%s[%u] ", k ? "" : "\n", k + 1) - !k;
        print_wrapped(used, used, t->reasons[k]);
        printf("\n");
    }
    if (!valued)
        printf("\nThis terminal is too narrow for values: --json has them.\n");
}

static int one(const cli_session *session, uint32_t index, table *t, cJSON *list)
{
    bl_parameter_info info;
    SESSION_TRY(session, bl_scene_parameter_info(session->scene, index, &info));
    float *values = memory_or_exit(info.count * sizeof *values);
    bl_result result = bl_scene_get_parameter(session->scene, index, values);
    if (result == BL_OK && session->common->json)
        cJSON_AddItemToArray(list, parameter_json(&info, values));
    else if (result == BL_OK)
        add_line(t, &info, values);
    free(values);
    return result == BL_OK ? CLI_OK : session_fail(session, result);
}

static int list_parameters(const cli_session *session)
{
    const uint32_t count = bl_scene_parameter_count(session->scene);
    table t = {.lines = memory_or_exit((count + 1) * sizeof *t.lines),
               .reasons = memory_or_exit((count + 1) * sizeof *t.reasons)};
    int status = CLI_OK;
    cJSON *json = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(json, "parameters");
    for (uint32_t i = 0; i < count && status == CLI_OK; i++)
        status = one(session, i, &t, list);
    if (status == CLI_OK && session->common->json)
        print_json(json);
    else if (status == CLI_OK)
        print_table(&t);
    cJSON_Delete(json);
    free(t.reasons);
    free(t.lines);
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
     .help = "a scene of Mitsuba 3 (XML) or in glTF 2.0 (.gltf, .glb)", .required = true},
};
// clang-format on
const cli_command command_params = {
    .name = "params",
    .summary = "every parameter of a scene: name, shape, range, differentiable or why not",
    .usage = "SCENE",
    .example = "backlight params assets/cornell/scene.xml",
    CLI_OPTIONS(options),
    .groups = CLI_SCENE,
    .arguments_size = sizeof(arguments),
    .run = run};
