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
/* Of a parameter or a group: bounds and prior. */
int job_read_shared(json_place at, const struct cJSON *json, fit_job_parameter *p);
/* After the parameters, whose settings it completes. */
int job_read_groups(json_place at, const struct cJSON *json, fit_job *job);
int job_read_parameters(json_place at, const struct cJSON *json, fit_job *job);
/* Stages, or the steps of a single one. After the parameters. */
int job_read_stages(json_place at, const struct cJSON *json, fit_job *job);

#endif
