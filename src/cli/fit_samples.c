/* SPDX-License-Identifier: BSD-3-Clause
 * How many samples the steps of a fit have, where they follow from its noise ("adaptive_samples"):
 * DIR/samples.csv has a row for each step, with the samples of a pixel of its image and of its gradient, and
 * those of all steps and pixels so far. */
#include "fit_work.h"

#include <stdlib.h>

static const char head[] = "step,spp,spp_grad,samples\n";

static char *table_path(const fit_work *w) { return text_format("%s/samples.csv", w->folder); }

int fit_samples_begin(const fit_work *w)
{
    uint32_t last;
    if (!(w->job.wanted_noise > 0))
        return CLI_OK;
    char *path = table_path(w);
    int status =
        w->first_step ? fit_table_keep(path, head, w->first_step, &last) : fit_table_begin(path, head);
    free(path);
    return status;
}

int fit_samples_step(const fit_work *w)
{
    if (!(w->job.wanted_noise > 0))
        return CLI_OK;
    char *path = table_path(w),
         *line = text_format("%u,%u,%u,%llu\n", w->status.step, w->status.spp, w->status.spp_gradient,
                             (unsigned long long)(w->note.samples + w->status.samples));
    int status = fit_table_append(path, line);
    free(line);
    free(path);
    return status;
}

int fit_samples_read(const fit_work *w, uint32_t *row_count, double *columns[4])
{
    char *path = table_path(w);
    int status = fit_table_read(path, 4, row_count, columns);
    free(path);
    return status;
}
