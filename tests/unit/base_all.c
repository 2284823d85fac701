/* LABELS: nodevice threads */
/* SPDX-License-Identifier: BSD-3-Clause
 * The ground floor: errors, arenas, arrays, text, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void errors_keep_code_and_text(void **state)
{
    (void)state;
    bl_error err = {0};
    assert_int_equal(error_set(&err, BL_ERROR_IO, "cannot open %s", "x"), BL_ERROR_IO);
    assert_int_equal(err.code, BL_ERROR_IO);
    assert_string_equal(err.text, "cannot open x");
    assert_int_equal(error_set(&err, BL_ERROR_SCENE, "scene: %s", err.text), BL_ERROR_SCENE);
    assert_string_equal(err.text, "scene: cannot open x"); /* its own text as an argument */
    assert_int_equal(error_set(NULL, BL_ERROR_MEMORY, "nobody listens"), BL_ERROR_MEMORY);

    char big[4000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = 0;
    error_set(&err, BL_ERROR_IO, "%s", big);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void errors_hold_no_controls(void **state)
{
    (void)state;
    bl_error err;
    error_set(&err, BL_ERROR_FORMAT, "f 1 %s",
              "\x1b]0;title\a\x1b[31m \xc2\x9b"
              "1m \x7f\r\tb\nf\xc3\xbcr");
    assert_string_equal(err.text, "f 1 ?]0;title??[31m ??1m ??\tb\nf\xc3\xbcr");
}

static void every_result_has_a_text(void **state)
{
    (void)state;
#define CHECK_RESULT(name, value, meaning) assert_string_equal(result_text(BL_##name), meaning);
    BL_RESULT_TABLE(CHECK_RESULT)
#undef CHECK_RESULT
    assert_string_equal(result_text((bl_result)999), "unknown result code");
}

static void arena_is_zeroed_aligned_and_keeps_everything(void **state)
{
    (void)state;
    arena a = {0};
    unsigned char *blocks[300];
    size_t total = 0;
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 50 == 49 ? 200000 : i * 7;
        blocks[i] = arena_alloc(&a, size);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t j = 0; j < size; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)(i & 255), size);
        total += size;
    }
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 50 == 49 ? 200000 : i * 7;
        for (size_t j = 0; j < size; j++)
            assert_int_equal(blocks[i][j], i & 255);
    }
    assert_true(a.total >= total);
    assert_string_equal(arena_strdup(&a, "wall"), "wall");
    assert_string_equal(arena_strndup(&a, "wallpaper", 4), "wall");
    assert_string_equal(arena_printf(&a, "%s.%d", "wall", 3), "wall.3");
    arena_free(&a);
    assert_null(a.first);
    assert_int_equal(a.total, 0);
    arena_free(&a);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which end where there is no memory */
/* What the reserve has given is not a user's to free. */
static void users_get_nothing_of_the_reserve(void **state)
{
    (void)state;
    enum { SIZE = 40 << 20 }; /* more than a heap has left, less than the reserve */
    bl_error err = {0};
    memory_open();
    void *plenty = memory_need(SIZE);
    assert_false(memory_low());
    assert_int_equal(memory_for_user(plenty, &err), BL_OK);
    free(plenty);
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 1; /* no mapping is added any more */
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    unsigned char *last = memory_need(SIZE);
    const bool low = memory_low();
    const bl_result result = memory_for_user(last, &err);
    limit.rlim_cur = before;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_true(low);
    assert_int_equal(result, BL_ERROR_MEMORY);
    assert_string_equal(err.text, "out of memory");
    assert_false(memory_low()); /* it was freed */
    assert_int_equal(memory_for_user(NULL, &err), BL_OK);
    memory_close();
}
#endif

static void arrays_grow(void **state)
{
    (void)state;
    ARRAY(uint64_t) numbers = {0};
    for (uint32_t i = 0; i < 10000; i++)
        array_push(&numbers, (uint64_t)i * i);
    assert_int_equal(numbers.count, 10000);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(numbers.data[i], (uint64_t)i * i);
    array_reserve(&numbers, 123456u);
    assert_true(numbers.capacity >= 123456);
    assert_int_equal(numbers.data[9999], 9999u * 9999u);
    array_free(&numbers);
    assert_null(numbers.data);
    assert_int_equal(numbers.capacity, 0);
}

