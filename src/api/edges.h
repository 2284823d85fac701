/* SPDX-License-Identifier: BSD-3-Clause
 * Moving edges, as passes behind a gradient or a forward pass (docs/theory/edges.md). */
#ifndef BL_API_EDGES_H
#define BL_API_EDGES_H

#include "api/job_dispatch.h"

/* Adds what moving edges contribute to the gradient, or to the image's derivative, if edges_wanted. They have
 * at most as many samples as w, or (own_counts) as the scene's integrator says, and random numbers of
 * their own. */
bl_result edges_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err);
/* Behind a forward pass: adds the part of it that was splatted to the image (host memory; NULL is fine). */
bl_result edges_add_splats(bl_job *job, float *image, bl_stats *stats, bl_error *err);

/* The parts of edges_run, for passes that are recorded. */
bool edges_wanted(const bl_job *job, const job_work_desc *w);
job_work_desc edges_work(const bl_job *job, const job_work_desc *w, uint32_t k); /* of pass k */
/* Pass number k, 0 to EDGES_PASSES - 1, of those behind a gradient or (forward) a forward pass. False: it has
 * nothing to find in the scene. */
enum { EDGES_PASSES = 3 };
bool edges_pass(const bl_job *job, bool forward, uint32_t k, render_pass *pass);
/* What all these passes need besides their kernels: makes it, and says whether it is there. */
bl_result edges_prepare(bl_job *job, bl_error *err);
bool edges_prepared(const bl_job *job);
/* Appends the run in which pass k learns where edges matter, and the table that follows from it. All passes
 * learn before the first of them runs: they share samples by what they have learnt. */
void edges_record_learning(bl_job *job, const job_work_desc *w, render_pass pass, uint32_t k);
/* The words of BUFFER_VALUES in which all passes have what they have learnt; count is 0 where nothing moves.
 */
typedef struct edges_tables {
    uint32_t first, count;
} edges_tables;
edges_tables edges_tables_of(const bl_job *job);

#endif
