/* SPDX-License-Identifier: BSD-3-Clause
 * Parallel light from infinity. A surface that faces it receives `irradiance`. It is a delta light, so
 * light can only be sampled from it. Radiance and density are both per unit of the one direction, so the
 * value toward a point is the irradiance itself. The direction is a differentiable parameter, whether it
 * was given as `direction` or as the z axis of `to_world`. Its length does not matter. Shadows that move
 * with it are left out of the gradient. */
#include "render/classes.h"

enum { PARAM_DIRECTION };

static emitter_sample directional_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                         ir_ref u2)
{
    (void)ref, (void)u1, (void)u2;
    ir_func *f = t->f;
    vec3 way = plan_vector(t, n, record, "direction");
    vec3 to_light = v3(ir_neg(f, way.x), ir_neg(f, way.y), ir_neg(f, way.z));
    ir_ref zero = t_f32(t, 0), square = v3_dot(t, to_light, to_light), some = ir_gt(f, square, zero);
    ir_ref by = ir_div(f, t_f32(t, 1), ir_sqrt(f, ir_select(f, some, square, t_f32(t, 1))));
    return (emitter_sample){
        v3_scale(t, to_light, by),
        t_real(t, record, n->extra_word),
        t_f32(t, 1),
        {zero, zero},
        some,
        .n = v3_none(),
    };
}

static color directional_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                                  ir_ref facing)
{
    (void)distance, (void)facing;
    return plan_texture(t, n, record, "irradiance", uv);
}

static ir_ref directional_power(tracer *t, const class_node *n, ir_ref record)
{
    const float per_radiance = 0.31830988618379067154f; /* a sky of radiance L irradiates by pi L */
    return emitter_far_power(t,
                             ir_mul(t->f, emitter_mean(t, n, record, "irradiance"), t_f32(t, per_radiance)),
                             t_real(t, record, n->extra_word));
}

/* The distance is beyond everything: shadow rays that travel this far have left the scene. */
static void directional_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)o;
    words[0] = float_word(4 * p->scene->radius + 1);
}

static bl_result directional_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *direction = scene_get(o, "direction"), *to_world = scene_get(o, "to_world");
    render_parameter *p = &s->parameters.data[render_find_parameter(s, o, PARAM_DIRECTION)];
    float *way = s->values.data + p->offset;
    for (uint32_t k = 0; !direction->given && k < 3; k++)
        way[k] = (float)to_world->matrix[4 * k + 2];
    if (direction->given && to_world->given)
        return scene_error(err, BL_ERROR_SCENE, direction->where,
                           "directional: give either \"direction\" or \"to_world\", not both");
    if (!(way[0] * way[0] + way[1] * way[1] + way[2] * way[2] > 0))
        return scene_error(err, BL_ERROR_SCENE, o->where, "directional: the direction has no length");
    if (!texture_is_constant(scene_get(o, "irradiance")->object))
        return scene_error(err, BL_ERROR_SCENE, o->where, "directional: \"irradiance\" must not be textured");
    p->reason = emitter_moving_shadows;
    return BL_OK;
}

static const plugin_param directional_params[] = {
    [PARAM_DIRECTION] = {"direction", PLUGIN_POINT, PLUGIN_ABSENT | PLUGIN_DIFFERENTIABLE, NULL, 0, 0,
                         "in which the light travels"},
    {"irradiance", PLUGIN_TEXTURED, PLUGIN_EMISSION, "1", 0, 0, "on a surface that faces it"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "light travels along its +z"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_directional = {
    .base = {.plugin = {PLUGIN_EMITTER, "directional", PLUGIN_TABLE(directional_params),
                        PLUGIN_TABLE(emitter_slots), "parallel light from infinity"},
             .extra_words = 1,
             .load = directional_load,
             .extra = directional_extra},
    .delta = true,
    .pose_params = 1u << PARAM_DIRECTION,
    .sample = directional_sample,
    .radiance = directional_radiance,
    .pdf = emitter_no_density,
    .power = directional_power,
    .ray = emitter_far_ray,
};
