/* SPDX-License-Identifier: BSD-3-Clause
 * BL_DEBUG=bounds: what checked kernels report to. */
#ifndef BL_CODEGEN_BOUNDS_H
#define BL_CODEGEN_BOUNDS_H

#include "gpu/gpu.h"
#include "spirv_gen/opt/opt.h"

/* BL_DEBUG: sets *checked, or says what is wrong with it. */
bl_result bounds_wanted(bool *checked, bl_error *err);

/* What the checked kernels of a job, a fixed one, or one of a caller's trace report to. The report is their
 * last buffer, behind `buffers` others. */
typedef struct kernel_bounds {
    opt_sites sites;
    gpu_buffer *report;
    uint32_t buffers, *sizes; /* sizes: of the buffers, in words, as last armed */
} kernel_bounds;

bl_result bounds_create(gpu_device *d, uint32_t buffers, kernel_bounds **out, bl_error *err);
void bounds_destroy(kernel_bounds *b); /* NULL is fine */
/* Stores the sizes of these buffers, before a dispatch with them is recorded. */
bl_result bounds_arm(kernel_bounds *b, gpu_buffer *const *buffers, bl_error *err);
/* The same as commands of a batch, where several dispatches with other buffers are recorded. An error then
 * states the sizes of the last one's. */
void bounds_record(kernel_bounds *b, gpu_batch *batch, gpu_buffer *const *buffers);
/* After dispatches: BL_ERROR_BOUNDS if an access was reported; the report is then empty again. b may be
 * NULL. */
bl_result bounds_check(kernel_bounds *b, bl_error *err);

#endif
