/* SPDX-License-Identifier: BSD-3-Clause
 * DIR/turntable.png: an animated PNG of the views that are held out, in the order of the job. A frame has the
 * truth, the fit and their difference side by side: |fit - truth|, the mean of the channels.
 *
 * A frame is written as a PNG like any other picture, and its chunks are taken into the animation (PNG
 * Specification, third edition, 11.2 and 11.3.6): what stands before the pixels of the first frame, `acTL`
 * with the number of frames, then for every frame an `fcTL` and its pixels, as `IDAT` of the first and `fdAT`
 * of the others. Programs that know no animations show the first frame. */
#include "fit_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    FRAMES_MOST = 64,
    PANEL_MOST = 400, /* pixels of a panel's width; larger images are averaged over blocks */
    GAP = 2,          /* pixels between panels */
    TURN_MS = 5000,
    FRAME_MS_LEAST = 80,
    FRAME_MS_MOST = 600,
    FRAME_BYTES_MOST = 64 << 20
};
static const float GREY = 0.2f; /* of gaps */

struct fit_turntable {
    FILE *out; /* to bytes, size */
    char *bytes;
    size_t size;
    uint32_t block;                      /* pixels of an image along a side of one pixel of a panel */
    uint32_t panel_width, width, height; /* width: of a frame */
    uint32_t frames, sequence;           /* frames in all; number of the next fcTL or fdAT */
    uint32_t views, seen;                /* held out; of these, seen so far */
};

static char *path_of(const fit_work *w) { return text_format("%s/turntable.png", w->folder); }

/* Where a single frame stands for a moment: under the picture's own name it would be half of it. */
static char *frame_path(const fit_work *w) { return text_format("%s/turntable_frame.png", w->folder); }

/* ---- chunks ---- */

static void put_number(unsigned char *at, uint32_t value)
{
    for (int k = 0; k < 4; k++)
        at[k] = (unsigned char)(value >> (24 - 8 * k));
}

static uint32_t number_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void add_chunk(FILE *out, const char *type, const unsigned char *data, uint32_t size)
{
    unsigned char number[4];
    uLong sum = crc32(0, (const unsigned char *)type, 4);
    sum = size ? crc32(sum, data, size) : sum;
    put_number(number, size);
    fwrite(number, 1, 4, out);
    fwrite(type, 1, 4, out);
    fwrite(data, 1, size, out);
    put_number(number, (uint32_t)sum);
    fwrite(number, 1, 4, out);
}

static void add_animation_control(const fit_turntable *t)
{
    unsigned char data[8] = {0}; /* the number of frames; 0: play for ever */
    put_number(data, t->frames);
    add_chunk(t->out, "acTL", data, sizeof data);
}

static void add_frame_control(fit_turntable *t)
{
    unsigned char data[26] = {0}; /* sequence, size, place (0), duration as a fraction of two 16-bit numbers,
                                     disposal and blending (0: the frame replaces the one before) */
    int each = TURN_MS / (int)t->frames, ms = each < FRAME_MS_LEAST  ? FRAME_MS_LEAST
                                              : each > FRAME_MS_MOST ? FRAME_MS_MOST
                                                                     : each;
    put_number(data, t->sequence++);
    put_number(data + 4, t->width);
    put_number(data + 8, t->height);
    put_number(data + 20, (uint32_t)ms << 16 | 1000);
    add_chunk(t->out, "fcTL", data, sizeof data);
}

/* Pixels of another frame than the first: their sequence number stands before them. */
static void add_frame_data(fit_turntable *t, const unsigned char *data, uint32_t size)
{
    unsigned char *numbered = memory_or_exit(size + 4u);
    put_number(numbered, t->sequence++);
    memcpy(numbered + 4, data, size);
    add_chunk(t->out, "fdAT", numbered, size + 4);
    free(numbered);
}

/* Adds the chunks of a PNG file that bl_image_write has written. */
static void add_frame(fit_turntable *t, const unsigned char *png, size_t size)
{
    enum { SIGNATURE = 8, AROUND = 12 };
    bool first = t->sequence == 0, pixels = false;
    if (first)
        fwrite(png, 1, SIGNATURE, t->out);
    for (size_t at = SIGNATURE, length; at + AROUND <= size; at += length + AROUND) {
        const unsigned char *type = png + at + 4, *data = png + at + 8;
        bool here = memcmp(type, "IDAT", 4) == 0;
        length = number_at(png + at);
        if (length > size - at - AROUND)
            break;
        if (here && !pixels) {
            if (first)
                add_animation_control(t);
            add_frame_control(t);
            pixels = true;
        }
        if (here && !first)
            add_frame_data(t, data, (uint32_t)length);
        else if (here || (first && !pixels))
            fwrite(png + at, 1, length + AROUND, t->out);
    }
}

