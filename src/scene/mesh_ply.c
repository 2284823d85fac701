/* SPDX-License-Identifier: BSD-3-Clause
 * Stanford PLY: ascii and both binaries; positions, normals and texture coordinates (u v, texture_u texture_v or s t) of `vertex`,
 * vertex_index or vertex_indices of `face`; other numbers of vertices and faces become attributes (mesh_attributes.c). As in Mitsuba 3 faces
 * must be triangles, and nothing may follow the last element. What is left is skipped, lists too.
 *
 * Or rows of numbers: named columns of the vertices alone (ply_parse_columns).
 *
 * The header becomes a list of elements and their properties; one loop then reads the body item by item, with `role` saying where
 * in its element's row a value goes. Every value passes through a double, which holds all of PLY's types exactly. */
#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLY_BYTES_MAX ((size_t)4 << 30)
#define PLY_COUNT_MAX 0x3FFFFFFFu /* so that three times it still counts in 32 bits */
enum { ELEMENTS_MAX = 64, PROPERTIES_MAX = 1024, WORDS_MAX = 6 };

typedef enum ply_encoding { PLY_ASCII, PLY_LITTLE, PLY_BIG } ply_encoding;
typedef enum ply_kind { PLY_OTHER, PLY_VERTEX, PLY_FACE } ply_kind;
typedef enum ply_type { PLY_I8, PLY_U8, PLY_I16, PLY_U16, PLY_I32, PLY_U32, PLY_F32, PLY_F64, PLY_TYPE_COUNT } ply_type;
static const uint8_t type_size[PLY_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 8};

/* Columns of a row; three for each attribute of the mesh; the corners of a face. */
enum ply_role { ROLE_X, ROLE_NX = 3, ROLE_U = 6, ROLE_ATTRIBUTES = 8, ROLE_COUNT = ROLE_ATTRIBUTES + 3 * ATTRIBUTES_MOST, ROLE_CORNERS = ROLE_COUNT, ROLE_NONE };

typedef property_name ply_word;

typedef struct ply_property {
    ply_word name;
    ply_type type, count_type;
    bool list;
    uint32_t role;
} ply_property;

typedef struct ply_element {
    ply_word name;
    ply_kind kind;
    uint32_t count, first, property_count;
} ply_element;

typedef struct ply_reader {
    const char *name;
    const uint8_t *at, *end;
    uint32_t line; /* of the header */
    bool flip_tex_coords;
    ply_encoding encoding;
    ply_element elements[ELEMENTS_MAX];
    ply_property properties[PROPERTIES_MAX];
    uint32_t element_count, property_count;
    scene_mesh mesh;
    bl_error *err;
} ply_reader;

/* ---- header ---- */

static bl_result header_error(const ply_reader *r, const char *what)
{
    return scene_error(r->err, BL_ERROR_FORMAT, (scene_place){r->name, r->line}, "%s", what);
}

static bool word_is(ply_word w, const char *expected)
{
    return w.length == strlen(expected) && memcmp(w.chars, expected, w.length) == 0;
}

static bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* The words of the next line (the first WORDS_MAX of them); false where there is no whole line. */
static bool next_line(ply_reader *r, ply_word words[WORDS_MAX], uint32_t *count)
{
    const uint8_t *at = r->at, *stop = memchr(at, '\n', (size_t)(r->end - at));
    *count = 0;
    r->line++;
    if (!stop)
        return false;
    while (at < stop) {
        while (at < stop && is_space(*at))
            at++;
        const uint8_t *first = at;
        while (at < stop && !is_space(*at))
            at++;
        if (at > first && *count < WORDS_MAX)
            words[(*count)++] = (ply_word){(const char *)first, (size_t)(at - first)};
    }
    r->at = stop + 1;
    return true;
}

static bool parse_type(ply_word w, ply_type *out)
{
    static const char *const names[2][PLY_TYPE_COUNT] = {
        {"char", "uchar", "short", "ushort", "int", "uint", "float", "double"},
        {"int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"}};
    for (int k = 0; k < 2 * PLY_TYPE_COUNT; k++)
        if (word_is(w, names[k / PLY_TYPE_COUNT][k % PLY_TYPE_COUNT])) {
            *out = (ply_type)(k % PLY_TYPE_COUNT);
            return true;
        }
    return false;
}

