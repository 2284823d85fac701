/* SPDX-License-Identifier: BSD-3-Clause
 * backlight grad --variance: how much of a gradient is noise, by whole gradients of independent seeds, so
 * that noise of the image in dL/dI counts, too. Running means and sums of squares as in Welford 1962. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void moments_begin(cli_moments *m, uint32_t values, uint32_t kept)
{
    *m = (cli_moments){.values = values, .kept = kept};
    m->mean = memory_or_exit(values * sizeof *m->mean);
    m->squares = memory_or_exit(values * sizeof *m->squares);
    m->each = kept ? memory_or_exit((size_t)kept * values * sizeof *m->each) : NULL;
}

void moments_end(cli_moments *m)
{
    free(m->mean);
    free(m->squares);
    free(m->each);
}

void moments_add(cli_moments *m, const double *values)
{
    if (m->count < m->kept)
        memcpy(m->each + (size_t)m->count * m->values, values, m->values * sizeof *values);
    m->count++;
    for (uint32_t i = 0; i < m->values; i++) {
        double from_old = values[i] - m->mean[i];
        m->mean[i] += from_old / m->count;
        m->squares[i] += from_old * (values[i] - m->mean[i]);
    }
}

static double variance_at(const cli_moments *m, uint32_t i) { return m->squares[i] / (m->count - 1); }

void moments_variance(const cli_moments *m, double *out)
{
    for (uint32_t i = 0; i < m->values; i++)
        out[i] = variance_at(m, i);
}

void grad_add_variance(cJSON *parameter, const cli_moments *m)
{
    double sum = 0, most = 0, size = 0;
    for (uint32_t i = 0; i < m->values; i++) {
        sum += variance_at(m, i), most = fmax(most, variance_at(m, i));
        size += m->mean[i] * m->mean[i];
    }
    cJSON_AddNumberToObject(parameter, "rms_gradient", sqrt(size / m->values));
    cJSON_AddNumberToObject(parameter, "mean_variance", sum / m->values);
    cJSON_AddNumberToObject(parameter, "largest_variance", most);
    cJSON_AddNumberToObject(parameter, "standard_error", sqrt(sum / m->values / m->count));
}
