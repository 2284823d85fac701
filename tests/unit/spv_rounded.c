/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The corrections of spirv_gen/spv/rounded.c (support/rounded.h) find the nearest number wherever the
 * device's own quotients, reciprocals and roots are off by up to OFF ulp: for roots with every mantissa of
 * both parities of the exponent, for quotients with random operands and with those whose reciprocals are
 * known to be hard (b just above and just below a power of two). tests/unit/spv_rounded_device.c runs
 * the SPIR-V. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/random_trace.h"
#include "support/rounded.h"

#include <math.h>
#include <stdlib.h>

enum { OFF = 4 };

static void quotients_are_the_nearest(void **state)
{
    (void)state;
    uint32_t trials = getenv("BL_LONG") ? 200000000u : 4000000u;
    uint64_t seed = 1;
    for (uint32_t i = 0; i < trials; i++) {
        uint64_t random = random_bits(&seed), more = random_bits(&seed);
        uint32_t near_one = i % 16 == 0 ? i / 16 % 4096 : 0x800000u - i / 16 % 4096 - 1;
        float a = ir_bits_float((uint32_t)(random & 0x7fffffu) | (uint32_t)(120 + random % 13) << 23);
        float b =
            i % 16 < 2
                ? ir_bits_float(127u << 23 | near_one)
                : ir_bits_float((uint32_t)(random >> 32 & 0x7fffffu) | (uint32_t)(120 + more % 13) << 23);
        int off = (int)((more >> 32) % (2 * OFF + 1)) - OFF;
        if (i % 32 < 2) /* and reciprocals */
            a = ir_bits_float((uint32_t)(120 + random % 13) << 23);
        if (rounded_div(a, b, moved_by_ulps(1 / b, off), fmaf) != a / b)
            fail_msg("%a / %a, own reciprocal off by %d ulp: %a", (double)a, (double)b, off,
                     (double)rounded_div(a, b, moved_by_ulps(1 / b, off), fmaf));
    }
}

/* x with x 2^places = r modulo an odd b. */
static uint32_t halved(uint32_t r, uint32_t b, int places)
{
    for (; places > 0; places--)
        r = r & 1 ? (r >> 1) + (b >> 1) + 1 : r >> 1;
    return r;
}

/* The quotients that lie closest to the middle of two numbers: of mantissas a and b with a 2^24 or a 2^25 as
 * near to an odd multiple of b as can be. A fiftieth of all b, and the largest ones. */
static void quotients_near_the_middle_are_the_nearest(void **state)
{
    (void)state;
    enum { LEAST = 1 << 23, MOST = 1 << 24, NEAR = 3 };
    uint32_t tried = 0, step = getenv("BL_LONG") ? 2 : 98;
    for (uint32_t n = LEAST + 1; n < MOST; n += n < MOST - 1024 ? step : 2)
        for (int k = 0; k < 4 * NEAR; k++) {
            int r = k / 4 + 1;
            uint32_t m = halved(k & 1 ? n - (uint32_t)r : (uint32_t)r, n, k & 2 ? 25 : 24);
            m = m < LEAST && m + n < MOST ? m + n : m;
            float a = ldexpf((float)m, -23), b = ldexpf((float)n, -23);
            for (int off = -OFF; m >= LEAST && off <= OFF; off++, tried++)
                if (rounded_div(a, b, moved_by_ulps(1 / b, off), fmaf) != a / b)
                    fail_msg("%a / %a, own reciprocal off by %d ulp", (double)a, (double)b, off);
        }
    assert_true(tried > 1000000);
}

static void roots_are_the_nearest(void **state)
{
    (void)state;
    for (uint32_t mantissas = 0; mantissas < 1u << 24; mantissas++) {
        float x = ir_bits_float((126u << 23) + mantissas), root = sqrtf(x);
        int off = (int)(mantissas % (2 * OFF + 1)) - OFF;
        bool near_one = mantissas + 4096 > 1u << 23 && mantissas < (1u << 23) + 4096;
        for (int k = near_one || getenv("BL_LONG") ? -OFF : OFF; k <= OFF; k++)
            for (int sign = -1; sign <= 1; sign += 2) {
                float own = moved_by_ulps(root, sign * off);
                float reciprocal = moved_by_ulps((float)(1 / sqrt((double)x)), sign * k);
                if (rounded_sqrt(x, own, reciprocal, fmaf) != root)
                    fail_msg("the root of %a, own off by %d and %d ulp", (double)x, sign * off, sign * k);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients_are_the_nearest),
        cmocka_unit_test(quotients_near_the_middle_are_the_nearest),
        cmocka_unit_test(roots_are_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
