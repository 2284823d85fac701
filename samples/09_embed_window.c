/* LABELS: lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * A rasteriser that learns from a path tracer: sample_09_embed_window [--steps N]
 *
 * The window has three panels. On the left the program's own rasteriser (09_embed_window.vert, .frag) draws a
 * box in a room. In the middle Backlight traces paths through the same room. On the right is a picture of it.
 * The colour of the box and its light are not known; each frame is a step of a fit to the picture. The
 * rasteriser reads both where the fit keeps them, so nothing is copied, and no frame waits for Backlight.
 *
 * A frame is one command buffer: a step of the fit; the new values, on the device, into the job that draws
 * the middle; that image, into a buffer of the program's; the three panels. G shows dL/dI over the middle,
 * Escape ends the program. Without a display it says so, and ends with 77. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <backlight/backlight_vulkan.h>

#include "09_embed_window.frag.inc" /* const uint32_t shader_frag[], made of the .frag file */
#include "09_embed_window.vert.inc"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 64,   /* pixels of an image, */
    PANEL = 256, /* and how large it is shown */
    PANELS = 3,
    STEPS = 60,
    QUADS = 8,
    VERTICES = 6 * QUADS,
    BINDINGS = 5,
    IMAGES_MOST = 8,
    MISSING = 77 /* no display or no device: CTest reports the sample as skipped */
};

static void vk(VkResult result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
    exit(1);
}
#define VK(call) vk((call), #call)

/* ---- the room: what the rasteriser draws is what Backlight traces ---- */

typedef struct vertex {
    float position[4], normal[4]; /* normal[3]: the material */
} vertex;

enum { BOX, FLOOR, WALL, MATERIALS };
static const char *const names[MATERIALS] = {"box", "floor", "wall"};
static const double colours[MATERIALS][3] = {{0.75, 0.3, 0.12}, {0.7, 0.7, 0.7}, {0.35, 0.45, 0.6}},
                    intensity[3] = {30, 27, 22}, lamp[3] = {1.3, 2.9, 2.2}, eye[3] = {0, 1.7, 4.6},
                    middle[3] = {0, 0.75, 0};

typedef struct room {
    vertex vertices[VERTICES]; /* of triangles */
    uint32_t count;
    float positions[MATERIALS][3 * VERTICES]; /* those of each material, for its mesh */
    uint32_t faces[VERTICES];
} room;

/* center + a + b, and so on; counter-clockwise seen from where cross(a, b) points. */
static void add_quad(room *r, int material, const float center[3], const float a[3], const float b[3])
{
    static const float corners[6][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, -1}, {1, 1}, {-1, 1}};
    float n[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 6; k++) {
        vertex *v = &r->vertices[r->count++];
        for (int c = 0; c < 3; c++) {
            v->position[c] = center[c] + corners[k][0] * a[c] + corners[k][1] * b[c];
            v->normal[c] = n[c] / length;
        }
        v->position[3] = 1, v->normal[3] = (float)material;
    }
}

static void make_room(room *r)
{
    const float cosine = 0.45f, sine = 0.28f, half = 0.53f; /* half of the box's sides, turned */
    const float sides[3][3] = {{cosine, 0, -sine}, {0, half, 0}, {sine, 0, cosine}};
    for (int k = 0; k < 6; k++) {
        const float *a = sides[(k + 1) % 3], *b = sides[(k + 2) % 3], *out = sides[k % 3];
        float way = k < 3 ? 1.0f : -1.0f, center[3], turned[3];
        for (int c = 0; c < 3; c++)
            center[c] = way * out[c] + (c == 1 ? half + 0.001f : 0), turned[c] = way * a[c];
        add_quad(r, BOX, center, turned, b);
    }
    add_quad(r, FLOOR, (float[]){0, 0, 0}, (float[]){3, 0, 0}, (float[]){0, 0, -3});
    add_quad(r, WALL, (float[]){0, 2, -1.6f}, (float[]){3, 0, 0}, (float[]){0, 2.5f, 0});
}

