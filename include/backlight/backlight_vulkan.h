/* SPDX-License-Identifier: BSD-3-Clause
 * Backlight inside a Vulkan application: on its device, in its command buffers, with its buffers.
 * docs/embedding.md says it step by step. EXPERIMENTAL: may change in any version.
 *
 *     bl_vulkan_requirements(ctx, &instance, physical, &needs);     what to enable, before there is a device
 *     bl_device_from_vulkan(ctx, &desc, &device);                   jobs and fits work on it
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

enum { BL_VULKAN_USES = 4, BL_VULKAN_EXTENSIONS = 4 };

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
BL_API bl_result bl_vulkan_requirements(bl_context *ctx, const bl_vulkan_instance *instance,
                                        VkPhysicalDevice physical, bl_vulkan_needs *out);

/* ---- a device of the caller's ---- */

/* Memory for a buffer of Backlight's, from an allocator of the caller's. */
typedef struct bl_vulkan_memory_needs {
    VkMemoryRequirements requirements;
    uint32_t memory_type;        /* take this one: it is among those of the requirements */
    VkMemoryAllocateFlags flags; /* of VkMemoryAllocateFlagsInfo, 0 or DEVICE_ADDRESS */
    const char *label;           /* "scene"; for debuggers, during the call */
} bl_vulkan_memory_needs;
typedef struct bl_vulkan_memory {
    VkDeviceMemory memory;
    VkDeviceSize offset; /* a multiple of the alignment */
    void *mapped;        /* of the byte at offset; not NULL where the type is host-visible */
    void *handle;        /* the caller's own */
} bl_vulkan_memory;

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
    bool export_memory;     /* bl_job_export will be called; needs VK_KHR_external_memory_fd or, on Windows,
                               VK_KHR_external_memory_win32 */
    /* All device memory of Backlight's, scratch memory and staging included, comes from here: VkResult, and
     * what there is. Both are called by the calls that the header says may allocate, so never while anything
     * is recorded. NULL, both: vkAllocateMemory. Not with export_memory. */
    VkResult (*allocate_memory)(void *user, const bl_vulkan_memory_needs *needs, bl_vulkan_memory *out);
    void (*free_memory)(void *user, const bl_vulkan_memory *memory);
} bl_vulkan_device_desc;

/* A device of Backlight's on the caller's. Everything in `desc` must outlive it; bl_device_destroy leaves all
 * of it as it is. Jobs, fits and all calls of backlight.h work on it and leave the bytes that they would
 * leave on a device of Backlight's own with the same features; such calls submit to the queue and wait. */
BL_API bl_result bl_device_from_vulkan(bl_context *ctx, const bl_vulkan_device_desc *desc, bl_device **out);

/* ---- images and gradients in the caller's command buffers ---- */

/* Recording. bl_job_prepare_.. makes everything that a pass needs (it may compile, allocate, submit and
 * wait); bl_job_record_.. with the same descriptor then appends commands and does nothing else: nothing is
 * submitted, waited for, mapped or allocated on the device, but descriptor pools of the recorder, which grow.
 *
 * Order. What is recorded uses the job's own buffers, so all passes of a job execute in the order in which
 * they were recorded, each once: in one command buffer, in submissions to one queue, or ordered by
 * semaphores. The other calls of backlight.h that take the job are for the time when nothing recorded is
 * pending. A command buffer that is thrown away: bl_job_prepare_.. again before the next recording.
 *
 * Synchronisation. Commands run in the stages COMPUTE_SHADER and TRANSFER. They begin with a barrier from
 * these stages (SHADER_WRITE, TRANSFER_WRITE) to these stages; what the caller writes in other stages or
 * queues needs a barrier of the caller's to COMPUTE_SHADER | TRANSFER with SHADER_READ | SHADER_WRITE |
 * TRANSFER_READ | TRANSFER_WRITE. Of what they leave, the last access to results is SHADER_WRITE in
 * COMPUTE_SHADER or, for an image, TRANSFER_WRITE in TRANSFER. Buffers and images of the caller's belong to
 * the queue family of the device, or are concurrent. The bound compute pipeline, descriptor set 0 and push
 * constants of the command buffer are changed.
 *
 * A command buffer must be in the recording state, outside of a render pass; Vulkan gives no way to check
 * that. All that can be checked is, before anything is recorded. */

/* The descriptor sets of recorded commands. One recorder a frame in flight is usual. */
typedef struct bl_recorder bl_recorder;
BL_API bl_result bl_recorder_create(bl_device *device, bl_recorder **out); /* of bl_device_from_vulkan */
BL_API void bl_recorder_destroy(bl_recorder *recorder); /* NULL is fine; else as after a reset */
/* Everything that was recorded with it has been executed, or will never be. Waits for what bl_submit has
 * submitted. */
