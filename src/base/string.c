/* SPDX-License-Identifier: BSD-3-Clause
 * A growing text buffer: always zero-terminated, doubled when full. */
#include "base/base.h"

#include <stdarg.h>
#include <string.h>

/* Room for `more` bytes and the terminating zero. */
static void reserve(text *t, size_t more)
{
    BL_ASSERT(more < SIZE_MAX / 2 && t->length < SIZE_MAX / 2 - more, "text of %zu + %zu bytes", t->length,
              more);
    size_t needed = t->length + more + 1;
    if (needed <= t->capacity)
        return;
    size_t capacity = t->capacity ? t->capacity : 128;
    while (capacity < needed)
        capacity *= 2;
    t->data = memory_need_resized(t->data, t->capacity, capacity);
    t->capacity = capacity;
}

void text_add(text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BL_ASSERT(length >= 0, "bad format %s", format);
    reserve(t, (size_t)length);
    vsnprintf(t->data + t->length, (size_t)length + 1, format, again);
    va_end(again);
    t->length += (size_t)length;
}

void text_add_bytes(text *t, const void *bytes, size_t size)
{
    reserve(t, size);
    if (size)
        memcpy(t->data + t->length, bytes, size);
    t->length += size;
    t->data[t->length] = 0;
}

void text_free(text *t)
{
    memory_free(t->data);
    *t = (text){0};
}
