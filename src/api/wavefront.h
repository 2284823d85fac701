/* SPDX-License-Identifier: BSD-3-Clause
 * Passes in wavefront mode (bl_job_desc.wavefront): many small kernels, with the states of walks in memory.
 */
#ifndef BL_API_WAVEFRONT_H
#define BL_API_WAVEFRONT_H

#include "api/job.h"

/* Whether the job does this pass so. */
bool wavefront_wanted(const bl_job *job, render_pass pass);
/* Makes the kernels of the pass, if they are not there yet. *took (may be NULL): what making them took. */
bl_result wavefront_make(bl_job *job, render_pass pass, bl_kernel_info *took, bl_error *err);
void wavefront_destroy(struct wavefront *all[RENDER_PASS_COUNT]); /* of all passes; NULL: it has none */
/* Runs a range of the pass, whose push constants are given, in as many batches as it takes, and as many of
 * its lanes at once as have room in the memory of walks. *seconds: time that the device took. */
bl_result wavefront_run(bl_job *job, render_pass pass, const uint32_t push[UNIFORM_COUNT], double *seconds,
                        bl_error *err);

#endif
