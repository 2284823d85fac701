/* SPDX-License-Identifier: BSD-3-Clause
 * A device with its fixed kernels. */
#ifndef BL_API_DEVICE_H
#define BL_API_DEVICE_H

#include "api/context.h"
#include "fit/fit.h"

struct bl_device {
    bl_context *context;
    gpu_device *gpu;
    fit_kernels *fixed;
    kernel_key identity; /* key of the device for the cache; zero if there is no cache */
};

/* Takes an open device, also on failure. */
bl_result device_wrap(bl_context *ctx, gpu_device *opened, bl_device **out);

#endif