/* The arrays must be there until the scene is finished. */
static void add_mesh(bl_builder *b, room *r, int material)
{
    float *positions = r->positions[material];
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if ((int)r->vertices[i].normal[3] == material) {
            memcpy(positions + 3 * (size_t)count, r->vertices[i].position, 3 * sizeof *positions);
            r->faces[count] = count, count++;
        }
    bl_object *mesh = bl_builder_mesh(
        b, names[material],
        &(bl_mesh){
            .vertex_count = count, .face_count = count / 3, .positions = positions, .faces = r->faces});
    char id[32];
    snprintf(id, sizeof id, "%s_paint", names[material]);
    bl_object *paint = bl_builder_object(b, "bsdf", "diffuse", id);
    const double *c = colours[material];
    bl_object_color(paint, "reflectance", c[0], c[1], c[2]);
    bl_object_flag(mesh, "face_normals", true);
    bl_object_add(mesh, NULL, paint);
    bl_object_add(bl_builder_root(b), NULL, mesh);
}

/* Columns: left, up, ahead, and where the eye is. */
static void look(bl_object *sensor)
{
    double z[3], length = 0, m[16] = {0};
    for (int c = 0; c < 3; c++)
        length += (middle[c] - eye[c]) * (middle[c] - eye[c]);
    for (int c = 0; c < 3; c++)
        z[c] = (middle[c] - eye[c]) / sqrt(length);
    double x[3] = {z[2], 0, -z[0]}, flat = sqrt(x[0] * x[0] + x[2] * x[2]);
    x[0] /= flat, x[2] /= flat;
    const double y[3] = {z[1] * x[2], z[2] * x[0] - z[0] * x[2], -z[1] * x[0]};
    for (int c = 0; c < 3; c++)
        m[4 * c] = x[c], m[4 * c + 1] = y[c], m[4 * c + 2] = z[c], m[4 * c + 3] = eye[c];
    m[15] = 1;
    bl_object_transform(sensor, "to_world", m);
}

static bl_result make_scene(bl_context *ctx, room *r, bl_scene **scene)
{
    bl_builder *b;
    bl_result result = bl_builder_create(ctx, &b);
    if (result != BL_OK)
        return result;
    bl_object *root = bl_builder_root(b), *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *filter = bl_builder_object(b, "rfilter", "box", NULL),
              *sensor = bl_builder_object(b, "sensor", "perspective", NULL),
              *light = bl_builder_object(b, "emitter", "point", "lamp"),
              *integrator = bl_builder_object(b, "integrator", "path", NULL);
    bl_object_integer(film, "width", SIDE), bl_object_integer(film, "height", SIDE);
    bl_object_add(film, NULL, filter);
    bl_object_number(sensor, "fov", 40);
    look(sensor);
    bl_object_add(sensor, NULL, film);
    bl_object_add(root, NULL, sensor);
    bl_object_point(light, "position", lamp[0], lamp[1], lamp[2]);
    bl_object_color(light, "intensity", intensity[0], intensity[1], intensity[2]);
    bl_object_add(root, NULL, light);
    bl_object_integer(integrator, "max_depth", 4);
    bl_object_add(root, NULL, integrator);
    for (int material = 0; material < MATERIALS; material++)
        add_mesh(b, r, material);
    return bl_builder_finish(b, NULL, NULL, scene);
}

/* ---- the program's Vulkan ---- */

typedef struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    void *mapped;
    VkDeviceSize size;
} buffer;

typedef struct target {
    VkImage image;
    VkImageView view;
    VkFramebuffer frame;
} target;

typedef struct engine {
    GLFWwindow *window;
    bl_vulkan_instance instance;
    VkSurfaceKHR surface;
    VkPhysicalDevice physical;
    bl_vulkan_needs needs;
    uint32_t family;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkSemaphore acquired, drawn[IMAGES_MOST];
    VkFormat format;
    VkSwapchainKHR chain;
    target targets[IMAGES_MOST];
    uint32_t target_count;
    VkImage depth;
    VkDeviceMemory depth_memory;
    VkImageView depth_view;
    VkRenderPass pass;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool sets;
    VkDescriptorSet set;
    buffer vertices, traced, picture;
    bool overlay;
} engine;

