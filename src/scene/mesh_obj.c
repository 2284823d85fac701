/* SPDX-License-Identifier: BSD-3-Clause
 * Wavefront OBJ, as much of it as Mitsuba 3 reads: v, vn, vt and f lines, all others skipped; the whole file
 * is one mesh. Polygons become fans. A vertex of the mesh is a triple (position, texture coordinate, normal)
 * of indices, found again through a hash table, and numbered in the order in which faces first name it.
 * Stricter than Mitsuba where a file is plainly broken: a face of two corners and an index that is not
 * followed by a separator are errors. */
#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_LENGTH = 1024 };
#define OBJ_BYTES_MAX ((size_t)4 << 30)
#define OBJ_COUNT_MAX 0x3FFFFFFFu /* so that three times it still counts in 32 bits */

typedef struct obj_corner {
    uint32_t v, vt, vn; /* from 1; 0: none */
} obj_corner;

typedef struct obj_reader {
    const char *name;
    uint32_t line;
    bool flip_tex_coords;
    ARRAY(float) positions;
    ARRAY(float) normals;
    ARRAY(float) uvs;
    ARRAY(obj_corner) corners; /* vertices of the mesh */
    ARRAY(uint32_t) faces;
    uint32_t *table; /* hash of corners: index + 1, or 0 */
    uint32_t table_size;
    bl_error *err;
} obj_reader;

static bl_result obj_error(const obj_reader *r, const char *what)
{
    return scene_error(r->err, BL_ERROR_FORMAT, (scene_place){r->name, r->line}, "%s", what);
}

