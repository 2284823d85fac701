/* SPDX-License-Identifier: BSD-3-Clause
 * Means of a fit's values over steps. */
#ifndef BL_API_FIT_AVERAGE_H
#define BL_API_FIT_AVERAGE_H

#include "api/fit.h"

bl_result fit_average_create(bl_fit *fit, bl_error *err);
void fit_average_destroy(bl_fit *fit);
/* Takes the values after a step into the means. */
bl_result fit_average_follow(bl_fit *fit, uint32_t step, bl_error *err);
/* As words of a checkpoint: to them, or from them (store). */
uint32_t fit_average_words(const bl_fit *fit);
void fit_average_move(bl_fit *fit, float *words, bool store);

#endif
