/* SPDX-License-Identifier: BSD-3-Clause
 * Checkpoints of a fit in a file: a head, the words of parameters and optimiser, the caller's note; a
 * checksum over all of it.
 *
 * Numbers are in the machine's order; the magic text, which no other order gives, guards that and finds
 * transfers in text mode. A file is accepted only if its size is the one that its head gives and the checksum
 * (XXH3, 64 bits) holds, so a file cut at any length and one with any bit flipped is an error, never a wrong
 * state. Writing goes through a synced temporary file (file_write_synced). */
#include "fit/fit.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FORMAT = 3, NOTE_MOST = 1 << 20 };
static const uint64_t magic = 0x0A1A0D5446544C42u; /* "BLTFT\r\032\n" where the lowest byte comes first */

/* No padding: its bytes are the file's. */
typedef struct file_head {
    uint64_t magic, checksum; /* checksum: of everything after it */
    uint64_t bytes;           /* of the file */
    uint32_t format, word_count;
    uint64_t note_size;
    fit_checkpoint_head head;
} file_head;

enum { CHECKED_FROM = 16 };
_Static_assert(offsetof(file_head, bytes) == CHECKED_FROM, "the checksum covers what follows it");
_Static_assert(sizeof(file_head) == 40 + sizeof(fit_checkpoint_head), "no padding");

bl_result fit_checkpoint_write(const char *path, const fit_checkpoint *c, bl_error *err)
{
    if (c->note_size > NOTE_MOST)
        return error_set(err, BL_ERROR_ARGUMENT, "a note of %zu bytes is more than a checkpoint carries (%d)",
                         c->note_size, NOTE_MOST);
    size_t words = 4 * (size_t)c->word_count, size = sizeof(file_head) + words + c->note_size;
    char *bytes = memory_alloc(size);
    if (!bytes)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a checkpoint of %zu bytes", size);
    file_head head = {
        .magic = magic,
        .bytes = size,
        .format = FORMAT,
        .word_count = c->word_count,
        .note_size = c->note_size,
        .head = c->head,
    };
    memcpy(bytes, &head, sizeof head);
    if (words)
        memcpy(bytes + sizeof head, c->words, words);
    if (c->note_size)
        memcpy(bytes + sizeof head + words, c->note, c->note_size);
    head.checksum = XXH3_64bits(bytes + CHECKED_FROM, size - CHECKED_FROM);
    memcpy(bytes, &head, sizeof head);
    bl_result r = file_write_synced(path, bytes, size, err);
    memory_free(bytes);
    return r;
}

static bl_result check(const char *path, const char *bytes, size_t size, const file_head *head, bl_error *err)
{
    if (size < sizeof *head || head->magic != magic)
        return error_set(err, BL_ERROR_IO, "%s is not a checkpoint of a fit", path);
    if (head->bytes != size)
        return error_set(err, BL_ERROR_IO,
                         "the checkpoint %s is damaged: it has %zu bytes, its head says %llu", path, size,
                         (unsigned long long)head->bytes);
    if (XXH3_64bits(bytes + CHECKED_FROM, size - CHECKED_FROM) != head->checksum)
        return error_set(err, BL_ERROR_IO, "the checkpoint %s is damaged: its checksum does not hold", path);
    if (head->format != FORMAT)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "the checkpoint %s has format %u; this version reads format %d", path, head->format,
                         FORMAT);
    if (head->note_size > NOTE_MOST || sizeof *head + 4ull * head->word_count + head->note_size != size)
        return error_set(err, BL_ERROR_IO, "the checkpoint %s is damaged: its parts do not add up", path);
    return BL_OK;
}

bl_result fit_checkpoint_read(const char *path, uint32_t word_most, fit_checkpoint *out, bl_error *err)
{
    void *bytes;
    size_t size;
    file_head head = {0};
    *out = (fit_checkpoint){0};
    TRY(file_read(path, sizeof head + 4 * (size_t)word_most + NOTE_MOST, &bytes, &size, err));
    memcpy(&head, bytes, size < sizeof head ? size : sizeof head);
    bl_result r = check(path, bytes, size, &head, err);
    if (r != BL_OK) {
        memory_free(bytes);
        return r;
    }
    head.head.device[sizeof head.head.device - 1] = head.head.driver[sizeof head.head.driver - 1] = 0;
    *out = (fit_checkpoint){
        .head = head.head, .word_count = head.word_count, .note_size = head.note_size, .storage = bytes};
    out->words = (const float *)(const void *)((char *)bytes + sizeof head);
    out->note = (char *)bytes + sizeof head + 4 * (size_t)head.word_count;
    return BL_OK;
}

void fit_checkpoint_free(fit_checkpoint *c)
{
    memory_free(c->storage);
    *c = (fit_checkpoint){0};
}
