/* SPDX-License-Identifier: BSD-3-Clause
 * report.html: one file that opens anywhere without a network, and runs no script. Curves are inline SVG
 * (fit_charts.c), pictures PNG data (fit_report_pictures.c). Every text that comes from a file or the command
 * line goes through report_escape(). */
#include "fit_work.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS_MOST = 200 /* of the table of values */ };

/* ---- tables ---- */

/* Red, green and blue from 0 to 1 as they are seen; brighter ones are scaled down to 1 together. */
static void swatch(FILE *out, const double *colour)
{
    const double most = fmax(1, fmax(colour[0], fmax(colour[1], colour[2])));
    int levels[3];
    for (int c = 0; c < 3; c++)
        levels[c] = (int)(255 * encode_srgb(fmax(colour[c] / most, 0)) + .5);
    fprintf(out, "<i class=\"swatch\" style=\"background:rgb(%d,%d,%d)\"></i>", levels[0], levels[1],
            levels[2]);
}

static void swatch_row(FILE *out, const fit_parameter *p, const fit_row *rows)
{
    double colours[3][3];
    for (int c = 0; c < 3; c++)
        colours[0][c] = rows[c].initial, colours[1][c] = rows[c].fitted, colours[2][c] = rows[c].truth;
    fprintf(out, "<tr><td>");
    report_escape(out, p->parameter.info.name);
    fprintf(out, "</td>");
    for (int k = 0; k < (rows[0].true_known ? 3 : 2); k++) {
        fprintf(out, "<td>");
        swatch(out, colours[k]);
        fprintf(out, "</td>");
    }
    fprintf(out, "%s</tr>\n", rows[0].true_known ? "<td></td>" : "");
}

static void value_row(FILE *out, const fit_work *w, const fit_row *row)
{
    char error[32];
    fprintf(out, "<tr><td>");
    report_escape(out, row->name);
    fprintf(out, "</td><td>%.4g</td><td>%.4g</td>", row->initial, row->fitted);
    if (row->true_known)
        fprintf(out, "<td>%.4g</td><td>%s</td>", row->truth, fit_row_error_text(row, error));
    else if (w->truth_known)
        fprintf(out, "<td></td><td></td>");
    fprintf(out, "</tr>\n");
}

static void add_values(FILE *out, const fit_work *w)
{
    uint32_t rows = 0;
    fprintf(
        out,
        "<div class=\"scroll\"><table class=\"values\"><tr><th>parameter</th><th>initial</th><th>fitted</th>"
        "%s</tr>\n",
        w->truth_known ? "<th>true</th><th>error</th>" : "");
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_parameter *p = &w->parameters[k];
        fit_row list[FIT_ROWS_MOST];
        const uint32_t count = fit_rows(w, p, list);
        if (fit_is_colour(&p->parameter.info))
            swatch_row(out, p, list);
        for (uint32_t i = 0; i < count && rows < ROWS_MOST; i++, rows++)
            value_row(out, w, &list[i]);
    }
    fprintf(out, "</table></div>\n%s<p>All values: <code>NAME.npy</code> beside this file, for",
            rows == ROWS_MOST ? "<p>Further rows are left out.</p>" : "");
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

