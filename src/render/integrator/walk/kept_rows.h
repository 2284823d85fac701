/* SPDX-License-Identifier: BSD-3-Clause
 * Places of a path that a lane keeps, so that it can go back to them: rows of a fixed number in local arrays
 * of the kernel. A row is a list of references, visited as the state of a loop is (loop_state.h). */
#ifndef BL_RENDER_KEPT_ROWS_H
#define BL_RENDER_KEPT_ROWS_H

#include "render/integrator/walk/loop_state.h"

typedef struct kept_rows {
    bool packed; /* one array: numbers are words, too */
    ir_ref numbers, words;
    uint32_t number_count, word_count; /* numbers and words in one row */
} kept_rows;

/* Makes the arrays of `count` rows like this one, which has been written. packed: in one array. Drivers of
 * GPUs hold small arrays in registers, where an index that is computed takes a branch for each element; the
 * words alone would be such an array (docs/decisions/registers.md). */
kept_rows rows_make(ir_func *f, const loop_state *row, uint32_t count, bool packed);
/* Where `when`: row `number` (u32) becomes *row, which has been written. */
void rows_keep(tracer *t, const kept_rows *rows, ir_ref when, ir_ref number, const loop_state *row);
/* Where `when`: *row becomes row `number`; else it stays. It is then read. */
void rows_recall(tracer *t, const kept_rows *rows, ir_ref when, ir_ref number, loop_state *row);

#endif
