/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures that explain numbers: signed maps (blue, white, red) and bar plots with error bars. Colours here
 * are what a screen shows; bl_image_write takes linear values, so they are decoded first. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double encode_srgb(double linear)
{
    return linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

double decode_srgb(double displayed)
{
    return displayed <= 0.04045 ? displayed / 12.92 : pow((displayed + 0.055) / 1.055, 2.4);
}

/* ---- signed maps ---- */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Ignores the strongest hundredth, so that a few fireflies do not wash everything out. */
static double strong_value(const float *values, size_t count)
{
    float *sorted = memory_or_exit(count * sizeof *sorted);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) && values[i] != 0)
            sorted[kept++] = fabsf(values[i]);
    qsort(sorted, kept, sizeof *sorted, compare_floats);
    double strong = kept ? (double)sorted[(kept - 1) - (kept - 1) / 100] : 0;
    free(sorted);
    return strong;
}

static void signed_colour(double t, float *rgb)
{
    static const double negative[3] = {0.13, 0.30, 0.75}, positive[3] = {0.75, 0.08, 0.15};
    double amount = fmin(fabs(t), 1);
    for (int c = 0; c < 3; c++)
        rgb[c] = (float)decode_srgb(1 + amount * ((t < 0 ? negative[c] : positive[c]) - 1));
    if (!isfinite(t)) /* green: never a colour of the map */
        rgb[0] = rgb[2] = 0, rgb[1] = 1;
}

/* ---- a canvas ---- */

typedef struct canvas {
    uint32_t width, height;
    float *rgb;
} canvas;

static void fill(canvas *c, double x0, double y0, double x1, double y1, uint32_t colour)
{
    double left = fmax(fmin(x0, x1), 0), right = fmin(fmax(x0, x1), c->width);
    double top = fmax(fmin(y0, y1), 0), bottom = fmin(fmax(y0, y1), c->height);
    for (uint32_t y = (uint32_t)top; y < (uint32_t)ceil(bottom); y++)
        for (uint32_t x = (uint32_t)left; x < (uint32_t)ceil(right); x++)
            for (int k = 0; k < 3; k++)
                c->rgb[3 * ((size_t)y * c->width + x) + (size_t)k] =
                    (float)decode_srgb((colour >> (16 - 8 * k) & 255) / 255.0);
}

/* 3 x 5 letters, a bit per dot from the top left, as five octal digits. */
static uint32_t glyph(char letter)
{
    static const struct {
        char letter;
        uint32_t rows;
    } font[] = {{'0', 075557}, {'1', 026227}, {'2', 071747}, {'3', 071717}, {'4', 055711}, {'5', 074717},
                {'6', 074757}, {'7', 071111}, {'8', 075757}, {'9', 075717}, {'A', 025755}, {'B', 065656},
                {'C', 034443}, {'D', 065556}, {'E', 074647}, {'F', 074644}, {'G', 034553}, {'H', 055755},
                {'I', 072227}, {'J', 011152}, {'K', 055655}, {'L', 044447}, {'M', 057755}, {'N', 065555},
                {'O', 025552}, {'P', 065644}, {'Q', 025573}, {'R', 065655}, {'S', 034216}, {'T', 072222},
                {'U', 055557}, {'V', 055552}, {'W', 055775}, {'X', 055255}, {'Y', 055222}, {'Z', 071247},
                {'.', 000002}, {'-', 000700}, {'+', 002720}, {'_', 000007}, {'/', 011244}, {'[', 064446},
                {']', 031113}, {',', 000024}, {'=', 007070}, {':', 002020}};
    for (size_t i = 0; i < sizeof font / sizeof font[0]; i++)
        if (font[i].letter == letter)
            return font[i].rows;
    return 0;
}

static double write_text(canvas *c, double x, double y, double dot, const char *text)
{
    for (; *text; text++, x += 4 * dot)
        for (int bit = 0; bit < 15; bit++)
            if (glyph((char)toupper((unsigned char)*text)) >> (14 - bit) & 1)
                fill(c, x + dot * (bit % 3), y + dot * (bit / 3), x + dot * (bit % 3 + 1),
                     y + dot * (bit / 3 + 1), 0x303030);
    return x;
}

