/* SPDX-License-Identifier: BSD-3-Clause
 * The part of a fit job that says which parameters are fitted, and in which stages. */
#include "fit_job_parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool finite_number(const cJSON *json) { return cJSON_IsNumber(json) && isfinite(json->valuedouble); }

static int read_bounds(const json_place *at, const cJSON *json, fit_job_parameter *p)
{
    if (!json)
        return CLI_OK;
    const cJSON *low = cJSON_GetArrayItem(json, 0), *high = cJSON_GetArrayItem(json, 1);
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) != 2 || !finite_number(low) ||
        !finite_number(high) || !(low->valuedouble < high->valuedouble))
        return json_wrong(at, "bounds", "must be two numbers, [least, most], the first below the second");
    p->bounded = true;
    p->least = low->valuedouble;
    p->most = high->valuedouble;
    return CLI_OK;
}

static int read_initial(const json_place *at, const cJSON *json, fit_job_parameter *p)
{
    if (!json)
        return CLI_OK;
    bool list = cJSON_IsArray(json);
    int count = list ? cJSON_GetArraySize(json) : 1;
    p->initial = memory_or_exit((size_t)count * sizeof *p->initial);
    p->initial_count = (uint32_t)count;
    const cJSON *value = list ? json->child : json;
    for (int i = 0; i < count; i++, value = value->next) {
        if (!finite_number(value) || !isfinite((float)value->valuedouble))
            return json_wrong(at, "initial", "must be a number or a list of numbers, one per entry");
        p->initial[i] = (float)value->valuedouble;
    }
    return count ? CLI_OK : json_wrong(at, "initial", "is an empty list");
}

typedef struct large_steps {
    double lambda;
    const char *fixed;
} large_steps;

/* {"lambda": 19, "fixed": "xy"} */
static int read_large_steps(json_place at, const cJSON *json, fit_job_parameter *p)
{
    static const json_key keys[] = {{"lambda", KEY_POSITIVE, offsetof(large_steps, lambda), true},
                                    {"fixed", KEY_TEXT, offsetof(large_steps, fixed), false},
                                    {0}};
    large_steps read = {.fixed = ""};
    if (!json)
        return CLI_OK;
    const json_place outside = at;
    CLI_TRY(json_enter(&at, "large_steps", "an object with lambda", json));
    if (p->bounded)
        return json_wrong(&outside, "large_steps", "know no bounds");
    CLI_TRY(json_read_keys(&at, json, keys, &read));
    p->large_steps = read.lambda;
    for (const char *c = read.fixed; *c; c++) {
        const char *axis = strchr("xyz", *c);
        if (!axis || p->fixed_axes >> (axis - "xyz") & 1)
            return json_wrong(&at, "fixed", "must be one or two of the letters x, y, z");
        p->fixed_axes |= 1u << (axis - "xyz");
    }
    return p->fixed_axes == 7 ? json_wrong(&at, "fixed", "must be one or two of the letters x, y, z")
                              : CLI_OK;
}

/* Priors, without none. */
static const char *prior_name(uint32_t k) { return bl_prior_name((bl_prior)(k + 1)); }

/* {"type": "l2", "weight": 0.01, "centre": 0.5} */
static int read_prior(json_place at, const cJSON *json, fit_job_parameter *p)
{
    static const json_key keys[] = {{"type", KEY_OTHER, 0, true},
                                    {"weight", KEY_POSITIVE, offsetof(fit_job_parameter, prior_weight), true},
                                    {"centre", KEY_OTHER, 0, false},
                                    {0}};
    uint32_t kind;
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "prior", "an object with type and weight", json));
    CLI_TRY(json_read_type(&at, json, "prior", prior_name, &kind));
    CLI_TRY(json_read_keys(&at, json, keys, p));
    const cJSON *centre = cJSON_GetObjectItemCaseSensitive(json, "centre");
    if (centre && (!finite_number(centre) || !isfinite((float)centre->valuedouble)))
        return json_wrong(&at, "centre", "must be a number");
    p->prior = (bl_prior)(kind + 1), p->prior_centre = centre ? centre->valuedouble : 0;
    return CLI_OK;
}

int job_read_settings(json_place at, const cJSON *json, fit_job_parameter *p)
{
    CLI_TRY(read_bounds(&at, cJSON_GetObjectItemCaseSensitive(json, "bounds"), p));
    return read_prior(at, cJSON_GetObjectItemCaseSensitive(json, "prior"), p);
}

