/* SPDX-License-Identifier: BSD-3-Clause
 * From a lowered trace to the words that a device takes as a kernel. This is the one place that knows which
 * generator of spirv_gen serves which device: Vulkan devices take SPIR-V, the native one machine code.
 * src/gpu sees words and no traces, spirv_gen sees traces and no devices. */
#ifndef BL_CODEGEN_H
#define BL_CODEGEN_H

#include "gpu/gpu.h"
#include "spirv_gen/spv/spv.h"
#include "spirv_gen/x86/x86.h"

enum { LOCAL_SIZE = 64 /* number of invocations in a workgroup of a generated kernel */ };

typedef struct code_options {
    x86_options native; /* target X86_NONE: SPIR-V is made */
    spv_options spirv;  /* of which machine code needs nothing */
} code_options;

typedef struct kernel_code {
    uint32_t *words; /* from malloc */
    size_t word_count;
    uint32_t push_words;
    bool native; /* else SPIR-V */
} kernel_code;

/* What every kernel on the device is generated with. The caller adds what is the kernel's own: buffers that
 * are addressed, rays. */
code_options codegen_options(const gpu_device *device);
/* lowered: made by opt_run. A kernel made of these words has as many buffers as the trace, as many
 * push-constant words as it has uniforms, and LOCAL_SIZE invocations in a workgroup. */
bl_result codegen_words(const ir_module *lowered, const code_options *options, kernel_code *out,
                        bl_error *err);
/* Appends to `out` the machine code that codegen_words makes, as text beside the trace. The options must name
 * a native target. */
bl_result codegen_listing(const ir_module *lowered, const code_options *options, text *out, bl_error *err);
/* A set of buffers: bit i says that buffer i is larger than a binding of the device reaches. Such buffers are
 * addressed (spv_options, gpu_kernel_desc). buffers: at most 32; NULL: none. */
uint32_t codegen_addressed(const gpu_info *device, gpu_buffer *const *buffers, uint32_t count);

#endif
