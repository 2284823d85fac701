/* SPDX-License-Identifier: BSD-3-Clause
 * The file as a whole: GLB (glTF 2.0, 4) or JSON, version and extensions, the arrays that others point into,
 * and bytes: of buffers and images, which are in the file, in data: URIs, or in files beside it, which are
 * looked for as those of any other scene (scene_paths). */
#include "scene/gltf/gltf.h"

#include <stdlib.h>
#include <string.h>

enum { GLB_JSON = 0x4E4F534A, GLB_BINARY = 0x004E4942, STRIDE_MOST = 1 << 16, BYTES_A_VALUE = 128 };
#define BUFFER_BYTES_MAX ((size_t)4 << 30)

static const gltf_place whole = {GLTF_FILE, 0};

/* ---- GLB ---- */

static uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bl_result open_glb(gltf *g, gltf_bytes file, gltf_bytes *json)
{
    if (file.size < 20)
        return gltf_error(g, BL_ERROR_SCENE, whole, "a GLB file of %zu bytes is cut off", file.size);
    if (word_at(file.data + 4) != 2)
        return gltf_error(g, BL_ERROR_UNSUPPORTED, whole, "version %u of GLB: version 2 is read",
                          word_at(file.data + 4));
    const size_t length = word_at(file.data + 8);
    if (length > file.size)
        return gltf_error(g, BL_ERROR_SCENE, whole, "a GLB file that says that it has %zu bytes has %zu",
                          length, file.size);
    size_t at = 12;
    for (uint32_t chunk = 0; length >= 8 && at <= length - 8; chunk++) {
        const size_t size = word_at(file.data + at);
        const uint32_t type = word_at(file.data + at + 4);
        at += 8;
        if (size > length - at)
            return gltf_error(g, BL_ERROR_SCENE, whole, "chunk %u of %zu bytes is cut off after %zu", chunk,
                              size, length - at);
        const gltf_bytes bytes = {file.data + at, size};
        if (chunk == 0 && type == GLB_JSON)
            *json = bytes;
        else if (chunk == 1 && type == GLB_BINARY)
            g->binary = bytes;
        else
            gltf_note(g, "chunk %u of type %08x is not used", chunk, type);
        at += size;
    }
    return json->data ? BL_OK
                      : gltf_error(g, BL_ERROR_SCENE, whole, "the first chunk of a GLB file is not JSON");
}

/* ---- JSON ---- */

/* The parser takes its memory from the C library. So that the budget knows, as much as the values of the text
 * can need is taken from it, and held without being touched as long as the values are there. */
static bl_result parse_json(gltf *g, gltf_bytes from)
{
    size_t values = 1;
    const char *end = NULL;
    for (size_t i = 0; i < from.size; i++)
        values += from.data[i] == ',' || from.data[i] == '[' || from.data[i] == '{';
    TRY(budget_take(BUDGET_TEXT, from.size, g->err));
    g->held = memory_alloc(values * BYTES_A_VALUE + 2 * from.size);
    if (!g->held)
        return gltf_error(g, BL_ERROR_MEMORY, whole, "out of memory for %zu values", values);
    g->json = cJSON_ParseWithLengthOpts((const char *)from.data, from.size, &end, false);
    if (!g->json) {
        const size_t at = end ? (size_t)(end - (const char *)from.data) : 0;
        uint32_t line = 1;
        for (size_t i = 0; i < at && i < from.size; i++)
            line += from.data[i] == '\n';
        return gltf_error(g, BL_ERROR_SCENE, whole, "line %u is no JSON", line);
    }
    return cJSON_IsObject(g->json) ? BL_OK : gltf_error(g, BL_ERROR_SCENE, whole, "the JSON is no object");
}

