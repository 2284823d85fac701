/* SPDX-License-Identifier: BSD-3-Clause
 * What moves vertices of volumetric walks, and what lies between them (local_volume.c). */
#ifndef BL_RENDER_SWAY_H
#define BL_RENDER_SWAY_H

#include "render/integrator/motion/attached_path.h"
#include "render/integrator/walk/kernel.h"

/* How a ray moves, tracked: what stands on it at a distance from where it begins, by shift + turn *
 * distance. */
typedef struct sway_line {
    vec3 shift, turn;
} sway_line;

/* What stands at a distance along a ray moves by. */
static inline vec3 sway_along(tracer *t, vec3 shift, vec3 turn, ir_ref distance)
{
    return v3_add(t, shift, v3_scale(t, turn, distance));
}

/* ---- local_volume.c ---- */

/* Before a visit's light is chosen: v->sway, and what follows from it. */
void sway_visit(walk *w, walk_vertex *v, const walk_position *at);
/* Where the ray that goes on comes to its next vertex: v->next_reach, next_n. */
void sway_ahead(walk *w, walk_vertex *v, const walk_position *at);
/* What the next position knows of this vertex. */
void sway_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive, walk_position *next);
void sway_none(walk *w, walk_position *at);
void state_sway(const walk *w, loop_state *s, walk_position *at); /* loop state: what walk.sways adds */

/* Tracked: what a point of the shape `target` (its record; 0: held) moves by, and a normal there (or NULL; as
 * long as areas grow), which in derivatives is as it was. */
vec3 sway_target_moved(walk *w, ir_ref target, vec3 point, vec3 *n);

/* The tracked numbers, those of a derivative that all else is made of. */
enum { SWAY_NUMBERS = 12 };
uint32_t sway_pack(const walk_sway *s, ir_ref out[SWAY_NUMBERS]);

/* ---- local_volume_values.c ---- */

/* Tracked: the surface at a hit; uv, direction and `on` of light that the ray has found; where a sampled
 * light is seen from; arguments of walk_values. */
typedef struct two_surfaces {
    interaction now, before; /* as it is moved; as it was met, which differs in frozen evaluations alone */
} two_surfaces;
two_surfaces sway_surface(walk *w, const walk_hit *hit, const walk_sway *s);
void sway_emission(walk *w, walk_light *light);
vec3 sway_reference(walk *w, const walk_light *light);
void sway_arguments(walk *w, const walk_vertex *v, vec3 to_light, ir_ref *in, uint32_t count,
                    ir_ref *sample_factor);

/* ---- local_volume.c: toward lights ---- */

/* A shadow ray. */
enum { SWAY_LINE_NUMBERS = 6 };
uint32_t sway_line_pack(const sway_line *l, ir_ref out[SWAY_LINE_NUMBERS]);
sway_line sway_to_light(walk *w, const walk_vertex *v);
/* The stretch on it from `origin` (a distance), where it has gone through `near`, to `far`, or, if that is
 * not there, as long as it is; length: as it was. */
walk_motion sway_between(walk *w, const sway_line *l, const walk_border *near, const walk_border *far,
                         vec3 start, vec3 d, ir_ref origin, ir_ref length);
/* Of shadow rays: surfaces that cross them. start: where the ray begins; d: unit. */
walk_border border_none(walk *w);
walk_border border_of(walk *w, const walk_hit *hit, vec3 n, vec3 start, vec3 d);
void state_border(const walk *w, loop_state *s, walk_border *b);

#endif
