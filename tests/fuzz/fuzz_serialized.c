/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzz target: serialized meshes, as files, and once more with changes inside of the zlib stream: mutations
 * of compressed data seldom get past zlib. */
#include "fuzz/fuzz_main.h"
#include "fuzz/fuzz_mesh.h"

#include <zlib.h>

/* A file of one mesh around `inside`. */
static uint8_t *wrap(const uint8_t *inside, size_t size, uint32_t version, size_t *out_size)
{
    uLongf packed = compressBound(size);
    uint32_t table = version == 4 ? 8 : 4;
    uint8_t *file = calloc(1, 4 + packed + table + 4);
    BL_ASSERT(file && compress2(file + 4, &packed, inside, size, 1) == Z_OK, "%zu bytes", size);
    file[0] = 0x1C, file[1] = 0x04, file[2] = (uint8_t)version;
    memset(file + 4 + packed, 0, table + 4);
    file[4 + packed + table] = 1;
    *out_size = 4 + packed + table + 4;
    return file;
}

static void parse(const uint8_t *data, size_t size, uint32_t index)
{
    scene_mesh mesh;
    bl_error err = {0};
    bl_result result = mesh_parse_serialized(data, size, index, &mesh, &err);
    fuzz_check_mesh(&mesh, result, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t inside[4096];
    size_t file_size = 0;
    for (uint32_t index = 0; index < 3; index++)
        parse(data, size, index);
    if (size < 5)
        return 0;
    /* what stands in the stream of the first mesh (as much as is not damaged), with the input's last bytes
     * written over it */
    z_stream z = {
        .next_in = (Bytef *)(uintptr_t)(data + 4),
        .avail_in = (uInt)(size - 4),
        .next_out = inside,
        .avail_out = sizeof inside,
    };
    BL_ASSERT(inflateInit(&z) == Z_OK, "zlib");
    inflate(&z, Z_SYNC_FLUSH);
    size_t length = sizeof inside - z.avail_out;
    inflateEnd(&z);
    for (size_t k = 0; k < 4 && length > 0; k++)
        inside[(data[size - 1 - k] * 37u + size) % length] ^= data[size - 1 - k];
    uint8_t *file = wrap(inside, length, data[2] == 3 ? 3 : 4, &file_size);
    parse(file, file_size, 0);
    free(file);
    return 0;
}

FUZZ_MAIN("", ".serialized")
