/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures of a design: the target, in the sizes of the levels, and how like it a picture is. */
#include "design.h"

#include <math.h>
#include <stdlib.h>

int design_target_read(const cli_session *session, const design_job *job, design_picture *out)
{
    uint32_t channels;
    float *read;
    SESSION_TRY(session,
                bl_image_read(session->ctx, job->target, &out->width, &out->height, &channels, &read));
    const size_t count = (size_t)out->width * out->height;
    out->values = memory_or_exit(count * sizeof(float));
    bool fine = true;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const float *v = read + channels * i;
        out->values[i] = channels == 1 ? v[0] : luminance(v);
        fine &= out->values[i] >= 0, sum += (double)out->values[i];
    }
    free(read);
    if (!fine || !(sum > 0))
        return fail("%s: a target is nowhere below 0, and not black everywhere", job->target);
    if (out->width < 4 || out->height < 4)
        return fail("%s: a target has 4 pixels a side or more, not %u x %u", job->target, out->width,
                    out->height);
    return CLI_OK;
}

double design_mean(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i];
    return sum / (double)count;
}

void design_rescale(design_picture *p, double mean)
{
    const size_t count = (size_t)p->width * p->height;
    const double by = mean / design_mean(p->values, count);
    for (size_t i = 0; i < count; i++)
        p->values[i] = (float)((double)p->values[i] * by);
}

design_picture design_resized(const design_picture *from, uint32_t longer, double mean)
{
    const double scale = (double)longer / fmax(from->width, from->height);
    design_picture p = {.width = (uint32_t)fmax(4, round(from->width * scale)),
                        .height = (uint32_t)fmax(4, round(from->height * scale))};
    p.values = memory_or_exit((size_t)p.width * p.height * sizeof *p.values);
    bl_resample(3, (const uint32_t[]){from->height, from->width, 1}, from->values,
                (const uint32_t[]){p.height, p.width, 1}, p.values);
    design_rescale(&p, mean);
    return p;
}

double design_correlation(const float *a, const float *b, size_t count)
{
    const double mean_a = design_mean(a, count), mean_b = design_mean(b, count);
    double both = 0, square_a = 0, square_b = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = (double)a[i] - mean_a, y = (double)b[i] - mean_b;
        both += x * y, square_a += x * x, square_b += y * y;
    }
    return square_a > 0 && square_b > 0 ? both / sqrt(square_a * square_b) : 0;
}

int design_picture_save(const cli_session *session, const char *path, const design_picture *p, double white)
{
    const size_t count = (size_t)p->width * p->height;
    float *shown = memory_or_exit(count * sizeof *shown);
    for (size_t i = 0; i < count; i++)
        shown[i] = (float)((double)p->values[i] / white);
    bl_result r = bl_image_write(session->ctx, path, p->width, p->height, 1, shown);
    free(shown);
    SESSION_TRY(session, r);
    return CLI_OK;
}
