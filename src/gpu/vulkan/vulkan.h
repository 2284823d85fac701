/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of src/gpu/vulkan share. Nothing outside this folder includes it, except the tests that make
 * Vulkan calls fail.
 *
 * Vulkan functions live in tables, one per instance and one per device, expanded from the lists below: a
 * loader device and a SwiftShader opened directly may be in use at once, so one name has several addresses
 * and nothing is linked. */
#ifndef GPU_VULKAN_H
#define GPU_VULKAN_H

#include "gpu/gpu_internal.h" /* this header comes first in every file */
#include "gpu/vulkan/open.h"

#define VK_NO_PROTOTYPES
#include <volk.h>
#include <vulkan/vulkan.h>

#include <backlight/backlight_vulkan.h>

/* ---- vulkan.c: function tables and errors ---- */

#define GPU_INSTANCE_FUNCTIONS(X)                                                                            \
    X(DestroyInstance)                                                                                       \
    X(EnumeratePhysicalDevices)                                                                              \
    X(EnumerateDeviceExtensionProperties)                                                                    \
    X(GetPhysicalDeviceProperties)                                                                           \
    X(GetPhysicalDeviceProperties2)                                                                          \
    X(GetPhysicalDeviceFeatures2)                                                                            \
    X(GetPhysicalDeviceMemoryProperties)                                                                     \
    X(GetPhysicalDeviceMemoryProperties2)                                                                    \
    X(GetPhysicalDeviceQueueFamilyProperties)                                                                \
    X(GetPhysicalDeviceExternalBufferProperties)                                                             \
    X(CreateDevice)                                                                                          \
    X(GetDeviceProcAddr)

/* Functions of VK_EXT_debug_utils, NULL where it is not enabled. */
#define GPU_INSTANCE_OPTIONAL(X)                                                                             \
    X(CreateDebugUtilsMessengerEXT)                                                                          \
    X(DestroyDebugUtilsMessengerEXT)

/* What a device must have, of volk's table. */
#define GPU_DEVICE_FUNCTIONS(X)                                                                              \
    X(DestroyDevice)                                                                                         \
    X(DeviceWaitIdle)                                                                                        \
    X(GetDeviceQueue)                                                                                        \
    X(QueueSubmit)                                                                                           \
    X(QueueWaitIdle)                                                                                         \
    X(AllocateMemory)                                                                                        \
    X(FreeMemory)                                                                                            \
    X(MapMemory)                                                                                             \
    X(CreateBuffer)                                                                                          \
    X(DestroyBuffer)                                                                                         \
    X(GetBufferMemoryRequirements)                                                                           \
    X(BindBufferMemory)                                                                                      \
    X(GetBufferDeviceAddress)                                                                                \
    X(CreateShaderModule)                                                                                    \
    X(DestroyShaderModule)                                                                                   \
    X(CreateDescriptorSetLayout)                                                                             \
    X(DestroyDescriptorSetLayout)                                                                            \
    X(CreatePipelineLayout)                                                                                  \
    X(DestroyPipelineLayout)                                                                                 \
    X(CreateComputePipelines)                                                                                \
    X(CreatePipelineCache)                                                                                   \
    X(DestroyPipelineCache)                                                                                  \
    X(GetPipelineCacheData)                                                                                  \
    X(DestroyPipeline)                                                                                       \
    X(CreateDescriptorPool)                                                                                  \
    X(DestroyDescriptorPool)                                                                                 \
    X(ResetDescriptorPool)                                                                                   \
    X(AllocateDescriptorSets)                                                                                \
    X(UpdateDescriptorSets)                                                                                  \
    X(CreateCommandPool)                                                                                     \
    X(DestroyCommandPool)                                                                                    \
    X(ResetCommandPool)                                                                                      \
    X(AllocateCommandBuffers)                                                                                \
    X(BeginCommandBuffer)                                                                                    \
    X(EndCommandBuffer)                                                                                      \
    X(CmdBindPipeline)                                                                                       \
    X(CmdBindDescriptorSets)                                                                                 \
    X(CmdPushConstants)                                                                                      \
    X(CmdDispatch)                                                                                           \
    X(CmdPipelineBarrier)                                                                                    \
    X(CmdFillBuffer)                                                                                         \
    X(CmdCopyBuffer)                                                                                         \
    X(CmdCopyBufferToImage)                                                                                  \
    X(CmdCopyImageToBuffer)                                                                                  \
    X(CmdUpdateBuffer)                                                                                       \
    X(CmdResetQueryPool)                                                                                     \
    X(CmdWriteTimestamp)                                                                                     \
    X(CreateQueryPool)                                                                                       \
    X(DestroyQueryPool)                                                                                      \
    X(GetQueryPoolResults)                                                                                   \
    X(CreateFence)                                                                                           \
    X(DestroyFence)                                                                                          \
    X(ResetFences)                                                                                           \
    X(WaitForFences)                                                                                         \
    X(GetFenceStatus)

