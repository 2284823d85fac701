/* SPDX-License-Identifier: BSD-3-Clause
 * From light to what a screen shows: exposure, and a curve that rolls bright values off instead of cutting
 * them. Curves take and return linear values; the file's sRGB encoding comes after them.
 *
 *   filmic  J. Hable, Uncharted 2: HDR Lighting, GDC 2010, with his constants and white at 11.2;
 *   aces    K. Narkowicz, ACES Filmic Tone Mapping Curve, 2016: a fit of the reference transform;
 *   agx     T. Sobotka's AgX: a matrix, log2 of -12.47393 to 4.026069 stops, and a contrast curve, by the
 *           polynomial of B. Wrensch, Minimal AgX Implementation, 2023.
 */
#include "cli.h"

#include <math.h>
#include <string.h>

static double hable(double x)
{
    const double a = .15, b = .5, c = .1, d = .2, e = .02, f = .3;
    return (x * (a * x + c * b) + d * e) / (x * (a * x + b) + d * f) - e / f;
}

static double filmic(double x) { return hable(2 * x) / hable(11.2); } /* his exposure bias is 2 */

static double aces(double x)
{
    x *= .6;
    return x * (2.51 * x + .03) / (x * (2.43 * x + .59) + .14);
}

static double agx_contrast(double x)
{
    const double x2 = x * x, x4 = x2 * x2;
    return 15.5 * x4 * x2 - 40.14 * x4 * x + 31.96 * x4 - 6.868 * x2 * x + .4298 * x2 + .1191 * x - .00232;
}

static void matrix_times(const double m[3][3], const double *v, double *out)
{
    for (int r = 0; r < 3; r++)
        out[r] = m[r][0] * v[0] + m[r][1] * v[1] + m[r][2] * v[2];
}

static void agx(double *rgb)
{
    static const double in[3][3] = {{.842479062253094, .0784335999999992, .0792237451477643},
                                    {.0423282422610123, .878468636469772, .0791661274605434},
                                    {.0423756549057051, .0784336, .879142973793104}};
    static const double out[3][3] = {{1.19687900512017, -.0980208811401368, -.0990297440797205},
                                     {-.0528968517574562, 1.15190312990417, -.0989611768448433},
                                     {-.0529716355144438, -.0980434501171241, 1.15107367264116}};
    static const double least = -12.47393, most = 4.026069;
    double v[3];
    matrix_times(in, rgb, v);
    for (int c = 0; c < 3; c++) {
        const double stops = log2(fmax(v[c], 1e-10));
        v[c] = agx_contrast(fmin(fmax((stops - least) / (most - least), 0), 1));
    }
    matrix_times(out, v, rgb);
    for (int c = 0; c < 3; c++)
        rgb[c] = pow(fmax(rgb[c], 0), 2.2); /* it is encoded for a display */
}

/* One colour, in place. */
static void map(const char *curve, double *rgb)
{
    if (!strcmp(curve, "agx")) {
        agx(rgb);
        return;
    }
    for (int c = 0; c < 3 && strcmp(curve, "clip") != 0; c++)
        rgb[c] = !strcmp(curve, "filmic") ? filmic(fmax(rgb[c], 0)) : aces(fmax(rgb[c], 0));
}

void tonemap(float *image, size_t pixels, uint32_t channels, double exposure, const char *curve)
{
    const double factor = exp2(exposure);
    for (size_t i = 0; i < pixels; i++, image += channels) {
        double rgb[3];
        for (uint32_t c = 0; c < 3; c++)
            rgb[c] = factor * (double)image[channels == 3 ? c : 0];
        map(curve, rgb);
        for (uint32_t c = 0; c < channels; c++)
            image[c] = (float)rgb[c];
    }
}