static bl_result parse_format(ply_reader *r, const ply_word *words, uint32_t count)
{
    static const char *const names[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    if (count != 3 || !word_is(words[2], "1.0"))
        return header_error(r, "expected \"format\", an encoding and the version 1.0");
    for (int k = 0; k < 3; k++)
        if (word_is(words[1], names[k])) {
            r->encoding = (ply_encoding)k;
            return BL_OK;
        }
    return header_error(r, "the format is neither ascii, binary_little_endian nor binary_big_endian");
}

static bl_result parse_element(ply_reader *r, const ply_word *words, uint32_t count)
{
    uint64_t items = 0;
    bool digits = count == 3;
    for (size_t i = 0; digits && i < words[2].length; i++) {
        digits = words[2].chars[i] >= '0' && words[2].chars[i] <= '9';
        items = items > PLY_COUNT_MAX ? items : items * 10 + (uint64_t)(words[2].chars[i] - '0');
    }
    if (!digits)
        return header_error(r, "expected \"element\", a name and a count");
    if (items > PLY_COUNT_MAX || r->element_count == ELEMENTS_MAX)
        return header_error(r, "too many elements");
    ply_kind kind = word_is(words[1], "vertex") ? PLY_VERTEX : word_is(words[1], "face") ? PLY_FACE : PLY_OTHER;
    for (uint32_t i = 0; kind != PLY_OTHER && i < r->element_count; i++)
        if (r->elements[i].kind == kind)
            return header_error(r, "the element is there twice");
    r->elements[r->element_count++] =
        (ply_element){.name = words[1], .kind = kind, .count = (uint32_t)items, .first = r->property_count};
    return BL_OK;
}

static bl_result parse_property(ply_reader *r, const ply_word *words, uint32_t count)
{
    bool list = count > 1 && word_is(words[1], "list");
    ply_property p = {.list = list, .role = ROLE_NONE};
    if (count != (list ? 5u : 3u))
        return header_error(r, "expected \"property\", a type and a name");
    p.name = words[count - 1];
    if (!parse_type(words[count - 2], &p.type) || (list && !parse_type(words[2], &p.count_type)))
        return header_error(r, "unknown type of a property");
    if (list && p.count_type >= PLY_F32)
        return header_error(r, "the length of a list must be an integer");
    if (r->element_count == 0)
        return header_error(r, "a property before the first element");
    if (r->property_count == PROPERTIES_MAX)
        return header_error(r, "too many properties");
    r->properties[r->property_count++] = p;
    r->elements[r->element_count - 1].property_count++;
    return BL_OK;
}

static bl_result parse_header(ply_reader *r)
{
    ply_word words[WORDS_MAX];
    uint32_t count;
    bool format = false;
    if (!next_line(r, words, &count) || count != 1 || !word_is(words[0], "ply"))
        return header_error(r, "not a PLY file");
    while (next_line(r, words, &count)) {
        if (count == 0 || word_is(words[0], "comment") || word_is(words[0], "obj_info"))
            continue;
        if (word_is(words[0], "end_header"))
            return format ? BL_OK : header_error(r, "the header names no format");
        if (word_is(words[0], "format"))
            TRY(parse_format(r, words, count));
        else if (word_is(words[0], "element"))
            TRY(parse_element(r, words, count));
        else if (word_is(words[0], "property"))
            TRY(parse_property(r, words, count));
        else
            return header_error(r, "unknown keyword in the header");
        format |= word_is(words[0], "format");
    }
    return header_error(r, "the header has no end");
}

/* ---- roles ---- */

static ply_property *find_property(ply_reader *r, const ply_element *e, const char *name, bool list)
{
    for (uint32_t i = e->first; i < e->first + e->property_count; i++)
        if (r->properties[i].list == list && word_is(r->properties[i].name, name))
            return &r->properties[i];
    return NULL;
}

/* All of the names or none. */
static bool assign_roles(ply_reader *r, const ply_element *e, const char *const *names, uint32_t count, uint32_t role)
{
    ply_property *found[3] = {NULL};
    for (uint32_t i = 0; i < count; i++) {
        found[i] = find_property(r, e, names[i], false);
        if (!found[i])
            return false;
    }
    for (uint32_t i = 0; i < count; i++)
        found[i]->role = role + i;
    return true;
}

/* What has no role yet may belong to an attribute. */
static bl_result assign_attributes(ply_reader *r, const ply_element *e)
{
    property_name names[PROPERTIES_MAX] = {{0}};
    bool taken[PROPERTIES_MAX] = {false};
    uint32_t slots[PROPERTIES_MAX], n = e->property_count, first = r->mesh.attribute_count;
    ply_property *p = &r->properties[e->first];
    for (uint32_t i = 0; i < n; i++)
        names[i] = p[i].name, taken[i] = p[i].list || p[i].role != ROLE_NONE;
    attributes_group(&r->mesh, e->kind == PLY_FACE, names, taken, n, slots);
    for (uint32_t i = 0; i < n; i++)
        p[i].role = slots[i] == ATTRIBUTE_NONE ? p[i].role : ROLE_ATTRIBUTES + slots[i];
    for (uint32_t i = first; i < r->mesh.attribute_count; i++) {
        scene_attribute *a = &r->mesh.attributes[i];
        a->values = malloc((size_t)e->count * a->channels * sizeof *a->values + 1);
        if (!a->values)
            return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    }
    return BL_OK;
}

static bl_result assign_vertex(ply_reader *r, const ply_element *e)
{
    static const char *const position[] = {"x", "y", "z"}, *const normal[] = {"nx", "ny", "nz"};
    static const char *const uv[3][2] = {{"u", "v"}, {"texture_u", "texture_v"}, {"s", "t"}};
    scene_mesh *m = &r->mesh;
    if (!assign_roles(r, e, position, 3, ROLE_X))
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the vertices have no x, y and z", r->name);
    bool normals = assign_roles(r, e, normal, 3, ROLE_NX), uvs = false;
    for (int k = 0; k < 3 && !uvs; k++)
        uvs = assign_roles(r, e, uv[k], 2, ROLE_U);
    m->vertex_count = e->count;
    m->positions = malloc((size_t)e->count * 12 + 1);
    m->normals = normals ? malloc((size_t)e->count * 12 + 1) : NULL;
    m->uvs = uvs ? malloc((size_t)e->count * 8 + 1) : NULL;
    if (!m->positions || (normals && !m->normals) || (uvs && !m->uvs))
        return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    return assign_attributes(r, e);
}

static bl_result assign_face(ply_reader *r, const ply_element *e)
{
    ply_property *corners = find_property(r, e, "vertex_index", true);
    if (!corners)
        corners = find_property(r, e, "vertex_indices", true);
    if (!corners)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the faces have no vertex_index or vertex_indices", r->name);
    corners->role = ROLE_CORNERS;
    r->mesh.face_count = e->count;
    r->mesh.faces = malloc((size_t)e->count * 12 + 1);
    return r->mesh.faces ? assign_attributes(r, e) : error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
}

/* ---- values ---- */

static double binary_number(const uint8_t *bytes, ply_type type, bool big)
{
    uint64_t word = 0;
    uint32_t size = type_size[type], low;
    float single;
    double number;
    for (uint32_t i = 0; i < size; i++)
        word |= (uint64_t)bytes[big ? size - 1 - i : i] << 8 * i;
    low = (uint32_t)word;
    switch (type) {
    case PLY_I8: return (int8_t)low;
    case PLY_I16: return (int16_t)low;
    case PLY_I32: return (int32_t)low;
    case PLY_F32: memcpy(&single, &low, sizeof single); return (double)single;
    case PLY_F64: memcpy(&number, &word, sizeof number); return number;
    default: return (double)word;
    }
}

/* The next token of an ascii body; false at the end. */
static bool next_token(ply_reader *r, ply_word *out)
{
    while (r->at < r->end && is_space(*r->at))
        r->at++;
    const uint8_t *first = r->at;
    while (r->at < r->end && !is_space(*r->at))
        r->at++;
    *out = (ply_word){(const char *)first, (size_t)(r->at - first)};
    return out->length > 0;
}

/* NULL, or what is wrong. What is malformed and not wanted becomes NaN. */
static const char *read_number(ply_reader *r, ply_type type, double *out)
{
    if (r->encoding == PLY_ASCII) {
        ply_word w;
        if (!next_token(r, &w))
            return "the file is truncated";
        if (number_scan(w.chars, w.chars + w.length, out) != w.chars + w.length)
            *out = NAN;
        return NULL;
    }
    if ((size_t)(r->end - r->at) < type_size[type])
        return "the file is truncated";
    *out = binary_number(r->at, type, r->encoding == PLY_BIG);
    r->at += type_size[type];
    return NULL;
}

static const char *skip_list(ply_reader *r, const ply_property *p)
{
    double length, ignored;
    const char *wrong = read_number(r, p->count_type, &length);
    if (wrong)
        return wrong;
    if (!(length >= 0 && length <= UINT32_MAX && length == floor(length)))
        return "the length of a list is not a count";
    for (double i = 0; i < length && !wrong; i++) /* ends with the file, which is shorter */
        wrong = read_number(r, p->type, &ignored);
    return wrong;
}

static const char *read_corners(ply_reader *r, const ply_property *p, uint32_t corners[3])
{
    double value;
    const char *wrong = read_number(r, p->count_type, &value);
    if (wrong)
        return wrong;
    if (!(value == 3))
        return "only triangles are supported, here is another polygon";
    for (int i = 0; i < 3; i++) {
        wrong = read_number(r, p->type, &value);
        if (wrong)
            return wrong;
        if (!(value >= 0 && value < UINT32_MAX && value == floor(value)))
            return "an index is not a whole number";
        corners[i] = (uint32_t)value;
    }
    return NULL;
}

/* One item: what has a role goes to its place in `row` or `corners`. */
static const char *read_item(ply_reader *r, const ply_element *e, float row[ROLE_COUNT], uint32_t corners[3])
{
    const char *wrong = NULL;
    for (uint32_t i = e->first; i < e->first + e->property_count && !wrong; i++) {
        const ply_property *p = &r->properties[i];
        double value = 0;
        if (p->role == ROLE_CORNERS)
            wrong = read_corners(r, p, corners);
        else if (p->list)
            wrong = skip_list(r, p);
        else
            wrong = read_number(r, p->type, &value);
        if (!wrong && p->role < ROLE_COUNT) {
            row[p->role] = (float)value;
            wrong = isfinite(row[p->role]) ? NULL : "a value is not a finite number";
        }
    }
    return wrong;
}

static void store_item(ply_reader *r, const ply_element *e, size_t index, const float *row, const uint32_t *corners)
{
    scene_mesh *m = &r->mesh;
    for (uint32_t k = 0; k < m->attribute_count && e->kind != PLY_OTHER; k++) {
        const scene_attribute *a = &m->attributes[k];
        if (attribute_of_faces(a->name) == (e->kind == PLY_FACE))
            memcpy(a->values + a->channels * index, row + ROLE_ATTRIBUTES + 3 * k, a->channels * sizeof *row);
    }
    if (e->kind == PLY_FACE)
        memcpy(&m->faces[3 * index], corners, 12);
    if (e->kind != PLY_VERTEX)
        return;
    memcpy(&m->positions[3 * index], row + ROLE_X, 12);
    if (m->normals)
        memcpy(&m->normals[3 * index], row + ROLE_NX, 12);
    if (m->uvs) {
        m->uvs[2 * index] = row[ROLE_U];
        m->uvs[2 * index + 1] = r->flip_tex_coords ? 1 - row[ROLE_U + 1] : row[ROLE_U + 1];
    }
}

/* Bytes below which an item cannot be; 0 for one without properties. */
static uint64_t item_size(const ply_reader *r, const ply_element *e)
{
    uint64_t bytes = 0;
    for (uint32_t i = e->first; i < e->first + e->property_count; i++) {
        const ply_property *p = &r->properties[i];
        bytes += r->encoding == PLY_ASCII ? 2u /* a digit and what separates it */ : type_size[p->list ? p->count_type : p->type];
    }
    return bytes;
}

static bl_result check_size(const ply_reader *r, const ply_element *e)
{
    uint64_t least = e->count * item_size(r, e);
    if (least > (uint64_t)(r->end - r->at) + 1) /* the last item of an ascii file may have nothing behind it */
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the file is truncated: %u of \"%.*s\" cannot be in %zu bytes", r->name,
                         e->count, (int)(e->name.length < 60 ? e->name.length : 60), e->name.chars, (size_t)(r->end - r->at));
    return BL_OK;
}

