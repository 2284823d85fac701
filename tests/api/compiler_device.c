/* LABELS: native swiftshader lavapipe sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * A device that was opened to compile (bl_device_create_compiler): it makes the same kernels as the device
 * itself, holds no memory, and refuses in words what would run something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE };

static scene_device device;
static const char *const wanted[] = {"red.reflectance.value"};

static bl_scene *load(void)
{
    arena a = {0};
    char *xml =
        scene_xml(&a, "<integrator type='prb'><integer name='max_depth' value='3'/></integrator>",
                  arena_printf(&a, scene_sensor_format, SIDE, SIDE),
                  "<bsdf type='diffuse' id='red'><rgb name='reflectance' value='0.8, 0.2, 0.1'/></bsdf>"
                  "<emitter type='constant'/><shape type='sphere'><ref id='red'/></shape>");
    bl_scene *scene = scene_device_load(&device, xml, NULL);
    arena_free(&a);
    return scene;
}

static bl_job *job_on(bl_device *on, const bl_scene *scene)
{
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(on, scene,
                                      &(bl_job_desc){.parameters = (const char **)(uintptr_t)wanted,
                                                     .parameter_count = 1,
                                                     .rays = scene_device_rays()},
                                      &job));
    return job;
}

static void words_of(bl_job *job, bl_pass pass, uint32_t **words, size_t *count)
{
    SCENE_MUST(&device, bl_job_spirv(job, pass, words, count));
}

static void makes_the_same_kernels(void **state)
{
    (void)state;
    bl_device *compiler;
    SCENE_MUST(&device, bl_device_create_compiler(device.context, device.info.name, &compiler));
    bl_scene *scene = load();
    bl_job *here = job_on(compiler, scene), *there = job_on(device.device, scene);
    for (bl_pass pass = 0; pass < BL_PASS_COUNT; pass++) {
        uint32_t *a, *b;
        size_t count, expected;
        bl_kernel_info info;
        assert_int_equal(bl_job_has_pass(here, pass), bl_job_has_pass(there, pass));
        if (!bl_job_has_pass(here, pass)) {
            assert_int_not_equal(bl_job_compile(here, pass, NULL), BL_OK);
            continue;
        }
        words_of(here, pass, &a, &count), words_of(there, pass, &b, &expected);
        assert_int_equal(count, expected);
        assert_memory_equal(a, b, 4 * count);
        free(a), free(b);
        SCENE_MUST(&device, bl_job_compile(here, pass, &info));
        assert_true(info.spirv_words > 0);
    }
    bl_job_destroy(here);
    bl_job_destroy(there);
    bl_scene_destroy(scene);
    bl_device_destroy(compiler);
}

static void holds_nothing_and_says_so(void **state)
{
    (void)state;
    bl_device *compiler;
    float image[VALUES] = {0}, value[3];
    bl_stats stats;
    SCENE_MUST(&device, bl_device_create_compiler(device.context, device.info.name, &compiler));
    bl_scene *scene = load();
    bl_job *job = job_on(compiler, scene);
    uint32_t index = scene_device_find(&device, scene, wanted[0]);
    SCENE_MUST(&device, bl_job_set_parameter(job, index, (const float[3]){0.5f, 0.5f, 0.5f}));
    scene_device_refused(&device, bl_job_render(job, &(bl_render_desc){.spp = 1}, image, &stats),
                         BL_ERROR_UNSUPPORTED, "compiles only");
    scene_device_refused(&device,
                         bl_job_gradient(job, &(bl_gradient_desc){.spp = 1, .adjoint = image}, &stats),
                         BL_ERROR_UNSUPPORTED, "compiles only");
    scene_device_refused(&device, bl_job_get_parameter(job, index, value), BL_ERROR_UNSUPPORTED,
                         "compiles only");
    assert_int_equal(bl_device_stats_get(compiler).bytes_allocated, 0);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(compiler);
}

static void tells_what_it_has_made(void **state)
{
    (void)state;
    bl_device *compiler;
    const char *name = NULL;
    double value = 0;
    SCENE_MUST(&device, bl_device_create_compiler(device.context, device.info.name, &compiler));
    bl_scene *scene = load();
    bl_job *job = job_on(compiler, scene);
    assert_false(bl_job_kernel_statistic(job, BL_PASS_PRIMAL, 0, &name, &value)); /* not made yet */
    SCENE_MUST(&device, bl_job_compile(job, BL_PASS_PRIMAL, NULL));
    bool native = strcmp(device.info.kind, "native") == 0;
    bool told = bl_job_kernel_statistic(job, BL_PASS_PRIMAL, 0, &name, &value);
    assert_true(told == native || !scene_device_on_processor(&device)); /* drivers of GPUs tell, or not */
    if (native) {
        assert_string_equal(name, "Code size");
        assert_true(value > 1000);
    }
    assert_false(bl_job_kernel_statistic(job, BL_PASS_PRIMAL, 1000, &name, &value));
    assert_false(bl_job_kernel_statistic(job, BL_PASS_COUNT, 0, &name, &value));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(compiler);
}

static void makes_fixed_kernels(void **state)
{
    (void)state;
    bl_device *compiler;
    const char *name;
    bl_kernel_info info;
    uint32_t count = 0;
    SCENE_MUST(&device, bl_device_create_compiler(device.context, device.info.name, &compiler));
    for (;; count++) {
        SCENE_MUST(&device, bl_device_compile_fixed(compiler, count, &name, &info));
        if (!name)
            break;
        assert_true(info.spirv_words > 0 && info.ops > 0);
    }
    assert_true(count > 10);
    bl_device_destroy(compiler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_same_kernels),
        cmocka_unit_test(holds_nothing_and_says_so),
        cmocka_unit_test(tells_what_it_has_made),
        cmocka_unit_test(makes_fixed_kernels),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "compiler_device", tests);
}
