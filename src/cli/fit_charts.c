/* SPDX-License-Identifier: BSD-3-Clause
 * Curves of a fit's report as inline SVG without scripts: the loss, parameters, and PSNR and SSIM of views
 * that are held out, all by step. Each has titles of its axes, a legend, and the values under the pointer,
 * which CSS shows (fit_style.c). */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 600, CHARTS_MOST = 24, HOVERS_MOST = 60, LEGEND_MOST = 9, MEDIAN_MOST = 101 };

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

typedef struct series {
    const char *name, *colour;
    const double *y;
    double truth; /* a dashed line; NAN: none */
    bool faint;   /* beside what matters; not told under the pointer where there are many */
} series;

typedef struct chart {
    FILE *out;
    const char *title, *unit; /* of the vertical axis */
    const char *x_unit;       /* of the other one; NULL: steps, which are whole */
    const double *x;
    uint32_t n;
    const series *series;
    uint32_t series_count;
    double x0, x1, y0, y1; /* ranges; y in decades where log */
    bool log;
} chart;

enum { CHART_WIDTH = 560, CHART_HEIGHT = 260, LEFT = 76, RIGHT = 20, TOP = 10, BOTTOM = 48 };

static double chart_x(const chart *c, double x)
{
    return LEFT + (x - c->x0) / (c->x1 - c->x0) * (CHART_WIDTH - LEFT - RIGHT);
}
static double chart_y(const chart *c, double y)
{
    double v = c->log ? log10(y) : y;
    v = fmin(fmax(v, c->y0), c->y1); /* what the axis does not reach stays at its end */
    return CHART_HEIGHT - BOTTOM - (v - c->y0) / (c->y1 - c->y0) * (CHART_HEIGHT - TOP - BOTTOM);
}
static bool drawn(const chart *c, double y) { return isfinite(y) && !(c->log && y <= 0); }

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
        snprintf(label, sizeof label, "%.6g", value);
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
    double step = tick_step(c->x1 - c->x0);
    step = c->x_unit ? step : fmax(1, step);
    if (c->log)
        logarithmic_ticks(c);
    else
        linear_ticks(c);
    for (double x = ceil(c->x0 / step) * step; x <= c->x1; x += step)
        fprintf(c->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>\n", chart_x(c, x),
                CHART_HEIGHT - BOTTOM + 18, fabs(x) < 1e-9 * step ? 0 : x);
    const int middle = TOP + (CHART_HEIGHT - TOP - BOTTOM) / 2;
    fprintf(c->out,
            "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text><text class=\"axis\" "
            "transform=\"translate(13 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
            (CHART_WIDTH + LEFT) / 2, CHART_HEIGHT - 8, c->x_unit ? c->x_unit : "step", middle, c->unit);
}

/* Lines of neighbours that can be drawn. */
static void curve(const chart *c, const series *s)
{
    bool open = false;
    for (uint32_t i = 0; i < c->n; i++) {
        if (!drawn(c, s->y[i])) {
            fputs(open ? "\"/>\n" : "", c->out);
            open = false;
            continue;
        }
        if (!open)
            fprintf(c->out, "<polyline%s style=\"stroke:%s\" points=\"", s->faint ? " class=\"faint\"" : "",
                    s->colour);
        open = true;
        fprintf(c->out, "%.1f,%.1f ", chart_x(c, c->x[i]), chart_y(c, s->y[i]));
    }
    fputs(open ? "\"/>\n" : "", c->out);
    if (drawn(c, s->truth))
        fprintf(c->out,
                "<line class=\"truth\" style=\"stroke:%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
                "y2=\"%.1f\"/>\n",
                s->colour, LEFT, CHART_WIDTH - RIGHT, chart_y(c, s->truth), chart_y(c, s->truth));
}

static void widen(chart *c, double y)
{
    double v = c->log ? log10(y) : y;
    if (!drawn(c, y) || !isfinite(v))
        return;
    c->y0 = fmin(c->y0, v);
    c->y1 = fmax(c->y1, v);
}

static void legend(const chart *c)
{
    fprintf(c->out, "<figcaption><b>");
    report_escape(c->out, c->title);
    fprintf(c->out, "</b>");
    for (uint32_t k = 0; k < c->series_count && k < LEGEND_MOST; k++) {
        fprintf(c->out, " <span class=\"key\"><i style=\"background:%s\"></i>", c->series[k].colour);
        report_escape(c->out, c->series[k].name);
        fprintf(c->out, "</span>");
    }
    if (c->series_count > LEGEND_MOST)
        fprintf(c->out, " and %u more", c->series_count - LEGEND_MOST);
    fprintf(c->out, "</figcaption>\n");
}

