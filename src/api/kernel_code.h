/* SPDX-License-Identifier: BSD-3-Clause
 * From a trace to the words that a device takes, to a kernel, by way of the cache on disk. */
#ifndef BL_API_KERNEL_CODE_H
#define BL_API_KERNEL_CODE_H

#include "api/device.h"
#include "codegen/codegen.h"
#include "spirv_gen/opt/opt.h"

typedef struct kernel_source {
    const bl_device *device;
    const ir_module *trace;
    const opt_options *passes;
    const code_options *generate;
    uint64_t most; /* operations that the kernel may have; 0: any number */
    bool renew;    /* what the cache has is not believed, and is replaced */
} kernel_source;

/* Makes the code of a kernel. Of *took it sets the fields of all steps after the recording of the trace. */
bl_result kernel_code_make(const kernel_source *source, kernel_code *out, bl_kernel_info *took,
                           bl_error *err);
/* Does what gpu_kernel_create does, with what the driver has kept from an earlier creation of the kernel. */
bl_result kernel_create(const bl_device *device, const gpu_kernel_desc *desc, gpu_kernel **out,
                        bl_error *err);

#endif
