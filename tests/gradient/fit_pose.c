/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do fits of a shape's place find it, and keep the shape as it is?
 *
 * A floor fills the view, and its picture tells where it is, so no edge matters. The target is the floor at
 * its true place; fits start beside it. A fit of to_world finds the place, and all that it has done to the
 * shape is to move and turn it; with `similarity` it also finds a scale. With `free` motion the same fit
 * shears the shape, which is why that has to be asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 200, SPP = 32 };

static scene_device device;
static char *folder;
static float target[MOVED_VALUES];
static bl_scene *scene;

static const char body[] = "<shape type='rectangle' id='it'>" TO_WORLD(
    "<scale value='3,3.5,2'/><rotate x='1' angle='3'/><translate "
    "value='.1,.2,-.1'/>") "<bsdf "
                           "type='diffuse'>" BITMAP("reflectance") "</bsdf></shape>"
                                                                   "<emitter "
                                                                   "type='point'><"
                                                                   "point "
                                                                   "name='position' "
                                                                   "value='.5,.6,1.5'/"
                                                                   "></emitter>";

static int load(void **state)
{
    (void)state;
    arena a = {0};
    scene = scene_device_load(&device, scene_xml(&a, DIRECT("1", "0"), MOVED_DOWN, body), folder);
    bl_job *job = scene_device_job(&device, scene, NULL, 0);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 256, .seed = 77}, target, NULL));
    bl_job_destroy(job);
    arena_free(&a);
    return 0;
}

static void truth_of(const char *name, float *values)
{
    SCENE_MUST(&device, bl_scene_get_parameter(scene, scene_device_find(&device, scene, name), values));
}

/* The true place, turned by .06 about an oblique axis and moved, and scaled by `scale`. */
static void beside(double scale, float out[16])
{
    const double turn[9] = {0.998591353,  -0.047310139, 0.024022084, 0.048029882, 0.998385458,
                            -0.030325042, -0.022548618, 0.031436103, 0.999251385},
                 move[3] = {.12, -.08, .05};
    float m[16];
    truth_of("it.to_world", m);
    for (int i = 0; i < 16; i++)
        out[i] = i == 15;
    for (int i = 0; i < 3; i++) {
        out[4 * i + 3] = m[4 * i + 3] + (float)move[i];
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                out[4 * i + j] += (float)(scale * turn[3 * i + k] * (double)m[4 * k + j]);
    }
}

static bl_fit *create(const bl_fit_parameter *p, uint32_t count)
{
    bl_fit *fit;
    const bl_fit_change slower[] = {{STEPS / 2, 0.3, 0}, {3 * STEPS / 4, 0.1, 0}};
    const bl_fit_desc desc = {.parameters = p,
                              .parameter_count = count,
                              .target = target,
                              .spp = SPP,
                              .rate = 0.01,
                              .schedule = slower,
                              .schedule_count = 2};
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    return fit;
}

static void run(bl_fit *fit)
{
    bl_fit_status status;
    double first = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        first = step ? first : status.loss;
    }
    print_message("loss %g -> %g\n", first, status.loss);
}

/* How far the upper left of b a^-1 is from a turn: the largest entry of S^T S - scale^2 I. *scale: its size.
 */
static double shear(const float a[16], const float b[16], double *scale)
{
    double from[16], back[16], s[3][3], most = 0;
    for (int i = 0; i < 16; i++)
        from[i] = (double)a[i];
    assert_true(matrix_invert(from, back));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            s[i][j] = 0;
            for (int k = 0; k < 3; k++)
                s[i][j] += (double)b[4 * i + k] * back[4 * k + j];
        }
    double volume = s[0][0] * (s[1][1] * s[2][2] - s[1][2] * s[2][1]) -
                    s[0][1] * (s[1][0] * s[2][2] - s[1][2] * s[2][0]) +
                    s[0][2] * (s[1][0] * s[2][1] - s[1][1] * s[2][0]);
    *scale = cbrt(volume);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double dot = s[0][i] * s[0][j] + s[1][i] * s[1][j] + s[2][i] * s[2][j];
            most = fmax(most, fabs(dot - (i == j ? *scale * *scale : 0)));
        }
    return most;
}

static double largest_error(const float *a, const float *b, uint32_t count)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* A fit of to_world with that motion, from a start scaled by `scale`. Returns the shear. */
static double fit_to_world(bl_motion motion, double scale, double *error, double *grown)
{
    float start[16], begun[16], end[16], truth[16];
    beside(scale, start);
    truth_of("it.to_world", truth);
    bl_fit *fit = create(&(bl_fit_parameter){.name = "it.to_world", .initial = start, .motion = motion}, 1);
    SCENE_MUST(&device, bl_fit_get(fit, 0, begun));
    assert_true(largest_error(begun, start, 16) < 1e-6);
    run(fit);
    SCENE_MUST(&device, bl_fit_get(fit, 0, end));
    bl_fit_destroy(fit);
    double sheared = shear(start, end, grown);
    *error = largest_error(end, truth, 16);
    print_message("%s: off by %g, before by %g; sheared by %g, scaled by %g\n", bl_motion_name(motion),
                  *error, largest_error(start, truth, 16), sheared, *grown);
    return sheared;
}

