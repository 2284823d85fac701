/* SPDX-License-Identifier: BSD-3-Clause
 * What comes after a gradient pass. */
#ifndef BL_API_GRADIENT_H
#define BL_API_GRADIENT_H

#include "api/job_dispatch.h"

/* An image of a caller's that a gradient starts from has finite numbers: another one would spoil the whole
 * gradient. weights: of its pixels, of which those with 0 may have anything; NULL: all count. what: "the
 * target". */
bl_result gradient_check_image(const bl_job *job, const char *what, const float *image, const float *weights,
                               bl_error *err);

/* Appends the conversion of gradients to f32 and, if with_loss, sum(W * I) of the pass's own image. */
void gradient_record_output(bl_job *job, const job_work_desc *w, bool with_loss);

#endif
