/* SPDX-License-Identifier: BSD-3-Clause
 * The buffers of a job on its device. */
#ifndef BL_API_JOB_BUFFERS_H
#define BL_API_JOB_BUFFERS_H

#include "api/job.h"

enum { RESULT_WORDS = 4 /* number of f32 words that come back; word 0 is the loss */ };

/* Writes the plan's words to the scene buffer, and builds what answers rays on the native device. */
bl_result job_write_words(bl_job *job, bl_error *err);
/* Makes the buffers of a job that has its plan, and the acceleration structure, if any. The buffers of film
 * and samples are made when a pass wants them. */
bl_result job_make_buffers(bl_job *job, bl_error *err);
void job_drop_buffers(bl_job *job);
/* Lists the buffers of the kernel of a pass, as they are now. */
void job_buffers(const bl_job *job, render_pass pass, gpu_buffer *buffers[BUFFER_COUNT + 1]);
/* Replaces the buffer *out, which may be NULL, by one of so many bytes. */
bl_result job_replace_buffer(bl_job *job, uint64_t bytes, const char *label, gpu_buffer **out, bl_error *err);
/* Notes that what depends on this parameter (an index in the scene) is not up to date. */
void job_value_changed(bl_job *job, uint32_t parameter);
/* These make the buffers whose size depends on the form: samples between two kernels, and images of dL/dI. */
bl_result job_reserve_samples(bl_job *job, uint64_t words, bl_error *err);
bl_result job_reserve_adjoints(bl_job *job, uint32_t images, bl_error *err);
bl_result job_reserve_splats(bl_job *job, bl_error *err); /* the image of splats, and its scale */
bl_result job_reserve_target(bl_job *job, bl_error *err);
bl_result job_reserve_film(bl_job *job, render_pass pass, uint32_t lanes, bl_error *err);
/* Stores tangents of all values for forward passes. Those of parameters are given; those of derived values
 * may be anything. */
bl_result job_tangents(bl_job *job, const float *tangents, bl_error *err);
/* Whether the pass adds to an image of splats, instead of to film or gradient. */
bool job_splats(const bl_job *job, render_pass pass);

/* Totals of the counters since they were zeroed, by enum status_word. */
bl_result job_read_status(bl_job *job, uint64_t status[STATUS_COUNT], bl_error *err);
/* Counters of the device have 32 bits. A pass that is long takes them over from time to time. */
bl_result job_take_status(bl_job *job, bl_error *err);

#endif
