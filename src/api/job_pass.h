/* SPDX-License-Identifier: BSD-3-Clause
 * A whole pass of a job, with what goes before and after it. */
#ifndef BL_API_JOB_PASS_H
#define BL_API_JOB_PASS_H

#include "api/job_dispatch.h"

/* The pass that makes the image a caller asks for, over all pixels of the job. */
job_work_desc job_image_work(const bl_job *job, const bl_render_desc *desc);
/* Brings geometry, derived values and sampling tables up to date, and clears what the pass adds to. */
bl_result job_prepare(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);
/* Runs a pass over all lanes and samples, sliced by measured time. Before it, film (image passes) or gradient
 * are zeroed and derived values brought up to date. After a gradient pass, parameters' gradients are
 * complete. */
bl_result job_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);

#endif
