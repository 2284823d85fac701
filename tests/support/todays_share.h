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

/* One of so many equal parts. */
static inline bool todays_part(uint32_t index, uint32_t parts)
{
    return getenv("BL_LONG") || (index + today()) % parts == 0;
}

/* A quarter under the address sanitizer, which makes tests three to five times slower. The ordinary run takes
 * all cases and judges their values; the sanitizer looks for errors of memory. Tests take turns of three days
 * there (cmake/Tests.cmake), so a third would always be the same one. */
static inline bool todays_share(uint32_t index)
{
#ifdef __SANITIZE_ADDRESS__
    return todays_part(index, 4);
#else
    (void)index;
    return true;
#endif
}

#endif
