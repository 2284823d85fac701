/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes that a program makes itself (scene/assembly.c); meshes, pixels and voxels from its arrays. */
#include "api/scene.h"

#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRID_VALUES_MOST ((uint64_t)1 << 32)

struct bl_builder {
    bl_context *context;
    scene_assembly *assembly;
    arena memory; /* memory of objects, meshes and messages */
    bl_object *root;
};

struct bl_object {
    bl_builder *builder;
    struct raw_node *node;
};

static bl_object *wrap(bl_builder *b, struct raw_node *node)
{
    bl_object *o = arena_alloc(&b->memory, sizeof *o);
    *o = (bl_object){b, node};
    return o;
}

bl_result bl_builder_create(bl_context *ctx, bl_builder **out)
{
    bl_builder *b = memory_need_zeroed(1, sizeof *b);
    b->context = ctx;
    b->assembly = assembly_create();
    b->root = wrap(b, assembly_root(b->assembly));
    *out = b;
    return BL_OK;
}

void bl_builder_destroy(bl_builder *b)
{
    if (!b)
        return;
    assembly_destroy(b->assembly);
    arena_free(&b->memory);
    memory_free(b);
}

bl_object *bl_builder_root(bl_builder *b) { return b->root; }

bl_object *bl_builder_object(bl_builder *b, const char *category, const char *type, const char *id)
{
    for (int k = 0; category && type && k < PLUGIN_CATEGORY_COUNT; k++)
        if (k != PLUGIN_SCENE && strcmp(plugin_category_names[k], category) == 0)
            return wrap(b, assembly_object(b->assembly, (plugin_category)k, type, id));
    assembly_fail(
        b->assembly, NULL,
        arena_printf(&b->memory, "there is no category \"%.60s\" of objects", category ? category : ""));
    return wrap(b, assembly_object(b->assembly, PLUGIN_BSDF, "?",
                                   NULL)); /* an object on which later calls can work */
}

/* ---- properties ---- */

void bl_object_number(bl_object *o, const char *name, double value)
{
    assembly_numbers(o->builder->assembly, o->node, PLUGIN_FLOAT, name, &value, 1);
}

void bl_object_integer(bl_object *o, const char *name, int64_t value)
{
    assembly_text(o->builder->assembly, o->node, PLUGIN_INTEGER, name,
                  arena_printf(&o->builder->memory, "%lld", (long long)value));
}

void bl_object_flag(bl_object *o, const char *name, bool value)
{
    assembly_text(o->builder->assembly, o->node, PLUGIN_BOOLEAN, name, value ? "true" : "false");
}

void bl_object_text(bl_object *o, const char *name, const char *value)
{
    assembly_text(o->builder->assembly, o->node, PLUGIN_STRING, name, value);
}

void bl_object_color(bl_object *o, const char *name, double red, double green, double blue)
{
    assembly_numbers(o->builder->assembly, o->node, PLUGIN_COLOR, name, (const double[3]){red, green, blue},
                     3);
}

void bl_object_point(bl_object *o, const char *name, double x, double y, double z)
{
    assembly_numbers(o->builder->assembly, o->node, PLUGIN_POINT, name, (const double[3]){x, y, z}, 3);
}

void bl_object_transform(bl_object *o, const char *name, const double matrix[16])
{
    assembly_numbers(o->builder->assembly, o->node, PLUGIN_TRANSFORM, name, matrix, 16);
}

void bl_object_spectrum(bl_object *o, const char *name, const double *wavelengths, const double *values,
                        uint32_t count)
{
    scene_assembly *a = o->builder->assembly;
    if (!values || (!wavelengths && count != 1))
        assembly_fail(a, o->node, "a spectrum needs values, and wavelengths unless it is one value");
    else
        assembly_spectrum(a, o->node, name, wavelengths, values, count);
}

/* Says what is wrong with the grid, or returns NULL if nothing is. */
static const char *grid_mistake(bl_builder *b, const bl_grid *g)
{
    bl_error err = {0};
    if (CHECK_RESERVED(bl_grid, g, &err) != BL_OK)
        return arena_printf(&b->memory, "%s", err.text);
    uint64_t count = g->channels;
    for (int k = 0; k < 3; k++) {
        if (count == 0 || g->size[k] == 0 || count > GRID_VALUES_MOST / g->size[k])
            return "a grid needs at least one number, and not more than 2^32";
        count *= g->size[k];
    }
    if (!g->values)
        return "a grid needs values";
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(g->values[i]))
            return arena_printf(&b->memory, "number %ju of the grid is not finite", (uintmax_t)i);
    return NULL;
}

