/* SPDX-License-Identifier: BSD-3-Clause
 * Images: which format (by content when reading, by extension when writing), limits, and atomic files. The
 * decoders and encoders work on bytes in memory.
 *
 * Limits: at most 2^28 pixels, and no more than the bytes of the file can stand for. The densest format is a
 * single-coloured PIZ image, where a few hundred bytes stand for a chunk of 32 lines; PIXELS_PER_BYTE leaves
 * room above it. */
#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_BYTES_MAX ((size_t)4 << 30)
enum { PIXELS_PER_BYTE = 8192, PIXELS_ALWAYS = 1 << 16 };

bl_result image_create(scene_image *image, uint64_t width, uint64_t height, uint32_t channels, size_t bytes,
                       bl_error *err)
{
    *image = (scene_image){0};
    if (width == 0 || height == 0)
        return error_set(err, BL_ERROR_FORMAT, "the image is empty");
    if (width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX || width * height > IMAGE_PIXELS_MAX)
        return error_set(err, BL_ERROR_FORMAT, "%ju x %ju pixels are more than are supported",
                         (uintmax_t)width, (uintmax_t)height);
    if (width * height > PIXELS_ALWAYS && width * height / PIXELS_PER_BYTE > bytes)
        return error_set(err, BL_ERROR_FORMAT, "%ju x %ju pixels cannot be in a file of %zu bytes",
                         (uintmax_t)width, (uintmax_t)height, bytes);
    TRY(budget_take(BUDGET_PIXELS, width * height, err));
    float *pixels = memory_zeroed((size_t)(width * height), channels * sizeof *pixels);
    if (!pixels)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for %ju x %ju pixels", (uintmax_t)width,
                         (uintmax_t)height);
    *image = (scene_image){
        .width = (uint32_t)width, .height = (uint32_t)height, .channels = channels, .pixels = pixels};
    return BL_OK;
}

void image_free(scene_image *image)
{
    if (!image)
        return;
    memory_free(image->pixels);
    *image = (scene_image){0};
}

/* ---- reading ---- */

static bool starts_with(const uint8_t *data, size_t size, const char *magic, size_t length)
{
    return size >= length && memcmp(data, magic, length) == 0;
}

/* Formats that are known and not read yet. */
static const char *unsupported_format(const uint8_t *data, size_t size)
{
    if (starts_with(data, size, "DDS ", 4))
        return "DDS";
    return starts_with(data, size, "II*\0", 4) || starts_with(data, size, "MM\0*", 4) ? "TIFF" : NULL;
}

double image_srgb_to_linear(double v) { return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4); }

void image_byte_table(bool raw, float table[256])
{
    for (int i = 0; i < 256; i++)
        table[i] = (float)(raw ? i / 255.0 : image_srgb_to_linear(i / 255.0));
}

static bl_result check_finite(const scene_image *image, bl_error *err)
{
    size_t row = (size_t)image->width * image->channels, count = row * image->height;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(image->pixels[i]))
            return error_set(err, BL_ERROR_FORMAT, "pixel (%zu, %zu) is not a finite number",
                             i % row / image->channels, i / row);
    return BL_OK;
}

static bool is_exr(const void *data, size_t size) { return starts_with(data, size, "\x76\x2F\x31\x01", 4); }

/* alpha: as in image_decode_png. */
static bl_result decode(const void *data, size_t size, bool raw, bool alpha, scene_image *out, bl_error *err)
{
    bl_result result;
    const char *other = unsupported_format(data, size);
    *out = (scene_image){0};
    if (other)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s images are not implemented yet", other);
    if (is_exr(data, size))
        result = image_decode_exr(data, size, alpha, out, err);
    else if (starts_with(data, size, "\x89PNG\r\n\x1A\n", 8))
        result = image_decode_png(data, size, raw, alpha, out, err);
    else if (starts_with(data, size, "PF", 2) || starts_with(data, size, "Pf", 2))
        result = image_decode_pfm(data, size, out, err);
    else if (starts_with(data, size, "\xFF\xD8\xFF", 3))
        result = image_decode_jpeg(data, size, raw, out, err);
    else if (starts_with(data, size, "#?RADIANCE", 10) || starts_with(data, size, "#?RGBE", 6) ||
             starts_with(data, size, "BM", 2))
        result = image_decode_stb(data, size, raw, out, err);
    else
        result =
            error_set(err, BL_ERROR_FORMAT, "neither an EXR, PNG, JPEG, Radiance HDR, BMP nor PFM image");
    BL_ASSERT(result != BL_OK || (out->pixels && out->channels && out->width && out->height),
              "a decoder left an image of %u x %u pixels, %u channels", out->width, out->height,
              out->channels);
    if (result == BL_OK)
        result = check_finite(out, err);
    if (result != BL_OK)
        image_free(out);
    return result;
}

