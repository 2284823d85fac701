/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/vulkan_app.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER "VK_LAYER_KHRONOS_validation"

vulkan_app_counts vulkan_app_count;

static void must(VkResult result, const char *what)
{
    if (result != VK_SUCCESS)
        fail_msg("%s returns %d", what, (int)result);
}
#define MUST(app, call, ...) must((app)->call(__VA_ARGS__), #call)

/* ---- functions that count ---- */

static PFN_vkGetInstanceProcAddr real_get;
static PFN_vkGetDeviceProcAddr real_get_device;
static PFN_vkDestroyDevice real_destroy;

vulkan_app_fault vulkan_app_faults = {.at = VULKAN_APP_NO_FAULT};

/* Whether this call is to fail. */
static bool fails(const char *name)
{
    vulkan_app_fault *f = &vulkan_app_faults;
    uint32_t number = f->calls++;
    if (number != f->at && !(number > f->at && f->result == VK_ERROR_DEVICE_LOST))
        return false;
    if (!f->hit)
        f->hit = name;
    return true;
}

/* Every call of the library's that returns a VkResult, what it counts as, and whether it is made even when it
 * fails: what waits must have waited, because the device is not lost in truth. */
#define FALLIBLE(X)                                                                                          \
    X(AllocateMemory, vulkan_app_count.allocations++, false,                                                 \
      (VkDevice a, const VkMemoryAllocateInfo *b, const VkAllocationCallbacks *c, VkDeviceMemory *d),        \
      (a, b, c, d))                                                                                          \
    X(MapMemory, vulkan_app_count.maps++, false,                                                             \
      (VkDevice a, VkDeviceMemory b, VkDeviceSize c, VkDeviceSize d, VkMemoryMapFlags e, void **f),          \
      (a, b, c, d, e, f))                                                                                    \
    X(CreateBuffer, (void)0, false,                                                                          \
      (VkDevice a, const VkBufferCreateInfo *b, const VkAllocationCallbacks *c, VkBuffer *d), (a, b, c, d))  \
    X(BindBufferMemory, (void)0, false, (VkDevice a, VkBuffer b, VkDeviceMemory c, VkDeviceSize d),          \
      (a, b, c, d))                                                                                          \
    X(CreateShaderModule, (void)0, false,                                                                    \
      (VkDevice a, const VkShaderModuleCreateInfo *b, const VkAllocationCallbacks *c, VkShaderModule *d),    \
      (a, b, c, d))                                                                                          \
    X(CreateDescriptorSetLayout, (void)0, false,                                                             \
      (VkDevice a, const VkDescriptorSetLayoutCreateInfo *b, const VkAllocationCallbacks *c,                 \
       VkDescriptorSetLayout *d),                                                                            \
      (a, b, c, d))                                                                                          \
    X(CreatePipelineLayout, (void)0, false,                                                                  \
      (VkDevice a, const VkPipelineLayoutCreateInfo *b, const VkAllocationCallbacks *c,                      \
       VkPipelineLayout *d),                                                                                 \
      (a, b, c, d))                                                                                          \
    X(CreateComputePipelines, (void)0, false,                                                                \
      (VkDevice a, VkPipelineCache b, uint32_t c, const VkComputePipelineCreateInfo *d,                      \
       const VkAllocationCallbacks *e, VkPipeline *f),                                                       \
      (a, b, c, d, e, f))                                                                                    \
    X(CreateDescriptorPool, (void)0, false,                                                                  \
      (VkDevice a, const VkDescriptorPoolCreateInfo *b, const VkAllocationCallbacks *c,                      \
       VkDescriptorPool *d),                                                                                 \
      (a, b, c, d))                                                                                          \
    X(ResetDescriptorPool, (void)0, false, (VkDevice a, VkDescriptorPool b, VkDescriptorPoolResetFlags c),   \
      (a, b, c))                                                                                             \
    X(AllocateDescriptorSets, (void)0, false,                                                                \
      (VkDevice a, const VkDescriptorSetAllocateInfo *b, VkDescriptorSet *c), (a, b, c))                     \
    X(CreateCommandPool, (void)0, false,                                                                     \
      (VkDevice a, const VkCommandPoolCreateInfo *b, const VkAllocationCallbacks *c, VkCommandPool *d),      \
      (a, b, c, d))                                                                                          \
    X(ResetCommandPool, (void)0, false, (VkDevice a, VkCommandPool b, VkCommandPoolResetFlags c), (a, b, c)) \
    X(AllocateCommandBuffers, (void)0, false,                                                                \
      (VkDevice a, const VkCommandBufferAllocateInfo *b, VkCommandBuffer *c), (a, b, c))                     \
    X(BeginCommandBuffer, (void)0, false, (VkCommandBuffer a, const VkCommandBufferBeginInfo *b), (a, b))    \
    X(EndCommandBuffer, (void)0, false, (VkCommandBuffer a), (a))                                            \
    X(CreateFence, (void)0, false,                                                                           \
      (VkDevice a, const VkFenceCreateInfo *b, const VkAllocationCallbacks *c, VkFence *d), (a, b, c, d))    \
    X(ResetFences, (void)0, false, (VkDevice a, uint32_t b, const VkFence *c), (a, b, c))                    \
    X(WaitForFences, vulkan_app_count.waits++, true,                                                         \
      (VkDevice a, uint32_t b, const VkFence *c, VkBool32 d, uint64_t e), (a, b, c, d, e))                   \
    X(CreateQueryPool, (void)0, false,                                                                       \
      (VkDevice a, const VkQueryPoolCreateInfo *b, const VkAllocationCallbacks *c, VkQueryPool *d),          \
      (a, b, c, d))                                                                                          \
    X(GetQueryPoolResults, (void)0, false,                                                                   \
      (VkDevice a, VkQueryPool b, uint32_t c, uint32_t d, size_t e, void *f, VkDeviceSize g,                 \
       VkQueryResultFlags h),                                                                                \
      (a, b, c, d, e, f, g, h))                                                                              \
    X(QueueSubmit, vulkan_app_count.submits++, false,                                                        \
      (VkQueue a, uint32_t b, const VkSubmitInfo *c, VkFence d), (a, b, c, d))                               \
    X(QueueWaitIdle, vulkan_app_count.waits++, true, (VkQueue a), (a))

