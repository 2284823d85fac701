/* SPDX-License-Identifier: BSD-3-Clause
 * What lies between vertices: flights, transmittance, emission, differential ratio tracking. What the files
 * of this room share among themselves is in free_flight.h. */
#ifndef BL_RENDER_WALK_MEDIA_H
#define BL_RENDER_WALK_MEDIA_H

#include "render/integrator/walk/kernel.h"

/* free_flight.c: stretches in media. `tracked` makes values carry derivatives (or come from the frozen ones);
 * what was decided stays detached. Adjoints, where `when`: to_come is the adjoint times the radiance that the
 * whole product of factors carries, which a factor that is not zero divides out again; missing is the same
 * without the factor, for one that is zero. */
void flight_functions(walk *w); /* fills in walk.fn */
walk_flight flight_start(walk *w, const walk_position *at, ir_ref limit);
color flight_weight(walk *w, const walk_flight *fl,
                    color share); /* tracked; share: before it. Loops: not for reverse mode */
void flight_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing, arrivals *sum);
/* Transmittance by ratio tracking, or in closed form. Both move s->step on alike. */
color stretch_transmittance(walk *w, walk_stretch *s, bool tracked);
void stretch_adjoint(walk *w, walk_stretch *s, ir_ref when, color to_come, arrivals *sum);
walk_stretch stretch_in(walk *w, ir_ref medium, vec3 o, vec3 d, ir_ref limit, ir_ref sample, ir_ref key);
ir_ref stretch_key(walk *w, ir_ref event,
                   uint32_t purpose); /* purpose 0: the path's own flight, 1: light sampling */
/* The medium that a ray along d enters at a surface; `medium` where that is no boundary. */
ir_ref medium_behind(walk *w, const interaction *si, vec3 d, ir_ref medium);

/* emission.c: light that media emit. Toward the beginning of a flight's stretch, all along it; the adjoint,
 * where `when`, seeds that with `seed`, emitted being what glow_radiance gave. Only where glow_any. */
bool glow_any(const walk *w);
color glow_radiance(walk *w, const walk_flight *fl, bool tracked);
void glow_adjoint(walk *w, const walk_flight *fl, ir_ref when, color emitted, color seed, arrivals *sum);

/* transmittance.c; tracked as above. */
walk_shadow shadow_cross(walk *w, const walk_vertex *v, const walk_position *at, ir_ref wanted, bool tracked);
bool shadow_is_wanted(const walk *w); /* whether the derivative of any of that is */
void shadow_adjoint(walk *w, const walk_vertex *v, const walk_position *at, ir_ref when, color seed,
                    arrivals *sum);

/* remembered_transmittance.c: what the first walk of a sample notes for the second. Before a vertex, to w,
 * the walk of that vertex alone (again: bool, this is the second walk of its path), and after. */
void crossed_recall(walk *w, const lane *l, const walk_position *at, ir_ref again);
void crossed_keep(walk *w, const lane *l, const walk_position *at, const walk_shadow *shadow);
/* Where walk_known.recalls, what is recalled takes the place of what was crossed. wanted: bool, the light is
 * to be seen. */
void crossed_use(walk *w, walk_shadow *shadow, ir_ref wanted);

/* ---- differential_ratio_tracking.c: detours, by which the extinction's gradient at collisions is found ----
 *
 * For kernels that walk a sample (replay.c, forward.c): offer stretches while the path is walked, turn where
 * it has ended, add what came of it where the detour has ended. */

/* What a path keeps of the collision that it will go back to, and whether it has. */
typedef struct detour {
    ir_ref on;    /* bool: the path is on its detour, */
    ir_ref first; /* bool: whose first vertex, the collision itself, is next */
    ir_ref t;     /* its distance on the ray; negative: none was chosen */
    ir_ref sum; /* of the weights of all that were offered; on the detour what its light is multiplied with */
    vec3 o, d;  /* the ray, */
    ir_ref medium; /* u32: as walk_position's, */
    ir_ref depth;  /* and what else of walk_position a path needs that goes on from there */
    color share;
    color beta; /* weight of the path up to there, as large as it was before the flight */
} detour;

bool detour_any(const walk *w); /* the pass goes on detours; else none of the rest may be called */
detour detour_none(walk *w);
void state_detour(walk *w, loop_state *s, detour *k); /* loop state: visits each field */

/* Before a vertex: w, the walk of that vertex alone, gets the random numbers and the forced collision of a
 * detour. */
void detour_enter(walk *w, const detour *k);
/* Offers the stretch before a vertex, b being the throughput before it, where `when`. */
void detour_offer(walk *w, detour *k, const walk_vertex *v, const walk_position *at, const throughput *b,
                  ir_ref when);
/* After a vertex. */
void detour_passed(walk *w, detour *k);
/* bool: a path that has ended has somewhere to go back to. */
ir_ref detour_waits(walk *w, const detour *k);
/* The path goes back, where `when`. */
void detour_begin(walk *w, detour *k, walk_position *at, throughput *b, ir_ref when);
/* Where `when`, the next path begins, with nothing chosen. */
void detour_forget(walk *w, detour *k, ir_ref when);
/* What the detour's light is a factor of, per channel: albedo * extinction at the collision, tracked, with
 * what makes it an estimate. */
color detour_value(walk *w, const detour *k);

#endif
