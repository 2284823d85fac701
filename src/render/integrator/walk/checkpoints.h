/* SPDX-License-Identifier: BSD-3-Clause
 * Which places of a walk are kept (kept_rows.h), so that it can be gone through from its last vertex to its
 * first in nearly linear time. A vertex has a number, from 0 at the beginning, which is never kept. The walk
 * first goes forth to its end, whose number nobody knows. Then it goes back: to each vertex, the last one
 * first, it walks from the nearest place before it that is kept.
 *
 *   Forth  the places have distances of `stride`, a power of 2. It doubles when all rows are taken, and every
 *          other place is given up.
 *   Back   rows behind the vertex that is next are free again. Those are taken for places on the way to it,
 *          at equal distances, for the vertices that come after it.
 *
 * Up to CHECKPOINTS + 1 vertices are visited twice each, but for the last one; 64 take 3.3 visits each, 128
 * take 4.4. Griewank, Walther 2000 (Algorithm 799: revolve) have the least number where the end is known. */
#ifndef BL_RENDER_CHECKPOINTS_H
#define BL_RENDER_CHECKPOINTS_H

#include "render/integrator/walk/loop_state.h"

enum { CHECKPOINTS = 8 };

/* All u32; loop state. */
typedef struct checkpoints {
    ir_ref number[CHECKPOINTS]; /* of the vertex before which the place of a row is; 0: the row is free */
    ir_ref stride, next;        /* next: number of the vertex before which the next place is kept */
} checkpoints;

void state_checkpoints(loop_state *s, checkpoints *c);
checkpoints checkpoints_none(tracer *t);
/* Where `when`: a walk begins, and nothing is kept. */
void checkpoints_clear(tracer *t, checkpoints *c, ir_ref when);
/* Where `when`, before vertex `number`: whether its place has to be kept (bool); *row: in which row, u32.
 * back: bool, the walk goes back, and `target` is next; else it goes forth. */
ir_ref checkpoints_keep(tracer *t, checkpoints *c, ir_ref when, ir_ref number, ir_ref back, ir_ref target,
                        ir_ref *row);
/* Where `when`, the walk turns back to vertex `target`. Returns the row from whose place it has to walk, or
 * CHECKPOINTS: from the beginning. */
ir_ref checkpoints_turn(tracer *t, checkpoints *c, ir_ref when, ir_ref target);

#endif
