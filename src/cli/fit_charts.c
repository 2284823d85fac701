/* SPDX-License-Identifier: BSD-3-Clause
 * Curves of a fit's report as inline SVG: the loss, parameters, and PSNR and SSIM of views that are held out,
 * all by step. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MOST = 600, CHARTS_MOST = 24 };

void report_escape(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

typedef struct chart {
    FILE *out;
    double x0, x1, y0, y1; /* ranges; y in decades where log */
    bool log;
} chart;

enum { CHART_WIDTH = 560, CHART_HEIGHT = 240, LEFT = 62, RIGHT = 14, TOP = 10, BOTTOM = 30 };

static double chart_x(const chart *c, double x)
{
    return LEFT + (x - c->x0) / (c->x1 - c->x0) * (CHART_WIDTH - LEFT - RIGHT);
}
static double chart_y(const chart *c, double y)
{
    double v = c->log ? log10(y) : y;
    return CHART_HEIGHT - BOTTOM - (v - c->y0) / (c->y1 - c->y0) * (CHART_HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten: about five steps over the range. */
static double tick_step(double range)
{
    double raw = range / 5, power = pow(10, floor(log10(raw))), share = raw / power;
    return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

static void grid_line(const chart *c, double y, const char *label)
{
    fprintf(c->out,
            "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
            "text-anchor=\"end\">%s</text>\n",
            LEFT, CHART_WIDTH - RIGHT, y, y, LEFT - 6, y + 4, label);
}

static void linear_ticks(const chart *c)
{
    char label[32];
    double step = tick_step(c->y1 - c->y0);
    for (double y = ceil(c->y0 / step - 1e-9) * step; y <= c->y1 + 1e-9 * step; y += step) {
        double value = fabs(y) < 1e-9 * step ? 0 : y;
        snprintf(label, sizeof label, "%.4g", value);
        grid_line(c, chart_y(c, value), label);
    }
}

/* Powers of ten, and where there are few of them in sight also 2 and 5 times those. */
static void logarithmic_ticks(const chart *c)
{
    static const double between[3] = {1, 2, 5};
    char label[32];
    double decades = c->y1 - c->y0, stride = fmax(1, floor(decades / 6));
    for (double k = floor(c->y0); k <= c->y1; k += stride)
        for (int i = 0; i < (decades < 3 ? 3 : 1); i++) {
            double value = between[i] * pow(10, k);
            snprintf(label, sizeof label, "%.3g", value);
            if (log10(value) >= c->y0 && log10(value) <= c->y1)
                grid_line(c, chart_y(c, value), label);
        }
}

static void axes(const chart *c)
{
    double step = fmax(1, tick_step(c->x1 - c->x0));
    if (c->log)
        logarithmic_ticks(c);
    else
        linear_ticks(c);
    for (double x = ceil(c->x0 / step) * step; x <= c->x1; x += step)
        fprintf(c->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.10g</text>\n", chart_x(c, x),
                CHART_HEIGHT - 10, x);
}

static void curve(const chart *c, const double *x, const double *y, uint32_t n, const char *colour)
{
    fprintf(c->out, "<polyline style=\"stroke:%s\" points=\"", colour);
    for (uint32_t i = 0; i < n; i++)
        if (isfinite(y[i]) && !(c->log && y[i] <= 0))
            fprintf(c->out, "%.1f,%.1f ", chart_x(c, x[i]), chart_y(c, y[i]));
    fprintf(c->out, "\"/>\n");
}

static void widen(chart *c, double y)
{
    double v = c->log ? log10(y) : y;
    if (!isfinite(v))
        return;
    c->y0 = fmin(c->y0, v);
    c->y1 = fmax(c->y1, v);
}

static void begin_chart(chart *c, const double *steps, uint32_t n, const char *title)
{
    double margin = 0.04 * (c->y1 - c->y0);
    if (!(c->y1 >= c->y0)) /* nothing finite to show */
        c->y0 = 0, c->y1 = 1;
    margin = margin > 0 ? margin : fmax(0.05 * fabs(c->y1), 1e-6);
    c->y0 -= margin, c->y1 += margin;
    c->x0 = steps[0], c->x1 = fmax(steps[n - 1], steps[0] + 1);
    fprintf(c->out, "<figure class=\"chart\"><figcaption>");
    report_escape(c->out, title);
    fprintf(c->out, "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\">\n", CHART_WIDTH, CHART_HEIGHT);
    axes(c);
}

static void loss_chart(FILE *out, double *const *columns, uint32_t n)
{
    chart c = {.out = out, .y0 = INFINITY, .y1 = -INFINITY, .log = true};
    for (uint32_t i = 0; i < n; i++)
        c.log &= columns[1][i] > 0;
    for (uint32_t i = 0; i < n; i++)
        widen(&c, columns[1][i]);
    begin_chart(&c, columns[0], n, c.log ? "loss by step, logarithmic" : "loss by step");
    curve(&c, columns[0], columns[1], n, "var(--accent)");
    fprintf(out, "</svg></figure>\n");
}

int report_held_out(FILE *out, const fit_work *w)
{
    static const char *const titles[] = {"PSNR by step, dB", "SSIM by step"};
    uint32_t n;
    double *columns[3];
    CLI_TRY(fit_held_out_read(w, &n, columns));
    if (w->job.batch && w->job.held_out_count > SHOWN_MOST)
        fprintf(out, "<p>The curves are means over the views with pictures.</p>\n");
    fprintf(out, "<div class=\"charts\">\n");
    for (int k = 0; k < 2 && n > 0; k++) {
        chart c = {.out = out, .y0 = INFINITY, .y1 = -INFINITY};
        for (uint32_t i = 0; i < n; i++)
            widen(&c, columns[1 + k][i]);
        begin_chart(&c, columns[0], n, titles[k]);
        curve(&c, columns[0], columns[1 + k], n, "var(--accent)");
        fprintf(out, "</svg></figure>\n");
    }
    fprintf(out, "</div>\n");
    free(columns[0]);
    return CLI_OK;
}

static void entry_colour(char *text, size_t size, uint32_t i, uint32_t count)
{
    static const char *const rgb[3] = {"#d33a2c", "#2c9a47", "#2f6fdb"};
    if (count == 3)
        snprintf(text, size, "%s", rgb[i]);
    else if (count == 1)
        snprintf(text, size, "var(--accent)");
    else
        snprintf(text, size, "hsl(%u 65%% 48%%)", i * 360 / count);
}

static void parameter_chart(FILE *out, const fit_work *w, const fit_parameter *p, double *const *columns,
                            uint32_t first, uint32_t n)
{
    const bl_parameter_info *info = &p->parameter.info;
    chart c = {.out = out, .y0 = INFINITY, .y1 = -INFINITY};
    char colour[32];
    for (uint32_t e = 0; e < info->count; e++) {
        for (uint32_t i = 0; i < n; i++)
            widen(&c, columns[first + e][i]);
        if (w->truth_known)
            widen(&c, (double)p->truth[e]);
    }
    begin_chart(&c, columns[0], n, info->name);
    for (uint32_t e = 0; e < info->count; e++) {
        entry_colour(colour, sizeof colour, e, info->count);
        if (w->truth_known && isfinite(p->truth[e]))
            fprintf(
                out,
                "<line class=\"truth\" style=\"stroke:%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                colour, LEFT, CHART_WIDTH - RIGHT, chart_y(&c, (double)p->truth[e]),
                chart_y(&c, (double)p->truth[e]));
        curve(&c, columns[0], columns[first + e], n, colour);
    }
    fprintf(out, "</svg></figure>\n");
}

int report_curves(FILE *out, const fit_work *w)
{
    uint32_t column_count, n, charts = 0, first = 2;
    double **columns;
    CLI_TRY(fit_log_read(w, ROWS_MOST, &column_count, &n, &columns));
    if (n > 0 && column_count >= 2) {
        fprintf(out, "<h2>Loss</h2>\n");
        loss_chart(out, columns, n);
        fprintf(out, "<h2>Parameters</h2>\n");
        if (column_count > first)
            fprintf(out, "<p>%s</p>\n",
                    w->truth_known ? "Values by step; dashed: those that the targets were rendered with."
                                   : "Values by step.");
        fprintf(out, "<div class=\"charts\">\n");
        for (uint32_t k = 0; k < w->job.parameter_count; k++) {
            const fit_parameter *p = &w->parameters[k];
            if (!p->logged || first + p->parameter.info.count > column_count)
                continue;
            if (charts++ < CHARTS_MOST)
                parameter_chart(out, w, p, columns, first, n);
            first += p->parameter.info.count;
        }
        fprintf(out, "</div>\n");
        if (charts > CHARTS_MOST)
            fprintf(out, "<p>%u further parameters are in fit.csv.</p>\n", charts - CHARTS_MOST);
    }
    free(columns[0]);
    free(columns);
    return CLI_OK;
}
