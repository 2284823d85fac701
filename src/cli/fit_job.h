/* SPDX-License-Identifier: BSD-3-Clause
 * A fit job as read from its JSON file (docs/fit-job.schema.json). */
#ifndef BL_CLI_FIT_JOB_H
#define BL_CLI_FIT_JOB_H

#include "cli.h"

typedef struct fit_job_parameter {
    const char *name;
    double rate;        /* 0: the optimizer's */
    double least, most; /* valid where bounded */
    bool bounded;
    float *initial;         /* NULL: the scene's */
    uint32_t initial_count; /* 1: for all entries */
} fit_job_parameter;

typedef struct fit_job {
    struct cJSON *json;            /* owns every text below that is a value of the file */
    char *scene, *target, *output; /* paths; target NULL: rendered; output NULL: not given */
    bool render_target;
    uint32_t target_spp, target_seed; /* spp 0: the scene's */
    fit_job_parameter *parameters;
    uint32_t parameter_count;
    const char **defines; /* "key=value", malloc'ed */
    uint32_t define_count;
    double rate, beta_1, beta_2, epsilon; /* 0: the library's defaults */
    uint32_t steps, spp, spp_grad, seed;
} fit_job;

/* Prints file, place and key of the first mistake. fit_job_free in any case. */
int fit_job_read(const char *path, fit_job *job);
void fit_job_free(fit_job *job);

#endif
