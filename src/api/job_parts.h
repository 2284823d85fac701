/* SPDX-License-Identifier: BSD-3-Clause
 * A pass that is appended to the job's batch at once, or part by part. */
#ifndef BL_API_JOB_PARTS_H
#define BL_API_JOB_PARTS_H

#include "api/job_dispatch.h"

/* A pass that works by samples, with the steps before and after it. */
typedef struct job_recorded_pass {
    job_work_desc work;
    void (*begin)(void *user); /* appended before all samples, */
    void (*end)(void *user);   /* and after them */
    void *user;
} job_recorded_pass;

/* Passes one after another. */
typedef struct job_recorded_passes {
    const job_recorded_pass *all;
    uint32_t count;
} job_recorded_passes;

/* The paths of all passes, those of both parts of a split job, which are what parts share evenly. */
uint64_t job_parts_paths(bl_job *job, job_recorded_passes passes);
/* Seconds that the passes may take, by the speed of those before; 0: of some there have been none. */
double job_parts_seconds(bl_job *job, job_recorded_passes passes);
/* Makes everything that a pass needs: its kernels, and buffers of its size. */
bl_result job_parts_prepare(bl_job *job, const job_work_desc *w, bl_error *err);
/* Whether there is nothing to prepare. */
bool job_parts_prepared(bl_job *job, const job_work_desc *w);
/* Appends a part of image passes and of gradient passes in any form. There are at least as many paths as
 * parts. */
void job_record_part(bl_job *job, job_recorded_passes passes, job_part part);

#endif
