/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers for tests of the fixed kernels: random words, and the integers in fixed point whose conversion to
 * f32 is most easily wrong. */
#ifndef TEST_FIXED_POINT_CASES_H
#define TEST_FIXED_POINT_CASES_H

#include <stdint.h>

uint32_t random_word(uint64_t *state);

enum { FIXED_POINT_SHAPES = 64 * 6 };
/* Every power of two and its neighbours, ties of the rounding, both signs: FIXED_POINT_SHAPES integers. Then
 * random words of random length and either sign, and last a 0. count: more than FIXED_POINT_SHAPES. */
void fixed_point_cases(int64_t *values, uint32_t count);

#endif
