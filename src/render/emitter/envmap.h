/* SPDX-License-Identifier: BSD-3-Clause
 * Where the numbers of an environment map stand in memory. The emitter (envmap.c) uses it, and so does the
 * file that builds the emitter's tables (envmap_tables.c). */
#ifndef BL_RENDER_ENVMAP_H
#define BL_RENDER_ENVMAP_H

#include "render/classes.h"

enum {
    EXTRA_VALUE,
    EXTRA_GRADIENT,
    EXTRA_WIDTH,
    EXTRA_HEIGHT,
    EXTRA_ROW_STEPS,
    EXTRA_CELL_STEPS,
    EXTRA_FAR,
    EXTRA_TO_WORLD,
    EXTRA_WORDS = EXTRA_TO_WORLD + 9
};
/* Words of the table: the sum of the cells, the luminance to take off, and the luminance to add. Then
 * follow the cumulative sum over the H - 1 rows of cells, those over the W cells of each row, the weights
 * of the texels, and the guides of the rows and of each row's cells (warp_guided_rest). */
enum { TABLE_SUM, TABLE_OFFSET, TABLE_FLOOR, TABLE_ROWS };
enum { ENVMAP_STEPS = 6, ENVMAP_TO_WORLD = 3 /* slot of the parameter */ };

/* Whether to_world is a parameter whose gradient is wanted. */
static inline bool envmap_turns(const class_node *n) { return n->requested >> ENVMAP_TO_WORLD & 1; }

typedef struct envmap {
    ir_ref width, height, cell_rows;                            /* u32 */
    ir_ref width_f, cell_rows_f;                                /* the same as f32 */
    ir_ref row_steps, cell_steps;                               /* the steps of the guides, u32 */
    ir_ref table, rows, cells, weights, row_guide, cell_guides; /* words of BUFFER_VALUES */
} envmap;

/* ---- envmap_layout.c ---- */

/* Reads from the record where everything stands. */
envmap envmap_open(tracer *t, const class_node *n, ir_ref record);
static inline ir_ref envmap_value(tracer *t, ir_ref word)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, word);
}
/* A channel of a texel. */
ir_ref envmap_texel(tracer *t, const class_node *n, ir_ref record, ir_ref index, uint32_t channel);
ir_ref envmap_row_sum(tracer *t, const envmap *m, ir_ref row); /* the sum of the cells of a row */
ir_ref envmap_guide(tracer *t, const envmap *m, ir_ref row);   /* the guide of a row's cells */

/* The four texels around a point, as indices, and the place of the point between them. */
typedef struct corners {
    ir_ref index[4]; /* u32; (x0, y0), (x1, y0), (x0, y1), (x1, y1) */
    ir_ref fx, fy;
} corners;

/* The four texels of the cell (x0, y0). fx and fy are left out. */
corners envmap_corners(tracer *t, const envmap *m, ir_ref x0, ir_ref y0);
/* The weights of four texels. */
void envmap_load_weights(tracer *t, const envmap *m, const corners *k, ir_ref c[4]);

/* ---- envmap_tables.c: members of the class ---- */

uint32_t envmap_table_words(const render_scene *s, const scene_object *o, const render_shape *shape);
uint32_t envmap_table_lanes(const render_scene *s, const scene_object *o, uint32_t step);
void envmap_table_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane);
/* The shape of the image parameter: height, width and 3. */
const uint32_t *envmap_shape(const render_scene *s, const scene_object *o);
/* The number of steps of a guide for `count` intervals: the largest power of two that is not above the
 * count. */
uint32_t envmap_guide_steps(uint32_t count);

#endif
