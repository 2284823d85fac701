/* SPDX-License-Identifier: BSD-3-Clause
 * Which parameters have no gradient with the scene's integrator, and why. */
#ifndef BL_API_DIFFERENTIABILITY_H
#define BL_API_DIFFERENTIABILITY_H

#include "render/render_scene.h"

/* The reason why a parameter has no gradient with the scene's integrator, or NULL if it has one. */
const char *differentiability_obstacle(const render_scene *s, uint32_t parameter);
/* Whether the parameter turns an environment light. */
bool parameter_turns_environment(const render_scene *s, uint32_t parameter);

#endif
