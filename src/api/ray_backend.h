/* SPDX-License-Identifier: BSD-3-Clause
 * How a job's rays find what they hit, and the acceleration structure for ray queries. */
#ifndef BL_API_RAY_BACKEND_H
#define BL_API_RAY_BACKEND_H

#include <backlight/backlight.h>

#include "gpu/gpu.h"
#include "render/plan.h"
#include "spirv_gen/spv/spv.h"
#include "spirv_gen/x86/x86.h"

/* The backend that the descriptor asks for, or the one that suits device and scene. */
bl_result ray_backend_choose(const gpu_info *device, const render_scene *s, const bl_job_desc *desc,
                             plan_rays *out, bl_error *err);
/* Builds the acceleration structure of a plan for ray queries and puts its address into the plan's words.
 * changes: as in gpu_accel_desc. */
bl_result ray_backend_build(gpu_device *d, plan *p, bool changes, gpu_accel **out, bl_error *err);
/* Size of the two-wide hierarchies and entries in a scene buffer. */
uint64_t ray_backend_host_bytes(const render_scene *s);
/* How code generation lowers the plan's ray ops. */
spv_rays ray_backend_lowering(const plan *p);
x86_options ray_backend_native(const plan *p, x86_target target);
/* Whether kernels of the plan on the native device need a hierarchy. */
bool ray_backend_wants_hierarchy(const gpu_info *device, const plan *p);
/* Builds it from the words in the scene buffer, and puts its address there and into the plan's words. */
bl_result ray_backend_hierarchy(gpu_device *d, plan *p, gpu_buffer *scene, gpu_hierarchy **out,
                                bl_error *err);

#endif
