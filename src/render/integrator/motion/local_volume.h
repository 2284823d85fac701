/* SPDX-License-Identifier: BSD-3-Clause
 * What moves vertices of volumetric walks, and what lies between them (local_volume.c). */
#ifndef BL_RENDER_SWAY_H
#define BL_RENDER_SWAY_H

#include "render/integrator/motion/attached_path.h"

/* ---- local_volume.c ---- */

/* Tracked: what a point of the shape `target` (its record; 0: held) moves by, and a normal there (or NULL; as
 * long as areas grow), which in derivatives is as it was. */
vec3 sway_target_moved(walk *w, ir_ref target, vec3 point, vec3 *n);

/* The tracked numbers, those of a derivative that all else is made of. */
enum { SWAY_NUMBERS = 12 };
uint32_t sway_pack(const walk_sway *s, ir_ref out[SWAY_NUMBERS]);

/* ---- local_volume_values.c ---- */

/* Tracked: the surface at a hit; uv, direction and `on` of light that the ray has found; where a sampled
 * light is seen from; arguments of walk_values. */
two_surfaces sway_surface(walk *w, const walk_hit *hit, const walk_sway *s);
bool sway_emission(walk *w, walk_light *light);
void sway_reference(walk *w, walk_light *light, ir_ref *in);
void sway_arguments(walk *w, const walk_vertex *v, const walk_light *light, ir_ref *in, uint32_t count,
                    motion_factors *by);

#endif
