/* SPDX-License-Identifier: BSD-3-Clause
 * From a trace to the words that a device takes, to a kernel, by way of the cache on disk. */
#ifndef BL_API_KERNEL_CODE_H
#define BL_API_KERNEL_CODE_H

#include "api/device.h"

enum { LOCAL_SIZE = 64 /* number of invocations in a workgroup of a generated kernel */ };

typedef struct kernel_source {
    bl_context *context;
    kernel_key device;
    const ir_module *trace;
    const opt_options *passes;
    const code_options *generate;
} kernel_source;

typedef struct kernel_code {
    uint32_t *words; /* from malloc */
    size_t word_count;
    uint32_t push_words;
    bool native; /* else SPIR-V */
} kernel_code;

/* The words of a lowered trace; whatever the device, they are made here. */
bl_result kernel_code_generate(const ir_module *lowered, const code_options *options, kernel_code *out,
                               bl_error *err);

/* Makes the code of a kernel. Of *took it sets the fields of all steps after the recording of the trace. */
bl_result kernel_code_make(const kernel_source *source, kernel_code *out, bl_kernel_info *took,
                           bl_error *err);
/* Does what gpu_kernel_create does, with what the driver has kept from an earlier creation of the kernel. */
bl_result kernel_create(const bl_device *device, const gpu_kernel_desc *desc, gpu_kernel **out,
                        bl_error *err);

#endif
