/* SPDX-License-Identifier: BSD-3-Clause
 * Passes of a job in the caller's command buffers. */
#ifndef BL_API_JOB_RECORDED_H
#define BL_API_JOB_RECORDED_H

#include "api/job_parts.h"
#include "api/recorder.h"

/* What is to be recorded. The begin of each pass appends job_recorded_begin first. */
typedef struct job_recording {
    bl_job *job;
    job_recorded_passes passes;
    const bl_vulkan_pass *call; /* of which part, parts, changed and coarser are looked at */
    bool texels;                /* images of the caller's take part */
    const uint32_t
        *changes; /* parameters that the passes themselves change, which those behind them follow */
    uint32_t change_count;
} job_recording;

/* Fails if nothing can be recorded with this job. */
bl_result job_recorded_check(const bl_job *job, bl_error *err);
/* Fails if commands cannot change the values of these parameters. */
bl_result job_recorded_check_changed(const bl_job *job, const uint32_t *changed, uint32_t count,
                                     bl_error *err);
/* Makes all that recording needs. cost may be NULL. */
bl_result job_recorded_prepare(const job_recording *r, bl_vulkan_cost *cost, bl_error *err);
/* Appends the part that the call names to the caller's commands. */
bl_result job_recorded_append(const job_recording *r, bl_recorder *recorder, VkCommandBuffer commands,
                              bl_error *err);
/* A copy of pixels of the caller's into a buffer, 3 floats a pixel, with nothing else. */
typedef struct job_recorded_copy {
    bl_job *job;
    gpu_buffer *to;
    const bl_vulkan_pixels *from;
    recorder_image image;
} job_recorded_copy;
bl_result job_recorded_prepare_copy(const job_recorded_copy *c, bl_error *err);
bl_result job_recorded_append_copy(const job_recorded_copy *c, bl_recorder *recorder,
                                   VkCommandBuffer commands, bl_error *err);
/* To the job's batch: what comes before the samples of a pass. */
void job_recorded_begin(bl_job *job, const job_work_desc *w);

#endif
