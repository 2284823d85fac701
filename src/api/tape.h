/* SPDX-License-Identifier: BSD-3-Clause
 * The gradient pass of METHOD_TAPE. */
#ifndef BL_API_TAPE_H
#define BL_API_TAPE_H

#include "api/job_dispatch.h"

/* The first half of the prepared pass: walks all samples. *fits: all their vertices are on the tape; else
 * there is room for them the next time, and the pass is to be prepared and begun again. */
bl_result tape_write(bl_job *job, const job_work_desc *w, bool *fits, bl_stats *stats, bl_error *err);
/* The second half. No other pass may begin between the two. */
bl_result tape_read(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);
/* Its buffer, for passes that are recorded: RENDER_TAPE over everything, then RENDER_TAPE_ADJOINT. */
bl_result tape_reserve(bl_job *job, const job_work_desc *w, bl_error *err);
/* An error in media, where such a pass does not know the size of its buffer. */
bl_result tape_check_recorded(const bl_job *job, bl_error *err);
bool tape_reserved(const bl_job *job, const job_work_desc *w);

#endif
