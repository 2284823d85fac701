/* LABELS: lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Backlight inside a Vulkan application: sample_08_embed_headless [SCENE.xml]
 *
 * The application has its own instance, device, queue, image and shaders (08_embed_headless.comp), by way of
 * volk. It wants to know the colour of a wall from a picture. A step is one command buffer: Backlight draws
 * into the application's image; the application's shader compares that with the picture, which gives dL/dI;
 * Backlight makes the gradient of it; the application's shader moves the colour, where Backlight keeps it.
 * All steps are submitted before the first wait. Meanwhile the functions that Backlight was given count what
 * it does on its own: it must neither submit nor wait, nor map memory. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <backlight/backlight_vulkan.h>

#include "08_embed_headless.comp.inc" /* const uint32_t shader_comp[], made of the .comp file */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, VALUES = 3 * SIDE * SIDE, STEPS = 60, BINDINGS = 5 };

typedef struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    VkDeviceSize size;
    void *mapped;
} buffer;

typedef struct engine {
    bl_vulkan_instance instance;
    VkPhysicalDevice physical;
    bl_vulkan_needs needs;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkImage image;
    VkDeviceMemory image_memory;
    VkImageView view;
    buffer target, weights;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool sets;
    VkDescriptorSet set;
} engine;

static void vk(VkResult result, const char *what)
{
    if (result == VK_SUCCESS)
        return;
    fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
    exit(1);
}
#define VK(call) vk((call), #call)

/* ---- what Backlight is given: functions that count ---- */

static struct {
    uint32_t submissions, waits, maps;
} counted;

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t n, const VkSubmitInfo *infos,
                                             VkFence fence)
{
    counted.submissions++;
    return vkQueueSubmit(queue, n, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice device, uint32_t n, const VkFence *fences, VkBool32 all,
                                           uint64_t timeout)
{
    counted.waits++;
    return vkWaitForFences(device, n, fences, all, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                          VkDeviceSize size, VkMemoryMapFlags flags, void **data)
{
    counted.maps++;
    return vkMapMemory(device, memory, offset, size, flags, data);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice device, const char *name)
{
    if (strcmp(name, "vkQueueSubmit") == 0)
        return (PFN_vkVoidFunction)submit;
    if (strcmp(name, "vkWaitForFences") == 0)
        return (PFN_vkVoidFunction)wait;
    if (strcmp(name, "vkMapMemory") == 0)
        return (PFN_vkVoidFunction)map;
    return vkGetDeviceProcAddr(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_instance(VkInstance instance, const char *name)
{
    return strcmp(name, "vkGetDeviceProcAddr") == 0 ? (PFN_vkVoidFunction)of_device
                                                    : vkGetInstanceProcAddr(instance, name);
}

/* ---- the application's device ---- */

static bool find_device(engine *e)
{
    const char *named = getenv("BL_DEVICE"), *wanted = named ? named : "";
    VkPhysicalDevice all[16];
    uint32_t count = sizeof all / sizeof *all;
    if (strcmp(wanted, "lavapipe") == 0)
        wanted = "llvmpipe";
    if (volkInitialize() != VK_SUCCESS)
        return false;
    e->instance =
        (bl_vulkan_instance){.get_instance_proc_addr = of_instance, .api_version = VK_API_VERSION_1_2};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = e->instance.api_version};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (vkCreateInstance(&info, NULL, &e->instance.instance) != VK_SUCCESS)
        return false;
    volkLoadInstanceOnly(e->instance.instance);
    if (vkEnumeratePhysicalDevices(e->instance.instance, &count, all) < 0)
        return false;
    for (uint32_t i = 0; i < count && !e->physical; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(all[i], &properties);
        if (strstr(properties.deviceName, wanted))
            e->physical = all[i];
    }
    return e->physical != VK_NULL_HANDLE;
}

/* With what Backlight would use, and nothing of its own. */
static void make_device(engine *e)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = e->needs.queue_family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &e->needs.features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = e->needs.extension_count,
                                     .ppEnabledExtensionNames = e->needs.extensions};
    VK(vkCreateDevice(e->physical, &info, NULL, &e->device));
    volkLoadDevice(e->device);
    vkGetDeviceQueue(e->device, e->needs.queue_family, 0, &e->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = e->needs.queue_family};
    VK(vkCreateCommandPool(e->device, &pool, NULL, &e->pool));
}

static VkDeviceMemory allocate(const engine *e, VkMemoryRequirements needs, VkMemoryPropertyFlags flags)
{
    VkPhysicalDeviceMemoryProperties memory;
    VkDeviceMemory made;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs.size};
    vkGetPhysicalDeviceMemoryProperties(e->physical, &memory);
    for (uint32_t i = memory.memoryTypeCount; i-- > 0;) /* ends with the first that will do */
        if (needs.memoryTypeBits >> i & 1 && (memory.memoryTypes[i].propertyFlags & flags) == flags)
            info.memoryTypeIndex = i;
    VK(vkAllocateMemory(e->device, &info, NULL, &made));
    return made;
}

