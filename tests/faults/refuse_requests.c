/* SPDX-License-Identifier: BSD-3-Clause
 * Preloaded into the program (LD_PRELOAD), refuses the n-th request for memory (REFUSE_AT, from 1), or the
 * n-th and all later ones (REFUSE_LATER), of the libraries that REFUSE_OF names by parts of their names,
 * separated by commas; "program" is the program itself, with what is linked into it. REFUSE_STACKS names a
 * file that gets the numbers of requests that came by another way: by a stack of calls that none before had.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES_MOST = 64, DEPTH = 64, STACKS = 1 << 16 };
static struct {
    uintptr_t first, last;
} ranges[RANGES_MOST];
static int range_count;
static atomic_ulong asked;
static unsigned long refuse_at;
static int later_too;
static FILE *stacks_file;
static _Atomic(uint64_t) stacks[STACKS]; /* hashes; an open hash table */
static _Thread_local int within;         /* what is done here may ask for memory, too */
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);

static int is_named(const char *name)
{
    char list[256], *rest = list;
    name = *name ? name : "program"; /* dl_iterate_phdr gives it none; nor the vDSO, which asks for nothing */
    const char *wanted = getenv("REFUSE_OF");
    snprintf(list, sizeof list, "%s", wanted ? wanted : "");
    for (char *part; (part = strsep(&rest, ","));)
        if (*part && strstr(name, part))
            return 1;
    return 0;
}

static int note_library(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size, (void)user;
    for (int k = 0; k < info->dlpi_phnum && is_named(info->dlpi_name) && range_count < RANGES_MOST; k++)
        if (info->dlpi_phdr[k].p_type == PT_LOAD && info->dlpi_phdr[k].p_flags & PF_X) {
            ranges[range_count].first = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr;
            ranges[range_count].last = ranges[range_count].first + info->dlpi_phdr[k].p_memsz;
            range_count++;
        }
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("REFUSE_AT");
    refuse_at = at ? strtoul(at, NULL, 10) : 0;
    later_too = getenv("REFUSE_LATER") != NULL;
    dl_iterate_phdr(note_library, NULL);
    const char *path = getenv("REFUSE_STACKS");
    stacks_file = path ? fopen(path, "w") : NULL;
}

__attribute__((destructor)) static void end(void)
{
    FILE *file = stacks_file;
    stacks_file = NULL;
    if (file)
        fclose(file);
}

static void note_stack(unsigned long number)
{
    void *calls[DEPTH];
    uint64_t hash = 0xCBF29CE484222325u;
    within = 1;
    const int depth = backtrace(calls, DEPTH);
    for (int k = 0; k < depth; k++)
        hash = (hash ^ (uint64_t)(uintptr_t)calls[k]) * 0x100000001B3u;
    hash |= 1; /* not 0, which is free */
    for (uint64_t k = hash >> 20, end_of = k + STACKS; k < end_of; k++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&stacks[k % STACKS], &there, hash)) {
            fprintf(stacks_file, "%lu\n", number);
            break;
        }
        if (there == hash)
            break;
    }
    within = 0;
}

static int refused(const void *caller)
{
    for (int k = 0; k < range_count && !within; k++)
        if ((uintptr_t)caller >= ranges[k].first && (uintptr_t)caller < ranges[k].last) {
            const unsigned long n = atomic_fetch_add(&asked, 1) + 1;
            if (stacks_file)
                note_stack(n);
            return refuse_at && (n == refuse_at || (later_too && n > refuse_at));
        }
    return 0;
}

void *malloc(size_t size)
{
    if (!next_malloc)
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return refused(__builtin_return_address(0)) ? NULL : next_malloc(size);
}

/* dlsym itself may ask before the next calloc is known. */
void *calloc(size_t count, size_t size)
{
    static _Alignas(16) char early[4096];
    static size_t used;
    static int looking;
    if (!next_calloc && !looking) {
        looking = 1;
        next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    }
    if (!next_calloc) {
        void *piece = early + used;
        used += (count * size + 15) & ~(size_t)15;
        return used <= sizeof early ? piece : NULL;
    }
    return refused(__builtin_return_address(0)) ? NULL : next_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    if (!next_realloc)
        next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    return refused(__builtin_return_address(0)) ? NULL : next_realloc(memory, size);
}
