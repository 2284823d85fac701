/* SPDX-License-Identifier: BSD-3-Clause
 * volk's table of a device's functions, filled by a loader of ours.
 *
 * volkLoadDeviceTable would fill it through the one global vkGetDeviceProcAddr; but a process may have
 * devices of several loaders, and the application may have a volk of its own. What takes the loader is
 * private to volk's source file, so that is compiled here, as a part of this file. Its globals vk* are never
 * written. They are hidden, and local in the static library (cmake/Library.cmake), so an application's volk
 * does not meet them. */
#include "gpu/vulkan/vulkan.h"

#include <volk.c>

void gpu_volk_load(gpu_device_table *table, void *user,
                   PFN_vkVoidFunction (*load)(void *user, const char *name))
{
    volkGenLoadDeviceTable(table, user, load);
}
