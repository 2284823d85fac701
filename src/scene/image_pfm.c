/* SPDX-License-Identifier: BSD-3-Clause
 * PFM (portable float map): "PF" (RGB) or "Pf" (grey), width, height, scale, one whitespace, then rows of
 * floats, the bottom one first; a negative scale means little-endian. Its magnitude multiplies the values, as
 * in Mitsuba. */
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

static bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* The next number of the header and exactly one whitespace behind it; NULL where there is none. */
static const uint8_t *header_number(const uint8_t *at, const uint8_t *end, double *out)
{
    while (at < end && is_space(*at))
        at++;
    const char *after = number_scan((const char *)at, (const char *)end, out);
    return after && after < (const char *)end && is_space((uint8_t)*after) ? (const uint8_t *)after + 1
                                                                           : NULL;
}

static float read_float(const uint8_t *bytes, bool little)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; i++)
        word |= (uint32_t)bytes[little ? i : 3 - i] << 8 * i;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

bl_result image_decode_pfm(const uint8_t *data, size_t size, scene_image *out, bl_error *err)
{
    const uint8_t *end = data + size, *at = data + 2;
    double numbers[3] = {0}; /* width, height, scale */
    for (int i = 0; i < 3 && at; i++)
        at = header_number(at, end, &numbers[i]);
    if (!at || !is_space(data[2]))
        return error_set(err, BL_ERROR_FORMAT, "the header of the PFM image is malformed");
    double width = numbers[0], height = numbers[1], scale = numbers[2];
    if (width != floor(width) || height != floor(height) || width < 0 || height < 0 ||
        width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX || scale == 0)
        return error_set(err, BL_ERROR_FORMAT, "the PFM image says that it has %g x %g pixels and scale %g",
                         width, height, scale);
    uint32_t channels = data[1] == 'F' ? 3 : 1;
    size_t row = (size_t)width * channels, needed = row * (size_t)height * 4;
    if ((size_t)(end - at) < needed)
        return error_set(err, BL_ERROR_FORMAT,
                         "the PFM image is truncated: %zu bytes of pixels instead of %zu", (size_t)(end - at),
                         needed);
    TRY(image_create(out, (uint64_t)width, (uint64_t)height, channels, size, err));
    float factor = (float)fabs(scale);
    for (size_t y = 0; y < out->height; y++)
        for (size_t x = 0; x < row; x++)
            out->pixels[(out->height - 1 - y) * row + x] =
                factor * read_float(at + 4 * (y * row + x), scale < 0);
    return BL_OK;
}

bl_result image_encode_pfm(const scene_image *image, text *out, bl_error *err)
{
    (void)err;
    text_add(out, "%s\n%u %u\n-1.0\n", image->channels == 3 ? "PF" : "Pf", image->width, image->height);
    size_t row = (size_t)image->width * image->channels;
    for (size_t y = image->height; y-- > 0;)
        for (size_t x = 0; x < row; x++) {
            uint32_t word;
            memcpy(&word, &image->pixels[y * row + x], sizeof word);
            uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                                (uint8_t)(word >> 24)};
            text_add_bytes(out, bytes, sizeof bytes);
        }
    return BL_OK;
}
