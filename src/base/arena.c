/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that is freed at once. Blocks form a list whose head is the one being filled; a request that does
 * not fit the head starts a new block, and one larger than a block gets a block of its own behind the head,
 * so that the space left in the head is not given up for it. */
#include "base/base.h"

#include <stdarg.h>
#include <string.h>

enum { BLOCK_SIZE = 64 * 1024, ALIGNMENT = 16 };

struct arena_block {
    arena_block *next;
    size_t used, size; /* bytes of `data` */
    _Alignas(ALIGNMENT) unsigned char data[];
};

static arena_block *block_create(size_t size)
{
    BL_ASSERT(size <= SIZE_MAX - sizeof(arena_block), "%zu bytes", size);
    arena_block *block = memory_need_zeroed(1, sizeof *block + size);
    block->size = size;
    return block;
}

void *arena_alloc(arena *a, size_t size)
{
    BL_ASSERT(size <= SIZE_MAX - ALIGNMENT, "%zu bytes", size);
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    arena_block *block = a->first;
    if (!block || block->size - block->used < size) {
        bool large = size > BLOCK_SIZE / 4;
        block = block_create(large ? size : BLOCK_SIZE);
        if (large && a->first) {
            block->next = a->first->next;
            a->first->next = block;
        } else {
            block->next = a->first;
            a->first = block;
        }
    }
    void *data = block->data + block->used;
    block->used += size;
    a->total += size;
    return data;
}

char *arena_strndup(arena *a, const char *chars, size_t length)
{
    char *copy = arena_alloc(a, length + 1);
    memcpy(copy, chars, length); /* the zero behind it is there already */
    return copy;
}

char *arena_strdup(arena *a, const char *chars) { return arena_strndup(a, chars, strlen(chars)); }

char *arena_printf(arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BL_ASSERT(length >= 0, "bad format %s", format);
    char *chars = arena_alloc(a, (size_t)length + 1);
    vsnprintf(chars, (size_t)length + 1, format, again);
    va_end(again);
    return chars;
}

void arena_free(arena *a)
{
    for (arena_block *block = a->first, *next; block; block = next) {
        next = block->next;
        memory_free(block);
    }
    *a = (arena){0};
}
