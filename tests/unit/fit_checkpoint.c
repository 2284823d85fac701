/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Checkpoint files: what was written comes back; a file cut at any length, with any bit flipped, or forged
 * with a good checksum is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fit/fit.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { WORDS = 37, CHECKSUM_AT = 8, CHECKED_FROM = 16 };

static const char path[] = "unit_fit_checkpoint.file";
static bl_error err;

static fit_checkpoint sample(void)
{
    static float words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = 1.0f / (float)(i + 1);
    return (fit_checkpoint){
        .head =
            {.program = 1, .scene = 2, .job = 3, .step = 4, .coarser = 5, .loss = 0.25, .device = "a device"},
        .words = words,
        .word_count = WORDS,
        .note = "a note",
        .note_size = 6};
}

static char *written(const fit_checkpoint *c, size_t *size)
{
    void *bytes;
    assert_int_equal(fit_checkpoint_write(path, c, &err), BL_OK);
    assert_int_equal(file_read(path, 1 << 20, &bytes, size, &err), BL_OK);
    return bytes;
}

static void refused(const void *bytes, size_t size, const char *why)
{
    fit_checkpoint c;
    assert_int_equal(file_write(path, bytes, size, &err), BL_OK);
    err.text[0] = 0;
    if (fit_checkpoint_read(path, WORDS, &c, &err) == BL_OK)
        fail_msg("accepted: %s", why);
    assert_non_null(strstr(err.text, path));
    assert_null(c.storage);
}

static void what_was_written_comes_back(void **state)
{
    (void)state;
    fit_checkpoint c = sample(), back;
    assert_int_equal(fit_checkpoint_write(path, &c, &err), BL_OK);
    assert_int_equal(fit_checkpoint_read(path, WORDS, &back, &err), BL_OK);
    assert_memory_equal(&c.head, &back.head, sizeof c.head);
    assert_int_equal(back.word_count, WORDS);
    assert_memory_equal(c.words, back.words, sizeof(float) * WORDS);
    assert_true(back.note_size == 6 && memcmp(back.note, "a note", 6) == 0);
    fit_checkpoint_free(&back);
    c.note_size = 0, c.word_count = 0;
    assert_int_equal(fit_checkpoint_write(path, &c, &err), BL_OK);
    assert_int_equal(fit_checkpoint_read(path, 0, &back, &err), BL_OK);
    assert_true(back.word_count == 0 && back.note_size == 0);
    fit_checkpoint_free(&back);
    remove(path);
}

static void every_cut_and_every_bit_is_noticed(void **state)
{
    (void)state;
    fit_checkpoint c = sample();
    size_t size;
    char *bytes = written(&c, &size);
    for (size_t length = 0; length < size; length++)
        refused(bytes, length, "a cut file");
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        refused(bytes, size, "a flipped bit");
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(bytes);
    remove(path);
}

/* Every u32 of the file's own head (after the checksum) set to values that matter, with the checksum made
 * good again: sizes are believed no more than the file's own. */
static void forged_sizes_are_refused(void **state)
{
    (void)state;
    static const uint32_t values[] = {0, 1, WORDS - 1, WORDS + 1, 0x7fffffff, 0x80000000, 0xffffffff};
    fit_checkpoint c = sample();
    size_t size;
    char *bytes = written(&c, &size), *forged = malloc(size);
    for (size_t at = CHECKED_FROM; at < 40; at += 4)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            memcpy(forged, bytes, size);
            memcpy(forged + at, &values[k], 4);
            uint64_t checksum = XXH3_64bits(forged + CHECKED_FROM, size - CHECKED_FROM);
            memcpy(forged + CHECKSUM_AT, &checksum, 8);
            if (memcmp(forged, bytes, size) != 0)
                refused(forged, size, "a forged head");
        }
    free(forged);
    free(bytes);
    remove(path);
}

static void files_that_cannot_be_are_refused_unread(void **state)
{
    (void)state;
    fit_checkpoint c = sample(), back;
    size_t size;
    char *bytes = written(&c, &size), *large = calloc(1, 2 << 20);
    refused(large, 2 << 20, "a large file");
    assert_int_equal(fit_checkpoint_read(".", WORDS, &back, &err), BL_ERROR_IO);
    assert_int_equal(fit_checkpoint_read("no_such_file", WORDS, &back, &err), BL_ERROR_IO);
    c.note_size = (size_t)2 << 20, c.note = large;
    assert_int_equal(fit_checkpoint_write(path, &c, &err), BL_ERROR_ARGUMENT);
    free(large);
    free(bytes);
    remove(path);
}

/* A write that fails leaves the file that was there, and nothing else. */
static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    fit_checkpoint c = sample(), back;
    assert_int_equal(fit_checkpoint_write(path, &c, &err), BL_OK);
    assert_int_not_equal(fit_checkpoint_write("no_such_folder/file", &c, &err), BL_OK);
    assert_int_equal(fit_checkpoint_read(path, WORDS, &back, &err), BL_OK);
    fit_checkpoint_free(&back);
    glob_t found = {0};
    assert_int_equal(glob("unit_fit_checkpoint.file.tmp-*", 0, NULL, &found), GLOB_NOMATCH);
    globfree(&found);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_comes_back),
        cmocka_unit_test(every_cut_and_every_bit_is_noticed),
        cmocka_unit_test(forged_sizes_are_refused),
        cmocka_unit_test(files_that_cannot_be_are_refused_unread),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
