/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of the local convention in volumes call of each other: local_volume.c has the motion,
 * local_volume_values.c the values at vertices that have moved. */
#ifndef BL_RENDER_LOCAL_VOLUME_H
#define BL_RENDER_LOCAL_VOLUME_H

#include "render/integrator/motion/motion.h"

/* ---- local_volume.c ---- */

/* The differentiated numbers of a segment's motion. Derivatives of a vertex are derivatives by these.
 * segment_pack writes them to `out` and returns how many there are. */
enum { SEGMENT_NUMBERS = 12 };
uint32_t segment_pack(const segment_motion *s, ir_ref out[SEGMENT_NUMBERS]);
/* How the shadow ray of v moves, whose vertex moves by `moved`. */
ray_motion volume_line_to_light(walk *w, const walk_vertex *v, vec3 moved);
/* How a stretch of a shadow ray moves, whose ray moves by l. */
stretch_motion volume_between(walk *w, const ray_motion *l, const ray_stretch *s);

/* ---- local_volume_values.c ---- */

/* All of these compute differentiated values; they are functions of walk_motion_class. */
/* The arguments of bsdf_through at a hit of a shadow ray. */
void volume_through(walk *w, const walk_hit *hit, const segment_motion *s, bsdf_color_arguments *a);
/* uv, direction and `on` of a light that the ray has found. */
bool volume_emission(walk *w, walk_light *light);
/* The point from which a sampled light is seen. */
void volume_light_reference(walk *w, walk_light *light, emitter_moved_arguments *a);
/* The arguments of bsdf_value. */
void volume_arguments(walk *w, const walk_vertex *v, const walk_light *light, bsdf_value_arguments *a,
                      motion_factors *by);

#endif
