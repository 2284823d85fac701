/* SPDX-License-Identifier: BSD-3-Clause
 * A job's kernels, made when they are first needed. */
#ifndef BL_API_JOB_KERNELS_H
#define BL_API_JOB_KERNELS_H

#include "api/job.h"

bl_result job_kernel(bl_job *job, render_pass pass, gpu_kernel **out, bl_error *err);
/* A kernel of a trace of the pass, which may be a part of it; its buffers are those of the trace. */
bl_result job_kernel_of(bl_job *job, render_pass pass, const ir_module *trace, const char *label,
                        gpu_kernel **out, bl_kernel_info *took, bl_error *err);
/* A set of buffers: bit i says that buffer i is larger than a binding reaches. */
uint32_t job_addressed(const bl_job *job, render_pass pass);
/* The renderer's name of a public pass. It fails where the job cannot make the pass; else it enters the part
 * of a split job that is shown (job_split.h). */
bl_result job_pass_enter(bl_job *job, bl_pass pass, render_pass *out);
bl_result job_trace(const bl_job *job, render_pass pass, ir_module **out, bl_error *err);
/* Sets of *took what is known by then, the rest to 0. */
bl_result job_trace_timed(const bl_job *job, render_pass pass, ir_module **out, bl_kernel_info *took,
                          bl_error *err);
/* The options of the compiler passes of a pass of this job. */
opt_options job_lowering(const bl_job *job, render_pass pass, x86_target native);

#endif
