/* SPDX-License-Identifier: BSD-3-Clause
 * Batches of pixels: passes over pixels of several views that a list names, in place of whole images. */
#ifndef BL_API_PIXEL_BATCH_H
#define BL_API_PIXEL_BATCH_H

#include "api/job_dispatch.h"

/* Draws `count` of the numbers below `total`, ascending: those of step `step` (from 0 on). The draw follows
 * from its arguments alone. All steps together go through all numbers again and again, each time in another
 * random order, so no number comes a second time before all others have come. */
void pixel_batch_draw(uint32_t seed, uint32_t step, uint64_t total, uint32_t count, uint32_t *out);
/* Sets the list of the job's batch, which has job_pixels(job) entries: view * width * height + pixel. */
bl_result pixel_batch_list(bl_job *job, const uint32_t *pixels, bl_error *err);
/* Renders a view of the batch, list by list, with the samples that bl_job_render would take for view 0. */
bl_result pixel_batch_render(bl_job *job, uint32_t view, const bl_render_desc *desc, float *image,
                             bl_error *err);

#endif
