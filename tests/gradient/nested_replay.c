/* LABELS: swiftshader long */
/* SPDX-License-Identifier: BSD-3-Clause
 * What does the nested replay of light sampling's transmittance cost? The cost is linear in the number of
 * ratio-tracking steps. Single scattering in a slab that is lit from the side, so that a shadow ray crosses
 * 4 units of it. A voxel that no ray meets raises the majorant, and with it the number of steps; the light
 * that is found and the kernels stay the same. CPU time, the least of some rounds.
 *
 *   nested_replay --table     steps of a shadow ray, and nanoseconds a sample of the image and of the
 *                             gradient pass (fused: two walks and the nested one);
 *                             scripts/plot-nested-replay draws them
 *
 * As a test: no row is off the line through the first and the last by more than a quarter. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include "base/base.h"

enum { SIDE = 16, SPP = 32, ROUNDS = 3, ROWS = 6 };
static const double margin = 1.25,
                    crossed =
                        4; /* majorant over the largest density (medium/media.c); length of a shadow ray */
static const double most_off = 0.25;

typedef struct row {
    double steps, image, gradient;
} row;

static const char scene_text[] =
    "<scene version='3.0.0'><integrator type='volpath'><integer name='max_depth' value='2'/></integrator>"
    "<sensor type='orthographic'><transform name='to_world'><scale value='.5,.5,1'/><lookat origin='0,0,4' "
    "target='0,0,0' up='0,1,0'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='16'/><integer name='height' value='16'/><rfilter "
    "type='box'/></film></sensor>"
    "<medium type='heterogeneous' id='fog'><volume type='gridvolume' name='sigma_t'><string name='filename' "
    "value='two.vol'/>"
    "<string name='filter_type' value='nearest'/><transform name='to_world'><translate "
    "value='-.5,-.5,-.5'/><scale value='20,20,1'/>"
    "<translate value='5,0,0'/></transform></volume></medium>"
    "<shape type='cube'><transform name='to_world'><scale value='4,8,.5'/></transform><bsdf "
    "type='null'/><ref id='fog' name='interior'/></shape>"
    "<emitter type='directional'><vector name='direction' value='-1,0,0'/></emitter></scene>";

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static row measure(scene_device *device, bl_job *primal, bl_job *job, uint32_t grid, float most)
{
    static float image[3 * SIDE * SIDE], ones[3 * SIDE * SIDE];
    const double samples = (double)SIDE * SIDE * SPP;
    row r = {.steps = margin * (double)most * crossed, .image = INFINITY, .gradient = INFINITY};
    for (int i = 0; i < 3 * SIDE * SIDE; i++)
        ones[i] = 1;
    const float densities[2] = {1, most};
    SCENE_MUST(device, bl_job_set_parameter(primal, grid, densities));
    SCENE_MUST(device, bl_job_set_parameter(job, grid, densities));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        double start = cpu_seconds();
        SCENE_MUST(device, bl_job_render(primal, &(bl_render_desc){.spp = SPP, .seed = round}, image, NULL));
        double between = cpu_seconds();
        bl_gradient_desc d = {.form = BL_FORM_FUSED, .spp = SPP, .seed = round, .adjoint = ones};
        SCENE_MUST(device, bl_job_gradient(job, &d, NULL));
        r.gradient = fmin(r.gradient, (cpu_seconds() - between) / samples * 1e9),
        r.image = fmin(r.image, (between - start) / samples * 1e9);
    }
    return r;
}

/* Densities up to 16: then a collision of density 1 is real as often as it is anyway in gradient passes
 * (integrator/media/tracking.c). */
static void measure_all(scene_device *device, row rows[ROWS])
{
    static const float most[ROWS] = {1, 2, 4, 8, 12, 16};
    static const char *const names[] = {"fog.sigma_t.data"};
    const uint32_t words[14] = {0x034C4F56 /* VOL 3 */,
                                1,
                                2,
                                1,
                                1,
                                1,
                                0,
                                0,
                                0,
                                0x3F800000,
                                0x3F800000,
                                0x3F800000,
                                0x3F800000,
                                0x3F800000};
    assert_int_equal(file_write("two.vol", words, sizeof words, NULL), BL_OK);
    bl_scene *scene = scene_device_load(device, scene_text, ".");
    unlink("two.vol");
    bl_job *primal = scene_device_job(device, scene, NULL, 0),
           *job = scene_device_job(device, scene, names, 1);
    uint32_t grid = scene_device_find(device, scene, names[0]);
    measure(device, primal, job, grid, 1); /* compiles */
    for (int k = 0; k < ROWS; k++)
        rows[k] = measure(device, primal, job, grid, most[k]);
    bl_job_destroy(job), bl_job_destroy(primal);
    bl_scene_destroy(scene);
}

static scene_device device;

static void cost_is_linear(void **state)
{
    (void)state;
    row rows[ROWS];
    measure_all(&device, rows);
    double slope = (rows[ROWS - 1].gradient - rows[0].gradient) / (rows[ROWS - 1].steps - rows[0].steps);
    assert_true(slope > 0);
    for (int k = 1; k < ROWS - 1; k++) {
        double on_line = rows[0].gradient + slope * (rows[k].steps - rows[0].steps);
        if (fabs(rows[k].gradient / on_line - 1) > most_off)
            fail_msg("%g steps take %g ns, %g on the line", rows[k].steps, rows[k].gradient, on_line);
    }
}

int main(int argc, char **argv)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    if (argc > 1 && strcmp(argv[1], "--table") == 0) {
        row rows[ROWS];
        measure_all(&device, rows);
        printf("steps image gradient\n");
        for (int k = 0; k < ROWS; k++)
            printf("%g %.0f %.0f\n", rows[k].steps, rows[k].image, rows[k].gradient);
        scene_device_close(&device);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(cost_is_linear)};
    return SCENE_DEVICE_RUN(&device, NULL, "nested replay", tests);
}
