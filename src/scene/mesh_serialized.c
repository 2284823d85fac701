/* SPDX-License-Identifier: BSD-3-Clause
 * Mitsuba's serialized meshes, versions 3 and 4: several meshes in one file, little endian.
 *
 * File: meshes one after the other, then the offset of each (32 bits in version 3, 64 in version 4), then
 * their number (32 bits). Mesh: 16 bits 0x041C, 16 bits version, then a zlib stream of: 32 bits of flags; in
 * version 4 a name that ends in a zero byte; 64 bits each for the numbers of vertices and faces; positions;
 * normals, texture coordinates (u, v) and colours, each where its flag is set, all floats or all doubles;
 * three 32-bit indices a face.
 *
 * Zlib cannot make more than 1032 bytes out of one, so the counts are checked against the bytes that are
 * there before allocating. */
#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SERIALIZED_BYTES_MAX ((size_t)4 << 30)
#define SERIALIZED_COUNT_MAX 0x3FFFFFFFu /* so that three times it still counts in 32 bits */
enum { MAGIC = 0x041C, HEADER_SIZE = 4, NAME_MAX_LENGTH = 1 << 16, INFLATE_MOST = 1032, CHUNK = 1024 };
enum { FLAG_NORMALS = 0x1, FLAG_UVS = 0x2, FLAG_COLORS = 0x8, FLAG_DOUBLE = 0x2000 };

typedef struct serialized_reader {
    const char *name;
    z_stream stream;
    uint32_t flags;
    bl_error *err;
} serialized_reader;

static bl_result fail(const serialized_reader *r, const char *what)
{
    return error_set(r->err, BL_ERROR_FORMAT, "%s: %s", r->name, what);
}

