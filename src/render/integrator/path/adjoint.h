/* SPDX-License-Identifier: BSD-3-Clause
 * A path as replay walks it, what one of its vertices contributes, and the derivative of that. */
#ifndef BL_RENDER_ADJOINT_H
#define BL_RENDER_ADJOINT_H

#include "render/integrator/path/path.h"
#include "render/integrator/walk/checkpoints.h"
#include "render/integrator/walk/kept_rows.h"
#include "render/integrator/walk/radiance_sums.h"

/* The stretch of the path that is being backpropagated, where walk.chains (kernels/attached_replay.c). */
typedef struct replay_chain {
    walk_position from; /* the position before the first vertex of the stretch */
    throughput b;       /* the throughput at that position */
    ir_ref mode;        /* u32: enum chain_mode */
    ir_ref target;      /* u32: number of the vertex whose turn it is */
    checkpoints kept;   /* numbers count from the stretch's first vertex */
    ir_ref ended, left; /* bool: the path ends with the stretch; some of L was left when the stretch ended */
    ir_ref ray[RAY_MOST]; /* where walk.motion->chains, adjoint of the ray that leads to the vertex after
                             `target`: o, d and, where walk.attaches, pdf */
    color light[4];       /* where walk.polarized: the Stokes vectors that this vertex sends to `target` */
} replay_chain;

/* Coordinates of a ray as a line: two of its place and two of its direction. */
enum { LINE_NUMBERS = 4 };

/* The same stretch, where derivatives go from its first vertex to its last, where render_scene.inverts
 * (kernels/attached_inversion.c). */
typedef struct replay_inversion {
    walk_position from;                          /* the position before the first vertex of the stretch */
    throughput b;                                /* the throughput at that position */
    replay_sums sums;                            /* what L and M held there, when phase 1 came by */
    ir_ref product[LINE_NUMBERS * LINE_NUMBERS]; /* Jacobian of the line that leads here by the first line */
    ir_ref line[LINE_NUMBERS]; /* derivative of the loss by the first line, in the second walk
                                  by the line that leads here */
    ir_ref mode;               /* u32: enum inversion_mode */
    ir_ref lost, left; /* bool: `line` is not known any more; some of L was left when the stretch ended */
} replay_inversion;

/* The path before the vertex whose turn it is, where the radiance still to come is estimated anew
 * (kernels/radiative_backpropagation.c). */
typedef struct replay_turn {
    walk_position from;
    throughput b;
} replay_turn;

typedef struct replay_state {
    walk_position at;
    ir_ref phase; /* bool: this is phase 1, which subtracts from the sums and backpropagates */
    throughput b;
    replay_sums sums;
    ir_ref hash, hash_first;
    ir_ref seen;                /* u32: walk_known.seen */
    ir_ref again;               /* u32, where replay_shortens: so many vertices are walked again */
    path_entries others;        /* where replay_has_entries: what the image has behind the intensity */
    replay_chain chain;         /* where walk.chains */
    replay_inversion inversion; /* in the place of most of it where render_scene.inverts */
    replay_turn turn;           /* where METHOD_RECURSIVE */
    drt_path drt_path; /* where drt_any; phase is then false, so its light is added to sums that are empty */
    /* The next four are not in the state of the loop. */
    const struct gradient_estimator *estimator; /* kernels/replay.h; NULL where the kernel has no choice */
    const lane *lane;
    const kept_rows *rows;
    film_value sum; /* sum of the radiance of all samples: the image of this stream */
} replay_state;

/* Terms of one vertex, per channel, without throughput. Where walk.polarized, the row is in hit, light and
 * for_light. */
typedef struct contribution {
    color hit, light;            /* hit: mis * radiance; light: mis * visibility / pdf * value * radiance */
    color hit_radiance;          /* radiance of the light that was hit */
    color light_radiance;        /* radiance of the sampled light */
    color light_scale;           /* the result of walk_light_scale */
    color for_light, for_sample; /* values of the material, toward the light and for the sample */
    const color *onward;         /* radiance that comes by the sample, over the sample's value; if NULL, it is
                                    taken from what L and M hold */
    polarized_vertex polarized;  /* where walk.polarized */
} contribution;

