/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels on disk between runs. kernel_cache.c keeps bytes under keys and knows nothing of what they are;
 * kernel_key.c says what a kernel's words depend on. A cache can fail to help, but never a caller: nothing
 * here returns an error. */
#ifndef BL_API_KERNEL_CACHE_H
#define BL_API_KERNEL_CACHE_H

#include "api/kernel_key.h"

typedef struct kernel_cache kernel_cache; /* NULL where nothing is cached: finds nothing, stores nothing */

typedef struct kernel_cache_usage {
    uint64_t bytes, limit;
    uint32_t entries;
    const char *folder;   /* string of the cache */
    const char *unusable; /* why the folder cannot be used; NULL: it can */
} kernel_cache_usage;

/* folder: created when something is stored. limit: bytes of all entries; 0: 256 MiB. */
kernel_cache *kernel_cache_open(const char *folder, uint64_t limit);
void kernel_cache_close(kernel_cache *c);
/* The bytes stored under the key, malloc'ed; NULL where there are none or where they are not exactly what was
 * stored. */
void *kernel_cache_find(const kernel_cache *c, kernel_key key, size_t *size);
void kernel_cache_store(kernel_cache *c, kernel_key key, const void *data, size_t size);
kernel_cache_usage kernel_cache_measure(const kernel_cache *c); /* reads the folder */

#endif
