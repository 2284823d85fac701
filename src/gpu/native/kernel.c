/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels: a description from outside to code that runs.
 *
 * The words may come from a file, so every number of the header is checked before it is used. The code itself
 * cannot be: whoever can write the kernel cache can run code here, as with a driver's cache. Its memory is
 * written while it cannot run, and runs when it cannot be written any more. */
#include "gpu/native/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER_WORDS = sizeof(x86_header) / 4, CONSTANT_ROUND = 16, WORKSPACE_MOST = 64 << 20 };
_Static_assert(sizeof(x86_header) % 64 == 0, "constants are aligned as the header is");

/* ---- checks ---- */

static bl_result refuse(const gpu_kernel *k, const char *why, bl_error *err)
{
    return error_set(err, BL_ERROR_COMPILE, "kernel '%s': not a native kernel of this device: %s", k->label,
                     why);
}

static uint64_t padded_constants(const x86_header *h)
{
    return ((uint64_t)h->constant_count + CONSTANT_ROUND - 1) / CONSTANT_ROUND * CONSTANT_ROUND;
}

static bl_result check_origin(const gpu_kernel *k, const x86_header *h, bl_error *err)
{
    x86_target target = native_device_of(k->device)->candidate->target;
    const uint32_t lanes = x86_lanes(target); /* kernels of doubles have half of them */
    if (h->magic != X86_MAGIC)
        return refuse(k, "it does not begin as one", err);
    if (h->version != X86_VERSION)
        return refuse(k, "another version of the compiler made it", err);
    if (h->target != (uint32_t)target || (h->lanes != lanes && h->lanes != lanes / 2))
        return refuse(k, "it is for another kind of processor", err);
    return BL_OK;
}

static uint64_t words_for(uint32_t bytes) { return ((uint64_t)bytes + 3) / 4; }

/* Where the words of functions and their names begin. */
static uint64_t names_at(const x86_header *h)
{
    return HEADER_WORDS + padded_constants(h) + words_for(h->code_bytes);
}

static bl_result check_sizes(const gpu_kernel *k, const x86_header *h, size_t word_count, bl_error *err)
{
    uint64_t words = names_at(h) + h->function_count + words_for(h->name_bytes);
    uint64_t least = X86_WORKSPACE_CONSTANTS + 4 * (uint64_t)h->constant_count;
    if (words != word_count)
        return refuse(k, "its length is not what its parts are together", err);
    if (h->prologue >= h->code_bytes || h->run >= h->code_bytes)
        return refuse(k, "its functions begin outside its code", err);
    if (h->workspace_bytes % 64 || h->workspace_bytes < least || h->workspace_bytes > WORKSPACE_MOST)
        return refuse(k, "its workspace has a wrong size", err);
    if (h->buffer_count > k->buffer_count || h->uniform_count > k->push_words)
        return refuse(k, "it uses more buffers or uniforms than it is given", err);
    if (h->has_rays > 1 || h->refills > 1)
        return refuse(k, "its header has a wrong flag", err);
    if (h->sums > h->buffer_count || (h->sums && h->status_buffer >= h->buffer_count))
        return refuse(k, "it sums to buffers that it does not use", err);
    for (uint32_t i = 0; i < sizeof h->reserved / sizeof *h->reserved; i++)
        if (h->reserved[i])
            return refuse(k, "a reserved word is not zero", err);
    return BL_OK;
}

static bl_result check_names(const gpu_kernel *k, const x86_header *h, const uint32_t *words, bl_error *err)
{
    const uint32_t *begins = words + names_at(h);
    const char *names = (const char *)(begins + h->function_count);
    uint32_t last = h->run, ends = 0;
    bool ordered = h->prologue < h->run;
    for (uint32_t i = 0; i < h->function_count; i++) {
        ordered = ordered && begins[i] > last && begins[i] < h->code_bytes;
        last = begins[i];
    }
    if (!ordered)
        return refuse(k, "its functions are out of order", err);
    for (uint32_t i = 0; i < h->name_bytes; i++)
        ends += names[i] == 0;
    if (ends != h->function_count || (h->name_bytes && names[h->name_bytes - 1]))
        return refuse(k, "it has not a name for each function", err);
    return BL_OK;
}

/* ---- code ---- */

static bl_result code_error(const char *step, bl_error *err)
{
    return error_set(err, BL_ERROR_UNSUPPORTED,
                     "native: this process may not make memory that runs (%s: %s); SELinux, PaX or systemd's "
                     "MemoryDenyWriteExecute forbid it; use another device, as swiftshader",
                     step, strerror(errno));
}

