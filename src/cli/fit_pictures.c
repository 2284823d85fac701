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

static int save_picture(const fit_work *w, const char *name, uint32_t view, const float *image)
{
    static const char *const kinds[] = {"exr", "png"};
    char *shown = w->job.several ? text_format("%s, view %u", name, view) : text_format("%s", name);
    live_image(w->live, w->session, shown, image);
    free(shown);
    for (int i = 0; i < 2; i++) {
        char *path = fit_path(w, name, view, kinds[i]);
        bl_result result = session_write_image(w->session, path, image);
        free(path);
        SESSION_TRY(w->session, result);
    }
    return CLI_OK;
}

static int save_difference(fit_work *w, uint32_t view, float *difference)
{
    fit_pictures *p = &w->pictures[view];
    size_t n = session_values(w->session);
    double square = 0;
    float *target;
    bool owned;
    CLI_TRY(fit_target(w, view, &target, &owned));
    for (size_t i = 0; i < n; i++) {
        difference[i] = p->after[i] - target[i];
    }
    fit_mask_image(w, view, difference);
    for (size_t i = 0; i < n; i++)
        square += (double)difference[i] * (double)difference[i] / (double)n;
    if (owned)
        free(target);
    char *path = fit_path(w, "difference", view, "png");
    const signed_picture picture = {
        .width = w->session->info.width,
        .height = w->session->info.height,
        .channels = w->session->info.channels,
        .values = difference,
        .scale = p->difference_scale = square > 0 ? 3 * sqrt(square) : 1,
    };
    int status = save_signed_png(w->session, path, &picture);
    free(path);
    return status;
}

static int save_differences(fit_work *w)
{
    float *difference = memory_or_exit(session_values(w->session) * sizeof *difference);
    int status = CLI_OK;
    for (uint32_t v = 0; v < w->job.view_count && status == CLI_OK; v++)
        if (fit_shown(w, v))
            status = save_difference(w, v, difference);
    free(difference);
    return status;
}

bool fit_shown(const fit_work *w, uint32_t view)
{
    uint32_t before = 0;
    if (!w->job.batch)
        return true;
    if (w->job.held_out_count && !w->job.views[view].held_out)
        return false;
    for (uint32_t v = 0; v < view; v++)
        before += !w->job.held_out_count || w->job.views[v].held_out;
    return before < SHOWN_MOST;
}

int fit_render_view(fit_work *w, const char *name, uint32_t v, float **image)
{
    uint32_t spp = w->job.views[v].spp ? w->job.views[v].spp : w->session->info.spp;
    *image = memory_or_exit(session_values(w->session) * sizeof **image);
    cli_progress progress =
        progress_begin(&w->args->common, name ? name : "", session_pixels(w->session) * spp);
    /* Steps with common random numbers may have the fit's seed itself. */
    bl_render_desc desc = {.spp = spp, .seed = w->job.common_numbers ? ~w->seed : w->seed};
    if (name && !interrupted()) { /* after Ctrl-C the last picture is still wanted, and cannot be cancelled */
        desc.progress = progress_call;
        desc.user = &progress;
    }
    bl_result result = bl_fit_render(w->fit, v, &desc, *image);
    progress_end(&progress);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

int fit_render_before(fit_work *w)
{
    double start = seconds_now();
    for (uint32_t v = 0; v < w->job.view_count; v++)
        if (fit_shown(w, v))
            CLI_TRY(fit_render_view(w, "before", v, &w->pictures[v].before));
    w->before_seconds = seconds_now() - start;
    return CLI_OK;
}

int fit_save_beginning(const fit_work *w)
{
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        float *target;
        bool owned;
        if (!fit_shown(w, v))
            continue;
        CLI_TRY(fit_target(w, v, &target, &owned));
        int status = save_picture(w, "target", v, target);
        if (owned)
            free(target);
        CLI_TRY(status);
        CLI_TRY(save_picture(w, "before", v, w->pictures[v].before));
    }
    return CLI_OK;
}

int fit_render_after(fit_work *w)
{
    double start = seconds_now();
    for (uint32_t v = 0; v < w->job.view_count; v++)
        if (fit_shown(w, v)) {
            CLI_TRY(fit_render_view(w, "after", v, &w->pictures[v].after));
            CLI_TRY(save_picture(w, "after", v, w->pictures[v].after));
        }
    w->after_seconds = seconds_now() - start;
    return save_differences(w);
}
