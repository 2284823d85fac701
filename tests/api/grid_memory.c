/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * What a fit of a density of 128 voxels a side holds on the device: values, gradients, the optimiser's state,
 * rates and bounds and everything else are under 100 MB, at any moment. Counts bytes, not time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 8, VOXELS = 128, GRID = VOXELS * VOXELS * VOXELS };
static const uint64_t bytes_most = 100000000;

static scene_device device;

static bl_scene *fog(void)
{
    static const float box[6] = {0, 0, 0, 1, 1, 1}, value = 0.01f;
    static const int32_t sizes[5] = {1, 1, 1, 1, 1};
    arena a = {0};
    char *folder = scene_files_create();
    assert_non_null(folder);
    FILE *f = fopen(arena_printf(&a, "%s/one.vol", folder), "wb");
    assert_non_null(f);
    assert_true(fwrite("VOL\003", 1, 4, f) == 4 && fwrite(sizes, 4, 5, f) == 5 && fwrite(box, 4, 6, f) == 6 &&
                fwrite(&value, 4, 1, f) == 1);
    fclose(f);
    const char *body = "<shape type='cube'><bsdf type='null'/><medium type='heterogeneous' name='interior' "
                       "id='fog'><volume type='gridvolume' name='sigma_t'>"
                       "<string name='filename' value='one.vol'/><transform name='to_world'><translate "
                       "x='-.5' y='-.5' z='-.5'/><scale value='2'/></transform>"
                       "</volume></medium></shape><emitter type='constant'/>";
    bl_scene *s = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='volpath'><integer name='max_depth' value='2'/></integrator>",
                  arena_printf(&a, scene_sensor_format, SIDE, SIDE), body),
        folder);
    scene_files_remove(folder);
    arena_free(&a);
    return s;
}

static void a_large_grid_is_fitted_in_a_hundred_megabytes(void **state)
{
    (void)state;
    static float target[3 * SIDE * SIDE];
    bl_scene *s = fog();
    uint32_t index;
    SCENE_MUST(&device, bl_scene_find_parameter(s, "fog.sigma_t.data", &index));
    float *values = malloc(GRID * sizeof *values);
    assert_non_null(values);
    for (uint32_t i = 0; i < GRID; i++)
        values[i] = 0.01f;
    SCENE_MUST(&device,
               bl_scene_resize_parameter(s, index, (const uint32_t[]){VOXELS, VOXELS, VOXELS, 1}, values));
    free(values);
    const bl_fit_parameter p = {.name = "fog.sigma_t.data", .most = 10, .total_variation = 0.1};
    bl_fit *fit;
    bl_fit_status status;
    SCENE_MUST(&device,
               bl_fit_create(
                   device.device, s,
                   &(bl_fit_desc){.parameters = &p, .parameter_count = 1, .target = target, .spp = 2}, &fit));
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    uint64_t peak = bl_device_stats_get(device.device).bytes_peak;
    print_message("a fit of 128^3 voxels: %.1f MB held, %.1f MB at most\n", (double)status.device_bytes / 1e6,
                  (double)peak / 1e6);
    assert_true(status.device_bytes >
                4ull * 5 * GRID); /* values, 64-bit gradients, two arrays of state: they are counted */
    assert_true(status.device_bytes < bytes_most && peak < bytes_most);
    bl_fit_destroy(fit);
    bl_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_large_grid_is_fitted_in_a_hundred_megabytes)};
    return SCENE_DEVICE_RUN(&device, NULL, "grid memory", tests);
}
