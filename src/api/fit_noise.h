/* SPDX-License-Identifier: BSD-3-Clause
 * The noise of a fit's gradients, from two of the same values. */
#ifndef BL_API_FIT_NOISE_H
#define BL_API_FIT_NOISE_H

#include "api/fit.h"

bl_result fit_noise_create(bl_fit *fit, bl_error *err);
void fit_noise_destroy(bl_fit *fit);
/* Brings the gradient that has just been found to the host: as many values as the job's gradient has. */
bl_result fit_take_gradient(bl_fit *fit, float *gradient, bl_error *err);
/* Whether the next step's gradient is to be found twice. */
bool fit_noise_due(const bl_fit *fit);
/* Keeps the gradient that has just been found, the second one. */
bl_result fit_noise_keep(bl_fit *fit, bl_error *err);
/* Compares the gradient that has just been found with the one that was kept, if there is one. */
bl_result fit_noise_compare(bl_fit *fit, bl_error *err);

#endif
