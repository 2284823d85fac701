/* SPDX-License-Identifier: BSD-3-Clause
 * The guide of directions of a job. */
#ifndef BL_API_GUIDE_H
#define BL_API_GUIDE_H

#include "api/job.h"

/* Whether the job's scene, integrator and parameters allow it, as an error. */
bl_result guide_check(const bl_job *job, bl_error *err);
/* Makes the buffers of a job whose plan has a guide; nothing is learnt yet, and nothing is guided. */
bl_result guide_make(bl_job *job, bl_error *err);
/* Before a pass: learns where the guide is not that of the job's present values and sensor. It does not
 * depend on the pass. Does nothing in jobs without one. */
bl_result guide_follow(bl_job *job, bl_error *err);

#endif
