/* LABELS: native swiftshader=long sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Counters of the device have 32 bits; those of bl_stats have 64, and are right however often a pass takes
 * counters over. BL_LONG=1: also a pass that counts to more than 2^32. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>
#include <backlight/backlight_testing.h>

#include <stdlib.h>

enum { SIDE = 8 };
/* Every sample is too large to be a number that is believed. */
static const char scene_text[] =
    "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><film type='hdrfilm'>"
    "<integer name='width' value='8'/><integer name='height' value='8'/><rfilter type='box'/></film></sensor>"
    "<emitter type='constant' id='sky'><rgb name='radiance' value='1e35'/></emitter></scene>";

static bl_context *context;
static bl_device *device;
static bl_scene *scene;

static uint64_t dropped(uint32_t status_paths, uint32_t spp)
{
    const bl_job_testing testing = {.status_paths = status_paths};
    bl_job *job;
    bl_stats stats;
    float image[SIDE * SIDE * 3];
    assert_int_equal(bl_job_create(device, scene, &(bl_job_desc){.testing = &testing}, &job), BL_OK);
    assert_int_equal(
        bl_job_render(job, &(bl_render_desc){.spp = spp, .seed = 1, .slice_seconds = 1e-5}, image, &stats),
        BL_OK);
    assert_true(stats.slices > 2);
    assert_true(stats.paths == (uint64_t)SIDE * SIDE * spp);
    /* A second one begins at zero. */
    bl_stats again;
    assert_int_equal(bl_job_render(job, &(bl_render_desc){.spp = 4, .seed = 1}, image, &again), BL_OK);
    assert_true(again.non_finite == SIDE * SIDE * 4);
    bl_job_destroy(job);
    return stats.non_finite;
}

static void test_totals(void **state)
{
    (void)state;
    const uint32_t spp = 1 << 13;
    assert_true(dropped(0, spp) == (uint64_t)SIDE * SIDE * spp);
    assert_true(dropped(1 << 14, spp) == (uint64_t)SIDE * SIDE * spp);
    assert_true(dropped(1, spp) == (uint64_t)SIDE * SIDE * spp);
}

static void test_more_than_32_bits(void **state)
{
    (void)state;
    if (!getenv("BL_LONG"))
        return;
    const bl_job_testing testing = {0};
    bl_job *job;
    bl_stats stats;
    float image[SIDE * SIDE * 3];
    const uint32_t spp = (1u << 26) + 1000;
    assert_int_equal(bl_job_create(device, scene, &(bl_job_desc){.testing = &testing}, &job), BL_OK);
    assert_int_equal(bl_job_render(job, &(bl_render_desc){.spp = spp, .seed = 1}, image, &stats), BL_OK);
    assert_true(stats.non_finite == (uint64_t)SIDE * SIDE * spp);
    assert_true(stats.non_finite > UINT32_MAX);
    bl_job_destroy(job);
}

int main(void)
{
    bl_result result = bl_context_create(NULL, &context);
    if (result == BL_OK)
        result = bl_device_create(context, getenv("BL_DEVICE"), &device);
    if (result != BL_OK)
        return 77;
    if (bl_scene_load_string(context, scene_text, ".", NULL, &scene) != BL_OK)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_totals),
                                       cmocka_unit_test(test_more_than_32_bits)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(context);
    return failed;
}
