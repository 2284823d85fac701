/* SPDX-License-Identifier: BSD-3-Clause
 * Which cases of a long list run under the address sanitizer, which makes them three to five times slower: a
 * third, another one every day, and all with BL_LONG=1. The ordinary run takes all cases and judges their
 * values; the sanitizer looks for errors of memory. */
#ifndef BL_TESTS_TODAYS_SHARE_H
#define BL_TESTS_TODAYS_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline bool todays_share(uint32_t index)
{
#ifdef __SANITIZE_ADDRESS__
    return getenv("BL_LONG") || (index + (uint64_t)time(NULL) / 86400) % 3 == 0;
#else
    (void)index;
    return true;
#endif
}

#endif
