/* SPDX-License-Identifier: BSD-3-Clause
 * A whole pass of a job, with what goes before and after it. */
#ifndef BL_API_JOB_PASS_H
#define BL_API_JOB_PASS_H

#include "api/job_dispatch.h"

/* The pass that makes the image a caller asks for, over all pixels of the job. */
job_work_desc job_image_work(const bl_job *job, const bl_render_desc *desc);
/* The parts of what follows, for passes that are recorded: makes the kernels for what comes before the pass;
 * appends it (geometry comes before it); notes that it has been done, or will have been before anything else
 * is; appends what comes after a gradient pass, whose kernel is there. */
bl_result job_make_kernels(bl_job *job, const job_work_desc *w, bl_error *err);
void job_record_begin(bl_job *job, const job_work_desc *w);
void job_values_followed(bl_job *job);
void job_record_end(bl_job *job);
/* The work of part k of a pass; w->part names the only one. All parts differentiate the loss that the first
 * one finds, and add to the same sums. */
job_work_desc job_split_work(const bl_job *job, const job_work_desc *w, uint32_t k);
/* Whether the film has to be cleared before part k: it holds the image of one part alone. */
bool job_split_clears(const job_work_desc *w, uint32_t k);
/* Brings geometry, derived values and sampling tables up to date, and clears what the pass adds to. */
bl_result job_prepare(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);
/* Behind a pass that adds to an image of splats, `coarser` steps above the first scale: whether all of them
 * fit into their numbers. If not, the pass is to be repeated one step coarser; an error at the coarsest. */
bl_result job_splats_fit(bl_job *job, uint32_t coarser, bool *fit, bl_error *err);
/* Runs a pass over all lanes and samples, sliced by measured time. Before it, film (image passes) or gradient
 * are zeroed and derived values brought up to date. After a gradient pass, parameters' gradients are
 * complete. */
bl_result job_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);

#endif
