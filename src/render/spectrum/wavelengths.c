/* SPDX-License-Identifier: BSD-3-Clause
 * The wavelengths of a path. A share u of the range below a wavelength under the density that follows the eye
 * is (tanh(a (first - m)) - tanh(a (nm - m))) / (tanh(a (first - m)) - tanh(a (last - m))), with a = .0072
 * and m = 538 (Radziszewski, Boryczko and Alda, An Improved Technique for Full Spectral Rendering, 2009;
 * Mitsuba has the same).
 *
 * Each quarter of that share, which has one of a path's wavelengths, is cut into cells of equal probability.
 * In a cell the density is constant, the observer's curves count by their mean, and so does D65. A cell is
 * .25 nm long where the eye sees best and 4 nm at the ends, and the curves are lines between samples 5 nm
 * apart, so this changes a colour by a millionth. A path then needs one row of a table, and neither
 * logarithms nor a search in curves, which every path would begin with. */
#include "render/spectrum/table.h"

#include <math.h>
#include <string.h>

/* The wavelength below which a share u lies. */
static double visible(double u)
{
    static const double steep = 0.0072, middle = 538;
    const double first = tanh(steep * (middle - (double)WAVELENGTH_FIRST)),
                 last = tanh(steep * (middle - (double)WAVELENGTH_LAST));
    return middle - atanh(first - (first - last) * u) / steep;
}

/* Where a cell begins. Cells meet exactly, since lengths are differences of these. */
static float border(int quarter, int cell)
{
    return (float)visible((quarter + (double)cell / SPECTRUM_CELLS) / WAVELENGTHS);
}

void spectrum_table(uint32_t *words)
{
    observer_table(words);
    words += TABLE_CELLS;
    for (int cell = 0; cell < SPECTRUM_CELLS; cell++, words += CELL_ROW)
        for (int k = 0; k < WAVELENGTHS; k++) {
            const float first = border(k, cell), last = border(k, cell + 1), length = last - first;
            double integral[4];
            float row[CELL_ROW / WAVELENGTHS] = {first, length};
            observer_integrate((double)first, (double)last, integral);
            for (int c = 0; c < 3; c++)
                row[2 + c] = (float)(SPECTRUM_CELLS * integral[c]);
            row[5] = (float)(integral[3] / (double)length);
            for (int i = 0; i < CELL_ROW / WAVELENGTHS; i++)
                memcpy(words + i * WAVELENGTHS + k, &row[i], sizeof row[i]);
        }
}

wavelength_set wavelengths_sample(tracer *t, ir_ref table, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref at = ir_mul(f, u, t_f32(t, SPECTRUM_CELLS)), cell = ir_floor(f, at), share = ir_sub(f, at, cell);
    ir_ref row = ir_mul(f, ir_to_u32(f, cell), t_u32(t, CELL_ROW));
    row = t_aligned(t, ir_add(f, t_offset(t, table, TABLE_CELLS), row));
    wavelength_set w = {0};
    for (unsigned k = 0; k < WAVELENGTHS; k++) {
        ir_ref length = t_real(t, row, CELL_LENGTH + k);
        w.nm[k] = t_mad(t, share, length, t_real(t, row, CELL_NM + k));
        w.inverse[k] = ir_mul(f, length, t_f32(t, WAVELENGTHS * SPECTRUM_CELLS));
        for (unsigned c = 0; c < 3; c++)
            w.response[k][c] = t_real(t, row, CELL_COLOUR + c * WAVELENGTHS + k);
        w.d65[k] = t_real(t, row, CELL_D65 + k);
    }
    return w;
}
