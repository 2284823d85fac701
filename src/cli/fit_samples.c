/* SPDX-License-Identifier: BSD-3-Clause
 * How many samples the steps of a fit have, where they follow from its noise ("adaptive_samples"):
 * DIR/samples.csv has a row for each step, with the samples of a pixel of its image and of its gradient, and
 * those of all steps and pixels so far. */
#include "fit_work.h"

#include <stdlib.h>

static const char table[] = "samples.csv", head[] = "step,spp,spp_grad,samples\n";

int fit_samples_begin(const fit_work *w)
{
    uint32_t last;
    return w->job.wanted_noise > 0 ? fit_table_begin(w, table, head, w->first_step, &last) : CLI_OK;
}

int fit_samples_step(const fit_work *w)
{
    if (!(w->job.wanted_noise > 0))
        return CLI_OK;
    char *line = text_format("%u,%u,%u,%llu\n", w->status.step, w->status.spp, w->status.spp_gradient,
                             (unsigned long long)(w->note.samples + w->status.samples));
    int status = fit_table_append(w, table, line);
    free(line);
    return status;
}

int fit_samples_read(const fit_work *w, uint32_t *row_count, double *columns[4])
{
    return fit_table_read(w, table, 4, row_count, columns);
}
