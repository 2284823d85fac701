/* SPDX-License-Identifier: BSD-3-Clause
 * A pass that is appended to the job's batch at once, or part by part. */
#ifndef BL_API_JOB_PARTS_H
#define BL_API_JOB_PARTS_H

#include "api/job_dispatch.h"

/* The part number `part` of `parts`: all parts in this order are the pass. */
typedef struct job_part {
    uint32_t part, parts;
} job_part;

/* What a pass is made of: a pass that works by samples, with the steps before and after it. */
typedef struct job_pass_steps {
    void (*begin)(void *user); /* appended before all samples, */
    void (*end)(void *user);   /* and after them */
    void *user;
} job_pass_steps;

/* The paths of the whole pass, which are what parts share evenly. */
uint64_t job_parts_paths(const bl_job *job, const job_work_desc *w);
/* Seconds that the pass may take, by the speed of those before; 0: there has been none. */
double job_parts_seconds(const bl_job *job, const job_work_desc *w);
/* Makes everything that the pass needs: its kernels, and buffers of its size. */
bl_result job_parts_prepare(bl_job *job, const job_work_desc *w, bl_error *err);
/* Whether there is nothing to prepare. */
bool job_parts_prepared(const bl_job *job, const job_work_desc *w);
/* Appends a part of an image pass, or of a gradient pass in any form. */
void job_record_part(bl_job *job, const job_work_desc *w, const job_pass_steps *steps, job_part part);

#endif
