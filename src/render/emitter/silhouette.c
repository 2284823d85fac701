/* SPDX-License-Identifier: BSD-3-Clause
 * What the integrator `silhouette` puts on the shapes that it shows, in the place of their lights: radiance
 * 1, on both sides. It is no plugin of a scene, and nothing samples it. */
#include "render/classes.h"

static emitter_sample silhouette_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                        ir_ref u2)
{
    (void)n, (void)record, (void)ref, (void)u1, (void)u2;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    return (emitter_sample){v3(zero, zero, one),  one,           zero, {zero, zero},
                            ir_bool(t->f, false), .n = v3_none()};
}

static color silhouette_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                                 ir_ref facing)
{
    (void)n, (void)record, (void)uv, (void)distance, (void)facing;
    return color_all(t_f32(t, 1));
}

static ir_ref silhouette_number(tracer *t, const class_node *n, ir_ref record)
{
    (void)n, (void)record;
    return t_f32(t, 1);
}

static ir_ref silhouette_pdf(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    (void)n, (void)record, (void)hit;
    return t_f32(t, 0);
}

static const plugin_param silhouette_params[] = {
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "of no effect"},
};
const emitter_class light_silhouette = {
    .base = {.plugin = {PLUGIN_EMITTER, "silhouette", PLUGIN_TABLE(silhouette_params),
                        PLUGIN_TABLE(emitter_slots), "what the integrator silhouette shows"},
             .extra_words = AREA_WORDS},
    .on_shape = true,
    .sample = silhouette_sample,
    .radiance = silhouette_radiance,
    .pdf = silhouette_pdf,
    .power = silhouette_number,
};
