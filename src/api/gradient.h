/* SPDX-License-Identifier: BSD-3-Clause
 * What comes after a gradient pass. */
#ifndef BL_API_GRADIENT_H
#define BL_API_GRADIENT_H

#include "api/job_dispatch.h"

/* Appends the conversion of gradients to f32 and, if with_loss, sum(W * I) of the pass's own image. */
void gradient_record_output(bl_job *job, const job_work_desc *w, bool with_loss);

#endif
