/* SPDX-License-Identifier: BSD-3-Clause
 * What points move by, as parameters change: 0 in value, with the derivative of the point; in frozen
 * evaluations the difference (docs/theory/moving_geometry.md). */
#ifndef BL_RENDER_MOTION_DISPLACEMENT_H
#define BL_RENDER_MOTION_DISPLACEMENT_H

#include "render/integrator/motion/motion.h"

ir_ref displacement(walk *w, ir_ref now, ir_ref was);
vec3 displacement3(walk *w, vec3 now, vec3 was);
/* Differentiated: what a point of the shape `target` (its record; 0: held) moves by, and a normal there (or
 * NULL; as long as areas grow), which in derivatives is as it was. */
vec3 target_displacement(walk *w, ir_ref target, vec3 point, vec3 *n);

#endif
