/* SPDX-License-Identifier: BSD-3-Clause
 * Words of a kernel for a device. */
#include "codegen/codegen.h"

spv_options codegen_options(const gpu_info *device)
{
    return (spv_options){.local_size = LOCAL_SIZE,
                         .names = true,
                         .signed_zero_inf_nan_preserve = device->signed_zero_inf_nan_preserve};
}

bl_result codegen_words(const gpu_info *device, const ir_module *lowered, const spv_options *options,
                        spv_code *out, bl_error *err)
{
    BL_ASSERT(!options->addressed || device->buffer_address, "%s has no buffer addresses", device->name);
    return spv_generate(lowered, options, out, err);
}

uint32_t codegen_addressed(const gpu_info *device, gpu_buffer *const *buffers, uint32_t count)
{
    uint32_t addressed = 0;
    BL_ASSERT(count <= 32, "%u buffers", count);
    if (!device->buffer_address) /* Then a dispatch of such a buffer is an error. */
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (buffers[i] && gpu_buffer_size(buffers[i]) > device->max_buffer_range)
            addressed |= 1u << i;
    return addressed;
}
