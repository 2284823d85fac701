/* SPDX-License-Identifier: BSD-3-Clause
 * fit.csv: step, loss of that step, every entry of parameters with at most ENTRIES_IN_CSV (and no stages)
 * after it, the terms of a loss that is a sum. Lines are appended as they come, so that a long fit holds none
 * of them in memory. A checkpoint knows how many bytes belong to it, and their hash; going on cuts the file
 * there, so that the whole is the same bytes as without an interruption. */
#include "fit_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct fit_log {
    FILE *file;
    char *path;
    uint64_t bytes;
    XXH3_state_t hash; /* of the bytes so far */
};

static int cannot_write(const fit_log *log)
{
    return fail("cannot write %s: %s", log->path, strerror(errno));
}

static int add_line(fit_log *log, const char *line, size_t length)
{
    if (fwrite(line, 1, length, log->file) != length)
        return cannot_write(log);
    log->bytes += length;
    XXH3_64bits_update(&log->hash, line, length);
    return CLI_OK;
}

static fit_log *new_log(fit_work *w)
{
    fit_log *log = aligned_alloc(64, (sizeof *log + 63) / 64 * 64); /* the hash's state is aligned */
    if (!log)
        exit(fail("out of memory"));
    *log = (fit_log){.path = text_format("%s/fit.csv", w->folder)};
    XXH3_64bits_reset(&log->hash);
    return w->log = log;
}

FILE *stream_or_exit(char **text, size_t *size)
{
    FILE *stream = open_memstream(text, size);
    if (!stream)
        exit(fail("out of memory"));
    return stream;
}

void end_or_exit(FILE *stream)
{
    const bool good = !ferror(stream);
    if (fclose(stream) != 0 || !good)
        exit(fail("out of memory"));
}

void fit_csv_name(FILE *out, const char *name, const char *entry)
{
    bool quoted = strpbrk(name, ",\"\r\n") != NULL;
    fputs(quoted ? ",\"" : ",", out);
    for (const char *c = name; *c; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c == '\n' || *c == '\r' ? ' ' : *c, out); /* a row is a line */
    }
    fprintf(out, "%s%s", entry, quoted ? "\"" : "");
}

/* The columns of the terms of a loss that is a sum, behind all others. */
static void terms_head(const fit_work *w, FILE *out)
{
    for (uint32_t t = 0; t < fit_term_count(w); t++) {
        char *entry = text_format(":%u:%s", t, bl_loss_info_get(w->job.terms[t].loss).name);
        fit_csv_name(out, "loss", entry);
        free(entry);
    }
}

static bl_result terms_row(const fit_work *w, FILE *out)
{
    double terms[BL_LOSS_TERMS_MOST];
    bl_result r = fit_term_count(w) ? bl_fit_get_terms(w->fit, terms) : BL_OK;
    for (uint32_t t = 0; r == BL_OK && t < fit_term_count(w); t++)
        fprintf(out, ",%.9g", terms[t]);
    return r;
}

int fit_log_begin(fit_work *w)
{
    fit_log *log = new_log(w);
    log->file = fopen(log->path, "w");
    if (!log->file)
        return cannot_write(log);
    char *head = NULL;
    size_t size = 0;
    FILE *text = stream_or_exit(&head, &size);
    fprintf(text, "step,loss");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const bl_parameter_info *info = &w->parameters[k].parameter.info;
        for (uint32_t i = 0; i < info->count && w->parameters[k].logged; i++) {
            char entry[16] = "";
            if (info->count > 1)
                snprintf(entry, sizeof entry, "[%u]", i);
            fit_csv_name(text, info->name, entry);
        }
    }
    terms_head(w, text);
    fprintf(text, "\n");
    end_or_exit(text);
    int status = add_line(log, head, size);
    free(head);
    return status;
}

/* Hashes what belongs to the checkpoint. */
static bool same_beginning(fit_log *log, uint64_t bytes, uint64_t hash)
{
    char block[1 << 16];
    while (log->bytes < bytes) {
        uint64_t rest = bytes - log->bytes;
        size_t got = fread(block, 1, rest < sizeof block ? (size_t)rest : sizeof block, log->file);
        if (got == 0)
            return false;
        log->bytes += got;
        XXH3_64bits_update(&log->hash, block, got);
    }
    return XXH3_64bits_digest(&log->hash) == hash;
}

