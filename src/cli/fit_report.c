/* SPDX-License-Identifier: BSD-3-Clause
 * report.html: one file that opens anywhere without a network. Curves are inline SVG, pictures are PNG data,
 * the style follows the reader's light or dark setting. Every text that comes from a file or the command line
 * goes through escape(). */
#include "fit_work.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS_MOST = 600, CHARTS_MOST = 24, PICTURE_BYTES_MOST = 256 << 20 };

static void escape(FILE *out, const char *text)
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

/* ---- pictures ---- */

static void base64(FILE *out, const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t rest = (uint32_t)(size - i);
        uint32_t bits = (uint32_t)data[i] << 16 | (rest > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (rest > 2 ? data[i + 2] : 0u);
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], rest > 1 ? digits[bits >> 6 & 63] : '=',
                        rest > 2 ? digits[bits & 63] : '='};
        fwrite(four, 1, 4, out);
    }
}

/* Takes the path. */
static int add_file(FILE *out, char *path, const char *name, const char *caption)
{
    size_t size;
    char *data = read_whole(path, PICTURE_BYTES_MOST, &size);
    free(path);
    if (!data)
        return CLI_FAILED;
    fprintf(out, "<figure><img alt=\"%s\" src=\"data:image/png;base64,", name);
    base64(out, (const unsigned char *)data, size);
    fprintf(out, "\"><figcaption>%s</figcaption></figure>\n", caption);
    free(data);
    return CLI_OK;
}

static int add_picture(FILE *out, const fit_work *w, const char *name, uint32_t view, const char *caption)
{
    return add_file(out, fit_path(w, name, view, "png"), name, caption);
}

static int add_slices(FILE *out, const fit_work *w)
{
    static const char *const which[] = {"before", "after", "true"};
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const bl_parameter_info *info = &w->parameters[k].parameter.info;
        if (!info->resizable)
            continue;
        fprintf(out, "<h3>");
        escape(out, info->name);
        fprintf(out, "</h3><p>%s White: %.4g.</p>\n<div class=\"%s\">\n",
                info->rank == 4 ? "Slices of equal z, evenly spaced; y up." : "", fit_slices_white(w, k),
                info->rank == 4 ? "slices" : "pictures");
        for (int i = 0; i < 3; i++) {
            char *path = fit_slices_path(w, k, which[i]);
            if (path)
                CLI_TRY(add_file(out, path, which[i], which[i]));
        }
        fprintf(out, "</div>\n");
    }
    return CLI_OK;
}

static int add_pictures(FILE *out, const fit_work *w)
{
    fprintf(out, "<h2>Pictures</h2>\n");
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        if (!fit_shown(w, v))
            continue;
        if (w->job.several)
            fprintf(out, w->job.views[v].held_out ? "<h3>view %u, held out: %.2f dB, SSIM %.4f</h3>\n"
                                                  : "<h3>view %u</h3>\n",
                    v, w->job.views[v].held_out ? w->qualities[v].psnr : 0,
                    w->job.views[v].held_out ? w->qualities[v].ssim : 0);
        fprintf(out, "<div class=\"pictures\">\n");
        CLI_TRY(add_picture(out, w, "before", v, "before"));
        CLI_TRY(add_picture(out, w, "after", v, "after"));
        CLI_TRY(add_picture(out, w, "target", v, "target"));
        CLI_TRY(add_picture(out, w, "difference", v, "after &minus; target: red too bright, blue too dark"));
        fprintf(out, "</div>\n");
    }
    return CLI_OK;
}

/* ---- curves ---- */

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
    escape(c->out, title);
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

