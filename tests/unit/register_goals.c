/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Goals of values that wait in memory of the workgroup: what subgroups share out has room for all of them, on
 * SIMDs of several kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/register_goals.h"

static const gpu_info rdna2 = {.simd_registers = 1024, .register_step = 16, .simd_words = 256},
                      vega = {.simd_registers = 256, .register_step = 4, .simd_words = 64}, untold = {0};

static void subgroups_fit_into_a_simd(void **state)
{
    (void)state;
    static const uint32_t registers[] = {128, 144, 160, 192}, subgroups[] = {8, 7, 6, 5};
    opt_goal goals[OPT_GOALS_MOST];
    assert_int_equal(register_goals(&rdna2, false, goals), 4);
    for (int k = 0; k < 4; k++) {
        assert_true(goals[k].live < registers[k] && goals[k].live + goals[k].over > registers[k]);
        assert_true(goals[k].words * subgroups[k] <= rdna2.simd_words);
        assert_true((goals[k].words + 1) * subgroups[k] > rdna2.simd_words);
    }
    assert_int_equal(register_goals(&vega, false, goals), 1); /* one wave has as many as a lane can have */
    assert_true(goals[0].words == 32 && goals[0].live < 128);
}

/* Stacks of rays take words, and drivers more registers than values live. */
static void kernels_with_ray_queries_have_less_room(void **state)
{
    (void)state;
    const gpu_info *const devices[] = {&rdna2, &vega, &untold};
    for (int d = 0; d < 3; d++) {
        opt_goal own[OPT_GOALS_MOST], queries[OPT_GOALS_MOST];
        uint32_t count = register_goals(devices[d], false, own);
        assert_int_equal(register_goals(devices[d], true, queries), count);
        for (uint32_t k = 0; k < count; k++) {
            assert_int_equal(queries[k].words, own[k].words - 16);
            assert_true(queries[k].live <= own[k].live);
        }
    }
}

/* 8 KiB of a workgroup of 64 lanes, half of what every device has. */
static void other_devices_have_goals_too(void **state)
{
    (void)state;
    opt_goal goals[OPT_GOALS_MOST];
    uint32_t count = register_goals(&untold, false, goals);
    assert_true(count > 0);
    for (uint32_t k = 0; k < count; k++)
        assert_true(goals[k].words > 0 && goals[k].words <= 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subgroups_fit_into_a_simd),
        cmocka_unit_test(kernels_with_ray_queries_have_less_room),
        cmocka_unit_test(other_devices_have_goals_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
