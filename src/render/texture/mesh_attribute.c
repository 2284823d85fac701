/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers that a mesh brings along, times `scale`. The value of a vertex attribute is the barycentric mean
 * over the corners of the face, and that of a face attribute is the value of the face. The values are
 * parameters of the mesh, SHAPE.NAME.
 *
 * Where light is spectral, the texture has a spectrum for each value, of all meshes with the attribute, in
 * the order of their parameters; what is interpolated is light. */
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
    const uint32_t attribute = n->variant >> 1;
    const bool of_faces = n->variant & 1;
    (void)uv;
    ir_ref scale = plan_number(t, n, record, "scale");
    tracer raw = light_off_path(t);
    color light = t->light == LIGHT_SPECTRAL && n->upsampled
                      ? mesh_attribute_light(t, n, record, attribute, of_faces)
                      : mesh_attribute_at(&raw, attribute, of_faces);
    if (t->light == LIGHT_SPECTRAL && !n->upsampled)
        light = plan_grey(t, n, light.c[0]);
    return color_scale(t, light, scale);
}

static uint32_t mesh_attribute_slot(const render_scene *s, const scene_object *o)
{
    uint32_t index = mesh_find_attribute(s, scene_get(o, "name")->text);
    return index == PLAN_NONE ? PLAN_NONE : PLAN_ARRAY_SLOT + MESH_ATTRIBUTE + index;
}

static uint32_t mesh_attribute_count(const render_scene *s, const scene_object *o)
{
    uint32_t index = mesh_find_attribute(s, scene_get(o, "name")->text);
    return index == PLAN_NONE ? 0 : mesh_attribute_colours(s, index);
}

static void mesh_attribute_rgb(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref rgb[3])
{
    (void)record;
    mesh_attribute_colour(t, n->variant >> 1, k, rgb);
}

static const plugin_param mesh_attribute_params[] = {
    {"name", PLUGIN_STRING, PLUGIN_REQUIRED, NULL, 0, 0, "vertex_... or face_..., an attribute of the mesh"},
    {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 0, "factor"},
};
const texture_class texture_mesh_attribute = {
    .base = {.plugin = {PLUGIN_TEXTURE, "mesh_attribute", PLUGIN_TABLE(mesh_attribute_params), PLUGIN_NONE,
                        "colours of a mesh's vertices or faces"},
             .load = mesh_attribute_load,
             .variant = mesh_attribute_variant,
             .needs = mesh_attribute_needs,
             .colours = mesh_attribute_count,
             .colour = mesh_attribute_rgb,
             .colour_slot = mesh_attribute_slot},
    .eval = mesh_attribute_eval,
};
