/* SPDX-License-Identifier: BSD-3-Clause
 * The ground floor: errors as values, arenas, growing arrays, small file helpers, asserts. Knows nothing of
 * rendering. */
#ifndef BL_BASE_H
#define BL_BASE_H

#include <backlight/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- error.c: a failure is a code and a text, filled in where the reason is known ---- */

typedef struct bl_error {
    bl_result code;
    char text[1024];
} bl_error;

#if defined(__GNUC__)
#define BL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define BL_PRINTF(fmt, args)
#endif

/* Stores code and formatted text in *err (which may be NULL) and returns code, so that callers write
 * `return error_set(err, BL_ERROR_IO, "cannot open %s", path);`. */
bl_result error_set(bl_error *err, bl_result code, const char *format, ...) BL_PRINTF(3, 4);
const char *result_text(bl_result code);

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        bl_result try_result_ = (call);                                                                      \
        if (try_result_ != BL_OK)                                                                            \
            return try_result_;                                                                              \
    } while (0)

/* Our own mistakes. Prints the condition and the formatted values, then aborts; compiled in every build. */
#define BL_ASSERT(condition, ...)                                                                            \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            assert_failed(__FILE__, __LINE__, #condition, __VA_ARGS__);                                      \
    } while (0)
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void assert_failed(const char *file, int line, const char *condition, const char *format, ...)
    BL_PRINTF(4, 5);

/* ---- arena.c: memory that is freed at once. Allocations are zeroed and 16-byte aligned; out of memory
 * aborts through BL_ASSERT (sizes from outside are checked by whoever reads them, before they come here).
 * ---- */

typedef struct arena_block arena_block;
typedef struct arena {
    arena_block *first;
    size_t total;
} arena;

void *arena_alloc(arena *a, size_t size);
char *arena_strdup(arena *a, const char *text);
char *arena_strndup(arena *a, const char *text, size_t length);
char *arena_printf(arena *a, const char *format, ...) BL_PRINTF(2, 3);
void arena_free(arena *a);

/* ---- array.c: `struct { T *data; uint32_t count, capacity; }` grown by array_push ---- */

#define ARRAY(type)                                                                                          \
    struct {                                                                                                 \
        type *data;                                                                                          \
        uint32_t count, capacity;                                                                            \
    }
#define array_reserve(a, n) ((a)->data = array_grow((a)->data, &(a)->capacity, (n), sizeof *(a)->data))
#define array_push(a, value)                                                                                 \
    (array_reserve(a, (a)->count + 1u), (a)->data[(a)->count] = (value), (a)->count++)
#define array_free(a) (array_release((a)->data), (a)->data = NULL, (a)->count = (a)->capacity = 0)
void *array_grow(void *data, uint32_t *capacity, uint32_t needed, size_t element);
void array_release(void *data);

/* ---- string.c: a growing text buffer ---- */

typedef struct text {
    char *data; /* zero-terminated once anything was added; NULL before */
    size_t length, capacity;
} text;
void text_add(text *t, const char *format, ...) BL_PRINTF(2, 3);
void text_add_bytes(text *t, const void *bytes, size_t size);
void text_free(text *t);

/* ---- file.c ---- */

/* Whole file into malloc'ed memory (zero byte appended, not counted in *size). Refuses files above `limit`
 * bytes. */
bl_result file_read(const char *path, size_t limit, void **data, size_t *size, bl_error *err);
/* Atomic replacement: writes path.tmp-DIGITS (random), then renames; nothing is left behind on failure.
 * Devices and pipes
 * (/dev/null) are written in place. */
bl_result file_write(const char *path, const void *data, size_t size, bl_error *err);
/* Like file_write, with file and folder synced to disk: even after a crash of the machine the file has either
 * the old content or the new one. */
bl_result file_write_synced(const char *path, const void *data, size_t size, bl_error *err);
/* For what nobody but the user may decide about. Writing is like file_write_synced, with a mode of 0600 at
 * most, and replaces devices and pipes, too. Reading follows no link and refuses what is not an ordinary
 * file, belongs to another user, or may be written by others. */
bl_result file_write_private(const char *path, const void *data, size_t size, bl_error *err);
bl_result file_read_private(const char *path, size_t limit, void **data, size_t *size, bl_error *err);
/* Creates the folder and its parents where missing, of the mode less the umask. */
bl_result folder_create(const char *path, unsigned mode, bl_error *err);
bool file_exists(const char *path);

/* ---- clock.c ---- */
double clock_seconds(void); /* monotonic */

#endif
