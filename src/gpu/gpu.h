/* SPDX-License-Identifier: BSD-3-Clause
 * Compute devices for the rest of Backlight: devices, buffers, kernels, batches of dispatches. Behind it are
 * Vulkan (vulkan/) and this processor itself (native/).
 *
 * Takes the words of kernels; never sees a trace. No global state: function tables per instance and per
 * device. One thread at a time per device. Kernels are SPIR-V on devices of Vulkan (spirv_gen/spv and glsl/
 * follow one convention: descriptor set 0, storage buffers at bindings 0 .. n-1; push constants are up to 32
 * words; entry point "main"; one-dimensional LocalSize) and x86-64 code on the native one
 * (spirv_gen/x86/x86.h). */
#ifndef BL_GPU_H
#define BL_GPU_H

#include "base/base.h"

typedef struct gpu gpu; /* the list of devices, and what has been opened for it */
typedef struct gpu_device gpu_device;
typedef struct gpu_buffer gpu_buffer;
typedef struct gpu_kernel gpu_kernel;
typedef struct gpu_batch gpu_batch;

typedef enum gpu_kind {
    GPU_DISCRETE,
    GPU_INTEGRATED,
    GPU_OTHER,
    GPU_NATIVE, /* this processor, by kernels of its own machine code; no Vulkan */
    GPU_LAVAPIPE,
    GPU_SWIFTSHADER
} gpu_kind; /* default order */
/* Whether kernels run on this machine's processor: not on a GPU. */
static inline bool gpu_is_processor(gpu_kind kind) { return kind >= GPU_NATIVE; }

typedef struct gpu_info {
    char name[256];   /* as the driver reports it; native: processor, instructions, threads */
    char driver[256]; /* driver name and version */
    char uuid[40];    /* "12345678-1234-..", as the driver gives it; native: "" */
    char found[512];  /* how: "Vulkan loader", the path of the library opened directly, "processor" */
    gpu_kind kind;
    uint32_t api_version;   /* VK_MAKE_API_VERSION; 0: no Vulkan */
    uint32_t threads;       /* native: how many; else 0 */
    uint32_t native_target; /* x86_target of the kernels that it runs; 0: they are SPIR-V */
    uint32_t subgroup_size;
    /* What subgroups on one SIMD share out, of each lane: registers, in multiples of register_step a
     * subgroup, and words of the workgroups' memory; 0: the driver does not tell. */
    uint32_t simd_registers, register_step, simd_words;
    uint64_t max_buffer_range;    /* bytes one storage-buffer binding can address */
    uint64_t max_allocation;      /* bytes */
    uint32_t max_storage_buffers; /* per stage */
    bool rounds;                  /* it is known to round f32 division and square root to the nearest */
    bool float_atomics;           /* shaderBufferFloat32AtomicAdd */
    bool ray_query, int64, timestamps, signed_zero_inf_nan_preserve;
    bool float64;        /* kernels of modules of doubles run: shaderFloat64 */
    bool int64_atomics;  /* shaderBufferInt64Atomics */
    bool buffer_address; /* gpu_buffer_address works, kernels may use PhysicalStorageBuffer */
    bool memory_model;   /* vulkanMemoryModel with device scope */
    bool scalar_layout;  /* scalarBlockLayout */
    bool validated;      /* the validation layer watches this device (never one opened directly) */
    bool null_hardware;  /* a driver's compiler without a device behind it: it compiles, and runs nothing */
} gpu_info;

/* ---- device.c ---- */

typedef struct gpu_options {
    bool validation; /* enable VK_LAYER_KHRONOS_validation; every message goes to `log` and is counted */
    const char *swiftshader; /* path of libvk_swiftshader.so; NULL: search BL_SWIFTSHADER, data folders, known
                                programs */
    uint32_t buffer_range;   /* testing: max_buffer_range of devices of Vulkan is at most this; 0: its own */
    void (*log)(void *user, const char *message);
    void *user;
} gpu_options;