/* One strip a sample: under the pointer CSS shows its line and text. */
static void hover(const chart *c, uint32_t i, uint32_t stride)
{
    const double x = chart_x(c, c->x[i]),
                 half = .5 * stride * (CHART_WIDTH - LEFT - RIGHT) / fmax(c->n - 1, 1);
    const bool right = x > .55 * CHART_WIDTH;
    fprintf(c->out,
            "<g class=\"hover\"><rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/><line x1=\"%.1f\" "
            "x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s %.7g",
            fmax(x - half, LEFT), TOP, 2 * half, CHART_HEIGHT - TOP - BOTTOM, x, x, TOP,
            CHART_HEIGHT - BOTTOM, right ? x - 6 : x + 6, TOP + 14, right ? "end" : "start",
            c->x_unit ? c->x_unit : "step", c->x[i]);
    uint32_t told = 0;
    for (uint32_t k = 0; k < c->series_count && told < LEGEND_MOST; k++, told++)
        fprintf(c->out, "<tspan x=\"%.1f\" dy=\"1.2em\" style=\"fill:%s\">%.4g</tspan>",
                right ? x - 6 : x + 6, c->series[k].colour, c->series[k].y[i]);
    fprintf(c->out, "</text></g>\n");
}

static void draw(chart *c)
{
    double margin = 0.04 * (c->y1 - c->y0);
    if (!(c->y1 >= c->y0)) /* nothing finite to show */
        c->y0 = 0, c->y1 = 1;
    const double least = 1e-3 * fmax(fabs(c->y0), fabs(c->y1)); /* below it rounding is all that there is */
    if (!c->log && c->y1 - c->y0 < least)
        c->y0 -= least, c->y1 += least;
    margin = margin > 0 ? margin : fmax(0.05 * fabs(c->y1), 1e-6);
    c->y0 -= margin, c->y1 += margin;
    c->x0 = c->x[0], c->x1 = c->x[c->n - 1];
    if (!(c->x1 > c->x0))
        c->x1 = c->x0 + 1;
    fprintf(c->out, "<figure class=\"chart\">");
    legend(c);
    fprintf(c->out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", CHART_WIDTH, CHART_HEIGHT);
    report_escape(c->out, c->title);
    fprintf(c->out, "\">\n");
    axes(c);
    for (uint32_t k = 0; k < c->series_count; k++)
        curve(c, &c->series[k]);
    const uint32_t stride = (c->n + HOVERS_MOST - 1) / HOVERS_MOST;
    for (uint32_t i = 0; i < c->n; i += stride)
        hover(c, i, stride);
    fprintf(c->out, "</svg></figure>\n");
}

static chart chart_of(FILE *out, const char *title, const char *unit, const double *x, uint32_t n,
                      const series *list, uint32_t count)
{
    chart c = {.out = out,
               .title = title,
               .unit = unit,
               .x = x,
               .n = n,
               .series = list,
               .series_count = count,
               .y0 = INFINITY,
               .y1 = -INFINITY};
    return c;
}

static void linear_chart(chart c)
{
    for (uint32_t k = 0; k < c.series_count; k++) {
        for (uint32_t i = 0; i < c.n; i++)
            widen(&c, c.series[k].y[i]);
        widen(&c, c.series[k].truth);
    }
    draw(&c);
}

/* ---- the loss ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of `window` neighbours, an odd number; at both ends of those that there are. */
static void running_median(const double *y, uint32_t n, uint32_t window, double *out)
{
    double sorted[MEDIAN_MOST];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t half = window / 2, reach = i < half ? i : half;
        reach = n - 1 - i < reach ? n - 1 - i : reach;
        const uint32_t count = 2 * reach + 1;
        memcpy(sorted, y + i - reach, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_doubles);
        out[i] = sorted[count / 2];
    }
}

