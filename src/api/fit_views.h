/* SPDX-License-Identifier: BSD-3-Clause
 * What a step of a fit looks at. */
#ifndef BL_API_FIT_VIEWS_H
#define BL_API_FIT_VIEWS_H

#include "api/fit.h"

/* What one image of a step is: a whole view, or the batch. */
typedef struct fit_sight {
    gpu_buffer *target;
    double weight; /* of its loss */
    uint32_t seed;
    uint32_t view; /* without a batch */
    bool last;     /* of the step */
} fit_sight;

/* Takes views and targets from the descriptor, and sets the scale of gradients. */
bl_result fit_views_create(bl_fit *fit, const bl_fit_desc *desc, bl_error *err);
void fit_views_destroy(bl_fit *fit);
/* Points the job at the first view from *v on that is not held out, or at the batch of the present step. *v
 * becomes the number of the view after it. */
bl_result fit_look(bl_fit *fit, uint32_t *v, fit_sight *out, bl_error *err);
/* The same, without pointing the job anywhere. */
fit_sight fit_next_sight(const bl_fit *fit, uint32_t *v);
/* What the step compares there. */
job_loss fit_sight_loss(const bl_fit *fit, const fit_sight *sight);
/* The pass for its image. */
job_work_desc fit_image_work(const bl_fit *fit, uint32_t seed);
/* How many of them a step has. */
uint32_t fit_sight_count(const bl_fit *fit);
/* Side of the blocks of pixels that a batch consists of: a pixel of the loss's coarsest level. */
uint32_t fit_batch_side(const bl_fit_desc *desc);
/* Draws the batch of the present step: its list, and the targets of its pixels. Returns the number of their
 * bytes, with weights. */
uint64_t fit_draw_batch(bl_fit *fit);

#endif
