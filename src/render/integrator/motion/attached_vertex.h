/* SPDX-License-Identifier: BSD-3-Clause
 * A vertex of an attached path as a function of the ray that leads to it (docs/theory/attached_replay.md):
 * what attached_path.c and attached_lobe.c share. */
#ifndef BL_RENDER_ATTACHED_VERTEX_H
#define BL_RENDER_ATTACHED_VERTEX_H

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

/* bool: how the vertex depends on the ray that leads to it. */
ir_ref link_is(walk *w, ir_ref link, enum walk_link is);

#endif
