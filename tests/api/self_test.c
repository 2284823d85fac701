/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The self-test of a device (bl_device_self_check): what images need holds on every device that is tested
 * here, and CPU devices round correctly. Kernels that divide and take roots by sequences of our own leave the
 * bytes that kernels leave which take such a device's, in the image and in the gradient. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include <backlight/backlight_testing.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, PIXELS = SIDE * SIDE * 3, CHECKS_LEAST = 12 };

static scene_device device;

static void what_is_needed_holds(void **state)
{
    bl_self_check check;
    uint32_t k = 0, rounds = 0;
    (void)state;
    for (;; k++) {
        SCENE_MUST(&device, bl_device_self_check(device.device, k, &check));
        if (!check.name)
            break;
        if (check.needed && !check.holds)
            fail_msg("%s: %s", check.name, check.found);
        assert_true(check.compared > 0 && check.holds == (check.different == 0));
        rounds += check.holds && (!strcmp(check.name, "division") || !strcmp(check.name, "square root"));
    }
    assert_true(k >= CHECKS_LEAST);
    assert_int_equal(rounds, 2);
}

/* Image, then gradient, of a scene with diffuse walls, by a context with or without sequences of
 * our own. */
static void results(bool own, float *image, float gradient[3])
{
    const bl_context_testing testing = {.own_arithmetic = own};
    const char *names[] = {"red.reflectance.value"}, *selector = getenv("BL_DEVICE");
    const bl_define defines[] = {{.key = "resolution", .value = "16"}};
    char path[512];
    snprintf(path, sizeof path, "%s/assets/cornell/scene.xml", getenv("BL_SOURCE_DIR"));
    scene_device d = {0};
    assert_int_equal(bl_context_create(&(bl_context_desc){.testing = &testing}, &d.context), BL_OK);
    SCENE_MUST(&d, bl_device_create(d.context, selector, &d.device));
    bl_scene *scene;
    bl_job *job;
    SCENE_MUST(
        &d, bl_scene_load(d.context, path, &(bl_scene_desc){.defines = defines, .define_count = 1}, &scene));
    SCENE_MUST(
        &d, bl_job_create(d.device, scene, &(bl_job_desc){.parameters = names, .parameter_count = 1}, &job));
    SCENE_MUST(&d, bl_job_render(job, &(bl_render_desc){.spp = 4}, image, NULL));
    SCENE_MUST(&d, bl_job_gradient(job, &(bl_gradient_desc){.spp = 4, .adjoint = image}, NULL));
    SCENE_MUST(&d, bl_job_read_gradient(job, 0, gradient));
    assert_true(image[PIXELS / 2] > 0 && gradient[0] != 0);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(d.device);
    bl_context_destroy(d.context);
}

static void own_sequences_leave_the_same_bytes(void **state)
{
    static float with[PIXELS], without[PIXELS];
    float gradients[2][3] = {{0}};
    (void)state;
    results(true, with, gradients[0]);
    results(false, without, gradients[1]);
    assert_memory_equal(with, without, sizeof with);
    assert_memory_equal(gradients[0], gradients[1], sizeof gradients[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_needed_holds),
        cmocka_unit_test(own_sequences_leave_the_same_bytes),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "self-test", tests);
}
