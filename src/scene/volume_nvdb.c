/* SPDX-License-Identifier: BSD-3-Clause
 * NanoVDB files, version 32: sparse grids, read by PNanoVDB.h and made dense (volume_sparse.h). A file is one
 * or more segments; here the first is read:
 *
 *     u64 "NanoVDB0" (1, 2), u32 version, u16 number of grids, u16 codec (0: none, 1: ZIP),
 *     for each grid 176 bytes about it (size at 0, type at 32, length of its name at 136) and its name,
 *     for each grid its bytes; ZIP: a u64 of their compressed size, then those.
 *
 * What is kept of the first grid of 32-bit floats is the box around its active voxels, with the grid's
 * background where there are none. Nothing in a file is trusted: PNanoVDB reads words of the grid or zeros
 * (PNANOVDB_BUF_BOUNDS_CHECK), loops and allocations are bounded before they begin. */
#include "scene/volume_sparse.h"

#ifdef BL_NANOVDB

#define PNANOVDB_C
#define PNANOVDB_BUF_BOUNDS_CHECK
#include <nanovdb/PNanoVDB.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    HEADER_BYTES = 16,
    META_BYTES = 176,
    META_TYPE = 32,
    META_NAME = 136,
    VERSION_MAJOR = 32,
    CODEC_NONE = 0,
    CODEC_ZIP = 1,
    TILES_MOST = 1 << 12,
    ROOT_BYTES = 64,
    ROOT_TILE_BYTES = 32,
    RATIO_MOST = 1100 /* of ZIP */
};
#define GRID_BYTES_MOST ((uint64_t)4 << 30)

/* ---- the file ---- */

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static uint64_t number(const uint8_t *bytes, int size)
{
    uint64_t value = 0;
    for (int k = size - 1; k >= 0; k--)
        value = value << 8 | bytes[k];
    return value;
}

static bl_result take(input *in, uint64_t count, const uint8_t **bytes, bl_error *err)
{
    if (count > in->left)
        return error_set(err, BL_ERROR_FORMAT,
                         "the NanoVDB file is truncated: %ju bytes are wanted where %zu are left",
                         (uintmax_t)count, in->left);
    *bytes = in->at;
    in->at += count, in->left -= (size_t)count;
    return BL_OK;
}

static bool magic_known(const uint8_t *bytes)
{
    return memcmp(bytes, "NanoVDB", 7) == 0 && bytes[7] >= '0' && bytes[7] <= '2';
}

static bl_result read_header(input *in, uint32_t *grids, uint32_t *codec, bl_error *err)
{
    const uint8_t *head = NULL;
    TRY(take(in, HEADER_BYTES, &head, err));
    if (!magic_known(head))
        return error_set(err, BL_ERROR_FORMAT, "not a NanoVDB file: it does not begin with \"NanoVDB\"");
    uint32_t major = pnanovdb_version_get_major((uint32_t)number(head + 8, 4));
    if (major != VERSION_MAJOR)
        return error_set(err, BL_ERROR_UNSUPPORTED, "version %u of NanoVDB is not supported, %d is", major,
                         VERSION_MAJOR);
    *grids = (uint32_t)number(head + 12, 2), *codec = (uint32_t)number(head + 14, 2);
    if (*codec != CODEC_NONE && *codec != CODEC_ZIP)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "codec %u of NanoVDB is not supported: write the file uncompressed or as ZIP",
                         *codec);
    return BL_OK;
}

/* Passes over what is said of all grids: where the first of floats stands among them, and the bytes that
 * those before it take uncompressed. */
static bl_result find_grid(input *in, uint32_t grids, uint32_t *index, uint64_t *bytes, uint64_t *before,
                           bl_error *err)
{
    uint32_t type = 0;
    uint64_t sum = 0;
    *index = grids;
    for (uint32_t k = 0; k < grids; k++) {
        const uint8_t *meta = NULL, *name = NULL;
        TRY(take(in, META_BYTES, &meta, err));
        TRY(take(in, number(meta + META_NAME, 4), &name, err));
        type = (uint32_t)number(meta + META_TYPE, 4);
        uint64_t size = number(meta, 8);
        if (size > GRID_BYTES_MOST)
            return error_set(err, BL_ERROR_FORMAT,
                             "a grid of %ju bytes in a NanoVDB file is larger than the limit of 4 GiB",
                             (uintmax_t)size);
        if (*index == grids && type == PNANOVDB_GRID_TYPE_FLOAT)
            *index = k, *bytes = size, *before = sum;
        sum += size;
    }
    if (*index == grids)
        return error_set(
            err, BL_ERROR_UNSUPPORTED,
            "the NanoVDB file has no grid of 32-bit floats (type %d) among its %u, the last of type %u",
            PNANOVDB_GRID_TYPE_FLOAT, grids, type);
    return BL_OK;
}

static bl_result inflate_grid(const uint8_t *packed, uint64_t packed_bytes, void *to, uint64_t bytes,
                              bl_error *err)
{
    uLongf made = (uLongf)bytes;
    if (uncompress(to, &made, packed, (uLong)packed_bytes) != Z_OK || made != bytes)
        return error_set(err, BL_ERROR_FORMAT, "a compressed grid of the NanoVDB file is damaged");
    return BL_OK;
}