static int add_held_out(FILE *out, const fit_work *w)
{
    static const char *const titles[] = {"PSNR by step, dB", "SSIM by step"};
    uint32_t n;
    double *columns[3];
    if (!w->job.held_out_count)
        return CLI_OK;
    CLI_TRY(fit_held_out_read(w, &n, columns));
    fprintf(out,
            "<h2>Held-out views</h2>\n<p>No step has seen these %u views. At the end: PSNR %.2f dB, SSIM %.4f "
            "(means over all of them, of displayed values). The curves are means over those with "
            "pictures.</p>\n<div class=\"charts\">\n",
            w->job.held_out_count, w->held_out.psnr, w->held_out.ssim);
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

static int add_curves(FILE *out, const fit_work *w)
{
    uint32_t column_count, n, charts = 0, first = 2;
    double **columns;
    CLI_TRY(fit_log_read(w, ROWS_MOST, &column_count, &n, &columns));
    if (n > 0 && column_count >= 2) {
        fprintf(out, "<h2>Loss</h2>\n");
        loss_chart(out, columns, n);
        fprintf(out, "<h2>Parameters</h2>\n<p>%s</p>\n<div class=\"charts\">\n",
                w->truth_known ? "Values by step; dashed: those that the targets were rendered with."
                               : "Values by step.");
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

/* ---- tables ---- */

static void add_values(FILE *out, const fit_work *w)
{
    uint32_t rows = 0;
    fprintf(out, "<table><tr><th>parameter</th><th>initial</th><th>fitted</th>%s</tr>\n",
            w->truth_known ? "<th>true</th><th>error</th>" : "");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_parameter *p = &w->parameters[k];
        uint32_t count = p->parameter.info.count;
        for (uint32_t i = 0; i < count && count <= ENTRIES_IN_CSV && rows < 200; i++, rows++) {
            fprintf(out, "<tr><td>");
            escape(out, p->parameter.info.name);
            fprintf(out, count > 1 ? "[%u]" : "", i);
            fprintf(out, "</td><td>%.4g</td><td>%.4g</td>", (double)p->initial[i], (double)p->now[i]);
            if (w->truth_known)
                fprintf(out, "<td>%.4g</td><td>%+.2g</td>", (double)p->truth[i],
                        (double)p->now[i] - (double)p->truth[i]);
            fprintf(out, "</tr>\n");
        }
    }
    fprintf(out, "</table>\n<p>All values: <code>NAME.npy</code> beside this file.</p>\n");
}

static void row(FILE *out, const char *key, const char *format, ...) CLI_PRINTF(3, 4);
static void row(FILE *out, const char *key, const char *format, ...)
{
    char value[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    fprintf(out, "<tr><th>%s</th><td>", key);
    escape(out, value);
    fprintf(out, "</td></tr>\n");
}

static void add_effort(FILE *out, const fit_work *w)
{
    const fit_note *n = &w->note;
    double pixels = w->job.batch ? w->job.batch
                                 : (double)session_values(w->session) / 3 *
                                       (w->job.view_count - w->job.held_out_count),
           paths = pixels * w->status.step * (w->spp_grad > 0 ? w->spp_grad : 1);
    fprintf(out, "<h2>Time, memory, trust</h2>\n<table class=\"pairs\">\n");
    row(out, "steps", "%s in all, %.3g ms each", duration_text(n->seconds),
        1e3 * n->seconds / fmax(w->status.step, 1));
    row(out, "pictures", "target %s, before %s, after %s", duration_text(w->target_seconds),
        duration_text(w->before_seconds), duration_text(w->after_seconds));
    row(out, "driver's compiler", "%s",
        duration_text(bl_device_stats_get(w->session->device).compile_seconds));
    row(out, "memory", "%.3g MiB on the device, at most %.3g MiB of the process",
        (double)w->status.device_bytes / 1048576, (double)host_peak_bytes() / 1048576);
    row(out, "replay drift", "%llu of %.3g gradient samples took another path when they were replayed",
        (unsigned long long)n->drifted, paths);
    row(out, "range of gradients", "%llu contributions lost, scale made coarser %u times",
        (unsigned long long)n->overflowed, n->repeats + w->status.repeats);
    row(out, "not finite", "%llu samples dropped, %llu updates skipped", (unsigned long long)n->non_finite,
        (unsigned long long)(n->skipped + w->status.skipped));
    bl_loss_info loss = bl_loss_info_get(w->job.loss);
    row(out, "loss", "%s: %s", loss.name,
        loss.unbiased ? "its gradient is unbiased at any sample count"
                      : "noise in the image biases its gradient; more spp makes the bias smaller");
    row(out, "gradient", "form %s%s", bl_gradient_form_name(w->status.form),
        w->status.form == BL_FORM_TWO_WALK ? ": losses are unbiased estimates, which noise can make negative"
                                           : "");
    for (uint32_t k = 0; k < w->job.parameter_count; k++)
        if (w->parameters[k].parameter.info.reason)
            row(out, "incomplete gradient", "%s: %s", w->parameters[k].parameter.info.name,
                w->parameters[k].parameter.info.reason);
    row(out, "interruptions", "resumed %llu times", (unsigned long long)n->resumed);
    fprintf(out, "</table>\n");
}

static void add_recipe(FILE *out, const fit_work *w)
{
    const cli_common *common = &w->args->common;
    fprintf(out, "<h2>To reproduce this</h2>\n<pre>backlight fit ");
    escape(out, w->args->job);
    fprintf(out, " -o ");
    escape(out, w->folder);
    for (uint32_t i = 0; i < common->defines.count;
         i++) { /* the job's own among them: repeating those changes nothing */
        fprintf(out, " -D '");
        escape(out, common->defines.items[i]);
        fprintf(out, "'");
    }
    fprintf(out, " --spp %u --spp-grad %u --seed %u --device '", w->spp, w->spp_grad, w->seed);
    escape(out, w->session->device_info.name);
    fprintf(out, "'%s", common->no_baking ? " --no-baking" : "");
    if (common->integrator) {
        fprintf(out, " --integrator ");
        escape(out, common->integrator);
    }
    if (common->max_depth)
        fprintf(out, " --max-depth %d", common->max_depth);
    if (common->lights)
        fprintf(out, " --lights %s", common->lights);
    if (common->volume_gradient)
        fprintf(out, " --volume-gradient %s", common->volume_gradient);
    char date[64] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(out, "</pre>\n<table class=\"pairs\">\n");
    row(out, "program", "backlight %s", BL_VERSION_TEXT);
    row(out, "scene", "%s", w->job.scene);
    row(out, "device", "%s", w->session->device_info.name);
    row(out, "driver", "%s", w->session->device_info.driver);
    row(out, "seed", "%u", w->seed);
    row(out, "samples", "%u for the image of a step, %u for its gradient", w->spp, w->spp_grad);
    row(out, "optimiser", "%s", bl_optimizer_name(w->job.optimizer));
    row(out, "written", "%s", date);
    fprintf(out, "</table>\n<details><summary>the job</summary><pre>");
    escape(out, w->job.text);
    fprintf(out, "</pre></details>\n");
}

/* ---- the page ---- */

static const char style[] =
    ":root{color-scheme:light dark;--accent:#2f6fdb;--line:#8884;--soft:#8882;--quiet:#777}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1160px;margin:2em auto;padding:0 1.2em}"
    "h1{font-size:1.5em;margin:0 0 .2em}h2{font-size:1.12em;margin:1.8em 0 .5em;border-bottom:1px solid "
    "var(--line)}h3{font-size:1em;margin:1em 0 .4em}"
    ".cards{display:flex;flex-wrap:wrap;gap:.8em;margin:1em "
    "0}.card{background:var(--soft);border-radius:8px;padding:.5em 1em}"
    ".card b{display:block;font-size:1.25em;font-weight:600}.card span{color:var(--quiet);font-size:.85em}"
    ".slices figure{margin-bottom:.6em}"
    ".pictures{display:grid;grid-template-columns:repeat(4,1fr);gap:.8em}.charts{display:grid;grid-template-"
    "columns:repeat(2,1fr);gap:1em}"
    "@media(max-width:760px){.pictures,.charts{grid-template-columns:1fr 1fr}}"
    "figure{margin:0}figcaption{color:var(--quiet);font-size:.88em}img{width:100%;image-rendering:pixelated;"
    "border-radius:4px;display:block}"
    ".chart{max-width:720px}svg{width:100%;height:auto;background:var(--soft);border-radius:6px}svg "
    "text{font-size:11px;fill:var(--quiet)}"
    "polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}.grid{stroke:var(--line);stroke-width:.7}"
    ".truth{stroke-width:1;stroke-dasharray:4 4;opacity:.75}"
    "table{margin-top:.8em;border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.15em "
    "1.2em .15em 0;text-align:left;font-weight:normal;vertical-align:top}"
    "tr:first-child th,.pairs th{color:var(--quiet)}pre{background:var(--soft);padding:.7em "
    "1em;border-radius:6px;overflow:auto;font-size:.88em;white-space:pre-wrap}";

static void card(FILE *out, const char *value, const char *label)
{
    fprintf(out, "<div class=\"card\"><b>%s</b><span>%s</span></div>\n", value, label);
}

static void add_head(FILE *out, const fit_work *w)
{
    char text[100];
    bool complete = w->status.step == w->steps;
    fprintf(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                 "content=\"width=device-width\">"
                 "<title>Fit: ");
    escape(out, w->args->job);
    fprintf(out, "</title><style>%s</style></head><body>\n<h1>Fit of ", style);
    escape(out, w->args->job);
    fprintf(out, "</h1>\n<div class=\"cards\">\n");
    snprintf(text, sizeof text, complete ? "%u" : "%u of %u", w->status.step, w->steps);
    card(out, text,
         complete ? "steps, complete" : "steps, <b style=\"display:inline;font-size:1em\">interrupted</b>");
    snprintf(text, sizeof text, "%.3g &rarr; %.3g", w->note.first_loss, w->status.loss);
    card(out, text, "loss, first and last step");
    card(out, duration_text(w->note.seconds), "in steps");
    snprintf(text, sizeof text, "%u &times; %u", w->session->info.width, w->session->info.height);
    card(out, text, "pixels");
    fprintf(out, "<div class=\"card\"><b>");
    escape(out, w->session->device_info.kind);
    fprintf(out, "</b><span>");
    escape(out, w->session->device_info.name);
    fprintf(out, "</span></div>\n</div>\n");
}

int fit_save_report(fit_work *w)
{
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    if (!out)
        return fail("no memory for the report");
    add_head(out, w);
    int status = add_pictures(out, w);
    if (status == CLI_OK)
        status = add_slices(out, w);
    if (status == CLI_OK)
        status = add_held_out(out, w);
    if (status == CLI_OK)
        status = add_curves(out, w);
    add_values(out, w);
    add_effort(out, w);
    add_recipe(out, w);
    fprintf(out, "</body></html>\n");
    bool good = !ferror(out);
    if (fclose(out) != 0 || !good)
        status = fail("no memory for the report");
    char *path = text_format("%s/report.html", w->folder);
    if (status == CLI_OK)
        status = save_file(path, page, size);
    free(path);
    free(page);
    return status;
}
