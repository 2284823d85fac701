/* SPDX-License-Identifier: BSD-3-Clause
 * Values of a fitted parameter as rows of a table, the same for terminal, result.json and report.html: a
 * number a row where there are few; a matrix as translation, rotation and scale; of many values the smallest,
 * the mean and the largest, and how far they are from the truth. */
#include "fit_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SINGLE_MOST = 9 }; /* values with a row each */

bool fit_is_matrix(const bl_parameter_info *info)
{
    return info->rank == 2 && info->shape[0] == 4 && info->shape[1] == 4;
}

bool fit_is_colour(const bl_parameter_info *info)
{
    static const char *const lengths[] = {"scale", "translation", "rotation", "position", "center"};
    const char *dot = strrchr(info->name, '.'), *last = dot ? dot + 1 : info->name;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!strcmp(last, lengths[i]))
            return false;
    return info->rank == 1 && info->count == 3 && info->least >= 0 && !info->geometry;
}

/* A rotation's axis times its angle in degrees, of orthonormal columns m[c][r]. */
static void rotation_vector(double m[3][3], double *out)
{
    const double axis[3] = {m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0]};
    const double sine = .5 * sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    const double cosine = .5 * (m[0][0] + m[1][1] + m[2][2] - 1), angle = atan2(sine, cosine);
    const double degrees = angle * 57.29577951308232;
    if (sine > 1e-6) {
        for (int c = 0; c < 3; c++)
            out[c] = axis[c] / (2 * sine) * degrees;
        return;
    }
    /* no turn, or half a turn about the axis whose squares stand on the diagonal */
    int k = 0;
    for (int c = 1; c < 3; c++)
        k = m[c][c] > m[k][k] ? c : k;
    const double length = sqrt(fmax(.5 * (m[k][k] + 1), 1e-12));
    for (int c = 0; c < 3; c++)
        out[c] = cosine > 0 ? 0 : degrees * (c == k ? length : .25 * (m[k][c] + m[c][k]) / length);
}

void fit_decompose(const float *matrix, double out[9])
{
    double m[3][3], length[3];
    for (int c = 0; c < 3; c++) {
        for (int r = 0; r < 3; r++)
            m[c][r] = (double)matrix[4 * r + c];
        length[c] = sqrt(m[c][0] * m[c][0] + m[c][1] * m[c][1] + m[c][2] * m[c][2]);
        out[c] = (double)matrix[4 * c + 3];
    }
    const double side = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                        m[1][0] * (m[0][1] * m[2][2] - m[0][2] * m[2][1]) +
                        m[2][0] * (m[0][1] * m[1][2] - m[0][2] * m[1][1]);
    if (side < 0)
        length[0] = -length[0]; /* a mirror is a negative scale */
    for (int c = 0; c < 3; c++) {
        out[6 + c] = length[c];
        for (int r = 0; r < 3; r++)
            m[c][r] /= length[c] != 0 ? length[c] : 1;
    }
    rotation_vector(m, out + 3);
}

const char *const fit_pose_names[9] = {"translation.x",  "translation.y",  "translation.z",
                                       "rotation.x (°)", "rotation.y (°)", "rotation.z (°)",
                                       "scale.x",        "scale.y",        "scale.z"};

static uint32_t matrix_rows(const fit_work *w, const fit_parameter *p, fit_row *rows)
{
    double initial[9], fitted[9], truth[9];
    fit_decompose(p->initial, initial);
    fit_decompose(p->now, fitted);
    fit_decompose(w->truth_known ? p->truth : p->now, truth);
    for (int i = 0; i < 9; i++) {
        rows[i] = (fit_row){
            .initial = initial[i], .fitted = fitted[i], .truth = truth[i], .true_known = w->truth_known};
        snprintf(rows[i].name, sizeof rows[i].name, "%.160s %s", p->parameter.info.name, fit_pose_names[i]);
    }
    return 9;
}

static void statistics(const float *values, uint32_t count, double out[3])
{
    out[0] = INFINITY, out[1] = 0, out[2] = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        out[0] = fmin(out[0], value), out[1] += value / count, out[2] = fmax(out[2], value);
    }
}

double fit_rms_error(const fit_parameter *p, const float *values)
{
    double square = 0;
    const uint32_t count = p->parameter.info.count;
    for (uint32_t i = 0; i < count; i++)
        square += pow((double)values[i] - (double)p->truth[i], 2) / count;
    return sqrt(square);
}

static uint32_t many_rows(const fit_work *w, const fit_parameter *p, fit_row *rows)
{
    static const char *const names[3] = {"smallest", "mean", "largest"};
    const uint32_t count = p->parameter.info.count;
    double initial[3], fitted[3], truth[3];
    statistics(p->initial, count, initial);
    statistics(p->now, count, fitted);
    statistics(w->truth_known ? p->truth : p->now, count, truth);
    for (int i = 0; i < 3; i++) {
        rows[i] = (fit_row){
            .initial = initial[i], .fitted = fitted[i], .truth = truth[i], .true_known = w->truth_known};
        snprintf(rows[i].name, sizeof rows[i].name, "%.160s: %s of %u", p->parameter.info.name, names[i],
                 count);
    }
    if (!w->truth_known)
        return 3;
    rows[3] = (fit_row){.initial = fit_rms_error(p, p->initial), .fitted = fit_rms_error(p, p->now)};
    snprintf(rows[3].name, sizeof rows[3].name, "%.160s: RMS error", p->parameter.info.name);
    return 4;
}

