/* SPDX-License-Identifier: BSD-3-Clause
 * Which cases of a long list run today, where all of them take too long: a part, another one every day, and
 * all with BL_LONG=1. */
#ifndef BL_TESTS_TODAYS_SHARE_H
#define BL_TESTS_TODAYS_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Days since 1970, or BL_DAY, which repeats what another day's tests have done. */
static inline uint64_t today(void)
{
    const char *day = getenv("BL_DAY");
    return day ? strtoull(day, NULL, 10) : (uint64_t)time(NULL) / 86400;
}

/* One of so many equal parts. Tests that take turns (cmake/Tests.cmake) run each fifth day: no number of
 * parts is a multiple of five there, or the same part would run each time. */
static inline bool todays_part(uint32_t index, uint32_t parts)
{
    return getenv("BL_LONG") || (index + today()) % parts == 0;
}

/* A third, or a quarter under the address sanitizer, which makes tests three to five times slower. */
static inline bool todays_share(uint32_t index)
{
#ifdef __SANITIZE_ADDRESS__
    return todays_part(index, 4);
#else
    return todays_part(index, 3);
#endif
}

#endif
