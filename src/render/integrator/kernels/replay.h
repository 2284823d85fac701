/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of path replay: replay.c (two walks of a sample), adjoint.c (what one vertex contributes, and its
 * derivative), attached_replay.c (the order in which vertices are backpropagated where rays follow
 * parameters). */
#ifndef BL_RENDER_REPLAY_H
#define BL_RENDER_REPLAY_H

#include "render/integrator/media/differential_ratio_tracking.h"
#include "render/integrator/walk/radiance_sums.h"

/* Local arrays of the kernel: places along the chain, a row each (attached_replay.c). */
typedef struct chain_places {
    ir_ref numbers, words;
    uint32_t number_count, word_count; /* of a row */
} chain_places;

/* Where walk.follows: the stretch of the path that is being backpropagated (attached_replay.c). */
typedef struct replay_chain {
    walk_position from;   /* before its first vertex, */
    throughput b;         /* there */
    ir_ref mode;          /* u32: enum chain_mode */
    ir_ref target;        /* u32: depth of the vertex whose turn it is */
    ir_ref ended, left;   /* bool: the path ends with it; something of L was left there */
    ir_ref ray[RAY_MOST]; /* adjoint of the ray that leads to the vertex after `target`: o, d */
} replay_chain;

/* Where radiance to come is estimated anew (radiative_backpropagation.c): the path before the vertex whose
 * turn it is. */
typedef struct replay_turn {
    walk_position from;
    throughput b;
} replay_turn;

typedef struct replay_state {
    walk_position at;
    ir_ref phase; /* bool: subtracting and backpropagating */
    throughput b;
    replay_sums sums;
    ir_ref hash, hash_first;
    ir_ref seen;        /* u32: walk.seen */
    replay_chain chain; /* where walk.follows */
    replay_turn turn;   /* where METHOD_RECURSIVE */
    detour detour; /* where detour_any: phase is then false, so its light is added to sums that are empty */
    ir_ref stream; /* the kernel's, no state; nor are these: */
    const lane *lane;
    const chain_places *places;
    color sum; /* of all samples' radiance: the image of this stream */
} replay_state;

/* Terms of one vertex, per channel, without throughput. */
typedef struct contribution {
    color hit, light;            /* mis * radiance; mis * visibility / pdf * value * radiance */
    color hit_radiance;          /* of the light that was hit */
    color light_radiance;        /* radiance of the sampled light */
    color light_scale;           /* walk_light_scale */
    color for_light, for_sample; /* material values */
    const color *onward;         /* what comes by the sample, over its value; NULL: what L and M hold */
} contribution;

/* adjoint.c */
contribution contribute(walk *w, const walk_vertex *v, const walk_position *at);
/* L and M lose light of a vertex where `takes`, else gain it. */
void account(walk *w, replay_state *p, color light, ir_ref takes);
/* Backpropagates what the vertex contributes, where `when`. Where walk.follows, p->chain.ray is carried on
 * from the ray that goes on to the one that leads here. */
void adjoint(walk *w, replay_state *p, const walk_vertex *v, const contribution *k, color dL, ir_ref when,
             arrivals *arrived);
/* Of the ray that leads to a vertex, or of how it moves; nothing has arrived yet. */
arrivals arrivals_start(walk *w, const replay_state *p, const walk_vertex *v);
/* Of the flight up to the vertex, from which all that L and M still hold is to come. Before the vertex's own
 * light is taken from them. */
void adjoint_flight(walk *w, const replay_state *p, const walk_vertex *v, color dL, arrivals *arrived);

/* attached_replay.c */
void state_chain(walk *w, loop_state *s, replay_chain *c); /* loop state: visits each field */
replay_chain chain_none(walk *w);
chain_places chain_make_places(walk *w);
ir_ref chain_fresh(walk *w, const replay_state *p);       /* bool: a walk of the path begins */
void chain_begin(walk *w, replay_state *p, ir_ref fresh); /* at its first vertex */
/* One vertex of either phase; whether the path goes on. */
ir_ref chain_vertex(walk *w, replay_state *p, color dL);

/* replay.c */
/* One vertex of the walk, of either phase; whether the path goes on. */
ir_ref replay_vertex(walk *w, replay_state *p, color dL);
/* What was found of the path's radiance joins the image, where `finite`. */
void replay_add_image(walk *w, replay_state *p, ir_ref finite);
/* The next sample, where `fresh`; its path begins where not `alive`. */
void replay_new_path(walk *w, replay_state *p, ir_ref fresh, ir_ref alive);
/* Word of BUFFER_SAMPLES: the sample's in a plane, of which there are as many as a slot has words. */
ir_ref replay_sample_word(walk *w, const lane *l, ir_ref sample, ir_ref plane);
/* dL/dI of the pixel, over the number of its samples or weighted by the list of lanes: the adjoint of one
 * sample's radiance. */
color replay_sample_adjoint(walk *w, const lane *l);
/* Hash and notes of a walk behind a vertex. */
void replay_note(walk *w, replay_state *p, const walk_vertex *v, ir_ref alive);

/* remembered_transmittance.c: what the first walk of a sample notes for the second. Before a vertex (again:
 * bool, this is the second walk), and after. */
void crossed_recall(walk *w, const lane *l, const walk_position *at, ir_ref again);
void crossed_keep(walk *w, const lane *l, const walk_position *at, const walk_shadow *shadow);

/* radiative_backpropagation.c */
enum gradient_method replay_method(const walk *w); /* of the kernel: the fused one's, else METHOD_REPLAY */
void radiative_begin(walk *w, replay_state *p, ir_ref fresh); /* before a vertex; fresh: a path's first */
ir_ref radiative_vertex(walk *w, replay_state *p, color dL);
void radiative_finish(walk *w, replay_state *p, ir_ref alive);

#endif