bl_result image_decode(const void *data, size_t size, bool raw, scene_image *out, bl_error *err)
{
    return decode(data, size, raw, false, out, err);
}

bl_result image_decode_alpha(const void *data, size_t size, bool raw, scene_image *out, bl_error *err)
{
    return decode(data, size, raw, true, out, err);
}

static bl_result load(const char *path, bool raw, bool alpha, scene_image *out, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    bl_error reason = {0};
    *out = (scene_image){0};
    TRY(file_read(path, IMAGE_BYTES_MAX, &data, &size, err));
    bl_result result = decode(data, size, raw, alpha, out, &reason);
    memory_free(data);
    return result == BL_OK ? BL_OK : error_set(err, result, "%s: %s", path, reason.text);
}

bl_result image_load(const char *path, bool raw, scene_image *out, bl_error *err)
{
    return load(path, raw, false, out, err);
}

bl_result image_load_channels(const char *path, const char *const *names, uint32_t count, scene_image *out,
                              bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    bl_error reason = {0};
    *out = (scene_image){0};
    TRY(file_read(path, IMAGE_BYTES_MAX, &data, &size, err));
    bl_result r = is_exr(data, size)
                      ? image_decode_exr_channels(data, size, names, count, out, &reason)
                      : error_set(&reason, BL_ERROR_FORMAT, "only EXR images have the channels of bands");
    memory_free(data);
    if (r == BL_OK)
        r = check_finite(out, &reason);
    if (r != BL_OK)
        image_free(out);
    return r == BL_OK ? BL_OK : error_set(err, r, "%s: %s", path, reason.text);
}

bl_result image_load_value(const scene_value *file, bool raw, scene_image *out, bl_error *err)
{
    const scene_grid *g = file->grid;
    if (!g)
        return image_load(file->path, raw, out, err);
    if (g->file)
        return image_decode(g->file, g->file_size, raw, out, err);
    if (g->size[2] != 1 || (g->channels != 1 && g->channels != 3))
        return error_set(err, BL_ERROR_SCENE, "a grid of %u channels and depth %u is no image: 1 or 3, and 1",
                         g->channels, g->size[2]);
    size_t bytes = (size_t)g->size[0] * g->size[1] * g->channels * sizeof *g->values;
    TRY(image_create(out, g->size[0], g->size[1], g->channels, bytes, err));
    memcpy(out->pixels, g->values, bytes);
    return BL_OK;
}

/* ---- alpha ---- */

bl_result image_load_over(const char *path, const float background[3], scene_image *out, bl_error *err)
{
    scene_image image;
    TRY(load(path, false, true, &image, err));
    if (image.channels % 2 != 0) { /* no alpha */
        *out = image;
        return BL_OK;
    }
    size_t pixels = (size_t)image.width * image.height, colours = image.channels - 1;
    *out = image;
    out->channels = 3, out->pixels = memory_alloc(3 * pixels * sizeof *out->pixels);
    for (size_t i = 0; out->pixels && i < pixels; i++) {
        const float *from = image.pixels + image.channels * i;
        float alpha = from[colours];
        for (size_t c = 0; c < 3; c++) {
            float colour = from[colours == 3 ? c : 0] * (image.straight ? alpha : 1);
            out->pixels[3 * i + c] = colour + (1 - alpha) * background[c];
        }
    }
    image_free(&image);
    return out->pixels ? BL_OK : error_set(err, BL_ERROR_MEMORY, "%s: no memory for the image", path);
}

/* ---- writing ---- */

bool image_has_extension(const char *path, const char *extension)
{
    size_t length = strlen(path), tail = strlen(extension);
    return length > tail && strcmp(path + length - tail, extension) == 0;
}