/* Vulkan is opened here only if an option wants it, else when the list is asked for or a device other than
 * "native" is created. */
bl_result gpu_open(const gpu_options *options, gpu **out, bl_error *err);
void gpu_close(gpu *g);
uint32_t gpu_count(gpu *g); /* devices found, in default order */
const gpu_info *gpu_info_at(gpu *g, uint32_t index);
uint32_t gpu_validation_messages(const gpu *g);

/* selector: NULL or "auto" (first in default order that is hardware), "native", "swiftshader", "lavapipe", a
 * number (a place in the list, from 0), "uuid:" and the beginning of a UUID, or part of a name
 * (case-insensitive). A selector that matches nothing is BL_ERROR_NO_DEVICE with the list of what there
 * is. */
bl_result gpu_device_create(gpu *g, const char *selector, gpu_device **out, bl_error *err);
/* The same device, to make kernels with and nothing else. */
bl_result gpu_compiler_create(gpu *g, const char *selector, gpu_device **out, bl_error *err);
void gpu_device_destroy(gpu_device *d);
const gpu_info *gpu_device_info(const gpu_device *d);
/* Whether the device runs what it makes. Null hardware does not, nor what gpu_compiler_create has made. Such
 * a device holds no memory: its buffers have a size, what is written to them is dropped, reading fails, and
 * so does the beginning of a batch. It has no acceleration structures. */
bool gpu_device_runs(const gpu_device *d);

/* How f32 division and square root of its kernels come to be rounded to the nearest. */
typedef enum gpu_rounding {
    GPU_ROUNDING_UNKNOWN, /* nobody has looked: as the kind of device says (gpu_info.rounds) */
    GPU_ROUNDING_OWN,     /* by themselves */
    GPU_ROUNDING_FUSED,   /* by a multiply-add that rounds once (spirv_gen/spv/rounded.c) */
    GPU_ROUNDING_WORDS    /* by integers (spirv_gen/spv/rounded.c) */
} gpu_rounding;
gpu_rounding gpu_device_rounding(const gpu_device *d); /* never unknown */
void gpu_device_set_rounding(gpu_device *d, gpu_rounding rounding);

typedef struct gpu_stats {
    uint64_t pipelines_created, dispatches, submits;
    uint64_t bytes_allocated, bytes_peak;
    double driver_compile_seconds;
} gpu_stats;
gpu_stats gpu_device_stats(const gpu_device *d);

/* ---- memory.c ---- */

typedef enum gpu_memory { GPU_DEVICE, GPU_HOST } gpu_memory; /* GPU_HOST: mapped, cached, coherent */

/* size in bytes, rounded up to 16, zero becomes 16; contents zeroed. */
bl_result gpu_buffer_create(gpu_device *d, gpu_memory where, uint64_t size, const char *label,
                            gpu_buffer **out, bl_error *err);
void gpu_buffer_destroy(gpu_buffer *b);
uint64_t gpu_buffer_size(const gpu_buffer *b);
uint64_t gpu_buffer_asked_size(const gpu_buffer *b); /* before rounding */
void *gpu_buffer_mapped(gpu_buffer *b);              /* NULL for GPU_DEVICE memory that is not host-visible */
/* Device address of byte 0, for buffers beyond max_buffer_range; 0 where the device has no buffer_address. */
uint64_t gpu_buffer_address(const gpu_buffer *b);
/* Blocking copies; staged where the memory is not mapped. */
bl_result gpu_buffer_write(gpu_buffer *b, uint64_t offset, const void *data, uint64_t size, bl_error *err);
bl_result gpu_buffer_read(gpu_buffer *b, uint64_t offset, void *data, uint64_t size, bl_error *err);

/* ---- accel.c: acceleration structures for ray queries; only where gpu_info.ray_query ---- */

typedef struct gpu_accel gpu_accel;

