/* SPDX-License-Identifier: BSD-3-Clause
 * The image by Metropolis chains. */
#ifndef BL_API_METROPOLIS_H
#define BL_API_METROPOLIS_H

#include "api/job_dispatch.h"

/* Runs all steps of all chains of a pass of this work, and leaves the image in job->splats. Sets
 * job->chains. The image does not depend on slices. */
bl_result metropolis_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);

#endif
