/* SPDX-License-Identifier: BSD-3-Clause
 * Textures of materials as bitmaps. An image that is used as it is stays a file, or the bytes of one. Where
 * one channel of it is meant, or a factor goes with it, a bitmap of those numbers is computed: linear, as
 * floats. uv (0, 0) is the upper left corner of an image, here and there. */
#include "scene/gltf/gltf.h"

#include <math.h>
#include <string.h>

enum { FILTER_NEAREST = 9728, WRAP_CLAMP = 33071, WRAP_MIRROR = 33648, WRAP_REPEAT = 10497 };

static const char *const channel_names[] = {
    [GLTF_COLOUR] = "colour", [GLTF_NORMAL] = "normal", [GLTF_RED] = "red",      [GLTF_GREEN] = "green",
    [GLTF_BLUE] = "blue",     [GLTF_ALPHA] = "alpha",   [GLTF_ALPHA_CUT] = "cut"};

bl_result gltf_texture_set(gltf *g, gltf_place where, const cJSON *info, uint32_t *set)
{
    uint64_t number = 0;
    TRY(gltf_count(g, where, info, "texCoord", &number));
    TRY(gltf_count(g, where, gltf_extension(info, "KHR_texture_transform"), "texCoord", &number));
    *set = number < 1000 ? (uint32_t)number : 1000; /* which no mesh has */
    return BL_OK;
}

/* ---- pixels ---- */

/* Of what a texel of an image of 1 to 4 channels has: red, green, blue, alpha. */
static double channel_of(const float *texel, uint32_t channels, gltf_channel which)
{
    const bool grey = channels < 3;
    if (which == GLTF_ALPHA || which == GLTF_ALPHA_CUT)
        return channels % 2 ? 1 : (double)texel[channels - 1];
    return (double)texel[grey ? 0 : which - GLTF_RED];
}

static void fill(const scene_image *image, const gltf_texture_use *use, const scene_grid *grid, float *out)
{
    const bool single = grid->channels == 1;
    for (size_t i = 0, n = (size_t)image->width * image->height; i < n; i++) {
        const float *texel = image->pixels + i * image->channels;
        const double v = single ? channel_of(texel, image->channels, use->channel) : 0;
        if (single)
            out[i] = (float)(use->channel == GLTF_ALPHA_CUT ? v >= use->scale[0] : v * use->scale[0]);
        for (uint32_t c = 0; !single && c < 3; c++) {
            double x = (double)texel[image->channels < 3 ? 0 : c];
            x = use->channel == GLTF_NORMAL ? 0.5 + (x - 0.5) * use->scale[c] : x * use->scale[c];
            out[3 * i + c] = (float)x;
        }
    }
}

static bl_result compute(gltf *g, gltf_place where, gltf_bytes file, const gltf_texture_use *use,
                         scene_grid *grid)
{
    scene_image image;
    bl_error reason = {0};
    bl_result r = image_decode_alpha(file.data, file.size, use->channel != GLTF_COLOUR, &image, &reason);
    if (r != BL_OK)
        return gltf_error(g, r, where, "%s", reason.text);
    const bool three = use->channel == GLTF_COLOUR || use->channel == GLTF_NORMAL;
    *grid = (scene_grid){.size = {image.width, image.height, 1}, .channels = three ? 3 : 1};
    float *values = memory_alloc((size_t)image.width * image.height * grid->channels * sizeof *values);
    if (values) {
        assembly_keep(g->assembly, values);
        fill(&image, use, grid, values);
        grid->values = values;
    }
    image_free(&image);
    return values ? BL_OK : gltf_error(g, BL_ERROR_MEMORY, where, "out of memory");
}

/* The bytes of the file themselves, in memory that lasts until the scene is loaded. */
static bl_result keep_file(gltf *g, gltf_place where, gltf_bytes file, scene_grid *grid)
{
    void *copy = memory_alloc(file.size + 1);
    if (!copy)
        return gltf_error(g, BL_ERROR_MEMORY, where, "out of memory");
    assembly_keep(g->assembly, copy);
    memcpy(copy, file.data, file.size);
    *grid = (scene_grid){.file = copy, .file_size = file.size};
    return BL_OK;
}

/* ---- the object ---- */

static const char *wrap_name(uint64_t number)
{
    return number == WRAP_CLAMP ? "clamp" : number == WRAP_MIRROR ? "mirror" : "repeat";
}

static bl_result add_sampler(gltf *g, uint32_t sampler, struct raw_node *bitmap)
{
    const gltf_place where = {GLTF_SAMPLERS, sampler};
    uint64_t u = WRAP_REPEAT, v = WRAP_REPEAT, filter = 0;
    if (sampler == GLTF_NONE)
        return BL_OK;
    const cJSON *item = gltf_item(g, where);
    TRY(gltf_count(g, where, item, "wrapS", &u));
    TRY(gltf_count(g, where, item, "wrapT", &v));
    TRY(gltf_count(g, where, item, "magFilter", &filter));
    if (strcmp(wrap_name(u), wrap_name(v)) != 0)
        gltf_note(g, "a texture that wraps otherwise along v does so as along u");
    if (u != WRAP_REPEAT)
        assembly_text(g->assembly, bitmap, PLUGIN_STRING, "wrap_mode", wrap_name(u));
    if (filter == FILTER_NEAREST)
        assembly_text(g->assembly, bitmap, PLUGIN_STRING, "filter_type", "nearest");
    return BL_OK;
}

/* KHR_texture_transform: uv is scaled, then turned counter-clockwise as one sees the image, whose v goes
 * down, then moved. */
