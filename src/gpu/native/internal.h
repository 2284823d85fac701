/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of src/gpu/native share. Nothing outside this folder includes it. */
#ifndef GPU_NATIVE_INTERNAL_H
#define GPU_NATIVE_INTERNAL_H

#include "gpu/gpu_internal.h" /* comes first in every file */
#include "gpu/native/native.h"
#include "gpu/native/pool.h"
#include "spirv_gen/x86/x86.h"

/* ---- device.c ---- */

typedef struct native_candidate {
    gpu_candidate head;
    x86_target target;
    uint32_t threads;
} native_candidate;

/* What a thread's kernels work on (x86.h). */
typedef struct native_workspace {
    void *memory;             /* aligned to 64; NULL: none yet */
    uint64_t serial;          /* of the kernel whose constants are there; 0: none */
    uint32_t turn;            /* of the task for which it has been prepared */
    struct native_rays *rays; /* hierarchy.h; NULL: no hierarchy has been made */
    uint64_t *sums;           /* in the place of a buffer of sums (x86.h), 0 between dispatches; NULL: none */
    const struct native_command *summed; /* the dispatch to which what is in `sums` belongs */
} native_workspace;

typedef struct native_device {
    gpu_device head;
    const native_candidate *candidate;
    native_pool *pool;
    native_workspace *workspaces; /* one for each thread */
    uint32_t workspace_bytes;     /* of each: what the largest kernel so far wants */
    uint32_t ray_stack;           /* of each: what the deepest hierarchy so far wants */
    uint32_t sums;                /* of each: what the largest buffer of sums so far has */
    uint64_t kernels_made;        /* serials of kernels */
} native_device;

static inline native_device *native_device_of(gpu_device *d) { return (native_device *)d; }

/* Makes all workspaces at least so large. Waits for batches in flight. */
bl_result native_reserve_workspaces(native_device *d, uint32_t bytes, bl_error *err);
/* Makes all threads able to trace rays through hierarchies whose stack is at most so large. As before. */
bl_result native_reserve_rays(native_device *d, uint32_t stack, bl_error *err);

/* Gives all threads an array of at least so many sums. As before. */
bl_result native_reserve_sums(native_device *d, uint32_t sums, bl_error *err);

/* ---- memory.c ---- */

bl_result native_buffer_build(gpu_buffer *b, const gpu_buffer_desc *desc, bl_error *err);
void native_buffer_destroy(gpu_buffer *b);

/* ---- kernel.c ---- */

typedef struct native_kernel {
    gpu_kernel head;
    x86_header header;
    uint32_t *constants;
    void *code; /* of code_bytes; can be run, not written; NULL: none */
    size_t code_bytes;
    void (*prologue)(void *workspace);
    void (*run)(void *workspace, uint32_t first, uint32_t count);
    uint64_t serial;
} native_kernel;

bl_result native_kernel_build(gpu_kernel *k, const gpu_kernel_desc *desc, bl_error *err);
void native_kernel_destroy(gpu_kernel *k);
/* Whether this process may make memory that runs. The error has the reason. */
bl_result native_code_allowed(bl_error *err);

/* ---- batch.c ---- */

typedef struct native_command native_command;

typedef struct native_batch {
    gpu_batch head;
    ARRAY(native_command *) commands;
    arena memory; /* of the commands */
    ARRAY(native_task) tasks;
    native_job job;
} native_batch;

bl_result native_batch_build(gpu_batch *b, bl_error *err);
void native_batch_destroy(gpu_batch *b);
bl_result native_batch_begin(gpu_batch *b, bl_error *err);
bl_result native_batch_dispatch(gpu_batch *b, gpu_kernel *k, gpu_buffer *const *buffers, const uint32_t *push,
                                uint64_t invocations, bl_error *err);
void native_batch_fill(gpu_batch *b, gpu_buffer *buffer, uint64_t offset, uint64_t size, uint32_t word);
void native_batch_copy(gpu_batch *b, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to,
                       uint64_t to_offset, uint64_t size);
bl_result native_batch_submit(gpu_batch *b, bl_error *err);
bl_result native_batch_wait(gpu_batch *b, double *seconds, bl_error *err);

#endif