#define WRAP(name, counted, always, params, args)                                                            \
    static PFN_vk##name real_##name;                                                                         \
    static VKAPI_ATTR VkResult VKAPI_CALL wrapped_##name params                                              \
    {                                                                                                        \
        counted;                                                                                             \
        if (!fails("vk" #name))                                                                              \
            return real_##name args;                                                                         \
        if (always)                                                                                          \
            real_##name args;                                                                                \
        return vulkan_app_faults.result;                                                                     \
    }
FALLIBLE(WRAP)
#undef WRAP

static VKAPI_ATTR void VKAPI_CALL count_destroy(VkDevice device, const VkAllocationCallbacks *callbacks)
{
    vulkan_app_count.destroyed_devices++;
    real_destroy(device, callbacks);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name)
{
    PFN_vkVoidFunction real = real_get_device(device, name);
#define WRAPPED(function, counted, always, params, args)                                                     \
    if (strcmp(name, "vk" #function) == 0) {                                                                 \
        real_##function = (PFN_vk##function)real;                                                            \
        return (PFN_vkVoidFunction)wrapped_##function;                                                       \
    }
    FALLIBLE(WRAPPED)
#undef WRAPPED
    if (strcmp(name, "vkDestroyDevice") != 0)
        return real;
    real_destroy = (PFN_vkDestroyDevice)real;
    return (PFN_vkVoidFunction)count_destroy;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_get_device = (PFN_vkGetDeviceProcAddr)real_get(instance, name);
        return (PFN_vkVoidFunction)get_device;
    }
    return real_get(instance, name);
}

static void count_lock(void *user) { (void)user, vulkan_app_count.locks++; }
static void count_unlock(void *user) { (void)user; }

/* ---- instance ---- */

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity, (void)types;
    ((vulkan_app *)user)->messages++;
    print_message("validation: %s\n", data->pMessage);
    return VK_FALSE;
}

/* The loader finds SwiftShader through a manifest beside it. */
static void add_swiftshader(void)
{
    const char *library = getenv("BL_SWIFTSHADER"), *others = getenv("VK_DRIVER_FILES");
    const char *slash = library ? strrchr(library, '/') : NULL;
    static char list[8192];
    if (!slash)
        return;
    snprintf(list, sizeof list, "%.*s/vk_swiftshader_icd.json%s%s", (int)(slash - library), library,
             others ? ":" : "", others ? others : "");
    setenv("VK_DRIVER_FILES", list, 1);
    setenv("VK_ICD_FILENAMES", list, 1);
}

static VkResult create_instance(vulkan_app *app, bool validated)
{
    const VkValidationFeatureEnableEXT enabled = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = &enabled};
    static const char *const layers[] = {LAYER}, *const extensions[] = {
                                                     VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                                     VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    app->instance.api_version = VK_API_VERSION_1_2;
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = app->instance.api_version};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = validated ? &features : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = validated ? 1 : 0,
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = validated ? 2 : 0,
                                       .ppEnabledExtensionNames = extensions};
    return ((PFN_vkCreateInstance)real_get(NULL, "vkCreateInstance"))(&info, NULL, &app->instance.instance);
}

