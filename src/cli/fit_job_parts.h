/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of a fit job's file. `at`: the object's place; messages are printed, and CLI_FAILED is
 * returned. */
#ifndef BL_CLI_FIT_JOB_PARTS_H
#define BL_CLI_FIT_JOB_PARTS_H

#include "fit_job.h"
#include "json_keys.h"

/* What the job aims at: either one target, seen through the first sensor, or views. */
int job_read_goal(json_place at, const struct cJSON *json, fit_job *job);
int job_read_loss(json_place at, const struct cJSON *json, fit_job *job);
/* The keys of settings that parameters and groups have, of a fit_job_parameter. */
#define JOB_SETTING_KEYS                                                                                     \
    {"bounds", KEY_OTHER, 0, false}, {"rate", KEY_POSITIVE, offsetof(fit_job_parameter, rate), false},       \
        {"beta_1", KEY_SHARE, offsetof(fit_job_parameter, beta_1), false},                                   \
        {"beta_2", KEY_SHARE, offsetof(fit_job_parameter, beta_2), false},                                   \
        {"total_variation", KEY_POSITIVE, offsetof(fit_job_parameter, total_variation), false},              \
        {"smoothing", KEY_POSITIVE, offsetof(fit_job_parameter, smoothing), false},                          \
        {"sparse", KEY_FLAG, offsetof(fit_job_parameter, sparse), false},                                    \
    {                                                                                                        \
        "prior", KEY_OTHER, 0, false                                                                         \
    }
/* Those among them that a table of keys does not read: bounds and prior. */
int job_read_settings(json_place at, const struct cJSON *json, fit_job_parameter *p);
/* After the parameters, whose settings it completes. */
int job_read_groups(json_place at, const struct cJSON *json, fit_job *job);
int job_read_parameters(json_place at, const struct cJSON *json, fit_job *job);
/* Stages, or the steps of a single one. After the parameters. */
int job_read_stages(json_place at, const struct cJSON *json, fit_job *job);

#endif
