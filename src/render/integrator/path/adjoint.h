/* SPDX-License-Identifier: BSD-3-Clause
 * A path as replay walks it, what one of its vertices contributes, and the derivative of that. */
#ifndef BL_RENDER_ADJOINT_H
#define BL_RENDER_ADJOINT_H

#include "render/integrator/path/path.h"
#include "render/integrator/walk/radiance_sums.h"

/* Local arrays of the kernel: places along the chain, a row each (attached_replay.c). */
typedef struct chain_rows {
    ir_ref numbers, words;
    uint32_t number_count, word_count; /* of a row */
} chain_rows;

/* Where walk.motion chains: the stretch of the path that is being backpropagated (attached_replay.c). */
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
    ir_ref seen;        /* u32: walk_known.seen */
    replay_chain chain; /* where walk.motion chains */
    replay_turn turn;   /* where METHOD_RECURSIVE */
    drt_path drt_path;  /* where drt_any: phase is then false, so its light is added to sums that are empty */
    const lane *lane;   /* no state; nor are these: */
    const chain_rows *rows;
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
/* What of a vertex is backpropagated, and by what. */
typedef struct vertex_adjoint {
    const walk_vertex *v;
    const contribution *k;
    color dL;    /* derivative of the loss by the sample's radiance */
    ir_ref when; /* bool: elsewhere nothing is */
} vertex_adjoint;

/* Backpropagates what the vertex contributes. Where walk.motion chains, p->chain.ray is carried on from the
 * ray that goes on to the one that leads here. */
void adjoint(walk *w, replay_state *p, const vertex_adjoint *of, arrivals *arrived);
/* Of the ray that leads to a vertex, or of how it moves; nothing has arrived yet. */
arrivals arrivals_start(walk *w, const replay_state *p, const walk_vertex *v);
/* Of the flight up to the vertex, from which all that L and M still hold is to come. Before the vertex's own
 * light is taken from them. */
void adjoint_flight(walk *w, const replay_state *p, const walk_vertex *v, color dL, arrivals *arrived);

#endif
