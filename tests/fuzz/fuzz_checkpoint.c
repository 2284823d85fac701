/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: checkpoints of fits. An odd size says that the checksum is made right, so that mutations come
 * past it. The corpus is that of traces, whose texts are as good as any. */
#include "fuzz/fuzz_main.h"

#include "fit/fit.h"

#define XXH_INLINE_ALL
#include <unistd.h>
#include <xxhash.h>

enum { MAGIC_BYTES = 8, CHECKED_FROM = 16, WORDS_MOST = 1 << 16 };

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    BL_ASSERT(file && fwrite(data, 1, size, file) == size, "%s", path);
    fclose(file);
}

/* A checkpoint that holds, with mutations of its text as words and note. */
static void write_whole(const char *path, const uint8_t *data, size_t size)
{
    float words[64] = {0};
    fit_checkpoint c = {.word_count = (uint32_t)(size % 64), .words = words, .note = data, .note_size = size};
    bl_error err;
    BL_ASSERT(fit_checkpoint_write(path, &c, &err) == BL_OK, "%s", err.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64];
    uint32_t seed = 1;
    void *bytes = NULL;
    size_t length = 0;
    bl_error err = {0};
    if (!*path) /* in memory if possible: syncing a file for each input would take most of the time */
        snprintf(path, sizeof path, "%sfuzz_%ld.checkpoint", access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "",
                 (long)getpid());
    write_whole(path, data, size);
    BL_ASSERT(file_read(path, (size_t)1 << 24, &bytes, &length, &err) == BL_OK, "%s", err.text);
    uint8_t *file = bytes;
    for (uint32_t k = 0; k < size && k < 8; k++) { /* numbers of the head, mostly */
        seed = seed * 1664525 + 1013904223 + data[k];
        file[CHECKED_FROM + (seed >> 8) % (k % 2 ? length - CHECKED_FROM : 64)] ^= data[k];
    }
    if (size % 2) {
        const uint64_t checksum = XXH3_64bits(file + CHECKED_FROM, length - CHECKED_FROM);
        memcpy(file + MAGIC_BYTES, &checksum, sizeof checksum);
    }
    write_file(path, file, length);
    memory_free(bytes);
    fit_checkpoint c;
    bl_result result = fit_checkpoint_read(path, WORDS_MOST, &c, &err);
    BL_ASSERT(result == BL_OK || *err.text, "result %d without a reason", (int)result);
    if (result == BL_OK) { /* all of it is there */
        volatile uint64_t sum = 0;
        for (uint32_t k = 0; k < c.word_count; k++)
            sum += ((const uint8_t *)c.words)[4 * k + 3];
        for (size_t k = 0; k < c.note_size; k++)
            sum += ((const uint8_t *)c.note)[k];
        sum += strlen(c.head.device) + strlen(c.head.driver);
    }
    fit_checkpoint_free(&c);
    unlink(path);
    return 0;
}

FUZZ_MAIN("traces", ".ir")