static void watch(vulkan_app *app)
{
    const VkDebugUtilsMessengerCreateInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = app};
    MUST(app, CreateDebugUtilsMessengerEXT, app->instance.instance, &info, NULL, &app->messenger);
}

static bool open_instance(vulkan_app *app)
{
    add_swiftshader();
    setenv("VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1",
           1); /* else what shaders access is not checked */
    app->loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    real_get = app->loader ? (PFN_vkGetInstanceProcAddr)dlsym(app->loader, "vkGetInstanceProcAddr") : NULL;
    if (!real_get)
        return false;
    app->validated = create_instance(app, true) == VK_SUCCESS;
    if (!app->validated && create_instance(app, false) != VK_SUCCESS)
        return false;
    app->instance.get_instance_proc_addr = get_instance;
    app->real_get = real_get;
#define LOAD(name) app->name = (PFN_vk##name)real_get(app->instance.instance, "vk" #name);
    VULKAN_APP_INSTANCE(LOAD)
#undef LOAD
    if (app->validated)
        watch(app);
    return true;
}

/* ---- device ---- */

static bool find_physical(vulkan_app *app)
{
    const char *named = getenv("BL_DEVICE");
    const char *wanted = !named || !*named || strcmp(named, "swiftshader") == 0 ? "SwiftShader"
                         : strcmp(named, "lavapipe") == 0                       ? "llvmpipe"
                                                                                : named;
    VkPhysicalDevice all[16];
    uint32_t count = sizeof all / sizeof *all;
    if (app->EnumeratePhysicalDevices(app->instance.instance, &count, all) < 0)
        return false;
    for (uint32_t i = 0; i < count && !app->physical; i++) {
        VkPhysicalDeviceProperties properties;
        app->GetPhysicalDeviceProperties(all[i], &properties);
        if (strstr(properties.deviceName, wanted))
            app->physical = all[i];
    }
    return app->physical != NULL;
}

