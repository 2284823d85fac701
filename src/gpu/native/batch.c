/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: a list of commands that becomes one job of the pool; each command is a task, so one ends before
 * the next one begins.
 *
 * A block is as many invocations as a kernel has lanes, some kilobytes of a fill or copy, or some sums.
 * Before a thread runs blocks of a kernel for the first time in a task, it prepares its workspace.
 *
 * A kernel that adds to a buffer of sums (x86.h) adds to an array of the thread's own, if the buffer is not
 * too large; another command behind it adds these arrays to the buffer. Integers add up to the same bits
 * whoever adds them when. */
#include "gpu/native/internal.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    BLOCK_BYTES = 64 << 10,
    BLOCK_SUMS = 4 << 10,
    OWN_SUMS_MOST = 1 << 20,       /* adding up more takes as long as it saves: 8 MiB a thread, */
    OWN_SUMS_BYTES_MOST = 64 << 20 /* and this for all threads */
};

struct native_command {
    uint32_t blocks;
    void (*run)(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count);
    /* of a kernel */
    uint64_t invocations;
    const native_kernel *kernel;
    void **buffers;
    uint32_t *sizes; /* of these, in words */
    uint32_t *uniforms;
    bool own_sums;
    /* of one that adds up sums: the dispatch whose they are */
    const native_command *of;
    /* of a fill or a copy; `from` of a fill is NULL */
    char *to;
    const char *from;
    uint64_t size;
    uint32_t word;
};

/* ---- in the threads ---- */

/* Kernels compute with IEEE rounding and denormals whatever the thread that runs them had chosen, so that
 * results do not depend on which one it was. */
static uint32_t enter_arithmetic(void)
{
#if defined(__x86_64__)
    uint32_t before = _mm_getcsr();
    _mm_setcsr(_MM_MASK_MASK | _MM_ROUND_NEAREST);
    return before;
#else
    return 0;
#endif
}