BL_API bl_result bl_recorder_reset(bl_recorder *recorder);

/* For callers without command buffers of their own: bl_recorder_begin gives one out, in the recording state,
 * for bl_job_record_.., bl_fit_record_step and commands of the caller's. bl_submit ends it, submits it to the
 * device's queue and returns at once. The next one comes after bl_recorder_reset; what has been begun and is
 * not wanted is dropped by that, too. A long pass in parts, each a submission, can be given up after any
 * part. */
BL_API bl_result bl_recorder_begin(bl_recorder *recorder, VkCommandBuffer *out);
typedef struct bl_vulkan_semaphore {
    VkSemaphore semaphore;
    uint64_t value; /* of a timeline semaphore, to wait for or to be signalled; else 0 */
} bl_vulkan_semaphore;
typedef struct bl_vulkan_sync {
    const bl_vulkan_semaphore *waits; /* before its compute and transfer stages */
    uint32_t wait_count;
    const bl_vulkan_semaphore *signals; /* when all of it is done */
    uint32_t signal_count;              /* each at most 16 */
} bl_vulkan_sync;
BL_API bl_result bl_submit(bl_recorder *recorder, const bl_vulkan_sync *sync); /* sync NULL: none */
/* Whether what was submitted has been executed; true where there is nothing. */
BL_API bl_result bl_recorder_poll(bl_recorder *recorder, bool *done);

/* An image of the caller's, of the size of the scene's film, row 0 at the top: in a buffer or as a VkImage.
 */
typedef struct bl_vulkan_pixels {
    VkBuffer buffer; /* 3 floats a pixel, row by row; has VK_BUFFER_USAGE_STORAGE_BUFFER_BIT */
    VkBufferUsageFlags buffer_usage; /* as it was created, */
    VkDeviceSize buffer_size;        /* and its size in bytes */
    VkDeviceSize offset;             /* of the first pixel; a multiple of 4 */
    uint32_t stride;                 /* bytes from pixel to pixel, a multiple of 4; 0: 12 */
    VkImage image;                   /* or this, if buffer is null: mip level 0, layer 0, colour */
    VkImageUsageFlags image_usage;   /* TRANSFER_DST to be written, TRANSFER_SRC to be read */
    VkFormat format;                 /* R32G32B32A32_SFLOAT or R16G16B16A16_SFLOAT; alpha is written as 1 */
    uint32_t width, height;
    VkImageLayout layout; /* before and after: GENERAL, or TRANSFER_DST_OPTIMAL, TRANSFER_SRC_OPTIMAL */
} bl_vulkan_pixels;

/* What all passes have. */
typedef struct bl_vulkan_pass {
    uint32_t spp; /* 0: the scene's */
    uint32_t seed;
    /* Parameters (indices in the scene) whose values commands before this pass have changed
     * (bl_job_vulkan_parameter): what depends on them is computed again. Of the first part. */
    const uint32_t *changed;
    uint32_t changed_count;
    /* A pass that is too long for one submission is recorded in `parts` parts, 0 to parts - 1, about equally
     * long; results are the same bytes for any number. parts 0: 1. */
    uint32_t part, parts;
    uint32_t coarser; /* repeats after an overflow of fixed point (bl_vulkan_status): one more each time */
} bl_vulkan_pass;

typedef struct bl_vulkan_image_desc {
    bl_vulkan_pass pass;
    bl_vulkan_pixels image; /* receives the image; buffer and image null: it stays in the job's */
} bl_vulkan_image_desc;

typedef struct bl_vulkan_gradient_desc {
    bl_vulkan_pass pass;
    bl_vulkan_pixels adjoint; /* dL/dI, or */
    bl_vulkan_pixels target;  /* the image that the job's is compared with */
    bl_loss loss;             /* against the target, as in bl_gradient_desc */
    double loss_constant;
    bl_gradient_form form; /* as in bl_gradient_desc */
} bl_vulkan_gradient_desc;

/* What a whole pass will take. */
typedef struct bl_vulkan_cost {
    uint64_t paths;        /* of all parts */
    double seconds;        /* by the speed of earlier calls of the job that did not record; 0: none yet */
    uint64_t device_bytes; /* held by the job */
} bl_vulkan_cost;

/* The image of bl_job_render with this spp and seed. cost may be NULL. */
BL_API bl_result bl_job_prepare_image(bl_job *job, const bl_vulkan_image_desc *desc, bl_vulkan_cost *cost);
BL_API bl_result bl_job_record_image(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                                     const bl_vulkan_image_desc *desc);
/* The gradients of bl_job_gradient with this spp, seed, form, and adjoint or target and loss.
 * BL_ERROR_UNSUPPORTED, with the reason, for jobs with BL_PIXELS_ADJOINT. */
