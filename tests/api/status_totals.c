/* LABELS: native swiftshader=long sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Counters of the device have 32 bits; those of bl_stats have 64, and are right however often a pass takes
 * counters over. BL_LONG=1: also a pass that counts to more than 2^32. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_testing.h>

#include "support/scene_device.h"

#include <stdlib.h>

enum { SIDE = 8 };
/* Every sample is too large to be a number that is believed. */
static const char scene_text[] =
    "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><film type='hdrfilm'>"
    "<integer name='width' value='8'/><integer name='height' value='8'/><rfilter type='box'/></film></sensor>"
    "<emitter type='constant' id='sky'><rgb name='radiance' value='1e35'/></emitter></scene>";

static scene_device device;

static bl_job *create(const bl_scene *scene, uint32_t status_paths)
{
    const bl_job_testing testing = {.status_paths = status_paths};
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &(bl_job_desc){.testing = &testing}, &job));
    return job;
}

static void render(bl_job *job, uint32_t spp, double slice_seconds, bl_stats *stats)
{
    float image[SIDE * SIDE * 3];
    SCENE_MUST(&device,
               bl_job_render(job, &(bl_render_desc){.spp = spp, .seed = 1, .slice_seconds = slice_seconds},
                             image, stats));
    assert_true(stats->paths == (uint64_t)SIDE * SIDE * spp);
    assert_true(stats->non_finite == stats->paths);
}

static void test_totals(void **state)
{
    (void)state;
    bl_scene *scene = scene_device_load(&device, scene_text, ".");
    static const uint32_t taken_over_after[] = {0, 1 << 14, 1};
    for (size_t k = 0; k < sizeof taken_over_after / sizeof *taken_over_after; k++) {
        bl_job *job = create(scene, taken_over_after[k]);
        bl_stats stats;
        render(job, 1 << 13, 1e-5, &stats);
        assert_true(stats.slices > 2);
        render(job, 4, 0, &stats); /* a second one begins at zero */
        bl_job_destroy(job);
    }
    bl_scene_destroy(scene);
}

static void test_more_than_32_bits(void **state)
{
    (void)state;
    bl_scene *scene = scene_device_load(&device, scene_text, ".");
    bl_job *job = create(scene, 0);
    bl_stats stats;
    render(job, (1u << 26) + 1000, 0, &stats);
    assert_true(stats.non_finite > UINT32_MAX);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_totals),
                                       cmocka_unit_test(test_more_than_32_bits)};
    return scene_device_run(&device, NULL, "status totals", tests, getenv("BL_LONG") ? 2 : 1, NULL);
}
