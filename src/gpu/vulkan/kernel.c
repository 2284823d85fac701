/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels: SPIR-V words to a compute pipeline, with one descriptor set of storage buffers and one range of
 * push constants. The words are trusted to be valid (spirv_gen and glslang make them, tests run spirv-val
 * over them); what is checked here is what depends on the device. */
#include "gpu/vulkan/vulkan.h"

#include <stdlib.h>

enum { SPIRV_MAGIC = 0x07230203, SPIRV_HEADER_WORDS = 5 };

static bl_result build_layout(vulkan_kernel *k, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(k->head.device);
    VkDescriptorSetLayoutBinding *bindings = calloc(k->head.buffer_count + 1u, sizeof *bindings);
    if (!bindings)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < k->head.buffer_count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = k->head.buffer_count,
        .pBindings = bindings,
    };
    VkResult created = d->vk.vkCreateDescriptorSetLayout(d->handle, &set_info, d->allocator, &k->set_layout);
    free(bindings);
    if (created != VK_SUCCESS)
        return gpu_vk_error(err, "vkCreateDescriptorSetLayout", created);
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 4 * k->head.push_words};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &k->set_layout,
                                       .pushConstantRangeCount = k->head.push_words ? 1 : 0,
                                       .pPushConstantRanges = &push};
    GPU_TRY(d, err, CreatePipelineLayout, d->handle, &info, d->allocator, &k->layout);
    return BL_OK;
}

/* Without one (VK_NULL_HANDLE) a kernel compiles as ever, so failures here are none of the caller's
 * concern. */
static VkPipelineCache open_cache(vulkan_device *d, const gpu_kernel_desc *desc)
{
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = desc->driver_data_size,
                                      .pInitialData = desc->driver_data};
    VkPipelineCache cache = VK_NULL_HANDLE;
    if (!desc->keep_driver_data ||
        d->vk.vkCreatePipelineCache(d->handle, &info, d->allocator, &cache) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    return cache;
}

static void take_driver_data(vulkan_kernel *k, VkPipelineCache cache)
{
    vulkan_device *d = vulkan_device_of(k->head.device);
    size_t size = 0;
    if (!cache || d->vk.vkGetPipelineCacheData(d->handle, cache, &size, NULL) != VK_SUCCESS ||
        size <= sizeof(VkPipelineCacheHeaderVersionOne))
        return;
    k->head.driver_data = malloc(size);
    if (k->head.driver_data &&
        d->vk.vkGetPipelineCacheData(d->handle, cache, &size, k->head.driver_data) == VK_SUCCESS)
        k->head.driver_data_size = size;
}

static double statistic_value(const VkPipelineExecutableStatisticKHR *s)
{
    switch (s->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return s->value.b32;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return (double)s->value.i64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
        return (double)s->value.u64;
    default:
        return s->value.f64;
    }
}

/* A compute pipeline is one executable, the first. What cannot be told is left out. */
static void take_statistics(vulkan_kernel *k)
{
    vulkan_device *d = vulkan_device_of(k->head.device);
    VkPipelineExecutableInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                         .pipeline = k->pipeline};
    uint32_t count = 0;
    if (!vulkan_device_tells(d) || !d->vk.vkGetPipelineExecutableStatisticsKHR ||
        d->vk.vkGetPipelineExecutableStatisticsKHR(d->handle, &which, &count, NULL) != VK_SUCCESS)
        return;
    VkPipelineExecutableStatisticKHR *list = memory_need_zeroed(count + 1u, sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        list[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    if (d->vk.vkGetPipelineExecutableStatisticsKHR(d->handle, &which, &count, list) != VK_SUCCESS)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        gpu_statistic s = {.value = statistic_value(&list[i])};
        snprintf(s.name, sizeof s.name, "%.63s", list[i].name);
        array_push(&k->head.statistics, s);
    }
    memory_free(list);
}

/* Drivers that are the CPU itself compile with the first dispatch: here one of no workgroups. For that alone
 * does a device run something that was opened to compile. */