static void text_grows_and_stays_terminated(void **state)
{
    (void)state;
    text t = {0};
    text_add_bytes(&t, NULL, 0);
    assert_string_equal(t.data, "");
    for (int i = 0; i < 1000; i++)
        text_add(&t, "%03d,", i);
    assert_int_equal(t.length, 4000);
    assert_int_equal(strlen(t.data), 4000);
    assert_string_equal(t.data + 3996, "999,");
    text_add_bytes(&t, "a\0b", 3);
    assert_int_equal(t.length, 4003);
    assert_memory_equal(t.data + 4000, "a\0b", 4);
    text_free(&t);
    assert_null(t.data);
}

/* A private folder, below the current one, in *state for the file tests. */
static int folder_setup(void **state)
{
    char *path = strdup("base_all-XXXXXX");
    *state = path;
    return path && mkdtemp(path) ? 0 : -1;
}

static int folder_teardown(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -r '%s'", (char *)*state);
    int status = system(command);
    free(*state);
    return status;
}

static void files_go_out_and_in(void **state)
{
    arena a = {0};
    bl_error err = {0};
    const char *deep = arena_printf(&a, "%s/one/two//three/", (char *)*state);
    assert_int_equal(folder_create(deep, 0777, &err), BL_OK);
    assert_int_equal(folder_create(deep, 0777, &err), BL_OK); /* already there */
    const char *path = arena_printf(&a, "%sdata.bin", deep);
    char sent[10000];
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)(i * 31);
    assert_false(file_exists(path));
    assert_int_equal(file_write(path, sent, 5, &err), BL_OK);
    assert_int_equal(file_write(path, sent, sizeof sent, &err), BL_OK); /* replaces */
    assert_true(file_exists(path));
    void *data;
    size_t size;
    assert_int_equal(file_read(path, sizeof sent, &data, &size, &err), BL_OK);
    assert_int_equal(size, sizeof sent);
    assert_memory_equal(data, sent, size);
    assert_int_equal(((char *)data)[size], 0);
    free(data);
    assert_int_equal(file_read(path, sizeof sent - 1, &data, &size, &err), BL_ERROR_IO);
    assert_non_null(strstr(err.text, "limit"));
    assert_null(data);

    const char *empty = arena_printf(&a, "%s/empty", (char *)*state);
    assert_int_equal(file_write(empty, NULL, 0, &err), BL_OK);
    assert_int_equal(file_read(empty, 0, &data, &size, &err), BL_OK);
    assert_int_equal(size, 0);
    assert_string_equal(data, "");
    free(data);
    arena_free(&a);
}

/* /proc reports a size of zero: the content must still come, and the limit must still hold. */
static void files_without_a_size_are_read(void **state)
{
    (void)state;
    bl_error err = {0};
    void *data;
    size_t size;
    assert_int_equal(file_read("/proc/self/maps", 1 << 22, &data, &size, &err), BL_OK);
    assert_true(size > 0);
    free(data);
    assert_int_equal(file_read("/dev/zero", 100000, &data, &size, &err), BL_ERROR_IO);
    assert_non_null(strstr(err.text, "limit"));
}

