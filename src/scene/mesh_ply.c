/* SPDX-License-Identifier: BSD-3-Clause
 * Meshes from Stanford PLY: positions, normals and texture coordinates (u v, texture_u texture_v or s t) of
 * `vertex`, vertex_index or vertex_indices of `face`; other numbers of vertices and faces become attributes
 * (mesh_attributes.c). As in Mitsuba 3 faces must be triangles, and nothing may follow the last element. What
 * is left is skipped, lists too. */
#include "scene/ply.h"

#include <stdlib.h>
#include <string.h>

/* ---- roles ---- */

/* All of the names or none. */
static bool assign_roles(ply_reader *r, const ply_element *e, const char *const *names, uint32_t count,
                         uint32_t role)
{
    ply_property *found[3] = {NULL};
    for (uint32_t i = 0; i < count; i++) {
        found[i] = ply_find_property(r, e, names[i], false);
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
        a->values = memory_alloc((size_t)e->count * a->channels * sizeof *a->values + 1);
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
    m->positions = memory_alloc((size_t)e->count * 12 + 1);
    m->normals = normals ? memory_alloc((size_t)e->count * 12 + 1) : NULL;
    m->uvs = uvs ? memory_alloc((size_t)e->count * 8 + 1) : NULL;
    if (!m->positions || (normals && !m->normals) || (uvs && !m->uvs))
        return error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
    return assign_attributes(r, e);
}

static bl_result assign_face(ply_reader *r, const ply_element *e)
{
    ply_property *corners = ply_find_property(r, e, "vertex_index", true);
    if (!corners)
        corners = ply_find_property(r, e, "vertex_indices", true);
    if (!corners)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: the faces have no vertex_index or vertex_indices",
                         r->name);
    corners->role = ROLE_CORNERS;
    TRY(budget_take(BUDGET_TRIANGLES, e->count, r->err));
    r->mesh.face_count = e->count;
    r->mesh.faces = memory_alloc((size_t)e->count * 12 + 1);
    return r->mesh.faces ? assign_attributes(r, e)
                         : error_set(r->err, BL_ERROR_MEMORY, "%s: out of memory", r->name);
}

/* ---- items ---- */

static void store_item(ply_reader *r, const ply_element *e, size_t index, const float *row,
                       const uint32_t *corners)
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

static bl_result read_element(ply_reader *r, const ply_element *e)
{
    TRY(ply_check_size(r, e));
    if (e->kind == PLY_VERTEX)
        TRY(assign_vertex(r, e));
    if (e->kind == PLY_FACE)
        TRY(assign_face(r, e));
    for (uint32_t i = 0; i < e->count && e->property_count; i++) {
        float row[ROLE_COUNT] = {0};
        uint32_t corners[3] = {0};
        const char *wrong = ply_read_item(r, e, row, corners);
        if (wrong)
            return ply_item_error(r, e, i, wrong);
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
            return error_set(r->err, BL_ERROR_FORMAT, "%s: face %zu names the vertex %u of %u", r->name,
                             i / 3, r->mesh.faces[i], r->mesh.vertex_count);
    while (r->encoding == PLY_ASCII && r->at < r->end && ply_is_space(*r->at))
        r->at++;
    if (r->at < r->end)
        return error_set(r->err, BL_ERROR_FORMAT, "%s: %zu bytes follow the last element", r->name,
                         (size_t)(r->end - r->at));
    mesh_fill_normals(&r->mesh);
    return BL_OK;
}

static bl_result parse(const char *name, const void *data, size_t size, bool flip_tex_coords, scene_mesh *out,
                       bl_error *err)
{
    ply_reader *r = memory_zeroed(1, sizeof *r);
    *out = (scene_mesh){0};
    if (!r)
        return error_set(err, BL_ERROR_MEMORY, "%s: out of memory", name);
    *r = (ply_reader){
        .name = name,
        .at = data,
        .end = (const uint8_t *)data + size,
        .flip_tex_coords = flip_tex_coords,
        .err = err,
    };
    bl_result result = ply_parse_header(r);
    if (result == BL_OK)
        result = read_body(r);
    if (result == BL_OK)
        *out = r->mesh;
    else
        mesh_free(&r->mesh);
    memory_free(r);
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
    memory_free(data);
    return result;
}