/* Logarithmic by what is above 0 of the medians, unless that is less than half of them. */
static void loss_chart(FILE *out, const fit_work *w, double *const *columns, uint32_t n)
{
    uint32_t window = n / 8 | 1, above = 0, below = 0;
    window = window > MEDIAN_MOST ? MEDIAN_MOST : window < 5 ? 5 : window;
    double *median = memory_or_exit(n * sizeof *median);
    char name[80];
    running_median(columns[1], n, window, median);
    snprintf(name, sizeof name, "running median of %u of the steps drawn here", window);
    const series both[2] = {
        {.name = "loss of a step", .colour = "var(--second)", .y = columns[1], .truth = NAN, .faint = true},
        {.name = name, .colour = "var(--accent)", .y = median, .truth = NAN}};
    chart c = chart_of(out, "Loss by step", "loss", columns[0], n, both, 2);
    for (uint32_t i = 0; i < n; i++)
        above += median[i] > 0, below += columns[1][i] <= 0;
    c.log = 2 * above > n;
    for (uint32_t i = 0; i < n; i++) {
        widen(&c, median[i]);
        if (below == 0 || !c.log)
            widen(&c, columns[1][i]);
    }
    c.title = c.log ? "Loss by step, logarithmic" : "Loss by step";
    char *loss = fit_loss_text(w);
    c.unit = w->job.term_count > 1 ? "loss" : loss; /* a sum is longer than the axis; the headline has it */
    draw(&c);
    free(loss);
    if (c.log && below)
        fprintf(out,
                "<p class=\"quiet\">%u of the %u losses drawn here are 0 or less, where the axis cannot "
                "reach: gaps. The median tells how the fit went.</p>\n",
                below, n);
    free(median);
}

int report_held_out(FILE *out, const fit_work *w)
{
    static const char *const titles[] = {"PSNR of held-out views by step", "SSIM of held-out views by step"};
    static const char *const units[] = {"PSNR, dB", "SSIM"};
    uint32_t n;
    double *columns[3];
    CLI_TRY(fit_held_out_read(w, &n, columns));
    if (w->job.batch && w->job.held_out_count > SHOWN_MOST)
        fprintf(out, "<p>The curves are means over the views with pictures.</p>\n");
    fprintf(out, "<div class=\"charts\">\n");
    for (int k = 0; k < 2 && n > 0; k++) {
        const series one = {.name = "mean", .colour = "var(--accent)", .y = columns[1 + k], .truth = NAN};
        linear_chart(chart_of(out, titles[k], units[k], columns[0], n, &one, 1));
    }
    fprintf(out, "</div>\n");
    free(columns[0]);
    return CLI_OK;
}

/* ---- noise ---- */

enum { LINE_COLOURS = 9, LOOKS_TOGETHER = 5 };
static const char *const line_colours[LINE_COLOURS] = {
    "var(--accent)", "#d33a2c", "#2c9a47", "#b07800", "#8447c2", "#2f6fdb", "#c23f86", "#2a9c9c", "#7a7a7a"};

/* The root of variance over square, of the sums over LOOKS_TOGETHER neighbours, into variance. */
static void noise_over_signal(double *variance, const double *square, uint32_t n)
{
    const uint32_t half = LOOKS_TOGETHER / 2;
    double *ratio = memory_or_exit((n + 1) * sizeof *ratio);
    for (uint32_t i = 0; i < n; i++) {
        double sum[2] = {0};
        for (uint32_t j = i < half ? 0 : i - half; j < n && j <= i + half; j++)
            sum[0] += variance[j], sum[1] += square[j];
        ratio[i] = sum[1] > 0 ? sqrt(sum[0] / sum[1]) : (double)NAN;
    }
    memcpy(variance, ratio, n * sizeof *ratio);
    free(ratio);
}

int report_noise(FILE *out, const fit_work *w)
{
    uint32_t n, count = w->job.parameter_count;
    double **columns;
    if (!w->job.variance_steps)
        return CLI_OK;
    CLI_TRY(fit_noise_read(w, &n, &columns));
    series *list = memory_or_exit(count * sizeof *list);
    for (uint32_t k = 0; k < count; k++) {
        noise_over_signal(columns[1 + 2 * k], columns[2 + 2 * k], n);
        list[k] = (series){.name = w->parameters[k].parameter.info.name,
                           .colour = line_colours[k % LINE_COLOURS],
                           .y = columns[1 + 2 * k],
                           .truth = NAN};
    }
    if (n > 0) {
        chart c = chart_of(out, "Noise over signal of a gradient by step, logarithmic", "noise / signal",
                           columns[0], n, list, count);
        c.log = true;
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t i = 0; i < n; i++)
                widen(&c, list[k].y[i]);
        fprintf(
            out,
            "<h2>Noise</h2>\n<p>Standard error of one gradient over its magnitude, from a second gradient of "
            "the same values; five looks together. Below 1 a step knows its way; far above 1 most of it is "
            "chance, and more samples or smaller rates help. Gaps: noise hides the gradient. The numbers are "
            "in noise.csv.</p>\n<div class=\"charts\">\n");
        draw(&c);
        fprintf(out, "</div>\n");
    }
    free(list);
    free(columns[0]);
    free(columns);
    return CLI_OK;
}