/* ---- signed maps as files ---- */

enum { ENLARGED = 320, LEGEND_HEIGHT = 64, LEGEND_WIDTH = 300, MARGIN = 10, BAR = 12 };

static float *signed_colours(const signed_picture *p, double *scale)
{
    size_t pixels = (size_t)p->width * p->height;
    float *mean = memory_or_exit(pixels * sizeof *mean), *rgb = memory_or_exit(pixels * 3 * sizeof *rgb);
    for (size_t i = 0; i < pixels; i++)
        for (uint32_t c = 0; c < p->channels; c++)
            mean[i] += p->values[i * p->channels + c] / (float)p->channels;
    *scale = p->scale > 0 ? p->scale : strong_value(mean, pixels);
    for (size_t i = 0; i < pixels; i++)
        signed_colour(*scale > 0 ? (double)mean[i] / *scale : (double)mean[i], rgb + 3 * i);
    free(mean);
    return rgb;
}

static void write_number(canvas *c, double x, double y, double number)
{
    char text[32];
    snprintf(text, sizeof text, number == 0 ? "0" : "%+.3g", number);
    /* Within the picture, whose border the middle of the number may be near. */
    const double width = 8 * (double)strlen(text);
    write_text(c, fmin(fmax(x - width / 2, MARGIN), c->width - MARGIN - width), y, 2, text);
}

/* The colours from -scale to scale, with numbers at the ends, in the middle and between. */
static void draw_legend(canvas *c, double top, const char *title, double scale)
{
    const double left = MARGIN, right = c->width - MARGIN, bar = top + 24;
    const bool fits = left + 8 * (double)strlen(title) < right;
    write_text(c, left, top + (fits ? 8 : 11), fits ? 2 : 1, title);
    for (uint32_t x = (uint32_t)left; x < (uint32_t)right; x++) {
        float rgb[3];
        signed_colour(2 * (x + 0.5 - left) / (right - left) - 1, rgb);
        for (uint32_t y = (uint32_t)bar; y < (uint32_t)bar + BAR; y++)
            memcpy(c->rgb + 3 * ((size_t)y * c->width + x), rgb, sizeof rgb);
    }
    for (int tick = -1; tick <= 1; tick++) {
        const double x = (left + right) / 2 + tick * (right - left) / 2;
        fill(c, x - 1, bar + BAR, x + 1, bar + BAR + 5, 0x303030);
        write_number(c, x, bar + BAR + 9, tick * scale);
    }
}

/* The picture `times` as large, over its legend. */
static canvas with_legend(const signed_picture *p, const float *rgb, double scale)
{
    const uint32_t longer = p->width > p->height ? p->width : p->height,
                   times = longer < ENLARGED ? ENLARGED / longer : 1, width = p->width * times,
                   height = p->height * times;
    canvas c = {.width = width > LEGEND_WIDTH ? width : LEGEND_WIDTH, .height = height + LEGEND_HEIGHT};
    c.rgb = memory_or_exit((size_t)c.width * c.height * 3 * sizeof *c.rgb);
    fill(&c, 0, 0, c.width, c.height, 0xf4f4f4); /* so that white, which is 0, has a border */
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            memcpy(c.rgb + 3 * (y * c.width + x + (c.width - width) / 2),
                   rgb + 3 * (y / times * p->width + x / times), 3 * sizeof *rgb);
    draw_legend(&c, height, p->title, scale);
    return c;
}

int save_signed_png(const cli_session *session, const char *path, const signed_picture *p)
{
    double scale;
    canvas c = {.width = p->width, .height = p->height, .rgb = signed_colours(p, &scale)};
    if (p->title) {
        canvas larger = with_legend(p, c.rgb, scale);
        free(c.rgb);
        c = larger;
    }
    bl_result result = bl_image_write(session->ctx, path, c.width, c.height, 3, c.rgb);
    free(c.rgb);
    return result == BL_OK ? CLI_OK : session_fail(session, result);
}