#define GPU_FUNCTION_FIELD(name) PFN_vk##name name;
typedef struct gpu_instance_table {
    GPU_INSTANCE_FUNCTIONS(GPU_FUNCTION_FIELD)
    GPU_INSTANCE_OPTIONAL(GPU_FUNCTION_FIELD)
} gpu_instance_table;
#undef GPU_FUNCTION_FIELD
typedef struct VolkDeviceTable gpu_device_table;

bl_result gpu_load_instance_table(PFN_vkGetInstanceProcAddr get, VkInstance instance,
                                  gpu_instance_table *table, bl_error *err);
/* Fills the table, NULL where there is no such function; fails where one of GPU_DEVICE_FUNCTIONS is not
 * there. */
bl_result gpu_load_device_table(PFN_vkGetDeviceProcAddr get, VkDevice device, gpu_device_table *table,
                                bl_error *err);

/* ---- volk.c ---- */

void gpu_volk_load(gpu_device_table *table, void *user,
                   PFN_vkVoidFunction (*load)(void *user, const char *name));

const char *gpu_vk_result_name(VkResult result);
bl_result gpu_result_of(VkResult result);
/* Error of a failed call: "vkQueueSubmit failed: VK_ERROR_DEVICE_LOST". */
bl_result gpu_vk_error(bl_error *err, const char *call, VkResult result);

/* GPU_TRY(d, err, QueueSubmit, queue, 1, &info, fence): calls through the device's table, returns on
 * failure. */
#define GPU_TRY(d, err, function, ...)                                                                       \
    do {                                                                                                     \
        VkResult vk_result_ = (d)->vk.vk##function(__VA_ARGS__);                                             \
        if (vk_result_ != VK_SUCCESS)                                                                        \
            return gpu_vk_error(err, "vk" #function, vk_result_);                                            \
    } while (0)

/* ---- swiftshader.c ---- */

/* Opens SwiftShader as a driver without the loader. On success *library (for dlclose), *get and path are
 * filled in. `explicit_path` NULL: search. The error text says where it looked or why the library is of no
 * use. */
bl_result gpu_swiftshader_open(const char *explicit_path, void **library, PFN_vkGetInstanceProcAddr *get,
                               char *path, size_t path_size, bl_error *err);

/* ---- instance.c: a driver is one VkInstance and where its functions come from ---- */

typedef struct gpu_driver {
    void *library; /* from dlopen; NULL: this driver is not in use */
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    gpu_instance_table vk;
    char found[512];
    uint32_t api_version; /* that the instance was created for */
    bool validated;
} gpu_driver;

bl_result gpu_driver_open_loader(gpu *g, gpu_driver *driver, bool validation, bl_error *err);
bl_result gpu_driver_open_swiftshader(gpu *g, gpu_driver *driver, const char *path, bl_error *err);
void gpu_driver_close(gpu_driver *driver);

/* ---- probe.c: what a physical device can do ---- */

#define GPU_EXTENSIONS(X)                                                                                    \
    X(memory_budget, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)                                                    \
    X(shader_atomic_float, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)                                        \
    X(acceleration_structure, VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME)                                  \
    X(deferred_host_operations, VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME)                              \
    X(ray_query, VK_KHR_RAY_QUERY_EXTENSION_NAME)                                                            \
    X(pipeline_executable_properties, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)                  \
    X(subgroup_size_control, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)                                    \
    X(shader_core_properties, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)                                  \
    X(shader_fragment_mask, VK_AMD_SHADER_FRAGMENT_MASK_EXTENSION_NAME)

typedef struct gpu_extensions {
#define GPU_EXTENSION_FIELD(field, name) bool field;
    GPU_EXTENSIONS(GPU_EXTENSION_FIELD)
#undef GPU_EXTENSION_FIELD
} gpu_extensions;

/* Feature structures, linked in a chain from `core`; those of absent extensions are left out of it. */
typedef struct gpu_features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan12Features vulkan12;
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float;
    VkPhysicalDeviceAccelerationStructureFeaturesKHR acceleration_structure;
    VkPhysicalDeviceRayQueryFeaturesKHR ray_query;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables;
} gpu_features;

