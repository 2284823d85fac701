/* SPDX-License-Identifier: BSD-3-Clause
 * A point that radiates equally in all directions: intensity / distance^2. A delta light: sampled only. */
#include "render/classes.h"

static emitter_sample point_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1, ir_ref u2)
{
    (void)u1, (void)u2;
    vec3 to = v3_sub(t, v3_load(t, record, n->extra_word), ref);
    ir_ref distance = ir_max(t->f, v3_length(t, to), t_f32(t, 1e-20f));
    ir_ref zero = t_f32(t, 0);
    return (emitter_sample){v3_scale(t, to, ir_div(t->f, t_f32(t, 1), distance)), distance, t_f32(t, 1), {zero, zero}, ir_bool(t->f, true)};
}

static color point_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing)
{
    (void)facing;
    return color_scale(t, plan_texture(t, n, record, "intensity", uv), ir_div(t->f, t_f32(t, 1), t_sqr(t, distance)));
}

static ir_ref point_pdf(tracer *t, const class_node *n, ir_ref record, vec3 ref, vec3 d, ir_ref distance, vec3 normal, vec2 uv)
{
    (void)n, (void)record, (void)ref, (void)d, (void)distance, (void)normal, (void)uv;
    return t_f32(t, 0);
}

/* position, or the translation of to_world */
static void point_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    const scene_value *position = scene_get(o, "position"), *to_world = scene_get(o, "to_world");
    for (int k = 0; k < 3; k++)
        words[k] = float_word((float)(position->given ? position->vector[k] : to_world->matrix[4 * k + 3]));
}

static bl_result point_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *position = scene_get(o, "position"), *to_world = scene_get(o, "to_world");
    if (position->given && to_world->given)
        return scene_error(err, BL_ERROR_SCENE, position->where, "point: give either \"position\" or \"to_world\", not both");
    const scene_object *intensity = scene_get(o, "intensity")->object;
    if (intensity->cls != &texture_constant.base.plugin)
        return scene_error(err, BL_ERROR_SCENE, o->where, "point: \"intensity\" must not be textured");
    return BL_OK;
}

static const plugin_param point_params[] = {
    {"position", PLUGIN_POINT, PLUGIN_ABSENT, NULL, 0, 0, "where it is"},
    {"intensity", PLUGIN_TEXTURED, PLUGIN_EMISSION | PLUGIN_INTENSITY, "1", 0, 0, "radiant intensity"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "its translation is the position"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "accepted if 1"},
};
const emitter_class emitter_point = {
    .base = {.plugin = {PLUGIN_EMITTER, "point", point_params, 4, NULL, 0, "isotropic point light"},
             .extra_words = 3,
             .load = point_load,
             .extra = point_extra},
    .delta = true,
    .sample = point_sample,
    .radiance = point_radiance,
    .pdf = point_pdf,
};
