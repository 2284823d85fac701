/* SPDX-License-Identifier: BSD-3-Clause
 * Values of a vertex after it has moved. These functions do for vectors, surfaces and ratios what
 * walk_shifted (walk/walk.h) does for numbers. In derivatives the result has the value of `at` and the
 * derivative of `now`. In frozen evaluations it is at + now - before. Where `condition` (bool) does not hold,
 * it is `at`. */
#ifndef BL_RENDER_MOTION_SHIFTED_H
#define BL_RENDER_MOTION_SHIFTED_H

#include "render/integrator/motion/motion.h"

vec3 shifted3(walk *w, ir_ref condition, vec3 at, vec3 now, vec3 before);
/* shifted2 detaches `at`. */
vec2 shifted2(walk *w, ir_ref condition, vec2 at, vec2 now, vec2 before);
/* *on: in, `at`; out, the result. */
void shifted_surface(walk *w, ir_ref condition, surface *on, surface now, surface before);
/* now / before, where condition holds and `before` is not 0; else 1. In derivatives its value is 1, too. */
ir_ref shifted_ratio(walk *w, ir_ref condition, ir_ref now, ir_ref before);

#endif
