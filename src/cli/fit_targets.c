/* SPDX-License-Identifier: BSD-3-Clause
 * What the images of a fit are to look like: targets from files, or rendered from the scene's own values.
 * A mask says how much each pixel of a view counts. Targets that are fitted and masks stay in memory. A file
 * of a view that is held out is checked at once, and read again whenever the view is looked at, so that
 * hundreds of them need no memory. */
#include "fit_work.h"

#include <math.h>
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

/* An image of the film's size, with 1 or 3 channels. background: as in bl_image_read_over. */
static int read_image(const fit_work *w, uint32_t v, const char *key, const char *path,
                      const float *background, uint32_t *channels, float **read)
{
    const bl_scene_info *info = &w->session->info;
    uint32_t size[2];
    int status = CLI_OK;
    char *place = fit_job_place(&w->job, v, key);
    if (bl_image_read_over(w->session->ctx, path, background, &size[0], &size[1], channels, read) != BL_OK)
        status = fail("%s: %s: %s", w->args->job, place, bl_context_error(w->session->ctx));
    else if (size[0] != info->width || size[1] != info->height || (*channels != 1 && *channels != 3)) {
        status = fail("%s: %s: %s has %u x %u pixels and %u channels; the scene's film has %u x %u and 3",
                      w->args->job, place, path, size[0], size[1], *channels, info->width, info->height);
        free(*read);
    }
    free(place);
    return status;
}

static void undo_decoding(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)encode_srgb((double)values[i]);
}

/* An image of 1 or 3 channels as one of the scene: in mode mono colours become their luminance. */
static void convert(const cli_session *session, const float *read, uint32_t channels, float *pixels)
{
    const uint32_t own = session->info.channels;
    for (size_t i = 0; i < session_pixels(session); i++) {
        const float *from = read + channels * i;
        if (own == 1 && channels == 3)
            pixels[i] = luminance(from);
        else
            for (uint32_t c = 0; c < own; c++)
                pixels[own * i + c] = from[channels == own ? c : 0];
    }
}

/* Bands have no colours: there is no background, and their numbers are those of light. */
static int read_bands(const fit_work *w, uint32_t v, float **target)
{
    char *place = fit_job_place(&w->job, v, "target");
    int status = w->job.over || w->job.views[v].linear
                     ? fail("%s: %s: the film has no colours: \"background\" and \"linear\" are for colours",
                            w->args->job, place)
                     : session_read_image(w->session, w->job.views[v].target, target);
    free(place);
    return status;
}

static int read_target(const fit_work *w, uint32_t v, float **target)
{
    uint32_t channels;
    float *read = NULL;
    if (bl_scene_band_name(w->session->scene, 0))
        return read_bands(w, v, target);
    CLI_TRY(read_image(w, v, "target", w->job.views[v].target, w->job.over ? w->job.background : NULL,
                       &channels, &read));
    if (w->job.views[v].linear)
        undo_decoding(read, session_pixels(w->session) * channels);
    *target = memory_or_exit(session_values(w->session) * sizeof **target);
    convert(w->session, read, channels, *target);
    free(read);
    return CLI_OK;
}

/* Weights of pixels: the mean over the mask's channels. A PNG's are its numbers as they are, 0 to 1. */
static int read_mask(fit_work *w, uint32_t v)
{
    const char *path = w->job.views[v].mask;
    const size_t pixels = session_pixels(w->session);
    uint32_t channels;
    float *read = NULL;
    if (!path)
        return CLI_OK;
    CLI_TRY(read_image(w, v, "mask", path, NULL, &channels, &read));
    if (is_png(path))
        undo_decoding(read, pixels * channels);
    float *weights = w->pictures[v].weights = memory_or_exit(pixels * sizeof *weights);
    bool some = false, good = true;
    for (size_t i = 0; i < pixels * channels; i++) {
        weights[i / channels] += read[i] / (float)channels;
        some |= read[i] > 0, good &= read[i] >= 0 && isfinite(read[i]);
    }
    free(read);
    char *place = fit_job_place(&w->job, v, "mask");
    int status = some && good ? CLI_OK
                              : fail("%s: %s: %s %s", w->args->job, place, path,
                                     good ? "is black: no pixel counts" : "has values below 0 or not finite");
    free(place);
    return status;
}

void fit_mask_image(const fit_work *w, uint32_t v, float *image)
{
    const float *weights = w->pictures[v].weights;
    const size_t n = session_values(w->session), channels = w->session->info.channels;
    for (size_t i = 0; weights && i < n; i++)
        image[i] = weights[i / channels] > 0 ? image[i] : 0;
}

int fit_target(const fit_work *w, uint32_t v, float **target, bool *owned)
{
    *target = w->pictures[v].target;
    *owned = !*target;
    return *owned ? read_target(w, v, target) : CLI_OK;
}

static int render_target(fit_work *w, bl_job *job, uint32_t v, uint32_t seed, float **image)
{
    const fit_job_view *view = &w->job.views[v];
    uint32_t spp = view->spp ? view->spp : w->session->info.spp;
    cli_progress progress = progress_begin(&w->args->common, "target", session_pixels(w->session) * spp);
    bl_render_desc desc = {.spp = spp, .seed = seed, .progress = progress_call, .user = &progress};
    if (w->job.several)
        SESSION_TRY(w->session, bl_job_set_sensor(job, view->sensor, fit_pose(view)));
    *image = memory_or_exit(session_values(w->session) * sizeof **image);
    bl_result result = bl_job_render(job, &desc, *image, NULL);
    progress_end(&progress);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

/* The first view that is fitted a second time, where its noise is of interest. */
static int render_twice(fit_work *w, bl_job *job, uint32_t v)
{
    const uint32_t seed = w->job.views[v].seed;
    bool first = !w->job.views[v].held_out;
    for (uint32_t k = 0; k < v; k++)
        first &= !w->pictures[k].second;
    CLI_TRY(render_target(w, job, v, seed, &w->pictures[v].target));
    return first && fit_target_noise_possible(w)
               ? render_target(w, job, v, seed ^ 0x5bd1e995u, &w->pictures[v].second)
               : CLI_OK;
}

/* *job: made when it is first needed. */
static int make_target(fit_work *w, uint32_t v, bl_job **job)
{
    float *target;
    if (!w->job.views[v].target) {
        if (!*job)
            CLI_TRY(session_create_job(w->session, (bl_job_desc){.sensor_moves = w->job.several}, job));
        return render_twice(w, *job, v);
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
    for (uint32_t v = 0; v < w->job.view_count && status == CLI_OK; v++) {
        status = read_mask(w, v);
        if (status == CLI_OK)
            status = make_target(w, v, &job);
    }
    bl_job_destroy(job);
    return status;
}
