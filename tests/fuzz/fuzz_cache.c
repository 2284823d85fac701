/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: entries of the kernel cache. Whatever stands in an entry's file, what is found is nothing or,
 * to the byte, what was stored under that key. That is found in the corpus, so that mutations are those of an
 * entry which is whole. */
#include "fuzz/fuzz_main.h"

#include "api/kernel_cache.h"

#include <unistd.h>

static const char kept[] = "the words of a kernel, of which none may be another";
static const char folder[] = "fuzz_cache_folder";
static uint32_t whole; /* inputs that are found */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static kernel_cache *cache;
    static const kernel_key key = {.low = 1, .high = 2};
    char path[200];
    size_t found_size = 0;
    if (!cache) {
        cache = kernel_cache_open(folder, 0);
        kernel_cache_store(cache, key, kept, sizeof kept);
        void *found = kernel_cache_find(cache, key, &found_size);
        BL_ASSERT(found && found_size == sizeof kept, "%zu bytes of a good entry", found_size);
        free(found);
    }
    snprintf(path, sizeof path, "%s/%016x%016x.kernel", folder, 2, 1);
    FILE *file = fopen(path, "r+b"); /* in place: a synced file for each input would take most of the time */
    BL_ASSERT(file && ftruncate(fileno(file), 0) == 0 && fwrite(data, 1, size, file) == size &&
                  fclose(file) == 0,
              "cannot write %s", path);
    void *found = kernel_cache_find(cache, key, &found_size);
    BL_ASSERT(!found || (found_size == sizeof kept && !memcmp(found, kept, sizeof kept)),
              "%zu bytes that nobody stored", found_size);
    whole += found != NULL;
    free(found);
    return 0;
}

#ifndef BL_LIBFUZZER
int main(int argc, char **argv)
{
    int failed = fuzz_main(argc, argv, __FILE__, "kernels", ".kernel");
    if (argc <= 1 && !whole)
        printf("no input is found: is tests/data/kernels of another format?\n");
    return failed || (argc <= 1 && !whole);
}
#endif
