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

bool emission_any(const walk *w); /* coefficients.c: some medium of the plan emits */

/* emission.c: light that media emit toward the beginning of a flight's stretch, all along it. The adjoint
 * seeds it with `seed` where `when`; emitted: what emission_radiance gave. Only where emission_any. */
color emission_radiance(walk *w, const walk_flight *fl, bool tracked);
void emission_adjoint(walk *w, const walk_flight *fl, ir_ref when, color emitted, color seed, arrivals *sum);

/* transmittance.c; tracked as above. */
walk_shadow shadow_cross(walk *w, const walk_vertex *v, const walk_position *at, ir_ref wanted, bool tracked);
bool shadow_is_wanted(const walk *w); /* whether the derivative of any of that is */
void shadow_adjoint(walk *w, const walk_vertex *v, const walk_position *at, ir_ref when, color seed,
                    arrivals *sum);

/* remembered_transmittance.c: what the first walk of a sample notes for the second. Before a vertex, to w,
 * the walk of that vertex alone (again: bool, this is the second walk of its path), and after. */
void transmittance_recall(walk *w, const lane *l, const walk_position *at, ir_ref again);
void transmittance_remember(walk *w, const lane *l, const walk_position *at, const walk_shadow *shadow);
/* Where walk_known.recalls, what is recalled takes the place of what was crossed. wanted: bool, the light is
 * to be seen. */
void transmittance_use(walk *w, walk_shadow *shadow, ir_ref wanted);

/* ---- differential_ratio_tracking.c ----
 *
 * A DRT path finds the derivative by the extinction at collisions. It starts from a point of a path that has
 * ended. For kernels that walk a sample (replay.c, forward.c): they offer stretches while they walk the path,
 * start the DRT path where the path has ended, and add the result where the DRT path has ended. */

/* The point that a path has chosen for its DRT path, and whether it walks that now. */
typedef struct drt_path {
    ir_ref on;     /* bool: the DRT path is walked */
    ir_ref first;  /* bool: its first vertex, the chosen collision, is next */
    ir_ref t;      /* distance of the collision along the ray; negative: none was chosen */
    ir_ref sum;    /* weights of all candidates; while `on`, the factor of the light that is found */
    vec3 o, d;     /* the ray */
    ir_ref medium; /* u32: as in walk_position */
    ir_ref depth;  /* u32: as in walk_position */
    color share;   /* as in walk_position */
    color beta;    /* throughput before the flight that led there */
} drt_path;

bool drt_any(const walk *w); /* the pass goes on DRT paths; else none of the rest may be called */
drt_path drt_none(walk *w);
void state_drt(walk *w, loop_state *s, drt_path *k); /* loop state: visits each field */

/* Before a vertex: tells w, the walk of that vertex alone, the DRT path's random numbers and its forced
 * collision. */
void drt_enter(walk *w, const drt_path *k);
/* Offers the stretch before a vertex, b being the throughput before it, where `when`. */
void drt_offer(walk *w, drt_path *k, const walk_vertex *v, const walk_position *at, const throughput *b,
               ir_ref when);
/* After a vertex. */
void drt_passed(walk *w, drt_path *k);
/* bool: the path has chosen a point where its DRT path starts. */
ir_ref drt_waits(walk *w, const drt_path *k);
/* Starts the DRT path, where `when`. */
void drt_begin(walk *w, drt_path *k, walk_position *at, throughput *b, ir_ref when);
/* Where `when`, the next path begins, with nothing chosen. */
void drt_forget(walk *w, drt_path *k, ir_ref when);
/* What the DRT path's light is a factor of, per channel: albedo * extinction at the collision, tracked, with
 * what makes it an estimate. */
color drt_value(walk *w, const drt_path *k);

#endif
