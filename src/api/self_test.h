/* SPDX-License-Identifier: BSD-3-Clause
 * What a device's arithmetic is, found out when it is opened. */
#ifndef BL_API_SELF_TEST_H
#define BL_API_SELF_TEST_H

#include "api/device.h"

/* Sets own_division and own_root. GPUs are asked, by two small kernels; CPU drivers and this processor are
 * known to round correctly, and null hardware cannot be asked. */
bl_result device_choose_arithmetic(bl_device *device, bl_error *err);

#endif