static buffer make_buffer(const engine *e, VkDeviceSize size)
{
    buffer b = {.size = size};
    VkMemoryRequirements needs;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = size,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VK(vkCreateBuffer(e->device, &info, NULL, &b.handle));
    vkGetBufferMemoryRequirements(e->device, b.handle, &needs);
    b.memory = allocate(e, needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    VK(vkBindBufferMemory(e->device, b.handle, b.memory, 0));
    VK(vkMapMemory(e->device, b.memory, 0, VK_WHOLE_SIZE, 0, &b.mapped));
    return b;
}

static void make_image(engine *e)
{
    VkMemoryRequirements needs;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R32G32B32A32_SFLOAT,
                                    .extent = {SIDE, SIDE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VK(vkCreateImage(e->device, &info, NULL, &e->image));
    vkGetImageMemoryRequirements(e->device, e->image, &needs);
    e->image_memory = allocate(e, needs, 0);
    VK(vkBindImageMemory(e->device, e->image, e->image_memory, 0));
    const VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = e->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = info.format,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    VK(vkCreateImageView(e->device, &view, NULL, &e->view));
}

/* ---- its shaders ---- */

static void make_layout(engine *e)
{
    VkDescriptorSetLayoutBinding bindings[BINDINGS];
    for (uint32_t i = 0; i < BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = i ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
                                                                         : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = BINDINGS,
                                                 .pBindings = bindings};
    VK(vkCreateDescriptorSetLayout(e->device, &set, NULL, &e->set_layout));
    const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 8};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &e->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
    VK(vkCreatePipelineLayout(e->device, &layout, NULL, &e->layout));
}

static void make_pipeline(engine *e)
{
    VkShaderModule module;
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = sizeof shader_comp,
                                           .pCode = shader_comp};
    VK(vkCreateShaderModule(e->device, &code, NULL, &module));
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = e->layout};
    VK(vkCreateComputePipelines(e->device, VK_NULL_HANDLE, 1, &info, NULL, &e->pipeline));
    vkDestroyShaderModule(e->device, module, NULL);
}

/* Colour and gradient stand in Backlight's buffers. */
static void make_set(engine *e, bl_vulkan_region colour, bl_vulkan_region gradient)
{
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, BINDINGS - 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    VK(vkCreateDescriptorPool(e->device, &pool, NULL, &e->sets));
    const VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = e->sets,
                                             .descriptorSetCount = 1,
                                             .pSetLayouts = &e->set_layout};
    VK(vkAllocateDescriptorSets(e->device, &set, &e->set));
    const VkDescriptorImageInfo image = {.imageView = e->view, .imageLayout = VK_IMAGE_LAYOUT_GENERAL};
    const VkDescriptorBufferInfo buffers[] = {{e->target.handle, 0, VK_WHOLE_SIZE},
                                              {e->weights.handle, 0, VK_WHOLE_SIZE},
                                              {colour.buffer, colour.offset, colour.size},
                                              {gradient.buffer, gradient.offset, gradient.size}};
    const VkWriteDescriptorSet writes[] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .dstSet = e->set,
                                            .descriptorCount = 1,
                                            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                            .pImageInfo = &image},
                                           {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .dstSet = e->set,
                                            .dstBinding = 1,
                                            .descriptorCount = BINDINGS - 1,
                                            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .pBufferInfo = buffers}};
    vkUpdateDescriptorSets(e->device, 2, writes, 0, NULL);
}

static void dispatch(const engine *e, VkCommandBuffer commands, uint32_t what, float way,
                     uint32_t invocations)
{
    const struct {
        uint32_t what;
        float way;
    } push = {what, way};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->layout, 0, 1, &e->set, 0, NULL);
    vkCmdPushConstants(commands, e->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, (invocations + 63) / 64, 1, 1);
}

/* ---- a step ---- */

