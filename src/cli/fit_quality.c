/* SPDX-License-Identifier: BSD-3-Clause
 * How close pictures of a fit are to their targets, in measures that do not depend on the loss: RMSE of
 * linear values, PSNR and SSIM of displayed ones (bl_image_compare). Pictures of before and after have random
 * numbers that neither steps nor targets have seen, so the measures are independent of what was optimised. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>

bl_result fit_compare(const fit_work *w, const float *image, const float *target, bl_image_quality *out)
{
    const bl_scene_info *info = &w->session->info;
    if (info->channels == 3)
        return bl_image_compare(info->width, info->height, image, target, out);
    size_t n = session_values(w->session);
    float *both = memory_or_exit(6 * n * sizeof *both); /* three equal channels are as close as one */
    for (size_t i = 0; i < 3 * n; i++)
        both[i] = image[i / 3], both[3 * n + i] = target[i / 3];
    bl_result r = bl_image_compare(info->width, info->height, both, both + 3 * n, out);
    free(both);
    return r;
}

static double mean_square(const fit_work *w, const float *image, const float *target)
{
    const size_t n = session_values(w->session);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = (double)image[i] - (double)target[i];
        sum += difference * difference / (double)n;
    }
    return sum;
}

static int add_view(const fit_work *w, uint32_t v, const float *image, fit_quality *q)
{
    float *target;
    bool owned;
    bl_image_quality one = {0};
    CLI_TRY(fit_target(w, v, &target, &owned));
    const bl_result r = fit_compare(w, image, target, &one);
    if (r == BL_OK) {
        q->rmse += mean_square(w, image, target); /* its root is taken at the end */
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