/* Copied. Triangles are opaque and have two sides; boxes are candidates for the kernel to decide on. */
typedef struct gpu_accel_group {
    const float *triangles;             /* 9 floats each: three corners */
    const float *boxes;                 /* 6 floats each: least xyz, most xyz */
    uint32_t triangle_count, box_count; /* may be 0, both */
} gpu_accel_group;
typedef struct gpu_accel_instance {
    uint32_t group;
    float to_world[12];                 /* 3 rows of 4 */
    uint32_t triangle_index, box_index; /* custom index of its triangles, of its boxes; both below 2^24 */
    bool hidden;                        /* no ray sees it, whatever its to_world */
} gpu_accel_instance;
typedef struct gpu_accel_desc {
    const gpu_accel_group *groups;
    const gpu_accel_instance *instances;
    uint32_t group_count, instance_count; /* may be 0 */
    bool changes; /* corners and maps will be written to where they stand: inputs are kept */
    const char *label;
} gpu_accel_desc;
bl_result gpu_accel_create(gpu_device *d, const gpu_accel_desc *desc, gpu_accel **out, bl_error *err);
void gpu_accel_destroy(gpu_accel *a); /* not while a batch is in flight whose kernels use it */
/* The address of the top level, which OpConvertUToAccelerationStructureKHR takes. */
uint64_t gpu_accel_address(const gpu_accel *a);
uint64_t gpu_accel_size(const gpu_accel *a); /* bytes of device memory held */
/* For geometry that changes (gpu_accel_desc.changes). First new corners are written to where a group's
 * triangles are, and new maps to where those of instances are. Then gpu_accel_record_follow appends what
 * brings the group up to date, by an update or built anew, and after all groups gpu_accel_record_follow_top
 * the top level. Addresses stay. */
bool gpu_accel_changes(const gpu_accel *a);
gpu_buffer *gpu_accel_corners(gpu_accel *a, uint32_t group); /* NULL where it has no triangles */
/* The map of an instance, 12 floats, stands in the buffer of instances once for its triangles and once for
 * its boxes. at: offsets of these places; returns how many there are (0 to 2). GPU_ACCEL_MASK bytes behind
 * each place stands a byte: 0xFF, or 0 where the instance is hidden. */
enum { GPU_ACCEL_MASK = 51 };
gpu_buffer *gpu_accel_instances(gpu_accel *a);
uint32_t gpu_accel_maps(const gpu_accel *a, uint32_t instance, uint64_t at[2]);
void gpu_accel_record_follow(gpu_accel *a, gpu_batch *batch, uint32_t group, bool anew);
void gpu_accel_record_follow_top(gpu_accel *a, gpu_batch *batch);

/* ---- native/hierarchy.c: what answers rays of native kernels; only where gpu_info.native_target ---- */

typedef struct gpu_hierarchy gpu_hierarchy;

/* The two-wide hierarchies, level records and entries of a scene buffer (base/bvh_layout.h), and where in its
 * header they are, as in opt_options. The buffer stays where it is as long as the hierarchy lives. */
typedef struct gpu_hierarchy_desc {
    const gpu_buffer *scene;
    uint32_t node_base_word, entry_base_word;
    uint32_t level_word;    /* 0: there is one level */
    uint32_t triangle_kind; /* of entries; all other kinds are candidates for the kernel to decide on */
} gpu_hierarchy_desc;
#ifdef BL_WITH_NATIVE
bl_result gpu_hierarchy_create(gpu_device *d, const gpu_hierarchy_desc *desc, gpu_hierarchy **out,
                               bl_error *err);