static const char *motion_name(uint32_t k) { return bl_motion_name((bl_motion)k); }

int job_read_parameters(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {{"name", KEY_TEXT, offsetof(fit_job_parameter, name), true},
                                    {"initial", KEY_OTHER, 0, false},
                                    JOB_SETTING_KEYS,
                                    {"large_steps", KEY_OTHER, 0, false},
                                    {"motion", KEY_TEXT, offsetof(fit_job_parameter, motion_name), false},
                                    {0}};
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0)
        return json_wrong(&at, "parameters", "must be a list of at least one object");
    job->parameters = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->parameters);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_parameter *p = &job->parameters[job->parameter_count];
        CLI_TRY(
            json_read_item(&at, "parameters", job->parameter_count++, "an object with a name", one, keys, p));
        CLI_TRY(job_read_settings(at, one, p));
        CLI_TRY(read_initial(&at, cJSON_GetObjectItemCaseSensitive(one, "initial"), p));
        CLI_TRY(read_large_steps(at, cJSON_GetObjectItemCaseSensitive(one, "large_steps"), p));
        CLI_TRY(json_find_name(&at, "motion", "motion", p->motion_name, motion_name, &p->motion));
    }
    return CLI_OK;
}

static int read_sides(const json_place *at, const cJSON *json, fit_job_size *size)
{
    int count = cJSON_GetArraySize(json);
    if (!cJSON_IsArray(json) || count < 2 || count > 3)
        return json_wrong(at, json->string,
                          "must be the sides of an image, [height, width], or of a grid, [z, y, x]");
    for (const cJSON *one = json->child; one; one = one->next) {
        double number = one->valuedouble;
        if (!cJSON_IsNumber(one) || number != floor(number) || number < 1 || number > 65536)
            return json_wrong(at, json->string, "a side must be a whole number from 1 to 65536");
        size->sides[size->side_count++] = (uint32_t)number;
    }
    return CLI_OK;
}

/* {"NAME": [z, y, x], ..} */
static int read_resolution(json_place at, const cJSON *json, const fit_job *job, fit_job_stage *stage)
{
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "resolution", "an object: the sides of parameters by their names", json));
    stage->sizes = memory_or_exit(((size_t)cJSON_GetArraySize(json) + 1) * sizeof *stage->sizes);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_size *size = &stage->sizes[stage->size_count++];
        while (size->parameter < job->parameter_count &&
               strcmp(job->parameters[size->parameter].name, one->string) != 0)
            size->parameter++;
        if (size->parameter == job->parameter_count)
            return json_wrong(&at, one->string, "is not among the parameters");
        for (uint32_t k = 0; k + 1 < stage->size_count; k++)
            if (stage->sizes[k].parameter == size->parameter)
                return json_wrong(&at, one->string, "given twice");
        CLI_TRY(read_sides(&at, one, size));
    }
    return CLI_OK;
}

int job_read_stages(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {
        {"steps", KEY_STEPS, offsetof(fit_job_stage, steps), true}, {"resolution", KEY_OTHER, 0, false}, {0}};
    uint64_t steps = 0;
    if (!json == !job->steps)
        return json_wrong(&at, "steps", json ? "give either steps or stages" : "missing key (or stages)");
    if (json && (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0))
        return json_wrong(&at, "stages", "must be a list of at least one object");
    job->stages = memory_or_exit((json ? (size_t)cJSON_GetArraySize(json) : 1) * sizeof *job->stages);
    job->stages[0].steps = job->steps, job->stage_count = !json;
    for (const cJSON *one = json ? json->child : NULL; one; one = one->next) {
        fit_job_stage *s = &job->stages[job->stage_count];
        CLI_TRY(json_read_item(&at, "stages", job->stage_count++, "an object with steps", one, keys, s));
        CLI_TRY(read_resolution(at, cJSON_GetObjectItemCaseSensitive(one, "resolution"), job, s));
        if ((steps += s->steps) > JSON_STEPS_MOST)
            return json_wrong(&at, "steps", "all stages together have more than %d steps", JSON_STEPS_MOST);
        job->steps = (uint32_t)steps;
    }
    return CLI_OK;
}
