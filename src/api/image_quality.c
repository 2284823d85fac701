/* SPDX-License-Identifier: BSD-3-Clause
 * PSNR and SSIM of displayed images. SSIM: Wang, Bovik, Sheikh and Simoncelli 2004, "Image quality
 * assessment: from error visibility to structural similarity", section III: at each window, with means m,
 * variances and covariance weighted by a Gaussian,
 *
 *     (2 m_a m_b + c1) (2 cov + c2) / ((m_a^2 + m_b^2 + c1) (var_a + var_b + c2)),   c = (K peak)^2.
 *
 * The windows are those that lie inside the image. The Gaussian is a product, so each of the five weighted
 * means (a, b, a^2, b^2, a b) is made along rows, then along columns, in double precision. */
#include <backlight/backlight.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

enum { WINDOW = 11, MOMENTS = 5 };

static double displayed(float linear)
{
    double v = linear > 0 ? linear < 1 ? (double)linear : 1 : 0; /* NaN becomes 0 */
    return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

static void gaussian(double weights[WINDOW])
{
    const double sigma = 1.5;
    double sum = 0;
    for (int k = 0; k < WINDOW; k++)
        sum += weights[k] = exp(-0.5 * pow((k - WINDOW / 2) / sigma, 2));
    for (int k = 0; k < WINDOW; k++)
        weights[k] /= sum;
}

/* The moments of channel c in windows of a row, along the row: [x][moment]. */
static void blur_row(uint32_t width, const double *a, const double *b, const double weights[WINDOW],
                     double *out)
{
    for (uint32_t x = 0; x + WINDOW <= width; x++) {
        double m[MOMENTS] = {0};
        for (uint32_t k = 0; k < WINDOW; k++) {
            double u = a[3 * (x + k)], v = b[3 * (x + k)], w = weights[k];
            m[0] += w * u, m[1] += w * v, m[2] += w * u * u, m[3] += w * v * v, m[4] += w * u * v;
        }
        for (int k = 0; k < MOMENTS; k++)
            out[MOMENTS * (size_t)x + (size_t)k] = m[k];
    }
}

static double similarity(const double m[MOMENTS])
{
    const double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
    double aa = m[2] - m[0] * m[0], bb = m[3] - m[1] * m[1], ab = m[4] - m[0] * m[1];
    return (2 * m[0] * m[1] + c1) * (2 * ab + c2) / ((m[0] * m[0] + m[1] * m[1] + c1) * (aa + bb + c2));
}

/* The sum over all windows of one channel. rows: room for the moments of all rows. */
static double similarities(uint32_t width, uint32_t height, const double *a, const double *b, double *rows)
{
    double weights[WINDOW], sum = 0;
    uint32_t across = width - WINDOW + 1;
    size_t stride = (size_t)MOMENTS * across;
    gaussian(weights);
    for (uint32_t y = 0; y < height; y++)
        blur_row(width, a + 3 * (size_t)width * y, b + 3 * (size_t)width * y, weights, rows + stride * y);
    for (uint32_t y = 0; y + WINDOW <= height; y++)
        for (uint32_t x = 0; x < across; x++) {
            double m[MOMENTS] = {0};
            for (size_t k = 0; k < WINDOW; k++)
                for (size_t i = 0; i < MOMENTS; i++)
                    m[i] += weights[k] * rows[stride * (y + k) + MOMENTS * (size_t)x + i];
            sum += similarity(m);
        }
    return sum;
}

static double ssim(uint32_t width, uint32_t height, const double *a, const double *b, double *rows)
{
    double sum = 0;
    for (int c = 0; c < 3; c++)
        sum += similarities(width, height, a + c, b + c, rows);
    return sum / (3.0 * (width - WINDOW + 1) * (height - WINDOW + 1));
}

bl_result bl_image_compare(uint32_t width, uint32_t height, const float *image, const float *truth,
                           bl_image_quality *out)
{
    size_t n = 3 * (size_t)width * height;
    bool windows = width >= WINDOW && height >= WINDOW;
    if (n == 0)
        return BL_ERROR_ARGUMENT;
    double *both = memory_alloc(2 * n * sizeof *both), square = 0;
    double *rows = memory_alloc((windows ? MOMENTS * (size_t)width * height : 1) * sizeof *rows);
    *out = (bl_image_quality){.ssim = NAN};
    if (both && rows) {
        for (size_t i = 0; i < n; i++) {
            both[i] = displayed(image[i]), both[n + i] = displayed(truth[i]);
            square += (both[i] - both[n + i]) * (both[i] - both[n + i]);
        }
        out->psnr = -10 * log10(square / (double)n);
        if (windows)
            out->ssim = ssim(width, height, both, both + n, rows);
    }
    bool good = both && rows;
    memory_free(both);
    memory_free(rows);
    return good ? BL_OK : BL_ERROR_MEMORY;
}
