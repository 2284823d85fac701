/* LABELS: rayquery swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do both ray backends trace the same rays? The same job runs by both with the same random numbers. Images
 * and gradients are equal except for rounding, and for the few paths that rounding sends another way. A hit
 * that is systematically wrong (another primitive, swapped coordinates, a leak) changes many pixels. Also:
 * which backend a job gets, and a clear error where the device has no ray queries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, HEIGHT = 24, VALUES = 3 * WIDTH * HEIGHT, SPP = 16, DEPTH = 5, SEEDS = 4 };

static scene_device device;
static char *folder;

static bl_scene *load(scene_device *d, arena *a, const char *name, const scene_case **found)
{
    for (uint32_t i = 0; i < scene_case_count; i++)
        if (strcmp(scene_cases[i].name, name) == 0) {
            *found = &scene_cases[i];
            return scene_device_load(d, scene_case_xml(a, &scene_cases[i], DEPTH, WIDTH, HEIGHT), folder);
        }
    fail_msg("no scene \"%s\"", name);
    return NULL;
}

static bl_job *create(scene_device *d, const bl_scene *scene, const scene_case *c, bl_rays rays)
{
    bl_job *job;
    bl_job_desc desc = {.parameters = c->parameters, .parameter_count = 1, .no_baking = true, .rays = rays};
    SCENE_MUST(d, bl_job_create(d->device, scene, &desc, &job));
    return job;
}

static void compare_images(bl_job *job[2], const char *name)
{
    static float image[2][VALUES];
    uint32_t differ = 0, lit = 0;
    double sum[2] = {0, 0};
    for (int k = 0; k < 2; k++)
        SCENE_MUST(&device, bl_job_render(job[k], &(bl_render_desc){.spp = SPP, .seed = 3}, image[k], NULL));
    for (uint32_t i = 0; i < VALUES; i++) {
        double a = (double)image[0][i], b = (double)image[1][i];
        differ += !(fabs(a - b) <= 1e-3 * a + 1e-5);
        lit += a > 0;
        sum[0] += a, sum[1] += b;
    }
    print_message("%s: %u of %d values differ, means %.6g and %.6g\n", name, differ, VALUES, sum[0] / VALUES,
                  sum[1] / VALUES);
    assert_true(lit > VALUES / 2);
    assert_true(differ <= VALUES / 200);
    assert_true(fabs(sum[0] - sum[1]) <= 1e-3 * sum[0]);
}

static void gradient(bl_job *job, uint32_t seed, const float *weights, float *g)
{
    bl_stats stats;
    SCENE_MUST(&device,
               bl_job_gradient(
                   job,
                   &(bl_gradient_desc){.spp = SPP, .seed = seed, .adjoint = weights, .form = BL_FORM_FUSED},
                   &stats));
    assert_int_equal(stats.drifted, 0);
    assert_int_equal(stats.non_finite, 0);
    SCENE_MUST(&device, bl_job_read_gradient(job, 0, g));
}

/* Relative to the largest entry by any seed: what moves rays has parts of either sign, far larger than their
 * sum, and a sum that lies near 0 by one seed says nothing of how they are rounded (aperture_radius in front
 * of textured walls: 0.9 to 600 by 24 seeds). */
static void compare_gradients(bl_job *job[2], const bl_scene *scene, const scene_case *c)
{
    static float weights[VALUES], g[SEEDS][2][VALUES];
    uint32_t random = 5;
    double most = 0;
    bl_parameter_info parameter;
    SCENE_MUST(&device, bl_scene_parameter_info(scene, scene_device_find(&device, scene, c->parameters[0]),
                                                &parameter));
    assert_true(parameter.count <= VALUES);
    for (uint32_t i = 0; i < VALUES; i++)
        weights[i] = (float)(0.5 + scene_random(&random));
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        gradient(job[0], seed, weights, g[seed][0]), gradient(job[1], seed, weights, g[seed][1]);
        for (uint32_t i = 0; i < parameter.count; i++)
            most = fmax(most, fabs((double)g[seed][0][i]));
    }
    assert_true(most > 0);
    for (uint32_t seed = 0; seed < SEEDS; seed++)
        for (uint32_t i = 0; i < parameter.count; i++) {
            double bvh = (double)g[seed][0][i], query = (double)g[seed][1][i];
            if (!(fabs(bvh - query) <= 1e-3 * most))
                fail_msg("%s, %s[%u], seed %u: bvh %.7g, query %.7g, largest %.7g", c->name, c->parameters[0],
                         i, seed, bvh, query, most);
        }
}

