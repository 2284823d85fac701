/* SPDX-License-Identifier: BSD-3-Clause
 * How many samples the steps of a fit have, where they follow from its noise ("adaptive_samples") or from its
 * schedule: DIR/samples.csv has a row for each step, with the samples of a pixel of its image and of its
 * gradient, and those of all steps and pixels so far. */
#include "fit_work.h"

#include <stdlib.h>

static const char table[] = "samples.csv", head[] = "step,spp,spp_grad,samples\n";

bool fit_samples_vary(const fit_work *w)
{
    bool change = w->job.wanted_noise > 0;
    for (uint32_t i = 0; i < w->job.schedule_count; i++)
        change |= w->job.schedule[i].samples > 0;
    return change;
}

int fit_samples_begin(const fit_work *w)
{
    uint32_t last;
    return fit_samples_vary(w) ? fit_table_begin(w, table, head, w->first_step, &last) : CLI_OK;
}

int fit_samples_step(const fit_work *w)
{
    if (!fit_samples_vary(w))
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
