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

/* ---- memory.c: of the host. Everything but external libraries takes it here, and gives it back here ---- */

/* Room for requests that never fail; contexts open and close it. */
void memory_open(void);
void memory_close(void);
/* NULL: there is none, or not within the budget. For what is large, or as large as input says. What the user
 * shall free with free() comes from these, too. */
void *memory_alloc(size_t size);
void *memory_zeroed(size_t count, size_t size);
void *memory_aligned(size_t alignment, size_t size);
void *memory_resize(void *memory, size_t size); /* NULL: `memory` is as it was */
void memory_free(void *memory);
/* Never NULL, for what is small: when there is none, from the reserve. */
void *memory_need(size_t size);
void *memory_need_zeroed(size_t count, size_t size);
void *memory_need_resized(void *memory, size_t before, size_t size);
/* Of these, what the user shall free with free(): where it is the reserve's, it is freed, and
 * BL_ERROR_MEMORY. */
bl_result memory_for_user(void *memory, bl_error *err);
/* Something came from the reserve and was not freed yet, or the budget has been exceeded. */
bool memory_low(void);
/* BL_ERROR_MEMORY where memory is low, or would be with `ahead` more bytes, those that what follows needs. At
 * the entrance of whatever takes long, so that the reserve lasts. */
bl_result memory_check(size_t ahead, bl_error *err);

/* What a call may take: name of the limit, what is usual, what an untrusted scene may, in which unit. */
#define BUDGET_TABLE(X)                                                                                      \
    X(MEMORY, "memory", (uint64_t)1 << 40, (uint64_t)3 << 29, "bytes of memory")                             \
    X(TEXT, "text", (uint64_t)1 << 30, (uint64_t)1 << 26, "bytes of text, values of variables put in")       \
    X(PIXELS, "pixels", (uint64_t)1 << 30, (uint64_t)1 << 24, "pixels of its film and images")               \
    X(TRIANGLES, "triangles", (uint64_t)1 << 28, (uint64_t)1 << 21, "triangles")                             \
    X(VOXELS, "voxels", (uint64_t)1 << 30, (uint64_t)1 << 25, "voxels")                                      \
    X(KERNEL, "kernel", 1 << 22, 1 << 18, "operations in a kernel")                                          \
    X(SECONDS, "seconds", (uint64_t)1 << 30, 15, "seconds to load")
typedef enum budget_kind {
#define BUDGET_ENUM(id, name, usual, strict, what) BUDGET_##id,
    BUDGET_TABLE(BUDGET_ENUM)
#undef BUDGET_ENUM
        BUDGET_COUNT
} budget_kind;
typedef struct budget_row {
    const char *name, *what;
    uint64_t usual, strict;
} budget_row;
extern const budget_row budget_rows[BUDGET_COUNT];

typedef struct call_budget {
    uint64_t most[BUDGET_COUNT]; /* set before it begins */
    uint64_t used[BUDGET_COUNT];
    double start;
    bool exceeded; /* memory */
    struct call_budget *outer;
} call_budget;
/* From one to the other all that this thread takes is taken from the budget. */
void budget_begin(call_budget *b);
void budget_end(call_budget *b);
/* BL_ERROR_LIMIT and what was too much; also where the time is over. Without a budget everything is fine. */
bl_result budget_take(budget_kind kind, uint64_t amount, bl_error *err);
bl_result budget_check(bl_error *err);  /* time and memory */
uint64_t budget_most(budget_kind kind); /* of the budget that has begun, or what is usual */
bl_result budget_exceeded(budget_kind kind, uint64_t most, bl_error *err); /* says so: BL_ERROR_LIMIT */

/* ---- arena.c: memory that is freed at once. Allocations are zeroed and 16-byte aligned, and never fail
 * (memory_need; whoever reads sizes from outside checks them before they come here) ---- */

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

/* ---- array.c: `struct { T *data; uint32_t count, capacity; }` grown by array_push. Growing never fails;
 * where an array grows by what input says, array_check comes before ---- */

#define ARRAY(type)                                                                                          \
    struct {                                                                                                 \
        type *data;                                                                                          \
        uint32_t count, capacity;                                                                            \
    }
#define array_reserve(a, n)                                                                                  \
    ((a)->data =                                                                                             \
         (n) <= (a)->capacity ? (a)->data : array_grow((a)->data, &(a)->capacity, (n), sizeof *(a)->data))
#define array_push(a, value)                                                                                 \
    (array_reserve(a, (a)->count + 1u), (a)->data[(a)->count] = (value), (a)->count++)
#define array_free(a) (array_release((a)->data), (a)->data = NULL, (a)->count = (a)->capacity = 0)
#define array_check(a, more, err)                                                                            \
    array_check_grown((a)->count, (a)->capacity, (more), sizeof *(a)->data, (err))
bl_result array_check_grown(uint32_t count, uint32_t capacity, uint64_t more, size_t element, bl_error *err);
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
