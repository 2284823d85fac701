/* SPDX-License-Identifier: BSD-3-Clause
 * Jobs whose gradients take two sets of kernels (plan_splits): those of what moves shapes, under the local
 * convention, and those of all else, along attached paths. Both parts have one layout of words, values and
 * gradients, and each adds to elements of its own. So a pass that differentiates runs once for each part. Its
 * image, derived values, tables and geometry are those of the whole plan. */
#ifndef BL_API_JOB_SPLIT_H
#define BL_API_JOB_SPLIT_H

#include "api/job.h"

/* The number of parts in which kernels of a pass are made, and in which it runs: 1 unless the job is split
 * and the pass differentiates paths or edges. */
uint32_t job_split_parts(const bl_job *job, render_pass pass);
/* From here on the job's plan and kernels are those of part number `part` (0 or 1), until job_split_leave.
 * Nothing happens where the pass has one part. */
void job_split_enter(bl_job *job, render_pass pass, uint32_t part);
void job_split_leave(bl_job *job);
/* The name of a part of a split job, and of the one that is entered; NULL: none is. */
const char *job_split_part_name(uint32_t part);
const char *job_split_name(const bl_job *job);
/* Whether both parts have edges that move. They share one table of where to look. */
bool job_split_edges(const bl_job *job);

#endif
