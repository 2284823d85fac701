/* SPDX-License-Identifier: BSD-3-Clause
 * The place of a light and the direction in which it points, as a parameter: its `to_world`, 16 numbers,
 * row-major. The inverse takes directions of the world to the light's own space. It is a derived value
 * (plan.h), so both matrices carry derivatives (docs/theory/moving_geometry.md: the direction, distance and
 * cosine of a point light follow it). Shadows that move with the light are left out of the gradient. */
#include "render/emitter/pose.h"

static ir_ref entry(tracer *t, const class_node *n, ir_ref record, uint32_t slot, uint32_t row,
                    uint32_t column)
{
    return plan_load(t, n, record, n->field[slot], slot, t_u32(t, 4 * row + column));
}

vec3 pose_column(tracer *t, const class_node *n, ir_ref record, uint32_t slot, uint32_t column)
{
    return v3(entry(t, n, record, slot, 0, column), entry(t, n, record, slot, 1, column),
              entry(t, n, record, slot, 2, column));
}

void pose_inverse(tracer *t, const class_node *n, ir_ref record, uint32_t slot, ir_ref out[POSE_INVERSE])
{
    vec3 column[3], row[3];
    for (uint32_t k = 0; k < 3; k++)
        column[k] = pose_column(t, n, record, slot, k);
    for (uint32_t k = 0; k < 3; k++)
        row[k] = v3_cross(t, column[(k + 1) % 3], column[(k + 2) % 3]);
    ir_ref determinant = v3_dot(t, column[0], row[0]), none = ir_eq(t->f, determinant, t_f32(t, 0));
    ir_ref by = ir_div(t->f, t_f32(t, 1), ir_select(t->f, none, t_f32(t, 1), determinant));
    for (uint32_t k = 0; k < 3; k++) {
        row[k] = v3_scale(t, row[k], by);
        out[3 * k] = row[k].x, out[3 * k + 1] = row[k].y, out[3 * k + 2] = row[k].z;
    }
}

vec3 pose_to_local(tracer *t, const class_node *n, ir_ref record, uint32_t first, vec3 d)
{
    ir_ref r[POSE_INVERSE];
    for (uint32_t k = 0; k < POSE_INVERSE; k++)
        r[k] = plan_derived(t, n, record, t_u32(t, first + k));
    return v3(v3_dot(t, v3(r[0], r[1], r[2]), d), v3_dot(t, v3(r[3], r[4], r[5]), d),
              v3_dot(t, v3(r[6], r[7], r[8]), d));
}

vec3 pose_to_world(tracer *t, const class_node *n, ir_ref record, uint32_t slot, vec3 local, ir_ref *length)
{
    vec3 d = v3_add(t, v3_scale(t, pose_column(t, n, record, slot, 0), local.x),
                    v3_add(t, v3_scale(t, pose_column(t, n, record, slot, 1), local.y),
                           v3_scale(t, pose_column(t, n, record, slot, 2), local.z)));
    *length = v3_length(t, d);
    return v3_scale(t, d, t_ratio(t, t_f32(t, 1), *length));
}

emitter_bound pose_bound(tracer *t, vec3 position, vec3 axis, ir_ref cos_angle)
{
    return (emitter_bound){position, position, axis, cos_angle, t_f32(t, 1)};
}

bl_result pose_check(const scene_object *o, bl_error *err)
{
    const scene_value *pose = scene_get(o, "to_world");
    double inverse[16];
    if (!matrix_invert(pose->matrix, inverse))
        return scene_error(err, BL_ERROR_SCENE, pose->where, "%s: \"to_world\" has no inverse", o->cls->name);
    return BL_OK;
}

emitter_sample pose_sample(tracer *t, vec3 position, vec3 ref)
{
    ir_func *f = t->f;
    vec3 to = v3_sub(t, position, ref);
    ir_ref zero = t_f32(t, 0), distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    return (emitter_sample){
        v3_scale(t, to, ir_div(f, t_f32(t, 1), distance)),
        distance,
        t_f32(t, 1),
        {zero, zero},
        ir_bool(f, true),
        .n = v3_none(),
    };
}

bool emitter_texture_smooth(const scene_object *texture)
{
    return texture_is_constant(texture) || (texture->cls == &texture_bitmap.base.plugin &&
                                            strcmp(scene_get(texture, "filter_type")->text, "bilinear") == 0);
}
