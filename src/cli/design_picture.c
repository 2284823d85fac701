/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures of a design: the target, in the sizes of the levels, and how like it a picture is. */
#include "design.h"

#include <math.h>
#include <stdlib.h>

bool design_in_colour(const design_job *job) { return job->slide || job->abbe > 0; }

size_t design_count(const design_picture *p) { return (size_t)p->width * p->height * p->channels; }

/* Takes the values of a picture that was read with 1 or 3 channels or more. */
static bool take(design_picture *out, const float *read, uint32_t channels)
{
    bool fine = true;
    double sum = 0;
    for (size_t i = 0; i < (size_t)out->width * out->height; i++) {
        const float *v = read + channels * i;
        float *to = out->values + out->channels * i;
        for (uint32_t c = 0; c < out->channels; c++) {
            to[c] = channels == 1 ? v[0] : out->channels == 1 ? luminance(v) : v[c];
            fine &= to[c] >= 0, sum += (double)to[c];
        }
    }
    return fine && sum > 0;
}

int design_target_read(const cli_session *session, const design_job *job, design_picture *out)
{
    uint32_t channels;
    float *read;
    SESSION_TRY(session,
                bl_image_read(session->ctx, job->target, &out->width, &out->height, &channels, &read));
    out->channels = design_in_colour(job) ? 3 : 1;
    out->values = memory_or_exit(design_count(out) * sizeof(float));
    const bool fine = take(out, read, channels);
    free(read);
    if (!fine)
        return fail("%s: a target is nowhere below 0, and not black everywhere", job->target);
    if (out->width < 4 || out->height < 4)
        return fail("%s: a target has 4 pixels a side or more, not %u x %u", job->target, out->width,
                    out->height);
    return CLI_OK;
}

void design_means(const design_picture *p, double means[DESIGN_CHANNELS_MOST])
{
    const size_t count = design_count(p);
    for (uint32_t c = 0; c < p->channels; c++)
        means[c] = 0;
    for (size_t i = 0; i < count; i++)
        means[i % p->channels] += (double)p->values[i];
    for (uint32_t c = 0; c < p->channels; c++)
        means[c] /= (double)p->width * p->height;
}

/* A channel that is black stays so. */
void design_rescale(design_picture *p, const double *means)
{
    double now[DESIGN_CHANNELS_MOST];
    design_means(p, now);
    for (size_t i = 0; i < design_count(p); i++) {
        const uint32_t c = (uint32_t)(i % p->channels);
        p->values[i] = now[c] > 0 ? (float)((double)p->values[i] * means[c] / now[c]) : 0;
    }
}

design_picture design_resized(const design_picture *from, uint32_t longer, const double *means)
{
    const double scale = (double)longer / fmax(from->width, from->height);
    design_picture p = {.width = (uint32_t)fmax(4, round(from->width * scale)),
                        .height = (uint32_t)fmax(4, round(from->height * scale)),
                        .channels = from->channels};
    p.values = memory_or_exit(design_count(&p) * sizeof *p.values);
    bl_resample(3, (const uint32_t[]){from->height, from->width, from->channels}, from->values,
                (const uint32_t[]){p.height, p.width, p.channels}, p.values);
    design_rescale(&p, means);
    return p;
}

double design_correlation(const design_picture *a, const design_picture *b)
{
    double mean_a[DESIGN_CHANNELS_MOST], mean_b[DESIGN_CHANNELS_MOST], both = 0, square_a = 0, square_b = 0;
    design_means(a, mean_a), design_means(b, mean_b);
    for (size_t i = 0; i < design_count(a); i++) {
        const double x = (double)a->values[i] - mean_a[i % a->channels],
                     y = (double)b->values[i] - mean_b[i % a->channels];
        both += x * y, square_a += x * x, square_b += y * y;
    }
    return square_a > 0 && square_b > 0 ? both / sqrt(square_a * square_b) : 0;
}

int design_picture_save(const cli_session *session, const char *path, const design_picture *p, double white)
{
    const size_t count = design_count(p);
    float *shown = memory_or_exit(count * sizeof *shown);
    for (size_t i = 0; i < count; i++)
        shown[i] = (float)((double)p->values[i] / white);
    bl_result r = bl_image_write(session->ctx, path, p->width, p->height, p->channels, shown);
    free(shown);
    SESSION_TRY(session, r);
    return CLI_OK;
}