static bl_result item_error(const ply_reader *r, const ply_element *e, uint32_t item, const char *wrong)
{
    return error_set(r->err, BL_ERROR_FORMAT, "%s: %.*s %u: %s", r->name, (int)(e->name.length < 60 ? e->name.length : 60), e->name.chars, item, wrong);
}

static bl_result read_element(ply_reader *r, const ply_element *e)
{
    TRY(check_size(r, e));
    if (e->kind == PLY_VERTEX)
        TRY(assign_vertex(r, e));
    if (e->kind == PLY_FACE)
        TRY(assign_face(r, e));
    for (uint32_t i = 0; i < e->count && e->property_count; i++) {
        float row[ROLE_COUNT] = {0};
        uint32_t corners[3] = {0};
        const char *wrong = read_item(r, e, row, corners);
        if (wrong)
            return item_error(r, e, i, wrong);
        store_item(r, e, i, row, corners);
    }
    return BL_OK;
}

/* ---- the mesh ---- */

static bl_result read_body(ply_reader *r)
{
    for (uint32_t i = 0; i < r->element_count; i++)
        TRY(read_element(r, &r->elements[i]));
    if (!r->mesh.positions)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the file has no vertices", r->name);
    if (r->mesh.face_count == 0)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the mesh has no faces", r->name);
    for (size_t i = 0; i < 3 * (size_t)r->mesh.face_count; i++)
        if (r->mesh.faces[i] >= r->mesh.vertex_count)
            return error_set(r->err, BL_ERROR_FORMAT, "%s: face %zu names the vertex %u of %u", r->name, i / 3, r->mesh.faces[i],
                             r->mesh.vertex_count);
    while (r->encoding == PLY_ASCII && r->at < r->end && is_space(*r->at))
        r->at++;
    if (r->at < r->end)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: %zu bytes follow the last element", r->name, (size_t)(r->end - r->at));
    mesh_fill_normals(&r->mesh);
    return BL_OK;
}

