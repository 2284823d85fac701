/* SPDX-License-Identifier: BSD-3-Clause
 * Parallel light from infinity: `irradiance` on a surface that faces it. A delta light: sampled only; radiance and density are both per
 * unit of the one direction, so the value toward a point is the irradiance itself. */
#include "render/classes.h"

enum { WORD_TO_LIGHT, WORD_FAR = 3, DIRECTIONAL_WORDS };

static emitter_sample directional_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1, ir_ref u2)
{
    (void)ref, (void)u1, (void)u2;
    ir_ref zero = t_f32(t, 0);
    return (emitter_sample){v3_load(t, record, n->extra_word + WORD_TO_LIGHT), t_real(t, record, n->extra_word + WORD_FAR), t_f32(t, 1),
                            {zero, zero}, ir_bool(t->f, true)};
}

static color directional_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing)
{
    (void)distance, (void)facing;
    return plan_texture(t, n, record, "irradiance", uv);
}

static ir_ref directional_pdf(tracer *t, const class_node *n, ir_ref record, vec3 ref, vec3 d, ir_ref distance, vec3 normal, vec2 uv)
{
    (void)n, (void)record, (void)ref, (void)d, (void)distance, (void)normal, (void)uv;
    return t_f32(t, 0);
}

/* Where the light comes from, unit; zero if neither parameter gives a direction. */
static void to_light(const scene_object *o, double out[3])
{
    const scene_value *direction = scene_get(o, "direction"), *to_world = scene_get(o, "to_world");
    double square = 0;
    for (int k = 0; k < 3; k++) {
        out[k] = direction->given ? -direction->vector[k] : -to_world->matrix[4 * k + 2];
        square += out[k] * out[k];
    }
    for (int k = 0; k < 3; k++)
        out[k] = square > 0 ? out[k] / sqrt(square) : 0;
}

/* The distance is beyond everything: shadow rays that travel this far have left the scene. */
static void directional_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    double d[3];
    to_light(o, d);
    for (int k = 0; k < 3; k++)
        words[WORD_TO_LIGHT + k] = float_word((float)d[k]);
    words[WORD_FAR] = float_word(4 * p->scene->radius + 1);
}

static bl_result directional_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    const scene_value *direction = scene_get(o, "direction");
    double d[3];
    to_light(o, d);
    if (direction->given && scene_get(o, "to_world")->given)
        return scene_error(err, BL_ERROR_SCENE, direction->where, "directional: give either \"direction\" or \"to_world\", not both");
    if (d[0] == 0 && d[1] == 0 && d[2] == 0)
        return scene_error(err, BL_ERROR_SCENE, o->where, "directional: the direction has no length");
    if (scene_get(o, "irradiance")->object->cls != &texture_constant.base.plugin)
        return scene_error(err, BL_ERROR_SCENE, o->where, "directional: \"irradiance\" must not be textured");
    return BL_OK;
}

static const plugin_param directional_params[] = {
    {"direction", PLUGIN_POINT, PLUGIN_ABSENT, NULL, 0, 0, "in which the light travels"},
    {"irradiance", PLUGIN_TEXTURED, PLUGIN_EMISSION, "1", 0, 0, "on a surface that faces it"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "light travels along its +z"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "accepted if 1"},
};
const emitter_class emitter_directional = {
    .base = {.plugin = {PLUGIN_EMITTER, "directional", directional_params, 4, NULL, 0, "parallel light from infinity"},
             .extra_words = DIRECTIONAL_WORDS,
             .load = directional_load,
             .extra = directional_extra},
    .delta = true,
    .sample = directional_sample,
    .radiance = directional_radiance,
    .pdf = directional_pdf,
};
