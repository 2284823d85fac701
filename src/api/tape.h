/* SPDX-License-Identifier: BSD-3-Clause
 * The gradient pass of METHOD_TAPE. */
#ifndef BL_API_TAPE_H
#define BL_API_TAPE_H

#include "api/job_dispatch.h"

/* Runs the prepared pass. No other pass may begin before it is over. */
bl_result tape_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);
/* Its buffer, for passes that are recorded: RENDER_TAPE over everything, then RENDER_TAPE_ADJOINT. */
bl_result tape_reserve(bl_job *job, const job_work_desc *w, bl_error *err);
bool tape_reserved(const bl_job *job, const job_work_desc *w);

#endif
