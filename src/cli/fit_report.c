/* SPDX-License-Identifier: BSD-3-Clause
 * report.html: one file that opens anywhere without a network. Curves are inline SVG (fit_charts.c), pictures
 * are PNG data, the style follows the reader's light or dark setting. Every text that comes from a file or
 * the command line goes through report_escape(). */
#include "fit_work.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PICTURE_BYTES_MOST = 256 << 20, ROWS_MOST = 200 /* of the table of values */ };

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
        report_escape(out, info->name);
        value_range range = fit_slices_range(w, k);
        uint32_t channels = info->shape[info->rank - 1];
        fprintf(out, "</h3><p>%s%s Black: %.4g, white: %.4g.</p>\n<div class=\"%s\">\n",
                info->rank == 4 ? "Slices of equal z, evenly spaced; y up." : "",
                channels > 3 ? " The first three channels, as red, green and blue." : "", range.black,
                range.white, info->rank == 4 ? "slices" : "pictures");
        for (int i = 0; i < 3; i++) {
            char *path = fit_slices_path(w, k, which[i]);
            if (path)
                CLI_TRY(add_file(out, path, which[i], which[i]));
        }
        fprintf(out, "</div>\n");
    }
    return CLI_OK;
}

static int add_held_out(FILE *out, const fit_work *w)
{
    if (!w->job.held_out_count)
        return CLI_OK;
    fprintf(out,
            "<h2>Held-out views</h2>\n<p>No step has seen these %u views. At the end: PSNR %.2f dB, SSIM "
            "%.4f (means over all of them, of displayed values).</p>\n<div class=\"turntable\">\n",
            w->job.held_out_count, w->held_out.psnr, w->held_out.ssim);
    CLI_TRY(
        add_file(out, text_format("%s/turntable.png", w->folder), "turntable",
                 "truth, fit, and how far they are apart (black: nowhere), view after view; turntable.png"));
    fprintf(out, "</div>\n");
    return report_held_out(out, w);
}

