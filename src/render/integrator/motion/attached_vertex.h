/* SPDX-License-Identifier: BSD-3-Clause
 * A vertex of an attached path as a function of the ray that leads to it (docs/theory/attached_replay.md):
 * what attached_path.c and attached_lobe.c share. */
#ifndef BL_RENDER_ATTACHED_VERTEX_H
#define BL_RENDER_ATTACHED_VERTEX_H

#include "render/integrator/motion/motion.h"

/* A vertex as a function of its ray. */
typedef struct ray_vertex {
    interaction si;
    vec3 o, d; /* the ray; d is detached unless the link is RAY. Where it has bent, o is the beginning of its
                  last straight stretch, and d is where it leads in the end */
    color thickness, emitted; /* where walk.bends_lit: as in walk_curve */
} ray_vertex;

/* The same vertex twice: now, by the values that are differentiated (or frozen), and before, by the values
 * that decide the path. The two differ in frozen evaluations only. */
typedef struct two_vertices {
    ray_vertex now, before;
    /* Where walk.media: by which factor the ray's way to the surface grows, and how far the surface slides
     * along the ray. */
    ir_ref growth, slide;
} two_vertices;

/* Meets a vertex anew, as a function of the ray by which it was reached. */
two_vertices attached_look(walk *w, const walk_arrival *way);
ray_vertex attached_look_now(walk *w, const walk_arrival *way); /* its `now` alone */

/* For light tracing: where the sample of v leads from x, a vertex met anew: where it moves with its lobe, to
 * that direction, differentiated, else along `held`. All are unit vectors of the world. *eta: the relative
 * index of refraction along it. */
vec3 attached_direction(walk *w, const walk_vertex *v, const ray_vertex *x, vec3 held, ir_ref *eta);

/* bool: the link is `is`. LINK_ATTACHED counts as LINK_RAY, too. */
ir_ref link_is(walk *w, ir_ref link, enum walk_link is);

/* ---- attached_volume.c: functions of walk_motion_class in volumetric walks ---- */

void attached_stands(walk *w, walk_vertex *v, const walk_position *at);
/* Finds to what the ray that goes on from a vertex that moves comes. The link is not chosen yet. */
void attached_look_through(walk *w, walk_vertex *v, const walk_position *at);
ray_motion attached_to_light(walk *w, const walk_vertex *v);

#endif
