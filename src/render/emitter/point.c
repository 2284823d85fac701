/* SPDX-License-Identifier: BSD-3-Clause
 * A point that radiates equally in all directions: intensity / distance^2. It is a delta light, so light
 * can only be sampled from it. Its position is a differentiable parameter, whether it was given as
 * `position` or as the translation of `to_world`. Shadows that move with it are left out of the gradient. */
#include "render/emitter/pose.h"

enum { PARAM_POSITION };

static emitter_sample point_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                   ir_ref u2)
{
    (void)u1, (void)u2;
    return pose_sample(t, plan_vector(t, n, record, "position"), ref);
}

static color point_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                            ir_ref facing)
{
    (void)facing;
    return color_scale(t, plan_texture(t, n, record, "intensity", uv),
                       ir_div(t->f, t_f32(t, 1), t_sqr(t, distance)));
}

static emitter_ray point_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4])
{
    vec3 p = plan_vector(t, n, record, "position");
    ir_ref zero = t_f32(t, 0);
    return (emitter_ray){
        .p = p,
        .d = warp_uniform_sphere(t, u[0], u[1]),
        .n = v3(zero, zero, zero),
        .uv = {zero, zero},
        .weight = t_f32(t, 4 * 3.14159265358979323846f),
        .point_weight = zero,
    };
}

static ir_ref point_power(tracer *t, const class_node *n, ir_ref record)
{
    return ir_mul(t->f, emitter_mean(t, n, record, "intensity"), t_f32(t, 4 * 3.14159265358979323846f));
}

static emitter_bound point_bound(tracer *t, const class_node *n, ir_ref record)
{
    ir_ref zero = t_f32(t, 0);
    return pose_bound(t, plan_vector(t, n, record, "position"), v3(zero, zero, t_f32(t, 1)), t_f32(t, -1));
}

static bl_result point_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *position = scene_get(o, "position"), *to_world = scene_get(o, "to_world");
    if (position->given && to_world->given)
        return scene_error(err, BL_ERROR_SCENE, position->where,
                           "point: give either \"position\" or \"to_world\", not both");
    const scene_object *intensity = scene_get(o, "intensity")->object;
    if (!texture_is_constant(intensity))
        return scene_error(err, BL_ERROR_SCENE, o->where, "point: \"intensity\" must not be textured");
    render_parameter *p = &s->parameters.data[render_find_parameter(s, o, PARAM_POSITION)];
    for (uint32_t k = 0; !position->given && k < 3; k++)
        s->values.data[p->offset + k] = (float)to_world->matrix[4 * k + 3];
    p->reason = emitter_moving_shadows;
    return BL_OK;
}

static const plugin_param point_params[] = {
    [PARAM_POSITION] = {"position", PLUGIN_POINT, PLUGIN_ABSENT | PLUGIN_DIFFERENTIABLE, NULL, 0, 0,
                        "where it is"},
    {"intensity", PLUGIN_TEXTURED, PLUGIN_EMISSION | PLUGIN_INTENSITY, "1", 0, 0, "radiant intensity"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "its translation is the position"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_point = {
    .base = {.plugin = {PLUGIN_EMITTER, "point", PLUGIN_TABLE(point_params), PLUGIN_TABLE(emitter_slots),
                        "isotropic point light"},
             .load = point_load},
    .delta = true,
    .pose_params = 1u << PARAM_POSITION,
    .sample = point_sample,
    .radiance = point_radiance,
    .pdf = emitter_no_density,
    .power = point_power,
    .bound = point_bound,
    .ray = point_ray,
};