/* An error that shows the text from `at` to the end of the line; no zero ends that text. */
static bl_result obj_error_at(const obj_reader *r, const char *what, const char *at, const char *end)
{
    int length = end - at < 60 ? (int)(end - at) : 60;
    return scene_error(r->err, BL_ERROR_FORMAT, (scene_place){r->name, r->line}, "%s: %.*s", what, length,
                       at);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* ---- vertices ---- */

static uint32_t corner_hash(obj_corner c)
{
    uint32_t hash = c.v * 0x9E3779B1u ^ c.vt * 0x85EBCA77u ^ c.vn * 0xC2B2AE3Du;
    return hash ^ hash >> 15;
}

static void table_grow(obj_reader *r)
{
    uint32_t size = r->table_size ? r->table_size * 2 : 256;
    memory_free(r->table);
    r->table = memory_need_zeroed(size, sizeof *r->table);
    r->table_size = size;
    for (uint32_t i = 0; i < r->corners.count; i++) {
        uint32_t at = corner_hash(r->corners.data[i]) & (size - 1);
        while (r->table[at])
            at = (at + 1) & (size - 1);
        r->table[at] = i + 1;
    }
}

/* The mesh's vertex for a corner. */
static uint32_t find_vertex(obj_reader *r, obj_corner c)
{
    if ((uint64_t)r->corners.count * 2 >= r->table_size)
        table_grow(r);
    uint32_t at = corner_hash(c) & (r->table_size - 1);
    for (; r->table[at]; at = (at + 1) & (r->table_size - 1)) {
        obj_corner known = r->corners.data[r->table[at] - 1];
        if (known.v == c.v && known.vt == c.vt && known.vn == c.vn)
            return r->table[at] - 1;
    }
    array_push(&r->corners, c);
    r->table[at] = r->corners.count;
    return r->corners.count - 1;
}

/* ---- lines ---- */

static bl_result read_floats(obj_reader *r, const char *at, const char *end, int count, float *out)
{
    for (int i = 0; i < count; i++) {
        double value = 0;
        while (at < end && is_blank(*at))
            at++;
        at = number_scan(at, end, &value);
        if (!at || (at < end && !is_blank(*at)) || !isfinite((float)value))
            return obj_error(r, count == 2 ? "expected two finite numbers" : "expected three finite numbers");
        out[i] = (float)value;
    }
    return BL_OK;
}

static bl_result read_position(obj_reader *r, const char *at, const char *end)
{
    float p[3];
    TRY(read_floats(r, at, end, 3, p));
    if (r->positions.count / 3 >= OBJ_COUNT_MAX)
        return obj_error(r, "too many vertices");
    for (int i = 0; i < 3; i++)
        array_push(&r->positions, p[i]);
    return BL_OK;
}

static bl_result read_normal(obj_reader *r, const char *at, const char *end)
{
    float n[3];
    TRY(read_floats(r, at, end, 3, n));
    double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
    if (!(length > 0))
        return obj_error(r, "a normal must not be zero");
    if (r->normals.count / 3 >= OBJ_COUNT_MAX)
        return obj_error(r, "too many normals");
    for (int i = 0; i < 3; i++)
        array_push(&r->normals, (float)(n[i] / length));
    return BL_OK;
}

static bl_result read_uv(obj_reader *r, const char *at, const char *end)
{
    float uv[2];
    TRY(read_floats(r, at, end, 2, uv));
    if (r->uvs.count / 2 >= OBJ_COUNT_MAX)
        return obj_error(r, "too many texture coordinates");
    array_push(&r->uvs, uv[0]);
    array_push(&r->uvs, r->flip_tex_coords ? 1 - uv[1] : uv[1]);
    return BL_OK;
}

/* One of the up to three indices of a corner: digits, not zero. */
static const char *read_index(const char *at, const char *end, uint32_t *out)
{
    uint64_t value = 0;
    const char *first = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        value = value > UINT32_MAX ? value : value * 10 + (uint64_t)(*at - '0');
    *out = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    return at > first && value > 0 ? at : NULL;
}

/* "v", "v/vt", "v//vn" or "v/vt/vn"; NULL where it is none of them. */
static const char *read_corner(const char *at, const char *end, obj_corner *c)
{
    *c = (obj_corner){0};
    at = read_index(at, end, &c->v);
    if (at && at < end && *at == '/') {
        at++;
        if (at < end && *at != '/')
            at = read_index(at, end, &c->vt);
        if (at && at < end && *at == '/')
            at = read_index(at + 1, end, &c->vn);
    }
    return at && (at == end || is_blank(*at)) ? at : NULL;
}

static bl_result check_corner(const obj_reader *r, obj_corner c)
{
    if (c.v > r->positions.count / 3)
        return obj_error(r, "a face names a vertex that does not exist (yet)");
    if (c.vt > r->uvs.count / 2)
        return obj_error(r, "a face names a texture coordinate that does not exist (yet)");
    if (c.vn > r->normals.count / 3)
        return obj_error(r, "a face names a normal that does not exist (yet)");
    return BL_OK;
}

static bl_result read_face(obj_reader *r, const char *at, const char *end)
{
    uint32_t first = 0, previous = 0, count = 0;
    for (;; count++) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end)
            break;
        obj_corner c;
        const char *corner = at;
        at = read_corner(at, end, &c);
        if (!at)
            return obj_error_at(
                r, *corner == '-' ? "negative indices are not supported" : "malformed corner of a face",
                corner, end);
        TRY(check_corner(r, c));
        uint32_t vertex = find_vertex(r, c);
        if (count >= 2) {
            if (r->faces.count / 3 >= OBJ_COUNT_MAX)
                return obj_error(r, "too many faces");
            array_push(&r->faces, first);
            array_push(&r->faces, previous);
            array_push(&r->faces, vertex);
        }
        first = count == 0 ? vertex : first;
        previous = vertex;
    }
    return count < 3 ? obj_error(r, "a face needs at least three corners") : BL_OK;
}

