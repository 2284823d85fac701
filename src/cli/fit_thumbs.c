/* SPDX-License-Identifier: BSD-3-Clause
 * DIR/step_N.png: a view while it is fitted, after 1, 2, 4, 8 steps and so on, with few samples: a fit
 * changes most at its beginning, and these steps stay the same where a job is made longer. They are no part
 * of the optimisation: their time does not count, and they change no bytes of it. */
#include "fit_work.h"

#include <stdlib.h>

enum { SPP_MOST = 16 };

char *fit_thumb_path(const fit_work *w, uint32_t step)
{
    return text_format("%s/step_%06u.png", w->folder, step);
}

uint32_t fit_thumb_next(const fit_work *w, uint32_t step)
{
    const uint32_t next = step ? 2 * step : 1;
    return next > step && next <= w->status.step ? next : 0;
}

int fit_thumb_step(fit_work *w)
{
    uint32_t view = 0;
    if ((w->status.step & (w->status.step - 1)) != 0)
        return CLI_OK;
    while (view < w->job.view_count && !fit_shown(w, view))
        view++;
    const bl_scene_info *info = &w->session->info;
    const uint32_t own = w->job.views[view].spp ? w->job.views[view].spp : info->spp;
    const double begun = seconds_now();
    float *image = memory_or_exit(session_values(w->session) * sizeof *image);
    char *path = fit_thumb_path(w, w->status.step);
    bl_result r = bl_fit_render(
        w->fit, view, &(bl_render_desc){.spp = own < SPP_MOST ? own : SPP_MOST, .seed = w->seed}, image);
    if (r == BL_OK)
        fit_target_noise_thumb(w, view, image);
    if (r == BL_OK)
        live_image(w->live, w->session, "fit", image);
    if (r == BL_OK)
        r = session_write_image(w->session, path, image);
    free(path);
    free(image);
    w->start += seconds_now() - begun;
    SESSION_TRY(w->session, r);
    return CLI_OK;
}
