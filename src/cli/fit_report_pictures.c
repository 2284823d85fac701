/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures of report.html, as PNG data: fit and target one above the other behind a bar that uncovers them,
 * differences with a scale, what the fit looked like by step, images and grids among the parameters. All of
 * it works by CSS alone (fit_style.c): a link enlarges a picture, and a scroll bar is the slider. */
#include "fit_work.h"

#include <stdlib.h>

enum { PICTURE_BYTES_MOST = 256 << 20 };

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

/* The picture, as the source of an <img>. Takes the path. */
static int add_image(FILE *out, char *path, const char *alt)
{
    size_t size;
    char *data = read_whole(path, PICTURE_BYTES_MOST, &size);
    free(path);
    if (!data)
        return CLI_FAILED;
    fprintf(out, "<img alt=\"%s\" src=\"data:image/png;base64,", alt);
    base64(out, (const unsigned char *)data, size);
    fprintf(out, "\">");
    free(data);
    return CLI_OK;
}

/* A picture that a click enlarges. number: of this one in the page. Takes the path. */
static int add_figure(FILE *out, uint32_t *number, char *path, const char *name, const char *caption)
{
    const uint32_t own = ++*number;
    fprintf(out, "<figure class=\"zoom %s\" id=\"p%u\"><a href=\"#p%u\" title=\"enlarge\">", name, own, own);
    CLI_TRY(add_image(out, path, name));
    fprintf(out,
            "</a><a class=\"close\" href=\"#pictures\" title=\"back\"></a><figcaption>%s</figcaption>"
            "</figure>\n",
            caption);
    return CLI_OK;
}

static int add_slices(FILE *out, const fit_work *w, uint32_t *number)
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
                CLI_TRY(add_figure(out, number, path, which[i], which[i]));
        }
        fprintf(out, "</div>\n");
    }
    return CLI_OK;
}

static int add_held_out(FILE *out, const fit_work *w, uint32_t *number)
{
    if (!w->job.held_out_count)
        return CLI_OK;
    fprintf(out,
            "<h2>Held-out views</h2>\n<p>No step has seen these %u views. At the end: PSNR %.2f dB, SSIM "
            "%.4f (means over all of them, of displayed values).</p>\n<div class=\"turntable\">\n",
            w->job.held_out_count, w->held_out.psnr, w->held_out.ssim);
    CLI_TRY(add_figure(
        out, number, text_format("%s/turntable.png", w->folder), "turntable",
        "truth, fit, and how far they are apart (black: nowhere), view after view; turntable.png"));
    fprintf(out, "</div>\n");
    return report_held_out(out, w);
}

/* The fit covers the target; scrolling takes the cover away. */
static int add_slider(FILE *out, const fit_work *w, uint32_t v)
{
    fprintf(out, "<figure class=\"compare\"><div class=\"slider\" tabindex=\"0\"><div class=\"inner\">");
    CLI_TRY(add_image(out, fit_path(w, "target", v, "png"), "target"));
    fprintf(out, "<div class=\"cover\">");
    CLI_TRY(add_image(out, fit_path(w, "after", v, "png"), "after"));
    fprintf(out, "</div></div></div><figcaption>fit (left) against target (right): drag the bar, or scroll "
                 "sideways</figcaption></figure>\n");
    return CLI_OK;
}

static int add_difference(FILE *out, const fit_work *w, uint32_t *number, uint32_t v)
{
    const double scale = w->pictures[v].difference_scale;
    char *caption = text_format(
        "fit &minus; target <span class=\"scale\"><span>&minus;%.3g</span><i></i><span>+%.3g</span>"
        "</span> blue too dark, red too bright; no colour: 0",
        scale, scale);
    int status = add_figure(out, number, fit_path(w, "difference", v, "png"), "difference", caption);
    free(caption);
    return status;
}

static int add_view(FILE *out, const fit_work *w, uint32_t *number, uint32_t v)
{
    if (w->job.several)
        fprintf(out,
                w->job.views[v].held_out ? "<h3>view %u, held out: %.2f dB, SSIM %.4f</h3>\n"
                                         : "<h3>view %u</h3>\n",
                v, w->job.views[v].held_out ? w->qualities[v].psnr : 0,
                w->job.views[v].held_out ? w->qualities[v].ssim : 0);
    fprintf(out, "<div class=\"pictures\">\n");
    CLI_TRY(add_figure(out, number, fit_path(w, "before", v, "png"), "before", "before"));
    CLI_TRY(add_slider(out, w, v));
    CLI_TRY(add_difference(out, w, number, v));
    fprintf(out, "</div>\n");
    return CLI_OK;
}

static int add_thumbs(FILE *out, const fit_work *w, uint32_t *number)
{
    uint32_t step = fit_thumb_next(w, 0);
    if (!step)
        return CLI_OK;
    fprintf(out, "<h3>by step</h3>\n<div class=\"strip\">\n");
    for (; step; step = fit_thumb_next(w, step)) {
        char *path = fit_thumb_path(w, step), *caption = text_format("step %u", step);
        bool there = is_file(path);
        int status = there ? add_figure(out, number, path, "step", caption) : CLI_OK;
        if (!there)
            free(path);
        free(caption);
        CLI_TRY(status);
    }
    fprintf(out, "</div>\n");
    return CLI_OK;
}

int report_pictures(FILE *out, const fit_work *w)
{
    uint32_t number = 0;
    CLI_TRY(add_held_out(out, w, &number));
    fprintf(out, "<h2 id=\"pictures\">Pictures</h2>\n");
    for (uint32_t v = 0; v < w->job.view_count; v++)
        if (fit_shown(w, v))
            CLI_TRY(add_view(out, w, &number, v));
    CLI_TRY(add_thumbs(out, w, &number));
    return add_slices(out, w, &number);
}
