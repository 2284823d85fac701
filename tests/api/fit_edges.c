/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fits whose moving edges choose by what a step before has learnt, and have fewer samples than usual: their
 * gradients have the mean of those of a job, and a fit that goes on from a checkpoint gives the same bytes as
 * one that was never interrupted. How many samples they have follows from noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/fit.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, STEPS = 12, SPP = 8, MANY = 1500 };

static scene_device device;
static float target[VALUES];
static const char *const name = "it.translation";
static const float start[3] = {0.1f, 0.05f, 0.4f};

/* A cube, and a lamp that throws its shadow on what is behind it. */
#define WALL                                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform><bsdf "                \
    "type='diffuse'><rgb name='reflectance' value='.7'/></bsdf></shape>"
#define CUBE(where)                                                                                          \
    "<shape type='cube' id='it'><transform name='to_world'>" where                                           \
    "</transform><bsdf type='diffuse'><rgb name='reflectance' value='.3'/></bsdf></shape>"
static bl_scene *scene_of(const char *body)
{
    arena a = {0};
    bl_scene *s = scene_device_load(
        &device,
        scene_xml(
            &a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
            arena_printf(&a, scene_sensor_format, SIDE, SIDE),
            arena_printf(&a,
                         "%s<shape type='rectangle'><transform name='to_world'><scale value='.5'/>"
                         "<rotate x='1' angle='160'/><translate x='.6' z='2.5'/></transform>"
                         "<emitter type='area' id='lamp'><rgb name='radiance' value='9'/></emitter></shape>",
                         body)),
        ".");
    arena_free(&a);
    return s;
}
static bl_scene *scene_of_cube(void) { return scene_of(WALL CUBE("<scale value='.25'/>")); }

static bl_fit *create(const bl_scene *scene, double rate, bool looks)
{
    const bl_fit_parameter cube = {.name = name, .initial = start, .rate = rate};
    const bl_fit_desc desc = {.parameters = &cube,
                              .parameter_count = 1,
                              .target = target,
                              .spp = SPP,
                              .seed = 5,
                              .common_numbers = !looks,
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
        SCENE_MUST(&device, bl_job_gradient(
                                job, &(bl_gradient_desc){.target = target, .spp = SPP, .seed = seed}, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, g));
        for (int c = 0; c < 3; c++)
            mean[c] += (double)g[c] / MANY, variance[c] += (double)g[c] * (double)g[c] / MANY;
    }
    for (int c = 0; c < 3; c++)
        variance[c] -= mean[c] * mean[c];
    bl_job_destroy(job);
}

