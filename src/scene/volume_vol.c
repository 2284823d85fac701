/* SPDX-License-Identifier: BSD-3-Clause
 * Grids of numbers in Mitsuba's format, version 3, little-endian:
 *
 *     "VOL", byte 3, int32 encoding (1: float32), int32 sizes x, y, z, int32 channels, float32 min xyz and
 *     max xyz of a box,
 *     then float32 values: channel fastest, then x, y, z.
 *
 * A grid may be followed by other bytes, but must not be cut. */
#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VOLUME_BYTES_MAX ((size_t)4 << 30)
enum { HEADER_BYTES = 48, SIDE_MAX = 1 << 14, ENCODING_FLOAT32 = 1 };

static uint32_t read_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static float read_float(const uint8_t *bytes)
{
    uint32_t word = read_word(bytes);
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

bool volume_channels_known(uint32_t channels)
{
    return channels == 1 || channels == 3 || channels == 6 || channels == 12 || channels == 27;
}

static bl_result read_header(const uint8_t *data, size_t size, scene_volume *out, bl_error *err)
{
    if (size < HEADER_BYTES || memcmp(data, "VOL", 3) != 0)
        return error_set(err, BL_ERROR_FORMAT,
                         "not a volume: it does not begin with \"VOL\" and a header of %d bytes",
                         HEADER_BYTES);
    if (data[3] != 3)
        return error_set(err, BL_ERROR_FORMAT, "version %u of the volume format is not known, 3 is", data[3]);
    uint32_t encoding = read_word(data + 4), channels = read_word(data + 20);
    if (encoding != ENCODING_FLOAT32)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "encoding %u of a volume is not supported, 1 (float32) is", encoding);
    if (!volume_channels_known(channels))
        return error_set(err, BL_ERROR_FORMAT, "a volume of %u channels: 1, 3, 6, 12 and 27 are possible",
                         channels);
    for (int k = 0; k < 3; k++) {
        out->size[k] = read_word(data + 8 + 4 * k);
        if (out->size[k] == 0 || out->size[k] > SIDE_MAX)
            return error_set(err, BL_ERROR_FORMAT, "size %u of a volume is outside [1, %d]", out->size[k],
                             SIDE_MAX);
    }
    for (int k = 0; k < 3; k++) {
        float low = read_float(data + 24 + 4 * k), high = read_float(data + 36 + 4 * k);
        if (!isfinite(low) || !isfinite(high) || !isfinite(high - low) || !(low <= high))
            return error_set(err, BL_ERROR_FORMAT, "the volume's box is empty or not finite");
        out->box[5 * k] = high - low, out->box[4 * k + 3] = low;
    }
    out->channels = channels;
    return BL_OK;
}

static bl_result read_values(const uint8_t *at, size_t left, scene_volume *out, bl_error *err)
{
    uint64_t count = (uint64_t)out->size[0] * out->size[1] * out->size[2] * out->channels; /* below 2^45 */
    if (count > left / 4)
        return error_set(err, BL_ERROR_FORMAT, "the volume is truncated: %zu bytes of values instead of %ju",
                         left, (uintmax_t)count * 4);
    TRY(budget_take(BUDGET_VOXELS, count, err));
    out->values = memory_alloc((size_t)count * sizeof *out->values);
    if (!out->values)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for a volume of %ju values", (uintmax_t)count);
    for (size_t i = 0; i < count; i++) {
        out->values[i] = read_float(at + 4 * i);
        if (!isfinite(out->values[i]))
            return error_set(err, BL_ERROR_FORMAT, "value %zu of the volume is not a finite number", i);
    }
    return BL_OK;
}

bl_result volume_parse_vol(const void *data, size_t size, scene_volume *out, bl_error *err)
{
    *out = (scene_volume){0};
    bl_result r = read_header(data, size, out, err);
    if (r == BL_OK)
        r = read_values((const uint8_t *)data + HEADER_BYTES, size - HEADER_BYTES, out, err);
    if (r != BL_OK)
        volume_free(out);
    return r;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), wanted = strlen(ending);
    return length >= wanted && strcasecmp(path + length - wanted, ending) == 0;
}

bool volume_is_openvdb(const char *path) { return ends_with(path, ".vdb"); }

bl_result volume_load(const char *path, scene_volume *out, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *out = (scene_volume){0};
    TRY(file_read(path, VOLUME_BYTES_MAX, &data, &size, err));
    bl_result r = ends_with(path, ".nvdb")  ? volume_parse_nvdb(data, size, out, err)
                  : volume_is_openvdb(path) ? volume_parse_vdb(data, size, out, err)
                                            : volume_parse_vol(data, size, out, err);
    memory_free(data);
    return r;
}

bl_result volume_load_value(const scene_value *file, scene_volume *out, bl_error *err)
{
    const scene_grid *g = file->grid;
    if (!g)
        return volume_load(file->path, out, err);
    *out = (scene_volume){.channels = g->channels, .box = {[0] = 1, [5] = 1, [10] = 1}};
    if (!volume_channels_known(g->channels))
        return error_set(err, BL_ERROR_SCENE, "a grid of %u channels: 1, 3, 6, 12 and 27 are possible",
                         g->channels);
    uint64_t count = g->channels;
    for (int k = 0; k < 3; k++) {
        out->size[k] = g->size[k];
        if (g->size[k] > SIDE_MAX)
            return error_set(err, BL_ERROR_SCENE, "size %u of a grid is above %d", g->size[k], SIDE_MAX);
        count *= g->size[k];
    }
    TRY(budget_take(BUDGET_VOXELS, count, err));
    out->values = memory_alloc((size_t)count * sizeof *out->values);
    if (!out->values)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for a grid of %ju values", (uintmax_t)count);
    memcpy(out->values, g->values, (size_t)count * sizeof *out->values);
    return BL_OK;
}

void volume_free(scene_volume *v)
{
    if (!v)
        return;
    memory_free(v->values);
    *v = (scene_volume){0};
}