/* A family that draws, computes and shows. */
static bool find_family(engine *e)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = sizeof families / sizeof *families;
    const VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    vkGetPhysicalDeviceQueueFamilyProperties(e->physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        VkBool32 shows = VK_FALSE;
        VK(vkGetPhysicalDeviceSurfaceSupportKHR(e->physical, i, e->surface, &shows));
        if (shows && (families[i].queueFlags & wanted) == wanted) {
            e->family = i;
            return true;
        }
    }
    return false;
}

static bool find_device(engine *e)
{
    const char *named = getenv("BL_DEVICE"), *wanted = named ? named : "";
    VkPhysicalDevice all[16];
    uint32_t count = sizeof all / sizeof *all, extensions;
    if (strcmp(wanted, "lavapipe") == 0)
        wanted = "llvmpipe";
    if (volkInitialize() != VK_SUCCESS || !glfwVulkanSupported())
        return false;
    e->instance = (bl_vulkan_instance){.get_instance_proc_addr = vkGetInstanceProcAddr,
                                       .api_version = VK_API_VERSION_1_2};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = e->instance.api_version};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application};
    info.ppEnabledExtensionNames = glfwGetRequiredInstanceExtensions(&extensions);
    info.enabledExtensionCount = extensions;
    if (vkCreateInstance(&info, NULL, &e->instance.instance) != VK_SUCCESS)
        return false;
    volkLoadInstanceOnly(e->instance.instance);
    VK(glfwCreateWindowSurface(e->instance.instance, e->window, NULL, &e->surface));
    VK(vkEnumeratePhysicalDevices(e->instance.instance, &count, all));
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(all[i], &properties);
        e->physical = all[i];
        if (strstr(properties.deviceName, wanted) && find_family(e))
            return true;
    }
    return false;
}

static void make_device(engine *e)
{
    const float priority = 1;
    const char *extensions[BL_VULKAN_EXTENSIONS + 1];
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = e->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    memcpy(extensions, e->needs.extensions, sizeof e->needs.extensions);
    extensions[e->needs.extension_count] = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &e->needs.features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = e->needs.extension_count + 1,
                                     .ppEnabledExtensionNames = extensions};
    VK(vkCreateDevice(e->physical, &info, NULL, &e->device));
    volkLoadDevice(e->device);
    vkGetDeviceQueue(e->device, e->family, 0, &e->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = e->family};
    VK(vkCreateCommandPool(e->device, &pool, NULL, &e->pool));
    const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = e->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    VK(vkAllocateCommandBuffers(e->device, &commands, &e->commands));
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VK(vkCreateFence(e->device, &fence, NULL, &e->fence));
    const VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VK(vkCreateSemaphore(e->device, &semaphore, NULL, &e->acquired));
    for (int i = 0; i < IMAGES_MOST; i++)
        VK(vkCreateSemaphore(e->device, &semaphore, NULL, &e->drawn[i]));
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

static VkImageView make_view(const engine *e, VkImage image, VkFormat format, VkImageAspectFlags aspect)
{
    VkImageView made;
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = format,
        .subresourceRange = {.aspectMask = aspect, .levelCount = 1, .layerCount = 1}};
    VK(vkCreateImageView(e->device, &info, NULL, &made));
    return made;
}

/* ---- what it draws into ---- */

static void make_chain(engine *e)
{
    VkSurfaceCapabilitiesKHR can;
    VkSurfaceFormatKHR formats[32];
    VkImage images[IMAGES_MOST];
    uint32_t count = sizeof formats / sizeof *formats;
    VK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(e->physical, e->surface, &can));
    VK(vkGetPhysicalDeviceSurfaceFormatsKHR(e->physical, e->surface, &count, formats));
    VkSurfaceFormatKHR chosen = formats[0];
    for (uint32_t i = 0; i < count; i++) /* the shader encodes */
        if (formats[i].format == VK_FORMAT_B8G8R8A8_UNORM || formats[i].format == VK_FORMAT_R8G8B8A8_UNORM)
            chosen = formats[i];
    e->format = chosen.format;
    const VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                           .surface = e->surface,
                                           .minImageCount = can.minImageCount,
                                           .imageFormat = chosen.format,
                                           .imageColorSpace = chosen.colorSpace,
                                           .imageExtent = {PANELS * PANEL, PANEL},
                                           .imageArrayLayers = 1,
                                           .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                                           .preTransform = can.currentTransform,
                                           .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
                                           .presentMode = VK_PRESENT_MODE_FIFO_KHR,
                                           .clipped = VK_TRUE};
    VK(vkCreateSwapchainKHR(e->device, &info, NULL, &e->chain));
    e->target_count = IMAGES_MOST;
    VK(vkGetSwapchainImagesKHR(e->device, e->chain, &e->target_count, images));
    for (uint32_t i = 0; i < e->target_count; i++) {
        e->targets[i].image = images[i];
        e->targets[i].view = make_view(e, images[i], e->format, VK_IMAGE_ASPECT_COLOR_BIT);
    }
}

