/* SPDX-License-Identifier: BSD-3-Clause
 * Meshes: primitives as lists of triangles with positions, normals, texture coordinates and vertex colours.
 * Points and lines, and attributes that nothing here reads, are noted. Where a primitive has no normals it is
 * flat (glTF 2.0, 3.7.2.1). */
#include "scene/gltf/gltf.h"

#include <stdlib.h>
#include <string.h>

enum { MODE_TRIANGLES = 4, MODE_STRIP, MODE_FAN };
enum { UNUSED_SHOWN = 60 };

/* ---- attributes ---- */

/* Opens the accessor of an attribute; *there: it has one. */
static bl_result open_attribute(gltf *g, gltf_place where, const cJSON *attributes, const char *name,
                                uint32_t least, uint32_t most, bool *there, gltf_accessor *out)
{
    uint32_t index = GLTF_NONE;
    TRY(gltf_index(g, where, attributes, name, GLTF_ACCESSORS, &index));
    *there = index != GLTF_NONE;
    if (!*there)
        return BL_OK;
    TRY(gltf_accessor_open(g, index, out));
    if (out->components < least || out->components > most)
        return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" has elements of %u numbers", name,
                          out->components);
    return BL_OK;
}

static void *keep(gltf *g, size_t size)
{
    void *memory = memory_alloc(size + 1);
    if (memory)
        assembly_keep(g->assembly, memory);
    return memory;
}

static bl_result no_memory(gltf *g, gltf_place where)
{
    return gltf_error(g, BL_ERROR_MEMORY, where, "out of memory");
}

/* An attribute of all vertices as floats, in memory that lasts until the scene is loaded. *out: NULL: none.
 */
static bl_result read_attribute(gltf *g, gltf_place where, const cJSON *attributes, const char *name,
                                uint32_t width, uint32_t vertices, float **out)
{
    gltf_accessor a;
    bool there;
    *out = NULL;
    TRY(open_attribute(g, where, attributes, name, width, width, &there, &a));
    if (!there)
        return BL_OK;
    if (a.count != vertices)
        return gltf_error(g, BL_ERROR_SCENE, where, "\"%s\" is of %u vertices, and \"POSITION\" of %u", name,
                          a.count, vertices);
    *out = keep(g, (size_t)a.count * width * sizeof **out);
    return *out ? gltf_read_floats(g, &a, width, *out) : no_memory(g, where);
}

static void add_attribute(gltf *g, scene_mesh *m, const char *name, uint32_t channels, float *values)
{
    (void)g;
    m->attributes[m->attribute_count++] =
        (scene_attribute){.name = (char *)(uintptr_t)name, .channels = channels, .values = values};
}

/* Colours become the attribute vertex_color, and their alpha vertex_opacity. */
static bl_result read_colours(gltf *g, gltf_place where, const cJSON *attributes, gltf_primitive *p)
{
    gltf_accessor a;
    bool there;
    scene_mesh *m = p->mesh;
    TRY(open_attribute(g, where, attributes, "COLOR_0", 3, 4, &there, &a));
    if (!there)
        return BL_OK;
    if (!gltf_material_takes_colours(g, p->material)) {
        gltf_note(g, "COLOR_0 of a mesh whose material has a baseColorTexture is not used");
        return BL_OK;
    }
    if (a.count != m->vertex_count)
        return gltf_error(g, BL_ERROR_SCENE, where, "\"COLOR_0\" is of %u vertices, and \"POSITION\" of %u",
                          a.count, m->vertex_count);
    float *all = memory_alloc((size_t)a.count * a.components * sizeof *all + 1),
          *colours = keep(g, (size_t)a.count * 3 * sizeof *colours),
          *alpha = keep(g, (size_t)a.count * sizeof *alpha);
    bl_result r = all && colours && alpha ? gltf_read_floats(g, &a, a.components, all) : no_memory(g, where);
    double factor[4] = {1, 1, 1, 1};
    const cJSON *material =
        p->material == GLTF_NONE ? NULL : gltf_item(g, (gltf_place){GLTF_MATERIALS, p->material});
    if (r == BL_OK)
        r = gltf_numbers(g, (gltf_place){GLTF_MATERIALS, p->material},
                         gltf_get(material, "pbrMetallicRoughness"), "baseColorFactor", 4, 0, 1, factor);
    for (uint32_t i = 0; r == BL_OK && i < a.count; i++) {
        const float *from = all + (size_t)i * a.components;
        for (uint32_t c = 0; c < 3; c++)
            colours[3 * (size_t)i + c] = (float)((double)from[c] * factor[c]);
        alpha[i] = a.components == 4 ? (float)((double)from[3] * factor[3]) : (float)factor[3];
    }
    memory_free(all);
    TRY(r);
    p->colours = a.components;
    m->attributes = keep(g, 2 * sizeof *m->attributes);
    if (!m->attributes)
        return no_memory(g, where);
    add_attribute(g, m, "vertex_color", 3, colours);
    if (a.components == 4)
        add_attribute(g, m, "vertex_opacity", 1, alpha);
    return BL_OK;
}

