/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Can a fit take large steps? It finds the heights of a bumpy square from a picture of it under three
 * lights, beginning with a flat one. A fit that was interrupted and resumed ends in the same bytes. Also:
 * what cannot be fitted in this way is refused. assets/relief is the same with 32 x 32 vertices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 10,
    VERTICES = SIDE * SIDE,
    FACES = 2 * (SIDE - 1) * (SIDE - 1),
    PIXELS = 20,
    STEPS = 40,
    PART = 20
};

static scene_device device;
static float bumpy[3 * VERTICES], flat[3 * VERTICES], target[3 * PIXELS * PIXELS];
static uint32_t faces[3 * FACES];

static void make_squares(void)
{
    uint32_t *f = faces;
    for (uint32_t i = 0; i < VERTICES; i++) {
        double x = 2.0 * (i % SIDE) / (SIDE - 1) - 1, y = 2.0 * (i / SIDE) / (SIDE - 1) - 1;
        bumpy[3 * i] = flat[3 * i] = (float)x, bumpy[3 * i + 1] = flat[3 * i + 1] = (float)y;
        bumpy[3 * i + 2] = (float)(0.15 * exp(-5 * ((x - 0.3) * (x - 0.3) + y * y)) -
                                   0.1 * exp(-6 * ((x + 0.4) * (x + 0.4) + (y - 0.3) * (y - 0.3))));
    }
    for (uint32_t y = 0; y < SIDE - 1; y++)
        for (uint32_t x = 0; x < SIDE - 1; x++) {
            uint32_t a = y * SIDE + x, corners[6] = {a, a + 1, a + SIDE + 1, a, a + SIDE + 1, a + SIDE};
            for (int k = 0; k < 6; k++)
                *f++ = corners[k];
        }
}

static bl_scene *make_scene(void)
{
    static const double places[3][3] = {{4, 0, 5}, {-2, 3.46, 5}, {-2, -3.46, 5}};
    bl_builder *b;
    bl_scene *scene;
    SCENE_MUST(&device, bl_builder_create(device.context, &b));
    bl_object *root = bl_builder_root(b), *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *sensor = bl_builder_object(b, "sensor", "perspective", NULL);
    bl_object_integer(film, "width", PIXELS), bl_object_integer(film, "height", PIXELS);
    bl_object_number(sensor, "fov", 17);
    bl_object_transform(sensor, "to_world",
                        (const double[16]){-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 6, 0, 0, 0, 1});
    bl_object_add(sensor, NULL, film), bl_object_add(root, NULL, sensor);
    for (int k = 0; k < 3; k++) {
        bl_object *light = bl_builder_object(b, "emitter", "point", NULL);
        bl_object_point(light, "position", places[k][0], places[k][1], places[k][2]);
        bl_object_color(light, "intensity", k == 0 ? 120 : 0, k == 1 ? 120 : 0, k == 2 ? 120 : 0);
        bl_object_add(root, NULL, light);
    }
    bl_object *ground = bl_builder_mesh(
        b, "ground",
        &(bl_mesh){.vertex_count = VERTICES, .face_count = FACES, .positions = bumpy, .faces = faces});
    bl_object_flag(ground, "face_normals", true);
    bl_object_add(root, NULL, ground);
    SCENE_MUST(&device, bl_builder_finish(b, NULL, &(bl_scene_desc){.integrator = "direct"}, &scene));
    return scene;
}

static bl_fit_parameter heights(void)
{
    return (bl_fit_parameter){
        .name = "ground.vertex_positions", .rate = 0.025, .initial = flat, .large_steps = 1, .fixed_axes = 3};
}

static bl_fit *begin(const bl_scene *scene)
{
    bl_fit_parameter p = heights();
    bl_fit *fit;
    SCENE_MUST(&device,
               bl_fit_create(
                   device.device, scene,
                   &(bl_fit_desc){
                       .parameters = &p, .parameter_count = 1, .target = target, .spp = 16, .beta_2 = 0.99},
                   &fit));
    return fit;
}

static void steps(bl_fit *fit, int count)
{
    bl_fit_status status;
    for (int k = 0; k < count; k++) {
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        assert_int_equal(status.skipped, 0);
    }
}

/* Of heights without their mean, which shading hardly says. */
static double error_of(const float *positions)
{
    double mean = 0, sum = 0;
    for (int v = 0; v < VERTICES; v++)
        mean += ((double)positions[3 * v + 2] - (double)bumpy[3 * v + 2]) / VERTICES;
    for (int v = 0; v < VERTICES; v++) {
        double off = (double)positions[3 * v + 2] - (double)bumpy[3 * v + 2] - mean;
        sum += off * off / VERTICES;
    }
    return sqrt(sum);
}

static void heights_are_found(void **state)
{
    (void)state;
    static float whole[3 * VERTICES], resumed[3 * VERTICES];
    bl_scene *scene = make_scene();
    bl_job *job = scene_device_job(&device, scene, NULL, 0);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 256, .seed = 99}, target, NULL));
    bl_job_destroy(job);
    bl_fit *fit = begin(scene);
    steps(fit, PART);
    SCENE_MUST(&device, bl_fit_save(fit, "fit_relief.checkpoint", NULL, 0));
    steps(fit, STEPS - PART);
    SCENE_MUST(&device, bl_fit_get(fit, 0, whole));
    bl_fit_destroy(fit);
    print_message("rms error of the heights: %.4f at the start, %.4f after %d steps\n", error_of(flat),
                  error_of(whole), STEPS);
    assert_true(error_of(whole) < 0.5 * error_of(flat));
    for (int i = 0; i < 3 * VERTICES; i++)
        assert_true(i % 3 == 2 || whole[i] == flat[i]);
    fit = begin(scene);
    SCENE_MUST(&device, bl_fit_restore(fit, "fit_relief.checkpoint", NULL, NULL));
    remove("fit_relief.checkpoint");
    steps(fit, STEPS - PART);
    SCENE_MUST(&device, bl_fit_get(fit, 0, resumed));
    assert_memory_equal(resumed, whole, sizeof whole);
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
}

static void expect(const bl_scene *scene, bl_fit_parameter p, bl_optimizer optimizer, const char *text)
{
    bl_fit *fit;
    bl_fit_desc desc = {.parameters = &p, .parameter_count = 1, .target = target, .optimizer = optimizer};
    assert_int_equal(bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT);
    if (!strstr(bl_context_error(device.context), text))
        fail_msg("\"%s\" does not say \"%s\"", bl_context_error(device.context), text);
}

static void what_cannot_be(void **state)
{
    (void)state;
    static const float colour[3];
    bl_scene *scene = make_scene();
    bl_fit_parameter p = heights();
    expect(scene, p, BL_OPTIMIZER_SGD, "a variant of Adam");
    p.most = 1;
    expect(scene, p, BL_OPTIMIZER_ADAM, "no bounds");
    p = heights(), p.large_steps = -1;
    expect(scene, p, BL_OPTIMIZER_ADAM, "must be a number above 0");
    p = heights(), p.large_steps = 0;
    expect(scene, p, BL_OPTIMIZER_ADAM, "fixed axes");
    p = heights(), p.name = "ground.bsdf.reflectance.value", p.initial = colour;
    expect(scene, p, BL_OPTIMIZER_ADAM, "vertex_positions of meshes");
    bl_scene_destroy(scene);
}

int main(void)
{
    make_squares();
    const struct CMUnitTest tests[] = {cmocka_unit_test(heights_are_found), cmocka_unit_test(what_cannot_be)};
    return SCENE_DEVICE_RUN(&device, NULL, "fit relief", tests);
}