static void make_depth(engine *e)
{
    VkMemoryRequirements needs;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_D32_SFLOAT,
                                    .extent = {PANELS * PANEL, PANEL, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    VK(vkCreateImage(e->device, &info, NULL, &e->depth));
    vkGetImageMemoryRequirements(e->device, e->depth, &needs);
    e->depth_memory = allocate(e, needs, 0);
    VK(vkBindImageMemory(e->device, e->depth, e->depth_memory, 0));
    e->depth_view = make_view(e, e->depth, info.format, VK_IMAGE_ASPECT_DEPTH_BIT);
}

/* Both attachments are cleared; what was in them does not matter. */
static void make_pass(engine *e)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                                        VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
                                        VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
    const VkAttachmentDescription attachments[] = {
        {.format = e->format,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .finalLayout = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR},
        {.format = VK_FORMAT_D32_SFLOAT,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
         .finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL}};
    const VkAttachmentReference colour = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                depth = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                          .colorAttachmentCount = 1,
                                          .pColorAttachments = &colour,
                                          .pDepthStencilAttachment = &depth};
    const VkSubpassDependency before = {.srcSubpass = VK_SUBPASS_EXTERNAL,
                                        .srcStageMask = stages,
                                        .dstStageMask = stages,
                                        .srcAccessMask = VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT,
                                        .dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT |
                                                         VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT |
                                                         VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 2,
                                         .pAttachments = attachments,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass,
                                         .dependencyCount = 1,
                                         .pDependencies = &before};
    VK(vkCreateRenderPass(e->device, &info, NULL, &e->pass));
    for (uint32_t i = 0; i < e->target_count; i++) {
        const VkImageView views[] = {e->targets[i].view, e->depth_view};
        const VkFramebufferCreateInfo frame = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                               .renderPass = e->pass,
                                               .attachmentCount = 2,
                                               .pAttachments = views,
                                               .width = PANELS * PANEL,
                                               .height = PANEL,
                                               .layers = 1};
        VK(vkCreateFramebuffer(e->device, &frame, NULL, &e->targets[i].frame));
    }
}

/* ---- its shaders ---- */

typedef struct push {
    uint32_t panel, side, colour, light, overlay;
} push;
static const VkShaderStageFlags both_stages = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;

static void make_layout(engine *e)
{
    VkDescriptorSetLayoutBinding bindings[BINDINGS];
    for (uint32_t i = 0; i < BINDINGS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = both_stages};
    const VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = BINDINGS,
                                                 .pBindings = bindings};
    VK(vkCreateDescriptorSetLayout(e->device, &set, NULL, &e->set_layout));
    const VkPushConstantRange range = {.stageFlags = both_stages, .size = sizeof(push)};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &e->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &range};
    VK(vkCreatePipelineLayout(e->device, &layout, NULL, &e->layout));
}

static VkPipelineShaderStageCreateInfo make_stage(const engine *e, VkShaderStageFlagBits stage,
                                                  const uint32_t *words, size_t size)
{
    VkShaderModule module;
    const VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = words};
    VK(vkCreateShaderModule(e->device, &code, NULL, &module));
    return (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                             .stage = stage,
                                             .module = module,
                                             .pName = "main"};
}

