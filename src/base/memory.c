/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of the host, and what a call may take of it.
 *
 * There are two kinds of requests. Large ones, whose size follows from input, may fail: memory_alloc and so
 * on return NULL, and the caller says BL_ERROR_MEMORY. Small ones are everywhere in arenas, arrays and the
 * compiler. They never fail (memory_need): when the system gives none, they are served from a reserve that
 * was set aside while there was plenty. Such memory is as good as any other, so no result is ever wrong. But
 * the reserve ends, so memory_low says true until all that came from it was freed, and memory_check, at the
 * entrance of everything that takes long, returns BL_ERROR_MEMORY. Handles stay whole that way, and can be
 * destroyed. Why not otherwise: docs/decisions/out-of-memory.md.
 *
 * The reserve is address space that nobody has touched, so it costs no memory. It belongs to the process,
 * like the heap. The first context opens it, the last one closes it. */
#include "base/base.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RESERVE_SIZE = 64 << 20, ALIGNMENT = 16 };

/* Pieces are cut off one after the other. When the last one is freed, all of the room is free again. */
static struct {
    pthread_mutex_t lock;
    unsigned char *room; /* NULL: closed */
    size_t used;
    uint32_t users;       /* contexts */
    atomic_uint pieces;   /* not freed yet */
    _Atomic(void *) from; /* equals room; read without the lock */
} reserve = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In front of every piece of the reserve. */
typedef struct piece {
    _Alignas(ALIGNMENT) size_t size;
} piece;

static _Thread_local call_budget *current; /* of the call that this thread is in; NULL: unlimited */

/* ---- the reserve ---- */

