/* SPDX-License-Identifier: BSD-3-Clause
 * Weights of multiple importance sampling between paths that begin at the sensor and paths that begin at
 * lights, where an integrator has both (walk.multiplexed). */
#ifndef BL_RENDER_TECHNIQUE_WEIGHTS_H
#define BL_RENDER_TECHNIQUE_WEIGHTS_H

#include "render/integrator/path/light_path.h"

/* Multiplies the weights of the light that a path from the sensor has met, and of the one that it has
 * sampled, by the share of its technique. *reach (f32): of the path so far, 0 before its first vertex; it
 * becomes that of the path behind v. */
void technique_weigh_visit(walk *w, const walk_position *at, walk_vertex *v, ir_ref *reach);

/* What of a path from a light is needed at its later vertices: the densities of both ways of the path from
 * the sensor to come to the light, over that of paths from the light; `reach` is left out of both. */
typedef struct technique_light {
    ir_ref met, sampled; /* f32; `sampled` at the light itself: for a distance and a density of 1 */
    ir_ref far;          /* bool: the light is infinitely far */
} technique_light;
technique_light technique_light_start(walk *w);
void state_technique(loop_state *s, technique_light *l);
/* The share (f32, in [0, 1]) of paths from lights in v's splat, which is 0 at the light itself: what the
 * sensor sees directly is left to its own paths. at: the position before v. Updates *l. */
ir_ref technique_weigh_splat(walk *w, const light_position *at, const light_vertex *v, technique_light *l);

#endif