static void make_pipeline(engine *e)
{
    const VkPipelineShaderStageCreateInfo stages[] = {
        make_stage(e, VK_SHADER_STAGE_VERTEX_BIT, shader_vert, sizeof shader_vert),
        make_stage(e, VK_SHADER_STAGE_FRAGMENT_BIT, shader_frag, sizeof shader_frag)};
    const VkDynamicState dynamic[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    const VkPipelineColorBlendAttachmentState all = {.colorWriteMask = 0xf};
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState =
            &(VkPipelineVertexInputStateCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO},
        .pInputAssemblyState =
            &(VkPipelineInputAssemblyStateCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST},
        .pViewportState = &(
            VkPipelineViewportStateCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                               .viewportCount = 1,
                                               .scissorCount = 1},
        .pRasterizationState =
            &(VkPipelineRasterizationStateCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1},
        .pMultisampleState =
            &(VkPipelineMultisampleStateCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT},
        .pDepthStencilState =
            &(VkPipelineDepthStencilStateCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
                .depthTestEnable = VK_TRUE,
                .depthWriteEnable = VK_TRUE,
                .depthCompareOp = VK_COMPARE_OP_LESS},
        .pColorBlendState =
            &(VkPipelineColorBlendStateCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                .attachmentCount = 1,
                .pAttachments = &all},
        .pDynamicState =
            &(VkPipelineDynamicStateCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                .dynamicStateCount = 2,
                                                .pDynamicStates = dynamic},
        .layout = e->layout,
        .renderPass = e->pass};
    VK(vkCreateGraphicsPipelines(e->device, VK_NULL_HANDLE, 1, &info, NULL, &e->pipeline));
    for (int i = 0; i < 2; i++)
        vkDestroyShaderModule(e->device, stages[i].module, NULL);
}

/* Colour and light stand in Backlight's buffers. These are bound as a whole, because an offset into them need
 * not be one that a binding may have; push constants say where in them. */
static void make_set(engine *e, VkBuffer colour, VkBuffer light)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, BINDINGS};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VK(vkCreateDescriptorPool(e->device, &pool, NULL, &e->sets));
    const VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = e->sets,
                                             .descriptorSetCount = 1,
                                             .pSetLayouts = &e->set_layout};
    VK(vkAllocateDescriptorSets(e->device, &set, &e->set));
    const VkDescriptorBufferInfo buffers[BINDINGS] = {{e->vertices.handle, 0, VK_WHOLE_SIZE},
                                                      {colour, 0, VK_WHOLE_SIZE},
                                                      {light, 0, VK_WHOLE_SIZE},
                                                      {e->traced.handle, 0, VK_WHOLE_SIZE},
                                                      {e->picture.handle, 0, VK_WHOLE_SIZE}};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = e->set,
                                        .descriptorCount = BINDINGS,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = buffers};
    vkUpdateDescriptorSets(e->device, 1, &write, 0, NULL);
}

/* ---- Backlight's part ---- */

enum { COLOUR, LIGHT, PARAMETERS };
static const char *const parameters[PARAMETERS] = {"box_paint.reflectance.value", "lamp.intensity.value"};
static const float first_guess[PARAMETERS][3] = {{0.5f, 0.5f, 0.5f}, {12, 12, 12}};

typedef struct lesson {
    bl_device *device;
    bl_scene *scene;
    bl_job *job; /* draws the middle */
    bl_fit *fit;
    bl_recorder *recorder;
    uint32_t index[PARAMETERS];
    bl_vulkan_region from[PARAMETERS], to[PARAMETERS]; /* values of the fit, and of the job */
    bl_vulkan_image_desc image;
    uint32_t steps, frame;
} lesson;

static bl_result make_fit(lesson *l, const float *picture)
{
    const bl_fit_parameter fitted[PARAMETERS] = {
        {.name = parameters[COLOUR], .initial = first_guess[COLOUR], .rate = 0.05},
        {.name = parameters[LIGHT], .initial = first_guess[LIGHT], .rate = 1.5}};
    const bl_fit_change slower[] = {{l->steps / 2 + 1, 0.3, 0}, {l->steps * 3 / 4 + 2, 0.1, 0}};
    return bl_fit_create(l->device, l->scene,
                         &(bl_fit_desc){.parameters = fitted,
                                        .parameter_count = PARAMETERS,
                                        .target = picture,
                                        .schedule = slower,
                                        .schedule_count = 2,
                                        .spp = 16},
                         &l->fit);
}

