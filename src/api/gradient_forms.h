/* SPDX-License-Identifier: BSD-3-Clause
 * Forms of a gradient pass: which one to use, and those that keep samples between two kernels. */
#ifndef BL_API_GRADIENT_FORMS_H
#define BL_API_GRADIENT_FORMS_H

#include "api/job_dispatch.h"

/* What the caller wants of a gradient. */
typedef struct gradient_wish {
    bl_gradient_form form;
    bool target; /* dL/dI comes from a loss, not from the caller */
    bl_loss loss;
    const bl_composite_loss *composite; /* instead of loss; NULL: that */
    uint32_t spp, spp_gradient;
    uint32_t spp_halves; /* spp_gradient, as the sampler can spread it in two halves: job_gradient_spp */
} gradient_wish;

/* Chooses the form. Fails if the caller wants a form that cannot do this. */
bl_result gradient_form_choose(const bl_job *job, const gradient_wish *wish, bl_gradient_form *out,
                               bl_error *err);
/* How many samples of a pixel the gradient pass has in this form. */
uint32_t gradient_form_spp(const gradient_wish *wish, bl_gradient_form form);
/* How many samples of an image both halves of two walks share, besides their own; else 0. */
uint32_t gradient_form_shared(const bl_job *job, const gradient_wish *wish, bl_gradient_form form);
/* The number of strips of a gradient pass. Two walks need an even number. */
uint32_t gradient_form_strips(const bl_job *job, bl_gradient_form form, uint32_t spp);
/* Runs a prepared gradient pass of the forms that keep samples between two kernels. Those that find the loss
 * leave it in the results, and the image. */
bl_result gradient_form_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);
/* Its parts, for passes that are recorded. First the buffers whose size depends on the form. Then the tiles:
 * *tile begins as zeros and becomes the next one; false: there is none. For each: the replay kernel, this
 * comparison, the adjoint kernel. */
bl_result gradient_form_reserve(bl_job *job, const job_work_desc *w, bl_error *err);
bool gradient_form_reserved(const bl_job *job, const job_work_desc *w);
bool gradient_form_next(const bl_job *job, const job_work_desc *w, job_range *tile, bool *last);
void gradient_form_record_loss(bl_job *job, const job_work_desc *w, job_range tile, bool last);

#endif
