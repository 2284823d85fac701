/* SPDX-License-Identifier: BSD-3-Clause
 * How many samples the steps of a fit have. */
#ifndef BL_API_FIT_SAMPLES_H
#define BL_API_FIT_SAMPLES_H

#include "api/fit.h"

/* Whether steps have other numbers of samples than the first; the largest factor of the schedule, at least 1.
 */
bool fit_samples_change(const bl_fit_desc *desc);
double fit_samples_most(const bl_fit_desc *desc);
/* Those of the first step; refuses what cannot be. */
bl_result fit_samples_create(bl_fit *fit, bl_error *err);
void fit_samples_destroy(bl_fit *fit);
/* Those of a step by the schedule, if it changes them; the scale is the caller's to set. */
void fit_samples_schedule(bl_fit *fit, uint32_t step);
/* Those of the next step, by the schedule, or from the gradient that has just been found and those before;
 * the scale is the caller's to set. */
bl_result fit_samples_follow(bl_fit *fit, bl_error *err);
/* What they follow from, as words of a checkpoint: to them, or from them (store). */
uint32_t fit_samples_words(const bl_fit *fit);
void fit_samples_move(bl_fit *fit, float *words, bool store);

#endif
