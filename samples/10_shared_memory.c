/* LABELS: lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * A gradient of one process, read by another where it lies: sample_10_shared_memory [SCENE.xml]
 *
 * The program makes a second process first. The one, the maker, has a Vulkan device, on which Backlight makes
 * the gradient of a colour; it exports the memory that the gradient stands in as a file descriptor and sends
 * that over a socket, once. The other one, the reader, has an instance and a device of its own and knows
 * nothing of Backlight; it imports the memory into a buffer. Each time the maker says that there is a new
 * gradient, the reader's device reads it. No value of it goes through the socket. In the end the reader
 * answers what it has seen, and the maker compares. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <backlight/backlight_vulkan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 32, ROUNDS = 3, CHANNELS = 3, MISSING = 77 /* CTest reports the sample as skipped */ };

static void vk(VkResult result, const char *what)
{
    if (result == VK_SUCCESS)
        return;
    fprintf(stderr, "%s: VkResult %d\n", what, (int)result);
    exit(1);
}
#define VK(call) vk((call), #call)

static void must(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

/* ---- a Vulkan device, of either process ---- */

typedef struct machine {
    VkInstance instance;
    VkPhysicalDevice physical;
    uint32_t family;
    VkDevice device;
    VkQueue queue;
} machine;

static bool find_device(machine *m)
{
    const char *named = getenv("BL_DEVICE"), *wanted = named ? named : "";
    VkPhysicalDevice all[16];
    uint32_t count = sizeof all / sizeof *all;
    if (strcmp(wanted, "lavapipe") == 0)
        wanted = "llvmpipe";
    if (volkInitialize() != VK_SUCCESS)
        return false;
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (vkCreateInstance(&info, NULL, &m->instance) != VK_SUCCESS)
        return false;
    volkLoadInstanceOnly(m->instance);
    if (vkEnumeratePhysicalDevices(m->instance, &count, all) < 0)
        return false;
    for (uint32_t i = 0; i < count && !m->physical; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(all[i], &properties);
        if (strstr(properties.deviceName, wanted))
            m->physical = all[i];
    }
    return m->physical != VK_NULL_HANDLE;
}

static void make_device(machine *m, const void *features, const char *const *extensions, uint32_t count)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = m->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = count,
                                     .ppEnabledExtensionNames = extensions};
    VK(vkCreateDevice(m->physical, &info, NULL, &m->device));
    volkLoadDevice(m->device);
    vkGetDeviceQueue(m->device, m->family, 0, &m->queue);
}

static void destroy(machine *m)
{
    if (m->device)
        vkDestroyDevice(m->device, NULL);
    if (m->instance)
        vkDestroyInstance(m->instance, NULL);
}

/* ---- what goes through the socket: the description, with the descriptor; a byte a round; the answer ---- */

typedef union control {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
} control;

static void send_memory(int socket, const bl_vulkan_export *memory)
{
    control c = {0};
    struct iovec bytes = {(void *)(uintptr_t)memory, sizeof *memory};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof c.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &memory->fd, sizeof(int));
    must(sendmsg(socket, &message, 0) == sizeof *memory, "sendmsg");
    close(memory->fd); /* the reader has its own now */
}

/* False where the maker has gone, because it has no device, for instance. */
static bool receive_memory(int socket, bl_vulkan_export *memory)
{
    control c = {0};
    struct iovec bytes = {memory, sizeof *memory};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof c.room};
    if (recvmsg(socket, &message, MSG_WAITALL) != sizeof *memory || !CMSG_FIRSTHDR(&message))
        return false;
    memcpy(&memory->fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return true;
}

/* ---- the reader ---- */

static uint32_t mapped_type(const machine *m, uint32_t allowed)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(m->physical, &memory);
    uint32_t i = 0;
    while (i < memory.memoryTypeCount &&
           !(allowed >> i & 1 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted))
        i++;
    return i;
}

static VkBuffer make_buffer(const machine *m, const void *chain, VkDeviceSize size, VkBufferUsageFlags usage)
{
    VkBuffer made;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = chain, .size = size, .usage = usage};
    VK(vkCreateBuffer(m->device, &info, NULL, &made));
    return made;
}

