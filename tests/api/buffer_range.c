/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers larger than a binding reaches (128 MiB on lavapipe), with a range that is lowered for the test:
 * kernels find scene and parameters by device address, with the same bytes as a result; what fixed kernels
 * cannot bind is an error with buffer, size and limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 8,
    VALUES = 3 * SIDE * SIDE,
    IMAGE_BYTES = 4 * VALUES,
    SPHERES = 40,
    ENOUGH = 1024,
    TOO_LITTLE = 512
};

typedef struct outcome {
    bl_result result;
    char said[512];
    float image[VALUES], gradient[3];
    size_t word_count; /* of the primal kernel */
} outcome;

static const char *device_name(void)
{
    const char *named = getenv("BL_DEVICE");
    return named && *named ? named : "swiftshader";
}

/* Spheres enough that the scene's words exceed ENOUGH. */
static char *many_spheres(arena *a)
{
    text body = {0};
    text_add(&body, "<bsdf type='diffuse' id='red'><rgb name='reflectance' value='0.8, 0.2, "
                    "0.1'/></bsdf><emitter type='constant'/>");
    for (int k = 0; k < SPHERES; k++)
        text_add(&body,
                 "<shape type='sphere'><point name='center' x='%g' y='%g' z='0'/><float name='radius' "
                 "value='0.3'/><ref id='red'/></shape>",
                 0.5 * (k % 8) - 2, 0.5 * (k / 8) - 1);
    char *xml = scene_xml(a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                          arena_printf(a, scene_sensor_format, SIDE, SIDE), body.data);
    text_free(&body);
    return xml;
}

static bl_result use(bl_job *job, outcome *o)
{
    float adjoint[VALUES];
    uint32_t *words;
    bl_stats stats;
    for (int k = 0; k < VALUES; k++)
        adjoint[k] = 1;
    bl_result r = bl_job_spirv(job, BL_PASS_PRIMAL, &words, &o->word_count);
    if (r != BL_OK)
        return r;
    free(words);
    if ((r = bl_job_render(job, &(bl_render_desc){.spp = 4}, o->image, &stats)) != BL_OK)
        return r;
    if ((r = bl_job_gradient(job, &(bl_gradient_desc){.form = BL_FORM_SEPARATE, .spp = 4, .adjoint = adjoint},
                             &stats)) != BL_OK)
        return r;
    return bl_job_read_gradient(job, 0, o->gradient);
}

static outcome run(uint32_t range)
{
    arena a = {0};
    outcome o = {0};
    scene_device d = {0};
    const char *wanted[] = {"red.reflectance.value"};
    bl_job *job = NULL;
    assert_int_equal(bl_context_create(&(bl_context_desc){.buffer_range = range}, &d.context), BL_OK);
    SCENE_MUST(&d, bl_device_create(d.context, device_name(), &d.device));
    bl_scene *scene = scene_device_load(&d, many_spheres(&a), ".");
    SCENE_MUST(&d, bl_job_create(
                       d.device, scene,
                       &(bl_job_desc){.parameters = wanted, .parameter_count = 1, .no_baking = true}, &job));
    o.result = use(job, &o);
    strncpy(o.said, bl_context_error(d.context), sizeof o.said - 1);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    scene_device_close(&d);
    arena_free(&a);
    return o;
}

static void a_scene_beyond_the_range_is_reached_by_address(void **state)
{
    (void)state;
    outcome bound = run(0), addressed = run(ENOUGH);
    assert_int_equal(bound.result, BL_OK);
    if (addressed.result != BL_OK)
        fail_msg("%s", addressed.said);
    assert_true(addressed.word_count != bound.word_count);
    assert_memory_equal(bound.image, addressed.image, sizeof bound.image);
    assert_memory_equal(bound.gradient, addressed.gradient, sizeof bound.gradient);
    assert_true(bound.gradient[0] != 0);
}

static void what_fixed_kernels_cannot_bind_is_an_error(void **state)
{
    (void)state;
    assert_true(IMAGE_BYTES > TOO_LITTLE);
    outcome o = run(TOO_LITTLE);
    assert_int_equal(o.result, BL_ERROR_UNSUPPORTED);
    if (!strstr(o.said, "has 768 bytes") || !strstr(o.said, "reaches 512"))
        fail_msg("%s", o.said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_beyond_the_range_is_reached_by_address),
        cmocka_unit_test(what_fixed_kernels_cannot_bind_is_an_error),
    };
    scene_device d;
    if (!scene_device_open(&d))
        return scene_device_missing();
    scene_device_close(&d);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
