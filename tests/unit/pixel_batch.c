/* SPDX-License-Identifier: BSD-3-Clause
 * The draw of batches (api/pixel_batch.c), without a device: each pass through all numbers has every one of
 * them once, in an order that is another one in each pass and for each seed, and looks random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/pixel_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counts how often each number comes in `steps` batches. */
static void count(uint32_t seed, uint32_t steps, uint32_t total, uint32_t batch, uint32_t *times)
{
    uint32_t *list = calloc(batch, sizeof *list);
    memset(times, 0, total * sizeof *times);
    for (uint32_t step = 0; step < steps; step++) {
        pixel_batch_draw(seed, step, total, batch, list);
        for (uint32_t k = 0; k < batch; k++) {
            assert_true(list[k] < total);
            assert_true(k == 0 || list[k] >= list[k - 1]);
            times[list[k]]++;
        }
    }
    free(list);
}

static void a_pass_has_every_number_once(void **state)
{
    (void)state;
    static const struct {
        uint32_t total, batch, steps, passes;
    } cases[] = {{1, 1, 3, 3},         {2, 1, 2, 1},         {5, 5, 1, 1},
                 {144, 144, 2, 2},     {144, 16, 9, 1},      {100, 30, 10, 3},
                 {1000, 37, 1000, 37}, {65536, 4096, 16, 1}, {65537, 65537, 1, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint32_t *times = calloc(cases[c].total, sizeof *times);
        count(7, cases[c].steps, cases[c].total, cases[c].batch, times);
        for (uint32_t i = 0; i < cases[c].total; i++)
            if (times[i] != cases[c].passes)
                fail_msg("%u numbers in batches of %u: %u came %u times, not %u", cases[c].total,
                         cases[c].batch, i, times[i], cases[c].passes);
        free(times);
    }
}

/* Parts of a pass differ between passes and seeds, and are the same when asked for again. */
static void passes_and_seeds_differ(void **state)
{
    (void)state;
    enum { TOTAL = 1 << 20, BATCH = 64 };
    uint32_t first[BATCH], again[BATCH], next[BATCH], later[BATCH], seeded[BATCH];
    pixel_batch_draw(1, 0, TOTAL, BATCH, first);
    pixel_batch_draw(1, 0, TOTAL, BATCH, again);
    pixel_batch_draw(1, 1, TOTAL, BATCH, next);
    pixel_batch_draw(1, TOTAL / BATCH, TOTAL, BATCH, later);
    pixel_batch_draw(2, 0, TOTAL, BATCH, seeded);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, next, sizeof first);
    assert_memory_not_equal(first, later, sizeof first);
    assert_memory_not_equal(first, seeded, sizeof first);
}

/* Of the numbers of a batch as many lie in each sixteenth as chance allows: chi squared with 15 degrees of
 * freedom is above 44 with a probability of 1e-4, and here it is asked of 100 batches. Without replacement it
 * is a little smaller still. */
static void a_batch_lies_everywhere(void **state)
{
    (void)state;
    enum { TOTAL = 442368, BATCH = 4096, PARTS = 16 };
    static uint32_t list[BATCH];
    double sum = 0;
    for (uint32_t step = 0; step < 100; step++) {
        double parts[PARTS] = {0}, chi = 0, expected = (double)BATCH / PARTS;
        pixel_batch_draw(3, step, TOTAL, BATCH, list);
        for (uint32_t k = 0; k < BATCH; k++)
            parts[(uint64_t)list[k] * PARTS / TOTAL]++;
        for (int i = 0; i < PARTS; i++)
            chi += (parts[i] - expected) * (parts[i] - expected) / expected;
        assert_true(chi < 50);
        sum += chi;
    }
    assert_true(sum / 100 > 12 && sum / 100 < 18); /* 15 on average, with a standard error of 0.55 */
}

/* The largest film and number of views there can be. */
static void large_numbers_fit(void **state)
{
    (void)state;
    uint32_t list[100];
    pixel_batch_draw(0xffffffffu, 0xfffffffeu, UINT32_MAX, 100, list);
    for (int k = 1; k < 100; k++)
        assert_true(list[k] > list[k - 1]);
    assert_true(list[99] > 1u << 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_has_every_number_once),
        cmocka_unit_test(passes_and_seeds_differ),
        cmocka_unit_test(a_batch_lies_everywhere),
        cmocka_unit_test(large_numbers_fit),
    };
    return cmocka_run_group_tests_name("batches of pixels", tests, NULL, NULL);
}
