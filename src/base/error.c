/* SPDX-License-Identifier: BSD-3-Clause
 * Failures as values: a code and a text, filled in once, where the reason is known, and passed up
 * unchanged. */
#include "base/base.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Texts quote files, whose control characters a terminal would obey: all but line ends and tabs become '?',
 * also those of C1, which are two bytes in UTF-8. */
static void remove_controls(char *message)
{
    for (unsigned char *c = (unsigned char *)message; *c; c++) {
        bool c1 = c[0] == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F;
        if (c1)
            *c++ = '?';
        if (c1 || (*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7F)
            *c = '?';
    }
}

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
        remove_controls(whole);
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
