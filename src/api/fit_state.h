/* SPDX-License-Identifier: BSD-3-Clause
 * What a fit's next steps depend on. */
#ifndef BL_API_FIT_STATE_H
#define BL_API_FIT_STATE_H

#include "api/fit.h"
#include "api/scene.h"

/* Hashes the caller's descriptor as it is, and what is in the fit's buffers. */
bl_result fit_identify(bl_fit *fit, const bl_scene *scene, const bl_fit_desc *desc, bl_error *err);

#endif
