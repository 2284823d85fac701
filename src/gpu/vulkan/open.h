/* SPDX-License-Identifier: BSD-3-Clause
 * The door of the Vulkan back end: opening it adds its devices to the list. */
#ifndef GPU_VULKAN_OPEN_H
#define GPU_VULKAN_OPEN_H

#include "gpu/gpu_internal.h"

/* Opens the loader and SwiftShader, sets g->vulkan, appends their devices to g->candidates. A driver that is
 * missing is a note, unless it was asked for by a path (NULL: search) or by validation. */
bl_result vulkan_open(gpu *g, const char *swiftshader, bl_error *err);
void vulkan_close(vulkan_drivers *v);

#endif
