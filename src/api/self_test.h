/* SPDX-License-Identifier: BSD-3-Clause
 * What the self-test chooses. Its checks are bl_device_self_check (backlight_testing.h). */
#ifndef BL_API_SELF_TEST_H
#define BL_API_SELF_TEST_H

#include "gpu/gpu.h"

/* Finds out how quotients and roots of the device's kernels become the nearest numbers, and sets that
 * (gpu_device_set_rounding), unless it is known of devices of its kind. Runs up to four small kernels. */
bl_result self_test_choose_rounding(gpu_device *device, bl_error *err);

#endif