static uint64_t word_at(const uint8_t *bytes, uint32_t size)
{
    uint64_t word = 0;
    for (uint32_t i = 0; i < size; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

/* ---- the zlib stream ---- */

/* Exactly `size` bytes, at most 32 bits of them. */
static bl_result read_bytes(serialized_reader *r, void *out, uint32_t size)
{
    r->stream.next_out = out;
    r->stream.avail_out = size;
    while (r->stream.avail_out > 0) {
        int status = inflate(&r->stream, Z_NO_FLUSH);
        if (r->stream.avail_out > 0 && status != Z_OK)
            return fail(r, status == Z_BUF_ERROR    ? "the file is truncated"
                           : status == Z_STREAM_END ? "a mesh is truncated"
                           : status == Z_MEM_ERROR  ? "out of memory"
                                                    : "the compressed data is damaged");
    }
    return BL_OK;
}

static bl_result read_word(serialized_reader *r, uint32_t size, uint64_t *out)
{
    uint8_t bytes[8];
    TRY(read_bytes(r, bytes, size));
    *out = word_at(bytes, size);
    return BL_OK;
}

/* What is left must be consistent: reaching the end checks the checksum. */
static bl_result check_end(serialized_reader *r)
{
    uint8_t more;
    r->stream.next_out = &more;
    r->stream.avail_out = 1;
    int status = inflate(&r->stream, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR || (status == Z_OK && r->stream.avail_out > 0))
        return fail(r, "the file is truncated");
    return status == Z_OK || status == Z_STREAM_END ? BL_OK : fail(r, "the compressed data is damaged");
}

static bl_result read_floats(serialized_reader *r, float *out, uint64_t count)
{
    uint32_t size = r->flags & FLAG_DOUBLE ? 8 : 4;
    uint8_t bytes[CHUNK * 8];
    for (uint64_t done = 0; done < count;) {
        uint32_t now = count - done < CHUNK ? (uint32_t)(count - done) : CHUNK;
        TRY(read_bytes(r, bytes, now * size));
        for (uint32_t i = 0; out && i < now; i++) {
            uint64_t word = word_at(bytes + i * size, size);
            uint32_t low = (uint32_t)word;
            float single;
            double number;
            memcpy(&single, &low, sizeof single);
            memcpy(&number, &word, sizeof number);
            out[done + i] = size == 8 ? (float)number : single;
            if (!isfinite(out[done + i]))
                return fail(r, "a value of a vertex is not a finite number");
        }
        done += now;
    }
    return BL_OK;
}

static bl_result read_faces(serialized_reader *r, scene_mesh *m)
{
    uint8_t bytes[CHUNK * 4];
    uint64_t count = 3 * (uint64_t)m->face_count;
    for (uint64_t done = 0; done < count;) {
        uint32_t now = count - done < CHUNK ? (uint32_t)(count - done) : CHUNK;
        TRY(read_bytes(r, bytes, now * 4));
        for (uint32_t i = 0; i < now; i++) {
            m->faces[done + i] = (uint32_t)word_at(bytes + 4 * i, 4);
            if (m->faces[done + i] >= m->vertex_count)
                return error_set(r->err, BL_ERROR_FORMAT, "%s: face %ju names the vertex %u of %u", r->name,
                                 (uintmax_t)(done + i) / 3, m->faces[done + i], m->vertex_count);
        }
        done += now;
    }
    return BL_OK;
}

/* ---- one mesh ---- */

static bl_result read_counts(serialized_reader *r, uint32_t version, scene_mesh *m)
{
    uint64_t flags, vertices, faces;
    size_t input = r->stream.avail_in;
    TRY(read_word(r, 4, &flags));
    r->flags = (uint32_t)flags;
    char c = 1;
    for (int length = 0; version == 4 && c; length++) {
        if (length == NAME_MAX_LENGTH)
            return fail(r, "the name of a mesh has no end");
        TRY(read_bytes(r, &c, 1));
    }
    TRY(read_word(r, 8, &vertices));
    TRY(read_word(r, 8, &faces));
    if (faces == 0)
        return fail(r, "the mesh has no faces");
    if (vertices > SERIALIZED_COUNT_MAX || faces > SERIALIZED_COUNT_MAX ||
        (vertices * (flags & FLAG_DOUBLE ? 24 : 12) + faces * 12) / INFLATE_MOST > input)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: %ju vertices and %ju faces cannot be in %zu bytes",
                         r->name, (uintmax_t)vertices, (uintmax_t)faces, input);
    TRY(budget_take(BUDGET_TRIANGLES, faces > vertices / 3 ? faces : vertices / 3, r->err));
    m->vertex_count = (uint32_t)vertices;
    m->face_count = (uint32_t)faces;
    return BL_OK;
}

static bl_result read_mesh(serialized_reader *r, uint32_t version, scene_mesh *m)
{
    TRY(read_counts(r, version, m));
    bool normals = r->flags & FLAG_NORMALS, uvs = r->flags & FLAG_UVS;
    size_t n = m->vertex_count;
    m->positions = memory_alloc(n * 12 + 1);
    m->faces = memory_alloc((size_t)m->face_count * 12);
    m->normals = normals ? memory_alloc(n * 12 + 1) : NULL;
    m->uvs = uvs ? memory_alloc(n * 8 + 1) : NULL;
    if (!m->positions || !m->faces || (normals && !m->normals) || (uvs && !m->uvs))
        return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    TRY(read_floats(r, m->positions, 3 * n));
    if (normals)
        TRY(read_floats(r, m->normals, 3 * n));
    if (uvs)
        TRY(read_floats(r, m->uvs, 2 * n));
    if (r->flags & FLAG_COLORS)
        TRY(read_floats(r, NULL, 3 * n));
    TRY(read_faces(r, m));
    TRY(check_end(r));
    mesh_fill_normals(m);
    return BL_OK;
}

/* ---- the file ---- */

static bl_result check_header(const serialized_reader *r, const uint8_t *data, size_t size, uint32_t *version)
{
    if (size < HEADER_SIZE || word_at(data, 2) != MAGIC)
        return fail(r, "not a serialized mesh");
    *version = (uint32_t)word_at(data + 2, 2);
    if (*version != 3 && *version != 4)
        return error_set(r->err, BL_ERROR_UNSUPPORTED,
                         "%s: version %u of serialized meshes is not supported, 3 and 4 are", r->name,
                         *version);
    return BL_OK;
}

/* Where the mesh begins, by the table at the end; and where the meshes end. */
/* A file, or what follows the header of one mesh in it up to the table of meshes. */
typedef struct mesh_bytes {
    const uint8_t *data;
    size_t size; /* of a mesh: with all later ones, which are not looked at */
} mesh_bytes;

static bl_result find_mesh(const serialized_reader *r, mesh_bytes file, uint32_t version, uint32_t index,
                           mesh_bytes *out)
{
    const uint8_t *data = file.data;
    const size_t size = file.size;
    uint32_t entry = version == 4 ? 8 : 4;
    uint64_t count = size < HEADER_SIZE + 4 ? 0 : word_at(data + size - 4, 4);
    if (count == 0 || count > (size - HEADER_SIZE - 4) / entry)
        return fail(r, "the file is truncated: its table of meshes is damaged");
    if (index >= count)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: there is no mesh %u, the file has %ju", r->name, index,
                         (uintmax_t)count);
    size_t end = size - 4 - (size_t)count * entry;
    uint64_t offset = word_at(data + end + (size_t)index * entry, entry);
    if (offset > end || end - offset < HEADER_SIZE || word_at(data + offset, 2) != MAGIC)
        return fail(r, "the file's table of meshes is damaged");
    *out = (mesh_bytes){data + offset + HEADER_SIZE, end - (size_t)offset - HEADER_SIZE};
    return BL_OK;
}

static bl_result parse(const char *name, const uint8_t *data, size_t size, uint32_t index, scene_mesh *out,
                       bl_error *err)
{
    serialized_reader r = {.name = name, .err = err};
    uint32_t version = 0;
    mesh_bytes input = {0};
    *out = (scene_mesh){0};
    TRY(check_header(&r, data, size, &version));
    TRY(find_mesh(&r, (mesh_bytes){data, size}, version, index, &input));
    r.stream.next_in = (Bytef *)(uintptr_t)input.data;
    r.stream.avail_in = input.size < UINT32_MAX ? (uInt)input.size : UINT32_MAX;
    if (inflateInit(&r.stream) != Z_OK)
        return error_set(err, BL_ERROR_MEMORY, "%s: out of memory", name);
    bl_result result = read_mesh(&r, version, out);
    inflateEnd(&r.stream);
    if (result != BL_OK)
        mesh_free(out);
    return result;
}

bl_result mesh_parse_serialized(const void *data, size_t size, uint32_t index, scene_mesh *out, bl_error *err)
{
    return parse("<serialized>", data, size, index, out, err);
}

bl_result mesh_load_serialized(const char *path, uint32_t index, scene_mesh *out, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *out = (scene_mesh){0};
    TRY(file_read(path, SERIALIZED_BYTES_MAX, &data, &size, err));
    bl_result result = parse(path, data, size, index, out, err);
    memory_free(data);
    return result;
}