static void note_attributes(gltf *g, const cJSON *attributes, uint32_t set)
{
    const cJSON *a;
    char uv[32];
    snprintf(uv, sizeof uv, "TEXCOORD_%u", set);
    cJSON_ArrayForEach(a, attributes)
    {
        const char *n = a->string;
        if (strcmp(n, "POSITION") && strcmp(n, "NORMAL") && strcmp(n, "COLOR_0") && strcmp(n, uv))
            gltf_note(g, "the attribute %.*s of a mesh is not used", UNUSED_SHOWN, n);
    }
}

/* ---- faces ---- */

/* The three corners of face k, as places in the list of indices. */
static void corners_of(uint32_t mode, uint32_t k, uint32_t out[3])
{
    const uint32_t odd = k % 2;
    switch (mode) {
    case MODE_STRIP:
        out[0] = k, out[1] = k + 1 + odd, out[2] = k + 2 - odd;
        return;
    case MODE_FAN:
        out[0] = k + 1, out[1] = k + 2, out[2] = 0;
        return;
    default:
        out[0] = 3 * k, out[1] = 3 * k + 1, out[2] = 3 * k + 2;
    }
}

static bl_result make_faces(gltf *g, gltf_place where, uint32_t mode, const uint32_t *indices, uint32_t count,
                            scene_mesh *m)
{
    const uint32_t faces = mode == MODE_TRIANGLES ? count / 3 : count > 2 ? count - 2 : 0;
    if (mode == MODE_TRIANGLES && count % 3)
        gltf_note(g, "the last %u indices of a mesh make no triangle", count % 3);
    for (uint32_t i = 0; indices && i < count; i++)
        if (indices[i] >= m->vertex_count)
            return gltf_error(g, BL_ERROR_SCENE, where, "index %u is vertex %u of %u", i, indices[i],
                              m->vertex_count);
    TRY(budget_take(BUDGET_TRIANGLES, faces, g->err));
    m->faces = keep(g, (size_t)faces * 12);
    if (!m->faces)
        return no_memory(g, where);
    for (uint32_t k = 0; k < faces; k++) {
        uint32_t at[3], *face = m->faces + 3 * (size_t)m->face_count;
        corners_of(mode, k, at);
        for (int c = 0; c < 3; c++)
            face[c] = indices ? indices[at[c]] : at[c];
        /* Strips are joined by triangles without an area. */
        m->face_count += face[0] != face[1] && face[1] != face[2] && face[2] != face[0];
    }
    return BL_OK;
}

static bl_result read_faces(gltf *g, gltf_place where, const cJSON *primitive, uint32_t mode, scene_mesh *m)
{
    uint32_t index = GLTF_NONE;
    gltf_accessor a;
    TRY(gltf_index(g, where, primitive, "indices", GLTF_ACCESSORS, &index));
    if (index == GLTF_NONE)
        return make_faces(g, where, mode, NULL, m->vertex_count, m);
    TRY(gltf_accessor_open(g, index, &a));
    uint32_t *indices = memory_alloc((size_t)a.count * sizeof *indices + 1);
    bl_result r = indices ? gltf_read_indices(g, &a, indices) : no_memory(g, where);
    if (r == BL_OK)
        r = make_faces(g, where, mode, indices, a.count, m);
    memory_free(indices);
    return r;
}

/* ---- meshes ---- */

static void find_box(const scene_mesh *m, double box[6])
{
    for (int k = 0; k < 3; k++) {
        box[k] = box[3 + k] = (double)m->positions[k];
        for (size_t i = 1; i < m->vertex_count; i++) {
            const double v = (double)m->positions[3 * i + (size_t)k];
            box[k] = v < box[k] ? v : box[k], box[3 + k] = v > box[3 + k] ? v : box[3 + k];
        }
    }
}

