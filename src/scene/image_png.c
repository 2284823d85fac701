/* SPDX-License-Identifier: BSD-3-Clause
 * PNG by libpng. Palettes and low bit depths become 8 bits, alpha is dropped or stays linear. As in Mitsuba
 * all data, 16-bit data too, is sRGB-encoded unless the user says raw, and gamma chunks do not matter. libpng
 * reports errors by longjmp: everything that must survive it lives in png_job, and the functions that libpng
 * may jump out of hold nothing of their own. */
#include "scene/scene_internal.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

typedef struct png_job {
    png_structp png;
    png_infop info;
    const uint8_t *data;
    size_t size, at;
    bool raw, alpha; /* alpha: it is kept as the last channel */
    scene_image *image;
    const scene_image *source;
    text *out;
    uint8_t *bytes; /* rows as libpng gives or takes them */
    png_bytep *rows;
    char reason[200];
    bl_error *err;
} png_job;

static void on_error(png_structp png, png_const_charp message)
{
    png_job *job = png_get_error_ptr(png);
    snprintf(job->reason, sizeof job->reason, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void on_read(png_structp png, png_bytep to, size_t size)
{
    png_job *job = png_get_io_ptr(png);
    if (size > job->size - job->at)
        png_error(png, "the file is truncated");
    memcpy(to, job->data + job->at, size);
    job->at += size;
}

static void on_write(png_structp png, png_bytep from, size_t size)
{
    png_job *job = png_get_io_ptr(png);
    text_add_bytes(job->out, from, size);
}

static void on_flush(png_structp png) { (void)png; }

/* The only setjmp. *job belongs to the caller, so its members are well-defined after a jump. */
static bl_result guarded(png_job *job, bl_result (*step)(png_job *), bl_result code, const char *what)
{
    if (!job->info)
        return error_set(job->err, BL_ERROR_MEMORY, "out of memory");
    if (setjmp(png_jmpbuf(job->png)) != 0)
        return error_set(job->err, code, "%s: %s", what, job->reason);
    return step(job);
}

static bl_result job_end(png_job *job, bl_result result)
{
    memory_free(job->bytes);
    memory_free(job->rows);
    return result;
}

/* Rows of `stride` bytes in job->bytes. */
static bool allocate_rows(png_job *job, uint32_t height, size_t stride)
{
    job->bytes = memory_zeroed(height, stride);
    job->rows = memory_zeroed(height, sizeof *job->rows);
    for (uint32_t y = 0; job->bytes && job->rows && y < height; y++)
        job->rows[y] = job->bytes + y * stride;
    return job->bytes && job->rows;
}

/* ---- reading ---- */

static void convert_rows(const png_job *job, uint32_t stored_channels, uint32_t depth)
{
    float eight_bit[256];
    scene_image *image = job->image;
    uint32_t colours = image->channels < 3 ? 1 : 3;
    image_byte_table(job->raw, eight_bit);
    for (size_t y = 0; y < image->height; y++)
        for (size_t x = 0; x < image->width; x++)
            for (size_t c = 0; c < image->channels; c++) {
                size_t from = x * stored_channels + c;
                const uint8_t *row = job->rows[y];
                double value =
                    depth == 16 ? (row[2 * from] << 8 | row[2 * from + 1]) / 65535.0 : row[from] / 255.0;
                image->pixels[(y * image->width + x) * image->channels + c] =
                    c >= colours || job->raw ? (float)value
                    : depth == 8             ? eight_bit[row[from]]
                                             : (float)image_srgb_to_linear(value);
            }
}

static bl_result read_image(png_job *job)
{
    png_set_user_limits(job->png, IMAGE_SIDE_MAX, IMAGE_SIDE_MAX);
    png_set_read_fn(job->png, job, on_read);
    png_read_info(job->png, job->info);
    uint32_t depth = png_get_bit_depth(job->png, job->info), type = png_get_color_type(job->png, job->info);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(job->png);
    else if (depth < 8)
        png_set_expand_gray_1_2_4_to_8(job->png);
    if (job->alpha && png_get_valid(job->png, job->info, PNG_INFO_tRNS))
        png_set_tRNS_to_alpha(job->png);
    png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
    depth = png_get_bit_depth(job->png, job->info);
    uint32_t stored = png_get_channels(job->png, job->info),
             channels = job->alpha   ? stored
                        : stored < 3 ? 1
                                     : 3; /* alpha is skipped when converting */
    uint32_t width = png_get_image_width(job->png, job->info),
             height = png_get_image_height(job->png, job->info);
    TRY(image_create(job->image, width, height, channels, job->size, job->err));
    if (!allocate_rows(job, height, png_get_rowbytes(job->png, job->info)))
        return error_set(job->err, BL_ERROR_MEMORY, "out of memory for %u x %u pixels", width, height);
    png_read_image(job->png, job->rows);
    png_read_end(job->png, NULL);
    convert_rows(job, stored, depth);
    job->image->eight_bit = depth == 8, job->image->straight = job->alpha;
    return BL_OK;
}

bl_result image_decode_png(const uint8_t *data, size_t size, bool raw, bool alpha, scene_image *out,
                           bl_error *err)
{
    png_job job = {.data = data, .size = size, .raw = raw, .alpha = alpha, .image = out, .err = err};
    job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
    job.info = job.png ? png_create_info_struct(job.png) : NULL;
    bl_result result = guarded(&job, read_image, BL_ERROR_FORMAT, "bad PNG image");
    png_destroy_read_struct(&job.png, &job.info, NULL);
    if (result != BL_OK)
        image_free(out);
    return job_end(&job, result);
}

/* ---- writing ---- */

uint8_t image_encode_byte(float linear)
{
    double v = linear > 0 ? (linear < 1 ? linear : 1) : 0; /* NaN becomes 0 */
    v = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
    return (uint8_t)(255 * v + 0.5);
}

/* A pixel's bytes. Behind one or three colours there may be alpha. Colours are multiplied by alpha in the
 * image, and not in the file, as the format wants it. */
static void encode_pixel(const float *pixel, uint32_t channels, uint8_t *out)
{
    uint32_t colours = channels < 3 ? 1 : 3;
    float alpha = channels > colours ? pixel[colours] : 1;
    for (uint32_t c = 0; c < colours; c++)
        out[c] = image_encode_byte(alpha > 0 ? pixel[c] / alpha : 0);
    if (channels > colours)
        out[colours] = (uint8_t)(255 * (alpha > 0 ? (alpha < 1 ? alpha : 1) : 0) + 0.5f);
}

static bl_result write_image(png_job *job)
{
    static const int types[] = {[1] = PNG_COLOR_TYPE_GRAY,
                                [2] = PNG_COLOR_TYPE_GRAY_ALPHA,
                                [3] = PNG_COLOR_TYPE_RGB,
                                [4] = PNG_COLOR_TYPE_RGB_ALPHA};
    const scene_image *image = job->source;
    size_t stride = (size_t)image->width * image->channels;
    if (!allocate_rows(job, image->height, stride))
        return error_set(job->err, BL_ERROR_MEMORY, "out of memory for %u x %u pixels", image->width,
                         image->height);
    BL_ASSERT(image->channels >= 1 && image->channels <= 4, "a PNG image of %u channels", image->channels);
    for (size_t i = 0; i < stride * image->height; i += image->channels)
        encode_pixel(image->pixels + i, image->channels, job->bytes + i);
    png_set_write_fn(job->png, job, on_write, on_flush);
    png_set_IHDR(job->png, job->info, image->width, image->height, 8, types[image->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(job->png, job->info, PNG_sRGB_INTENT_RELATIVE);
    png_write_info(job->png, job->info);
    png_write_image(job->png, job->rows);
    png_write_end(job->png, job->info);
    return BL_OK;
}

bl_result image_encode_png(const scene_image *image, text *out, bl_error *err)
{
    png_job job = {.source = image, .out = out, .err = err};
    job.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
    job.info = job.png ? png_create_info_struct(job.png) : NULL;
    bl_result result = guarded(&job, write_image, BL_ERROR_IO, "cannot encode a PNG image");
    png_destroy_write_struct(&job.png, &job.info);
    return job_end(&job, result);
}