/* How many times more samples the fit would have had with the most in every step. */
static double most_over_all(double *const *columns, uint32_t n, const fit_work *w)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += columns[2][i];
    return n * (double)w->spp_grad / sum;
}

int report_samples(FILE *out, const fit_work *w)
{
    uint32_t n;
    double *columns[4];
    if (!fit_samples_vary(w))
        return CLI_OK;
    CLI_TRY(fit_samples_read(w, &n, columns));
    const series both[2] = {
        {.name = "of the gradient", .colour = "var(--accent)", .y = columns[2], .truth = NAN},
        {.name = "of the image", .colour = "var(--second)", .y = columns[1], .truth = NAN}};
    if (n > 0) {
        fprintf(out, "<h2>Samples</h2>\n<p>");
        if (!(w->job.wanted_noise > 0))
            fprintf(out, "As the schedule says; the fit had %.3g samples in all.", columns[3][n - 1]);
        else
            fprintf(out,
                    "As many as make a gradient's standard error %.3g times its magnitude, by the steps "
                    "before; at most %u. The fit had %.3g samples in all; with the most in every step it "
                    "would have had %.3g.",
                    w->job.wanted_noise, w->spp_grad, columns[3][n - 1],
                    columns[3][n - 1] * most_over_all(columns, n, w));
        fprintf(out, "</p>\n<div class=\"charts\">\n");
        linear_chart(chart_of(out, "Samples of a pixel by step", "samples", columns[0], n, both,
                              w->spp == w->spp_grad ? 1 : 2));
        fprintf(out, "</div>\n");
    }
    free(columns[0]);
    return CLI_OK;
}

/* ---- parameters ---- */

static const char *const rgb_colours[3] = {"#d33a2c", "#2c9a47", "#2f6fdb"};

static void entry_colour(char *text, size_t size, uint32_t i, uint32_t count)
{
    if (count == 3)
        snprintf(text, size, "%s", rgb_colours[i]);
    else if (count == 1)
        snprintf(text, size, "var(--accent)");
    else
        snprintf(text, size, "hsl(%u 65%% 48%%)", i * 360 / count);
}

typedef struct entry_name {
    char name[16], colour[32];
} entry_name;

static void entries_chart(FILE *out, const fit_work *w, const fit_parameter *p, double *const *columns,
                          uint32_t first, uint32_t n)
{
    static const char *const rgb[3] = {"red", "green", "blue"};
    const bl_parameter_info *info = &p->parameter.info;
    series *list = memory_or_exit(info->count * sizeof *list);
    entry_name *names = memory_or_exit(info->count * sizeof *names);
    for (uint32_t e = 0; e < info->count; e++) {
        entry_colour(names[e].colour, sizeof names[e].colour, e, info->count);
        snprintf(names[e].name, sizeof names[e].name, "[%u]", e);
        list[e] = (series){.name = fit_is_colour(info) ? rgb[e]
                                   : info->count > 1   ? names[e].name
                                                       : "value",
                           .colour = names[e].colour,
                           .y = columns[first + e],
                           .truth = w->truth_known ? (double)p->truth[e] : (double)NAN};
    }
    linear_chart(chart_of(out, info->name, "value", columns[0], n, list, info->count));
    free(names);
    free(list);
}

/* Translation, rotation and scale of a matrix, a chart each. */
static void pose_charts(FILE *out, const fit_work *w, const fit_parameter *p, double *const *columns,
                        uint32_t first, uint32_t n)
{
    static const char *const parts[3] = {"translation", "rotation", "scale"};
    static const char *const units[3] = {"scene units", "degrees", "factor"};
    static const char *const axes_names[3] = {"x", "y", "z"};
    double *poses = memory_or_exit((size_t)n * 9 * sizeof *poses), truth[9];
    fit_decompose(w->truth_known ? p->truth : p->now, truth);
    for (uint32_t i = 0; i < n; i++) {
        float matrix[16];
        double pose[9];
        for (uint32_t e = 0; e < 16; e++)
            matrix[e] = (float)columns[first + e][i];
        fit_decompose(matrix, pose);
        for (uint32_t k = 0; k < 9; k++)
            poses[(size_t)k * n + i] = pose[k];
    }
    for (uint32_t part = 0; part < 3; part++) {
        series list[3];
        char title[240];
        snprintf(title, sizeof title, "%.200s: %s", p->parameter.info.name, parts[part]);
        for (uint32_t c = 0; c < 3; c++)
            list[c] = (series){.name = axes_names[c],
                               .colour = rgb_colours[c],
                               .y = poses + (size_t)(3 * part + c) * n,
                               .truth = w->truth_known ? truth[3 * part + c] : (double)NAN};
        linear_chart(chart_of(out, title, units[part], columns[0], n, list, 3));
    }
    free(poses);
}

