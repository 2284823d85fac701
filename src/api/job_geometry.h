/* SPDX-License-Identifier: BSD-3-Clause
 * Geometry of a job that changes, and what follows from it. */
#ifndef BL_API_JOB_GEOMETRY_H
#define BL_API_JOB_GEOMETRY_H

#include "api/job.h"

/* Sets new values of geometry. They must be finite. */
bl_result geometry_set(bl_job *job, uint32_t parameter, const float *values, bl_error *err);
bl_result geometry_get(bl_job *job, uint32_t parameter, float *values, bl_error *err);
/* Before a pass: brings up to date whatever follows from geometry that has changed. */
bl_result geometry_follow(bl_job *job, bl_stats *stats, bl_error *err);
/* Of derived normals: those of the frozen values, gradients on to positions, tangents. */
bl_result geometry_freeze(bl_job *job, bl_stats *stats, bl_error *err);
bl_result geometry_adjoint(bl_job *job, bl_stats *stats, bl_error *err);
bl_result geometry_tangent(bl_job *job, bl_stats *stats, bl_error *err);
void geometry_destroy(bl_job *job);

#endif