/* extension NULL: what is required, and nothing else. */
static bool choose_extensions(vulkan_app *app, bl_context *context, const char *extension)
{
    VkExtensionProperties all[512];
    uint32_t count = sizeof all / sizeof *all;
    bool there = !extension;
    if (bl_vulkan_requirements(context, &app->instance, app->physical, &app->needs) != BL_OK)
        fail_msg("%s", bl_context_error(context));
    for (uint32_t i = 0; i < app->needs.extension_count; i++)
        app->extensions[app->extension_count++] = app->needs.extensions[i];
    if (there)
        return true;
    app->EnumerateDeviceExtensionProperties(app->physical, NULL, &count, all);
    for (uint32_t i = 0; i < count; i++)
        there = there || strcmp(all[i].extensionName, extension) == 0;
    app->extensions[app->extension_count++] = extension;
    return there;
}

static void open_device(vulkan_app *app)
{
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = app->needs.queue_family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &app->needs.features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = app->extension_count,
                               .ppEnabledExtensionNames = app->extensions};
    MUST(app, CreateDevice, app->physical, &info, NULL, &app->device);
#define LOAD(name) app->name = (PFN_vk##name)app->GetDeviceProcAddr(app->device, "vk" #name);
    VULKAN_APP_DEVICE(LOAD)
#undef LOAD
    app->GetDeviceQueue(app->device, app->needs.queue_family, 0, &app->queue);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = app->needs.queue_family};
    MUST(app, CreateCommandPool, app->device, &pool, NULL, &app->pool);
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = app->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    MUST(app, AllocateCommandBuffers, app->device, &commands, &app->commands);
}

bool vulkan_app_open_with(vulkan_app *app, bl_context *context, const char *extension)
{
    *app = (vulkan_app){0};
    if (!open_instance(app) || !find_physical(app) || !choose_extensions(app, context, extension)) {
        print_message("skipped: the Vulkan loader does not list the device, or it lacks an extension\n");
        vulkan_app_close(app);
        return false;
    }
    open_device(app);
    return true;
}

bool vulkan_app_open(vulkan_app *app, bl_context *context)
{
    return vulkan_app_open_with(app, context, NULL);
}

void vulkan_app_close(vulkan_app *app)
{
    if (app->device) {
        app->DestroyCommandPool(app->device, app->pool, NULL);
        app->DestroyDevice(app->device, NULL);
    }
    if (app->messenger)
        app->DestroyDebugUtilsMessengerEXT(app->instance.instance, app->messenger, NULL);
    if (app->instance.instance)
        app->DestroyInstance(app->instance.instance, NULL);
    app->device = NULL, app->messenger = VK_NULL_HANDLE, app->instance.instance = NULL;
}

bl_vulkan_device_desc vulkan_app_desc(vulkan_app *app)
{
    return (bl_vulkan_device_desc){.instance = app->instance,
                                   .physical_device = app->physical,
                                   .device = app->device,
                                   .queue = app->queue,
                                   .queue_family = app->needs.queue_family,
                                   .features = &app->needs.features,
                                   .extensions = app->extensions,
                                   .extension_count = app->extension_count,
                                   .lock_queue = count_lock,
                                   .unlock_queue = count_unlock};
}

int vulkan_app_test(vulkan_app *app, scene_device *d, const char *name, const struct CMUnitTest *tests,
                    size_t count, int (*setup)(void **state), void (*teardown)(void))
{
    if (!scene_device_open(d))
        return scene_device_missing();
    if (!vulkan_app_open(app, d->context)) {
        scene_device_close(d);
        return scene_device_missing();
    }
    int failed = _cmocka_run_group_tests(name, tests, count, setup, NULL);
    if (failed)
        return failed;
    if (teardown)
        teardown();
    vulkan_app_close(app);
    scene_device_close(d);
    return app->messages != 0;
}

/* ---- commands ---- */

VkCommandBuffer vulkan_app_begin(vulkan_app *app)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    MUST(app, ResetCommandPool, app->device, app->pool, 0);
    MUST(app, BeginCommandBuffer, app->commands, &info);
    return app->commands;
}

