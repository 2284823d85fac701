/* SPDX-License-Identifier: BSD-3-Clause
 * Means of values over independent runs, and their errors from the spread of the runs: what is asked where
 * two integrators must have the same expectation, and samples of one run are not independent. */
#ifndef TEST_RUN_MEANS_H
#define TEST_RUN_MEANS_H

#include <stdint.h>

enum { RUN_MEANS_MOST = 64, RUN_MEANS_ALL = RUN_MEANS_MOST, RUN_MEANS_BLOCK = 4 };

typedef struct run_means {
    double sum[RUN_MEANS_MOST + 1], squares[RUN_MEANS_MOST + 1]; /* at RUN_MEANS_ALL: of all values together,
                                                                    which are not independent within a run */
    uint32_t runs;
} run_means;

/* count: of values, the same in all runs, at most RUN_MEANS_MOST. */
void run_means_add(run_means *m, const double *values, uint32_t count);
double run_means_value(const run_means *m, uint32_t i);
/* Standard error of the difference of two means. */
double run_means_error(const run_means *a, const run_means *b, uint32_t i);

/* Means of an image (red, green, blue) over blocks of RUN_MEANS_BLOCK x RUN_MEANS_BLOCK pixels: the values of
 * a run that are far from 0 and have nearly normal errors. Pixels less than `border` from the film's edge
 * count as black. Returns how many blocks there are. */
uint32_t run_means_blocks(const float *image, uint32_t width, uint32_t height, uint32_t border,
                          double *blocks);

/* The same over 2 x 2 pixels and all three channels, without a border. The channels of a block have nearly
 * the same error where light is nearly grey (correlation 0.9 to 0.99), so many small blocks say more of a
 * mean square over blocks than few blocks with three channels: with 48 blocks it is within a fourth of 1. */
uint32_t run_means_grey_blocks(const float *image, uint32_t width, uint32_t height, double *blocks);

#endif