static bl_result check_version(gltf *g)
{
    const cJSON *asset = gltf_get(g->json, "asset");
    const char *version = gltf_text(asset, "version"), *least = gltf_text(asset, "minVersion");
    if (!version)
        return gltf_error(g, BL_ERROR_SCENE, whole,
                          "it has no \"asset\" with a \"version\", so it is no glTF");
    if (strncmp(version, "2.", 2) != 0 || (least && strcmp(least, "2.0") != 0))
        return gltf_error(g, BL_ERROR_UNSUPPORTED, whole, "version %.20s of glTF: version 2.0 is read",
                          least ? least : version);
    return BL_OK;
}

/* ---- extensions ---- */

static const char *const known_extensions[] = {"KHR_lights_punctual",
                                               "KHR_materials_clearcoat",
                                               "KHR_materials_emissive_strength",
                                               "KHR_materials_ior",
                                               "KHR_materials_sheen",
                                               "KHR_materials_specular",
                                               "KHR_materials_transmission",
                                               "KHR_materials_volume",
                                               "KHR_mesh_quantization",
                                               "KHR_texture_transform",
                                               NULL};

static bool is_known(const char *extension)
{
    bool known = false;
    for (uint32_t k = 0; known_extensions[k]; k++)
        known |= strcmp(known_extensions[k], extension) == 0;
    return known;
}

static bl_result check_extensions(gltf *g)
{
    const cJSON *e;
    cJSON_ArrayForEach(e, gltf_get(g->json, "extensionsRequired"))
    {
        if (!cJSON_IsString(e) || !is_known(e->valuestring))
            return gltf_error(g, BL_ERROR_UNSUPPORTED, whole,
                              "it requires the extension \"%.100s\", which is not implemented",
                              cJSON_IsString(e) ? e->valuestring : "");
    }
    cJSON_ArrayForEach(e, gltf_get(g->json, "extensionsUsed"))
    {
        if (cJSON_IsString(e) && !is_known(e->valuestring))
            gltf_note(g, "the extension %.100s is not used", e->valuestring);
    }
    return BL_OK;
}

/* ---- arrays ---- */

static bl_result make_lists(gltf *g)
{
    static const char *const names[GLTF_ARRAY_COUNT] = {
#define GLTF_NAME(id, name) name,
        GLTF_ARRAYS(GLTF_NAME)
#undef GLTF_NAME
    };
    for (uint32_t k = 0; k < GLTF_ARRAY_COUNT; k++) {
        const cJSON *from = k == GLTF_LIGHTS ? gltf_extension(g->json, "KHR_lights_punctual") : g->json,
                    *array = gltf_get(from, names[k]), *item;
        gltf_list *list = &g->lists[k];
        if (array && !cJSON_IsArray(array))
            return gltf_error(g, BL_ERROR_SCENE, whole, "\"%s\" is not an array", names[k]);
        list->items = arena_alloc(&g->memory, ((size_t)cJSON_GetArraySize(array) + 1) * sizeof *list->items);
        cJSON_ArrayForEach(item, array)
        {
            if (!cJSON_IsObject(item))
                return gltf_error(g, BL_ERROR_SCENE, whole, "%s[%u] is not an object", names[k], list->count);
            list->items[list->count++] = item;
        }
    }
    return BL_OK;
}

/* What moves, which a picture does not show. */
static void note_motion(gltf *g)
{
    static const char *const arrays[][2] = {{"animations", "the animation"}, {"skins", "the skin"}};
    const cJSON *item;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t index = 0;
        cJSON_ArrayForEach(item, gltf_get(g->json, arrays[k][0]))
        {
            const char *name = gltf_text(item, "name");
            gltf_note(g, name ? "%s \"%.80s\" is not used" : "%s%.0s number %u is not used", arrays[k][1],
                      name ? name : "", index++);
        }
    }
}

