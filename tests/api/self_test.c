/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The self-test of a device (bl_device_self_check): what images need holds on every device that is tested
 * here, and CPU devices round correctly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include <backlight/backlight_testing.h>

#include <string.h>

enum { CHECKS_LEAST = 21 };

static scene_device device;

static void what_is_needed_holds(void **state)
{
    bl_self_check check;
    uint32_t k = 0, own = 0;
    (void)state;
    for (;; k++) {
        SCENE_MUST(&device, bl_device_self_check(device.device, k, &check));
        if (!check.name)
            break;
        if (check.needed && !check.holds)
            fail_msg("%s: %s", check.name, check.found);
        assert_true(check.compared > 0 && check.holds == (check.different == 0));
        own += check.holds && strncmp(check.name, "own ", 4) == 0;
    }
    assert_true(k >= CHECKS_LEAST);
    if (scene_device_on_processor(&device))
        assert_int_equal(own, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_needed_holds),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "self-test", tests);
}
