/* SPDX-License-Identifier: BSD-3-Clause
 * The native device in the list, or why it is not there; its threads and their workspaces. */
#include "gpu/native/hierarchy.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { WORKGROUP_MOST = 1024 };

static const gpu_backend native_backend;

/* ---- what there is ---- */

/* The processor's name as it tells it (CPUID, leaves 0x80000002 to 0x80000004), without the spaces around. */
static void processor_name(char name[49])
{
    snprintf(name, 49, "unknown processor");
#if defined(__x86_64__)
    uint32_t leaves[13] = {0}, most = __get_cpuid_max(0x80000000, NULL);
    for (uint32_t k = 0; most >= 0x80000004 && k < 3; k++)
        __get_cpuid(0x80000002 + k, leaves + 4 * k, leaves + 4 * k + 1, leaves + 4 * k + 2,
                    leaves + 4 * k + 3);
    const char *begin = (const char *)leaves;
    begin += strspn(begin, " ");
    size_t length = strlen(begin);
    while (length > 0 && begin[length - 1] == ' ')
        length--;
    if (length > 0)
        snprintf(name, 49, "%.*s", (int)length, begin);
#endif
}

static bl_result choose_target(x86_target *out, bl_error *err)
{
    const char *wanted = getenv("BL_NATIVE");
    *out = x86_processor();
    if (wanted && strcmp(wanted, "off") == 0)
        return error_set(err, BL_ERROR_NO_DEVICE, "native: BL_NATIVE is 'off'");
    if (*out == X86_NONE)
        return error_set(err, BL_ERROR_NO_DEVICE,
                         "native: needs an x86-64 processor with AVX2, and an "
                         "operating system that keeps its registers");
    if (!wanted || !*wanted)
        return BL_OK;
    if (strcmp(wanted, "avx2") == 0)
        *out = X86_AVX2;
    else if (strcmp(wanted, "avx512") != 0)
        return error_set(err, BL_ERROR_NO_DEVICE, "native: BL_NATIVE is '%.32s', not avx512, avx2 or off",
                         wanted);
    else if (*out != X86_AVX512)
        return error_set(err, BL_ERROR_NO_DEVICE,
                         "native: BL_NATIVE is 'avx512'; this processor lacks AVX-512 (F, BW, DQ, VL)");
    return BL_OK;
}

/* The processors that this process may run on. */
static uint32_t allowed_processors(void)
{
    enum { MOST = 1 << 14 };
    cpu_set_t *set = CPU_ALLOC(MOST);
    size_t size = CPU_ALLOC_SIZE(MOST);
    int count = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    return count > 0 ? (uint32_t)count : 1;
}

static bl_result choose_threads(uint32_t *out, bl_error *err)
{
    const char *wanted = getenv("BL_THREADS");
    *out = allowed_processors();
    if (*out > NATIVE_THREADS_MOST)
        *out = NATIVE_THREADS_MOST;
    if (!wanted || !*wanted)
        return BL_OK;
    char *end;
    errno = 0;
    long count = strtol(wanted, &end, 10);
    if (*end || errno || count < 1 || count > NATIVE_THREADS_MOST)
        return error_set(err, BL_ERROR_NO_DEVICE, "native: BL_THREADS is '%.32s', not a number from 1 to %d",
                         wanted, NATIVE_THREADS_MOST);
    *out = (uint32_t)count;
    return BL_OK;
}

static uint64_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 32;
}

static void describe(native_candidate *c)
{
    gpu_info *info = &c->head.info;
    char name[49];
    uint64_t memory = physical_memory();
    processor_name(name);
    snprintf(info->name, sizeof info->name, "native (%s, %s, %u thread%s)", name,
             c->target == X86_AVX512 ? "AVX-512" : "AVX2", c->threads, c->threads == 1 ? "" : "s");
    snprintf(info->driver, sizeof info->driver, "native kernels, version %d", X86_VERSION);
    snprintf(info->found, sizeof info->found, "processor");
    info->kind = GPU_NATIVE;
    info->native_target = c->target;
    info->threads = c->threads;
    info->subgroup_size = x86_lanes(c->target);
    /* Words have indices that are signed where lanes gather. */
    info->max_buffer_range = ((uint64_t)8 << 30) - 16;
    info->max_allocation = memory < info->max_buffer_range ? memory : info->max_buffer_range;
    info->max_storage_buffers = X86_BUFFERS_MOST;
    info->float_atomics = true;
    info->float64 = true;
    info->timestamps = true;
    info->rounds = true;
    info->signed_zero_inf_nan_preserve = true;
}