void bl_object_grid(bl_object *o, const char *name, const bl_grid *g)
{
    bl_builder *b = o->builder;
    const char *mistake = grid_mistake(b, g);
    if (mistake) {
        assembly_fail(b->assembly, o->node, mistake);
        return;
    }
    scene_grid *grid = arena_alloc(&b->memory, sizeof *grid);
    *grid = (scene_grid){.channels = g->channels, .values = g->values};
    memcpy(grid->size, g->size, sizeof grid->size);
    assembly_grid(b->assembly, o->node, name, grid);
}

void bl_object_add(bl_object *parent, const char *name, bl_object *child)
{
    if (parent->builder != child->builder) {
        assembly_fail(parent->builder->assembly, parent->node,
                      "an object of another builder was added to it");
        return;
    }
    assembly_add(parent->builder->assembly, parent->node, name, child->node);
}

/* ---- meshes ---- */

/* Says what is wrong with the mesh's arrays, or returns NULL if nothing is. */
static const char *mesh_mistake(bl_builder *b, const bl_mesh *m)
{
    bl_error err = {0};
    if (CHECK_RESERVED(bl_mesh, m, &err) != BL_OK)
        return arena_printf(&b->memory, "%s", err.text);
    if (!m->positions || !m->faces || m->vertex_count == 0 || m->face_count == 0)
        return "a mesh needs positions and faces";
    if (m->face_count > UINT32_MAX / 3 || m->vertex_count > UINT32_MAX / 3)
        return "the mesh is too large";
    for (uint32_t c = 0; c < 3 * m->face_count; c++)
        if (m->faces[c] >= m->vertex_count)
            return arena_printf(&b->memory, "face %u has vertex %u, and the mesh has %u", c / 3, m->faces[c],
                                m->vertex_count);
    const struct {
        const char *name;
        const float *values;
        uint32_t width;
    } arrays[] = {{"positions", m->positions, 3}, {"normals", m->normals, 3}, {"uvs", m->uvs, 2}};
    for (int a = 0; a < 3; a++)
        for (size_t i = 0; arrays[a].values && i < (size_t)arrays[a].width * m->vertex_count; i++)
            if (!isfinite(arrays[a].values[i]))
                return arena_printf(&b->memory, "%s: vertex %zu has a number that is not finite",
                                    arrays[a].name, i / arrays[a].width);
    return NULL;
}

/* Casts const away: the mesh's loader reads the array and never writes it. */
static float *not_written(const float *values) { return (float *)(uintptr_t)values; }

bl_object *bl_builder_mesh(bl_builder *b, const char *id, const bl_mesh *m)
{
    bl_object *o = bl_builder_object(b, "shape", "mesh", id);
    const char *mistake = mesh_mistake(b, m);
    if (mistake) {
        assembly_fail(b->assembly, o->node, mistake);
        return o;
    }
    scene_mesh *mesh = arena_alloc(&b->memory, sizeof *mesh);
    *mesh = (scene_mesh){
        .vertex_count = m->vertex_count,
        .face_count = m->face_count,
        .positions = not_written(m->positions),
        .normals = not_written(m->normals),
        .uvs = not_written(m->uvs),
        .faces = (uint32_t *)(uintptr_t)m->faces,
    };
    assembly_mesh(o->node, mesh);
    return o;
}

/* ---- the end ---- */

bl_result bl_builder_finish(bl_builder *b, const char *folder, const bl_scene_desc *desc, bl_scene **out)
{
    bl_context *ctx = b->context;
    scene_description *d;
    bl_error err = {0};
    *out = NULL;
    scene_load_options o = {
        .registry = &ctx->registry,
        .untrusted = desc && desc->untrusted,
        .roots = desc ? desc->roots : NULL,
        .root_count = desc ? desc->root_count : 0,
    };
    call_budget limits;
    bl_result r = scene_budget_begin(&limits, desc, &err);
    if (r == BL_OK && desc)
        r = scene_check_desc(desc, &err);
    if (r == BL_OK)
        r = render_mode_spectral(desc ? desc->mode : NULL, &o.spectral, &err);
    if (r == BL_OK)
        r = assembly_finish(b->assembly, folder ? folder : ".", &o, &d, &err);
    r = r == BL_OK ? scene_from_description(ctx, d, desc, out) : context_fail(ctx, &err);
    r = scene_budget_end(&limits, ctx, r);
    bl_builder_destroy(b);
    return r;
}