typedef struct vulkan_candidate {
    gpu_candidate head;
    const gpu_driver *driver;
    VkPhysicalDevice physical;
    VkPhysicalDeviceType type;
    uint32_t queue_family, timestamp_bits;
    double timestamp_seconds; /* per tick */
    uint64_t max_accel_primitives;
    uint64_t buffer_alignment; /* of offsets of bindings */
    uint32_t accel_scratch_alignment;
    gpu_extensions extensions;
    bool executables;         /* the driver tells about pipelines that it has compiled */
    uint32_t driver_subgroup; /* lanes of a subgroup, as the driver likes */
    uint32_t asked_subgroup;  /* kernels ask for so many; 0: they take the driver's choice */
} vulkan_candidate;

/* False where Backlight cannot use the device: older than Vulkan 1.2, or without a compute queue. */
bool gpu_probe(const gpu_driver *driver, VkPhysicalDevice physical, vulkan_candidate *candidate);
/* What the candidate's device has. */
void gpu_features_query(const vulkan_candidate *candidate, gpu_features *features);
/* Sets what gpu_info and limits say of features to these. */
void gpu_features_describe(vulkan_candidate *candidate, const gpu_features *features);
/* What Backlight uses, of what the candidate's device has, and the extensions for it: returns how many. */
void gpu_features_choose(const vulkan_candidate *candidate, gpu_features *wanted);
enum { GPU_EXTENSIONS_MOST = 4 }; /* without that of statistics, which a device gets that runs nothing */
uint32_t gpu_extensions_choose(const vulkan_candidate *candidate, const char *names[GPU_EXTENSIONS_MOST]);

/* ---- device.c ---- */

extern const gpu_backend vulkan_backend;

enum { GPU_LOADER, GPU_DIRECT, GPU_DRIVER_COUNT };

struct vulkan_drivers {
    gpu_driver all[GPU_DRIVER_COUNT];
};

typedef struct vulkan_device {
    gpu_device head;
    const vulkan_candidate *candidate;
    VkDevice handle;
    VkQueue queue;
    gpu_device_table vk;
    PFN_vkSetDebugUtilsObjectNameEXT
        set_name; /* NULL without VK_EXT_debug_utils; volk counts it to instances */
    VkPhysicalDeviceMemoryProperties memory;
    const VkAllocationCallbacks *allocator; /* NULL, or the caller's */
    struct vulkan_adopted *adopted;         /* NULL: handle is ours, and so is the queue */
    gpu_buffer *staging;                    /* made when memory that is not mapped is first read or written */
    gpu_batch *transfers;                   /* likewise */
} vulkan_device;

static inline vulkan_device *vulkan_device_of(gpu_device *d) { return (vulkan_device *)d; }

/* What a device of the caller's has on top (adopt.c). */
typedef struct vulkan_adopted {
    vulkan_candidate candidate;
    gpu_driver driver;
    VkAllocationCallbacks allocator;
    VkPipelineCache pipeline_cache;             /* may be null */
    uint64_t budget;                            /* bytes of memory at most; 0: no limit */
    VkExternalMemoryHandleTypeFlagBits exports; /* memory is made to be exported so; 0: it is not */
    bool dedicated;                             /* exported memory is of one buffer alone */
    /* Of the caller's allocator; NULL, both: memory is allocated here. */
    VkResult (*allocate)(void *user, const bl_vulkan_memory_needs *needs, bl_vulkan_memory *out);
    void (*free)(void *user, const bl_vulkan_memory *memory);
    void (*lock)(void *user);
    void (*unlock)(void *user);
    void *user;
} vulkan_adopted;

/* Chooses how memory is exported, by the extensions that the caller has enabled. */
bl_result vulkan_export_choose(vulkan_adopted *a, bool fd, bool win32, bl_error *err);
extern const char vulkan_export_win32_extension[];

/* The rest of creation, when candidate and handle are there. */
bl_result vulkan_device_finish(vulkan_device *d, bl_error *err);
/* Other threads of the caller may use the queue, too. */
void vulkan_queue_lock(const vulkan_device *d);
void vulkan_queue_unlock(const vulkan_device *d);
/* Returns when nothing of ours is in flight. */
void vulkan_queue_drain(vulkan_device *d);

