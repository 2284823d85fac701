/* SPDX-License-Identifier: BSD-3-Clause
 * How the room's table lies in the scene buffer, all of it f32: of each sample of scene/spectrum.c a row of
 * eight words; behind these of each cell of wavelengths.c a row. */
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

/* Words of a cell, of each wavelength k of a path word + k. */
enum cell_word {
    CELL_NM,                   /* where the cell begins, */
    CELL_LENGTH = WAVELENGTHS, /* and how long it is */
    CELL_COLOUR = 2 * WAVELENGTHS /* red, green, blue: CELLS times the integral of the observer's curve */,
    CELL_D65 = 5 * WAVELENGTHS /* its mean, with Mitsuba's norm */,
    CELL_ROW = 6 * WAVELENGTHS
};
enum { TABLE_CELLS = TABLE_ROW * 95 };

/* observer.c: integrals from one wavelength to another of the observer's curves in linear sRGB, divided by
 * the integral of y, and of D65 with Mitsuba's norm. */
void observer_integrate(double first, double last, double out[4]);
void observer_table(uint32_t *words); /* fills the rows of the samples */

/* Word `word` of row k (u32). */
static inline ir_ref table_real(tracer *t, ir_ref table, ir_ref k, uint32_t word)
{
    ir_ref row = ir_add(t->f, table, ir_mul(t->f, k, t_u32(t, TABLE_ROW)));
    return t_real(t, t_aligned(t, row), word);
}

#endif
