/* SPDX-License-Identifier: BSD-3-Clause
 * Displacements of points as parameters change (docs/theory/moving_geometry.md). In derivatives a
 * displacement has the value 0 and the derivative of the point. In frozen evaluations it is the difference of
 * the two points. */
#ifndef BL_RENDER_MOTION_DISPLACEMENT_H
#define BL_RENDER_MOTION_DISPLACEMENT_H

#include "render/integrator/motion/motion.h"

/* now: differentiated; was: of the values that decide the path. */
ir_ref displacement(walk *w, ir_ref now, ir_ref was);
vec3 displacement3(walk *w, vec3 now, vec3 was);
/* The displacement, differentiated, of a point of the shape whose record is `target`. If target is 0, the
 * point is held. n: a normal at the point, or NULL. It moves with the shape, and its length is the factor by
 * which areas grow. In derivatives its value stays as it was. */
vec3 target_displacement(walk *w, ir_ref target, vec3 point, vec3 *n);

#endif
