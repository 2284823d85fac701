/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of path replay: replay.c (the loop of both walks), replay_vertex.c (one vertex in the order of
 * the path), attached_replay.c (vertices in the order of chains, where one needs the one after it),
 * attached_inversion.c (the same by Jacobians),
 * radiative_backpropagation.c (radiance estimated anew). What one vertex contributes, and its derivative, is
 * in path/adjoint.c. */
#ifndef BL_RENDER_REPLAY_H
#define BL_RENDER_REPLAY_H

#include "render/integrator/kernels/kernels.h"
#include "render/integrator/path/adjoint.h"

/* ---- attached_replay.c ---- */

void state_chain(walk *w, loop_state *s, replay_chain *c); /* loop state: visits each field */
replay_chain chain_none(walk *w);
kept_rows chain_make_rows(walk *w);
ir_ref chain_fresh(walk *w, const replay_state *p);       /* bool: phase 0 or phase 1 of a path begins */
void chain_begin(walk *w, replay_state *p, ir_ref fresh); /* at its first vertex */
/* One vertex of either phase. Returns whether the sample goes on. */
ir_ref chain_vertex(const walk *kernel, replay_state *p, film_value dL);

/* ---- attached_inversion.c: the same with other derivatives, where render_scene.inverts ---- */

void state_inversion(walk *w, loop_state *s, replay_inversion *c); /* loop state: visits each field */
replay_inversion inversion_none(walk *w);
ir_ref inversion_fresh(walk *w, const replay_state *p);
void inversion_begin(walk *w, replay_state *p, ir_ref fresh);
ir_ref inversion_vertex(const walk *kernel, replay_state *p, film_value dL);

/* ---- replay_vertex.c ---- */

/* One vertex of either phase. Returns whether the path goes on. */
ir_ref replay_vertex(const walk *kernel, replay_state *p, film_value dL);
/* A copy of the kernel's walk for one vertex, with what is known of the path. */
walk replay_walk(const walk *w, const replay_state *p);
/* Whether the image of the pass has entries of Stokes vectors behind the intensity, which L does not hold. */
bool replay_has_entries(const walk *w);
/* Where it has: adds what they find at the vertex, and takes their rows past it. */
void replay_carry_entries(walk *w, replay_state *p, const walk_vertex *v, const contribution *k,
                          const passage *onward);
/* Takes throughput and entries past the flight up to the vertex. */
void replay_fly(walk *w, replay_state *p, const walk_vertex *v);
/* bool: what the path has found is finite. */
ir_ref replay_finite(walk *w, const replay_state *p);
/* Where `finite`: it joins the image. */
void replay_add_image(walk *w, replay_state *p, ir_ref finite);
/* Where not alive: another walk begins. Where `fresh`: it is that of the next sample, with empty sums. */
void replay_new_path(walk *w, replay_state *p, ir_ref fresh, ir_ref alive);
/* The adjoint of one sample's radiance: dL/dI of the pixel over the number of its samples, or as the list of
 * lanes weights it. */
film_value replay_sample_adjoint(walk *w, const lane *l);
/* The derivative of the loss by the sample's radiance. It is 0 where walk.entries is 4: throughput.asked has
 * what the loss asks for. */
color replay_by_radiance(walk *w, const replay_state *p, film_value dL);
/* Where dL is 0 the lane walks no sample: nothing would be added to a gradient. Not where the image of the
 * pass is the next one's (render_scene.pipelined), or where dL/dI follows from it (UNIFORM_UNKNOWN). */
void replay_skip_zero(walk *w, const film_value *dL, lane *l);
/* Whether phase 1 ends behind the last vertex at which the path has found light, by its own ray or by light
 * sampling. Derivatives there and before have that light as a factor, and behind it there are none, whatever
 * is 0: seeds of values behind it are products with the visibility of lights (docs/theory/variance.md). Not
 * where something else gives light, or moves. */
bool replay_shortens(const walk *w);
/* After replay_note, where replay_shortens: notes in phase 0 whether the vertex has found light, and returns
 * whether the path, which has not ended if alive, goes on. */
ir_ref replay_goes_on(walk *w, replay_state *p, const walk_vertex *v, ir_ref alive);
/* After a vertex: adds its decisions to the hash, and notes whether its sampled light is visible. */
void replay_note(walk *w, replay_state *p, const walk_vertex *v, ir_ref alive);

/* ---- guide_learn.c ---- */

/* In phase 1, once the vertex's own light has left L: tells the guide of directions what its sample brings.
 */
void replay_teach(walk *w, const replay_state *p, const walk_vertex *v);

/* ---- radiative_backpropagation.c ---- */

enum gradient_method replay_method(const walk *w); /* of the scene in the fused kernel, else METHOD_REPLAY */
void radiative_begin(walk *w, replay_state *p, ir_ref fresh); /* before a vertex; fresh: a path's first */
ir_ref radiative_vertex(const walk *kernel, replay_state *p, film_value dL);
void radiative_finish(walk *w, replay_state *p, ir_ref alive);

#endif