/* What Backlight leaves, for the application's shaders. What they leave, for Backlight: it begins with a
 * barrier of its own, from compute to compute. */
static void see_results(VkCommandBuffer commands)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask =
                                         VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

/* The image is drawn anew in each step, so what was in it does not matter. */
static void discard_image(const engine *e, VkCommandBuffer commands)
{
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_READ_BIT,
        .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = e->image,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0,
                         NULL, 0, NULL, 1, &barrier);
}

typedef struct passes {
    bl_job *job;
    bl_recorder *recorder;
    bl_vulkan_image_desc image;
    bl_vulkan_gradient_desc gradient;
} passes;

static bl_result record_step(const engine *e, passes *p, VkCommandBuffer commands, uint32_t step)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    p->image.pass.seed = 2 * step, p->gradient.pass.seed = 2 * step + 1;
    VK(vkBeginCommandBuffer(commands, &begin));
    discard_image(e, commands);
    bl_result result = bl_job_record_image(p->job, p->recorder, commands, &p->image);
    see_results(commands);
    dispatch(e, commands, 0, 0, SIDE * SIDE);
    if (result == BL_OK)
        result = bl_job_record_gradient(p->job, p->recorder, commands, &p->gradient);
    see_results(commands);
    dispatch(e, commands, 1, 0.06f * powf(0.93f, (float)step), 3); /* shorter and shorter */
    VK(vkEndCommandBuffer(commands));
    return result;
}

static bl_result run_steps(const engine *e, passes *p)
{
    VkCommandBuffer commands[STEPS];
    bl_result result = BL_OK;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = e->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = STEPS};
    VK(vkAllocateCommandBuffers(e->device, &info, commands));
    memset(&counted, 0, sizeof counted);
    for (uint32_t i = 0; i < STEPS && result == BL_OK; i++) {
        result = record_step(e, p, commands[i], i);
        const VkSubmitInfo work = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands[i]};
        if (result == BL_OK)
            VK(vkQueueSubmit(e->queue, 1, &work, VK_NULL_HANDLE));
    }
    printf("%d steps; Backlight made %u submissions, %u waits, %u mappings\n", STEPS, counted.submissions,
           counted.waits, counted.maps);
    VK(vkQueueWaitIdle(e->queue)); /* the one wait */
    vkFreeCommandBuffers(e->device, e->pool, STEPS, commands);
    return result;
}

/* ---- the fit ---- */

static const char *const wall = "red.reflectance.value";

/* The picture, and then a job that has forgotten the colour. */
static bl_result make_job(bl_device *device, const bl_scene *scene, engine *e, passes *p)
{
    static const float grey[3] = {0.5f, 0.5f, 0.5f};
    uint32_t index;
    bl_result result = bl_scene_find_parameter(scene, wall, &index);
    if (result == BL_OK)
        result =
            bl_job_create(device, scene, &(bl_job_desc){.parameters = &wall, .parameter_count = 1}, &p->job);
    if (result == BL_OK)
        result = bl_job_render(p->job, &(bl_render_desc){.spp = 256, .seed = 1000}, e->target.mapped, NULL);
    if (result == BL_OK)
        result = bl_job_set_parameter(p->job, index, grey);
    return result;
}

static bl_result prepare(engine *e, passes *p, bl_device *device, const uint32_t *index)
{
    bl_vulkan_region colour, gradient;
    p->image = (bl_vulkan_image_desc){.pass = {.spp = 16, .changed = index, .changed_count = 1},
                                      .image = {.image = e->image,
                                                .image_usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                                .format = VK_FORMAT_R32G32B32A32_SFLOAT,
                                                .width = SIDE,
                                                .height = SIDE,
                                                .layout = VK_IMAGE_LAYOUT_GENERAL}};
    p->gradient = (bl_vulkan_gradient_desc){.pass = {.spp = 8},
                                            .adjoint = {.buffer = e->weights.handle,
                                                        .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                                        .buffer_size = e->weights.size}};
    bl_result result = bl_recorder_create(device, &p->recorder);
    if (result == BL_OK)
        result = bl_job_prepare_image(p->job, &p->image, NULL);
    if (result == BL_OK)
        result = bl_job_prepare_gradient(p->job, &p->gradient, NULL);
    if (result == BL_OK)
        result = bl_job_vulkan_parameter(p->job, *index, &colour);
    if (result == BL_OK)
        result = bl_job_vulkan_gradient(p->job, 0, &gradient);
    if (result == BL_OK)
        make_set(e, colour, gradient);
    return result;
}

