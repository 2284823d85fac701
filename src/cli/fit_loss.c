/* SPDX-License-Identifier: BSD-3-Clause
 * What a fit says of its loss: its name, whether noise biases it, and what each term has added where it is a
 * sum, which the last columns of fit.csv have of every step. */
#include "fit_work.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

static void name_term(FILE *out, const bl_loss_term *t)
{
    const bl_loss_info info = bl_loss_info_get(t->loss);
    if (t->weight > 0)
        fprintf(out, "%g ", t->weight);
    fputs(info.name, out);
    if (t->levels > 1)
        fprintf(out, " of %u levels", t->levels);
}

char *fit_term_text(const fit_work *w, uint32_t term)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = stream_or_exit(&text, &size);
    name_term(out, &w->job.terms[term]);
    end_or_exit(out);
    return text;
}

char *fit_loss_text(const fit_work *w)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = stream_or_exit(&text, &size);
    for (uint32_t t = 0; t < w->job.term_count; t++) {
        fputs(t ? " + " : "", out);
        name_term(out, &w->job.terms[t]);
    }
    end_or_exit(out);
    return text;
}

bool fit_loss_unbiased(const fit_work *w)
{
    for (uint32_t t = 0; t < w->job.term_count; t++)
        if (!bl_loss_info_get(w->job.terms[t].loss).unbiased)
            return false;
    return w->status.form != BL_FORM_ONE_IMAGE;
}

int fit_terms_end(fit_work *w)
{
    uint32_t column_count, rows;
    double **columns;
    const uint32_t count = fit_term_count(w);
    if (count == 0)
        return CLI_OK;
    CLI_TRY(fit_log_read(w, 2, &column_count, &rows, &columns));
    for (uint32_t t = 0; t < count && rows > 0 && column_count >= count; t++) {
        w->first_terms[t] = columns[column_count - count + t][0];
        w->last_terms[t] = columns[column_count - count + t][rows - 1];
    }
    free(columns[0]);
    free(columns);
    return CLI_OK;
}

void fit_terms_add(const fit_work *w, cJSON *json)
{
    cJSON *list = fit_term_count(w) ? cJSON_AddArrayToObject(json, "loss_terms") : NULL;
    for (uint32_t t = 0; t < fit_term_count(w); t++) {
        const bl_loss_term *term = &w->job.terms[t];
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "type", bl_loss_info_get(term->loss).name);
        cJSON_AddNumberToObject(one, "weight", term->weight > 0 ? term->weight : 1);
        cJSON_AddNumberToObject(one, "levels", term->levels ? term->levels : 1);
        cJSON_AddNumberToObject(one, "first", w->first_terms[t]);
        cJSON_AddNumberToObject(one, "last", w->last_terms[t]);
        cJSON_AddItemToArray(list, one);
    }
}
