/* SPDX-License-Identifier: BSD-3-Clause
 * When a loss has stopped falling. The means of two windows are compared. Their noise is taken from
 * differences of neighbouring steps (von Neumann 1941), half of whose mean square is the variance where the
 * loss changes slowly: a slope, which makes the variance of a window large, hardly counts. */
#include <backlight/backlight.h>

#include <math.h>

static double mean_of(const double *values, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += values[i] / n;
    return sum;
}

bl_plateau bl_loss_plateau(const double *losses, uint32_t window, double improvement)
{
    bl_plateau p = {.before = mean_of(losses, window), .after = mean_of(losses + window, window)};
    double square = 0;
    for (uint32_t i = 1; i < 2 * window; i++)
        square += (losses[i] - losses[i - 1]) * (losses[i] - losses[i - 1]) / 2 / (2 * window - 1);
    p.error = sqrt(2 * square / window);
    p.reached = !(p.before - p.after > improvement * fabs(p.before) + 2 * p.error);
    return p;
}