/* Normals of length 0 are replaced, as those of other files are. */
static bl_result fill_normals(gltf *g, gltf_place where, scene_mesh *m)
{
    bool missing = false;
    for (size_t i = 0; m->normals && i < m->vertex_count && !missing; i++)
        missing = m->normals[3 * i] == 0 && m->normals[3 * i + 1] == 0 && m->normals[3 * i + 2] == 0;
    if (!missing)
        return BL_OK;
    const size_t size = 12 * (size_t)m->vertex_count;
    scene_mesh filled = *m;
    filled.normals = memory_alloc(size); /* which the call below replaces */
    if (!filled.normals || memory_check(5 * size, g->err) != BL_OK) {
        memory_free(filled.normals);
        return no_memory(g, where);
    }
    memcpy(filled.normals, m->normals, size);
    mesh_fill_normals(&filled);
    memcpy(m->normals, filled.normals, size);
    memory_free(filled.normals);
    return BL_OK;
}

static bl_result read_triangles(gltf *g, gltf_place where, const cJSON *primitive, uint32_t mode,
                                gltf_primitive *p)
{
    const cJSON *attributes = gltf_get(primitive, "attributes");
    gltf_accessor positions;
    bool there;
    uint32_t set = 0;
    char uv[32];
    TRY(open_attribute(g, where, attributes, "POSITION", 3, 3, &there, &positions));
    if (!there) {
        gltf_note(g, "a mesh without POSITION is not shown");
        return BL_OK;
    }
    scene_mesh *m = keep(g, sizeof *m);
    if (!m)
        return no_memory(g, where);
    *m = (scene_mesh){.vertex_count = positions.count};
    TRY(read_attribute(g, where, attributes, "POSITION", 3, m->vertex_count, &m->positions));
    TRY(read_attribute(g, where, attributes, "NORMAL", 3, m->vertex_count, &m->normals));
    TRY(gltf_material_set(g, p->material, &set));
    snprintf(uv, sizeof uv, "TEXCOORD_%u", set);
    TRY(read_attribute(g, where, attributes, uv, 2, m->vertex_count, &m->uvs));
    TRY(read_faces(g, where, primitive, mode, m));
    if (m->face_count == 0) {
        gltf_note(g, "a mesh without triangles is not shown");
        return BL_OK;
    }
    TRY(fill_normals(g, where, m));
    p->mesh = m;
    find_box(m, p->box);
    note_attributes(g, attributes, set);
    if (gltf_get(primitive, "targets"))
        gltf_note(g, "the morph targets of a mesh are not used");
    return read_colours(g, where, attributes, p);
}

static bl_result read_primitive(gltf *g, gltf_place where, const cJSON *primitive, gltf_primitive *p)
{
    static const char *const none[] = {NULL};
    uint64_t mode = MODE_TRIANGLES;
    p->material = GLTF_NONE;
    TRY(gltf_index(g, where, primitive, "material", GLTF_MATERIALS, &p->material));
    TRY(gltf_count(g, where, primitive, "mode", &mode));
    gltf_note_extensions(g, primitive, "a mesh", none);
    if (mode > MODE_FAN)
        return gltf_error(g, BL_ERROR_SCENE, where, "\"mode\" is %ju", (uintmax_t)mode);
    if (mode < MODE_TRIANGLES) {
        gltf_note(g, mode == 0 ? "points are not shown" : "lines are not shown");
        return BL_OK;
    }
    return read_triangles(g, where, primitive, (uint32_t)mode, p);
}

bl_result gltf_read_mesh(gltf *g, uint32_t index)
{
    const gltf_place where = {GLTF_MESHES, index};
    const cJSON *list = gltf_get(gltf_item(g, where), "primitives"), *primitive;
    gltf_mesh *m = &g->meshes[index];
    if (m->read)
        return BL_OK;
    m->read = true;
    m->primitives = arena_alloc(&g->memory, ((size_t)cJSON_GetArraySize(list) + 1) * sizeof *m->primitives);
    cJSON_ArrayForEach(primitive, list) TRY(read_primitive(g, where, primitive, &m->primitives[m->count++]));
    return BL_OK;
}
