/* SPDX-License-Identifier: BSD-3-Clause
 * Messages on standard error, formatted text, and memory that is there or ends the program. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a line. It may quote files, whose control characters a terminal would obey: they become '?', also
 * those of C1, which are two bytes in UTF-8. */
static void print_line(const char *begin, const char *format, va_list args)
{
    char *line = NULL;
    if (vasprintf(&line, format, args) < 0)
        line = NULL;
    for (unsigned char *c = (unsigned char *)line; c && *c; c++) {
        bool c1 = c[0] == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F;
        if (c1)
            *c++ = '?';
        if (c1 || (*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7F)
            *c = '?';
    }
    fprintf(stderr, "%s%s\n", begin, line ? line : "out of memory");
    free(line);
}

/* All of them, a line each: programs read them as one text. */
static char error_text[4000];

const char *last_error(void) { return error_text; }

void remember_error(const char *format, va_list args)
{
    const size_t used = strlen(error_text);
    if (used + 2 >= sizeof error_text)
        return;
    if (used)
        strcat(error_text, "\n");
    vsnprintf(error_text + strlen(error_text), sizeof error_text - strlen(error_text), format, args);
}

int fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    remember_error(format, args);
    va_end(args);
    va_start(args, format);
    print_line("backlight: ", format, args);
    va_end(args);
    return CLI_FAILED;
}

void note(const cli_common *common, const char *format, ...)
{
    if (common->quiet)
        return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void tell(const cli_common *common, const char *format, ...)
{
    if (!common->verbose)
        return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void note_dropped(const cli_common *common, const bl_stats *stats)
{
    if (stats->non_finite)
        note(
            common,
            "warning: %llu of %llu samples %s; they count as black, so the image is darker than it should be",
            (unsigned long long)stats->non_finite, (unsigned long long)stats->paths,
            stats->cut ? "were cut in a medium or not finite" : "were not finite");
    if (stats->cut)
        note(common,
             "warning: %llu times a path was cut after 65536 collisions in a medium: it is too dense for its "
             "size, or "
             "its majorant is far above its density",
             (unsigned long long)stats->cut);
}

/* Back to the last * where something does not fit: at most the product of both lengths. */
bool text_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*pattern == '*')
            star = pattern++, from = text;
        else if (*pattern && (*pattern == '?' || *pattern == *text))
            pattern++, text++;
        else if (star)
            pattern = star + 1, text = ++from;
        else
            return false;
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
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
