/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * A part of a material whose weight is 0 in the scene is not in a job's kernels: giving it another value
 * there is an error that says so, not a value without effect; a job that differentiates the weight takes
 * any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include <string.h>

static scene_device device;

static const char xml[] = "<scene version='3.0.0'><sensor type='perspective'><film type='hdrfilm'><integer "
                          "name='width' value='4'/><integer name='height' value='4'/></film></sensor>"
                          "<bsdf type='principled' id='it'/><shape type='sphere'><point name='center' "
                          "value='0,0,4'/><ref id='it'/></shape><emitter type='constant'/></scene>";

static void a_weight_of_zero_stays(void **state)
{
    (void)state;
    const float zero = 0, some = 0.5f;
    scene_picture p = scene_picture_load(&device, xml, ".", NULL, 0);
    uint32_t sheen = scene_device_find(&device, p.scene, "it.sheen.value"),
             roughness = scene_device_find(&device, p.scene, "it.roughness.value");
    SCENE_MUST(&device, bl_job_set_parameter(p.job, sheen, &zero));
    SCENE_MUST(&device, bl_job_set_parameter(p.job, roughness, &some));
    assert_int_equal(bl_job_set_parameter(p.job, sheen, &some), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "it.sheen.value"));
    scene_picture_free(&p);
}

static void a_differentiated_weight_may_change(void **state)
{
    (void)state;
    const char *wanted[] = {"it.sheen.value"};
    const float some = 0.5f;
    scene_picture p = scene_picture_load(&device, xml, ".", wanted, 1);
    SCENE_MUST(&device,
               bl_job_set_parameter(p.job, scene_device_find(&device, p.scene, "it.sheen.value"), &some));
    scene_picture_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_weight_of_zero_stays),
                                       cmocka_unit_test(a_differentiated_weight_may_change)};
    return SCENE_DEVICE_RUN(&device, NULL, "absent parts", tests);
}
