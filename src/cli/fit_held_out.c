/* SPDX-License-Identifier: BSD-3-Clause
 * Views that no step sees, as a measure of what a fit has understood: PSNR and SSIM against their targets
 * (bl_image_compare), while it runs and at the end. held_out.csv has a row for each look while it runs: step,
 * means over the views that were looked at (those of fit_shown, of which there are few), their number. Going
 * on from a checkpoint keeps the rows up to its step, so the whole is the same bytes as without an
 * interruption. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 10 }; /* looks of a fit whose job does not say */

/* ---- looks ---- */

/* Sets w->qualities of the view. turntable: receives its pictures, or NULL. */
static int compare(fit_work *w, uint32_t v, const float *image, fit_turntable *turntable)
{
    float *target;
    bool owned;
    CLI_TRY(fit_target(w, v, &target, &owned));
    bl_result r = fit_compare(w, v, image, target, &w->qualities[v]);
    int status = r == BL_OK ? CLI_OK : fail("%s", bl_result_text(r));
    if (status == CLI_OK && turntable)
        status = fit_turntable_add(w, turntable, image, target);
    if (owned)
        free(target);
    return status;
}

/* image: that of the view now, or NULL. */
static int measure(fit_work *w, uint32_t v, const float *image, fit_turntable *turntable)
{
    float *own = NULL;
    int status = image ? CLI_OK : fit_render_view(w, NULL, v, &own);
    if (status == CLI_OK)
        status = compare(w, v, image ? image : own, turntable);
    free(own);
    return status;
}

static void add(bl_image_quality *mean, const bl_image_quality *one, uint32_t count)
{
    mean->psnr += one->psnr / count, mean->ssim += one->ssim / count;
}

static void announce(const fit_work *w, const bl_image_quality *mean, uint32_t views)
{
    note(&w->args->common, "%sheld out, after step %u: PSNR %.2f dB, SSIM %.4f (mean of %u view%s)",
         progress_on_terminal(&w->args->common) ? "\n" : "", w->status.step, mean->psnr, mean->ssim, views,
         views == 1 ? "" : "s");
}

/* ---- the log ---- */

static const char table[] = "held_out.csv", head[] = "step,psnr,ssim,views\n";

static int append(const fit_work *w, const bl_image_quality *mean, uint32_t views)
{
    char *line = text_format("%u,%.9g,%.9g,%u\n", w->status.step, mean->psnr, mean->ssim, views);
    int status = fit_table_append(w, table, line);
    free(line);
    return status;
}

int fit_held_out_read(const fit_work *w, uint32_t *row_count, double *columns[3])
{
    return fit_table_read(w, table, 3, row_count, columns);
}

/* ---- when ---- */

/* The end has a look of its own. */
bool fit_held_out_due(const fit_work *w)
{
    uint32_t every = w->job.held_out_steps ? w->job.held_out_steps : (w->steps + LOOKS - 1) / LOOKS;
    return w->job.held_out_count && w->status.step < w->steps && w->status.step % every == 0;
}

/* Means over the views that are shown, from w->qualities. */
static int report(const fit_work *w)
{
    uint32_t shown = 0;
    bl_image_quality mean = {0};
    for (uint32_t v = 0; v < w->job.view_count; v++)
        shown += w->job.views[v].held_out && fit_shown(w, v);
    for (uint32_t v = 0; v < w->job.view_count; v++)
        if (w->job.views[v].held_out && fit_shown(w, v))
            add(&mean, &w->qualities[v], shown);
    announce(w, &mean, shown);
    return append(w, &mean, shown);
}

/* Ctrl-C ends it without a row. The session that goes on from the checkpoint looks again. */
static int look(fit_work *w)
{
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        if (!w->job.views[v].held_out || !fit_shown(w, v))
            continue;
        if (interrupted())
            return CLI_OK;
        CLI_TRY(measure(w, v, NULL, NULL));
    }
    return report(w);
}

int fit_held_out_step(fit_work *w) { return fit_held_out_due(w) ? look(w) : CLI_OK; }

/* A fit that goes on keeps the rows up to the checkpoint's step, without the row of an end. */
int fit_held_out_begin(fit_work *w)
{
    if (!w->job.held_out_count)
        return CLI_OK;
    uint32_t last, most = fit_held_out_due(w) || w->first_step == 0 ? w->first_step : w->first_step - 1;
    w->qualities = memory_or_exit(w->job.view_count * sizeof *w->qualities);
    CLI_TRY(fit_table_begin(w, table, head, most, &last));
    return last == w->first_step ? CLI_OK : fit_held_out_step(w);
}

static int measure_all(fit_work *w, fit_turntable *turntable)
{
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        if (!w->job.views[v].held_out)
            continue;
        CLI_TRY(measure(w, v, w->pictures[v].after, turntable));
        add(&w->held_out, &w->qualities[v], w->job.held_out_count);
    }
    return fit_turntable_save(w, turntable);
}

int fit_held_out_end(fit_work *w)
{
    if (!w->job.held_out_count)
        return CLI_OK;
    fit_turntable *turntable = fit_turntable_begin(w);
    int status = measure_all(w, turntable);
    fit_turntable_free(turntable);
    return status == CLI_OK && fit_complete(w) && !fit_held_out_due(w) ? report(w) : status;
}