static bl_result prepare(lesson *l, engine *e)
{
    l->image = (bl_vulkan_image_desc){.pass = {.spp = 16, .changed = l->index, .changed_count = PARAMETERS},
                                      .image = {.buffer = e->traced.handle,
                                                .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                                .buffer_size = e->traced.size}};
    bl_result result = bl_recorder_create(l->device, &l->recorder);
    if (result == BL_OK)
        result = bl_job_prepare_image(l->job, &l->image, NULL);
    if (result == BL_OK)
        result = bl_fit_prepare_step(l->fit, NULL);
    for (uint32_t k = 0; k < PARAMETERS && result == BL_OK; k++) {
        result = bl_fit_vulkan_parameter(l->fit, k, &l->from[k]);
        if (result == BL_OK)
            result = bl_job_vulkan_parameter(l->job, l->index[k], &l->to[k]);
    }
    if (result == BL_OK)
        make_set(e, l->from[COLOUR].buffer, l->from[LIGHT].buffer);
    return result;
}

static bl_result begin_lesson(lesson *l, engine *e, bl_context *ctx, room *r)
{
    const char *extensions[BL_VULKAN_EXTENSIONS];
    memcpy(extensions, e->needs.extensions, sizeof extensions);
    bl_result result =
        bl_device_from_vulkan(ctx,
                              &(bl_vulkan_device_desc){.instance = e->instance,
                                                       .physical_device = e->physical,
                                                       .device = e->device,
                                                       .queue = e->queue,
                                                       .queue_family = e->family,
                                                       .features = &e->needs.features,
                                                       .extensions = extensions,
                                                       .extension_count = e->needs.extension_count},
                              &l->device);
    if (result == BL_OK)
        result = make_scene(ctx, r, &l->scene);
    if (result == BL_OK)
        result = bl_job_create(l->device, l->scene, NULL, &l->job);
    if (result == BL_OK) /* the picture */
        result = bl_job_render(l->job, &(bl_render_desc){.spp = 256, .seed = 1000}, e->picture.mapped, NULL);
    for (uint32_t k = 0; k < PARAMETERS && result == BL_OK; k++)
        result = bl_scene_find_parameter(l->scene, parameters[k], &l->index[k]);
    if (result == BL_OK)
        result = make_fit(l, e->picture.mapped);
    return result == BL_OK ? prepare(l, e) : result;
}

static void end_lesson(lesson *l)
{
    bl_recorder_destroy(l->recorder);
    bl_fit_destroy(l->fit);
    bl_job_destroy(l->job);
    bl_scene_destroy(l->scene);
    bl_device_destroy(l->device);
}

/* ---- a frame ---- */

static void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                    VkPipelineStageFlags to, VkAccessFlags used)
{
    const VkMemoryBarrier all = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = used};
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &all, 0, NULL, 0, NULL);
}

/* A step, as long as there are any; then the values it has found, traced. */
static bl_result record_lesson(lesson *l, VkCommandBuffer commands)
{
    bl_result result = BL_OK;
    if (l->frame < l->steps)
        result = bl_fit_record_step(l->fit, l->recorder, commands, 0, 1);
    barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    for (uint32_t k = 0; k < PARAMETERS; k++)
        vkCmdCopyBuffer(commands, l->from[k].buffer, l->to[k].buffer, 1,
                        &(VkBufferCopy){l->from[k].offset, l->to[k].offset, l->from[k].size});
    l->image.pass.seed = l->frame++;
    if (result == BL_OK)
        result = bl_job_record_image(l->job, l->recorder, commands, &l->image);
    barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT);
    return result;
}

