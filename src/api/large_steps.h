/* SPDX-License-Identifier: BSD-3-Clause
 * Large steps within a fit. */
#ifndef BL_API_LARGE_STEPS_H
#define BL_API_LARGE_STEPS_H

#include "api/fit.h"

bl_result large_steps_create(bl_fit *fit, const bl_fit_desc *desc, bl_error *err);
void large_steps_destroy(bl_fit *fit);
/* Moves parameter k of the job. factor: by which the rate is multiplied in this step. */
bl_result large_steps_move(bl_fit *fit, uint32_t k, double factor, bl_fit_status *status, bl_error *err);

#endif
