/* SPDX-License-Identifier: BSD-3-Clause
 * Detours: how the extinction's gradient at collisions is found by differential ratio tracking
 * (differential_ratio_tracking.c). For kernels that walk a sample (replay.c, forward.c): offer stretches
 * while the path is walked, turn where it has ended, add what came of it where the detour has ended. */
#ifndef BL_RENDER_DETOUR_H
#define BL_RENDER_DETOUR_H

#include "render/integrator/walk/kernel.h"

/* What a path keeps of the collision that it will go back to, and whether it has. */
typedef struct detour {
    ir_ref on;    /* bool: the path is on its detour, */
    ir_ref first; /* bool: whose first vertex, the collision itself, is next */
    ir_ref t;     /* its distance on the ray; negative: none was chosen */
    ir_ref sum; /* of the weights of all that were offered; on the detour what its light is multiplied with */
    vec3 o, d;  /* the ray, */
    ir_ref medium; /* u32: as walk_position's, */
    ir_ref depth;  /* and what else of walk_position a path needs that goes on from there */
    color share;
    color beta; /* weight of the path up to there, as large as it was before the flight */
} detour;

bool detour_any(const walk *w); /* the pass goes on detours; else none of the rest may be called */
detour detour_none(walk *w);
void state_detour(walk *w, loop_state *s, detour *k); /* loop state: visits each field */

/* Before a vertex: the random numbers (stream: the kernel's) and the forced collision of a detour. */
void detour_enter(walk *w, const detour *k, ir_ref stream);
/* Offers the stretch before a vertex, b being the throughput before it, where `when`. */
void detour_offer(walk *w, detour *k, const walk_vertex *v, const walk_position *at, const throughput *b,
                  ir_ref when);
/* After a vertex. */
void detour_passed(walk *w, detour *k);
/* bool: a path that has ended has somewhere to go back to. */
ir_ref detour_waits(walk *w, const detour *k);
/* The path goes back, where `when`. */
void detour_begin(walk *w, detour *k, walk_position *at, throughput *b, ir_ref when);
/* Where `when`, the next path begins, with nothing chosen. */
void detour_forget(walk *w, detour *k, ir_ref when);
/* What the detour's light is a factor of, per channel: albedo * extinction at the collision, tracked, with
 * what makes it an estimate. */
color detour_value(walk *w, const detour *k);

#endif