bl_result gltf_open(gltf *g, const char *name, const void *data, size_t size)
{
    gltf_bytes file = {data, size}, json = file;
    g->name = name;
    if (size >= 4 && memcmp(data, "glTF", 4) == 0) {
        json = (gltf_bytes){0};
        TRY(open_glb(g, file, &json));
    }
    TRY(parse_json(g, json));
    TRY(check_version(g));
    TRY(check_extensions(g));
    TRY(make_lists(g));
    note_motion(g);
    const uint32_t buffers = g->lists[GLTF_BUFFERS].count, images = g->lists[GLTF_IMAGES].count;
    g->buffers = arena_alloc(&g->memory, (buffers + 1) * sizeof *g->buffers);
    g->images = arena_alloc(&g->memory, (images + 1) * sizeof *g->images);
    g->image_paths = arena_alloc(&g->memory, (images + 1) * sizeof *g->image_paths);
    g->meshes = arena_alloc(&g->memory, (g->lists[GLTF_MESHES].count + 1) * sizeof *g->meshes);
    g->materials = arena_alloc(&g->memory, (g->lists[GLTF_MATERIALS].count + 1) * sizeof *g->materials);
    return BL_OK;
}

void gltf_close(gltf *g)
{
    cJSON_Delete(g->json);
    memory_free(g->held);
    for (uint32_t k = 0; k < g->lists[GLTF_BUFFERS].count && g->buffers; k++)
        if (g->buffers[k].data != g->binary.data)
            memory_free((void *)(uintptr_t)g->buffers[k].data);
    for (uint32_t k = 0; k < g->lists[GLTF_IMAGES].count && g->images; k++)
        memory_free((void *)(uintptr_t)g->images[k].data);
    array_free(&g->textures);
    array_free(&g->instances);
    array_free(&g->notes);
    paths_free(&g->paths);
    arena_free(&g->memory);
}

/* ---- URIs ---- */

