/* SPDX-License-Identifier: BSD-3-Clause
 * Messages on standard error, formatted text, and memory that is there or ends the program. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "backlight: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return CLI_FAILED;
}

void note(const cli_common *common, const char *format, ...)
{
    if (common->quiet)
        return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
}

char *text_format(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = memory_or_exit((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void *memory_or_exit(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory) {
        fprintf(stderr, "backlight: out of memory\n");
        exit(CLI_FAILED);
    }
    return memory;
}
