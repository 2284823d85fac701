/* SPDX-License-Identifier: BSD-3-Clause
 * Images and grids at another resolution, one axis after the other: for coarse-to-fine fits. */
#include <backlight/backlight.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An array as seen along one axis. It has before * length * after entries. */
typedef struct axis_view {
    size_t before, after;
    uint32_t length, wanted;
} axis_view;

/* Computes entry i of the new axis: the mean of the entries of the old axis, weighed by a tent around entry i
 * whose half width is the larger of the two cells. */
static void resample_row(const axis_view *v, uint32_t i, const float *from, float *to)
{
    double ratio = (double)v->length / v->wanted, radius = ratio > 1 ? ratio : 1,
           center = (i + 0.5) * ratio - 0.5, sum = 0;
    double first = ceil(center - radius), last = floor(center + radius);
    uint32_t low = first > 0 ? (uint32_t)first : 0,
             high = last < v->length - 1 ? (uint32_t)last : v->length - 1;
    for (uint32_t j = low; j <= high; j++)
        sum += fmax(0, 1 - fabs(j - center) / radius);
    for (size_t k = 0; k < v->after; k++) {
        double value = 0;
        for (uint32_t j = low; j <= high; j++)
            value += fmax(0, 1 - fabs(j - center) / radius) * (double)from[j * v->after + k];
        to[k] = (float)(value / sum);
    }
}

static float *resample_axis(const axis_view *v, const float *from)
{
    float *to = memory_alloc(v->before * v->wanted * v->after * sizeof *to);
    for (size_t b = 0; to && b < v->before; b++)
        for (uint32_t i = 0; i < v->wanted; i++)
            resample_row(v, i, from + b * v->length * v->after, to + (b * v->wanted + i) * v->after);
    return to;
}

static size_t product(const uint32_t *sides, uint32_t count)
{
    size_t n = 1;
    for (uint32_t k = 0; k < count; k++)
        n *= sides[k];
    return n;
}

bl_result bl_resample(uint32_t rank, const uint32_t *shape, const float *values, const uint32_t *new_shape,
                      float *new_values)
{
    if ((rank != 3 && rank != 4) || shape[rank - 1] != new_shape[rank - 1] || product(shape, rank) == 0 ||
        product(new_shape, rank) == 0)
        return BL_ERROR_ARGUMENT;
    float *made = NULL; /* the array resampled along the axes before */
    for (uint32_t k = 0; k + 1 < rank; k++) {
        const axis_view v = {
            .before = product(new_shape, k),
            .after = product(shape + k + 1, rank - k - 1),
            .length = shape[k],
            .wanted = new_shape[k],
        };
        float *next = resample_axis(&v, made ? made : values);
        memory_free(made);
        if (!next)
            return BL_ERROR_MEMORY;
        made = next;
    }
    memcpy(new_values, made, product(new_shape, rank) * sizeof *new_values);
    memory_free(made);
    return BL_OK;
}
