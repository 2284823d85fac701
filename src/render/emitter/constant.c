/* SPDX-License-Identifier: BSD-3-Clause
 * The same radiance from every direction, at infinity. Directions are sampled uniformly on the sphere, as
 * in Mitsuba. So the density does not depend on parameters. */
#include "render/classes.h"

static const float inverse_four_pi = 0.07957747154594766788f;

static emitter_sample constant_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                      ir_ref u2)
{
    (void)ref;
    ir_ref zero = t_f32(t, 0);
    return (emitter_sample){
        warp_uniform_sphere(t, u1, u2),
        t_real(t, record, n->extra_word),
        t_f32(t, inverse_four_pi),
        {zero, zero},
        ir_bool(t->f, true),
        .n = v3_none(),
    };
}

static color constant_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                               ir_ref facing)
{
    (void)distance, (void)facing;
    return plan_texture(t, n, record, "radiance", uv);
}

static ir_ref constant_pdf(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    (void)n, (void)record, (void)hit;
    return t_f32(t, inverse_four_pi);
}

static ir_ref constant_power(tracer *t, const class_node *n, ir_ref record)
{
    return emitter_far_power(t, emitter_mean(t, n, record, "radiance"), t_real(t, record, n->extra_word));
}

/* The distance of the light. It is beyond everything: shadow rays that travel so far have left the scene. */
static void constant_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)o;
    words[0] = float_word(4 * p->scene->radius + 1);
}

static bl_result constant_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    if (!texture_is_constant(scene_get(o, "radiance")->object))
        return scene_error(err, BL_ERROR_SCENE, o->where, "constant: \"radiance\" must not be textured");
    return BL_OK;
}

static const plugin_param constant_params[] = {
    {"radiance", PLUGIN_TEXTURED, PLUGIN_EMISSION, "1", 0, 0, "radiance from every direction"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "accepted, changes nothing"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_constant = {
    .base = {.plugin = {PLUGIN_EMITTER, "constant", PLUGIN_TABLE(constant_params),
                        PLUGIN_TABLE(emitter_slots), "constant environment"},
             .extra_words = 1,
             .load = constant_load,
             .extra = constant_extra},
    .environment = true,
    .sample = constant_sample,
    .radiance = constant_radiance,
    .pdf = constant_pdf,
    .power = constant_power,
    .ray = emitter_far_ray,
};
