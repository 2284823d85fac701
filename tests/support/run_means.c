/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/run_means.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

static void add(run_means *m, uint32_t i, double value)
{
    m->sum[i] += value, m->squares[i] += value * value;
}

void run_means_add(run_means *m, const double *values, uint32_t count)
{
    BL_ASSERT(count <= RUN_MEANS_MOST, "%u values of a run", count);
    double all = 0;
    for (uint32_t i = 0; i < count; i++)
        add(m, i, values[i]), all += values[i];
    add(m, RUN_MEANS_ALL, all);
    m->runs++;
}

double run_means_value(const run_means *m, uint32_t i) { return m->sum[i] / m->runs; }

static double variance(const run_means *m, uint32_t i)
{
    const double mean = run_means_value(m, i);
    return fmax(0, m->squares[i] / m->runs - mean * mean) / (m->runs - 1);
}

double run_means_error(const run_means *a, const run_means *b, uint32_t i)
{
    return sqrt(variance(a, i) + variance(b, i));
}

uint32_t run_means_blocks(const float *image, uint32_t width, uint32_t height, uint32_t border,
                          double *blocks)
{
    const uint32_t across = width / RUN_MEANS_BLOCK, count = 3 * across * (height / RUN_MEANS_BLOCK);
    BL_ASSERT(count <= RUN_MEANS_MOST, "%u blocks", count);
    memset(blocks, 0, count * sizeof *blocks);
    for (uint32_t y = border; y < height - border; y++)
        for (uint32_t x = border; x < width - border; x++)
            for (uint32_t c = 0; c < 3; c++)
                blocks[3 * (y / RUN_MEANS_BLOCK * across + x / RUN_MEANS_BLOCK) + c] +=
                    (double)image[3 * (y * width + x) + c] / (RUN_MEANS_BLOCK * RUN_MEANS_BLOCK);
    return count;
}

uint32_t run_means_grey_blocks(const float *image, uint32_t width, uint32_t height, double *blocks)
{
    const uint32_t across = width / 2, count = across * (height / 2);
    BL_ASSERT(count <= RUN_MEANS_MOST, "%u blocks", count);
    memset(blocks, 0, count * sizeof *blocks);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < 3; c++)
                blocks[y / 2 * across + x / 2] += (double)image[3 * (y * width + x) + c] / 12;
    return count;
}
