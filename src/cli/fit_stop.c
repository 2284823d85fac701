/* SPDX-License-Identifier: BSD-3-Clause
 * Fits that end before their last step ("stop"): when the loss has stopped falling (bl_loss_plateau), or when
 * PSNR of the views that are held out has not risen for some looks. The rules see the numbers of fit.csv and
 * held_out.csv as these have them, so a fit that goes on from a checkpoint ends at the same step. They hold
 * in the last stage. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first step of the last stage, less one. */
static uint32_t beginning(const fit_work *w)
{
    return w->steps - w->job.stages[w->job.stage_count - 1].steps;
}

static uint32_t losses_kept(const fit_work *w) { return 2 * w->job.stop_window; }

static void keep_loss(fit_work *w, double loss)
{
    if (w->recent_count == losses_kept(w))
        memmove(w->recent, w->recent + 1, --w->recent_count * sizeof *w->recent);
    w->recent[w->recent_count++] = loss;
}

static bool settled(fit_work *w)
{
    if (w->job.stop_window == 0 || w->recent_count < losses_kept(w))
        return false;
    const double least = w->job.stop_improvement > 0 ? w->job.stop_improvement : 1e-3;
    const bl_plateau p = bl_loss_plateau(w->recent, w->job.stop_window, least);
    if (p.reached)
        w->stopped =
            text_format("the loss has stopped falling: %.4g over steps %u to %u, %.4g over steps %u to "
                        "%u; the difference has a standard error of %.2g",
                        p.before, w->status.step + 1 - losses_kept(w), w->status.step - w->job.stop_window,
                        p.after, w->status.step + 1 - w->job.stop_window, w->status.step, p.error);
    return p.reached;
}

/* After a look. */
static int best_is_over(fit_work *w)
{
    uint32_t rows, best = 0, first = 0;
    double *columns[3];
    CLI_TRY(fit_held_out_read(w, &rows, columns));
    while (first < rows && columns[0][first] <= beginning(w))
        first++;
    for (uint32_t r = best = first; r < rows; r++)
        best = columns[1][r] > columns[1][best] ? r : best;
    if (rows > first && rows - 1 - best >= w->job.stop_patience)
        w->stopped =
            text_format("PSNR of the held-out views has not risen for %u looks: the best was %.2f dB after "
                        "step %.0f",
                        rows - 1 - best, columns[1][best], columns[0][best]);
    free(columns[0]);
    return CLI_OK;
}

static int decide(fit_work *w)
{
    if (w->status.step <= beginning(w) || w->status.step >= w->steps || settled(w))
        return CLI_OK;
    return w->job.stop_patience && fit_held_out_due(w) ? best_is_over(w) : CLI_OK;
}

int fit_stop_begin(fit_work *w)
{
    if (w->job.stop_window) {
        const uint32_t done = w->first_step > beginning(w) ? w->first_step - beginning(w) : 0;
        w->recent = memory_or_exit(losses_kept(w) * sizeof *w->recent);
        w->recent_count = done < losses_kept(w) ? done : losses_kept(w);
        if (w->recent_count)
            CLI_TRY(fit_log_losses(w, w->first_step - w->recent_count, w->recent));
    }
    return w->first_step ? decide(w) : CLI_OK;
}

int fit_stop_step(fit_work *w)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", w->status.loss); /* as fit.csv has it */
    if (w->job.stop_window && w->status.step > beginning(w))
        keep_loss(w, strtod(text, NULL));
    return decide(w);
}
