/* SPDX-License-Identifier: BSD-3-Clause
 * What path replay keeps of the contributions still to come: phase 0 of a path adds them, phase 1 takes them
 * away again, vertex by vertex (Vicini et al. 2021, listings 1 and 2). */
#ifndef BL_RENDER_SUMS_H
#define BL_RENDER_SUMS_H

#include "render/integrator/walk/kernel.h"

/* Two-float sums, so that adding and subtracting the same terms in the same order leaves nothing
 * (docs/theory/replay_equality.md). */
typedef struct replay_sums {
    color L, L_error; /* of contributions */
    color M, M_error; /* of those that miss exactly one factor, which is zero (docs/theory/zero_factors.md) */
    color size;       /* what L was after phase 0 */
} replay_sums;

replay_sums sums_start(tracer *t);
void state_sums(loop_state *s, replay_sums *p); /* loop state: visits each field */
/* L and M lose `whole` and `but_one` where `takes`, else gain them. */
void sums_add(tracer *t, replay_sums *s, color whole, color but_one, ir_ref takes);
color sums_L(tracer *t, const replay_sums *s);
color sums_M(tracer *t, const replay_sums *s);
/* L, still to come, over a factor that all of it has; M where the factor is zero. */
color sums_over(tracer *t, const replay_sums *s, color factor);
/* Where a path has walked phase 0. */
void sums_note_size(tracer *t, replay_sums *s, ir_ref walked);
/* Nothing, where a path is `fresh`. */
void sums_restart(tracer *t, replay_sums *s, ir_ref fresh);
/* bool: something of L is left after everything was subtracted. */
ir_ref sums_residual(tracer *t, const replay_sums *s);

/* The hash of a walk's decisions after those of one more vertex, from which the path goes on if `alive`. */
ir_ref replay_hash(tracer *t, ir_ref hash, ir_ref decisions, ir_ref alive);

#endif