static bl_result add_transform(gltf *g, gltf_place where, const cJSON *info, struct raw_node *bitmap)
{
    const cJSON *t = gltf_extension(info, "KHR_texture_transform");
    double offset[2] = {0}, scale[2] = {1, 1}, angle = 0;
    TRY(gltf_numbers(g, where, t, "offset", 2, -1e6, 1e6, offset));
    TRY(gltf_numbers(g, where, t, "scale", 2, -1e6, 1e6, scale));
    TRY(gltf_numbers(g, where, t, "rotation", 1, -1e6, 1e6, &angle));
    if (offset[0] == 0 && offset[1] == 0 && scale[0] == 1 && scale[1] == 1 && angle == 0)
        return BL_OK;
    const double c = cos(angle), s = sin(angle);
    const double m[16] = {c * scale[0],
                          s * scale[1],
                          0,
                          offset[0],
                          -s * scale[0],
                          c * scale[1],
                          0,
                          offset[1],
                          0,
                          0,
                          1,
                          0,
                          0,
                          0,
                          0,
                          1};
    assembly_numbers(g->assembly, bitmap, PLUGIN_TRANSFORM, "to_uv", m, 16);
    return BL_OK;
}

/* Textures that are the same are one object. */
static const char *cache_key(gltf *g, uint32_t image, uint32_t sampler, const cJSON *info,
                             const gltf_texture_use *use)
{
    char *transform = cJSON_PrintUnformatted(gltf_extension(info, "KHR_texture_transform"));
    const char *key =
        arena_printf(&g->memory, "%u %u %d %.17g %.17g %.17g %.400s", image, sampler, (int)use->channel,
                     use->scale[0], use->scale[1], use->scale[2], transform ? transform : "");
    cJSON_free(transform);
    return key;
}

static bool as_it_is(const gltf_texture_use *use)
{
    return (use->channel == GLTF_COLOUR || use->channel == GLTF_NORMAL) && use->scale[0] == 1 &&
           use->scale[1] == 1 && use->scale[2] == 1;
}

/* The last part of the path without its ending. */
static const char *stem_of(arena *memory, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return arena_strndup(memory, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static const char *texture_id(gltf *g, uint32_t texture, uint32_t image, const char *path,
                              const gltf_texture_use *use)
{
    const char *name = gltf_name(g, (gltf_place){GLTF_TEXTURES, texture});
    name = name ? name : gltf_name(g, (gltf_place){GLTF_IMAGES, image});
    name = name ? name : path ? stem_of(&g->memory, path) : "texture";
    if (!as_it_is(use))
        name = arena_printf(&g->memory, "%.200s_%s", name, channel_names[use->channel]);
    return gltf_id(g, name, "texture", texture);
}

static bl_result make_bitmap(gltf *g, gltf_place where, uint32_t texture, uint32_t image,
                             const gltf_texture_use *use, struct raw_node **out)
{
    gltf_bytes file;
    const char *path;
    TRY(gltf_image(g, image, &file, &path));
    struct raw_node *bitmap = *out =
        assembly_object(g->assembly, PLUGIN_TEXTURE, "bitmap", texture_id(g, texture, image, path, use));
    if (as_it_is(use) && path)
        assembly_text(g->assembly, bitmap, PLUGIN_STRING, "filename", path);
    else {
        scene_grid *grid = assembly_alloc(g->assembly, sizeof *grid);
        TRY(as_it_is(use) ? keep_file(g, where, file, grid) : compute(g, where, file, use, grid));
        assembly_grid(g->assembly, bitmap, "filename", grid);
    }
    if (use->channel != GLTF_COLOUR)
        assembly_text(g->assembly, bitmap, PLUGIN_BOOLEAN, "raw", "true");
    return BL_OK;
}

bl_result gltf_texture(gltf *g, gltf_place where, const cJSON *info, const gltf_texture_use *use,
                       struct raw_node **out)
{
    static const char *const of_info[] = {"KHR_texture_transform", NULL}, *const none[] = {NULL};
    uint32_t texture = GLTF_NONE, image = GLTF_NONE, sampler = GLTF_NONE;
    TRY(gltf_index(g, where, info, "index", GLTF_TEXTURES, &texture));
    if (texture == GLTF_NONE)
        return gltf_error(g, BL_ERROR_SCENE, where, "a texture has no \"index\"");
    const gltf_place at = {GLTF_TEXTURES, texture};
    const cJSON *item = gltf_item(g, at);
    TRY(gltf_index(g, at, item, "source", GLTF_IMAGES, &image));
    TRY(gltf_index(g, at, item, "sampler", GLTF_SAMPLERS, &sampler));
    if (image == GLTF_NONE)
        return gltf_error(g, BL_ERROR_UNSUPPORTED, at, "it has no \"source\" that is PNG or JPEG");
    gltf_note_extensions(g, info, "a texture", of_info);
    gltf_note_extensions(g, item, "a texture", none);
    const char *key = cache_key(g, image, sampler, info, use);
    for (uint32_t i = 0; i < g->textures.count; i++)
        if (strcmp(g->textures.data[i].key, key) == 0) {
            *out = g->textures.data[i].node;
            return BL_OK;
        }
    TRY(make_bitmap(g, (gltf_place){GLTF_IMAGES, image}, texture, image, use, out));
    TRY(add_sampler(g, sampler, *out));
    TRY(add_transform(g, where, info, *out));
    const gltf_cached_texture made = {key, *out};
    array_push(&g->textures, made);
    return BL_OK;
}
