/* SPDX-License-Identifier: BSD-3-Clause
 * What a pass takes from a call, and what comes back from the device. */
#ifndef BL_API_JOB_RESULTS_H
#define BL_API_JOB_RESULTS_H

#include "api/job.h"

/* Combines the caller's seed with that of the scene's sampler. */
uint32_t job_seed(const bl_job *job, uint32_t seed);
/* The next number of samples per pixel that the scene's sampler can do. wanted: 0 means the scene's
 * number. */
uint32_t job_spp(const bl_job *job, uint32_t wanted);
/* The same for gradients, of which the scene's integrator may have a number of its own. sets: into how many
 * parts the sampler is to spread them, each by itself: 2 for two walks, else 1. */
uint32_t job_gradient_spp(const bl_job *job, uint32_t wanted, uint32_t sets);
/* Appends a dispatch that computes job->image from the film. */
void job_record_resolve(bl_job *job, uint32_t spp, uint32_t strips);
/* Computes job->image from the film, and copies it to `image` if that is not NULL. */
bl_result job_resolve(bl_job *job, uint32_t spp, uint32_t strips, float *image, bl_stats *stats,
                      bl_error *err);
/* Appends the comparison of job->image with the loss's target. It leaves loss and dL/dI on the device. */
void job_record_loss(bl_job *job, const job_loss *loss);
bl_result job_read_loss(bl_job *job, double *loss, bl_error *err); /* reads word 0 of the results */
bl_result job_read_counters(bl_job *job, bl_stats *stats, bl_error *err);

/* Sums in fixed point and their scales, `count` of them from `first` on. */
typedef struct job_sums {
    gpu_buffer *sums, *scales;
    uint64_t first, count;
} job_sums;

/* Reads sums, of a job in double precision (else BL_ERROR_ARGUMENT), as doubles. */
bl_result job_read_sums(const bl_job *job, const job_sums *s, double *values, bl_error *err);
/* Reads the image that job_resolve has made, of a job in double precision (else BL_ERROR_ARGUMENT), as
 * doubles. */
bl_result job_read_image_doubles(const bl_job *job, uint32_t spp, uint32_t strips, double *image,
                                 bl_error *err);

#endif
