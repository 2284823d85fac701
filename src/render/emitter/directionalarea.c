/* SPDX-License-Identifier: BSD-3-Clause
 * A shape that emits exactly along its normals: a collimated beam. Neither a ray of a camera path nor a
 * sampled direction can meet such a beam. So integrators that walk from the camera see no light of it, as
 * in Mitsuba, and light tracing does. */
#include "render/classes.h"

static emitter_sample directionalarea_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref,
                                             ir_ref u1, ir_ref u2)
{
    (void)n, (void)record, (void)ref, (void)u1, (void)u2;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    return (emitter_sample){v3(zero, zero, one),  one,           zero, {zero, zero},
                            ir_bool(t->f, false), .n = v3_none()};
}

static color directionalarea_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                                      ir_ref facing)
{
    (void)n, (void)record, (void)uv, (void)distance, (void)facing;
    return color_all(t_f32(t, 0));
}

/* A ray along the shading normal from a point that is uniform in area. Only such rays carry the light: no
 * path from the camera meets them. */
static emitter_ray directionalarea_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4])
{
    interaction at =
        shape_kinds[n->variant]->point(t, t_word(t, record, n->extra_word + AREA_SHAPE_DATA), u[0], u[1]);
    ir_ref area = ir_div(t->f, t_f32(t, 1), t_real(t, record, n->extra_word + AREA_INVERSE_AREA));
    return (emitter_ray){
        .p = at.p,
        .d = v3_normalize(t, at.ns),
        .n = at.ng,
        .uv = at.uv,
        .face = at.face,
        .b = at.b,
        .weight = area,
        .point_weight = t_f32(t, 0),
    };
}

static color directionalarea_emission(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                                      ir_ref facing)
{
    (void)distance, (void)facing;
    return plan_texture(t, n, record, "radiance", uv);
}

static ir_ref directionalarea_power(tracer *t, const class_node *n, ir_ref record)
{
    (void)n, (void)record;
    return t_f32(t, 0);
}

static bl_result directionalarea_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)err;
    text_add(
        &s->description->warnings,
        "%s:%u: directionalarea: its light is found by light tracing only, not by paths from the camera\n",
        o->where.file, o->where.line);
    return BL_OK;
}

static const plugin_param directionalarea_params[] = {
    {"radiance", PLUGIN_TEXTURED, PLUGIN_EMISSION, "1", 0, 0, "radiant exitance along the normal"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_directionalarea = {
    .base = {.plugin = {PLUGIN_EMITTER, "directionalarea", PLUGIN_TABLE(directionalarea_params),
                        PLUGIN_TABLE(emitter_slots), "makes its shape a collimated light"},
             .extra_words = AREA_WORDS,
             .load = directionalarea_load},
    .delta = true,
    .on_shape = true,
    .sample = directionalarea_sample,
    .radiance = directionalarea_radiance,
    .pdf = emitter_no_density,
    .power = directionalarea_power,
    .bound = emitter_shape_bound,
    .ray = directionalarea_ray,
    .emission = directionalarea_emission,
};
