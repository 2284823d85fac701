/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed-point scale of gradients and of images of splats. */
#ifndef BL_API_GRADIENT_SCALE_H
#define BL_API_GRADIENT_SCALE_H

#include "api/job_dispatch.h"

enum { REPEATS_MOST = 4 /* most repeats of a pass, each with a coarser fixed-point scale */ };

/* Sets the scale of the fixed-point gradient, from the largest |dL/dI| and the sample count. coarser: by
 * how many steps of 2^8 the scale is made coarser. */
bl_result job_set_scale(bl_job *job, double largest_adjoint, uint32_t spp, uint32_t coarser, bl_error *err);
/* Appends the same to the job's batch. The device finds the largest |dL/dI|: of job->adjoint where `loss` is
 * NULL, else the bound (fit_loss_bound, which it must have) that follows from the target. */
void job_record_scale(bl_job *job, const job_loss *loss, uint32_t spp, uint32_t coarser);
/* A scale for sums of radiance that single samples find. */
float job_radiance_scale(const bl_job *job);
/* Sets the scale of the image of splats. */
bl_result job_set_splat_scale(bl_job *job, uint32_t spp, uint32_t coarser, bl_error *err);
/* The same for splats of about this size. */
bl_result job_set_splat_size(bl_job *job, double contribution, uint32_t coarser, bl_error *err);
/* Appends the same to the job's batch. */
void job_record_splat_scale(bl_job *job, uint32_t spp, uint32_t coarser);

#endif
