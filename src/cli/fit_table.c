/* SPDX-License-Identifier: BSD-3-Clause
 * Tables that a fit writes beside its log: a head, then rows of numbers, each with its step in front; a row
 * for some steps only. Every row is on the disk before the checkpoint of its step is. Going on from a
 * checkpoint keeps the rows up to its step, so the whole is the same bytes as without an interruption. */
#include "fit_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MOST = 64 << 20 };

static char *path_of(const fit_work *w, const char *name) { return text_format("%s/%s", w->folder, name); }

int fit_table_append(const fit_work *w, const char *name, const char *line)
{
    char *path = path_of(w, name);
    FILE *file = fopen(path, "a");
    bool good = file && fputs(line, file) >= 0;
    if (file)
        good = good && fflush(file) == 0 && fsync(fileno(file)) == 0, good &= fclose(file) == 0;
    int status = good ? CLI_OK : fail("cannot write %s: %s", path, strerror(errno));
    free(path);
    return status;
}

/* Keeps the rows up to a step. */
static int keep(const char *path, const char *head, uint32_t step, uint32_t *last)
{
    size_t size;
    char *text = read_whole(path, BYTES_MOST, &size);
    if (!text)
        return CLI_FAILED;
    int status = CLI_OK;
    if (size < strlen(head) || memcmp(text, head, strlen(head)) != 0) {
        status = fail("%s was changed since the checkpoint was written: it cannot be gone on from", path);
    } else {
        const char *at = text + strlen(head), *end = text + size, *line_end;
        while (at < end && (line_end = memchr(at, '\n', (size_t)(end - at))) &&
               strtoul(at, NULL, 10) <= step) {
            *last = (uint32_t)strtoul(at, NULL, 10);
            at = line_end + 1;
        }
        status = save_file(path, text, (size_t)(at - text));
    }
    free(text);
    return status;
}

int fit_table_begin(const fit_work *w, const char *name, const char *head, uint32_t step, uint32_t *last)
{
    char *path = path_of(w, name);
    *last = 0;
    int status = w->first_step ? keep(path, head, step, last) : save_file(path, head, strlen(head));
    free(path);
    return status;
}

int fit_table_read(const fit_work *w, const char *name, uint32_t column_count, uint32_t *row_count,
                   double **columns)
{
    size_t size;
    char *path = path_of(w, name), *text = read_whole(path, BYTES_MOST, &size);
    uint32_t rows = 0;
    free(path);
    if (!text)
        return CLI_FAILED;
    for (size_t i = 0; i < size; i++)
        rows += text[i] == '\n';
    columns[0] = memory_or_exit(column_count * ((size_t)rows + 1) * sizeof(double));
    for (uint32_t c = 1; c < column_count; c++)
        columns[c] = columns[0] + (size_t)c * rows;
    *row_count = rows ? rows - 1 : 0;
    const char *at = strchr(text, '\n');
    for (uint32_t r = 0; r < *row_count && at; r++, at = strchr(at, '\n')) {
        char *next = (char *)(uintptr_t)at + 1;
        for (uint32_t c = 0; c < column_count; c++, next += *next == ',')
            columns[c][r] = strtod(next, &next);
        at = next;
    }
    free(text);
    return CLI_OK;
}
