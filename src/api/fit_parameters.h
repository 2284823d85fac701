/* SPDX-License-Identifier: BSD-3-Clause
 * The parameters of a fit, as its descriptor asks for them and as its job has them. */
#ifndef BL_API_FIT_PARAMETERS_H
#define BL_API_FIT_PARAMETERS_H

#include "api/fit.h"

/* The names of the parameters that the job of a fit requests, and in `asked` whose they are. free() both. The
 * names are the descriptor's and the scene's. On failure the context has the text, and nothing is to be
 * freed. */
bl_result fit_name_parameters(const bl_scene *scene, const bl_fit_desc *desc, const char ***names,
                              uint32_t *count, fit_asked **asked);
/* Rates, bounds and penalties of the job's parameters, and their initial values. */
bl_result fit_set_parameters(bl_fit *fit, const bl_fit_desc *desc, bl_error *err);
/* Current values of parameter k of the descriptor. */
bl_result fit_get_parameter(bl_fit *fit, uint32_t k, float *values);

#endif