/* Descent with a small rate moves by the sum of all gradients. */
static void steps_that_learn_and_sample_less_have_the_same_mean(void **state)
{
    (void)state;
    const double rate = 2e-4;
    double mean[3] = {0}, variance[3] = {0};
    float moved[3];
    bl_scene *scene = scene_of_cube();
    measure(scene, mean, variance);
    bl_fit *fit = create(scene, rate, true);
    for (int step = 0; step < MANY; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
        fit->edges.share = 1.0f / SPP;
    }
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

/* Saved between two steps that learn, with a share of the samples that is not the usual one. */
static void a_fit_goes_on_exactly(void **state)
{
    enum { SAVED_AT = 5 };
    (void)state;
    bl_scene *scene = scene_of_cube();
    static const char path[] = "fit_edges.checkpoint";
    float values[2][3];
    bl_fit *fit = create(scene, 0.05, true);
    for (int step = 0; step < STEPS; step++) {
        if (step == SAVED_AT)
            SCENE_MUST(&device, bl_fit_save(fit, path, NULL, 0));
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
        if (step == 1)
            fit->edges.share = 0.25f;
    }
    SCENE_MUST(&device, bl_fit_get(fit, 0, values[0]));
    const float share = fit->edges.share;
    bl_fit_destroy(fit);
    fit = create(scene, 0.05, true);
    SCENE_MUST(&device, bl_fit_restore(fit, path, NULL, NULL));
    for (int step = SAVED_AT; step < STEPS; step++)
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
    SCENE_MUST(&device, bl_fit_get(fit, 0, values[1]));
    assert_true(fit->edges.share == share);
    bl_fit_destroy(fit);
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_true(memcmp(values[0], start, sizeof start) != 0);
    remove(path);
    bl_scene_destroy(scene);
}

/* Steps with common random numbers do not look, and the first step has the same numbers either way. */
static void a_look_leaves_the_gradient(void **state)
{
    (void)state;
    bl_scene *scene = scene_of_cube();
    float values[2][3];
    for (int looks = 0; looks < 2; looks++) {
        bl_fit *fit = create(scene, 0.05, looks);
        assert_true(!fit->edges.step == !looks);
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
        SCENE_MUST(&device, bl_fit_get(fit, 0, values[looks]));
        bl_fit_destroy(fit);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    bl_scene_destroy(scene);
}

/* ---- samples ---- */

#define NET(where)                                                                                           \
    "<shape type='ply' id='it'><string name='filename' value='fit_edges.ply'/><transform "                   \
    "name='to_world'>" where "</transform><bsdf type='twosided'><bsdf type='diffuse'><rgb "                  \
    "name='reflectance' value='.3'/></bsdf></bsdf></shape>"

/* A square of 24 x 24 vertices, from -1 to 1. */
static void write_net(const char *path)
{
    enum { N = 24 };
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n"
            "element face %d\nproperty list uchar int vertex_indices\nend_header\n",
            N * N, 2 * (N - 1) * (N - 1));
    for (int k = 0; k < N * N; k++)
        fprintf(f, "%g %g 0\n", 2.0 * (k % N) / (N - 1) - 1, 2.0 * (k / N) / (N - 1) - 1);
    for (int k = 0; k < N * N; k++)
        if (k % N < N - 1 && k / N < N - 1)
            fprintf(f, "3 %d %d %d\n3 %d %d %d\n", k, k + 1, k + N, k + 1, k + N + 1, k + N);
    fclose(f);
}

/* The share after some steps of a fit of vertices and a lamp, also of one that goes on between the two steps
 * that look.
 */
static float share_of(const char *body)
{
    static const char path[] = "fit_edges_share.checkpoint";
    bl_scene *scene = scene_of(body);
    const bl_fit_parameter both[] = {{.name = "it.vertex_positions", .rate = 1e-4},
                                     {.name = "lamp.radiance.value", .rate = 1e-4}};
    const bl_fit_desc desc = {
        .parameters = both, .parameter_count = 2, .target = target, .spp = 32, .seed = 3};
    float found[2];
    bl_fit *fit;
    for (int again = 0; again < 2; again++) {
        SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
        if (again)
            SCENE_MUST(&device, bl_fit_restore(fit, path, NULL, NULL));
        for (int step = again; step < 4; step++) {
            SCENE_MUST(&device, bl_fit_step(fit, NULL));
            if (step == 0)
                SCENE_MUST(&device, bl_fit_save(fit, path, NULL, 0));
        }
        found[again] = fit->edges.share;
        bl_fit_destroy(fit);
    }
    remove(path);
    assert_true(found[0] == found[1]);
    bl_scene_destroy(scene);
    print_message("edges have %.3g of the samples\n", (double)found[0]);
    return found[0];
}

/* A net of vertices that is all that the sensor sees has its edges out of sight, so they have as few samples
 * as there may be; a small one before a wall is seen by its edges; one between has some. A cube has too few
 * values to tell. */
static void samples_follow_from_noise(void **state)
{
    (void)state;
    write_net("fit_edges.ply");
    assert_true(share_of(CUBE("<scale value='30'/><translate z='-30'/>")) == 0.5f);
    assert_true(share_of(WALL NET("<scale value='.4'/><translate z='.4'/>")) > 0.2f);
    assert_true(share_of(NET("<scale value='3'/>")) == 0.0625f);
    const float some = share_of(NET("<scale value='1.6'/>"));
    assert_true(some > 0.0625f && some < 0.5f);
    remove("fit_edges.ply");
}

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        target[i] = (float)(i % 7) / 14;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_that_learn_and_sample_less_have_the_same_mean),
        cmocka_unit_test(a_fit_goes_on_exactly),
        cmocka_unit_test(a_look_leaves_the_gradient),
        cmocka_unit_test(samples_follow_from_noise),
    };
    return scene_device_run(&device, NULL, "fit edges", tests, sizeof tests / sizeof *tests, NULL);
}
