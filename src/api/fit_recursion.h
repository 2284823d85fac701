/* SPDX-License-Identifier: BSD-3-Clause
 * Recursive control variates between the steps of a fit. */
#ifndef BL_API_FIT_RECURSION_H
#define BL_API_FIT_RECURSION_H

#include "api/fit.h"

bl_result fit_recursion_create(bl_fit *fit, bl_error *err);
void fit_recursion_destroy(bl_fit *fit);
/* The film has the image of a view: makes the job's image of it and of those of the steps before. */
bl_result fit_recursion_combine(bl_fit *fit, uint32_t view, bl_error *err);
/* Before the parameters move: renders what the next step corrects its images with. */
bl_result fit_recursion_follow(bl_fit *fit, bl_fit_status *s, bl_error *err);
/* What the next step needs, as words of a checkpoint: to them, or from them (store). */
uint32_t fit_recursion_words(const bl_fit *fit);
void fit_recursion_move(bl_fit *fit, float *words, bool store);

#endif
