/* SPDX-License-Identifier: BSD-3-Clause
 * Wavelengths and response of a film with bands (specfilm), or of a sensor with one. Each band is a curve of
 * straight lines. Between two successive places at which any of them bends or jumps, all are straight, and so
 * is their sum. So a table of these places, the knots, gives the curves exactly. Wavelengths are sampled by
 * the sum: an interval by the integrals up to the knots, and a place in it by the inverse of the integral of
 * a straight line. Band b weighs a wavelength by its share of the sum then, which is at most 1: where one
 * band alone responds, its weight is the same at all wavelengths.
 *
 * The table: the number of knots, the integral of the sum, two words of nothing; of each knot the share of
 * the integral below it; then of each knot a row, its wavelength, the sum, and the bands. Where a curve
 * jumps, two knots stand at one wavelength. */
#include "render/spectrum/spectrum.h"

#include <string.h>

enum { BANDS_KNOTS, BANDS_INTEGRAL, BANDS_SHARES = 4 };
enum { ROW_NM, ROW_SUM, ROW_BANDS };

static void put(uint32_t *word, double value)
{
    float rounded = (float)value;
    memcpy(word, &rounded, sizeof rounded);
}

uint32_t bands_words(const film_bands *b) { return BANDS_SHARES + b->knots * (1 + ROW_BANDS + b->count); }

/* Of a band up to the knot, from the one before. */
static double area_before(const film_bands *b, uint32_t band, uint32_t knot)
{
    const double *row = b->values + (size_t)(knot - 1) * b->count + band;
    return (row[0] + row[b->count]) / 2 * (b->nm[knot] - b->nm[knot - 1]);
}

double bands_integral_of(const film_bands *b, uint32_t band)
{
    double area = 0;
    for (uint32_t j = 1; j < b->knots; j++)
        area += area_before(b, band, j);
    return area;
}

void bands_table(const film_bands *b, uint32_t *words)
{
    double integral = 0, below = 0;
    uint32_t *row = words + BANDS_SHARES + b->knots;
    memset(words, 0, BANDS_SHARES * sizeof *words);
    words[BANDS_KNOTS] = b->knots;
    for (uint32_t k = 0; k < b->count; k++)
        integral += bands_integral_of(b, k);
    put(words + BANDS_INTEGRAL, integral);
    for (uint32_t j = 0; j < b->knots; j++, row += ROW_BANDS + b->count) {
        double sum = 0;
        for (uint32_t k = 0; k < b->count; k++) {
            const double value = b->values[(size_t)j * b->count + k];
            below += j ? area_before(b, k, j) : 0;
            sum += value;
            put(row + ROW_BANDS + k, value);
        }
        put(words + BANDS_SHARES + j, j + 1 < b->knots ? below / integral : 1);
        put(row + ROW_NM, b->nm[j]);
        put(row + ROW_SUM, sum);
    }
}

/* ---- traced ---- */

/* Word `word` of the row of a knot (u32). */
static ir_ref row_real(tracer *t, ir_ref table, uint32_t bands, ir_ref knot, uint32_t word)
{
    ir_func *f = t->f;
    ir_ref rows = ir_add(f, t_offset(t, table, BANDS_SHARES), t_word(t, table, BANDS_KNOTS));
    return t_real(t, ir_add(f, rows, ir_mul(f, knot, t_u32(t, ROW_BANDS + bands))), word);
}

static ir_ref between(tracer *t, ir_ref low, ir_ref high, ir_ref share)
{
    return t_mad(t, share, ir_sub(t->f, high, low), low);
}

/* The share x of an interval below which `at` of the area lies under the line from a to b: a x + (b - a) x^2
 * / 2 = at (a + b) / 2. Written without a difference of numbers that are nearly the same. */
static ir_ref place_below(tracer *t, ir_ref a, ir_ref b, ir_ref at)
{
    ir_func *f = t->f;
    ir_ref aa = t_sqr(t, a), inner = between(t, aa, t_sqr(t, b), at);
    ir_ref x = t_ratio(t, ir_mul(f, at, ir_add(f, a, b)), ir_add(f, a, t_safe_sqrt(t, inner)));
    return ir_min(f, x, t_f32(t, 1));
}

/* The number of the k-th wavelength: turned by k quarters. */
static ir_ref turned(tracer *t, ir_ref u, uint32_t k)
{
    ir_ref at = ir_add(t->f, u, t_f32(t, (float)k / WAVELENGTHS));
    return ir_sub(t->f, at, ir_floor(t->f, at));
}

wavelength_set bands_sample(tracer *t, ir_ref table, uint32_t bands, ir_ref u)
{
    ir_func *f = t->f;
    wavelength_set w = {0};
    ir_ref shares = t_offset(t, table, BANDS_SHARES), one = t_u32(t, 1),
           last = ir_sub(f, t_word(t, table, BANDS_KNOTS), one);
    for (uint32_t k = 0; k < WAVELENGTHS; k++) {
        ir_ref at = turned(t, u, k);
        ir_ref above = warp_discrete_between(t, BUFFER_SCENE, shares, one, last, at),
               knot = ir_sub(f, above, one);
        ir_ref low = t_real(t, ir_add(f, shares, knot), 0), high = t_real(t, ir_add(f, shares, above), 0);
        ir_ref sum[2] = {row_real(t, table, bands, knot, ROW_SUM), row_real(t, table, bands, above, ROW_SUM)};
        w.knot[k] = knot;
        w.share[k] = place_below(t, sum[0], sum[1], t_ratio(t, ir_sub(f, at, low), ir_sub(f, high, low)));
        w.nm[k] = between(t, row_real(t, table, bands, knot, ROW_NM),
                          row_real(t, table, bands, above, ROW_NM), w.share[k]);
        w.inverse[k] = t_ratio(t, t_real(t, table, BANDS_INTEGRAL), between(t, sum[0], sum[1], w.share[k]));
    }
    return w;
}

film_response response_bands(tracer *t, ir_ref table, uint32_t bands, const wavelength_set *w)
{
    film_response r = {.bands = bands};
    for (uint32_t k = 0; k < WAVELENGTHS; k++) {
        ir_ref above = t_offset(t, w->knot[k], 1);
        for (uint32_t b = 0; b < bands; b++) {
            ir_ref value = between(t, row_real(t, table, bands, w->knot[k], ROW_BANDS + b),
                                   row_real(t, table, bands, above, ROW_BANDS + b), w->share[k]);
            r.weight[b][k] = ir_mul(t->f, value, ir_mul(t->f, w->inverse[k], t_f32(t, 1.0f / WAVELENGTHS)));
        }
    }
    return r;
}

film_response response_srf(tracer *t, ir_ref table, const wavelength_set *w)
{
    film_response band = response_bands(t, table, 1, w), r = {.bands = 3};
    for (uint32_t k = 0; k < WAVELENGTHS; k++)
        for (uint32_t c = 0; c < 3; c++)
            r.weight[c][k] = ir_mul(t->f, w->rgb[k][c], band.weight[0][k]);
    return r;
}
