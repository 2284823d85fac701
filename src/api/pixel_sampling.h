/* SPDX-License-Identifier: BSD-3-Clause
 * Adaptive sampling of gradient passes: samples in proportion to |dL/dI|. */
#ifndef BL_API_PIXEL_SAMPLING_H
#define BL_API_PIXEL_SAMPLING_H

#include "api/job_dispatch.h"

/* Whether the job's samples can go where its `pixels` says. */
bl_result pixel_sampling_check(const bl_job *job, bl_error *err);
/* Distributes the samples of a gradient pass whose dL/dI is in job->adjoint. Sets w->lanes where lanes are
 * listed. */
bl_result pixel_sampling_distribute(bl_job *job, job_work_desc *w, bl_error *err);

/* Lanes as the device reads them (enum lane_word), at least one. */
typedef struct pixel_list {
    float *adjoint; /* 3 a lane */
    uint32_t *rows; /* LANE_WORDS a lane */
    job_lanes lanes;
} pixel_list;

/* Lists the samples, at most pixels * spp < 2^32, in lanes of at most `longest`. random: any number, evenly
 * distributed. */
void pixel_list_make(const float *adjoint, uint32_t pixels, uint32_t spp, uint32_t longest, uint64_t random,
                     pixel_list *out);
void pixel_list_free(pixel_list *list);

#endif