static bl_result fit(engine *e, bl_device *device, const bl_scene *scene, double *worst)
{
    passes p = {0};
    uint32_t index = 0;
    float found[3], truth[3];
    bl_result result = make_job(device, scene, e, &p);
    if (result == BL_OK)
        result = bl_scene_find_parameter(scene, wall, &index);
    if (result == BL_OK)
        result = prepare(e, &p, device, &index);
    if (result == BL_OK)
        result = run_steps(e, &p);
    if (result == BL_OK)
        result = bl_job_get_parameter(p.job, index, found);
    if (result == BL_OK)
        result = bl_scene_get_parameter(scene, index, truth);
    for (int c = 0; c < 3 && result == BL_OK; c++) {
        printf("%s[%d]: found %.3f, was %.3f\n", wall, c, (double)found[c], (double)truth[c]);
        *worst = fmax(*worst, fabs((double)found[c] - (double)truth[c]));
    }
    bl_recorder_destroy(p.recorder);
    bl_job_destroy(p.job);
    return result;
}

/* ---- beginning and end ---- */

static const char *default_scene(void)
{
    static char path[4096];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/assets/cornell/scene.xml", source ? source : ".");
    return path;
}

static bl_result run(engine *e, bl_context *ctx, const char *path, double *worst)
{
    const bl_define defines[] = {{"resolution", "32"}, {"max_depth", "5"}};
    bl_scene_desc scene_desc = {.defines = defines, .define_count = 2};
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    bl_result result = bl_vulkan_requirements(ctx, &e->instance, e->physical, &e->needs);
    if (result != BL_OK)
        return result;
    make_device(e);
    e->target = make_buffer(e, VALUES * sizeof(float)), e->weights = make_buffer(e, VALUES * sizeof(float));
    make_image(e);
    make_layout(e);
    make_pipeline(e);
    result = bl_device_from_vulkan(ctx,
                                   &(bl_vulkan_device_desc){.instance = e->instance,
                                                            .physical_device = e->physical,
                                                            .device = e->device,
                                                            .queue = e->queue,
                                                            .queue_family = e->needs.queue_family,
                                                            .features = &e->needs.features,
                                                            .extensions = e->needs.extensions,
                                                            .extension_count = e->needs.extension_count},
                                   &device);
    if (result == BL_OK)
        result = bl_scene_load(ctx, path, &scene_desc, &scene);
    if (result == BL_OK)
        result = fit(e, device, scene, worst);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    return result;
}

static void destroy(engine *e)
{
    buffer *buffers[] = {&e->target, &e->weights};
    for (int i = 0; e->device && i < 2; i++) {
        vkDestroyBuffer(e->device, buffers[i]->handle, NULL);
        vkFreeMemory(e->device, buffers[i]->memory, NULL);
    }
    if (e->device) {
        vkDestroyDescriptorPool(e->device, e->sets, NULL);
        vkDestroyPipeline(e->device, e->pipeline, NULL);
        vkDestroyPipelineLayout(e->device, e->layout, NULL);
        vkDestroyDescriptorSetLayout(e->device, e->set_layout, NULL);
        vkDestroyImageView(e->device, e->view, NULL);
        vkDestroyImage(e->device, e->image, NULL);
        vkFreeMemory(e->device, e->image_memory, NULL);
        vkDestroyCommandPool(e->device, e->pool, NULL);
        vkDestroyDevice(e->device, NULL);
    }
    if (e->instance.instance)
        vkDestroyInstance(e->instance.instance, NULL);
}

int main(int argc, char **argv)
{
    engine e = {0};
    bl_context *ctx;
    if (!find_device(&e)) {
        fprintf(stderr, "no such Vulkan device\n");
        destroy(&e);
        return 77; /* CTest reports the sample as skipped */
    }
    if (bl_context_create(NULL, &ctx) != BL_OK) {
        fprintf(stderr, "%s\n", bl_context_error(NULL));
        return 1;
    }
    double worst = 0;
    bl_result result = run(&e, ctx, argc > 1 ? argv[1] : default_scene(), &worst);
    if (result == BL_OK)
        printf("largest error %.4f\n", worst);
    else
        fprintf(stderr, "%s\n", bl_context_error(ctx));
    bl_context_destroy(ctx);
    destroy(&e);
    bool alone = counted.submissions + counted.waits + counted.maps == 0;
    return result == BL_OK && worst < 0.03 && alone ? 0 : 1;
}
