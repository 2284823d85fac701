/* SPDX-License-Identifier: BSD-3-Clause
 * fit.csv: step, loss of that step, every entry of parameters with at most ENTRIES_IN_CSV (and no stages)
 * after it, the terms of a loss that is a sum. */
#include "fit_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static char *log_path(const fit_work *w) { return text_format("%s/fit.csv", w->folder); }

int fit_log_begin(fit_work *w)
{
    int status;
    w->log = work_log_begin(log_path(w), &status);
    CLI_TRY(status);
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
    status = work_log_add(w->log, head, size);
    free(head);
    return status;
}

int fit_log_resume(fit_work *w)
{
    int status;
    w->log = work_log_resume(log_path(w), w->note.log, &status);
    return status;
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
    int status = result == BL_OK ? work_log_add(w->log, line, size) : session_fail(w->session, result);
    free(line);
    return status;
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
    FILE *file = fopen(work_log_path(w->log), "r");
    if (!file)
        return fail("cannot open %s: %s", work_log_path(w->log), strerror(errno));
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
    return good ? CLI_OK : fail("cannot read %s", work_log_path(w->log));
}

int fit_log_read(const fit_work *w, uint32_t most, uint32_t *column_count, uint32_t *row_count,
                 double ***columns)
{
    FILE *file = fopen(work_log_path(w->log), "r");
    if (!file)
        return fail("cannot open %s: %s", work_log_path(w->log), strerror(errno));
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
    return good ? CLI_OK : fail("cannot read %s", work_log_path(w->log));
}
