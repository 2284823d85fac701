/* SPDX-License-Identifier: BSD-3-Clause
 * Vertices as functions of the rays that lead to them: what attached_path.c and attached_lobe.c share. */
#ifndef BL_RENDER_ATTACHED_PATH_H
#define BL_RENDER_ATTACHED_PATH_H

#include "render/integrator/motion/motion.h"

/* A vertex as a function of its ray. */
typedef struct ray_vertex {
    interaction si;
    vec3 o, d; /* the ray; of links that are not RAY, d is detached */
} ray_vertex;

/* As the values that are differentiated (or frozen) have it, and as those have it that decide the path, which
 * is the same but for frozen evaluations. */
typedef struct two_vertices {
    ray_vertex now, before;
} two_vertices;

two_vertices attached_look(walk *w, const walk_arrival *way);

/* As walk_shifted (walk.h). */
vec3 shifted3(walk *w, ir_ref condition, vec3 at, vec3 now, vec3 before);
vec2 shifted2(walk *w, ir_ref condition, vec2 at, vec2 now, vec2 before);                  /* detaches `at` */
void shifted_surface(walk *w, ir_ref condition, surface *on, surface now, surface before); /* in place */
/* now / before, where condition and `before` is not 0; else 1. */
ir_ref attached_ratio(walk *w, ir_ref condition, ir_ref now, ir_ref before);

#endif
