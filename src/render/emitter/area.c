/* SPDX-License-Identifier: BSD-3-Clause
 * A shape that emits on the side its normals point to. Sampling is the shape's (uniform in area for meshes, in solid angle for spheres);
 * the kind of shape is the class's variant. */
#include "render/classes.h"

static const shape_kind_class *kind_of(const class_node *n) { return shape_kinds[n->variant]; }

static emitter_sample area_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1, ir_ref u2)
{
    ir_ref data = t_word(t, record, n->extra_word + AREA_SHAPE_DATA), inverse = t_real(t, record, n->extra_word + AREA_INVERSE_AREA);
    return kind_of(n)->sample(t, data, inverse, ref, u1, u2);
}

static color area_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing)
{
    (void)distance;
    return color_select(t, facing, plan_texture(t, n, record, "radiance", uv), color_all(t_f32(t, 0)));
}

static ir_ref area_pdf(tracer *t, const class_node *n, ir_ref record, vec3 ref, vec3 d, ir_ref distance, vec3 normal, vec2 uv)
{
    (void)uv;
    ir_ref data = t_word(t, record, n->extra_word + AREA_SHAPE_DATA), inverse = t_real(t, record, n->extra_word + AREA_INVERSE_AREA);
    return kind_of(n)->pdf(t, data, inverse, ref, d, distance, normal);
}

static const plugin_param area_params[] = {
    {"radiance", PLUGIN_TEXTURED, PLUGIN_EMISSION, "1", 0, 0, "emitted radiance"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "accepted if 1"},
};
const emitter_class emitter_area = {
    .base = {.plugin = {PLUGIN_EMITTER, "area", area_params, 2, NULL, 0, "makes its shape a light"}, .extra_words = AREA_WORDS},
    .on_shape = true,
    .sample = area_sample,
    .radiance = area_radiance,
    .pdf = area_pdf,
};
