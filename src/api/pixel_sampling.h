/* SPDX-License-Identifier: BSD-3-Clause
 * Adaptive sampling of gradient passes: samples in proportion to |dL/dI|. */
#ifndef BL_API_PIXEL_SAMPLING_H
#define BL_API_PIXEL_SAMPLING_H

#include "api/job_dispatch.h"

/* Fails if the job's samples cannot be distributed as its `pixels` says. */
bl_result pixel_sampling_check(const bl_job *job, bl_error *err);
/* Distributes the samples of a gradient pass whose dL/dI is in job->adjoint. Sets w->lanes where lanes are
 * listed. */
bl_result pixel_sampling_distribute(bl_job *job, job_work_desc *w, bl_error *err);

/* A list of at least one lane, as the device reads it (enum lane_word). */
typedef struct pixel_list {
    uint32_t channels, row_words; /* row_words: lane_row_words(channels) */
    float *adjoint;               /* row_words numbers for each lane, of which channels count */
    uint32_t *rows;               /* row_words words for each lane: enum lane_word */
    job_lanes lanes;
} pixel_list;
/* dL/dI of pixels, `channels` numbers each. */
typedef struct pixel_adjoint {
    const float *values;
    uint32_t pixels, channels;
} pixel_adjoint;

/* Lists the samples, at most pixels * spp < 2^32, in lanes of at most `longest` samples. random: a random
 * number, evenly distributed over all values. */
void pixel_list_make(const pixel_adjoint *from, uint32_t spp, uint32_t longest, uint64_t random,
                     pixel_list *out);
void pixel_list_free(pixel_list *list);

#endif
