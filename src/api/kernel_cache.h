/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels on disk between runs. kernel_cache.c keeps bytes under keys and knows nothing of what they are;
 * kernel_key.c says what a kernel's words depend on. A cache can fail to help, but never a caller: nothing
 * here returns an error. */
#ifndef BL_API_KERNEL_CACHE_H
#define BL_API_KERNEL_CACHE_H

#include "api/kernel_key.h"

typedef struct kernel_cache kernel_cache; /* NULL is a cache that finds nothing and stores nothing */

typedef struct kernel_cache_usage {
    uint64_t bytes, limit;
    uint32_t entries;
    const char *folder;   /* the cache owns this string */
    const char *unusable; /* why the folder cannot be used; NULL: it can be used */
} kernel_cache_usage;

/* folder: it is created when something is stored. limit: most bytes of all entries; 0 means 256 MiB. */
kernel_cache *kernel_cache_open(const char *folder, uint64_t limit);
void kernel_cache_close(kernel_cache *c);
/* Returns the bytes stored under the key, malloc'ed. Returns NULL if there are none, or if they are not
 * exactly what was stored. */
void *kernel_cache_find(const kernel_cache *c, kernel_key key, size_t *size);
void kernel_cache_store(kernel_cache *c, kernel_key key, const void *data, size_t size);
kernel_cache_usage kernel_cache_measure(const kernel_cache *c); /* reads the folder */

#endif
