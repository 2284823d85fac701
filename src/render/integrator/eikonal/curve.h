/* SPDX-License-Identifier: BSD-3-Clause
 * Rays of a walk that bend: through a medium with an index of refraction that varies, up to the first surface
 * that they meet (docs/theory/gradient_index.md). Only where walk.bends. */
#ifndef BL_RENDER_EIKONAL_CURVE_H
#define BL_RENDER_EIKONAL_CURVE_H

#include "render/integrator/eikonal/ray.h"
#include "render/integrator/walk/kernel.h"

/* Fills in the functions of media that bend rays. */
void eikonal_functions(walk *w);
/* bool: the medium, a word of the scene buffer or 0, bends rays. */
ir_ref eikonal_bends(walk *w, ir_ref medium);
/* What walk_intersect does, along a ray that may bend. Sets v->met, whose ray is the last straight stretch,
 * and v->curve. at->d becomes the direction in which the ray arrives. */
interaction eikonal_intersect(walk *w, walk_position *at, walk_vertex *v);

/* What the way to a vertex does to light. */
typedef struct eikonal_passage {
    color emitted; /* radiance that arrives at its beginning */
    color left;    /* share of the light from its end that arrives there */
} eikonal_passage;
eikonal_passage eikonal_passed(walk *w, const walk_curve *way);

/* ---- differentiated: the ray begins at from.o with the direction from.d, which may move ---- */

/* The last straight stretch. Its d is of unit length. */
eikonal_state eikonal_last_stretch(walk *w, const walk_curve *c, walk_ray from);
/* The ray at the point p of that stretch. v is of unit length. */
eikonal_arrival eikonal_arrives(walk *w, const walk_curve *c, const eikonal_state *s, vec3 p);

#endif
