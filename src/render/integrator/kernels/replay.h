/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of path replay: replay.c (the loop of both walks), replay_vertex.c (one vertex, and what happens
 * between vertices and samples), and estimators of the gradient, a file each. What one vertex contributes,
 * and its derivative, is in path/adjoint.c. */
#ifndef BL_RENDER_REPLAY_H
#define BL_RENDER_REPLAY_H

#include "render/integrator/kernels/kernels.h"
#include "render/integrator/path/adjoint.h"

/* An estimator of the gradient: in which order the loop of replay.c visits vertices, and where it takes the
 * radiance from that arrives at one. */
typedef struct gradient_estimator {
    /* Loop state of the estimator's own: visits each field of it in replay_state. NULL: none. */
    void (*state)(walk *w, loop_state *s, replay_state *p);
    /* Before the loop: sets these fields, and makes arrays in *rows, in which a lane keeps positions. NULL:
     * none.
     */
    void (*start)(walk *w, replay_state *p, kept_rows *rows);
    /* bool: phase 0 or phase 1 of a path begins at the lane's position. */
    ir_ref (*begins)(walk *w, const replay_state *p);
    /* Where `fresh`, the result of begins: prepares for the path. NULL: nothing to do. */
    void (*begin)(walk *w, replay_state *p, ir_ref fresh);
    /* One vertex of either phase. Returns whether the phase goes on. */
    ir_ref (*vertex)(const walk *kernel, replay_state *p, film_value dL);
    /* Where not alive: what comes after the phase. NULL: phase 1 after phase 0, as the pass has them. */
    void (*finish)(walk *w, replay_state *p, ir_ref alive);
    /* bool, where finish is NULL, once phase 1 has ended: it has not taken away just what phase 0 had added.
     */
    ir_ref (*left)(walk *w, const replay_state *p);
} gradient_estimator;

extern const gradient_estimator detached_replay;     /* replay_vertex.c */
extern const gradient_estimator attached_replay;     /* attached_replay.c: where one vertex needs the next */
extern const gradient_estimator attached_inversion;  /* attached_inversion.c: the same by Jacobians */
extern const gradient_estimator recursive_radiative; /* radiative_backpropagation.c: METHOD_RECURSIVE */
extern const gradient_estimator unit_radiative;      /* METHOD_UNIT */

/* ---- replay_vertex.c ---- */

/* detached_replay.vertex: one vertex of either phase. Returns whether the path goes on. */
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
/* gradient_estimator.begins in the order of the path: the lane is at the camera. */
ir_ref replay_begins(walk *w, const replay_state *p);
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

#endif
