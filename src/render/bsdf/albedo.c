/* SPDX-License-Identifier: BSD-3-Clause
 * The diffuse reflectance of a material as Mitsuba's aov shows it: a texture, whatever the side it is seen
 * from and whatever lies over it (coats, masks, turned normals), where the material has one. */
#include "render/classes.h"

static const float pi = 3.14159265358979323846f;

color bsdf_albedo(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv)
{
    const bsdf_class *cls = bsdf_of(n);
    if (cls->albedo_param)
        return plan_texture(t, n, record, cls->albedo_param, uv);
    if (cls->albedo)
        return cls->albedo(t, n, record, wi, uv);
    const vec3 normal = {t_f32(t, 0), t_f32(t, 0), t_f32(t, 1)};
    return color_scale(t, cls->value(t, n, record, wi, normal, uv, ir_bool(t->f, false), t_u32(t, 0)),
                       t_f32(t, pi));
}

color bsdf_nested_albedo(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv)
{
    return bsdf_albedo(t, n->child[0], t_offset(t, record, n->child_word[0]), wi, uv);
}