static bl_result probe(native_candidate *c, bl_error *err)
{
    *c = (native_candidate){.head = {.backend = &native_backend, .max_workgroup_size = WORKGROUP_MOST}};
    TRY(choose_target(&c->target, err));
    TRY(choose_threads(&c->threads, err));
    TRY(native_code_allowed(err));
    describe(c);
    return BL_OK;
}

void native_list(gpu *g)
{
    bl_error reason;
    native_candidate *c = memory_need(sizeof *c);
    if (probe(c, &reason) == BL_OK) {
        array_push(&g->candidates, &c->head);
        return;
    }
    memory_free(c);
    gpu_note(g, &reason);
}

/* ---- the device ---- */

static bl_result build(gpu_device *head, bl_error *err)
{
    native_device *d = native_device_of(head);
    d->candidate = (const native_candidate *)head->candidate;
    d->workspaces = calloc(d->candidate->threads, sizeof *d->workspaces);
    if (!d->workspaces)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    return native_pool_create(d->candidate->threads, &d->pool, err);
}

static void destroy(gpu_device *head)
{
    native_device *d = native_device_of(head);
    native_pool_destroy(d->pool);
    for (uint32_t k = 0; d->workspaces && k < d->candidate->threads; k++)
        free(d->workspaces[k].memory), native_rays_destroy(d->workspaces[k].rays),
            free(d->workspaces[k].sums);
    free(d->workspaces);
}

bl_result native_reserve_workspaces(native_device *d, uint32_t bytes, bl_error *err)
{
    if (bytes <= d->workspace_bytes)
        return BL_OK;
    native_pool_drain(d->pool);
    for (uint32_t k = 0; k < d->candidate->threads; k++) {
        void *memory = aligned_alloc(64, bytes);
        if (!memory)
            return error_set(err, BL_ERROR_MEMORY, "no %u bytes of memory for each of %u threads", bytes,
                             d->candidate->threads);
        memset(memory, 0, bytes);
        free(d->workspaces[k].memory);
        d->workspaces[k] = (native_workspace){
            .memory = memory, .rays = d->workspaces[k].rays, .sums = d->workspaces[k].sums};
    }
    d->workspace_bytes = bytes;
    return BL_OK;
}

bl_result native_reserve_rays(native_device *d, uint32_t stack, bl_error *err)
{
    if (stack <= d->ray_stack)
        return BL_OK;
    native_pool_drain(d->pool);
    for (uint32_t k = 0; k < d->candidate->threads; k++) {
        native_rays *rays = native_rays_create(stack, d->candidate->target);
        if (!rays)
            return error_set(err, BL_ERROR_MEMORY, "no memory for the rays of %u threads",
                             d->candidate->threads);
        native_rays_destroy(d->workspaces[k].rays);
        d->workspaces[k].rays = rays;
    }
    d->ray_stack = stack;
    return BL_OK;
}

bl_result native_reserve_sums(native_device *d, uint32_t sums, bl_error *err)
{
    if (sums <= d->sums)
        return BL_OK;
    native_pool_drain(d->pool);
    for (uint32_t k = 0; k < d->candidate->threads; k++) {
        uint64_t *memory = calloc(sums + X86_PADDING / sizeof *memory, sizeof *memory);
        if (!memory)
            return error_set(err, BL_ERROR_MEMORY, "no memory for %u sums of each of %u threads", sums,
                             d->candidate->threads);
        free(d->workspaces[k].sums);
        d->workspaces[k].sums = memory;
    }
    d->sums = sums;
    return BL_OK;
}

static const gpu_backend native_backend = {
    .device_size = sizeof(native_device),
    .buffer_size = sizeof(gpu_buffer),
    .kernel_size = sizeof(native_kernel),
    .batch_size = sizeof(native_batch),
    .device_build = build,
    .device_destroy = destroy,
    .buffer_build = native_buffer_build,
    .buffer_destroy = native_buffer_destroy,
    .kernel_build = native_kernel_build,
    .kernel_destroy = native_kernel_destroy,
    .batch_build = native_batch_build,
    .batch_destroy = native_batch_destroy,
    .batch_begin = native_batch_begin,
    .batch_dispatch = native_batch_dispatch,
    .batch_fill = native_batch_fill,
    .batch_copy = native_batch_copy,
    .batch_submit = native_batch_submit,
    .batch_wait = native_batch_wait,
};
