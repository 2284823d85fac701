/* SPDX-License-Identifier: BSD-3-Clause
 * The CIE 1931 observer and D65 at a wavelength. The samples are those of scene/spectrum.c; the words of the
 * table are laid out in table.h. */
#include "render/spectrum/table.h"
#include "scene/scene.h"

#include <math.h>
#include <string.h>

static void put(uint32_t *words, double value)
{
    float rounded = (float)value;
    memcpy(words, &rounded, sizeof rounded);
}

/* The observer's curves at sample k, in linear sRGB. */
static void matched(int k, double rgb[3])
{
    const double *row = spectrum_curves[k];
    for (int c = 0; c < 3; c++)
        rgb[c] = spectrum_rgb_rows[c][0] * row[0] + spectrum_rgb_rows[c][1] * row[1] +
                 spectrum_rgb_rows[c][2] * row[2];
}

/* By what a reflectance S at each sample counts in linear sRGB under D65, up to a factor: the integral of
 * curve times D65 times S. The mean of two rules is taken: the trapezoidal rule, and the exact integral where
 * S is a straight line between samples. Their errors, h^2 / 12 times the integral of S'' and the rest, have
 * opposite signs. Between samples k and k + 1 the mean is F(k) / 3 + G / 24 for S(k), with F curve times D65
 * and G the product of the sums of both over the two samples. */
static void weights_of_samples(double weights[SPECTRUM_CURVE_SAMPLES][3])
{
    memset(weights, 0, SPECTRUM_CURVE_SAMPLES * sizeof *weights);
    for (int k = 0; k + 1 < SPECTRUM_CURVE_SAMPLES; k++) {
        double low[3], high[3], light[2] = {spectrum_curves[k][3], spectrum_curves[k + 1][3]};
        matched(k, low);
        matched(k + 1, high);
        for (int c = 0; c < 3; c++) {
            double both = (low[c] + high[c]) * (light[0] + light[1]) / 24;
            weights[k][c] += low[c] * light[0] / 3 + both;
            weights[k + 1][c] += high[c] * light[1] / 3 + both;
        }
    }
}

void observer_integrate(double first, double last, double out[4])
{
    const double step = ((double)WAVELENGTH_LAST - (double)WAVELENGTH_FIRST) / (SPECTRUM_CURVE_SAMPLES - 1);
    memset(out, 0, 4 * sizeof *out);
    for (int k = (int)((first - (double)WAVELENGTH_FIRST) / step); k + 1 < SPECTRUM_CURVE_SAMPLES; k++) {
        const double low = (double)WAVELENGTH_FIRST + k * step, from = fmax(first, low),
                     to = fmin(last, low + step), share = ((from + to) / 2 - low) / step;
        double a[3], b[3];
        if (from >= to)
            return;
        matched(k, a);
        matched(k + 1, b);
        for (int c = 0; c < 3; c++)
            out[c] += (to - from) * (a[c] + share * (b[c] - a[c])) * spectrum_luminance_norm;
        out[3] += (to - from) * spectrum_d65_norm *
                  (spectrum_curves[k][3] + share * (spectrum_curves[k + 1][3] - spectrum_curves[k][3]));
    }
}

void observer_table(uint32_t *words)
{
    double white[3] = {0}, weights[SPECTRUM_CURVE_SAMPLES][3];
    weights_of_samples(weights);
    for (int k = 0; k < SPECTRUM_CURVE_SAMPLES; k++)
        for (int c = 0; c < 3; c++)
            white[c] += weights[k][c];
    for (int k = 0; k < SPECTRUM_CURVE_SAMPLES; k++, words += TABLE_ROW) {
        double rgb[3];
        matched(k, rgb);
        for (int c = 0; c < 3; c++) {
            put(words + TABLE_OBSERVER + c, rgb[c] * spectrum_luminance_norm);
            put(words + TABLE_COLOUR + c, weights[k][c] / white[c]);
        }
        put(words + TABLE_D65, spectrum_curves[k][3] * spectrum_d65_norm);
        put(words + TABLE_ROW - 1, 0);
    }
}

static void observe(tracer *t, ir_ref table, ir_ref nm, ir_ref rgb[3], ir_ref *d65)
{
    ir_func *f = t->f;
    const float step = (WAVELENGTH_LAST - WAVELENGTH_FIRST) / (SPECTRUM_CURVE_SAMPLES - 1);
    ir_ref at = ir_mul(f, ir_sub(f, nm, t_f32(t, WAVELENGTH_FIRST)), t_f32(t, 1 / step));
    ir_ref inside =
        ir_and(f, ir_ge(f, nm, t_f32(t, WAVELENGTH_FIRST)), ir_le(f, nm, t_f32(t, WAVELENGTH_LAST)));
    ir_ref lower = ir_floor(f, t_clamp(t, at, 0, SPECTRUM_CURVE_SAMPLES - 2)), k = ir_to_u32(f, lower);
    ir_ref share = ir_sub(f, at, lower), *const out[4] = {&rgb[0], &rgb[1], &rgb[2], d65};
    for (uint32_t c = 0; c < 4; c++) {
        ir_ref low = table_real(t, table, k, c), high = table_real(t, table, t_offset(t, k, 1), c);
        *out[c] = ir_select(f, inside, t_mad(t, share, ir_sub(f, high, low), low), t_f32(t, 0));
    }
}

void wavelengths_observe(tracer *t, ir_ref table, wavelength_set *w)
{
    for (int k = 0; k < WAVELENGTHS; k++)
        observe(t, table, w->nm[k], w->rgb[k], &w->d65[k]);
}