int save_gradient_png(const cli_session *session, const char *path, const bl_parameter_info *info,
                      const float *values)
{
    uint32_t channels = info->rank > 2 ? info->shape[info->rank - 1] : 1;
    uint32_t width = info->rank > 2 ? info->shape[info->rank - 2] : info->shape[1];
    if (channels == 0 || width == 0 || info->count == 0)
        return CLI_OK;
    char *title = text_format("gradient of %s", info->name);
    const signed_picture p = {.width = width,
                              .height = info->count / width / channels,
                              .channels = channels,
                              .values = values,
                              .title = title};
    const int status = save_signed_png(session, path, &p);
    free(title);
    return status;
}

/* ---- the bar plot: groups one below the other, each with a scale of its own ---- */

enum {
    PLOT_WIDTH = 640,
    GROUP_HEIGHT = 150,
    BAR_HEIGHT = 24,
    TITLE = 34,
    LABEL_WIDTH = 130,
    NUMBER_WIDTH = 190,
    LETTER = 8, /* of 2 pixels a dot */
    LINE = 18
};

static void draw_bar(canvas *c, const plot_bar *bar, double y, double zero, double unit)
{
    double x = zero + bar->value * unit, low = zero + (bar->value - bar->error) * unit,
           high = zero + (bar->value + bar->error) * unit, middle = y + BAR_HEIGHT / 2;
    fill(c, zero, y, x, y + BAR_HEIGHT, bar->colour);
    if (bar->error > 0) {
        fill(c, low, middle - 1, high, middle + 1, 0x101010);
        fill(c, low - 1, y + 6, low + 1, y + BAR_HEIGHT - 6, 0x101010);
        fill(c, high - 1, y + 6, high + 1, y + BAR_HEIGHT - 6, 0x101010);
    }
    char number[64];
    snprintf(number, sizeof number, bar->error > 0 ? "%.5g +- %.1g" : "%.5g", bar->value, bar->error);
    write_text(c, 10, y + 7, 2, bar->label);
    write_text(c, PLOT_WIDTH - NUMBER_WIDTH + 14, y + 7, 2, number);
}

static void draw_group(canvas *c, const plot_group *group, double top)
{
    double least = 0, most = 0;
    for (uint32_t i = 0; i < group->bar_count; i++) {
        least = fmin(least, group->bars[i].value - group->bars[i].error);
        most = fmax(most, group->bars[i].value + group->bars[i].error);
    }
    double unit = (PLOT_WIDTH - LABEL_WIDTH - NUMBER_WIDTH) / fmax(most - least, 1e-30);
    double zero = LABEL_WIDTH - least * unit;
    const bool fits = LETTER * (double)(strlen(group->label) + strlen(group->verdict)) < PLOT_WIDTH - 30;
    write_text(c, 10, top + 12, fits ? 2 : 1, group->label);
    write_text(c, PLOT_WIDTH - 10 - LETTER * (double)strlen(group->verdict), top + 12, 2, group->verdict);
    for (uint32_t i = 0; i < group->bar_count; i++)
        draw_bar(c, &group->bars[i], top + TITLE + i * (BAR_HEIGHT + 10.0), zero, unit);
    fill(c, zero - 1, top + TITLE - 4, zero + 1, top + TITLE + group->bar_count * (BAR_HEIGHT + 10.0) - 6,
         0x101010);
}

int save_bar_plot(const cli_session *session, const char *path, const plot_group *groups,
                  uint32_t group_count, const char *const *legend)
{
    uint32_t lines = 0;
    while (legend[lines])
        lines++;
    canvas c = {.width = PLOT_WIDTH, .height = GROUP_HEIGHT * group_count + LINE * (lines + 1)};
    c.rgb = memory_or_exit((size_t)c.width * c.height * 3 * sizeof *c.rgb);
    fill(&c, 0, 0, c.width, c.height, 0xffffff);
    for (uint32_t i = 0; i < group_count; i++)
        draw_group(&c, &groups[i], (double)i * GROUP_HEIGHT);
    for (uint32_t i = 0; i < lines; i++)
        write_text(&c, 10, GROUP_HEIGHT * group_count + LINE * (double)i, 2, legend[i]);
    bl_result result = bl_image_write(session->ctx, path, c.width, c.height, 3, c.rgb);
    free(c.rgb);
    return result == BL_OK ? CLI_OK : session_fail(session, result);
}
