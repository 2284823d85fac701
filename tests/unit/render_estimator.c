/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What decides between two estimators of a grid's gradient (medium/estimator.c): tentative collisions for a
 * real one, against sums by hand, with one bound and with bounds in cells. The choice: gradient/detours.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/classes.h"

static void expect(const char *what, const extinction_grid *g, double expected)
{
    double tries = extinction_tries(g);
    if (!(fabs(tries - expected) <= 1e-5 * expected))
        fail_msg("%s: %.9g tries, expected %.9g", what, tries, expected);
}

static void expect_one(const char *what, const float *values, uint32_t channels, double thick, double tries)
{
    const extinction_grid g = {values, {1, 1, 1}, channels, .cells = 1, .thickness = thick};
    expect(what, &g, tries);
}

static void one_bound(void **state)
{
    (void)state;
    const float grey[4] = {4, 1, 0, 0.1f}, spectral[3] = {4, 2, 0}, one = 1, none = 0;
    const extinction_grid four = {grey, {2, 1, 2}, .channels = 1, .cells = 1, .thickness = 10};
    expect("grey", &four, (1.25 + 5 + 20 + 20) / 4); /* bound 1.25 * 4; chances .8, .2, twice .05 at least */
    expect_one("by channel", spectral, 3, 10, 3 / (0.8 + 0.4 + 0.05)); /* the mean of chances */
    expect_one("thin", &one, 1, 0.05, 5);                              /* the least bound, .25 / .05 */
    expect_one("nothing", &none, 1, 1, 20);
}

/* One half 32 times as dense as the other. */
static void bounds_in_cells(void **state)
{
    (void)state;
    enum { SIDE = 16 };
    static float values[SIDE * SIDE * SIDE];
    for (uint32_t i = 0; i < SIDE * SIDE * SIDE; i++)
        values[i] = i % SIDE < SIDE / 2 ? 1.0f / 32 : 1;
    extinction_grid g = {values, {SIDE, SIDE, SIDE}, .channels = 1, .cells = 1, .thickness = 100};
    expect("one bound", &g, (20 + 1.25) / 2);
    g.cells = 4; /* of 4 voxels each: the second reaches into the denser half */
    expect("cells", &g, (1.25 + 20 + 1.25 + 1.25) / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_bound), cmocka_unit_test(bounds_in_cells)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