static VkDeviceMemory bind_memory(const machine *m, const VkMemoryAllocateInfo *info, VkBuffer buffer)
{
    VkDeviceMemory memory;
    VK(vkAllocateMemory(m->device, info, NULL, &memory));
    VK(vkBindBufferMemory(m->device, buffer, memory, 0));
    return memory;
}

/* As include/backlight/backlight_vulkan.h says of bl_vulkan_export. */
static VkBuffer import(const machine *m, const bl_vulkan_export *e, VkDeviceMemory *memory)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBuffer buffer = make_buffer(m, &external, e->buffer_size, e->buffer_usage);
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = buffer};
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .pNext = e->dedicated ? &dedicated : NULL,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkImportMemoryFdInfoKHR imported = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                              .pNext = &flags,
                                              .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                              .fd = e->fd};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &imported,
                                       .allocationSize = e->allocation_size,
                                       .memoryTypeIndex = e->memory_type};
    *memory = bind_memory(m, &info, buffer);
    return buffer;
}

static void copy(const machine *m, VkBuffer from, VkDeviceSize offset, VkBuffer to, VkDeviceSize size)
{
    VkCommandPool pool;
    VkCommandBuffer commands;
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = m->family};
    VK(vkCreateCommandPool(m->device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    VK(vkAllocateCommandBuffers(m->device, &info, &commands));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK(vkBeginCommandBuffer(commands, &begin));
    vkCmdCopyBuffer(commands, from, to, 1, &(VkBufferCopy){.srcOffset = offset, .size = size});
    VK(vkEndCommandBuffer(commands));
    const VkSubmitInfo work = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    VK(vkQueueSubmit(m->queue, 1, &work, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(m->queue));
    vkDestroyCommandPool(m->device, pool, NULL);
}

static int reader(int socket)
{
    static const char *const extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
    const VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .bufferDeviceAddress = VK_TRUE};
    machine m = {0};
    bl_vulkan_export memory;
    float seen[ROUNDS][CHANNELS];
    char again;
    if (!receive_memory(socket, &memory))
        return 0;
    must(find_device(&m) && memory.size == sizeof *seen, "the reader's device");
    make_device(&m, &features, extensions, 1);
    VkDeviceMemory theirs_memory;
    VkBuffer theirs = import(&m, &memory, &theirs_memory),
             own = make_buffer(&m, NULL, memory.size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(m.device, own, &needs);
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex = mapped_type(&m, needs.memoryTypeBits)};
    VkDeviceMemory own_memory = bind_memory(&m, &info, own);
    void *mapped;
    VK(vkMapMemory(m.device, own_memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    for (int k = 0; k < ROUNDS; k++) {
        must(read(socket, &again, 1) == 1, "the maker has gone");
        copy(&m, theirs, memory.offset, own, memory.size);
        memcpy(seen[k], mapped, sizeof seen[k]);
        must(write(socket, &again, 1) == 1, "write"); /* the maker may overwrite it */
    }
    must(write(socket, seen, sizeof seen) == sizeof seen, "write");
    VkBuffer buffers[] = {theirs, own};
    VkDeviceMemory memories[] = {theirs_memory, own_memory};
    for (int i = 0; i < 2; i++) {
        vkDestroyBuffer(m.device, buffers[i], NULL);
        vkFreeMemory(m.device, memories[i], NULL);
    }
    destroy(&m);
    return 0;
}

/* ---- the maker ---- */

static const char *default_scene(void)
{
    static char path[4096];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/assets/cornell/scene.xml", source ? source : ".");
    return path;
}

/* One gradient a round, of the mean brightness by the colour of a wall. */
static bl_result make_gradients(bl_job *job, int socket, float made[ROUNDS][CHANNELS])
{
    static float weights[3 * SIDE * SIDE];
    char again = 1;
    bl_result result = BL_OK;
    for (int i = 0; i < 3 * SIDE * SIDE; i++)
        weights[i] = 1.0f / (3 * SIDE * SIDE);
    for (uint32_t k = 0; k < ROUNDS && result == BL_OK; k++) {
        result = bl_job_gradient(job, &(bl_gradient_desc){.spp = 8, .seed = k, .adjoint = weights}, NULL);
        if (result == BL_OK)
            result = bl_job_read_gradient(job, 0, made[k]);
        if (result == BL_OK)
            must(write(socket, &again, 1) == 1 && read(socket, &again, 1) == 1, "the reader has gone");
    }
    return result;
}

static bl_result share(bl_device *device, const bl_scene *scene, int socket, bool *same)
{
    static const char *const wall = "red.reflectance.value";
    float made[ROUNDS][CHANNELS], seen[ROUNDS][CHANNELS];
    bl_vulkan_region region;
    bl_vulkan_export memory;
    bl_job *job = NULL;
    bl_result result =
        bl_job_create(device, scene, &(bl_job_desc){.parameters = &wall, .parameter_count = 1}, &job);
    if (result == BL_OK)
        result = bl_job_vulkan_gradient(job, 0, &region);
    if (result == BL_OK)
        result = bl_job_export(job, &region, &memory);
    if (result == BL_OK) {
        send_memory(socket, &memory);
        result = make_gradients(job, socket, made);
    }
    if (result == BL_OK) {
        must(recv(socket, seen, sizeof seen, MSG_WAITALL) == sizeof seen, "no answer");
        *same = memcmp(seen, made, sizeof seen) == 0 && made[0][0] > 0;
        for (int k = 0; k < ROUNDS; k++)
            printf("by the wall's red: made %.8f, seen by the other process %.8f\n", (double)made[k][0],
                   (double)seen[k][0]);
    }
    bl_job_destroy(job);
    return result;
}

static bl_result make(machine *m, bl_context *ctx, const char *path, int socket, bool *same)
{
    const bl_define defines[] = {{"resolution", "32"}, {"max_depth", "5"}};
    const bl_scene_desc scene_desc = {.defines = defines, .define_count = 2};
    const bl_vulkan_instance instance = {vkGetInstanceProcAddr, m->instance, VK_API_VERSION_1_2};
    const char *extensions[BL_VULKAN_EXTENSIONS + 1];
    bl_vulkan_needs needs;
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    bl_result result = bl_vulkan_requirements(ctx, &instance, m->physical, &needs);
    if (result != BL_OK)
        return result;
    memcpy(extensions, needs.extensions, sizeof needs.extensions);
    extensions[needs.extension_count] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    m->family = needs.queue_family;
    make_device(m, &needs.features, extensions, needs.extension_count + 1);
    result = bl_device_from_vulkan(ctx,
                                   &(bl_vulkan_device_desc){.instance = instance,
                                                            .physical_device = m->physical,
                                                            .device = m->device,
                                                            .queue = m->queue,
                                                            .queue_family = m->family,
                                                            .features = &needs.features,
                                                            .extensions = extensions,
                                                            .extension_count = needs.extension_count + 1,
                                                            .export_memory = true},
                                   &device);
    if (result == BL_OK)
        result = bl_scene_load(ctx, path, &scene_desc, &scene);
    if (result == BL_OK)
        result = share(device, scene, socket, same);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    return result;
}

static int maker(int socket, const char *path)
{
    machine m = {0};
    bl_context *ctx;
    bool same = false;
    if (!find_device(&m)) {
        fprintf(stderr, "no such Vulkan device\n");
        destroy(&m);
        return MISSING;
    }
    must(bl_context_create(NULL, &ctx) == BL_OK, "a context");
    bl_result result = make(&m, ctx, path, socket, &same);
    if (result != BL_OK)
        fprintf(stderr, "%s\n", bl_context_error(ctx));
    bl_context_destroy(ctx);
    destroy(&m);
    return result == BL_OK && same ? 0 : 1;
}

int main(int argc, char **argv)
{
    int sockets[2], status;
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
    fflush(NULL);
    pid_t child = fork(); /* before anything of Vulkan is there */
    must(child >= 0, "fork");
    if (child == 0) {
        close(sockets[0]);
        _exit(
            reader(sockets[1])); /* no destructors: those of libraries may wait for threads of the parent's */
    }
    close(sockets[1]);
    int result = maker(sockets[0], argc > 1 ? argv[1] : default_scene());
    close(sockets[0]);
    must(waitpid(child, &status, 0) == child, "waitpid");
    return result == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0) ? 1 : result;
}
