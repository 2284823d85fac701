/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels: SPIR-V words to a compute pipeline, with one descriptor set of storage buffers and one range of
 * push constants. The words are trusted to be valid (spirv_gen and glslang make them, tests run spirv-val
 * over them); what is checked here is what depends on the device. */
#include "gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

enum { SPIRV_MAGIC = 0x07230203, SPIRV_HEADER_WORDS = 5, MAX_PUSH_WORDS = 32 };

static bl_result check_desc(const gpu_device *d, const gpu_kernel_desc *desc, bl_error *err)
{
    const char *label = desc->label ? desc->label : "kernel";
    const gpu_info *info = &d->candidate->info;
    if (!desc->words || desc->word_count < SPIRV_HEADER_WORDS || desc->words[0] != SPIRV_MAGIC)
        return error_set(err, BL_ERROR_COMPILE, "kernel '%s': not a SPIR-V module", label);
    if (desc->push_words > MAX_PUSH_WORDS)
        return error_set(err, BL_ERROR_ARGUMENT, "kernel '%s': %u push-constant words, at most %d", label,
                         desc->push_words, MAX_PUSH_WORDS);
    if (desc->buffer_count > info->max_storage_buffers)
        return error_set(err, BL_ERROR_COMPILE, "kernel '%s': %u storage buffers; %s binds at most %u", label,
                         desc->buffer_count, info->name, info->max_storage_buffers);
    if (desc->local_size == 0 || desc->local_size > d->candidate->max_workgroup_size)
        return error_set(err, BL_ERROR_COMPILE, "kernel '%s': workgroups of %u; %s has 1 to %u", label,
                         desc->local_size, info->name, d->candidate->max_workgroup_size);
    return BL_OK;
}

static bl_result build_layout(gpu_kernel *k, bl_error *err)
{
    gpu_device *d = k->device;
    VkDescriptorSetLayoutBinding *bindings = calloc(k->buffer_count + 1u, sizeof *bindings);
    if (!bindings)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < k->buffer_count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = k->buffer_count,
        .pBindings = bindings,
    };
    VkResult created = d->vk.CreateDescriptorSetLayout(d->handle, &set_info, NULL, &k->set_layout);
    free(bindings);
    if (created != VK_SUCCESS)
        return gpu_vk_error(err, "vkCreateDescriptorSetLayout", created);
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 4 * k->push_words};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &k->set_layout,
                                       .pushConstantRangeCount = k->push_words ? 1 : 0,
                                       .pPushConstantRanges = &push};
    GPU_TRY(d, err, CreatePipelineLayout, d->handle, &info, NULL, &k->layout);
    return BL_OK;
}

/* Without one (VK_NULL_HANDLE) a kernel compiles as ever, so failures here are none of the caller's
 * concern. */
static VkPipelineCache open_cache(gpu_device *d, const gpu_kernel_desc *desc)
{
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = desc->driver_data_size,
                                      .pInitialData = desc->driver_data};
    VkPipelineCache cache = VK_NULL_HANDLE;
    if (!desc->keep_driver_data || d->vk.CreatePipelineCache(d->handle, &info, NULL, &cache) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    return cache;
}

static void take_driver_data(gpu_kernel *k, VkPipelineCache cache)
{
    gpu_device *d = k->device;
    size_t size = 0;
    if (!cache || d->vk.GetPipelineCacheData(d->handle, cache, &size, NULL) != VK_SUCCESS ||
        size <= sizeof(VkPipelineCacheHeaderVersionOne))
        return;
    k->driver_data = malloc(size);
    if (k->driver_data && d->vk.GetPipelineCacheData(d->handle, cache, &size, k->driver_data) == VK_SUCCESS)
        k->driver_data_size = size;
}

static bl_result build_pipeline(gpu_kernel *k, const gpu_kernel_desc *desc, bl_error *err)
{
    gpu_device *d = k->device;
    double started = clock_seconds();
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = desc->word_count * sizeof *desc->words,
        .pCode = desc->words,
    };
    VkShaderModule module;
    GPU_TRY(d, err, CreateShaderModule, d->handle, &module_info, NULL, &module);
    gpu_label(d, VK_OBJECT_TYPE_SHADER_MODULE, GPU_HANDLE(module), k->label);
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = k->layout};
    VkPipelineCache cache = open_cache(d, desc);
    VkResult created = d->vk.CreateComputePipelines(d->handle, cache, 1, &info, NULL, &k->pipeline);
    if (created == VK_SUCCESS)
        take_driver_data(k, cache);
    d->vk.DestroyPipelineCache(d->handle, cache, NULL);
    d->vk.DestroyShaderModule(d->handle, module, NULL);
    if (created != VK_SUCCESS) {
        bl_result result = gpu_result_of(created);
        return error_set(err, result == BL_ERROR_DEVICE ? BL_ERROR_COMPILE : result,
                         "vkCreateComputePipelines of kernel '%s' (%zu words) failed: %s (%d)", k->label,
                         desc->word_count, gpu_vk_result_name(created), (int)created);
    }
    gpu_label(d, VK_OBJECT_TYPE_PIPELINE, GPU_HANDLE(k->pipeline), k->label);
    d->stats.pipelines_created++;
    d->stats.driver_compile_seconds += clock_seconds() - started;
    return BL_OK;
}

bl_result gpu_kernel_create(gpu_device *d, const gpu_kernel_desc *desc, gpu_kernel **out, bl_error *err)
{
    *out = NULL;
    BL_ASSERT(desc->driver_data || !desc->driver_data_size, "%zu bytes of driver data from nowhere",
              desc->driver_data_size);
    BL_ASSERT(!desc->addressed || d->candidate->info.buffer_address, "buffers of '%s' are addressed on %s",
              desc->label ? desc->label : "kernel", d->candidate->info.name);
    TRY(check_desc(d, desc, err));
    gpu_kernel *k = calloc(1, sizeof *k);
    if (k)
        k->label = strdup(desc->label ? desc->label : "kernel");
    if (!k || !k->label) {
        free(k);
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    }
    k->device = d;
    k->buffer_count = desc->buffer_count;
    k->push_words = desc->push_words;
    k->local_size = desc->local_size;
    k->addressed = desc->addressed;
    bl_result result = build_layout(k, err);
    if (result == BL_OK)
        result = build_pipeline(k, desc, err);
    if (result != BL_OK)
        gpu_kernel_destroy(k);
    else
        *out = k;
    return result;
}

void gpu_kernel_destroy(gpu_kernel *k)
{
    if (!k)
        return;
    gpu_device *d = k->device;
    d->vk.DestroyPipeline(d->handle, k->pipeline, NULL);
    d->vk.DestroyPipelineLayout(d->handle, k->layout, NULL);
    d->vk.DestroyDescriptorSetLayout(d->handle, k->set_layout, NULL);
    free(k->driver_data);
    free(k->label);
    free(k);
}

const void *gpu_kernel_driver_data(const gpu_kernel *k, size_t *size)
{
    *size = k->driver_data_size;
    return k->driver_data;
}
