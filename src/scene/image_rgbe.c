/* SPDX-License-Identifier: BSD-3-Clause
 * Writing Radiance HDR (Ward 1991, "Real Pixels"): three mantissas of 8 bits and a common exponent a pixel.
 * Lines of 8 to 32767 pixels are written plane by plane in runs of literal bytes, others pixel by pixel, so
 * that no line can be taken for the other kind. */
#include "scene/scene_internal.h"

#include <math.h>

static void shared_exponent(const float *rgb, uint32_t channels, uint8_t out[4])
{
    double most = 0, v[3];
    for (uint32_t c = 0; c < 3; c++) {
        v[c] = fmax(0, (double)rgb[channels == 3 ? c : 0]);
        most = fmax(most, v[c]);
    }
    int exponent;
    double scale = frexp(most, &exponent) > 0 && exponent > -128 ? ldexp(256, -exponent) : 0;
    exponent = exponent > 127 ? 127 : exponent;
    for (uint32_t c = 0; c < 3; c++)
        out[c] = (uint8_t)fmin(255, v[c] * scale);
    out[3] = scale > 0 ? (uint8_t)(exponent + 128) : 0;
}

static void put_line(const scene_image *image, uint32_t y, text *out)
{
    enum { RUN = 128 };
    uint32_t width = image->width;
    const float *line = image->pixels + (size_t)y * width * image->channels;
    uint8_t pixel[4];
    if (width < 8 || width > 32767) {
        for (uint32_t x = 0; x < width; x++) {
            shared_exponent(line + (size_t)x * image->channels, image->channels, pixel);
            text_add_bytes(out, pixel, 4);
        }
        return;
    }
    const uint8_t head[4] = {2, 2, (uint8_t)(width >> 8), (uint8_t)width};
    text_add_bytes(out, head, 4);
    for (uint32_t plane = 0; plane < 4; plane++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t left = width - x / RUN * RUN;
            const uint8_t count = (uint8_t)(left < RUN ? left : RUN);
            if (x % RUN == 0)
                text_add_bytes(out, &count, 1);
            shared_exponent(line + (size_t)x * image->channels, image->channels, pixel);
            text_add_bytes(out, &pixel[plane], 1);
        }
}

bl_result image_encode_hdr(const scene_image *image, text *out, bl_error *err)
{
    (void)err;
    text_add(out, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %u +X %u\n", image->height, image->width);
    for (uint32_t y = 0; y < image->height; y++)
        put_line(image, y, out);
    return BL_OK;
}
