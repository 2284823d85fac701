/* SPDX-License-Identifier: BSD-3-Clause
 * Failures as values: a code and a text, filled in once, where the reason is known, and passed up
 * unchanged. */
#include "base/base.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bl_result error_set(bl_error *err, bl_result code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        /* Through a second buffer, because callers add context with `error_set(err, code, "%s: %s", name,
         * err->text)`. */
        char whole[sizeof err->text];
        if (vsnprintf(whole, sizeof whole, format, args) < 0)
            whole[0] = 0;
        va_end(args);
        memcpy(err->text, whole, strlen(whole) + 1);
    }
    return code;
}

const char *result_text(bl_result code)
{
    switch (code) {
#define RESULT_CASE(name, value, text)                                                                       \
    case BL_##name:                                                                                          \
        return text;
        BL_RESULT_TABLE(RESULT_CASE)
#undef RESULT_CASE
    }
    return "unknown result code";
}

void assert_failed(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: assertion failed: %s: ", file, line, condition);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