/* The grid's bytes, aligned and followed by zeros up to a whole number of 64-bit words. */
static bl_result read_grid(input *in, uint32_t codec, uint32_t index, uint64_t bytes, uint64_t before,
                           void **out, bl_error *err)
{
    const uint8_t *stored = NULL, *size = NULL;
    uint64_t packed = bytes;
    if (codec == CODEC_NONE)
        TRY(take(in, before, &stored, err));
    for (uint32_t k = 0; codec == CODEC_ZIP && k <= index; k++) {
        TRY(take(in, 8, &size, err));
        packed = number(size, 8);
        if (k < index)
            TRY(take(in, packed, &stored, err));
    }
    TRY(take(in, packed, &stored, err));
    if (bytes < PNANOVDB_GRID_SIZE + PNANOVDB_TREE_SIZE + ROOT_BYTES ||
        (codec == CODEC_ZIP && bytes / RATIO_MOST > packed + 1))
        return error_set(err, BL_ERROR_FORMAT, "a grid of the NanoVDB file cannot have %ju bytes",
                         (uintmax_t)bytes);
    *out = memory_zeroed((size_t)(bytes + 7) / 8, 8);
    if (!*out)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for a grid of %ju bytes", (uintmax_t)bytes);
    if (codec == CODEC_ZIP)
        return inflate_grid(stored, packed, *out, bytes, err);
    memcpy(*out, stored, (size_t)bytes);
    return BL_OK;
}

/* ---- the grid ---- */

typedef struct nano_grid {
    pnanovdb_buf_t words;
    pnanovdb_grid_handle_t grid;
    pnanovdb_root_handle_t root;
    pnanovdb_readaccessor_t accessor;
} nano_grid;

static bl_result check_tree(nano_grid *g, uint64_t bytes, bl_error *err)
{
    if (!magic_known((const uint8_t *)g->words.data) ||
        pnanovdb_grid_get_grid_type(g->words, g->grid) != PNANOVDB_GRID_TYPE_FLOAT ||
        pnanovdb_version_get_major(pnanovdb_grid_get_version(g->words, g->grid)) != VERSION_MAJOR)
        return error_set(err, BL_ERROR_FORMAT, "the grid in the NanoVDB file is not what its head says");
    g->root = pnanovdb_tree_get_root(g->words, pnanovdb_grid_get_tree(g->words, g->grid));
    uint64_t at = g->root.address.byte_offset;
    if (at < PNANOVDB_GRID_SIZE + PNANOVDB_TREE_SIZE || at > bytes - ROOT_BYTES)
        return error_set(err, BL_ERROR_FORMAT, "the root of the NanoVDB grid lies outside of it");
    uint64_t tiles = pnanovdb_root_get_tile_count(g->words, g->root);
    if (tiles > TILES_MOST || tiles * ROOT_TILE_BYTES > bytes - ROOT_BYTES - at)
        return error_set(err, BL_ERROR_FORMAT, "the root of the NanoVDB grid has %ju tiles, more than fit",
                         (uintmax_t)tiles);
    return BL_OK;
}

static float read_voxel(void *user, const int32_t index[3])
{
    nano_grid *g = user;
    pnanovdb_coord_t at = {index[0], index[1], index[2]};
    return pnanovdb_read_float(g->words, pnanovdb_readaccessor_get_value_address(
                                             PNANOVDB_GRID_TYPE_FLOAT, g->words, &g->accessor, &at));
}

static bl_result read_tree(nano_grid *g, scene_volume *out, bl_error *err)
{
    pnanovdb_coord_t low = pnanovdb_root_get_bbox_min(g->words, g->root),
                     high = pnanovdb_root_get_bbox_max(g->words, g->root);
    pnanovdb_map_handle_t map = pnanovdb_grid_get_map(g->words, g->grid);
    sparse_grid s = {
        .format = "NanoVDB",
        .first = {low.x, low.y, low.z},
        .last = {high.x, high.y, high.z},
        .voxel = read_voxel,
        .user = g,
    };
    for (uint32_t k = 0; k < 9; k++)
        s.map[k] = pnanovdb_map_get_matd(g->words, map, k);
    for (uint32_t k = 0; k < 3; k++)
        s.origin[k] = pnanovdb_map_get_vecd(g->words, map, k);
    pnanovdb_readaccessor_init(&g->accessor, g->root);
    return volume_make_dense(&s, out, err);
}

bl_result volume_parse_nvdb(const void *data, size_t size, scene_volume *out, bl_error *err)
{
    *out = (scene_volume){0};
    input in = {data, size};
    uint32_t grids = 0, codec = 0, index = 0;
    uint64_t bytes = 0, before = 0;
    void *words = NULL;
    TRY(read_header(&in, &grids, &codec, err));
    TRY(find_grid(&in, grids, &index, &bytes, &before, err));
    bl_result r = read_grid(&in, codec, index, bytes, before, &words, err);
    nano_grid g = {.words = pnanovdb_make_buf(words, (bytes + 7) / 8 * 2)};
    if (r == BL_OK)
        r = check_tree(&g, bytes, err);
    if (r == BL_OK)
        r = read_tree(&g, out, err);
    memory_free(words);
    return r;
}

#else

bl_result volume_parse_nvdb(const void *data, size_t size, scene_volume *out, bl_error *err)
{
    (void)data, (void)size;
    *out = (scene_volume){0};
    return error_set(
        err, BL_ERROR_UNSUPPORTED,
        "this build reads no NanoVDB files: it was made without PNanoVDB.h (docs/dependencies.md)");
}

#endif