static void leave_arithmetic(uint32_t before)
{
#if defined(__x86_64__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

static void prepare(native_workspace *w, const native_command *c, uint32_t turn)
{
    const native_kernel *k = c->kernel;
    char *memory = w->memory;
    memcpy(memory + X86_WORKSPACE_BUFFERS, c->buffers, k->header.buffer_count * sizeof *c->buffers);
    memcpy(memory + X86_WORKSPACE_SIZES, c->sizes, k->header.buffer_count * sizeof *c->sizes);
    memcpy(memory + X86_WORKSPACE_UNIFORMS, c->uniforms, k->header.uniform_count * sizeof *c->uniforms);
    memcpy(memory + X86_WORKSPACE_RAYS, &w->rays, sizeof w->rays);
    uint32_t shared = !c->own_sums && native_device_of(k->head.device)->candidate->threads > 1;
    memcpy(memory + X86_WORKSPACE_SHARED, &shared, sizeof shared);
    if (c->own_sums)
        memcpy(memory + X86_WORKSPACE_BUFFERS + (k->header.sums - 1) * sizeof w->sums, &w->sums,
               sizeof w->sums);
    w->summed = c;
    if (w->serial != k->serial)
        memcpy(memory + X86_WORKSPACE_CONSTANTS, k->constants, 4 * (size_t)k->header.constant_count);
    w->serial = k->serial;
    w->turn = turn;
    k->prologue(memory);
}

static void run_kernel(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count)
{
    const native_command *c = t->data;
    const native_kernel *k = c->kernel;
    native_workspace *w = &native_device_of(k->head.device)->workspaces[thread];
    uint32_t before = enter_arithmetic();
    if (w->turn != turn)
        prepare(w, c, turn);
    uint32_t lanes = k->header.lanes;
    uint64_t at = (uint64_t)first * lanes, end = at + (uint64_t)count * lanes;
    end = end < c->invocations ? end : c->invocations;
    for (uint32_t now; at < end; at += now) {
        now = k->header.refills || end - at < lanes ? (uint32_t)(end - at) : lanes;
        k->run(w->memory, (uint32_t)at, now);
    }
    leave_arithmetic(before);
}

/* Adds what the threads have summed to the buffer. */
static void run_sum(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count)
{
    const native_command *c = t->data, *of = c->of;
    const x86_header *h = &of->kernel->header;
    const native_device *d = native_device_of(of->kernel->head.device);
    uint64_t *sums = of->buffers[h->sums - 1];
    uint32_t from = first * BLOCK_SUMS, to = from + count * BLOCK_SUMS, all = of->sizes[h->sums - 1] / 2,
             outside = 0;
    (void)thread, (void)turn;
    to = to < all ? to : all;
    for (uint32_t k = 0; k < d->candidate->threads; k++) {
        uint64_t *own = d->workspaces[k].sums;
        if (d->workspaces[k].summed != of)
            continue;
        for (uint32_t i = from; i < to; i++) {
            if (own[i] == 0)
                continue;
            sums[i] += own[i], own[i] = 0;
            outside += (uint32_t)(sums[i] >> 32) + (1u << X86_SUM_BITS) >= 2u << X86_SUM_BITS;
        }
    }
    if (outside)
        __atomic_fetch_add((uint32_t *)of->buffers[h->status_buffer] + h->overflow_word, outside,
                           __ATOMIC_RELAXED);
}

/* The bytes of some blocks. */
static void byte_range(const native_command *c, uint32_t first, uint32_t count, uint64_t *from, uint64_t *to)
{
    *from = (uint64_t)first * BLOCK_BYTES, *to = (uint64_t)(first + count) * BLOCK_BYTES;
    *to = *to < c->size ? *to : c->size;
}

static void run_fill(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count)
{
    const native_command *c = t->data;
    uint64_t from, to;
    (void)thread, (void)turn;
    byte_range(c, first, count, &from, &to);
    uint32_t *words = (uint32_t *)(void *)(c->to + from);
    for (uint64_t i = 0; i < (to - from) / 4; i++)
        words[i] = c->word;
}

static void run_copy(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count)
{
    const native_command *c = t->data;
    uint64_t from, to;
    (void)thread, (void)turn;
    byte_range(c, first, count, &from, &to);
    memcpy(c->to + from, c->from + from, to - from);
}

/* ---- recording ---- */

static native_command *add(gpu_batch *head)
{
    native_batch *b = (native_batch *)head;
    native_command *c = arena_alloc(&b->memory, sizeof *c);
    array_push(&b->commands, c);
    return c;
}

static native_pool *pool_of(const gpu_batch *b) { return native_device_of(b->device)->pool; }

bl_result native_batch_build(gpu_batch *b, bl_error *err)
{
    (void)b, (void)err;
    return BL_OK;
}

void native_batch_destroy(gpu_batch *head)
{
    native_batch *b = (native_batch *)head;
    if (head->state == BATCH_SUBMITTED)
        native_pool_finish(pool_of(head), &b->job);
    arena_free(&b->memory);
    array_free(&b->commands);
    array_free(&b->tasks);
}

bl_result native_batch_begin(gpu_batch *head, bl_error *err)
{
    native_batch *b = (native_batch *)head;
    (void)err;
    b->commands.count = 0;
    arena_free(&b->memory);
    return BL_OK;
}

/* Where threads sum apart from each other, they are added up behind the dispatch. */
static bl_result add_sums(gpu_batch *head, native_command *dispatch, bl_error *err)
{
    native_device *d = native_device_of(head->device);
    const native_kernel *k = dispatch->kernel;
    const x86_header *h = &k->header;
    if (h->sums == 0)
        return BL_OK;
    uint32_t sums = dispatch->sizes[h->sums - 1] / 2;
    if (h->overflow_word >= dispatch->sizes[h->status_buffer])
        return error_set(err, BL_ERROR_ARGUMENT, "kernel '%s': no word %u in its status buffer",
                         k->head.label, h->overflow_word);
    const uint64_t threads = d->candidate->threads;
    if (threads == 1 || sums == 0 || sums > OWN_SUMS_MOST ||
        threads * sums * sizeof(uint64_t) > OWN_SUMS_BYTES_MOST)
        return BL_OK;
    TRY(native_reserve_sums(d, sums, err));
    dispatch->own_sums = true;
    *add(head) = (native_command){
        .blocks = (sums + BLOCK_SUMS - 1) / BLOCK_SUMS, .run = run_sum, .kernel = k, .of = dispatch};
    return BL_OK;
}

bl_result native_batch_dispatch(gpu_batch *head, gpu_kernel *k, gpu_buffer *const *buffers,
                                const uint32_t *push, uint64_t invocations, bl_error *err)
{
    native_batch *b = (native_batch *)head;
    const native_kernel *kernel = (const native_kernel *)k;
    uint32_t lanes = kernel->header.lanes;
    uint64_t blocks = invocations / lanes + (invocations % lanes != 0);
    if (invocations > (uint64_t)UINT32_MAX + 1) /* the index of an invocation has 32 bits */
        return error_set(err, BL_ERROR_ARGUMENT, "kernel '%s': %llu invocations in one dispatch", k->label,
                         (unsigned long long)invocations);
    if (kernel->header.has_rays && native_device_of(head->device)->ray_stack == 0)
        return error_set(err, BL_ERROR_ARGUMENT, "kernel '%s' traces rays, and no hierarchy has been made",
                         k->label);
    native_command *c = add(head);
    c->blocks = (uint32_t)blocks, c->run = run_kernel, c->kernel = kernel, c->invocations = invocations;
    c->buffers = arena_alloc(&b->memory, k->buffer_count * sizeof *c->buffers + 1);
    c->sizes = arena_alloc(&b->memory, k->buffer_count * sizeof *c->sizes + 1);
    for (uint32_t i = 0; i < k->buffer_count; i++) {
        uint64_t words = buffers[i]->size / 4;
        c->buffers[i] = buffers[i]->mapped;
        c->sizes[i] = words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
    }
    c->uniforms = arena_alloc(&b->memory, k->push_words * sizeof *c->uniforms + 1);
    if (k->push_words)
        memcpy(c->uniforms, push, k->push_words * sizeof *c->uniforms);
    return add_sums(head, c, err);
}

void native_batch_fill(gpu_batch *head, gpu_buffer *buffer, uint64_t offset, uint64_t size, uint32_t word)
{
    *add(head) = (native_command){.blocks = (uint32_t)((size + BLOCK_BYTES - 1) / BLOCK_BYTES),
                                  .run = run_fill,
                                  .to = (char *)buffer->mapped + offset,
                                  .size = size,
                                  .word = word};
}

void native_batch_copy(gpu_batch *head, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to,
                       uint64_t to_offset, uint64_t size)
{
    *add(head) = (native_command){.blocks = (uint32_t)((size + BLOCK_BYTES - 1) / BLOCK_BYTES),
                                  .run = run_copy,
                                  .to = (char *)to->mapped + to_offset,
                                  .from = (const char *)from->mapped + from_offset,
                                  .size = size};
}

/* ---- running ---- */

bl_result native_batch_submit(gpu_batch *head, bl_error *err)
{
    native_batch *b = (native_batch *)head;
    (void)err;
    b->tasks.count = 0;
    for (uint32_t i = 0; i < b->commands.count; i++) {
        const native_command *c = b->commands.data[i];
        const native_task task = {.blocks = c->blocks, .data = c, .run = c->run};
        array_push(&b->tasks, task);
    }
    b->job.tasks = b->tasks.data, b->job.count = b->tasks.count;
    native_pool_submit(pool_of(head), &b->job);
    return BL_OK;
}

bl_result native_batch_wait(gpu_batch *head, double *seconds, bl_error *err)
{
    native_batch *b = (native_batch *)head;
    (void)err;
    native_pool_finish(pool_of(head), &b->job);
    if (seconds)
        *seconds = b->job.seconds;
    return BL_OK;
}