/* ---- panels ---- */

enum { TRUTH, FIT, ERROR, PANELS };

/* Of a pixel, the value of channel c in a panel. The error is the same in all channels: the mean of theirs.
 */
static double panel_value(int panel, uint32_t c, uint32_t channels, const float *truth, const float *fit)
{
    double error = 0;
    for (uint32_t k = 0; k < channels; k++)
        error += fabs((double)fit[k] - (double)truth[k]) / channels;
    return panel == TRUTH ? (double)truth[c] : panel == FIT ? (double)fit[c] : error;
}

/* The mean over the block of pixels that pixel x, y of a panel stands for. */
static void block_mean(const fit_work *w, const fit_turntable *t, const float *truth, const float *fit,
                       uint32_t x, uint32_t y, float *rgb)
{
    uint32_t panel = x / (t->panel_width + GAP), column = x % (t->panel_width + GAP),
             count = t->block * t->block, channels = w->session->info.channels;
    double sum[3] = {0};
    for (uint32_t k = 0; k < count && column < t->panel_width; k++) {
        size_t row = (size_t)y * t->block + k / t->block, at = (size_t)column * t->block + k % t->block,
               i = channels * (row * w->session->info.width + at);
        for (uint32_t c = 0; c < 3; c++)
            sum[c] += panel_value((int)panel, channels == 3 ? c : 0, channels, truth + i, fit + i);
    }
    for (int c = 0; c < 3; c++)
        rgb[c] = column < t->panel_width ? (float)(sum[c] / count) : GREY;
}

static float *draw(const fit_work *w, const fit_turntable *t, const float *fit, const float *truth)
{
    float *rgb = memory_or_exit((size_t)t->width * t->height * 3 * sizeof *rgb);
    for (uint32_t y = 0; y < t->height; y++)
        for (uint32_t x = 0; x < t->width; x++)
            block_mean(w, t, truth, fit, x, y, rgb + 3 * ((size_t)y * t->width + x));
    return rgb;
}

/* ---- the picture ---- */

fit_turntable *fit_turntable_begin(const fit_work *w)
{
    fit_turntable *t = memory_or_exit(sizeof *t);
    uint32_t width = w->session->info.width, height = w->session->info.height;
    t->views = w->job.held_out_count;
    t->frames = t->views < FRAMES_MOST ? t->views : FRAMES_MOST;
    t->block = (width + PANEL_MOST - 1) / PANEL_MOST;
    t->block = t->block < height ? t->block : height;
    t->panel_width = width / t->block, t->height = height / t->block;
    t->width = PANELS * t->panel_width + (PANELS - 1) * GAP;
    t->out = open_memstream(&t->bytes, &t->size);
    return t;
}

void fit_turntable_free(fit_turntable *t)
{
    if (!t)
        return;
    if (t->out)
        fclose(t->out);
    free(t->bytes);
    free(t);
}

int fit_turntable_add(const fit_work *w, fit_turntable *t, const float *fit, const float *truth)
{
    uint64_t k = t->seen++;
    if (!t->out)
        return fail("no memory for the turntable");
    if (k * t->frames / t->views == (k + 1) * t->frames / t->views)
        return CLI_OK; /* more views than frames: evenly spread ones */
    char *path = frame_path(w);
    float *rgb = draw(w, t, fit, truth);
    bl_result r = bl_image_write(w->session->ctx, path, t->width, t->height, 3, rgb);
    size_t size = 0;
    unsigned char *png = r == BL_OK ? (unsigned char *)read_whole(path, FRAME_BYTES_MOST, &size) : NULL;
    int status = png ? CLI_OK : CLI_FAILED;
    if (png)
        add_frame(t, png, size);
    if (r == BL_OK && remove_file(path) != CLI_OK)
        status = CLI_FAILED;
    free(png);
    free(rgb);
    free(path);
    SESSION_TRY(w->session, r);
    return status;
}

int fit_turntable_save(const fit_work *w, fit_turntable *t)
{
    add_chunk(t->out, "IEND", (const unsigned char *)"", 0);
    bool good = !ferror(t->out);
    if (fclose(t->out) != 0 || !good) {
        t->out = NULL;
        return fail("no memory for the turntable");
    }
    t->out = NULL;
    char *path = path_of(w);
    int status = save_file(path, t->bytes, t->size);
    free(path);
    return status;
}
