/* SPDX-License-Identifier: BSD-3-Clause
 * Every class of the renderer, for the registry and for those who refer to one by name; and helpers that several classes share. */
#ifndef BL_RENDER_CLASSES_H
#define BL_RENDER_CLASSES_H

#include "render/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const texture_class texture_constant, texture_bitmap, texture_checkerboard, texture_mesh_attribute;
extern const bsdf_class bsdf_blend, bsdf_conductor, bsdf_dielectric, bsdf_diffuse, bsdf_hair, bsdf_mask, bsdf_null, bsdf_plastic,
    bsdf_principled, bsdf_principledthin, bsdf_roughconductor, bsdf_roughdielectric, bsdf_roughplastic, bsdf_thindielectric, bsdf_twosided;
extern const emitter_class emitter_area, emitter_point, emitter_spot, emitter_directional, emitter_directionalarea, emitter_constant, emitter_envmap,
    emitter_projector;
extern const shape_class shape_rectangle, shape_cube, shape_obj, shape_ply, shape_serialized, shape_sphere, shape_disk, shape_cylinder, shape_merge,
    shape_shapegroup, shape_instance;
extern const filter_class filter_box, filter_tent, filter_gaussian;
extern const render_class sensor_perspective, film_hdrfilm, sampler_independent, integrator_path, integrator_direct, integrator_prb,
    integrator_moment,
    class_scene;

vec2 texture_transform(tracer *t, ir_ref record, uint32_t word, vec2 uv);
void texture_transform_words(const scene_object *o, uint32_t *words);

/* The tracing functions behind a node. */
static inline const bsdf_class *bsdf_of(const class_node *n) { return (const bsdf_class *)n->cls; }
static inline const emitter_class *emitter_of(const class_node *n) { return (const emitter_class *)n->cls; }

/* The `pdf` of materials that have discrete lobes only. */
ir_ref bsdf_no_density(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv);

/* The `pdf` of lights that no ray meets. */
ir_ref emitter_no_density(tracer *t, const class_node *n, ir_ref record, vec3 ref, vec3 d, ir_ref distance, vec3 normal, vec2 uv);
/* What a gradient by a light's place lacks (render_parameter.reason). */
extern const char emitter_moving_shadows[];

static inline uint32_t float_word(float v)
{
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

#endif