BL_API bl_result bl_job_prepare_gradient(bl_job *job, const bl_vulkan_gradient_desc *desc,
                                         bl_vulkan_cost *cost);
BL_API bl_result bl_job_record_gradient(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                                        const bl_vulkan_gradient_desc *desc);

/* A part of one of the job's buffers, which has the usage STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST. */
typedef struct bl_vulkan_region {
    VkBuffer buffer;
    VkDeviceSize offset, size;
} bl_vulkan_region;

/* Words of the status of the last pass, u32, modulo 2^32; zeroed when a pass begins. */
typedef enum bl_vulkan_status {
    BL_VULKAN_DRIFTED, /* as in bl_stats */
    BL_VULKAN_OVERFLOWED,
    BL_VULKAN_UNDERFLOWED,
    BL_VULKAN_NON_FINITE,
    BL_VULKAN_CUT,
    BL_VULKAN_STATUS_COUNT
} bl_vulkan_status;

/* Where the job keeps what passes leave; for commands of the caller's to read, until the next pass. */
typedef struct bl_vulkan_results {
    bl_vulkan_region image;  /* 3 floats a pixel: of an image, or of the samples of a gradient */
    bl_vulkan_region loss;   /* 1 float: of a gradient, the loss, or sum of dL/dI times its image */
    bl_vulkan_region status; /* bl_vulkan_status */
} bl_vulkan_results;
BL_API bl_result bl_job_vulkan_results(bl_job *job, bl_vulkan_results *out);
/* The gradient of parameter k of the descriptor, floats in the parameter's shape. */
BL_API bl_result bl_job_vulkan_gradient(bl_job *job, uint32_t k, bl_vulkan_region *out);
/* The values of a parameter of the scene, floats, for commands of the caller's to read and write. Values that
 * they write go by bl_vulkan_pass.changed, and bl_job_get_parameter returns them. Geometry, too: positions
 * and normals of meshes (of a job with them among its parameters, or with geometry_changes) and to_world of
 * shapes and instances (of a job with them among its parameters); what follows from it, hierarchies included,
 * follows on the device. Values must be finite, and maps invertible; but the to_world of an instance may be
 * scaled by 0 (its first three columns are 0), which takes the instance out of the scene until it is another
 * one. So a scene is made with as many instances as there will ever be, and the others scaled by 0. */
BL_API bl_result bl_job_vulkan_parameter(bl_job *job, uint32_t index, bl_vulkan_region *out);
/* Appends a copy of values from a buffer or image of the caller's to there: a parameter whose elements are
 * three floats each. Positions out of a vertex buffer, for instance: as many elements as there are vertices,
 * `offset` and `stride` as in there; or a texture [height, width, 3] out of a VkImage of its size. The pass
 * behind it says that the parameter has changed. Preparing as for passes. */
BL_API bl_result bl_job_prepare_values(bl_job *job, uint32_t index, const bl_vulkan_pixels *from);
BL_API bl_result bl_job_record_values(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                                      uint32_t index, const bl_vulkan_pixels *from);
/* The same for the faces of the mesh that has these positions, out of an index buffer: as many triangles as
 * the mesh was made with, three u32 each, counted from 0, `offset` and `stride` as in there (stride 0: 12).
 * An index beyond the last vertex becomes that. The pass behind it says that the positions have changed;
 * lights' tables, hierarchies and acceleration structures follow. A hierarchy keeps its tree, which was made
 * for the faces before: where few triangles stay where they were, rays take longer, until preparing a pass
 * makes a new one. BL_ERROR_UNSUPPORTED, with the reason, for meshes whose normals are generated from faces,
 * and in jobs whose gradients have moving edges. */
BL_API bl_result bl_job_prepare_faces(bl_job *job, uint32_t positions, const bl_vulkan_pixels *from);
BL_API bl_result bl_job_record_faces(bl_job *job, bl_recorder *recorder, VkCommandBuffer commands,
                                     uint32_t positions, const bl_vulkan_pixels *from);

/* The memory of a region of the job's, for another device, process or API. An importer makes a buffer with
 * VkExternalMemoryBufferCreateInfo of this size and usage, imports the descriptor into an allocation of this
 * size and type (VkImportMemoryFdInfoKHR, opaque), and binds it at 0. Results are there when what leaves them
 * has been executed and made available. The memory lives as long as the job or an importer. On Windows it is
 * a handle that VkImportMemoryWin32HandleInfoKHR takes; this has been compiled, and never run. */
