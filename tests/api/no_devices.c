/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * A context that was created with no_devices: it has none, says so where one is asked for, and loads scenes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include <string.h>

static const char xml[] = "<scene version='3.0.0'><sensor type='perspective'/><shape type='sphere'/></scene>";

static void there_are_scenes_but_no_devices(void **state)
{
    (void)state;
    bl_context *ctx;
    bl_device *device;
    bl_device_info info;
    bl_scene *scene;
    assert_int_equal(bl_context_create(&(bl_context_desc){.no_devices = true}, &ctx), BL_OK);
    assert_int_equal(bl_device_count(ctx), 0);
    assert_int_equal(bl_device_info_at(ctx, 0, &info), BL_ERROR_ARGUMENT);
    assert_int_equal(bl_device_create(ctx, NULL, &device), BL_ERROR_NO_DEVICE);
    assert_null(device);
    assert_non_null(strstr(bl_context_error(ctx), "no_devices"));
    assert_int_equal(bl_context_validation_messages(ctx), 0);
    assert_int_equal(bl_scene_load_string(ctx, xml, NULL, NULL, &scene), BL_OK);
    bl_scene_destroy(scene);
    bl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_are_scenes_but_no_devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
