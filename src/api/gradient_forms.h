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
    uint32_t spp, spp_gradient;
} gradient_wish;

/* Chooses the form. Fails if the caller wants a form that cannot do this. */
bl_result gradient_form_choose(const bl_job *job, const gradient_wish *wish, bl_gradient_form *out,
                               bl_error *err);
/* The number of strips of a gradient pass. Two walks need an even number. */
uint32_t gradient_form_strips(const bl_job *job, bl_gradient_form form, uint32_t spp);
/* Runs a prepared gradient pass of the forms that keep samples between two kernels. Those that find the loss
 * leave it in the results, and the image. */
bl_result gradient_form_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);

#endif