void vulkan_app_barrier(vulkan_app *app)
{
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    app->CmdPipelineBarrier(app->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0,
                            NULL, 0, NULL);
}

void vulkan_app_run(vulkan_app *app)
{
    vulkan_app_barrier(app);
    MUST(app, EndCommandBuffer, app->commands);
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &app->commands};
    MUST(app, QueueSubmit, app->queue, 1, &info, VK_NULL_HANDLE);
    MUST(app, QueueWaitIdle, app->queue);
}

/* ---- buffers ---- */

static uint32_t memory_type(vulkan_app *app, uint32_t allowed, VkMemoryPropertyFlags flags)
{
    VkPhysicalDeviceMemoryProperties memory;
    app->GetPhysicalDeviceMemoryProperties(app->physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if (allowed >> i & 1 && (memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
    fail_msg("no memory type with %x", flags);
    return 0;
}

vulkan_app_buffer vulkan_app_buffer_create(vulkan_app *app, VkDeviceSize size, VkBufferUsageFlags usage)
{
    vulkan_app_buffer b = {.size = size};
    VkMemoryRequirements needs;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    MUST(app, CreateBuffer, app->device, &info, NULL, &b.handle);
    app->GetBufferMemoryRequirements(app->device, b.handle, &needs);
    const VkMemoryAllocateFlagsInfo addressed = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                                 .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT ? &addressed : NULL,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            memory_type(app, needs.memoryTypeBits,
                        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)};
    MUST(app, AllocateMemory, app->device, &memory, NULL, &b.memory);
    MUST(app, BindBufferMemory, app->device, b.handle, b.memory, 0);
    MUST(app, MapMemory, app->device, b.memory, 0, VK_WHOLE_SIZE, 0, &b.mapped);
    return b;
}

void vulkan_app_buffer_destroy(vulkan_app *app, vulkan_app_buffer *b)
{
    app->DestroyBuffer(app->device, b->handle, NULL);
    app->FreeMemory(app->device, b->memory, NULL);
    *b = (vulkan_app_buffer){0};
}

/* ---- images ---- */

static void into_layout(vulkan_app *app, const vulkan_app_image *image)
{
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = image->layout,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image->handle,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    app->CmdPipelineBarrier(vulkan_app_begin(app), VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
    vulkan_app_run(app);
}

vulkan_app_image vulkan_app_image_create(vulkan_app *app, uint32_t width, uint32_t height, VkFormat format,
                                         VkImageLayout layout)
{
    vulkan_app_image image = {.format = format,
                              .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                              .layout = layout,
                              .width = width,
                              .height = height};
    VkMemoryRequirements needs;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {width, height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = image.usage};
    MUST(app, CreateImage, app->device, &info, NULL, &image.handle);
    app->GetImageMemoryRequirements(app->device, image.handle, &needs);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = memory_type(app, needs.memoryTypeBits, 0)};
    MUST(app, AllocateMemory, app->device, &memory, NULL, &image.memory);
    MUST(app, BindImageMemory, app->device, image.handle, image.memory, 0);
    into_layout(app, &image);
    return image;
}

void vulkan_app_image_destroy(vulkan_app *app, vulkan_app_image *image)
{
    app->DestroyImage(app->device, image->handle, NULL);
    app->FreeMemory(app->device, image->memory, NULL);
    *image = (vulkan_app_image){0};
}

void vulkan_app_copy(vulkan_app *app, const vulkan_app_image *image, const vulkan_app_buffer *b,
                     bool to_image)
{
    const VkBufferImageCopy whole = {
        .imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
        .imageExtent = {image->width, image->height, 1}};
    vulkan_app_barrier(app);
    if (to_image)
        app->CmdCopyBufferToImage(app->commands, b->handle, image->handle, image->layout, 1, &whole);
    else
        app->CmdCopyImageToBuffer(app->commands, image->handle, image->layout, b->handle, 1, &whole);
    vulkan_app_barrier(app);
}
