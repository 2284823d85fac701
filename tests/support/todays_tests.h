/* SPDX-License-Identifier: BSD-3-Clause
 * Today's part of a program's tests, where all of them take too long (todays_share.h). Behind <cmocka.h>. */
#ifndef BL_TESTS_TODAYS_TESTS_H
#define BL_TESTS_TODAYS_TESTS_H

#include "support/todays_share.h"

#include <stddef.h>

/* Moves today's tests of so many equal parts to the front; how many they are. At least as many tests as
 * parts. */
static inline size_t todays_tests(struct CMUnitTest *tests, size_t count, uint32_t parts)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++)
        if (todays_part((uint32_t)i, parts))
            tests[chosen++] = tests[i];
    return chosen;
}

#endif