typedef struct bl_vulkan_export {
    int fd;       /* the caller's: a successful import takes it, else close it; -1: there is a handle */
    void *handle; /* HANDLE, the caller's: close it, also after an import; NULL: there is a descriptor */
    VkDeviceSize allocation_size;
    uint32_t memory_type;
    bool dedicated; /* the import must be dedicated to the buffer */
    VkDeviceSize buffer_size;
    VkBufferUsageFlags buffer_usage;
    VkDeviceSize offset, size; /* of the region in the buffer */
} bl_vulkan_export;
BL_API bl_result bl_job_export(bl_job *job, const bl_vulkan_region *region, bl_vulkan_export *out);

/* ---- an acceleration structure of the caller's ---- */

/* How a mesh of the scene stands in it: in one bottom level of one geometry, as triangles in the order of the
 * mesh's faces with the corners of each in their order, opaque; shown once at the top, with this custom
 * index, mask 0xFF and VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR, by whatever map brings it
 * to where the scene has it. Meshes whose custom indices follow each other may share a bottom level, as one
 * geometry with the first one's index. shape: as in bl_hit. BL_ERROR_UNSUPPORTED, with the reason: the job's
 * rays are no queries (BL_RAYS_QUERY), or the scene has shapegroups or shapes that are no meshes. */
typedef struct bl_vulkan_mesh {
    uint32_t custom_index, triangle_count;
} bl_vulkan_mesh;
BL_API bl_result bl_job_vulkan_mesh(bl_job *job, uint32_t shape, bl_vulkan_mesh *out);
/* Takes a top level, built by then or before passes execute, in place of the job's own structure, which goes.
 * It must outlive the job or be replaced by another call, between passes. Before positions have moved. Vulkan
 * gives no way to look into it: what does not follow the rule above shows other surfaces. Where positions
 * move, it is the caller who updates it, after bl_vulkan_pass.changed says so. */
BL_API bl_result bl_job_use_accel(bl_job *job, VkAccelerationStructureKHR top);

/* ---- steps of fits in the caller's command buffers ---- */

/* A step of bl_fit_step, entirely in commands: images, losses, gradients and the optimiser's move, with the
 * same bytes. Any number of steps may be recorded, one after another, before the first is executed: nothing
 * comes back in between. Preparing as for passes; parts as in bl_vulkan_pass, each step whole before the next
 * begins. bl_fit_status.step counts recorded steps; the rest of the status stays, and what it would say is in
 * bl_vulkan_step_results. A step whose fixed point overflows is not repeated; bl_fit_prepare_step then makes
 * the scale coarser for the steps to come. A batch of pixels is drawn when its step is recorded, and its list
 * and targets, 16 bytes a pixel, become part of the commands. BL_ERROR_UNSUPPORTED, with the reason, with
 * large steps of meshes, with BL_PIXELS_ADJOINT, and with variance_steps, wanted_noise, recursive_images and
 * average_from. cost may be NULL. */
BL_API bl_result bl_fit_prepare_step(bl_fit *fit, bl_vulkan_cost *cost);
BL_API bl_result bl_fit_record_step(bl_fit *fit, bl_recorder *recorder, VkCommandBuffer commands,
                                    uint32_t part, uint32_t parts);
/* A target of the caller's: appends a copy of an image into the target of a view that is not held out, for
 * the steps behind it. Gradients keep the scale of the targets that the fit was created with, which may be
 * any of about the same brightness (2^28 times as much overflows); bl_fit_save and bl_fit_restore compare
 * those. BL_ERROR_UNSUPPORTED with a batch of pixels. Preparing as for passes. */
BL_API bl_result bl_fit_prepare_target(bl_fit *fit, uint32_t view, const bl_vulkan_pixels *target);
BL_API bl_result bl_fit_record_target(bl_fit *fit, bl_recorder *recorder, VkCommandBuffer commands,
                                      uint32_t view, const bl_vulkan_pixels *target);
typedef struct bl_vulkan_step_results {
    bl_vulkan_region
        losses; /* of the last step: 1 float a view that is not held out; their sum is the loss */
    bl_vulkan_region status;    /* of the last step: bl_vulkan_status */
    bl_vulkan_region optimizer; /* of all steps since bl_fit_step or bl_fit_prepare_step, 2 u32: elements left
                                   unchanged because their gradient was not finite; values that are not */
} bl_vulkan_step_results;
/* After bl_fit_prepare_step. */
BL_API bl_result bl_fit_vulkan_results(bl_fit *fit, bl_vulkan_step_results *out);
/* The values of parameter k of the descriptor, for commands of the caller's to read. */
BL_API bl_result bl_fit_vulkan_parameter(bl_fit *fit, uint32_t k, bl_vulkan_region *out);

#ifdef __cplusplus
}
#endif
#endif