uint32_t fit_rows(const fit_work *w, const fit_parameter *p, fit_row rows[FIT_ROWS_MOST])
{
    const bl_parameter_info *info = &p->parameter.info;
    if (fit_is_matrix(info))
        return matrix_rows(w, p, rows);
    if (info->count > SINGLE_MOST)
        return many_rows(w, p, rows);
    for (uint32_t i = 0; i < info->count; i++) {
        rows[i] = (fit_row){.initial = (double)p->initial[i],
                            .fitted = (double)p->now[i],
                            .truth = w->truth_known ? (double)p->truth[i] : 0,
                            .true_known = w->truth_known};
        snprintf(rows[i].name, sizeof rows[i].name, info->count > 1 ? "%.190s[%u]" : "%.190s", info->name, i);
    }
    return info->count;
}

bool fit_row_relative(const fit_row *row) { return fabs(row->truth) >= 1e-3; }

double fit_row_error(const fit_row *row)
{
    return (row->fitted - row->truth) / (fit_row_relative(row) ? fabs(row->truth) : 1);
}

const char *fit_row_error_text(const fit_row *row, char text[32])
{
    if (!row->true_known)
        text[0] = 0;
    else if (fit_row_relative(row))
        snprintf(text, 32, "%+.2f%%", 100 * fit_row_error(row));
    else
        snprintf(text, 32, "%+.2g", fit_row_error(row));
    return text;
}

const char *fit_loss_note(const fit_work *w)
{
    return w->status.form == BL_FORM_TWO_WALK
               ? "In two walks the loss is an unbiased estimate from two halves of the samples: near 0 noise "
                 "makes it negative now and then."
               : NULL;
}

/* What a number of the job is; 0: the library's default (bl_fit_desc). */
static double given(double number, double otherwise) { return number != 0 ? number : otherwise; }

char *fit_optimizer_text(const fit_work *w)
{
    const fit_job *j = &w->job;
    const char *name = bl_optimizer_name(j->optimizer);
    const double rate = given(j->rate, .05), epsilon = given(j->epsilon, 1e-8);
    if (j->optimizer == BL_OPTIMIZER_ADAM)
        return text_format("%s, rate %g, betas %g and %g, epsilon %g", name, rate, given(j->beta_1, .9),
                           given(j->beta_2, .999), epsilon);
    if (j->optimizer == BL_OPTIMIZER_RMSPROP)
        return text_format("%s, rate %g, alpha %g, epsilon %g", name, rate, given(j->alpha, .99), epsilon);
    return text_format("%s, rate %g, momentum %g%s", name, rate, j->momentum,
                       j->nesterov ? " (Nesterov)" : "");
}

double fit_rate(const fit_work *w, uint32_t k)
{
    return given(w->job.parameters[k].rate, given(w->job.rate, .05));
}

static bool own_betas(const fit_job_parameter *p) { return p->beta_1 > 0 || p->beta_2 > 0; }

static bool alike(const fit_work *w, uint32_t k, uint32_t other)
{
    const fit_job_parameter *a = &w->job.parameters[k], *b = &w->job.parameters[other];
    return fit_rate(w, k) == fit_rate(w, other) && a->beta_1 == b->beta_1 && a->beta_2 == b->beta_2;
}

/* Parameters that are alike stand behind one rate. */
char *fit_rates_text(const fit_work *w)
{
    char *text = NULL;
    size_t size = 0;
    bool any = false;
    for (uint32_t k = 0; k < w->job.parameter_count; k++)
        any |= w->job.parameters[k].rate > 0 || own_betas(&w->job.parameters[k]);
    if (!any)
        return NULL;
    FILE *out = stream_or_exit(&text, &size);
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        uint32_t first = 0;
        while (!alike(w, k, first))
            first++;
        if (first < k)
            continue;
        fprintf(out, "%s%g", k ? "; " : "", fit_rate(w, k));
        if (own_betas(&w->job.parameters[k]))
            fprintf(out, " (betas %g and %g)", given(w->job.parameters[k].beta_1, given(w->job.beta_1, .9)),
                    given(w->job.parameters[k].beta_2, given(w->job.beta_2, .999)));
        for (uint32_t i = k; i < w->job.parameter_count; i++)
            if (alike(w, i, k))
                fprintf(out, "%s %s", i == k ? ":" : ",", w->job.parameters[i].name);
    }
    end_or_exit(out);
    return text;
}

double fit_settled(const fit_work *w, uint32_t k)
{
    double share = 0;
    bl_fit_get_settled(w->fit, k, &share); /* there is such a parameter */
    return share;
}

char *fit_average_text(const fit_work *w)
{
    enum { NAMED = 8 };
    const uint32_t count = w->job.parameter_count;
    char *text = NULL;
    size_t size = 0;
    if (!w->job.average_auto)
        return w->job.average ? text_format("the mean of the values after the last %u steps", w->job.average)
                              : NULL;
    FILE *out = stream_or_exit(&text, &size);
    fprintf(out, "from the last step toward where gradients of the last %u steps vanish, by shares of",
            fit_average_steps(w));
    for (uint32_t k = 0; k < count && k < NAMED; k++)
        fprintf(out, "%s %.2f: %s", k ? ";" : "", fit_settled(w, k), w->job.parameters[k].name);
    if (count > NAMED)
        fprintf(out, "; further ones are in result.json");
    end_or_exit(out);
    return text;
}
