/* SPDX-License-Identifier: BSD-3-Clause
 * How close pictures of a fit are to their targets, in measures that do not depend on the loss: RMSE of
 * linear values, PSNR and SSIM of displayed ones (bl_image_compare). Pictures of before and after have random
 * numbers that neither steps nor targets have seen, so the measures are independent of what was optimised. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of one channel, whose values are divided by `most`. Three equal channels are as close as one. */
static bl_result compare_channel(const fit_work *w, const float *image, const float *target, uint32_t c,
                                 float most, bl_image_quality *out)
{
    const bl_scene_info *info = &w->session->info;
    size_t n = 3 * session_pixels(w->session);
    float *both = memory_or_exit(2 * n * sizeof *both);
    for (size_t i = 0; i < n; i++)
        both[i] = image[i / 3 * info->channels + c] / most,
        both[n + i] = target[i / 3 * info->channels + c] / most;
    bl_result r = bl_image_compare(info->width, info->height, both, both + n, out);
    free(both);
    return r;
}

static float largest(const fit_work *w, const float *target, uint32_t c)
{
    float most = 0;
    for (size_t i = c; i < session_values(w->session); i += w->session->info.channels)
        most = fmaxf(most, fabsf(target[i]));
    return most > 0 ? most : 1;
}

/* Of bands and entries of Stokes vectors, which have no white, the largest magnitude of the target's stands
 * for it; the means over them. The PSNR leaves out those in which both images are the same, as where light
 * has no such polarisation. */
static bl_result compare_bands(const fit_work *w, const float *image, const float *target,
                               bl_image_quality *out)
{
    const uint32_t bands = w->session->info.channels;
    uint32_t differ = 0;
    *out = (bl_image_quality){0};
    for (uint32_t c = 0; c < bands; c++) {
        bl_image_quality q;
        bl_result r = compare_channel(w, image, target, c, largest(w, target, c), &q);
        if (r != BL_OK)
            return r;
        out->ssim += q.ssim / bands;
        if (isfinite(q.psnr))
            out->psnr += q.psnr, differ++;
    }
    out->psnr = differ > 0 ? out->psnr / differ : (double)INFINITY;
    return BL_OK;
}

static bl_result compare_whole(const fit_work *w, const float *image, const float *target,
                               bl_image_quality *out)
{
    const bl_scene_info *info = &w->session->info;
    if (bl_scene_band_name(w->session->scene, 0))
        return compare_bands(w, image, target, out);
    return info->channels == 3 ? bl_image_compare(info->width, info->height, image, target, out)
                               : compare_channel(w, image, target, 0, 1, out);
}

/* Weights: NULL, all are 1. */
static double mean_square(const fit_work *w, const float *weights, const float *image, const float *target)
{
    const size_t n = session_values(w->session), channels = w->session->info.channels;
    double sum = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = (double)image[i] - (double)target[i],
               weight = weights ? (double)weights[i / channels] : 1;
        sum += weight > 0 ? weight * difference * difference : 0;
        all += weight;
    }
    return sum / all;
}

/* bl_image_compare over the pixels that count. */
static bl_result compare_masked(const fit_work *w, uint32_t v, const float *image, const float *target,
                                bl_image_quality *out)
{
    const size_t n = session_values(w->session), pixels = session_pixels(w->session);
    const float *weights = w->pictures[v].weights;
    float *both[2] = {memory_or_exit(n * sizeof(float)), memory_or_exit(n * sizeof(float))};
    double counted = 0;
    memcpy(both[0], image, n * sizeof(float)), memcpy(both[1], target, n * sizeof(float));
    fit_mask_image(w, v, both[0]), fit_mask_image(w, v, both[1]);
    bl_result r = compare_whole(w, both[0], both[1], out);
    for (size_t i = 0; i < pixels; i++)
        counted += weights[i] > 0;
    out->psnr += 10 * log10(counted / (double)pixels); /* the others are equal in both, and in the mean */
    free(both[0]), free(both[1]);
    return r;
}

bl_result fit_compare(const fit_work *w, uint32_t v, const float *image, const float *target,
                      bl_image_quality *out)
{
    return w->pictures[v].weights ? compare_masked(w, v, image, target, out)
                                  : compare_whole(w, image, target, out);
}

static int add_view(const fit_work *w, uint32_t v, const float *image, fit_quality *q)
{
    const float *weights = w->pictures[v].weights;
    float *target;
    bool owned;
    bl_image_quality one = {0};
    CLI_TRY(fit_target(w, v, &target, &owned));
    const bl_result r = fit_compare(w, v, image, target, &one);
    if (r == BL_OK) {
        q->rmse += mean_square(w, weights, image, target); /* its root is taken at the end */
        q->psnr += one.psnr, q->ssim += one.ssim;
        q->views++;
    }
    if (owned)
        free(target);
    return r == BL_OK ? CLI_OK : fail("%s", bl_result_text(r));
}

int fit_measure(const fit_work *w, bool after, fit_quality *q)
{
    *q = (fit_quality){0};
    for (uint32_t v = 0; v < w->job.view_count; v++)
        if (fit_shown(w, v))
            CLI_TRY(add_view(w, v, after ? w->pictures[v].after : w->pictures[v].before, q));
    if (q->views) {
        q->rmse = sqrt(q->rmse / q->views);
        q->psnr /= q->views, q->ssim /= q->views;
    }
    return CLI_OK;
}
