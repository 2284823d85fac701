/* SPDX-License-Identifier: BSD-3-Clause
 * Backlight inside a Vulkan application: on its device, in its command buffers, with its buffers.
 * docs/embedding.md says it step by step. EXPERIMENTAL: may change in any version.
 *
 *     bl_vulkan_requirements(ctx, &instance, physical, &needs);     what to enable, before there is a device
 *     bl_device_from_vulkan(ctx, &desc, &device);                   jobs and fits work on it as on one of
 * ours
 *
 * Nothing here keeps state outside of handles. Calls with objects of one context are for one thread at a
 * time; objects of different contexts are independent, also on one VkDevice, if its queue has lock and
 * unlock. */
#ifndef BACKLIGHT_VULKAN_H
#define BACKLIGHT_VULKAN_H

#include <backlight/backlight.h>
#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a device should have ---- */

/* An instance of the caller's. */
typedef struct bl_vulkan_instance {
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    VkInstance instance;
    uint32_t api_version; /* VkApplicationInfo.apiVersion; 1.2 or newer */
} bl_vulkan_instance;

/* Something of a device that Backlight does without, and would use. */
typedef struct bl_vulkan_use {
    const char *feature; /* "bufferDeviceAddress" */
    const char *buys;    /* what there is with it, in a line */
    bool available;      /* the physical device has it */
} bl_vulkan_use;

enum { BL_VULKAN_USES = 3, BL_VULKAN_EXTENSIONS = 4 };

/* What a device of Backlight's own would be created with. What it must have: Vulkan 1.2 and a queue with
 * compute. `features` is a chain (VkDeviceCreateInfo.pNext) of the structures behind it in here, so do not
 * move the whole; copy from it what you enable, or the structures one by one. Chain members for absent
 * features are left out. */
typedef struct bl_vulkan_needs {
    uint32_t api_version;  /* least, of instance and device */
    uint32_t queue_family; /* one that suits: with compute, if possible without graphics */
    bl_vulkan_use uses[BL_VULKAN_USES];
    const char *extensions[BL_VULKAN_EXTENSIONS]; /* of the device; behind what is available in uses */
    uint32_t extension_count;
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDeviceVulkan12Features vulkan12;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDeviceAccelerationStructureFeaturesKHR acceleration_structure;
    VkPhysicalDeviceRayQueryFeaturesKHR ray_query;
} bl_vulkan_needs;

/* Creates nothing. BL_ERROR_UNSUPPORTED, with the reason, where Backlight cannot use the device. */
bl_result bl_vulkan_requirements(bl_context *ctx, const bl_vulkan_instance *instance,
                                 VkPhysicalDevice physical, bl_vulkan_needs *out);

/* ---- a device of the caller's ---- */

typedef struct bl_vulkan_device_desc {
    bl_vulkan_instance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    VkQueue queue; /* of this family, which has compute */
    uint32_t queue_family;
    /* What the device was created with: the chain of feature structures, from VkPhysicalDeviceFeatures2 or
     * VkPhysicalDeviceVulkan12Features or structures of single features, in any order (others are skipped;
     * NULL: none are enabled), and extensions. Nothing that is not in here is used. */
    const void *features;
    const char *const *extensions;
    uint32_t extension_count;
    /* Called around each use of the queue: submissions, and waits for the queue after a failure. NULL, both:
     * nobody else uses the queue during calls of Backlight. */
    void (*lock_queue)(void *user);
    void (*unlock_queue)(void *user);
    void *user;
    const VkAllocationCallbacks *allocator; /* copied; for all that Backlight creates. NULL */
    VkPipelineCache pipeline_cache;         /* for all pipelines; stays the caller's. VK_NULL_HANDLE */
    uint64_t memory_budget; /* bytes of device memory that Backlight allocates at most: what would go beyond
                               is BL_ERROR_DEVICE_MEMORY. 0: no limit */
} bl_vulkan_device_desc;

/* A device of Backlight's on the caller's. Everything in `desc` must outlive it; bl_device_destroy leaves all
 * of it as it is. Jobs, fits and all calls of backlight.h work on it and leave the bytes that they would
 * leave on a device of Backlight's own with the same features; such calls submit to the queue and wait. */
bl_result bl_device_from_vulkan(bl_context *ctx, const bl_vulkan_device_desc *desc, bl_device **out);

#ifdef __cplusplus
}
#endif
#endif
