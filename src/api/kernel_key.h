/* SPDX-License-Identifier: BSD-3-Clause
 * What a kernel depends on, as 128 bits. */
#ifndef BL_API_KERNEL_KEY_H
#define BL_API_KERNEL_KEY_H

#include "codegen/codegen.h"
#include "spirv_gen/opt/opt.h"

typedef struct kernel_key {
    uint64_t low, high;
} kernel_key;

/* The key of a device and its driver. Reads SwiftShader's library. */
kernel_key kernel_key_device(const gpu_info *device);
/* The key of the words that passes and code generation make from a trace. */
kernel_key kernel_key_words(const ir_module *trace, const opt_options *passes, const code_options *code,
                            kernel_key device);
/* The key of what the driver makes from words. */
kernel_key kernel_key_driver(const uint32_t *words, size_t word_count, kernel_key device);

#endif