static bl_result parse(const char *name, const void *data, size_t size, bool flip_tex_coords, scene_mesh *out, bl_error *err)
{
    ply_reader *r = calloc(1, sizeof *r);
    *out = (scene_mesh){0};
    if (!r)
        return error_set(err, BL_ERROR_MEMORY, "%s: out of memory", name);
    *r = (ply_reader){.name = name, .at = data, .end = (const uint8_t *)data + size, .flip_tex_coords = flip_tex_coords, .err = err};
    bl_result result = parse_header(r);
    if (result == BL_OK)
        result = read_body(r);
    if (result == BL_OK)
        *out = r->mesh;
    else
        mesh_free(&r->mesh);
    free(r);
    return result;
}

bl_result mesh_parse_ply(const void *data, size_t size, bool flip_tex_coords, scene_mesh *out, bl_error *err)
{
    return parse("<ply>", data, size, flip_tex_coords, out, err);
}

bl_result mesh_load_ply(const char *path, bool flip_tex_coords, scene_mesh *out, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *out = (scene_mesh){0};
    TRY(file_read(path, PLY_BYTES_MAX, &data, &size, err));
    bl_result result = parse(path, data, size, flip_tex_coords, out, err);
    free(data);
    return result;
}

/* ---- columns ---- */

/* What follows the vertices is not looked at. */
static bl_result read_columns(ply_reader *r, const char *const *names, uint32_t count, float **rows)
{
    const ply_element *e = r->elements;
    if (r->element_count == 0 || e->kind != PLY_VERTEX)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the first element is not \"vertex\"", r->name);
    TRY(check_size(r, e));
    for (uint32_t k = 0; k < count; k++) {
        ply_property *p = find_property(r, e, names[k], false);
        if (!p)
            return error_set(r->err, BL_ERROR_FORMAT, "%s: the vertices have no \"%s\"", r->name, names[k]);
        p->role = k;
    }
    *rows = malloc((size_t)e->count * count * sizeof **rows + 1);
    if (!*rows)
        return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    for (uint32_t i = 0; i < e->count; i++) {
        float row[ROLE_COUNT] = {0};
        const char *wrong = read_item(r, e, row, NULL);
        if (wrong)
            return item_error(r, e, i, wrong);
        memcpy(*rows + (size_t)i * count, row, count * sizeof *row);
    }
    return BL_OK;
}

