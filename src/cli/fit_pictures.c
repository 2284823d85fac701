/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures that a fit leaves behind: images of its views before, after and of the target, and differences. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>

char *fit_path(const fit_work *w, const char *name, uint32_t view, const char *kind)
{
    return w->job.several ? text_format("%s/%s_%u.%s", w->folder, name, view, kind)
                          : text_format("%s/%s.%s", w->folder, name, kind);
}

int fit_save_picture(const fit_work *w, const char *name, uint32_t view, const float *image)
{
    static const char *const kinds[] = {"exr", "png"};
    for (int i = 0; i < 2; i++) {
        char *path = fit_path(w, name, view, kinds[i]);
        bl_result result =
            bl_image_write(w->session->ctx, path, w->session->info.width, w->session->info.height, 3, image);
        free(path);
        SESSION_TRY(w->session, result);
    }
    return CLI_OK;
}

static int save_difference(const fit_work *w, uint32_t view, float *difference)
{
    const fit_pictures *p = &w->pictures[view];
    size_t n = session_values(w->session);
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        double was = (double)p->before[i] - (double)p->target[i];
        square += was * was / (double)n;
        difference[i] = p->after[i] - p->target[i];
    }
    char *path = fit_path(w, "difference", view, "png");
    const signed_picture picture = {
        .width = w->session->info.width,
        .height = w->session->info.height,
        .channels = 3,
        .values = difference,
        .scale = 2 * sqrt(square),
    };
    int status = save_signed_png(w->session, path, &picture);
    free(path);
    return status;
}

int fit_save_differences(const fit_work *w)
{
    float *difference = memory_or_exit(session_values(w->session) * sizeof *difference);
    int status = CLI_OK;
    for (uint32_t v = 0; v < w->job.view_count && status == CLI_OK; v++)
        status = save_difference(w, v, difference);
    free(difference);
    return status;
}