static int add_pictures(FILE *out, const fit_work *w)
{
    fprintf(out, "<h2>Pictures</h2>\n");
    for (uint32_t v = 0; v < w->job.view_count; v++) {
        if (!fit_shown(w, v))
            continue;
        if (w->job.several)
            fprintf(out,
                    w->job.views[v].held_out ? "<h3>view %u, held out: %.2f dB, SSIM %.4f</h3>\n"
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

/* ---- tables ---- */

/* Returns how many rows it has added; the table of values has at most ROWS_MOST. */
static uint32_t add_value_rows(FILE *out, const fit_work *w, const fit_parameter *p, uint32_t rows)
{
    uint32_t count = p->parameter.info.count, i;
    for (i = 0; i < count && count <= ENTRIES_IN_CSV && rows + i < ROWS_MOST; i++) {
        fprintf(out, "<tr><td>");
        report_escape(out, p->parameter.info.name);
        fprintf(out, count > 1 ? "[%u]" : "", i);
        fprintf(out, "</td><td>%.4g</td><td>%.4g</td>", (double)p->initial[i], (double)p->now[i]);
        if (w->truth_known)
            fprintf(out, "<td>%.4g</td><td>%+.2g</td>", (double)p->truth[i],
                    (double)p->now[i] - (double)p->truth[i]);
        fprintf(out, "</tr>\n");
    }
    return i;
}

static void add_values(FILE *out, const fit_work *w)
{
    uint32_t rows = 0;
    bool any = false;
    for (uint32_t k = 0; k < w->job.parameter_count; k++)
        any |= w->parameters[k].parameter.info.count <= ENTRIES_IN_CSV;
    if (any)
        fprintf(out, "<table><tr><th>parameter</th><th>initial</th><th>fitted</th>%s</tr>\n",
                w->truth_known ? "<th>true</th><th>error</th>" : "");
    for (uint32_t k = 0; k < w->job.parameter_count; k++)
        rows += add_value_rows(out, w, &w->parameters[k], rows);
    fprintf(out, "%s<p>All values: <code>NAME.npy</code> beside this file, for", any ? "</table>\n" : "");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const bl_parameter_info *info = &w->parameters[k].parameter.info;
        fprintf(out, k ? ", " : " ");
        report_escape(out, info->name);
        for (uint32_t i = 0; i < info->rank; i++)
            fprintf(out, i ? " &times; %u" : " (%u", info->shape[i]);
        fprintf(out, info->rank ? ")" : "");
    }
    fprintf(out, ".</p>\n");
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
    report_escape(out, value);
    fprintf(out, "</td></tr>\n");
}

static void add_effort(FILE *out, const fit_work *w)
{
    const fit_note *n = &w->note;
    double pixels = w->job.batch
                        ? w->job.batch
                        : (double)session_pixels(w->session) * (w->job.view_count - w->job.held_out_count),
           paths = pixels * w->status.step * (w->spp_grad > 0 ? w->spp_grad : 1);
    double each = 1e3 * n->seconds / fmax(w->status.step, 1);
    fprintf(out, "<h2>Time, memory, trust</h2>\n<table class=\"pairs\">\n");
    row(out, "steps", "%s in all, %.*f ms each", duration_text(n->seconds), each < 100, each);
    row(out, "pictures", "target %s, before %s, after %s", duration_text(w->target_seconds),
        duration_text(w->before_seconds), duration_text(w->after_seconds));
    row(out, "driver's compiler", "%s",
        duration_text(bl_device_stats_get(w->session->device).compile_seconds));
    row(out, "memory", "%.1f MiB on the device, at most %.1f MiB of the process",
        (double)w->status.device_bytes / 1048576, (double)host_peak_bytes() / 1048576);
    row(out, "replay drift", "%llu of %.0f gradient samples took another path when they were replayed",
        (unsigned long long)n->drifted, paths);
    row(out, "range of gradients", "%llu contributions lost, scale made coarser %u times",
        (unsigned long long)n->overflowed, n->repeats + w->status.repeats);
    row(out, "not finite", "%llu samples dropped, %llu updates skipped", (unsigned long long)n->non_finite,
        (unsigned long long)(n->skipped + w->status.skipped));
    if (n->cut > 0)
        row(out, "too dense", "%llu times a path was cut after 65536 collisions in a medium",
            (unsigned long long)n->cut);
    bl_loss_info loss = bl_loss_info_get(w->job.loss);
    row(out, "loss", "%s: %s", loss.name,
        w->status.form == BL_FORM_ONE_IMAGE ? "of the very samples that are differentiated: it counts their "
                                              "noise, too, and its gradient makes "
                                              "that smaller"
        : loss.unbiased                     ? "its gradient is unbiased at any sample count"
                        : "noise in the image biases its gradient; more spp makes the bias smaller");
    row(out, "gradient", "form %s%s", bl_gradient_form_name(w->status.form),
        w->status.form == BL_FORM_TWO_WALK ? ": losses are unbiased estimates, which noise can make negative"
                                           : "");
    row(out, "interruptions", "resumed %llu times", (unsigned long long)n->resumed);
    fprintf(out, "</table>\n");
}

static void add_recipe(FILE *out, const fit_work *w)
{
    const cli_common *common = &w->args->common;
    fprintf(out, "<h2>To reproduce this</h2>\n<pre>backlight fit ");
    report_escape(out, w->args->job);
    fprintf(out, " -o ");
    report_escape(out, w->folder);
    for (uint32_t i = 0; i < common->defines.count;
         i++) { /* the job's own among them: repeating those changes nothing */
        fprintf(out, " -D '");
        report_escape(out, common->defines.items[i]);
        fprintf(out, "'");
    }
    fprintf(out, " --spp %u --spp-grad %u --seed %u --device '", w->spp, w->spp_grad, w->seed);
    report_escape(out, w->session->device_info.name);
    fprintf(out, "'%s", common->no_baking ? " --no-baking" : "");
    if (common->mode) {
        fprintf(out, " --mode ");
        report_escape(out, common->mode);
    }
    if (common->integrator) {
        fprintf(out, " --integrator ");
        report_escape(out, common->integrator);
    }
    if (common->max_depth)
        fprintf(out, " --max-depth %d", common->max_depth);
    if (common->lights)
        fprintf(out, " --lights %s", common->lights);
    if (common->edges)
        fprintf(out, " --edges %s", common->edges);
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
    report_escape(out, w->job.text);
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
    ".warning{border-left:4px solid #d33;padding:.3em .8em}.slices figure{margin-bottom:.6em}"
    ".pictures{display:grid;grid-template-columns:repeat(4,1fr);gap:.8em}.charts{display:grid;grid-template-"
    "columns:repeat(2,1fr);gap:1em}"
    "@media(max-width:760px){.pictures,.charts{grid-template-columns:1fr 1fr}}"
    "figure{margin:0}figcaption{color:var(--quiet);font-size:.88em}img{width:100%;image-rendering:pixelated;"
    "border-radius:4px;display:block}"
    ".turntable{max-width:900px;margin-bottom:1em}.chart{max-width:720px}svg{width:100%;height:auto;"
    "background:var(--soft);border-radius:6px}svg "
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
    report_escape(out, w->args->job);
    fprintf(out, "</title><style>%s</style></head><body>\n<h1>Fit of ", style);
    report_escape(out, w->args->job);
    fprintf(out, "</h1>\n");
    if (w->incomplete) {
        fprintf(
            out,
            "<p class=\"warning\">The gradients of this fit are incomplete, so it may have gone astray: ");
        report_escape(out, w->incomplete);
        fprintf(out, ".</p>\n");
    }
    fprintf(out, "<div class=\"cards\">\n");
    snprintf(text, sizeof text, complete ? "%u" : "%u of %u", w->status.step, w->steps);
    card(out, text,
         complete ? "steps, complete" : "steps, <b style=\"display:inline;font-size:1em\">interrupted</b>");
    snprintf(text, sizeof text, "%.3g &rarr; %.3g", w->note.first_loss, w->status.loss);
    card(out, text, "loss, first and last step");
    card(out, duration_text(w->note.seconds), "in steps");
    if (w->job.held_out_count) {
        snprintf(text, sizeof text, "%.2f dB", w->held_out.psnr);
        card(out, text, "PSNR of held-out views");
    }
    snprintf(text, sizeof text, "%u &times; %u", w->session->info.width, w->session->info.height);
    card(out, text, "pixels");
    if (w->job.several) {
        snprintf(text, sizeof text, "%u", w->job.view_count - w->job.held_out_count);
        card(out, text, "views that are fitted");
    }
    fprintf(out, "<div class=\"card\"><b>");
    report_escape(out, w->session->device_info.kind);
    fprintf(out, "</b><span>");
    report_escape(out, w->session->device_info.name);
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
    int status = add_held_out(out, w);
    if (status == CLI_OK)
        status = add_pictures(out, w);
    if (status == CLI_OK)
        status = add_slices(out, w);
    if (status == CLI_OK)
        status = report_curves(out, w);
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