static bl_result read_line(obj_reader *r, const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    size_t length = (size_t)(end - at);
    if (length >= 2 && at[0] == 'v' && is_blank(at[1]))
        return read_position(r, at + 2, end);
    if (length >= 3 && at[0] == 'v' && at[1] == 'n' && is_blank(at[2]))
        return read_normal(r, at + 3, end);
    if (length >= 3 && at[0] == 'v' && at[1] == 't' && is_blank(at[2]))
        return read_uv(r, at + 3, end);
    if (length >= 2 && at[0] == 'f' && is_blank(at[1]))
        return read_face(r, at + 2, end);
    return BL_OK;
}

/* ---- the mesh ---- */

static bl_result build(const obj_reader *r, scene_mesh *out)
{
    uint32_t count = r->corners.count, with_normal = 0, with_uv = 0;
    for (uint32_t i = 0; i < count; i++) {
        with_normal += r->corners.data[i].vn != 0;
        with_uv += r->corners.data[i].vt != 0;
    }
    scene_mesh m = {.vertex_count = count, .face_count = r->faces.count / 3};
    TRY(budget_take(BUDGET_TRIANGLES, m.face_count, r->err));
    m.positions = memory_zeroed(count, 3 * sizeof(float));
    m.faces = memory_alloc(r->faces.count * sizeof *m.faces);
    m.normals = with_normal ? memory_zeroed(count, 3 * sizeof(float)) : NULL;
    m.uvs = with_uv ? memory_zeroed(count, 2 * sizeof(float)) : NULL;
    if (!m.positions || !m.faces || (with_normal && !m.normals) || (with_uv && !m.uvs)) {
        mesh_free(&m);
        return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    }
    memcpy(m.faces, r->faces.data, r->faces.count * sizeof *m.faces);
    for (uint32_t i = 0; i < count; i++) {
        obj_corner c = r->corners.data[i];
        memcpy(&m.positions[3 * (size_t)i], &r->positions.data[3 * (size_t)(c.v - 1)], 3 * sizeof(float));
        if (c.vn)
            memcpy(&m.normals[3 * (size_t)i], &r->normals.data[3 * (size_t)(c.vn - 1)], 3 * sizeof(float));
        if (c.vt)
            memcpy(&m.uvs[2 * (size_t)i], &r->uvs.data[2 * (size_t)(c.vt - 1)], 2 * sizeof(float));
    }
    mesh_fill_normals(&m); /* of corners without one, in a file where others have one */
    *out = m;
    return BL_OK;
}

static bl_result read_lines(obj_reader *r, const char *at, size_t size)
{
    const char *end = at + size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        r->line++;
        if (stop - at >= LINE_MAX_LENGTH)
            return obj_error(r, "a line is longer than 1023 characters");
        if (memchr(at, 0, (size_t)(stop - at)))
            return obj_error(r, "not a text file");
        TRY(read_line(r, at, stop));
        at = newline ? newline + 1 : end;
    }
    return r->faces.count ? BL_OK : obj_error(r, "the mesh has no faces");
}

static bl_result parse(const char *name, const char *data, size_t size, bool flip_tex_coords, scene_mesh *out,
                       bl_error *err)
{
    obj_reader r = {.name = name, .flip_tex_coords = flip_tex_coords, .err = err};
    *out = (scene_mesh){0};
    bl_result result = read_lines(&r, data, size);
    if (result == BL_OK)
        result = build(&r, out);
    array_free(&r.positions);
    array_free(&r.normals);
    array_free(&r.uvs);
    array_free(&r.corners);
    array_free(&r.faces);
    memory_free(r.table);
    return result;
}

bl_result mesh_parse_obj(const char *data, size_t size, bool flip_tex_coords, scene_mesh *out, bl_error *err)
{
    return parse("<obj>", data, size, flip_tex_coords, out, err);
}

bl_result mesh_load_obj(const char *path, bool flip_tex_coords, scene_mesh *out, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *out = (scene_mesh){0};
    TRY(file_read(path, OBJ_BYTES_MAX, &data, &size, err));
    bl_result result = parse(path, data, size, flip_tex_coords, out, err);
    memory_free(data);
    return result;
}
