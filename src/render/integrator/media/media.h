/* SPDX-License-Identifier: BSD-3-Clause
 * What lies between vertices: free flights, transmittance, emission, differential ratio tracking. What only
 * the files of this room share is in free_flight.h. */
#ifndef BL_RENDER_WALK_MEDIA_H
#define BL_RENDER_WALK_MEDIA_H

#include "render/integrator/walk/kernel.h"

/* free_flight.c: stretches in media. `differentiated` asks for differentiated values; what was sampled stays
 * detached. Adjoints run where `when`. to_come is the adjoint times the radiance that the product of all
 * factors carries: over a factor that is not zero, it is that factor's adjoint. missing is the same without
 * the factor: it is the adjoint of a factor that is zero. */
void medium_functions(walk *w); /* medium_functions.c: fills in walk.fn */
/* How far the ray to the next surface has to go: not behind where the flight collides at the latest. */
ir_ref flight_reach(walk *w, const walk_position *at);
walk_flight flight_start(walk *w, const walk_position *at, ir_ref limit);
/* Differentiated; share: before the flight. */
color flight_weight(walk *w, const walk_flight *fl, color share);
void flight_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing, arrivals *sum);
/* Transmittance, by ratio tracking, which advances s->step, or in closed form; and its adjoint. */
color stretch_transmittance(walk *w, walk_stretch *s, bool differentiated);
void stretch_adjoint(walk *w, const walk_stretch *s, ir_ref when, color to_come, arrivals *sum);
walk_stretch stretch_in(walk *w, ir_ref medium, vec3 o, vec3 d, ir_ref limit, ir_ref sample, ir_ref key);
/* Where the ray of a stretch enters and leaves the box of its medium's grid: faces of the box, which stand
 * still. valid: the stretch, which is `there`, crosses the face. distance: along the stretch. */
void stretch_faces(walk *w, const walk_stretch *s, ir_ref there, walk_border *enters, walk_border *leaves);
/* Names the random numbers of a stretch; purpose 0: the path's own flight, 1: light sampling. */
ir_ref stretch_key(walk *w, ir_ref event, uint32_t purpose);
/* The scattering coefficient at a distance on a ray in a medium (as in walk_position), detached; 0 in none.
 */
color medium_scattering(walk *w, ir_ref medium, vec3 o, vec3 d, ir_ref distance);
/* The medium that a ray along d enters at a surface; `medium` if the surface is no boundary of media. */
ir_ref medium_behind(walk *w, const interaction *si, vec3 d, ir_ref medium);

bool emission_any(const walk *w); /* coefficients.c: some medium of the plan emits */

/* emission.c, only where emission_any: light that the medium emits along a flight's stretch, toward its
 * beginning. The adjoint backpropagates `seed` where `when`; emitted: the detached result of
 * emission_radiance. */
color emission_radiance(walk *w, const walk_flight *fl, bool differentiated);
void emission_adjoint(walk *w, const walk_flight *fl, ir_ref when, color emitted, color seed, arrivals *sum);

/* transmittance.c; differentiated as above. */
walk_shadow shadow_cross(walk *w, const walk_vertex *v, const walk_position *at, ir_ref wanted,
                         bool differentiated);
/* bool: shadow rays go through the surface, or may for other values. */
ir_ref surface_passes(walk *w, const interaction *si);
bool shadow_is_wanted(const walk *w);   /* some requested parameter changes that transmittance */
bool shadow_draws_point(const walk *w); /* its derivative is that at walk_shadow.point */
void shadow_adjoint(walk *w, const walk_vertex *v, const walk_position *at, ir_ref when, color seed,
                    arrivals *sum);

/* remembered_transmittance.c: what the first walk of a sample stores for the second. `recall` is called
 * before a vertex with the copy of the walk for that vertex (again: bool, this is the second walk),
 * `remember` after. */
void transmittance_recall(walk *w, const lane *l, const walk_position *at, ir_ref again);
void transmittance_remember(walk *w, const lane *l, const walk_position *at, const walk_shadow *shadow);
/* Only where walk_known.recalls: the recalled transmittance replaces *shadow. wanted: bool, the light is
 * visible in the first walk. */
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
/* What the DRT path's light is a factor of, per channel: albedo * extinction at the collision,
 * differentiated, with what makes it an estimate. */
color drt_value(walk *w, const drt_path *k);

#endif