int fit_log_resume(fit_work *w)
{
    fit_log *log = new_log(w);
    log->file = fopen(log->path, "r+");
    if (!log->file)
        return fail("cannot open %s, which the checkpoint goes on from: %s", log->path, strerror(errno));
    if (!same_beginning(log, w->note.log_bytes, w->note.log_hash))
        return fail("%s was changed since the checkpoint was written: it cannot be gone on from", log->path);
    if (ftruncate(fileno(log->file), (off_t)log->bytes) != 0 ||
        fseeko(log->file, (off_t)log->bytes, SEEK_SET) != 0)
        return cannot_write(log);
    return CLI_OK;
}

int fit_log_step(fit_work *w)
{
    char *line = NULL;
    size_t size = 0;
    FILE *text = stream_or_exit(&line, &size);
    fprintf(text, "%u,%.9g", w->status.step, w->status.loss);
    bl_result result = BL_OK;
    for (uint32_t k = 0; k < w->job.parameter_count && result == BL_OK; k++) {
        const fit_parameter *p = &w->parameters[k];
        if (!p->logged)
            continue;
        result = bl_fit_get(w->fit, k, p->now);
        for (uint32_t i = 0; i < p->parameter.info.count; i++)
            fprintf(text, ",%.9g", (double)p->now[i]);
    }
    if (result == BL_OK)
        result = terms_row(w, text);
    fprintf(text, "\n");
    end_or_exit(text);
    int status = result == BL_OK ? add_line(w->log, line, size) : session_fail(w->session, result);
    free(line);
    return status;
}

int fit_log_sync(fit_work *w)
{
    fit_log *log = w->log;
    if (fflush(log->file) != 0 || fsync(fileno(log->file)) != 0)
        return cannot_write(log);
    w->note.log_bytes = log->bytes;
    w->note.log_hash = XXH3_64bits_digest(&log->hash);
    return CLI_OK;
}

void fit_log_free(fit_log *log)
{
    if (!log)
        return;
    if (log->file)
        fclose(log->file);
    free(log->path);
    free(log);
}

/* ---- reading it back ---- */

static uint32_t count_columns(const char *line)
{
    uint32_t count = 1;
    bool quoted = false;
    for (; *line; line++) {
        quoted ^= *line == '"';
        count += *line == ',' && !quoted;
    }
    return count;
}

int fit_log_losses(const fit_work *w, uint32_t after, double *losses)
{
    FILE *file = fopen(w->log->path, "r");
    if (!file)
        return fail("cannot open %s: %s", w->log->path, strerror(errno));
    char *line = NULL;
    size_t capacity = 0;
    uint32_t row = 0; /* 0: the head */
    for (; row <= w->status.step && getline(&line, &capacity, file) > 0; row++) {
        char *at = line;
        if (row > after)
            strtod(line, &at), *losses++ = strtod(at + (*at == ','), NULL);
    }
    const bool good = row > w->status.step;
    free(line);
    fclose(file);
    return good ? CLI_OK : fail("cannot read %s", w->log->path);
}

int fit_log_read(const fit_work *w, uint32_t most, uint32_t *column_count, uint32_t *row_count,
                 double ***columns)
{
    FILE *file = fopen(w->log->path, "r");
    if (!file)
        return fail("cannot open %s: %s", w->log->path, strerror(errno));
    char *line = NULL;
    size_t capacity = 0;
    uint32_t every = w->status.step / most + 1, rows = w->status.step / every + 2, row = 0;
    bool headed = getline(&line, &capacity, file) > 0;
    uint32_t count = *column_count = headed ? count_columns(line) : 0;
    *columns = memory_or_exit((count + 1) * sizeof **columns);
    (*columns)[0] = memory_or_exit((size_t)rows * (count + 1) * sizeof(double));
    for (uint32_t c = 1; c < count; c++)
        (*columns)[c] = (*columns)[0] + (size_t)c * rows;
    for (uint32_t step = 1; step <= w->status.step && getline(&line, &capacity, file) > 0; step++) {
        if (step % every != 1 % every && step != w->status.step)
            continue;
        char *at = line;
        for (uint32_t c = 0; c < count; c++, at += *at == ',')
            (*columns)[c][row] = strtod(at, &at);
        row++;
    }
    *row_count = row;
    const bool good = !ferror(file);
    free(line);
    fclose(file);
    return good ? CLI_OK : fail("cannot read %s", w->log->path);
}
