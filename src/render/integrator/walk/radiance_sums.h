/* SPDX-License-Identifier: BSD-3-Clause
 * The sums of path replay: phase 0 of a path adds the contribution of each vertex, phase 1 subtracts them
 * again. So at each vertex of phase 1 the sum is the radiance still to come (Vicini et al. 2021, listings 1
 * and 2). */
#ifndef BL_RENDER_SUMS_H
#define BL_RENDER_SUMS_H

#include "render/integrator/walk/kernel.h"

/* What may be left of L after phase 1, relative to L at the end of phase 0. */
#define RESIDUAL_TOLERANCE 1e-4f

/* Two-float sums, so that adding and subtracting the same terms in the same order leaves nothing
 * (docs/theory/replay_equality.md). */
typedef struct replay_sums {
    color L, L_error; /* sum of contributions, and its rounding error */
    color M, M_error; /* sum of contributions without their only zero factor (docs/theory/zero_factors.md) */
    color size;       /* L at the end of phase 0, which is the scale of the residual */
} replay_sums;

replay_sums sums_start(tracer *t);
void state_sums(loop_state *s, const tracer *t, replay_sums *p); /* visits each field, as state of a loop */
/* Adds `whole` to L and `but_one` to M. Where `takes` (bool), it subtracts them. */
void sums_add(tracer *t, replay_sums *s, color whole, color but_one, ir_ref takes);
color sums_L(tracer *t, const replay_sums *s);
color sums_M(tracer *t, const replay_sums *s);
/* L divided by a factor that all terms of L have. Where the factor is zero, it is M. */
color sums_over(tracer *t, const replay_sums *s, color factor);
/* Notes the size of L where `ended` (bool): phase 0 has just ended. */
void sums_note_size(tracer *t, replay_sums *s, ir_ref ended);
/* Where `when` (bool), sets the sums to the other ones. The size stays. */
void sums_set(tracer *t, replay_sums *s, ir_ref when, const replay_sums *other);
/* Empties the sums where `fresh` (bool). */
void sums_restart(tracer *t, replay_sums *s, ir_ref fresh);
/* bool: after phase 1, more is left of L than rounding explains. */
ir_ref sums_residual(tracer *t, const replay_sums *s);

/* Adds the decisions of one more vertex to the hash of a path's decisions. alive: bool, the path goes on from
 * that vertex. */
ir_ref replay_hash(tracer *t, ir_ref hash, ir_ref decisions, ir_ref alive);

#endif