static bl_result dispatch_nothing(vulkan_kernel *k, gpu_buffer *buffer, gpu_batch *batch, bl_error *err)
{
    static const uint32_t push[32];
    gpu_buffer **buffers = memory_need((k->head.buffer_count + 1u) * sizeof *buffers);
    for (uint32_t i = 0; i < k->head.buffer_count; i++)
        buffers[i] = buffer;
    bl_result r = gpu_batch_begin(batch, err);
    if (r == BL_OK)
        r = vulkan_batch_dispatch(batch, &k->head, buffers, push, 0, err);
    if (r == BL_OK)
        r = gpu_batch_submit(batch, err);
    memory_free(buffers);
    return r == BL_OK ? gpu_batch_wait(batch, NULL, err) : r;
}

static bl_result compile_late_part(vulkan_kernel *k, bl_error *err)
{
    gpu_device *d = k->head.device;
    gpu_buffer *buffer = NULL;
    gpu_batch *batch = NULL;
    if (d->runs || !gpu_is_processor(d->candidate->info.kind))
        return BL_OK;
    d->runs = true;
    bl_result r = gpu_buffer_create(d, GPU_DEVICE, 0, "nothing", &buffer, err);
    if (r == BL_OK)
        r = gpu_batch_create(d, &batch, err);
    if (r == BL_OK)
        r = dispatch_nothing(k, buffer, batch, err);
    gpu_batch_destroy(batch);
    gpu_buffer_destroy(buffer);
    d->runs = false;
    return r;
}

static bl_result build_pipeline(vulkan_kernel *k, const gpu_kernel_desc *desc, bl_error *err)
{
    vulkan_device *d = vulkan_device_of(k->head.device);
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = desc->word_count * sizeof *desc->words,
        .pCode = desc->words,
    };
    VkShaderModule module;
    GPU_TRY(d, err, CreateShaderModule, d->handle, &module_info, d->allocator, &module);
    gpu_label(d, VK_OBJECT_TYPE_SHADER_MODULE, GPU_HANDLE(module), k->head.label);
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT lanes = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
        .requiredSubgroupSize = d->candidate->asked_subgroup};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = vulkan_device_tells(d) ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = d->candidate->asked_subgroup ? &lanes : NULL,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = k->layout};
    VkPipelineCache shared = d->adopted ? d->adopted->pipeline_cache : VK_NULL_HANDLE;
    VkPipelineCache own = shared ? VK_NULL_HANDLE : open_cache(d, desc), cache = shared ? shared : own;
    VkResult created = d->vk.vkCreateComputePipelines(d->handle, cache, 1, &info, d->allocator, &k->pipeline);
    if (created == VK_SUCCESS)
        take_driver_data(k, own), take_statistics(k);
    d->vk.vkDestroyPipelineCache(d->handle, own, d->allocator);
    d->vk.vkDestroyShaderModule(d->handle, module, d->allocator);
    if (created != VK_SUCCESS) {
        bl_result result = gpu_result_of(created);
        return error_set(err, result == BL_ERROR_DEVICE ? BL_ERROR_COMPILE : result,
                         "vkCreateComputePipelines of kernel '%s' (%zu words) failed: %s (%d)", k->head.label,
                         desc->word_count, gpu_vk_result_name(created), (int)created);
    }
    gpu_label(d, VK_OBJECT_TYPE_PIPELINE, GPU_HANDLE(k->pipeline), k->head.label);
    return compile_late_part(k, err);
}

bl_result vulkan_kernel_build(gpu_kernel *head, const gpu_kernel_desc *desc, bl_error *err)
{
    vulkan_kernel *k = (vulkan_kernel *)head;
    if (!desc->words || desc->word_count < SPIRV_HEADER_WORDS || desc->words[0] != SPIRV_MAGIC)
        return error_set(err, BL_ERROR_COMPILE, "kernel '%s': not a SPIR-V module", head->label);
    TRY(build_layout(k, err));
    return build_pipeline(k, desc, err);
}

void vulkan_kernel_destroy(gpu_kernel *head)
{
    vulkan_kernel *k = (vulkan_kernel *)head;
    vulkan_device *d = vulkan_device_of(head->device);
    d->vk.vkDestroyPipeline(d->handle, k->pipeline, d->allocator);
    d->vk.vkDestroyPipelineLayout(d->handle, k->layout, d->allocator);
    d->vk.vkDestroyDescriptorSetLayout(d->handle, k->set_layout, d->allocator);
}
