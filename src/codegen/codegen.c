/* SPDX-License-Identifier: BSD-3-Clause
 * Words of a kernel for a device. */
#include "codegen/codegen.h"

static spv_rounding rounding_of(const gpu_device *device)
{
    const gpu_rounding rounding = gpu_device_rounding(device);
    return rounding == GPU_ROUNDING_OWN     ? SPV_ROUNDING_OWN
           : rounding == GPU_ROUNDING_WORDS ? SPV_ROUNDING_WORDS
                                            : SPV_ROUNDING_FUSED;
}

code_options codegen_options(const gpu_device *opened)
{
    const gpu_info *device = gpu_device_info(opened);
    return (code_options){
        .native.target = (x86_target)device->native_target,
        .spirv = {.local_size = LOCAL_SIZE,
                  .names = true,
                  .rounding = rounding_of(opened),
                  .volatile_memory = !gpu_is_processor(device->kind),
                  .branching_calls = !gpu_is_processor(device->kind),
                  .signed_zero_inf_nan_preserve = device->signed_zero_inf_nan_preserve},
    };
}

bl_result codegen_words(const ir_module *lowered, const code_options *options, kernel_code *out,
                        bl_error *err)
{
    *out = (kernel_code){.push_words = lowered->uniform_count, .native = options->native.target != X86_NONE};
    if (!out->native) {
        spv_code spirv;
        TRY(spv_generate(lowered, &options->spirv, &spirv, err));
        out->words = spirv.words, out->word_count = spirv.word_count;
        return BL_OK;
    }
#ifdef BL_WITH_NATIVE
    x86_code code;
    TRY(x86_generate(lowered, &options->native, &code, err));
    out->words = code.words, out->word_count = code.word_count;
    return BL_OK;
#else
    BL_ASSERT(false, "a native device in a build without one (target %d)", (int)options->native.target);
#endif
}

bl_result codegen_listing(const ir_module *lowered, const code_options *options, text *out, bl_error *err)
{
#ifdef BL_WITH_NATIVE
    return x86_list(lowered, &options->native, out, err);
#else
    (void)lowered, (void)out, (void)err;
    BL_ASSERT(false, "a native device in a build without one (target %d)", (int)options->native.target);
#endif
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