static int digit_64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Base 64 (RFC 4648). Returns malloc'ed bytes, or NULL where it is none. */
static uint8_t *decode_64(const char *chars, size_t *size)
{
    size_t length = strlen(chars), count = 0;
    while (length > 0 && chars[length - 1] == '=')
        length--;
    uint8_t *bytes = memory_alloc(length / 4 * 3 + 4);
    uint32_t bits = 0;
    for (size_t i = 0; bytes && i < length; i++) {
        const int digit = digit_64(chars[i]);
        if (digit < 0) {
            memory_free(bytes);
            return NULL;
        }
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0)
            bytes[count++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *size = count;
    return bytes;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* A relative reference as a path: %20 and the like replaced (RFC 3986, 2.1). */
static const char *decode_path(arena *memory, const char *uri)
{
    char *path = arena_strdup(memory, uri), *to = path;
    for (const char *from = uri; *from; from++) {
        int high = *from == '%' ? hex_digit(from[1]) : -1, low = high < 0 ? -1 : hex_digit(from[2]);
        *to++ = (char)(low < 0 ? *from : high << 4 | low);
        from += low < 0 ? 0 : 2;
    }
    *to = 0;
    return path;
}

static bool has_scheme(const char *uri)
{
    const size_t length = strcspn(uri, ":/?#");
    return uri[length] == ':';
}

/* The bytes that a URI stands for (malloc'ed). path: of the file, as the scene names it, or NULL. */
static bl_result read_uri(gltf *g, gltf_place where, const char *uri, gltf_bytes *out, const char **path)
{
    *path = NULL;
    if (strncmp(uri, "data:", 5) == 0) {
        const char *comma = strchr(uri, ',');
        if (!comma || comma - uri < 7 || strncmp(comma - 7, ";base64", 7) != 0)
            return gltf_error(g, BL_ERROR_UNSUPPORTED, where, "a data: URI that is not base64");
        out->data = decode_64(comma + 1, &out->size);
        return out->data ? BL_OK : gltf_error(g, BL_ERROR_SCENE, where, "its data: URI is not base64");
    }
    if (has_scheme(uri))
        return gltf_error(g, BL_ERROR_UNSUPPORTED, where, "\"%.200s\" is not a file beside the scene", uri);
    const char *name = *path = decode_path(&g->memory, uri),
               *found = paths_find(&g->paths, name, NULL, false);
    void *data;
    if (!found)
        return gltf_error(g, BL_ERROR_SCENE, where, "the file \"%.200s\" is not found", name);
    TRY(file_read(found, BUFFER_BYTES_MAX, &data, &out->size, g->err));
    out->data = data;
    return BL_OK;
}

/* ---- bytes ---- */

static bl_result buffer_bytes(gltf *g, uint32_t index, gltf_bytes *out)
{
    const gltf_place where = {GLTF_BUFFERS, index};
    const cJSON *item = gltf_item(g, where);
    const char *uri = gltf_text(item, "uri"), *path;
    gltf_bytes *bytes = &g->buffers[index];
    uint64_t length = 0;
    TRY(gltf_count(g, where, item, "byteLength", &length));
    if (!bytes->data && uri)
        TRY(read_uri(g, where, uri, bytes, &path));
    if (!bytes->data && index == 0)
        *bytes = g->binary;
    if (!bytes->data)
        return gltf_error(g, BL_ERROR_SCENE, where, "it has neither a \"uri\" nor bytes in the file");
    if (length > bytes->size)
        return gltf_error(g, BL_ERROR_SCENE, where, "it has %zu bytes, and must have %ju", bytes->size,
                          (uintmax_t)length);
    *out = (gltf_bytes){bytes->data, (size_t)length};
    return BL_OK;
}

bl_result gltf_view(gltf *g, uint32_t view, gltf_bytes *out, uint64_t *stride)
{
    const gltf_place where = {GLTF_BUFFER_VIEWS, view};
    const cJSON *item = gltf_item(g, where);
    uint32_t buffer = GLTF_NONE;
    uint64_t offset = 0, length = 0;
    gltf_bytes bytes = {0};
    *stride = 0;
    TRY(gltf_index(g, where, item, "buffer", GLTF_BUFFERS, &buffer));
    TRY(gltf_count(g, where, item, "byteOffset", &offset));
    TRY(gltf_count(g, where, item, "byteLength", &length));
    TRY(gltf_count(g, where, item, "byteStride", stride));
    if (buffer == GLTF_NONE)
        return gltf_error(g, BL_ERROR_SCENE, where, "it has no \"buffer\"");
    if (*stride > STRIDE_MOST)
        return gltf_error(g, BL_ERROR_SCENE, where, "\"byteStride\" is %ju", (uintmax_t)*stride);
    TRY(buffer_bytes(g, buffer, &bytes));
    if (offset > bytes.size || length > bytes.size - offset)
        return gltf_error(g, BL_ERROR_SCENE, where, "bytes %ju to %ju do not lie in a buffer of %zu",
                          (uintmax_t)offset, (uintmax_t)(offset + length), bytes.size);
    *out = (gltf_bytes){bytes.data + offset, (size_t)length};
    return BL_OK;
}

bl_result gltf_image(gltf *g, uint32_t image, gltf_bytes *out, const char **path)
{
    const gltf_place where = {GLTF_IMAGES, image};
    const cJSON *item = gltf_item(g, where);
    const char *uri = gltf_text(item, "uri");
    uint32_t view = GLTF_NONE;
    uint64_t stride;
    *path = g->image_paths[image];
    *out = g->images[image];
    if (out->data)
        return BL_OK;
    if (uri) {
        TRY(read_uri(g, where, uri, &g->images[image], &g->image_paths[image]));
        *path = g->image_paths[image];
        *out = g->images[image];
        return BL_OK;
    }
    TRY(gltf_index(g, where, item, "bufferView", GLTF_BUFFER_VIEWS, &view));
    if (view == GLTF_NONE)
        return gltf_error(g, BL_ERROR_SCENE, where, "it has neither a \"uri\" nor a \"bufferView\"");
    return gltf_view(g, view, out, &stride);
}
