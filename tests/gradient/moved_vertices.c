/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is the gradient by vertex positions right? It equals differences of images with vertices that have really
 * moved, in reverse and forward mode, and differences along frozen paths. The scene is a bumpy square that
 * fills the view under a point light, so that no edge or shadow moves. Its normals are generated, so nearly
 * all of the gradient goes through them, as derived values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>

enum {
    SIDE = 8,
    VERTICES = SIDE * SIDE,
    FACES = 2 * (SIDE - 1) * (SIDE - 1),
    PIXELS = 16,
    VALUES = 3 * PIXELS * PIXELS,
    SPP = 32,
    SEED = 5
};

static scene_device device;
static float positions[3 * VERTICES], direction[3 * VERTICES], moved[3 * VERTICES], weights[VALUES],
    image[VALUES];
static uint32_t faces[3 * FACES];

static void make_square(void)
{
    uint32_t state = 3, *f = faces;
    for (uint32_t i = 0; i < VERTICES; i++) {
        double p[3] = {4.0 * (i % SIDE) / (SIDE - 1) - 2, 4.0 * (i / SIDE) / (SIDE - 1) - 2,
                       0.25 * scene_random(&state)};
        for (int k = 0; k < 3; k++) {
            positions[3 * i + k] = (float)p[k];
            direction[3 * i + k] = (float)((k < 2 ? 0.3 : 1) * (2 * scene_random(&state) - 1));
        }
    }
    for (uint32_t y = 0; y < SIDE - 1; y++)
        for (uint32_t x = 0; x < SIDE - 1; x++) {
            uint32_t a = y * SIDE + x, corners[6] = {a, a + 1, a + SIDE + 1, a, a + SIDE + 1, a + SIDE};
            for (int k = 0; k < 6; k++)
                *f++ = corners[k];
        }
    for (int i = 0; i < VALUES; i++)
        weights[i] = (float)(cos(0.7 * (i / 3 % PIXELS) + 0.4 * (i / 3 / PIXELS) + i % 3) / VALUES);
}

static bl_scene *make_scene(void)
{
    bl_builder *b;
    bl_scene *scene;
    SCENE_MUST(&device, bl_builder_create(device.context, &b));
    bl_object *root = bl_builder_root(b), *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *sensor = bl_builder_object(b, "sensor", "perspective", NULL),
              *light = bl_builder_object(b, "emitter", "point", NULL);
    bl_object_integer(film, "width", PIXELS), bl_object_integer(film, "height", PIXELS);
    bl_object_number(sensor, "fov", 30);
    bl_object_transform(sensor, "to_world",
                        (const double[16]){-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 5, 0, 0, 0, 1});
    bl_object_add(sensor, NULL, film), bl_object_add(root, NULL, sensor);
    bl_object_point(light, "position", 1, 2, 6), bl_object_color(light, "intensity", 60, 50, 40);
    bl_object_add(root, NULL, light);
    bl_object_add(root, NULL,
                  bl_builder_mesh(b, "ground",
                                  &(bl_mesh){.vertex_count = VERTICES,
                                             .face_count = FACES,
                                             .positions = positions,
                                             .faces = faces}));
    SCENE_MUST(&device, bl_builder_finish(b, NULL, &(bl_scene_desc){.integrator = "direct"}, &scene));
    return scene;
}

static double weighted(void)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += (double)weights[i] * (double)image[i];
    return sum;
}

static const float *at(double step)
{
    for (int i = 0; i < 3 * VERTICES; i++)
        moved[i] = (float)((double)positions[i] + step * (double)direction[i]);
    return moved;
}

static double plain(bl_job *job, uint32_t parameter, double step)
{
    SCENE_MUST(&device, bl_job_set_parameter(job, parameter, at(step)));
    SCENE_MUST(&device,
               bl_job_render(job, &(bl_render_desc){.spp = SPP, .seed = SEED, .gradient_stream = true}, image,
                             NULL));
    return weighted();
}

static double frozen(bl_job *job, const bl_scene *scene, uint32_t parameter, double step)
{
    uint32_t total = 0, first = 0;
    for (uint32_t k = 0; k < bl_scene_parameter_count(scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(scene, k, &info));
        first = k == parameter ? total : first;
        total += info.count;
    }
    float *all = calloc(total, sizeof *all);
    assert_non_null(all);
    for (uint32_t k = 0, to = 0; k < bl_scene_parameter_count(scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(scene, k, &info));
        SCENE_MUST(&device, bl_scene_get_parameter(scene, k, all + to));
        to += info.count;
    }
    at(step);
    for (int i = 0; i < 3 * VERTICES; i++)
        all[first + (uint32_t)i] = moved[i];
    SCENE_MUST(&device,
               bl_job_render(
                   job, &(bl_render_desc){.spp = SPP, .seed = SEED, .gradient_stream = true, .frozen = all},
                   image, NULL));
    free(all);
    return weighted();
}

static void gradient_equals_differences(void **state)
{
    (void)state;
    static const char *const wanted[] = {"ground.vertex_positions"};
    static float gradient[3 * VERTICES];
    const float *tangents[] = {direction};
    const double h = 0.01;
    bl_scene *scene = make_scene();
    bl_job *job;
    SCENE_MUST(&device,
               bl_job_create(device.device, scene,
                             &(bl_job_desc){.parameters = wanted, .parameter_count = 1, .frozen = true},
                             &job));
    uint32_t parameter = scene_device_find(&device, scene, wanted[0]);
    bl_stats stats;
    SCENE_MUST(&device, bl_job_gradient(
                            job, &(bl_gradient_desc){.spp = SPP, .seed = SEED, .adjoint = weights}, &stats));
    SCENE_MUST(&device, bl_job_read_gradient(job, 0, gradient));
    assert_int_equal(stats.drifted, 0);
    double along = 0, size = 0;
    for (int i = 0; i < 3 * VERTICES; i++)
        along += (double)gradient[i] * (double)direction[i],
            size += fabs((double)gradient[i] * (double)direction[i]);
    SCENE_MUST(
        &device,
        bl_job_forward(job, &(bl_forward_desc){.spp = SPP, .seed = SEED, .tangents = tangents}, image, NULL));
    double forward = weighted(),
           by_frozen = (frozen(job, scene, parameter, h) - frozen(job, scene, parameter, -h)) / (2 * h);
    double by_plain = (plain(job, parameter, h) - plain(job, parameter, -h)) / (2 * h);
    print_message("reverse %.6g, forward %.6g, frozen %.6g, plain %.6g; of parts of size %.6g\n", along,
                  forward, by_frozen, by_plain, size);
    assert_true(fabs(along) > 0.05 * size);
    assert_true(fabs(forward - along) < 1e-3 * size);
    assert_true(fabs(by_frozen - along) < 2e-3 * size);
    assert_true(fabs(by_plain - along) <
                2e-2 * size); /* steps of the differences, and pixels that see another triangle */
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    make_square();
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_equals_differences)};
    return SCENE_DEVICE_RUN(&device, NULL, "moved vertices", tests);
}
