/* SPDX-License-Identifier: BSD-3-Clause
 * Settings that parameters of a fit job share by a pattern of their names ("groups"): {"parameters":
 * "*.reflectance.*", "rate": 0.1}. Field by field, a later group wins over an earlier one, and what a
 * parameter says itself wins over all. A pattern's * stands for any characters, dots included, ? for one. */
#include "fit_job_parts.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* What `over` says replaces what `p` says. */
static void lay_over(fit_job_parameter *p, const fit_job_parameter *over)
{
    double *numbers[] = {&p->rate, &p->beta_1, &p->beta_2, &p->total_variation, &p->smoothing};
    const double given[] = {over->rate, over->beta_1, over->beta_2, over->total_variation, over->smoothing};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        *numbers[i] = given[i] > 0 ? given[i] : *numbers[i];
    p->sparse |= over->sparse;
    if (over->bounded)
        p->bounded = true, p->least = over->least, p->most = over->most;
    if (over->prior != BL_PRIOR_NONE)
        p->prior = over->prior, p->prior_weight = over->prior_weight, p->prior_centre = over->prior_centre;
}

static int matches_nothing(const json_place *at, const char *pattern, const fit_job *job)
{
    const char **names = memory_or_exit((job->parameter_count + 1) * sizeof *names);
    for (uint32_t k = 0; k < job->parameter_count; k++)
        names[k] = job->parameters[k].name;
    names[job->parameter_count] = NULL;
    const char *near = nearest_name(pattern, names);
    int status =
        near ? json_wrong(at, "parameters",
                          "\"%s\" matches none of the job's parameters (did you mean \"%s\"?)", pattern, near)
             : json_wrong(
                   at, "parameters",
                   "\"%s\" matches none of the job's parameters (the first of %u is \"%s\"; * stands for "
                   "any characters)",
                   pattern, job->parameter_count, names[0]);
    free(names);
    return status;
}

/* name: the pattern */
static int read_group(json_place *at, const cJSON *one, uint32_t k, const fit_job *job,
                      fit_job_parameter *group)
{
    static const json_key keys[] = {
        {"parameters", KEY_TEXT, offsetof(fit_job_parameter, name), true}, JOB_SETTING_KEYS, {0}};
    uint32_t matched = 0;
    CLI_TRY(
        json_read_item(at, "groups", k, "an object with parameters, a pattern of names", one, keys, group));
    CLI_TRY(job_read_settings(*at, one, group));
    for (uint32_t i = 0; i < job->parameter_count; i++)
        matched += text_matches(group->name, job->parameters[i].name);
    return matched ? CLI_OK : matches_nothing(at, group->name, job);
}

int job_read_groups(json_place at, const cJSON *json, fit_job *job)
{
    int status = CLI_OK;
    if (!json)
        return CLI_OK;
    if (!cJSON_IsArray(json))
        return json_wrong(&at, "groups", "must be a list of objects with parameters, a pattern of names");
    const uint32_t count = (uint32_t)cJSON_GetArraySize(json);
    fit_job_parameter *groups = memory_or_exit((count + 1) * sizeof *groups);
    uint32_t read = 0;
    for (const cJSON *one = json->child; one; one = one->next, read++)
        status |= read_group(&at, one, read, job, &groups[read]);
    for (uint32_t i = 0; i < job->parameter_count && status == CLI_OK; i++) {
        fit_job_parameter *p = &job->parameters[i], own = *p;
        for (uint32_t k = 0; k < count; k++)
            if (text_matches(groups[k].name, p->name))
                lay_over(p, &groups[k]);
        lay_over(p, &own);
    }
    free(groups);
    return status;
}