static void parameter_charts(FILE *out, const fit_work *w, double *const *columns, uint32_t column_count,
                             uint32_t n)
{
    uint32_t charts = 0, first = 2;
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_parameter *p = &w->parameters[k];
        const bl_parameter_info *info = &p->parameter.info;
        if (!p->logged || first + info->count > column_count)
            continue;
        if (charts++ < CHARTS_MOST)
            (fit_is_matrix(info) ? pose_charts : entries_chart)(out, w, p, columns, first, n);
        first += info->count;
    }
    if (charts > CHARTS_MOST)
        fprintf(out, "<p>%u further parameters are in fit.csv.</p>\n", charts - CHARTS_MOST);
}

int report_curves(FILE *out, const fit_work *w)
{
    uint32_t column_count, n;
    double **columns;
    CLI_TRY(fit_log_read(w, ROWS_MOST, &column_count, &n, &columns));
    if (n > 0 && column_count >= 2) {
        fprintf(out, "<h2>Loss</h2>\n");
        loss_chart(out, w, columns, n);
        if (column_count > 2) {
            fprintf(out, "<h2>Parameters</h2>\n<p>%s</p>\n<div class=\"charts\">\n",
                    w->truth_known ? "Values by step; dashed: those that the targets were rendered with."
                                   : "Values by step.");
            parameter_charts(out, w, columns, column_count, n);
            fprintf(out, "</div>\n");
        }
    }
    free(columns[0]);
    free(columns);
    return CLI_OK;
}

/* ---- many values ---- */

enum { BINS = 48 };

static void count_bins(const float *values, uint32_t count, value_range r, double *bins)
{
    memset(bins, 0, BINS * sizeof *bins);
    for (uint32_t i = 0; i < count; i++) {
        const double at = ((double)values[i] - r.black) / (r.white - r.black) * BINS;
        if (isfinite(at))
            bins[at < 0 ? 0 : at >= BINS ? BINS - 1 : (uint32_t)at] += 1.0 / count;
    }
}

void report_histogram(FILE *out, const fit_work *w, const fit_parameter *p)
{
    static const char *const names[3] = {"initial", "fitted", "true"};
    static const char *const colours[3] = {"var(--second)", "var(--accent)", "#2c9a47"};
    const float *const values[3] = {p->initial, p->now, w->truth_known ? p->truth : NULL};
    const uint32_t count = p->parameter.info.count;
    value_range r = {INFINITY, -INFINITY};
    double bins[3][BINS], centres[BINS];
    series list[3];
    uint32_t shown = 0;
    for (int k = 0; k < 3 && values[k]; k++)
        for (uint32_t i = 0; i < count; i++)
            r.black = fmin(r.black, (double)values[k][i]), r.white = fmax(r.white, (double)values[k][i]);
    if (!(r.white > r.black))
        r.white = r.black + 1;
    for (int k = 0; k < BINS; k++)
        centres[k] = r.black + (k + .5) / BINS * (r.white - r.black);
    for (int k = 0; k < 3 && values[k]; k++, shown++) {
        count_bins(values[k], count, r, bins[k]);
        list[k] = (series){.name = names[k], .colour = colours[k], .y = bins[k], .truth = NAN};
    }
    chart c = chart_of(out, "", "share of values", centres, BINS, list, shown);
    char title[280];
    snprintf(title, sizeof title, "%.200s: histogram of %u values", p->parameter.info.name, count);
    c.title = title;
    c.x_unit = "value";
    c.y0 = 0, c.y1 = 0;
    for (uint32_t k = 0; k < shown; k++)
        for (int i = 0; i < BINS; i++)
            c.y1 = fmax(c.y1, bins[k][i]);
    draw(&c);
}
