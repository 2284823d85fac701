/* SPDX-License-Identifier: BSD-3-Clause
 * What moves vertices of volumetric walks, and what lies between them (local_volume.c). */
#ifndef BL_RENDER_LOCAL_VOLUME_H
#define BL_RENDER_LOCAL_VOLUME_H

#include "render/integrator/motion/motion.h"

/* ---- local_volume.c ---- */

/* The differentiated numbers, those of a derivative that all else is made of. */
enum { SEGMENT_NUMBERS = 12 };
uint32_t segment_pack(const segment_motion *s, ir_ref out[SEGMENT_NUMBERS]);

/* ---- local_volume_values.c ---- */

/* Differentiated: arguments of bsdf_through at a hit of a shadow ray; uv, direction and `on` of light that
 * the ray has found; where a sampled light is seen from; arguments of bsdf_value. */
void volume_through(walk *w, const walk_hit *hit, const segment_motion *s, bsdf_color_arguments *a);
bool volume_emission(walk *w, walk_light *light);
void volume_light_reference(walk *w, walk_light *light, emitter_moved_arguments *a);
void volume_arguments(walk *w, const walk_vertex *v, const walk_light *light, bsdf_value_arguments *a,
                      motion_factors *by);

#endif