/* Of parameters that have too many values for curves. */
static void add_histograms(FILE *out, const fit_work *w)
{
    bool any = false;
    for (uint32_t k = 0; k < w->job.parameter_count; k++) {
        const fit_parameter *p = &w->parameters[k];
        if (p->parameter.info.count <= ENTRIES_IN_CSV && !p->sized)
            continue;
        fprintf(out, any ? "" : "<h2>Many values</h2>\n<div class=\"charts\">\n");
        report_histogram(out, w, p);
        any = true;
    }
    fprintf(out, any ? "</div>\n" : "");
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

/* What each term of the loss has added. */
static void add_terms(FILE *out, const fit_work *w)
{
    for (uint32_t t = 0; t < fit_term_count(w); t++) {
        char *name = fit_term_text(w, t);
        row(out, "term of the loss", "%s: %.3g at the first step, %.3g at the last", name, w->first_terms[t],
            w->last_terms[t]);
        free(name);
    }
}

static void add_effort(FILE *out, const fit_work *w)
{
    const fit_note *n = &w->note;
    double pixels = w->job.batch
                        ? w->job.batch
                        : (double)session_pixels(w->session) * (w->job.view_count - w->job.held_out_count),
           paths = pixels * w->status.step * (w->spp_grad > 0 ? w->spp_grad : 1);
    double each = 1e3 * n->seconds / fmax(w->status.step, 1);
    fprintf(out, "<h2>Time, memory, trust</h2>\n<div class=\"scroll\"><table class=\"pairs\">\n");
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
    char *loss = fit_loss_text(w);
    row(out, "loss", "%s: %s", loss,
        w->status.form == BL_FORM_ONE_IMAGE ? "of the very samples that are differentiated: it counts their "
                                              "noise, too, and its gradient makes "
                                              "that smaller"
        : fit_loss_unbiased(w)              ? "its gradient is unbiased at any sample count"
                               : "noise in the image biases its gradient; more spp makes the bias smaller");
    free(loss);
    add_terms(out, w);
    row(out, "gradient", "form %s%s", bl_gradient_form_name(w->status.form),
        w->status.form == BL_FORM_TWO_WALK ? ": losses are unbiased estimates, which noise can make negative"
                                           : "");
    row(out, "interruptions", "resumed %llu times", (unsigned long long)n->resumed);
    fprintf(out, "</table></div>\n");
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
    if (common->sampler) {
        fprintf(out, " --sampler ");
        report_escape(out, common->sampler);
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
    fprintf(out, "</pre>\n<div class=\"scroll\"><table class=\"pairs\">\n");
    row(out, "program", "backlight %s", BL_VERSION_TEXT);
    row(out, "scene", "%s", w->job.scene);
    row(out, "device", "%s", w->session->device_info.name);
    row(out, "driver", "%s", w->session->device_info.driver);
    row(out, "seed", "%u", w->seed);
    row(out, "samples", "%s%u for the image of a step, %u for its gradient; %.4g in all",
        w->job.wanted_noise > 0 ? "at most "
        : fit_samples_vary(w)   ? "first "
                                : "",
        w->spp, w->spp_grad, (double)(w->note.samples + w->status.samples));
    char *average = fit_average_text(w);
    if (average)
        row(out, "result", "%s", average);
    free(average);
    if (w->job.recursive_images)
        row(out, "images", "recursive: each learns from those of the steps before");
    char *optimizer = fit_optimizer_text(w);
    row(out, "optimiser", "%s", optimizer);
    free(optimizer);
    char *rates = fit_rates_text(w);
    if (rates)
        row(out, "rates", "%s", rates);
    free(rates);
    row(out, "written", "%s", date);
    fprintf(out, "</table></div>\n<details><summary>the job</summary><pre>");
    report_escape(out, w->job.text);
    fprintf(out, "</pre></details>\n");
}

/* ---- the page ---- */

static void card(FILE *out, const char *kind, const char *value, const char *label)
{
    fprintf(out, "<div class=\"card%s\"><b>%s</b><span>%s</span></div>\n", kind, value, label);
}

/* What people know, before and after; the loss, which they may not, below. */
static void add_headline(FILE *out, const fit_work *w)
{
    const fit_quality *first = &w->first_quality, *last = &w->last_quality;
    char text[100];
    fprintf(out, "<div class=\"cards\">\n");
    snprintf(text, sizeof text, "%.3g &rarr; %.3g", first->rmse, last->rmse);
    card(out, " head", text, "RMSE against the target, before and after");
    snprintf(text, sizeof text, "%.1f &rarr; %.1f dB", first->psnr, last->psnr);
    card(out, " head", text, "PSNR of what a screen shows");
    if (w->job.held_out_count) {
        snprintf(text, sizeof text, "%.2f dB", w->held_out.psnr);
        card(out, " head", text, "PSNR of held-out views");
    }
    fprintf(out,
            "</div>\n<p class=\"quiet\">Of pictures rendered for this with random numbers of their own%s. "
            "Both pictures' noise is in it.</p>\n",
            last->views > 1 ? ", mean over the views shown below" : "");
    fprintf(out, "<p>The optimised loss (");
    char *loss = fit_loss_text(w);
    report_escape(out, loss);
    free(loss);
    fprintf(out, ") went from %.3g at the first step to %.3g at the last.", w->note.first_loss,
            w->status.loss);
    if (fit_loss_note(w))
        fprintf(out, " %s", fit_loss_note(w));
    fprintf(out, "</p>\n");
}

static void add_cards(FILE *out, const fit_work *w)
{
    const bool complete = fit_complete(w);
    char text[100];
    fprintf(out, "<div class=\"cards\">\n");
    snprintf(text, sizeof text, w->status.step == w->steps ? "%u" : "%u of %u", w->status.step, w->steps);
    card(out, "", text,
         w->stopped ? "steps, stopped early"
         : complete ? "steps, complete"
                    : "steps, <b style=\"display:inline;font-size:1em\">interrupted</b>");
    card(out, "", duration_text(w->note.seconds), "in steps");
    snprintf(text, sizeof text, "%u &times; %u", w->session->info.width, w->session->info.height);
    card(out, "", text, "pixels");
    if (w->job.several) {
        snprintf(text, sizeof text, "%u", w->job.view_count - w->job.held_out_count);
        card(out, "", text, "views that are fitted");
    }
    fprintf(out, "<div class=\"card\"><b>");
    report_escape(out, w->session->device_info.kind);
    fprintf(out, "</b><span>");
    report_escape(out, w->session->device_info.name);
    fprintf(out, "</span></div>\n</div>\n");
}

static void add_head(FILE *out, const fit_work *w)
{
    fprintf(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                 "content=\"width=device-width\">"
                 "<title>Fit: ");
    report_escape(out, w->args->job);
    fprintf(out, "</title><style>%s</style></head><body>\n", report_style);
    if (w->incomplete) {
        fprintf(
            out,
            "<p class=\"warning\">The gradients of this fit are incomplete, so it may have gone astray: ");
        report_escape(out, w->incomplete);
        fprintf(out, ".</p>\n");
    }
    fprintf(out, "<h1>Fit of ");
    report_escape(out, w->args->job);
    fprintf(out, "</h1>\n");
    add_headline(out, w);
    if (fit_target_noise_note(w))
        fprintf(out, "<p class=\"warning\">%s</p>\n", fit_target_noise_note(w));
    if (w->stopped) {
        fprintf(out, "<p>Stopped after step %u of %u: ", w->status.step, w->steps);
        report_escape(out, w->stopped);
        fprintf(out, ".</p>\n");
    }
    add_cards(out, w);
}

int fit_save_report(fit_work *w)
{
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    if (!out)
        return fail("no memory for the report");
    add_head(out, w);
    int status = report_pictures(out, w);
    if (status == CLI_OK)
        status = report_curves(out, w);
    add_values(out, w); /* they go on with the curves of parameters */
    add_histograms(out, w);
    if (status == CLI_OK)
        status = report_noise(out, w);
    if (status == CLI_OK)
        status = report_samples(out, w);
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
