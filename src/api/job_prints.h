/* SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of a job print (render/print.h): the table of texts, the room on the device, and the
 * messages of the last pass (bl_job_prints). */
#ifndef BL_API_JOB_PRINTS_H
#define BL_API_JOB_PRINTS_H

#include "api/job.h"

/* To be called after the job has its plan and before it has its buffers. Makes job->prints if the descriptor
 * asks for it. */
bl_result job_prints_create(bl_job *job, bl_error *err);
void job_prints_destroy(bl_job *job);
/* Words of the buffer of counters behind these; 0: kernels print nothing. */
uint64_t job_prints_words(const bl_job *job);

#endif
