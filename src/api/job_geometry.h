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
/* Of derived normals: those of the frozen values; tangents. */
bl_result geometry_freeze(bl_job *job, bl_stats *stats, bl_error *err);
bl_result geometry_tangent(bl_job *job, bl_stats *stats, bl_error *err);
/* For passes that are recorded, with these parameters changed by commands before them; gradient: there are
 * gradient passes among them. Makes what they need, and new trees where refitting has made the old ones bad;
 * says whether it is there. */
typedef struct geometry_changes {
    const uint32_t *parameters;
    uint32_t count;
    bool gradient;
} geometry_changes;
bl_result geometry_prepare(bl_job *job, geometry_changes c, bl_error *err);
bool geometry_prepared(const bl_job *job, geometry_changes c);
/* To the job's batch: what geometry_follow does, but for new trees; gradients by derived normals on to
 * positions. */
void geometry_record_follow(bl_job *job);
void geometry_record_adjoint(bl_job *job);
/* Where a geometric parameter that is not among the values stands: words of the scene buffer. */
uint64_t geometry_place(const bl_job *job, uint32_t parameter);
/* Fails where the values of geometry are not set, because they follow something else. */
bl_result geometry_check(const bl_job *job, uint32_t parameter, bl_error *err);
void geometry_destroy(bl_job *job);

#endif
