/* SPDX-License-Identifier: BSD-3-Clause
 * How the room's table lies in the scene buffer: of each sample of scene/spectrum.c a row of eight words,
 * which are f32. */
#ifndef BL_RENDER_SPECTRUM_TABLE_H
#define BL_RENDER_SPECTRUM_TABLE_H

#include "render/spectrum/spectrum.h"

enum table_word {
    TABLE_OBSERVER,   /* in linear sRGB, divided by the integral of y */
    TABLE_D65 = 3,    /* with Mitsuba's norm */
    TABLE_COLOUR = 4, /* by what the reflectance at the sample counts in linear sRGB under D65; over all
                         samples the sum is 1 */
    TABLE_ROW = 8
};

/* Word `word` of row k (u32). */
static inline ir_ref table_real(tracer *t, ir_ref table, ir_ref k, uint32_t word)
{
    ir_ref row = ir_add(t->f, table, ir_mul(t->f, k, t_u32(t, TABLE_ROW)));
    return t_real(t, t_aligned(t, row), word);
}

#endif