static void compare(const char *name, bool gradients)
{
    arena a = {0};
    const scene_case *c = NULL;
    bl_scene *scene = load(&device, &a, name, &c);
    if (device.info.ray_query) {
        bl_job *job[2] = {create(&device, scene, c, BL_RAYS_BVH), create(&device, scene, c, BL_RAYS_QUERY)};
        compare_images(job, c->name);
        if (gradients)
            compare_gradients(job, scene, c);
        bl_job_destroy(job[0]), bl_job_destroy(job[1]);
    }
    bl_scene_destroy(scene);
    arena_free(&a);
}

/* Triangles and a sphere, on one level and on two; all scenes with BL_LONG=1, because kernels take seconds to
 * compile, those of gradients most. */
static void backends_agree(void **state)
{
    (void)state;
    if (!getenv("BL_LONG"))
        compare("constant environment", true), compare("instances", false);
    for (uint32_t i = 0; getenv("BL_LONG") && i < scene_case_count; i++)
        compare(scene_cases[i].name, true);
}

static void expect_backend(const bl_scene *scene, bl_job_desc desc, const char *expected)
{
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    assert_string_equal(bl_job_rays(job), expected);
    bl_job_destroy(job);
}

static void the_backend_is_chosen(void **state)
{
    arena a = {0};
    const scene_case *c;
    bl_scene *scene = load(&device, &a, "area light", &c);
    bl_job *job;
    (void)state;
    bool on_cpu = strcmp(device.info.kind, "swiftshader") == 0 || strcmp(device.info.kind, "lavapipe") == 0;
    expect_backend(scene, (bl_job_desc){0}, "baked");
    expect_backend(scene, (bl_job_desc){.rays = BL_RAYS_BVH}, "baked");
    expect_backend(scene, (bl_job_desc){.no_baking = true, .rays = BL_RAYS_BVH}, "bvh");
    expect_backend(scene, (bl_job_desc){.no_baking = true},
                   device.info.ray_query && !on_cpu ? "query" : "bvh");
    if (device.info.ray_query) {
        expect_backend(scene, (bl_job_desc){.rays = BL_RAYS_QUERY}, "query");
    } else {
        assert_int_equal(bl_job_create(device.device, scene, &(bl_job_desc){.rays = BL_RAYS_QUERY}, &job),
                         BL_ERROR_UNSUPPORTED);
        assert_null(job);
        assert_non_null(strstr(bl_context_error(device.context), device.info.name));
        assert_non_null(strstr(bl_context_error(device.context), "has no ray queries"));
    }
    assert_int_equal(bl_job_create(device.device, scene, &(bl_job_desc){.rays = BL_RAYS_COUNT}, &job),
                     BL_ERROR_ARGUMENT);
    bl_scene_destroy(scene);
    arena_free(&a);
}

/* Nothing to hit: a structure without primitives. */
static void an_empty_scene(void **state)
{
    float image[3 * 4];
    (void)state;
    if (!device.info.ray_query)
        return;
    bl_scene *scene = scene_device_load(
        &device,
        "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><film type='hdrfilm'>"
        "<integer name='width' value='2'/><integer name='height' value='2'/></film></sensor>"
        "<emitter type='constant'><rgb name='radiance' value='1,2,3'/></emitter></scene>",
        NULL);
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &(bl_job_desc){.rays = BL_RAYS_QUERY}, &job));
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 4}, image, NULL));
    for (int i = 0; i < 12; i++)
        assert_true(fabs((double)image[i] - (i % 3 + 1)) < 1e-5);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* Building the structure and tracing through it, under the validation layer where there is one. */
static void validation_is_silent(void **state)
{
    static float image[VALUES];
    scene_device checked = {0};
    arena a = {0};
    const scene_case *c;
    (void)state;
    if (!device.info.ray_query ||
        bl_context_create(&(bl_context_desc){.validation = true}, &checked.context) != BL_OK)
        return;
    SCENE_MUST(&checked, bl_device_create(checked.context, device.info.kind, &checked.device));
    bl_scene *scene = load(&checked, &a, "disk light", &c);
    bl_job *job = create(&checked, scene, c, BL_RAYS_QUERY);
    SCENE_MUST(&checked, bl_job_render(job, &(bl_render_desc){.spp = 1}, image, NULL));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    assert_int_equal(bl_context_validation_messages(checked.context), 0);
    scene_device_close(&checked);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_backend_is_chosen),
        cmocka_unit_test(an_empty_scene),
        cmocka_unit_test(validation_is_silent),
        cmocka_unit_test(backends_agree),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "ray backends", tests);
}
