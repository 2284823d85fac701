/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers over the unit square, linear in between along both axes, and interpolated between several such
 * squares. As a density it can be sampled and inverted (Dupuy and Jakob 2018, supplemental material). */
#ifndef BL_RENDER_BILINEAR_H
#define BL_RENDER_BILINEAR_H

#include "render/classes.h"

/* Words of a square's description in the scene buffer; places are counted from the start of a block. */
enum { BILINEAR_WIDTH, BILINEAR_HEIGHT, BILINEAR_VALUES, BILINEAR_ROWS, BILINEAR_COLUMNS, BILINEAR_WORDS };

/* How many words the numbers take; with `density` also what sampling needs. */
uint64_t bilinear_room(const measured_grid *g, bool density);
/* Writes the numbers at word `at` of the block, and the description at `head`. As a density every slice is
 * divided by its integral, if that is not 0. Returns the first word behind. */
uint32_t bilinear_write(const measured_grid *g, bool density, uint32_t *block, uint32_t head, uint32_t at);

enum { BILINEAR_SLICES_MOST = 8 };
/* Between which slices, and with what weights, which add up to 1. count 0: there is but one slice. */
typedef struct bilinear_slices {
    uint32_t count;
    ir_ref index[BILINEAR_SLICES_MOST] /* u32 */, weight[BILINEAR_SLICES_MOST];
} bilinear_slices;
typedef struct bilinear {
    ir_ref block, head; /* words of the scene buffer: the block, the description */
    const bilinear_slices *slices;
} bilinear;

/* table: a word of the scene buffer, where count (u32) numbers that ascend begin, at least 2. Returns the
 * interval between two of them that holds x; part: where in it x lies, in [0, 1]. */
ir_ref bilinear_interval(tracer *t, ir_ref table, ir_ref count, ir_ref x, ir_ref *part);

/* u: in the unit square; places outside are moved to its border. These may run differentiated. */
ir_ref bilinear_at(tracer *t, const bilinear *g, vec2 u);
ir_ref bilinear_density(tracer *t, const bilinear *g, vec2 u);
/* Of a density: the uniform numbers that `bilinear_sample` makes u of. */
vec2 bilinear_inverse(tracer *t, const bilinear *g, vec2 u);
vec2 bilinear_sample(tracer *t, const bilinear *g, vec2 uniform);

#endif
