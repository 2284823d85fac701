/* SPDX-License-Identifier: BSD-3-Clause
 * Random words and integers in fixed point (fixed_point_cases.h). */
#include "support/fixed_point_cases.h"

#include "base/base.h"

uint32_t random_word(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 32);
}

/* Negation that is also defined for the least integer, which stays as it is. */
static int64_t negated(uint64_t value) { return (int64_t)(0 - value); }

void fixed_point_cases(int64_t *values, uint32_t count)
{
    uint64_t seed = 6;
    BL_ASSERT(count > FIXED_POINT_SHAPES, "%u integers are too few", count);
    for (uint32_t bit = 0; bit < 64; bit++) {
        uint64_t one = 1ull << bit, half = bit >= 24 ? 1ull << (bit - 24) : 0;
        uint64_t cases[6] = {one,    one - 1, one + 1, one + half, one + half + (bit >= 24 ? half << 1 : 0),
                             0 - one};
        for (uint32_t k = 0; k < 6; k++)
            values[bit * 6 + k] = k % 2 ? negated(cases[k]) : (int64_t)cases[k];
    }
    for (uint32_t i = FIXED_POINT_SHAPES; i < count; i++) {
        uint64_t wide = random_word(&seed);
        wide = wide << 32 | random_word(&seed);
        wide >>= random_word(&seed) % 64;
        values[i] = random_word(&seed) & 1 ? negated(wide) : (int64_t)wide;
    }
    values[count - 1] = 0;
}
