/* SPDX-License-Identifier: BSD-3-Clause
 * What the back ends share: the objects behind gpu.h, of which each back end has its own continuation, and
 * the table of functions by which it is called.
 *
 * The files of this folder hold what all devices have in common: the list of devices, arguments and their
 * limits, states, statistics. vulkan/ and native/ do the work. Nothing outside src/gpu includes this header,
 * except tests that make calls fail. */
#ifndef BL_GPU_INTERNAL_H
#define BL_GPU_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv, strcasestr; this header comes first in every file */
#endif

#include "gpu/gpu.h"

typedef struct gpu_backend gpu_backend;

/* ---- device.c ---- */

/* A device that could be created. A back end's own candidates begin with this. */
typedef struct gpu_candidate {
    const gpu_backend *backend;
    uint32_t max_workgroup_size;
    gpu_info info;
} gpu_candidate;

typedef struct vulkan_drivers vulkan_drivers;

struct gpu {
    gpu_options options; /* without `swiftshader`, which is used while the caller's string is there */
    ARRAY(gpu_candidate *) candidates; /* in default order, each from malloc */
    vulkan_drivers *vulkan;            /* NULL: Vulkan has not been opened */
    text notes; /* why something is not there, for the error of a selector that matches nothing */
    uint32_t
        messages; /* of the validation layer; written atomically, drivers may call from their own threads */
    uint32_t devices_alive; /* what candidates point to must outlive them */
};

struct gpu_device {
    gpu *owner;
    const gpu_backend *backend;
    const gpu_candidate *candidate;
    bool runs; /* gpu_device_runs */
    gpu_rounding rounding;
    gpu_stats stats;
};

/* The error of what a device does not do that runs nothing. */
bl_result gpu_runs_nothing(const gpu_device *d, bl_error *err);
void gpu_log(const gpu *g, const char *format, ...) BL_PRINTF(2, 3);
/* A missing driver is no error, because other devices may do. The reason is logged, and kept for the error of
 * a selector that asks for that driver. */
void gpu_note(gpu *g, const bl_error *reason);

/* ---- memory.c ---- */

struct gpu_buffer {
    gpu_device *device;
    uint64_t asked, size, allocated; /* bytes: before rounding, of the buffer, of its memory */
    void *mapped;
    char *label;
};

/* Like gpu_buffer_create, for a further use. */
typedef struct gpu_buffer_desc {
    gpu_memory where;
    uint64_t size;  /* bytes */
    uint32_t usage; /* the back end's own flags, on top of those that every buffer has */
    const char *label;
} gpu_buffer_desc;
bl_result gpu_buffer_create_for(gpu_device *d, const gpu_buffer_desc *desc, gpu_buffer **out, bl_error *err);
/* The back end has allocated memory for the buffer. */
void gpu_buffer_allocated(gpu_buffer *b, uint64_t bytes);

/* ---- kernel.c ---- */

struct gpu_kernel {
    gpu_device *device;
    uint32_t buffer_count, push_words, local_size, addressed;
    char *label;
    void *driver_data; /* from malloc */
    size_t driver_data_size;
    ARRAY(gpu_statistic) statistics;
};

static inline bool gpu_kernel_addresses(const gpu_kernel *k, uint32_t buffer)
{
    return buffer < 32 && k->addressed >> buffer & 1;
}

/* ---- dispatch.c ---- */

typedef enum batch_state { BATCH_IDLE, BATCH_RECORDING, BATCH_SUBMITTED } batch_state;

struct gpu_batch {
    gpu_device *device;
    batch_state state;
    bl_error error; /* the first of this recording; code BL_OK: none */
};

/* ---- back ends ---- */

/* The common part allocates an object, zeroed, of the size below, fills in its head and calls `build`. It
 * calls `destroy`, which frees what the back end has added, for objects that are only partly built, too.
 * Arguments have been checked as gpu.h says. A NULL: no object of this back end comes there. */
struct gpu_backend {
    size_t device_size, buffer_size, kernel_size, batch_size;

    bl_result (*device_build)(gpu_device *d, bl_error *err);
    void (*device_destroy)(gpu_device *d);

    bl_result (*buffer_build)(gpu_buffer *b, const gpu_buffer_desc *desc, bl_error *err); /* zeroed */
    void (*buffer_destroy)(gpu_buffer *b);
    uint64_t (*buffer_address)(const gpu_buffer *b);
    /* of buffers that are not mapped */
    bl_result (*buffer_write)(gpu_buffer *b, uint64_t offset, const void *data, uint64_t size, bl_error *err);
    bl_result (*buffer_read)(gpu_buffer *b, uint64_t offset, void *data, uint64_t size, bl_error *err);

    bl_result (*kernel_build)(gpu_kernel *k, const gpu_kernel_desc *desc, bl_error *err);
    void (*kernel_destroy)(gpu_kernel *k);

    bl_result (*batch_build)(gpu_batch *b, bl_error *err);
    void (*batch_destroy)(gpu_batch *b); /* waits for a batch in flight */
    bl_result (*batch_begin)(gpu_batch *b, bl_error *err);
    bl_result (*batch_dispatch)(gpu_batch *b, gpu_kernel *k, gpu_buffer *const *buffers, const uint32_t *push,
                                uint64_t invocations, bl_error *err);
    void (*batch_fill)(gpu_batch *b, gpu_buffer *buffer, uint64_t offset, uint64_t size, uint32_t word);
    void (*batch_copy)(gpu_batch *b, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to,
                       uint64_t to_offset, uint64_t size);
    bl_result (*batch_submit)(gpu_batch *b, bl_error *err);
    bl_result (*batch_wait)(gpu_batch *b, double *seconds, bl_error *err);
};

#endif