/* ---- adjoint.c ---- */

/* Evaluates the terms of a vertex, detached. at, b: position and throughput before it. */
contribution contribute(walk *w, const walk_vertex *v, const walk_position *at, const throughput *b);
/* Unpolarised light that the path meets, as contributions have it. */
color light_met(walk *w, const throughput *b, color light);
/* Goes past the vertex: updates b, and decides whether the path goes on. */
passage contribution_pass(walk *w, ir_ref depth, const walk_vertex *v, const contribution *k, throughput *b);
/* Takes the light of a vertex from L and M where `takes` (bool). Elsewhere adds it to them. */
void account(walk *w, replay_state *p, color light, ir_ref takes);
/* The same with a throughput other than the path's present one. */
void account_by(walk *w, replay_state *p, const throughput *b, color light, ir_ref takes);

/* Which vertex is backpropagated, and with which seeds. */
typedef struct vertex_adjoint {
    const walk_vertex *v;
    const contribution *k;
    color dL;    /* derivative of the loss by the sample's radiance; where walk.entries is 4, throughput.asked
                    has it */
    ir_ref when; /* bool: the vertex is backpropagated */
} vertex_adjoint;

/* Backpropagates what the vertex contributes. Where walk.motion->chains, p->chain.ray is, in, the adjoint of
 * the ray that goes on, and out, that of the ray that leads here. Where walk.polarized, p->chain.light is the
 * light that arrives by the sample, over the probability of the sample. */
void adjoint(walk *w, replay_state *p, const vertex_adjoint *of, arrivals *arrived);
enum { VERTEX_OUTPUTS_MOST = 4 * COLOR_MOST + 1 };
/* What a vertex contributes, differentiated, and the seed of each number: emission that was found, sampled
 * light, and what adjoint backpropagates of the material. Returns how many there are. */
uint32_t adjoint_outputs(walk *w, const replay_state *p, const vertex_adjoint *of, ir_ref *outputs,
                         ir_ref *seeds);
/* The adjoints of the ray that leads to a vertex, or of the vertex's motion. They are 0: nothing has arrived
 * yet. */
arrivals arrivals_start(walk *w, const replay_state *p, const walk_vertex *v);
/* Backpropagates the flight up to the vertex. All light that L and M still hold is to come through that
 * flight. So this has to be called before the vertex's own light is taken from L and M. */
void adjoint_flight(walk *w, const replay_state *p, const walk_vertex *v, color dL, arrivals *arrived);

/* ---- polarized_adjoint.c: where walk.polarized ---- */

/* The light that arrives by v's sample, over the probability of that sample, which `onward` has. Where v ends
 * its segment (`ends`, bool), it is what L and M still hold, with b, the throughput behind v; elsewhere it is
 * p->chain.light. */
void polarized_arriving(walk *w, const replay_state *p, const throughput *b, const passage *onward,
                        ir_ref ends, color out[4]);
/* Outputs and seeds for the material's side of Ld' and for row * matrix' * p->chain.light: of either as many
 * as light has channels. */
void polarized_outputs(walk *w, const replay_state *p, const vertex_adjoint *of, ir_ref *outputs,
                       ir_ref *seeds);
/* What the vertex sends back along the path: its own light, and what it makes of `arriving`. */
void polarized_sent(walk *w, const walk_vertex *v, const contribution *k, const color arriving[4],
                    color out[4]);
/* Where `when` (bool): backpropagates the flight up to the vertex, and what the medium emits on the way, and
 * takes p->chain.light, which the vertex sends back, to where the flight began. before: the throughput there;
 * emitted: emission_radiance of the flight, or black. */
void polarized_flight(walk *w, replay_state *p, const vertex_adjoint *of, const throughput *before,
                      color emitted, arrivals *arrived);

#endif
