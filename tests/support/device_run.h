/* SPDX-License-Identifier: BSD-3-Clause
 * Running lowered traces on a device and in the interpreter, on the same memory, inside cmocka tests.
 * Whatever goes wrong fails the running test with its reason. SPIR-V that is generated passes
 * SPIRV-Tools' validator first.
 *
 *     run_memory a = .., b = a copy;
 *     device_run_kernel(d, m, &a, 64);
 *     interpret_kernel(m, &b, 64);
 *     .. compare a and b */
#ifndef TESTS_DEVICE_RUN_H
#define TESTS_DEVICE_RUN_H

#include "gpu/gpu.h"
#include "spirv_gen/spv/spv.h"
#include "spirv_gen/x86/x86.h"

/* ---- the device that BL_DEVICE names, SwiftShader where it says nothing ---- */

typedef struct device_run {
    gpu *instance;
    gpu_device *device;
    spv_rays rays;         /* of the kernels to come; zeroed: rays have been lowered */
    x86_options native;    /* of the kernels to come, on the native device; its target does not count */
    spv_rounding rounding; /* of the kernels to come; 0: as the device needs */
    bool branching_calls;  /* of the kernels to come; else as the device likes */
    uint32_t addressed;    /* of the kernels to come: buffers reached by their addresses */
    bl_error err;
} device_run;

/* False, with a message on the reason, where there is no such device; then main returns
 * device_run_missing(). */
bool device_run_open(device_run *d);
void device_run_close(device_run *d);
int device_run_missing(void); /* 77 (skipped), or 1 under BL_REQUIRE_ALL=1 */

/* ---- memory of a kernel: one array of words per buffer of its module ---- */

enum { RUN_BUFFERS = 16 };
typedef struct run_memory {
    uint32_t *words[RUN_BUFFERS];
    uint32_t counts[RUN_BUFFERS];
    uint32_t buffer_count;
    uint32_t uniforms[32];
} run_memory;

run_memory run_memory_create(const uint32_t *counts, uint32_t buffer_count); /* zeroed */
run_memory run_memory_copy(const run_memory *from);
void run_memory_free(run_memory *memory);

/* Fails the running test where a word of a buffer differs: `expected` is the interpreter's. */
void run_memory_compare(const char *what, const run_memory *got, const run_memory *expected);

/* ---- running ---- */

/* Ends f, the module's entry, and checks the module. */
void finish_kernel(ir_module *m, ir_func *f);
/* Generates and validates; the caller frees. */
spv_code checked_spirv(const ir_module *m, const spv_options *options);
/* invocations: 1, or a multiple of 64, because every lane of a workgroup runs. The memory is read and written
 * back. */
void device_run_kernel(device_run *d, const ir_module *m, run_memory *memory, uint32_t invocations);
/* The same, one invocation after the other. */
void interpret_kernel(const ir_module *m, run_memory *memory, uint32_t invocations);

/* Distance of two floats in units of the last place; 0 for equal values (zeros of either sign, NaNs). */
uint32_t ulp_distance(uint32_t a, uint32_t b);

#endif