/* Code in memory that can be run and not be written. */
static bl_result place_code(const void *code, size_t size, void **out, bl_error *err)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *out = NULL;
    if (memory == MAP_FAILED)
        return error_set(err, BL_ERROR_MEMORY, "no memory for %zu bytes of code: %s", size, strerror(errno));
    memcpy(memory, code, size);
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
        bool memory_short = errno == ENOMEM;
        bl_result result = memory_short
                               ? error_set(err, BL_ERROR_MEMORY, "no memory for %zu bytes of code", size)
                               : code_error("mprotect", err);
        munmap(memory, size);
        return result;
    }
    *out = memory;
    return BL_OK;
}

bl_result native_code_allowed(bl_error *err)
{
    static const unsigned char ret = 0xC3;
    void *memory;
    TRY(place_code(&ret, sizeof ret, &memory, err));
    munmap(memory, sizeof ret);
    return BL_OK;
}

static void add_symbol(const native_kernel *k, uint32_t begin, uint32_t end, const char *name, text *out)
{
    text_add(out, "%llx %x %s: ", (unsigned long long)(uintptr_t)k->code + begin, end - begin, k->head.label);
    for (; *name; name++)
        text_add(out, "%c", *name < ' ' ? '?' : *name);
    text_add(out, "\n");
}

/* A line for each function. */
static void add_symbols(const native_kernel *k, const uint32_t *begins, text *out)
{
    const x86_header *h = &k->header;
    const char *name = (const char *)(begins + h->function_count);
    add_symbol(k, h->prologue, h->run, "the prologue", out);
    add_symbol(k, h->run, h->function_count ? begins[0] : h->code_bytes, "the entry", out);
    for (uint32_t i = 0; i < h->function_count; i++, name += strlen(name) + 1)
        add_symbol(k, begins[i], i + 1 < h->function_count ? begins[i + 1] : h->code_bytes, name, out);
}

/* Names the kernel's functions for `perf report` (its jit interface: /tmp/perf-PID.map), where BL_PERF_MAP=1.
 * The file has a name that anybody can guess, so a link is not followed. A file that cannot be written is no
 * error. */
static void tell_perf(const native_kernel *k, const uint32_t *begins)
{
    const char *wanted = secure_getenv("BL_PERF_MAP");
    char path[64];
    if (!wanted || strcmp(wanted, "1") != 0)
        return;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    text symbols = {0};
    add_symbols(k, begins, &symbols);
    dprintf(file, "%s", symbols.data);
    text_free(&symbols);
    close(file);
}

bl_result native_kernel_build(gpu_kernel *head, const gpu_kernel_desc *desc, bl_error *err)
{
    native_kernel *k = (native_kernel *)head;
    native_device *d = native_device_of(head->device);
    if (!desc->words || desc->word_count < HEADER_WORDS)
        return refuse(head, "it is shorter than a header", err);
    memcpy(&k->header, desc->words, sizeof k->header);
    const x86_header *h = &k->header;
    TRY(check_origin(head, h, err));
    TRY(check_sizes(head, h, desc->word_count, err));
    TRY(check_names(head, h, desc->words, err));
    k->constants = malloc(4 * (size_t)h->constant_count + 1);
    if (!k->constants)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    memcpy(k->constants, desc->words + HEADER_WORDS, 4 * (size_t)h->constant_count);
    TRY(native_reserve_workspaces(d, h->workspace_bytes, err));
    k->code_bytes = h->code_bytes;
    array_push(&head->statistics, ((gpu_statistic){"Code size", h->code_bytes}));
    array_push(&head->statistics, ((gpu_statistic){"Workspace size", h->workspace_bytes}));
    TRY(place_code(desc->words + HEADER_WORDS + padded_constants(h), k->code_bytes, &k->code, err));
    uintptr_t code = (uintptr_t)k->code;
    k->prologue = (void (*)(void *))(code + h->prologue);
    k->run = (void (*)(void *, uint32_t, uint32_t))(code + h->run);
    k->serial = ++d->kernels_made;
    tell_perf(k, desc->words + names_at(h));
    return BL_OK;
}

void native_kernel_destroy(gpu_kernel *head)
{
    native_kernel *k = (native_kernel *)head;
    if (k->code)
        munmap(k->code, k->code_bytes);
    free(k->constants);
}
