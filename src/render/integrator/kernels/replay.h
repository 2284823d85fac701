/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of path replay: replay.c (two walks of a sample), adjoint.c (what one vertex contributes, and its
 * derivative), attached_replay.c (the order in which vertices are backpropagated where rays follow
 * parameters). */
#ifndef BL_RENDER_REPLAY_H
#define BL_RENDER_REPLAY_H

#include "render/integrator/kernels/kernels.h"
#include "render/integrator/path/adjoint.h"

/* attached_replay.c */
void state_chain(walk *w, loop_state *s, replay_chain *c); /* loop state: visits each field */
replay_chain chain_none(walk *w);
chain_rows chain_make_rows(walk *w);
ir_ref chain_fresh(walk *w, const replay_state *p);       /* bool: a walk of the path begins */
void chain_begin(walk *w, replay_state *p, ir_ref fresh); /* at its first vertex */
/* One vertex of either phase; whether the path goes on. */
ir_ref chain_vertex(const walk *kernel, replay_state *p, color dL);

/* replay.c */
/* One vertex of the walk, of either phase; whether the path goes on. */
ir_ref replay_vertex(const walk *kernel, replay_state *p, color dL);
/* The walk of one vertex: the kernel's, told what is known of the path. */
walk replay_walk(const walk *w, const replay_state *p);
/* What was found of the path's radiance joins the image, where `finite`. */
void replay_add_image(walk *w, replay_state *p, ir_ref finite);
/* The next sample, where `fresh`; its path begins where not `alive`. */
void replay_new_path(walk *w, replay_state *p, ir_ref fresh, ir_ref alive);
/* dL/dI of the pixel, over the number of its samples or weighted by the list of lanes: the adjoint of one
 * sample's radiance. */
color replay_sample_adjoint(walk *w, const lane *l);
/* Hash and notes of a walk behind a vertex. */
void replay_note(walk *w, replay_state *p, const walk_vertex *v, ir_ref alive);

/* radiative_backpropagation.c */
enum gradient_method replay_method(const walk *w); /* of the kernel: the fused one's, else METHOD_REPLAY */
void radiative_begin(walk *w, replay_state *p, ir_ref fresh); /* before a vertex; fresh: a path's first */
ir_ref radiative_vertex(const walk *kernel, replay_state *p, color dL);
void radiative_finish(walk *w, replay_state *p, ir_ref alive);

#endif
