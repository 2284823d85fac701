/* SPDX-License-Identifier: BSD-3-Clause
 * What the images of a fit are to look like: targets from files, or rendered from the scene's own values.
 * Targets that are fitted stay in memory. A file of a view that is held out is checked at once, and read
 * again whenever the view is looked at, so that hundreds of them need no memory. */
#include "fit_work.h"

#include <stdlib.h>

int fit_check_views(fit_work *w)
{
    w->truth_known = true;
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        w->truth_known &= !w->job.views[v].target;
        if (w->job.views[v].sensor >= w->session->info.sensors)
            return fail("%s: views[%u].sensor: there is no sensor %u; the scene has %u, counted from 0",
                        w->args->job, v, w->job.views[v].sensor, w->session->info.sensors);
    }
    return CLI_OK;
}

/* The place of a view's target in the job, for messages. free() it. */
static char *place_of(const fit_work *w, uint32_t v)
{
    return w->job.several ? text_format("%s: views[%u].target", w->args->job, v)
                          : text_format("%s: target", w->args->job);
}

/* Makes colours of what was read. */
static int take_image(const fit_work *w, uint32_t v, const uint32_t size[3], const float *read,
                      float **target)
{
    const bl_scene_info *info = &w->session->info;
    if (size[0] != info->width || size[1] != info->height || (size[2] != 1 && size[2] != 3)) {
        char *place = place_of(w, v);
        int status =
            fail("%s: %s has %u x %u pixels and %u channels; the scene's film has %u x %u and 3", place,
                 w->job.views[v].target, size[0], size[1], size[2], info->width, info->height);
        free(place);
        return status;
    }
    *target = memory_or_exit(session_values(w->session) * sizeof **target);
    session_convert_image(w->session, read, size[2], *target);
    return CLI_OK;
}

static int read_target(const fit_work *w, uint32_t v, float **target)
{
    uint32_t size[3];
    float *read = NULL;
    bl_result result =
        bl_image_read_over(w->session->ctx, w->job.views[v].target, w->job.over ? w->job.background : NULL,
                           &size[0], &size[1], &size[2], &read);
    if (result != BL_OK) {
        char *place = place_of(w, v);
        int status = fail("%s: %s", place, bl_context_error(w->session->ctx));
        free(place);
        return status;
    }
    int status = take_image(w, v, size, read, target);
    free(read);
    return status;
}

int fit_target(const fit_work *w, uint32_t v, float **target, bool *owned)
{
    *target = w->pictures[v].target;
    *owned = !*target;
    return *owned ? read_target(w, v, target) : CLI_OK;
}

static int render_target(fit_work *w, bl_job *job, uint32_t v)
{
    const fit_job_view *view = &w->job.views[v];
    uint32_t spp = view->spp ? view->spp : w->session->info.spp;
    cli_progress progress = progress_begin(&w->args->common, "target", session_pixels(w->session) * spp);
    bl_render_desc desc = {.spp = spp, .seed = view->seed, .progress = progress_call, .user = &progress};
    if (w->job.several)
        SESSION_TRY(w->session, bl_job_set_sensor(job, view->sensor, fit_pose(view)));
    w->pictures[v].target = memory_or_exit(session_values(w->session) * sizeof(float));
    bl_result result = bl_job_render(job, &desc, w->pictures[v].target, NULL);
    progress_end(&progress);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

/* *job: made when it is first needed. */
static int make_target(fit_work *w, uint32_t v, bl_job **job)
{
    float *target;
    if (!w->job.views[v].target) {
        if (!*job)
            CLI_TRY(session_create_job(w->session, (bl_job_desc){.sensor_moves = w->job.several}, job));
        return render_target(w, *job, v);
    }
    CLI_TRY(read_target(w, v, &target));
    if (w->job.views[v].held_out)
        free(target);
    else
        w->pictures[v].target = target;
    return CLI_OK;
}

int fit_make_targets(fit_work *w)
{
    bl_job *job = NULL;
    int status = CLI_OK;
    w->pictures = memory_or_exit(w->job.view_count * sizeof *w->pictures);
    for (uint32_t v = 0; v < w->job.view_count && status == CLI_OK; v++)
        status = make_target(w, v, &job);
    bl_job_destroy(job);
    return status;
}
