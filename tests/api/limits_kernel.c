/* LABELS: native swiftshader=long */
/* SPDX-License-Identifier: BSD-3-Clause
 * The limit "kernel": a kernel with more operations is an error before the driver sees it, whoever set the
 * limit, and the scene, the job and the device are as good as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include "support/scene_device.h"

static scene_device device;

static const char scene_text[] =
    "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><film type='hdrfilm'>"
    "<integer name='width' value='4'/><integer name='height' value='4'/></film></sensor>"
    "<shape type='sphere'/><emitter type='constant'/></scene>";

static bl_result render(uint64_t kernel)
{
    const bl_limits limits = {.kernel = kernel};
    bl_scene *scene;
    bl_job *job;
    float image[4 * 4 * 3];
    SCENE_MUST(&device, bl_scene_load_string(device.context, scene_text, ".",
                                             &(bl_scene_desc){.limits = &limits}, &scene));
    SCENE_MUST(&device, bl_job_create(device.device, scene, NULL, &job));
    const bl_result first = bl_job_render(job, &(bl_render_desc){.spp = 1}, image, NULL);
    assert_int_equal(bl_job_compile(job, BL_PASS_PRIMAL, NULL), first);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    return first;
}

static void test_kernel(void **state)
{
    (void)state;
    scene_device_refused(&device, render(100), BL_ERROR_LIMIT, "kernel");
    assert_int_equal(render(0), BL_OK);
    assert_int_equal(render(1 << 20), BL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernel)};
    return SCENE_DEVICE_RUN(&device, NULL, "limits_kernel", tests);
}
