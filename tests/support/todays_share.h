/* SPDX-License-Identifier: BSD-3-Clause
 * Which cases of a long list run today, where all of them take too long: a part, another one every day, and
 * all with BL_LONG=1. */
#ifndef BL_TESTS_TODAYS_SHARE_H
#define BL_TESTS_TODAYS_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* One of so many equal parts. */
static inline bool todays_part(uint32_t index, uint32_t parts)
{
    return getenv("BL_LONG") || (index + (uint64_t)time(NULL) / 86400) % parts == 0;
}

/* A third under the address sanitizer, which makes tests three to five times slower. The ordinary run takes
 * all cases and judges their values; the sanitizer looks for errors of memory. */
static inline bool todays_share(uint32_t index)
{
#ifdef __SANITIZE_ADDRESS__
    return todays_part(index, 3);
#else
    (void)index;
    return true;
#endif
}

#endif
