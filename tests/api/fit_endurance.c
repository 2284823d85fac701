/* LABELS: swiftshader native timeout=1800 */
/* SPDX-License-Identifier: BSD-3-Clause
 * A long fit at constant memory: after the first steps neither device nor process grows, nothing is compiled
 * and every step costs the same number of dispatches. 500 steps; BL_LONG=1: 10,000. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 6, VALUES = 3 * SIDE * SIDE, WARM = 100 };

static scene_device device;

/* Bytes of the process that are in memory now. */
static uint64_t resident(void)
{
    unsigned long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bl_scene *wall(arena *a)
{
    static const char body[] =
        "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.6,.3,.1'/></bsdf>"
        "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform><ref "
        "id='wall'/></shape>"
        "<emitter type='point'><point name='position' x='0' y='0' z='2'/><rgb name='intensity' "
        "value='6'/></emitter>";
    return scene_device_load(
        &device,
        scene_xml(a, "<integrator type='direct'/>", arena_printf(a, scene_sensor_format, SIDE, SIDE), body),
        ".");
}

static void a_long_fit_does_not_grow(void **state)
{
    (void)state;
    static float target[VALUES];
    static const char path[] = "fit_endurance.checkpoint";
    const char *lengthy = getenv("BL_LONG");
    uint32_t steps = lengthy && strcmp(lengthy, "1") == 0 ? 10000 : 500;
    arena a = {0};
    bl_scene *scene = wall(&a);
    for (int i = 0; i < VALUES; i++)
        target[i] = 0.1f;
    const bl_fit_view views[] = {{.target = target}, {.target = target}};
    bl_fit_parameter p = {.name = "wall.reflectance.value"};
    bl_fit *fit;
    bl_fit_desc desc = {
        .parameters = &p, .parameter_count = 1, .views = views, .view_count = 2, .spp = 1, .rate = 0.001};
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    bl_fit_status status = {0};
    bl_device_stats before = {0}, half = {0};
    uint64_t memory = 0, bytes = 0;
    for (uint32_t step = 1; step <= steps; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        if (step % 50 == 0)
            SCENE_MUST(&device, bl_fit_save(fit, path, NULL, 0));
        if (step == WARM)
            before = bl_device_stats_get(device.device), memory = resident(), bytes = status.device_bytes;
        if (step == (WARM + steps) / 2)
            half = bl_device_stats_get(device.device);
    }
    bl_device_stats after = bl_device_stats_get(device.device);
    uint64_t grown = resident() > memory ? resident() - memory : 0;
    print_message(
        "%u steps: %llu KiB resident after %d steps, %llu KiB more at the end; %llu bytes on the device\n",
        steps, (unsigned long long)memory / 1024, WARM, (unsigned long long)grown / 1024,
        (unsigned long long)after.bytes_allocated);
    assert_int_equal(status.step, steps);
    assert_int_equal(status.device_bytes, bytes);
    assert_int_equal(after.bytes_allocated, before.bytes_allocated);
    assert_int_equal(after.bytes_peak, before.bytes_peak);
    assert_int_equal(after.pipelines_created, before.pipelines_created);
    assert_int_equal(after.submits - half.submits, half.submits - before.submits);
    assert_true(grown < (uint64_t)512 << 10); /* a loss of 1.3 KiB a step would be seen over 500 steps, of 53
                                                 bytes over 10,000 */
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
    remove(path);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_long_fit_does_not_grow)};
    return SCENE_DEVICE_RUN(&device, NULL, "fit endurance", tests);
}
