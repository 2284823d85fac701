/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures of fitted parameters that are images or grids: before the fit, after it and, if it is known, the
 * truth. All of them show the same value as black, 0 unless there are lower ones, and the same as white. Of
 * many channels, as coefficients of harmonics, the first three are seen. A grid is shown as some slices of
 * equal z side by side, with y up. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES_MOST = 8 };

/* What there is to see of an array, in its shape. */
static const float *values_of(const fit_parameter *p, const char *which, const uint32_t **shape)
{
    *shape = !strcmp(which, "before")  ? p->first_shape
             : !strcmp(which, "after") ? p->parameter.info.shape
                                       : p->own_shape;
    return !strcmp(which, "before") ? p->first : !strcmp(which, "after") ? p->now : p->own_truth;
}

char *fit_slices_path(const fit_work *w, uint32_t k, const char *which)
{
    const bl_parameter_info *info = &w->parameters[k].parameter.info;
    bool there = info->resizable && (w->truth_known || strcmp(which, "true") != 0);
    return there ? text_format("%s/%s_%s.png", w->folder, info->name, which) : NULL;
}

static void widen(value_range *r, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) /* fmin and fmax pass over what is not a number */
        r->black = fmin(r->black, (double)values[i]), r->white = fmax(r->white, (double)values[i]);
}

value_range fit_slices_range(const fit_work *w, uint32_t k)
{
    const fit_parameter *p = &w->parameters[k];
    const bl_parameter_info *info = &p->parameter.info;
    value_range r = {0};
    widen(&r, p->initial, info->count);
    widen(&r, w->truth_known ? p->truth : p->now, info->count);
    if (!(r.white > r.black))
        r.white = r.black + 1;
    return r;
}

typedef struct slices {
    uint32_t planes, rows, columns, channels; /* of the array */
    uint32_t shown;                           /* planes */
} slices;

static slices layout(uint32_t rank, const uint32_t *shape)
{
    const uint32_t *last = shape + rank - 1;
    slices s = {
        .planes = rank == 4 ? shape[0] : 1, .rows = last[-2], .columns = last[-1], .channels = last[0]};
    s.shown = s.planes < SLICES_MOST ? s.planes : SLICES_MOST;
    return s;
}

/* Planes at the centres of equal parts of z. Between two of them a column of grey. */
static float *draw(const slices *s, const float *values, bool upward, value_range range, uint32_t *width)
{
    *width = s->shown * (s->columns + 1) - 1;
    float *rgb = memory_or_exit((size_t)*width * s->rows * 3 * sizeof *rgb), *out = rgb;
    for (uint32_t y = 0; y < s->rows; y++)
        for (uint32_t x = 0; x < *width; x++, out += 3) {
            uint32_t slice = x / (s->columns + 1), column = x % (s->columns + 1),
                     row = upward ? s->rows - 1 - y : y;
            uint32_t plane = (uint32_t)((slice + 0.5) / s->shown * s->planes);
            const float *v = values + (((size_t)plane * s->rows + row) * s->columns + column) * s->channels;
            for (uint32_t c = 0; c < 3; c++)
                out[c] = column == s->columns ? 0.2f
                                              : (float)(((double)v[s->channels >= 3 ? c : 0] - range.black) /
                                                        (range.white - range.black));
        }
    return rgb;
}

static int save(const fit_work *w, uint32_t k, const char *which)
{
    const fit_parameter *p = &w->parameters[k];
    uint32_t rank = p->parameter.info.rank, width;
    const uint32_t *shape;
    const float *values = values_of(p, which, &shape);
    slices s = layout(rank, shape);
    char *path = fit_slices_path(w, k, which);
    if (!path)
        return CLI_OK;
    float *rgb = draw(&s, values, rank == 4, fit_slices_range(w, k), &width);
    bl_result result = bl_image_write(w->session->ctx, path, width, s.rows, 3, rgb);
    free(rgb);
    free(path);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

int fit_save_slices(const fit_work *w)
{
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        CLI_TRY(save(w, k, "before"));
        CLI_TRY(save(w, k, "after"));
        CLI_TRY(save(w, k, "true"));
    }
    return CLI_OK;
}