static void draw(const engine *e, const lesson *l, VkFramebuffer frame)
{
    const VkClearValue clear[] = {{.color = {.float32 = {0, 0, 0, 1}}}, {.depthStencil = {1, 0}}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = e->pass,
                                         .framebuffer = frame,
                                         .renderArea = {.extent = {PANELS * PANEL, PANEL}},
                                         .clearValueCount = 2,
                                         .pClearValues = clear};
    vkCmdBeginRenderPass(e->commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(e->commands, VK_PIPELINE_BIND_POINT_GRAPHICS, e->pipeline);
    vkCmdBindDescriptorSets(e->commands, VK_PIPELINE_BIND_POINT_GRAPHICS, e->layout, 0, 1, &e->set, 0, NULL);
    for (uint32_t panel = 0; panel < PANELS; panel++) {
        const VkRect2D part = {{(int32_t)(panel * PANEL), 0}, {PANEL, PANEL}};
        const VkViewport view = {(float)(panel * PANEL), 0, PANEL, PANEL, 0, 1};
        const push words = {panel, SIDE, (uint32_t)(l->from[COLOUR].offset / 4),
                            (uint32_t)(l->from[LIGHT].offset / 4), e->overlay};
        vkCmdSetViewport(e->commands, 0, 1, &view);
        vkCmdSetScissor(e->commands, 0, 1, &part);
        vkCmdPushConstants(e->commands, e->layout, both_stages, 0, sizeof words, &words);
        vkCmdDraw(e->commands, panel ? 3 : VERTICES, 1, 0, 0);
    }
    vkCmdEndRenderPass(e->commands);
}

static bl_result show_frame(engine *e, lesson *l)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const VkPipelineStageFlags when = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    uint32_t k;
    VK(vkAcquireNextImageKHR(e->device, e->chain, UINT64_MAX, e->acquired, VK_NULL_HANDLE, &k));
    VK(vkBeginCommandBuffer(e->commands, &begin));
    bl_result result = record_lesson(l, e->commands);
    if (result != BL_OK)
        return result;
    draw(e, l, e->targets[k].frame);
    VK(vkEndCommandBuffer(e->commands));
    const VkSubmitInfo work = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = 1,
                               .pWaitSemaphores = &e->acquired,
                               .pWaitDstStageMask = &when,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &e->commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &e->drawn[k]};
    const VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                      .waitSemaphoreCount = 1,
                                      .pWaitSemaphores = &e->drawn[k],
                                      .swapchainCount = 1,
                                      .pSwapchains = &e->chain,
                                      .pImageIndices = &k};
    VK(vkQueueSubmit(e->queue, 1, &work, e->fence));
    VK(vkQueuePresentKHR(e->queue, &present));
    VK(vkWaitForFences(e->device, 1, &e->fence, VK_TRUE, UINT64_MAX)); /* one frame in flight */
    VK(vkResetFences(e->device, 1, &e->fence));
    return bl_recorder_reset(l->recorder);
}

/* ---- the loop ---- */

static void on_key(GLFWwindow *window, int key, int code, int action, int mods)
{
    engine *e = glfwGetWindowUserPointer(window);
    (void)code, (void)mods;
    if (action == GLFW_PRESS && key == GLFW_KEY_ESCAPE)
        glfwSetWindowShouldClose(window, GLFW_TRUE);
    else if (action == GLFW_PRESS && key == GLFW_KEY_G)
        e->overlay = !e->overlay;
}

static bl_result tell(const lesson *l)
{
    const double *truth[PARAMETERS] = {colours[BOX], intensity};
    float found[3];
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        bl_result result = bl_fit_get(l->fit, k, found);
        if (result != BL_OK)
            return result;
        printf("%s: found %.3f %.3f %.3f, was %.3f %.3f %.3f\n", parameters[k], (double)found[0],
               (double)found[1], (double)found[2], truth[k][0], truth[k][1], truth[k][2]);
    }
    return BL_OK;
}

static bl_result loop(engine *e, lesson *l)
{
    bool overlay = e->overlay;
    bl_result result = BL_OK;
    while (!glfwWindowShouldClose(e->window) && result == BL_OK) {
        glfwPollEvents();
        result = show_frame(e, l);
        if (result == BL_OK && l->frame == l->steps)
            result = tell(l);
        if (l->frame == l->steps || overlay != e->overlay) /* what a test waits for */
            printf("shown: %u steps, overlay %s\n", l->steps, e->overlay ? "on" : "off");
        fflush(stdout);
        overlay = e->overlay;
    }
    return result;
}

/* ---- beginning and end ---- */