static bl_result parse_columns(const char *name, const void *data, size_t size, const char *const *names, uint32_t count, float **rows,
                               uint32_t *row_count, bl_error *err)
{
    BL_ASSERT(count <= ROLE_COUNT, "%u columns", count);
    *rows = NULL, *row_count = 0;
    ply_reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, BL_ERROR_MEMORY, "%s: out of memory", name);
    *r = (ply_reader){.name = name, .at = data, .end = (const uint8_t *)data + size, .err = err};
    bl_result result = parse_header(r);
    if (result == BL_OK)
        result = read_columns(r, names, count, rows);
    if (result == BL_OK)
        *row_count = r->elements[0].count;
    else
        free(*rows), *rows = NULL;
    free(r);
    return result;
}

bl_result ply_parse_columns(const void *data, size_t size, const char *const *names, uint32_t count, float **rows, uint32_t *row_count, bl_error *err)
{
    return parse_columns("<ply>", data, size, names, count, rows, row_count, err);
}

bl_result ply_load_columns(const char *path, const char *const *names, uint32_t count, float **rows, uint32_t *row_count, bl_error *err)
{
    void *data = NULL;
    size_t size = 0;
    *rows = NULL, *row_count = 0;
    TRY(file_read(path, PLY_BYTES_MAX, &data, &size, err));
    bl_result result = parse_columns(path, data, size, names, count, rows, row_count, err);
    free(data);
    return result;
}
