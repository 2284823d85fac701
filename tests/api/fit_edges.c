/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fits whose moving edges choose by what a step before has learnt: their gradients have the mean of those
 * that learn themselves, and a fit that goes on from a checkpoint between two steps that learn gives the same
 * bytes as one that was never interrupted. */
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

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, STEPS = 12, SAVED_AT = 4, MANY = 1500 };

static scene_device device;
static float target[VALUES];
static const char *const name = "it.translation";
static const float start[3] = {0.1f, 0.05f, 0.4f};

/* A cube before a wall, and a lamp that throws its shadow there. */
static bl_scene *scene_of_cube(void)
{
    arena a = {0};
    bl_scene *s = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                  arena_printf(&a, scene_sensor_format, SIDE, SIDE),
                  "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform>"
                  "<bsdf type='diffuse'><rgb name='reflectance' value='.7'/></bsdf></shape>"
                  "<shape type='cube' id='it'><transform name='to_world'><scale value='.25'/></transform>"
                  "<bsdf type='diffuse'><rgb name='reflectance' value='.3'/></bsdf></shape>"
                  "<shape type='rectangle'><transform name='to_world'><scale value='.5'/><rotate x='1' "
                  "angle='160'/><translate x='.6' z='2.5'/></transform>"
                  "<emitter type='area'><rgb name='radiance' value='9'/></emitter></shape>"),
        ".");
    arena_free(&a);
    return s;
}

static bl_fit *create(const bl_scene *scene, double rate)
{
    const bl_fit_parameter cube = {.name = name, .initial = start, .rate = rate};
    const bl_fit_desc desc = {.parameters = &cube,
                              .parameter_count = 1,
                              .target = target,
                              .spp = 4,
                              .seed = 5,
                              .optimizer = BL_OPTIMIZER_SGD};
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    return fit;
}

/* Mean and variance of the gradients of a job, each of which learns. */
static void measure(const bl_scene *scene, double mean[3], double variance[3])
{
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene,
                                      &(bl_job_desc){.parameters = &name, .parameter_count = 1}, &job));
    SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, name), start));
    for (uint32_t seed = 0; seed < MANY; seed++) {
        float g[3];
        SCENE_MUST(&device,
                   bl_job_gradient(job, &(bl_gradient_desc){.target = target, .spp = 4, .seed = seed}, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, g));
        for (int c = 0; c < 3; c++)
            mean[c] += (double)g[c] / MANY, variance[c] += (double)g[c] * (double)g[c] / MANY;
    }
    for (int c = 0; c < 3; c++)
        variance[c] -= mean[c] * mean[c];
    bl_job_destroy(job);
}

/* Descent with a small rate moves by the sum of all gradients. */
static void steps_that_do_not_learn_have_the_same_mean(void **state)
{
    (void)state;
    const double rate = 2e-4;
    double mean[3] = {0}, variance[3] = {0};
    float moved[3];
    bl_scene *scene = scene_of_cube();
    measure(scene, mean, variance);
    bl_fit *fit = create(scene, rate);
    for (int step = 0; step < MANY; step++)
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
    SCENE_MUST(&device, bl_fit_get(fit, 0, moved));
    for (int c = 0; c < 3; c++) {
        const double own = ((double)start[c] - (double)moved[c]) / (rate * MANY),
                     error = sqrt(2 * variance[c] / MANY);
        print_message("%d: %.5g, of gradients that learn %.5g, +- %.2g\n", c, own, mean[c], error);
        assert_true(fabs(own - mean[c]) < 4 * error);
    }
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
}

static void a_fit_goes_on_exactly(void **state)
{
    (void)state;
    static const char path[] = "fit_edges.checkpoint";
    bl_scene *scene = scene_of_cube();
    float values[2][3];
    bl_fit *fit = create(scene, 0.05);
    for (int step = 0; step < STEPS; step++) {
        if (step == SAVED_AT)
            SCENE_MUST(&device, bl_fit_save(fit, path, NULL, 0));
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
    }
    SCENE_MUST(&device, bl_fit_get(fit, 0, values[0]));
    bl_fit_destroy(fit);
    fit = create(scene, 0.05);
    SCENE_MUST(&device, bl_fit_restore(fit, path, NULL, NULL));
    for (int step = SAVED_AT; step < STEPS; step++)
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
    SCENE_MUST(&device, bl_fit_get(fit, 0, values[1]));
    bl_fit_destroy(fit);
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_true(memcmp(values[0], start, sizeof start) != 0);
    remove(path);
    bl_scene_destroy(scene);
}

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        target[i] = (float)(i % 7) / 14;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_do_not_learn_have_the_same_mean),
        cmocka_unit_test(a_fit_goes_on_exactly),
    };
    return scene_device_run(&device, NULL, "fit edges", tests, sizeof tests / sizeof *tests, NULL);
}