static size_t names_like(const char *pattern)
{
    glob_t found = {0};
    size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

static void file_failures_name_the_file(void **state)
{
    arena a = {0};
    bl_error err = {0};
    void *data;
    size_t size;
    const char *missing = arena_printf(&a, "%s/missing", (char *)*state);
    assert_int_equal(file_read(missing, 10, &data, &size, &err), BL_ERROR_IO);
    assert_non_null(strstr(err.text, missing));
    assert_int_equal(file_read(*state, 1 << 20, &data, &size, &err), BL_ERROR_IO);
    assert_non_null(strstr(err.text, "folder"));

    const char *nowhere = arena_printf(&a, "%s/file", missing);
    assert_int_equal(file_write(nowhere, "x", 1, &err), BL_ERROR_IO);
    assert_non_null(strstr(err.text, nowhere));

    const char *file = arena_printf(&a, "%s/plain", (char *)*state);
    assert_int_equal(file_write(file, "x", 1, &err), BL_OK);
    assert_int_equal(folder_create(arena_printf(&a, "%s/below", file), 0777, &err), BL_ERROR_IO);
    assert_int_equal(folder_create("", 0777, &err), BL_ERROR_IO);
    assert_int_equal(file_write(*state, "x", 1, &err),
                     BL_ERROR_IO); /* a folder cannot be replaced by a file ... */
    assert_int_equal(names_like(arena_printf(&a, "%s.tmp-*", (char *)*state)), 0); /* ... nothing is left */
    arena_free(&a);
}

/* `-o /dev/null` must write to the device, not put a file in its place. A pipe stands in for the device
 * here. */
static void special_files_are_written_in_place(void **state)
{
    arena a = {0};
    bl_error err = {0};
    const char *path = arena_printf(&a, "%s/pipe", (char *)*state);
    assert_int_equal(mkfifo(path, 0600), 0);
    int pipe_end = open(path, O_RDWR); /* so that the writer does not wait for a reader */
    assert_true(pipe_end >= 0);
    assert_int_equal(file_write(path, "light", 5, &err), BL_OK);
    char received[8] = {0};
    assert_int_equal(read(pipe_end, received, sizeof received), 5);
    assert_string_equal(received, "light");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    close(pipe_end);
    arena_free(&a);
}

/* Somebody else's link under the name of a temporary file, as far as it can be guessed. */
static void planted_links_are_not_followed(void **state)
{
    arena a = {0};
    bl_error err = {0};
    void *data;
    size_t size;
    const char *path = arena_printf(&a, "%s/image", (char *)*state);
    const char *victim = arena_printf(&a, "%s/victim", (char *)*state);
    assert_int_equal(file_write(victim, "precious", 8, &err), BL_OK);
    assert_int_equal(symlink("victim", arena_printf(&a, "%s.tmp-%ld", path, (long)getpid())), 0);
    assert_int_equal(file_write(path, "light", 5, &err), BL_OK);
    assert_int_equal(file_read(victim, 100, &data, &size, &err), BL_OK);
    assert_string_equal(data, "precious");
    free(data);
    arena_free(&a);
}

static void modes_follow_the_umask(void **state)
{
    static const mode_t masks[] = {0, 022, 027, 077};
    arena a = {0};
    bl_error err = {0};
    const char *path = arena_printf(&a, "%s/file", (char *)*state);
    for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
        struct stat status;
        mode_t before = umask(masks[k]);
        assert_int_equal(file_write_synced(path, "light", 5, &err), BL_OK);
        umask(before);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0666 & ~masks[k]);
    }
    arena_free(&a);
}

typedef struct writer {
    const char *path;
    char letter;
    int failures;
} writer;

enum { WRITERS = 4, WRITTEN = 100000, ROUNDS = 100 };

static void *write_again_and_again(void *argument)
{
    writer *w = argument;
    char *bytes = malloc(WRITTEN);
    memset(bytes, w->letter, WRITTEN);
    for (int k = 0; k < ROUNDS; k++)
        w->failures += file_write(w->path, bytes, WRITTEN, NULL) != BL_OK;
    free(bytes);
    return NULL;
}

/* Threads of one process that write one path: every write succeeds, and the file is one of theirs. */
static void threads_write_one_path(void **state)
{
    arena a = {0};
    bl_error err = {0};
    const char *path = arena_printf(&a, "%s/shared", (char *)*state);
    writer writers[WRITERS];
    pthread_t threads[WRITERS];
    for (int k = 0; k < WRITERS; k++) {
        writers[k] = (writer){path, (char)('a' + k), 0};
        assert_int_equal(pthread_create(&threads[k], NULL, write_again_and_again, &writers[k]), 0);
    }
    for (int k = 0; k < WRITERS; k++) {
        pthread_join(threads[k], NULL);
        assert_int_equal(writers[k].failures, 0);
    }
    void *data;
    size_t size;
    assert_int_equal(file_read(path, 2 * WRITTEN, &data, &size, &err), BL_OK);
    assert_int_equal(size, WRITTEN);
    assert_int_equal(memcmp(data, (char *)data + 1, WRITTEN - 1), 0);
    free(data);
    assert_int_equal(names_like(arena_printf(&a, "%s/shared.tmp-*", (char *)*state)), 0);
    arena_free(&a);
}

static void clock_runs_forward(void **state)
{
    (void)state;
    double before = clock_seconds();
    assert_true(clock_seconds() >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_keep_code_and_text),
        cmocka_unit_test(errors_hold_no_controls),
        cmocka_unit_test(every_result_has_a_text),
        cmocka_unit_test(arena_is_zeroed_aligned_and_keeps_everything),
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
        cmocka_unit_test(users_get_nothing_of_the_reserve),
#endif
        cmocka_unit_test(arrays_grow),
        cmocka_unit_test(text_grows_and_stays_terminated),
        cmocka_unit_test_setup_teardown(files_go_out_and_in, folder_setup, folder_teardown),
        cmocka_unit_test(files_without_a_size_are_read),
        cmocka_unit_test_setup_teardown(file_failures_name_the_file, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(special_files_are_written_in_place, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(planted_links_are_not_followed, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(modes_follow_the_umask, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(threads_write_one_path, folder_setup, folder_teardown),
        cmocka_unit_test(clock_runs_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