static void make_engine(engine *e, const room *r)
{
    make_device(e);
    e->vertices = make_buffer(e, sizeof r->vertices);
    e->traced = make_buffer(e, sizeof(float) * 3 * SIDE * SIDE);
    e->picture = make_buffer(e, sizeof(float) * 3 * SIDE * SIDE);
    memcpy(e->vertices.mapped, r->vertices, sizeof r->vertices);
    make_chain(e);
    make_depth(e);
    make_pass(e);
    make_layout(e);
    make_pipeline(e);
}

static void destroy_device(engine *e)
{
    buffer *buffers[] = {&e->vertices, &e->traced, &e->picture};
    VK(vkDeviceWaitIdle(e->device));
    vkDestroyDescriptorPool(e->device, e->sets, NULL);
    vkDestroyPipeline(e->device, e->pipeline, NULL);
    vkDestroyPipelineLayout(e->device, e->layout, NULL);
    vkDestroyDescriptorSetLayout(e->device, e->set_layout, NULL);
    for (uint32_t i = 0; i < e->target_count; i++) {
        vkDestroyFramebuffer(e->device, e->targets[i].frame, NULL);
        vkDestroyImageView(e->device, e->targets[i].view, NULL);
    }
    vkDestroyRenderPass(e->device, e->pass, NULL);
    vkDestroyImageView(e->device, e->depth_view, NULL);
    vkDestroyImage(e->device, e->depth, NULL);
    vkFreeMemory(e->device, e->depth_memory, NULL);
    for (int i = 0; i < 3; i++) {
        vkDestroyBuffer(e->device, buffers[i]->handle, NULL);
        vkFreeMemory(e->device, buffers[i]->memory, NULL);
    }
    vkDestroySwapchainKHR(e->device, e->chain, NULL);
    for (int i = 0; i < IMAGES_MOST; i++)
        vkDestroySemaphore(e->device, e->drawn[i], NULL);
    vkDestroySemaphore(e->device, e->acquired, NULL);
    vkDestroyFence(e->device, e->fence, NULL);
    vkDestroyCommandPool(e->device, e->pool, NULL);
    vkDestroyDevice(e->device, NULL);
}

static void destroy(engine *e)
{
    if (e->device)
        destroy_device(e);
    if (e->surface)
        vkDestroySurfaceKHR(e->instance.instance, e->surface, NULL);
    if (e->instance.instance)
        vkDestroyInstance(e->instance.instance, NULL);
    if (e->window)
        glfwDestroyWindow(e->window);
    glfwTerminate();
}

static bool open_window(engine *e)
{
    if (!glfwInit())
        return false;
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE);
    e->window = glfwCreateWindow(PANELS * PANEL, PANEL, "rasterised | path traced | the picture (G: dL/dI)",
                                 NULL, NULL);
    if (!e->window)
        return false;
    glfwSetWindowUserPointer(e->window, e);
    glfwSetKeyCallback(e->window, on_key);
    return true;
}

static bl_result run(engine *e, bl_context *ctx, uint32_t steps)
{
    static room r;
    lesson l = {.steps = steps};
    make_room(&r);
    bl_result result = bl_vulkan_requirements(ctx, &e->instance, e->physical, &e->needs);
    if (result != BL_OK)
        return result;
    make_engine(e, &r);
    result = begin_lesson(&l, e, ctx, &r);
    if (result == BL_OK)
        result = loop(e, &l);
    VK(vkDeviceWaitIdle(e->device));
    end_lesson(&l);
    return result;
}

int main(int argc, char **argv)
{
    engine e = {0};
    bl_context *ctx;
    uint32_t steps =
        argc > 2 && strcmp(argv[1], "--steps") == 0 ? (uint32_t)strtoul(argv[2], NULL, 10) : STEPS;
    if (!open_window(&e) || !find_device(&e)) {
        fprintf(stderr, "no display, or no Vulkan device that can show images on it\n");
        destroy(&e);
        return MISSING;
    }
    if (bl_context_create(NULL, &ctx) != BL_OK) {
        fprintf(stderr, "%s\n", bl_context_error(NULL));
        return 1;
    }
    bl_result result = run(&e, ctx, steps ? steps : 1);
    if (result != BL_OK)
        fprintf(stderr, "%s\n", bl_context_error(ctx));
    bl_context_destroy(ctx);
    destroy(&e);
    return result == BL_OK ? 0 : 1;
}
