/* SPDX-License-Identifier: BSD-3-Clause
 * Moving edges over the steps of a fit: when they learn, and how many samples they have. */
#ifndef BL_API_FIT_EDGES_H
#define BL_API_FIT_EDGES_H

#include "api/fit.h"

bl_result fit_edges_create(bl_fit *fit, bl_error *err);
void fit_edges_destroy(bl_fit *fit);
/* Whether the next step's edges choose by what a step before it has learnt. */
bool fit_edges_learnt(const bl_fit *fit);
/* Samples of a pass of edges in the next step; 0: the usual number. */
uint32_t fit_edges_samples(const bl_fit *fit);
/* Whether the step looks how noisy its gradient is, and what of that is from edges. */
bool fit_edges_due(const bl_fit *fit);
/* Looks at the gradient that has just been found, by the pass `step`; it stays. */
bl_result fit_edges_look(bl_fit *fit, const job_work_desc *step, bl_error *err);
/* What next steps need of it, as words of a checkpoint: to them, or from them (store). */
uint32_t fit_edges_words(const bl_fit *fit);
bl_result fit_edges_move(bl_fit *fit, float *words, bool store, bl_error *err);

#endif