/* Names a Vulkan object for validation messages and debuggers; nothing where debug utils are off or label is
 * NULL. */
void gpu_label(vulkan_device *d, VkObjectType type, uint64_t handle, const char *label);

/* ---- memory.c: gpu_buffer_desc.usage are VkBufferUsageFlags ---- */

typedef struct vulkan_buffer {
    gpu_buffer head;
    VkBuffer handle;
    VkDeviceMemory memory;
    bl_vulkan_memory lent; /* of the caller's allocator: memory is null */
    uint32_t memory_type;
    VkBufferUsageFlags usage;
    bool foreign;       /* handle is the caller's, and */
    VkDeviceSize first; /* its bytes from here on are meant; else 0 */
    gpu_buffer
        *address; /* two words, this buffer's address, for kernels that reach it so; NULL until one does */
} vulkan_buffer;

/* Those that every buffer of the device has, and these. */
VkBufferUsageFlags vulkan_buffer_usage(const vulkan_device *d, uint32_t usage);

static inline VkBuffer vulkan_buffer_handle(const gpu_buffer *b)
{
    return ((const vulkan_buffer *)b)->handle;
}

bl_result vulkan_buffer_build(gpu_buffer *b, const gpu_buffer_desc *desc, bl_error *err);
void vulkan_buffer_destroy(gpu_buffer *b);
uint64_t vulkan_buffer_address(const gpu_buffer *b);
bl_result vulkan_buffer_write(gpu_buffer *b, uint64_t offset, const void *data, uint64_t size, bl_error *err);
bl_result vulkan_buffer_read(gpu_buffer *b, uint64_t offset, void *data, uint64_t size, bl_error *err);
/* The buffer that holds the address of b; NULL, with an error, if the device has no buffer addresses. */
gpu_buffer *vulkan_buffer_of_address(gpu_buffer *b, bl_error *err);

/* ---- kernel.c ---- */

typedef struct vulkan_kernel {
    gpu_kernel head;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
} vulkan_kernel;

/* Whether pipelines are made such that the driver tells about them. */
static inline bool vulkan_device_tells(const vulkan_device *d)
{
    return d->candidate->executables && !d->head.runs;
}
bl_result vulkan_kernel_build(gpu_kernel *k, const gpu_kernel_desc *desc, bl_error *err);
void vulkan_kernel_destroy(gpu_kernel *k);

/* ---- dispatch.c ---- */

typedef struct vulkan_batch {
    gpu_batch head;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
    VkFence fence;
    VkQueryPool timestamps; /* two; null where the queue has none */
    /* Of recorders (record.c): `commands` is what is being recorded into, or null; pool and fence are there
     * if `own` is, and there are no timestamps. */
    bool records;
    VkCommandBuffer own; /* what vulkan_recorder_open gives out */
    bool open, in_flight;
    ARRAY(VkDescriptorPool) pools;
    uint32_t current_pool;
    uint32_t pool_sets; /* of the pool made last */
    double submitted_at;
    const gpu_kernel *bound_kernel; /* of the last dispatch, with its buffers; NULL: none yet */
    ARRAY(const gpu_buffer *) bound;
} vulkan_batch;

bl_result vulkan_batch_build(gpu_batch *b, bl_error *err);
void vulkan_batch_destroy(gpu_batch *b);
bl_result vulkan_batch_begin(gpu_batch *b, bl_error *err);
/* Its descriptor sets are not in use any more. */
bl_result vulkan_batch_reset_sets(vulkan_batch *b, bl_error *err);
/* Orders and makes visible what stands before it to what stands behind it; comes before every command. */
void vulkan_batch_barrier(vulkan_batch *b);
bl_result vulkan_batch_dispatch(gpu_batch *b, gpu_kernel *k, gpu_buffer *const *buffers, const uint32_t *push,
                                uint64_t invocations, bl_error *err);
void vulkan_batch_fill(gpu_batch *b, gpu_buffer *buffer, uint64_t offset, uint64_t size, uint32_t word);
void vulkan_batch_copy(gpu_batch *b, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to,
                       uint64_t to_offset, uint64_t size);
bl_result vulkan_batch_submit(gpu_batch *b, bl_error *err);
bl_result vulkan_batch_wait(gpu_batch *b, double *seconds, bl_error *err);
/* The command buffer of a batch between begin and submit. */
VkCommandBuffer vulkan_batch_commands(gpu_batch *b);

/* Handles that are pointers or integers, as the 64 bits that debug names want. */
#define GPU_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

#endif