void memory_open(void)
{
    pthread_mutex_lock(&reserve.lock);
    if (reserve.users++ == 0 && !reserve.room) {
        void *room = mmap(NULL, RESERVE_SIZE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        reserve.room = room == MAP_FAILED ? NULL : room; /* then there is none: memory_need says so */
        atomic_store(&reserve.from, reserve.room);
    }
    pthread_mutex_unlock(&reserve.lock);
}

void memory_close(void)
{
    pthread_mutex_lock(&reserve.lock);
    BL_ASSERT(reserve.users > 0, "more contexts were closed than opened");
    if (--reserve.users == 0 && reserve.room && atomic_load(&reserve.pieces) == 0) {
        munmap(reserve.room, RESERVE_SIZE);
        reserve.room = NULL, reserve.used = 0;
        atomic_store(&reserve.from, NULL);
    }
    pthread_mutex_unlock(&reserve.lock);
}

static bool from_reserve(const void *memory)
{
    const unsigned char *room = atomic_load(&reserve.from);
    return room && (uintptr_t)memory - (uintptr_t)room < RESERVE_SIZE;
}

/* Zeroed. */
static void *reserve_take(size_t size)
{
    pthread_mutex_lock(&reserve.lock);
    piece *p = NULL;
    const size_t whole = sizeof *p + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (reserve.room && size < RESERVE_SIZE && whole <= RESERVE_SIZE - reserve.used) {
        p = (piece *)(void *)(reserve.room + reserve.used);
        reserve.used += whole;
        p->size = size;
        atomic_fetch_add(&reserve.pieces, 1);
        memset(p + 1, 0, size);
    }
    pthread_mutex_unlock(&reserve.lock);
    return p ? p + 1 : NULL;
}

static void reserve_return(void)
{
    pthread_mutex_lock(&reserve.lock);
    if (atomic_fetch_sub(&reserve.pieces, 1) == 1) {
        madvise(reserve.room, reserve.used, MADV_DONTNEED);
        reserve.used = 0;
    }
    pthread_mutex_unlock(&reserve.lock);
}

bl_result memory_for_user(void *memory, bl_error *err)
{
    if (!memory || !from_reserve(memory))
        return BL_OK;
    memory_free(memory);
    return error_set(err, BL_ERROR_MEMORY, "out of memory");
}

bool memory_low(void) { return atomic_load(&reserve.pieces) > 0 || (current && current->exceeded); }

bl_result memory_check(size_t ahead, bl_error *err)
{
    bool there = !memory_low();
    if (there && ahead > RESERVE_SIZE / 4) { /* so much that the reserve could not serve it */
        void *trial = memory_alloc(ahead);
        there = trial != NULL;
        memory_free(trial);
    }
    return there ? BL_OK : error_set(err, BL_ERROR_MEMORY, "out of memory");
}

/* ---- requests that may fail ---- */

/* Whether the budget has room for so many more bytes. */
static bool allowed(size_t size)
{
    if (!current || size <= current->most[BUDGET_MEMORY] - current->used[BUDGET_MEMORY])
        return true;
    current->exceeded = true;
    return false;
}

static void *count_in(void *memory)
{
    if (current && memory) {
        const uint64_t size = malloc_usable_size(memory);
        const uint64_t left = current->most[BUDGET_MEMORY] - current->used[BUDGET_MEMORY];
        current->used[BUDGET_MEMORY] += size < left ? size : left;
    }
    return memory;
}

static void count_out(void *memory)
{
    if (current && memory) {
        const uint64_t size = malloc_usable_size(memory), used = current->used[BUDGET_MEMORY];
        current->used[BUDGET_MEMORY] -= size < used ? size : used;
    }
}

/* What the system gives, whatever the budget. */
static void *given(size_t size) { return count_in(malloc(size ? size : 1)); }

static void *given_zeroed(size_t count, size_t size)
{
    return count_in(calloc(count ? count : 1, size ? size : 1));
}

static void *given_more(void *memory, size_t size)
{
    if (!memory)
        return given(size);
    if (!from_reserve(memory)) {
        count_out(memory);
        void *moved = realloc(memory, size ? size : 1);
        count_in(moved ? moved : memory);
        return moved;
    }
    const size_t before = ((piece *)memory - 1)->size;
    void *moved = given(size);
    if (moved) {
        memcpy(moved, memory, before < size ? before : size);
        reserve_return();
    }
    return moved;
}

void *memory_alloc(size_t size) { return allowed(size) ? given(size) : NULL; }

void *memory_zeroed(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return allowed(count * size) ? given_zeroed(count, size) : NULL;
}

void *memory_aligned(size_t alignment, size_t size)
{
    return allowed(size) ? count_in(aligned_alloc(alignment, size)) : NULL;
}

void *memory_resize(void *memory, size_t size)
{
    const size_t before = !memory || from_reserve(memory) ? 0 : malloc_usable_size(memory);
    return size <= before || allowed(size - before) ? given_more(memory, size) : NULL;
}

void memory_free(void *memory)
{
    if (from_reserve(memory)) {
        reserve_return();
        return;
    }
    count_out(memory);
    free(memory);
}

/* ---- requests that do not: beyond the budget they are served, and memory is low ---- */

/* What the system gave, or the same from the reserve. */
static void *or_reserve(void *memory, size_t size)
{
    memory = memory ? memory : reserve_take(size);
    BL_ASSERT(memory, "out of memory for %zu bytes, and of the reserve", size);
    return memory;
}

void *memory_need(size_t size)
{
    allowed(size);
    return or_reserve(given(size), size);
}

void *memory_need_zeroed(size_t count, size_t size)
{
    BL_ASSERT(!size || count <= SIZE_MAX / size, "%zu times %zu bytes", count, size);
    allowed(count * size);
    return or_reserve(given_zeroed(count, size), count * size);
}

void *memory_need_resized(void *memory, size_t before, size_t size)
{
    allowed(size > before ? size - before : 0);
    void *moved = given_more(memory, size);
    if (moved)
        return moved;
    moved = or_reserve(NULL, size);
    if (memory)
        memcpy(moved, memory, before < size ? before : size);
    memory_free(memory);
    return moved;
}

/* ---- budgets ---- */

const budget_row budget_rows[BUDGET_COUNT] = {
#define BUDGET_ROW(id, name, usual, strict, what) {name, what, usual, strict},
    BUDGET_TABLE(BUDGET_ROW)
#undef BUDGET_ROW
};

void budget_begin(call_budget *b)
{
    b->outer = current;
    b->start = clock_seconds();
    current = b;
}

void budget_end(call_budget *b)
{
    BL_ASSERT(current == b, "budgets end in the order in which they began");
    current = b->outer;
}

bl_result budget_exceeded(budget_kind kind, uint64_t most, bl_error *err)
{
    return error_set(err, BL_ERROR_LIMIT, "more than %ju %s are needed (limit \"%s\")", (uintmax_t)most,
                     budget_rows[kind].what, budget_rows[kind].name);
}

static bl_result over(const call_budget *b, budget_kind kind, bl_error *err)
{
    return budget_exceeded(kind, b->most[kind], err);
}

uint64_t budget_most(budget_kind kind)
{
    BL_ASSERT((unsigned)kind < BUDGET_COUNT, "a limit %d", (int)kind);
    return current ? current->most[kind] : budget_rows[kind].usual;
}

bl_result budget_take(budget_kind kind, uint64_t amount, bl_error *err)
{
    call_budget *b = current;
    if (!b)
        return BL_OK;
    if (amount > b->most[kind] - b->used[kind])
        return over(b, kind, err);
    b->used[kind] += amount;
    return budget_check(err);
}

bl_result budget_check(bl_error *err)
{
    const call_budget *b = current;
    if (!b)
        return memory_check(0, err);
    if (b->exceeded)
        return over(b, BUDGET_MEMORY, err);
    if (clock_seconds() - b->start > (double)b->most[BUDGET_SECONDS])
        return over(b, BUDGET_SECONDS, err);
    return memory_check(0, err);
}