bool image_is_jpeg(const char *path)
{
    return image_has_extension(path, ".jpg") || image_has_extension(path, ".jpeg");
}

/* The first `colours` channels alone. */
static bl_result drop_channels(const scene_image *all, uint32_t colours, scene_image *out, bl_error *err)
{
    *out = (scene_image){.width = all->width, .height = all->height, .channels = colours};
    size_t pixels = (size_t)all->width * all->height;
    out->pixels = memory_alloc(pixels * colours * sizeof *out->pixels);
    if (!out->pixels)
        return error_set(err, BL_ERROR_MEMORY, "no memory for the image");
    for (size_t i = 0; i < pixels; i++)
        memcpy(out->pixels + colours * i, all->pixels + all->channels * i, colours * sizeof *out->pixels);
    return BL_OK;
}

static bl_result encode_colours(const char *path, const scene_image *image, text *out, bl_error *err)
{
    if (image_has_extension(path, ".png") && image->channels >= 1 && image->channels <= 4)
        return image_encode_png(image, out, err);
    if (image->channels != 1 && image->channels != 3)
        return error_set(err, BL_ERROR_ARGUMENT, "images have 1 or 3 channels, not %u", image->channels);
    if (image_is_jpeg(path))
        return image_encode_jpeg(image, out, err);
    if (image_has_extension(path, ".pfm"))
        return image_encode_pfm(image, out, err);
    return image_encode_hdr(image, out, err);
}

static bl_result encode(const char *path, const scene_image *image, const image_layout *layout, text *out,
                        bl_error *err)
{
    const uint32_t colours = layout->colours;
    scene_image part;
    if (image_has_extension(path, ".exr"))
        return image_encode_exr(image, layout->names, layout->components, out, err);
    if (!image_has_extension(path, ".png") && !image_is_jpeg(path) && !image_has_extension(path, ".pfm") &&
        !image_has_extension(path, ".hdr"))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "the name of an image must end in .exr, .png, .jpg, .pfm or .hdr");
    bool alpha = image_has_extension(path, ".png") && colours > 0 && colours < image->channels &&
                 strcmp(layout->names[colours], "A") == 0;
    if (colours + alpha == image->channels || colours == 0)
        return encode_colours(path, image, out, err);
    TRY(drop_channels(image, colours + alpha, &part, err));
    bl_result r = encode_colours(path, &part, out, err);
    image_free(&part);
    return r;
}

bl_result image_save_channels(const char *path, const scene_image *image, const image_layout *layout,
                              bl_error *err)
{
    const uint32_t width = image->width, height = image->height;
    BL_ASSERT(image->pixels && image->channels > 0, "%s: an image without pixels", path);
    BL_ASSERT(layout->colours <= image->channels, "%u colours of %u channels", layout->colours,
              image->channels);
    if (width == 0 || height == 0 || (uint64_t)width * height > IMAGE_PIXELS_MAX)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: cannot write an image of %u x %u pixels", path, width,
                         height);
    text encoded = {0};
    bl_error reason = {0};
    bl_result result = encode(path, image, layout, &encoded, &reason);
    if (result == BL_OK)
        result = file_write_synced(path, encoded.data, encoded.length, err);
    else
        error_set(err, result, "%s: %s", path, reason.text);
    text_free(&encoded);
    return result;
}

bl_result image_save(const char *path, uint32_t width, uint32_t height, uint32_t channels,
                     const float *pixels, bool half, bl_error *err)
{
    static const char *const rgb[] = {"R", "G", "B"}, *const grey[] = {"Y"};
    if (channels != 1 && channels != 3)
        return error_set(err, BL_ERROR_ARGUMENT, "%s: images have 1 or 3 channels, not %u", path, channels);
    /* The encoders only read the pixels. */
    const scene_image image = {
        .width = width, .height = height, .channels = channels, .pixels = (float *)(uintptr_t)pixels};
    const image_layout layout = {
        .names = channels == 3 ? rgb : grey,
        .colours = channels,
        .components = half ? IMAGE_FLOAT16 : IMAGE_FLOAT32,
    };
    return image_save_channels(path, &image, &layout, err);
}