static void to_world_stays_rigid(void **state)
{
    (void)state;
    double error, grown;
    assert_true(fit_to_world(BL_MOTION_RIGID, 1, &error, &grown) < 1e-5);
    assert_true(fabs(grown - 1) < 1e-5 && error < 0.01);
    assert_true(fit_to_world(BL_MOTION_SIMILARITY, 1.04, &error, &grown) < 1e-5);
    assert_true(fabs(grown - 1 / 1.04) < 0.003 && error < 0.02);
    assert_true(fit_to_world(BL_MOTION_FREE, 1, &error, &grown) > 1e-2);
}

/* Beside to_world the scale is named, and bounded; what to_world then says goes with that scale. */
static void parts_go_together(void **state)
{
    (void)state;
    float start[16], end[16], size = 1, scene_size;
    double grown;
    beside(1, start);
    const bl_fit_parameter p[2] = {
        {.name = "it.scale", .least = 0.98, .most = 0.99, .initial = &(float){0.985f}},
        {.name = "it.to_world", .initial = start}};
    bl_fit *fit = create(p, 2);
    run(fit);
    SCENE_MUST(&device, bl_fit_get(fit, 0, &size));
    SCENE_MUST(&device, bl_fit_get(fit, 1, end));
    bl_fit_destroy(fit);
    assert_true(size >= 0.98f && size <= 0.99f);
    truth_of("it.scale", &scene_size);
    assert_true(scene_size == 1.0f);
    assert_true(shear(start, end, &grown) < 1e-5);
    assert_true(fabs(grown - 1) < 1e-5);
}

/* A fit that goes on from the place where another one has ended is where that one would be. */
static void goes_on(const char *name, const float start[16])
{
    static float image[MOVED_VALUES], other[MOVED_VALUES];
    const bl_render_desc desc = {.spp = 16, .seed = 3};
    float end[16], again[16];
    double grown;
    bl_fit_status status;
    bl_fit *fit = create(&(bl_fit_parameter){.name = name, .initial = start}, 1);
    for (int i = 0; i < 5; i++)
        SCENE_MUST(&device, bl_fit_step(fit, &status));
    SCENE_MUST(&device, bl_fit_get(fit, 0, end));
    SCENE_MUST(&device, bl_fit_render(fit, 0, &desc, image));
    bl_fit_destroy(fit);
    fit = create(&(bl_fit_parameter){.name = name, .initial = end}, 1);
    SCENE_MUST(&device, bl_fit_get(fit, 0, again));
    SCENE_MUST(&device, bl_fit_render(fit, 0, &desc, other));
    bl_fit_destroy(fit);
    assert_true(largest_error(start, end, 16) > 1e-3);
    assert_true(shear(start, end, &grown) < 1e-5 && fabs(grown - 1) < 1e-5);
    assert_true(largest_error(end, again, 16) < 1e-6);
    assert_true(fabs(moved_weighted(image) - moved_weighted(other)) < 1e-4 * moved_weighted(image));
}

static void goes_on_from_its_matrix(void **state)
{
    (void)state;
    float start[16];
    beside(1, start);
    goes_on("it.to_world", start);
    truth_of("sensor.to_world", start);
    goes_on("sensor.to_world", start);
}

static void expect_refusal(const bl_fit_parameter *p, const char *said)
{
    bl_fit *fit;
    const bl_fit_desc desc = {.parameters = p, .parameter_count = 1, .target = target, .spp = SPP};
    assert_int_equal(bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT);
    if (!strstr(bl_context_error(device.context), said))
        fail_msg("%s", bl_context_error(device.context));
}

static void refused(void **state)
{
    (void)state;
    expect_refusal(&(bl_fit_parameter){.name = "it.to_world", .least = -1, .most = 1},
                   "it.to_world moves as a whole, so its numbers have no bounds");
    expect_refusal(&(bl_fit_parameter){.name = "it.to_world", .motion = 3},
                   "it.to_world: there is no motion 3");
    expect_refusal(&(bl_fit_parameter){.name = "it.scale", .motion = BL_MOTION_FREE},
                   "it.scale: free motion is for the to_world of a shape, an instance or a camera");
    assert_null(bl_motion_name(BL_MOTION_COUNT));
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(to_world_stays_rigid),
                                       cmocka_unit_test(parts_go_together),
                                       cmocka_unit_test(goes_on_from_its_matrix), cmocka_unit_test(refused)};
    return scene_device_run(&device, &folder, "fit of a pose", tests, sizeof tests / sizeof *tests, load);
}