void gpu_hierarchy_destroy(gpu_hierarchy *h); /* not while a batch is in flight whose kernels use it */
/* What kernels take for it: x86_options.rays_word. */
uint64_t gpu_hierarchy_address(const gpu_hierarchy *h);
uint64_t gpu_hierarchy_size(const gpu_hierarchy *h); /* bytes */
/* Takes over boxes, triangles and maps that have changed in the scene buffer, where references have not. */
void gpu_hierarchy_follow(gpu_hierarchy *h);
#else /* no device has one */
static inline bl_result gpu_hierarchy_create(gpu_device *d, const gpu_hierarchy_desc *desc,
                                             gpu_hierarchy **out, bl_error *err)
{
    (void)d, (void)desc;
    *out = NULL;
    return error_set(err, BL_ERROR_UNSUPPORTED, "this build is without the native device");
}
static inline void gpu_hierarchy_destroy(gpu_hierarchy *h) { (void)h; }
static inline uint64_t gpu_hierarchy_address(const gpu_hierarchy *h) { return (void)h, 0; }
static inline uint64_t gpu_hierarchy_size(const gpu_hierarchy *h) { return (void)h, 0; }
static inline void gpu_hierarchy_follow(gpu_hierarchy *h) { (void)h; }
#endif

/* ---- kernel.c ---- */

typedef struct gpu_kernel_desc {
    const uint32_t *words; /* SPIR-V, or a kernel for gpu_info.native_target */
    size_t word_count;
    uint32_t buffer_count; /* storage buffers at bindings 0 .. buffer_count-1 */
    uint32_t push_words;   /* <= 32 */
    uint32_t local_size;   /* as in the module */
    uint32_t addressed; /* bit i: the module reaches buffer i, of the first 32, through its address, which is
                           what is bound: two words, low first. Such a buffer may be larger than
                           max_buffer_range; only where gpu_info.buffer_address */
    const char *label;
    const void
        *driver_data; /* what gpu_kernel_driver_data gave for the same words on the same driver; NULL */
    size_t driver_data_size;
    bool keep_driver_data; /* gpu_kernel_driver_data will be asked */
} gpu_kernel_desc;
bl_result gpu_kernel_create(gpu_device *d, const gpu_kernel_desc *desc, gpu_kernel **out, bl_error *err);
void gpu_kernel_destroy(gpu_kernel *k);
/* What the driver would compile less with next time; NULL where it gives nothing but a header (CPU drivers).
 * Lives as long as the kernel. */
const void *gpu_kernel_driver_data(const gpu_kernel *k, size_t *size);

typedef struct gpu_statistic {
    char name[64]; /* the driver's own */
    double value;
} gpu_statistic;
/* What the compiler tells of a kernel: of a device that runs nothing, where the driver has
 * VK_KHR_pipeline_executable_properties; of native kernels. Returns how many numbers there are, maybe none;
 * they live as long as the kernel. */
uint32_t gpu_kernel_statistics(const gpu_kernel *k, const gpu_statistic **out);

/* ---- dispatch.c: a batch is recorded, submitted, waited for; then it can be recorded again ---- */

bl_result gpu_batch_create(gpu_device *d, gpu_batch **out, bl_error *err);
void gpu_batch_destroy(gpu_batch *b);
bl_result gpu_batch_begin(gpu_batch *b, bl_error *err);
/* invocations: rounded up to whole workgroups (not on the native device); the kernel checks its own bound.
 * Dispatches of more than 65535 groups are split over y; kernels compute the linear index x + y * 65535 *
 * local_size. A full memory barrier (compute and transfer, read and write) precedes every command of a batch.
 */
void gpu_batch_dispatch(gpu_batch *b, gpu_kernel *k, gpu_buffer *const *buffers, const uint32_t *push,
                        uint64_t invocations);
void gpu_batch_fill(gpu_batch *b, gpu_buffer *buffer, uint64_t offset, uint64_t size, uint32_t word);
void gpu_batch_copy(gpu_batch *b, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
                    uint64_t size);
/* For whoever cannot record what belongs here: submit returns this error, unless there is one already. */
void gpu_batch_fail(gpu_batch *b, const bl_error *error);
bl_result gpu_batch_submit(gpu_batch *b, bl_error *err);
/* Blocks; *seconds (may be NULL) is the device's own time between begin and end of the batch, by timestamps
 * where there are any, else host time. Device loss is BL_ERROR_DEVICE_LOST. */
bl_result gpu_batch_wait(gpu_batch *b, double *seconds, bl_error *err);

#endif
