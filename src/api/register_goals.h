/* SPDX-License-Identifier: BSD-3-Clause
 * How many values may live in a lane of a GPU, and how many may wait in memory of the workgroup. */
#ifndef BL_API_REGISTER_GOALS_H
#define BL_API_REGISTER_GOALS_H

#include "gpu/gpu.h"
#include "spirv_gen/opt/opt.h"

/* Goals for kernels of the device, with ray queries or without, from the best one on (opt_options.parking).
 * Returns how many. */
uint32_t register_goals(const gpu_info *device, bool queries, opt_goal goals[OPT_GOALS_MOST]);

#endif
