/* SPDX-License-Identifier: BSD-3-Clause
 * A Vulkan application as a test: its own instance, with the validation layer where there is one, a device, a
 * queue, a command buffer, buffers and images. Whatever fails, fails the running test.
 *
 * Functions that it hands to Backlight go through counters, so that a test can say what the library did on
 * its device. They are globals of the test program, since Vulkan's functions carry no user pointer. */
#ifndef TEST_VULKAN_APP_H
#define TEST_VULKAN_APP_H

#include "support/scene_device.h"

#define VK_NO_PROTOTYPES
#include <backlight/backlight_vulkan.h>
#include <vulkan/vulkan.h>

#define VULKAN_APP_INSTANCE(X)                                                                               \
    X(DestroyInstance)                                                                                       \
    X(EnumeratePhysicalDevices)                                                                              \
    X(GetPhysicalDeviceProperties)                                                                           \
    X(EnumerateDeviceExtensionProperties)                                                                    \
    X(GetPhysicalDeviceMemoryProperties)                                                                     \
    X(CreateDevice)                                                                                          \
    X(GetDeviceProcAddr)                                                                                     \
    X(CreateDebugUtilsMessengerEXT)                                                                          \
    X(DestroyDebugUtilsMessengerEXT)
#define VULKAN_APP_DEVICE(X)                                                                                 \
    X(DestroyDevice)                                                                                         \
    X(GetDeviceQueue)                                                                                        \
    X(QueueSubmit)                                                                                           \
    X(QueueWaitIdle)                                                                                         \
    X(CreateCommandPool)                                                                                     \
    X(DestroyCommandPool)                                                                                    \
    X(AllocateCommandBuffers)                                                                                \
    X(ResetCommandPool)                                                                                      \
    X(BeginCommandBuffer)                                                                                    \
    X(EndCommandBuffer)                                                                                      \
    X(CmdPipelineBarrier)                                                                                    \
    X(CmdCopyBuffer)                                                                                         \
    X(CmdCopyBufferToImage)                                                                                  \
    X(CmdCopyImageToBuffer)                                                                                  \
    X(CmdFillBuffer)                                                                                         \
    X(CmdUpdateBuffer)                                                                                       \
    X(CreateBuffer)                                                                                          \
    X(DestroyBuffer)                                                                                         \
    X(GetBufferMemoryRequirements)                                                                           \
    X(BindBufferMemory)                                                                                      \
    X(CreateImage)                                                                                           \
    X(DestroyImage)                                                                                          \
    X(GetImageMemoryRequirements)                                                                            \
    X(BindImageMemory)                                                                                       \
    X(AllocateMemory)                                                                                        \
    X(FreeMemory)                                                                                            \
    X(MapMemory)                                                                                             \
    X(CreateSemaphore)                                                                                       \
    X(DestroySemaphore)                                                                                      \
    X(SignalSemaphore)                                                                                       \
    X(GetSemaphoreCounterValue)                                                                              \
    X(WaitSemaphores)                                                                                        \
    X(CreatePipelineCache)                                                                                   \
    X(DestroyPipelineCache)

/* What the library did, since it was last cleared. */
typedef struct vulkan_app_counts {
    uint32_t submits, waits, maps, allocations, destroyed_devices, locks;
} vulkan_app_counts;
extern vulkan_app_counts vulkan_app_count;

/* Calls of the library's on the application's device that can fail, numbered from 0. The one with the number
 * `at` returns `result` instead of being made; if that is VK_ERROR_DEVICE_LOST, so do all after it. */
typedef struct vulkan_app_fault {
    uint32_t calls, at;
    VkResult result;
    const char *hit; /* the call that failed; NULL: none yet */
} vulkan_app_fault;
enum { VULKAN_APP_NO_FAULT = UINT32_MAX / 2 };
extern vulkan_app_fault vulkan_app_faults;

typedef struct vulkan_app {
    void *loader;
    bl_vulkan_instance instance;        /* its functions count */
    PFN_vkGetInstanceProcAddr real_get; /* those of this do not */
    VkDebugUtilsMessengerEXT messenger;
    bool validated;
    uint32_t messages; /* of the validation layer */
    VkPhysicalDevice physical;
    bl_vulkan_needs needs;
    const char *extensions[BL_VULKAN_EXTENSIONS + 1]; /* of the device */
    uint32_t extension_count;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
#define VULKAN_APP_FIELD(name) PFN_vk##name name;
    VULKAN_APP_INSTANCE(VULKAN_APP_FIELD)
    VULKAN_APP_DEVICE(VULKAN_APP_FIELD)
#undef VULKAN_APP_FIELD
} vulkan_app;

/* Opens the device that BL_DEVICE names, by default SwiftShader, with what bl_vulkan_requirements says.
 * False, with a message, where there is no such device; main then returns scene_device_missing(). */
bool vulkan_app_open(vulkan_app *app, bl_context *context);
/* The same, with one more extension; false also where the device lacks it. */
bool vulkan_app_open_with(vulkan_app *app, bl_context *context, const char *extension);
void vulkan_app_close(vulkan_app *app);
/* A descriptor of the device, for bl_device_from_vulkan. */
bl_vulkan_device_desc vulkan_app_desc(vulkan_app *app);

/* What main does where one application embeds the library: opens d and app, runs the tests, and closes both.
 * Returns what main should: how many tests have failed, or 1 where the validation layer has said something;
 * scene_device_missing() where there is no such device. setup makes what the tests share, and teardown (NULL:
 * nothing) destroys it. After a failure everything stays open, because the test has left its objects behind.
 */
int vulkan_app_test(vulkan_app *app, scene_device *d, const char *name, const struct CMUnitTest *tests,
                    size_t count, int (*setup)(void **state), void (*teardown)(void));
#define VULKAN_APP_TEST(app, d, name, tests, setup, teardown)                                                \
    vulkan_app_test((app), (d), (name), (tests), sizeof(tests) / sizeof *(tests), (setup), (teardown))

/* The command buffer, begun anew; submitted and waited for. */
VkCommandBuffer vulkan_app_begin(vulkan_app *app);
void vulkan_app_run(vulkan_app *app);
/* Everything before it is done and visible to everything after it. */
void vulkan_app_barrier(vulkan_app *app);

/* A buffer of the application's, mapped. */
typedef struct vulkan_app_buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    void *mapped;
    VkDeviceSize size;
} vulkan_app_buffer;
vulkan_app_buffer vulkan_app_buffer_create(vulkan_app *app, VkDeviceSize size, VkBufferUsageFlags usage);
void vulkan_app_buffer_destroy(vulkan_app *app, vulkan_app_buffer *b);

/* An image of the application's, of a colour format; it is put into a layout by commands of its own. */
typedef struct vulkan_app_image {
    VkImage handle;
    VkDeviceMemory memory;
    VkFormat format;
    VkImageUsageFlags usage;
    VkImageLayout layout;
    uint32_t width, height;
} vulkan_app_image;
vulkan_app_image vulkan_app_image_create(vulkan_app *app, uint32_t width, uint32_t height, VkFormat format,
                                         VkImageLayout layout);
void vulkan_app_image_destroy(vulkan_app *app, vulkan_app_image *image);
/* Appends a copy of all texels between image and buffer. */
void vulkan_app_copy(vulkan_app *app, const vulkan_app_image *image, const vulkan_app_buffer *b,
                     bool to_image);

#endif
