/* SPDX-License-Identifier: BSD-3-Clause
 * What moving edges have learnt, over the steps of a fit. */
#ifndef BL_API_FIT_EDGES_H
#define BL_API_FIT_EDGES_H

#include "api/fit.h"

/* Whether the next step's edges choose by what a step before it has learnt. */
bool fit_edges_learnt(const bl_fit *fit);
/* What has been learnt, as words of a checkpoint: to them, or from them (store). */
uint32_t fit_edges_words(const bl_fit *fit);
bl_result fit_edges_move(bl_fit *fit, float *words, bool store, bl_error *err);

#endif
