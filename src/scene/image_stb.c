/* SPDX-License-Identifier: BSD-3-Clause
 * Radiance HDR and BMP by stb_image, of which nothing else is compiled. It takes zeros for what is missing in
 * a truncated file, and up to version 2.27 (Debian 12) a run of length zero keeps its HDR reader in a loop
 * for ever. So it reads through callbacks: they notice when it asks for more than there is, and then hand out
 * line feeds and 255 in turn, which end every loop. Alpha is dropped; palettes become colours. */
#include "scene/scene_internal.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function" /* reported at the end of the file */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wextra"
#endif
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_HDR
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_SIMD
#define STBI_MAX_DIMENSIONS (1 << 20) /* IMAGE_SIDE_MAX */
#define STBI_MALLOC(size) memory_alloc(size)
#define STBI_REALLOC(memory, size) memory_resize(memory, size)
#define STBI_FREE(memory) memory_free(memory)
#include <stb_image.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

enum {
    BUFFER_SIZE = sizeof((stbi__context *)0)->buffer_start
}; /* what stb asks for to read ahead; less is what it needs */

typedef struct stb_source {
    const uint8_t *data;
    size_t size, at;
    bool truncated;
} stb_source;

static int on_read(void *user, char *to, int count)
{
    stb_source *s = user;
    size_t left = s->size - s->at, now = (size_t)count < left ? (size_t)count : left;
    memcpy(to, s->data + s->at, now);
    s->at += now;
    s->truncated |= now < (size_t)count && (now == 0 || count < BUFFER_SIZE);
    if (now > 0 || count <= 0)
        return (int)now;
    for (int i = 0; i < count; i++)
        to[i] = i % 2 ? (char)0xFF : '\n';
    return count;
}

static void on_skip(void *user, int count)
{
    stb_source *s = user;
    size_t left = s->size - s->at;
    if (count < 0) /* back, within what stb holds in its buffer */
        s->at = (size_t) - (int64_t)count < s->at ? s->at - (size_t) - (int64_t)count : 0;
    else
        s->at = (size_t)count < left ? s->at + (size_t)count : s->size;
}

static int on_end(void *user) { return ((stb_source *)user)->at >= ((stb_source *)user)->size; }

static const stbi_io_callbacks callbacks = {on_read, on_skip, on_end};

static bl_result bad(const stb_source *s, const char *format, bl_error *err)
{
    const char *reason = s->truncated ? "the file is truncated" : stbi_failure_reason();
    return error_set(err, BL_ERROR_FORMAT, "bad %s image: %s", format,
                     reason ? reason : "it cannot be decoded");
}

bl_result image_decode_stb(const uint8_t *data, size_t size, bool raw, scene_image *out, bl_error *err)
{
    bool hdr = data[0] == '#';
    const char *format = hdr ? "Radiance HDR" : "BMP";
    stb_source source = {.data = data, .size = size};
    int width = 0, height = 0, stored = 0;
    if (!stbi_info_from_callbacks(&callbacks, &source, &width, &height, &stored) || source.truncated)
        return bad(&source, format, err);
    TRY(image_create(out, (uint64_t)width, (uint64_t)llabs(height), 3, size,
                     err)); /* a BMP may be stored top-down */
    source = (stb_source){.data = data, .size = size};
    void *pixels = hdr ? (void *)stbi_loadf_from_callbacks(&callbacks, &source, &width, &height, &stored, 3)
                       : (void *)stbi_load_from_callbacks(&callbacks, &source, &width, &height, &stored, 3);
    size_t count = 3 * (size_t)out->width * out->height;
    bool same = pixels && (uint32_t)width == out->width && (uint32_t)height == out->height;
    if (same && !source.truncated) {
        float table[256];
        image_byte_table(raw, table);
        for (size_t i = 0; i < count; i++)
            out->pixels[i] = hdr ? ((const float *)pixels)[i] : table[((const uint8_t *)pixels)[i]];
        out->eight_bit = !hdr;
    }
    stbi_image_free(pixels);
    if (same && !source.truncated)
        return BL_OK;
    image_free(out);
    return bad(&source, format, err);
}
