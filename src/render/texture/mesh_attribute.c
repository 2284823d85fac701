/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers that a mesh brings along, times `scale`. The value of a vertex attribute is the barycentric mean
 * over the corners of the face, and that of a face attribute is the value of the face. The values are
 * parameters of the mesh, SHAPE.NAME. */
#include "render/classes.h"

static bl_result mesh_attribute_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *name = scene_get(o, "name");
    if (strncmp(name->text, "vertex_", 7) != 0 && strncmp(name->text, "face_", 5) != 0)
        return scene_error(err, BL_ERROR_SCENE, name->where,
                           "mesh_attribute: \"%.60s\" begins neither with \"vertex_\" nor with \"face_\"",
                           name->text);
    return BL_OK;
}

/* The variant has the index of the attribute and whether it belongs to faces, so classes of different
 * attributes differ. If the scene has no such attribute, this is an error where a shape has the material.
 * Otherwise nobody reads it. */
static uint32_t mesh_attribute_variant(const render_scene *s, const scene_object *o)
{
    const char *name = scene_get(o, "name")->text;
    return mesh_find_attribute(s, name) << 1 | attribute_of_faces(name);
}

static uint32_t mesh_attribute_needs(const class_node *n)
{
    (void)n;
    return NEED_FACE;
}

static color mesh_attribute_eval(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    (void)uv;
    return color_scale(t, mesh_attribute_at(t, n->variant >> 1, n->variant & 1),
                       plan_number(t, n, record, "scale"));
}

static const plugin_param mesh_attribute_params[] = {
    {"name", PLUGIN_STRING, PLUGIN_REQUIRED, NULL, 0, 0, "vertex_... or face_..., an attribute of the mesh"},
    {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 0, "factor"},
};
const texture_class texture_mesh_attribute = {
    .base = {.plugin = {PLUGIN_TEXTURE, "mesh_attribute", PLUGIN_TABLE(mesh_attribute_params), PLUGIN_NONE,
                        "colours of a mesh's vertices or faces"},
             .only_rgb = true,
             .load = mesh_attribute_load,
             .variant = mesh_attribute_variant,
             .needs = mesh_attribute_needs},
    .eval = mesh_attribute_eval,
};
