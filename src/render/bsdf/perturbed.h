/* SPDX-License-Identifier: BSD-3-Clause
 * Materials whose normal is turned by a texture: normalmap.c and bumpmap.c. perturbed.c says how. */
#ifndef BL_RENDER_BSDF_PERTURBED_H
#define BL_RENDER_BSDF_PERTURBED_H

#include "render/classes.h"

struct perturbed_class {
    bsdf_class bsdf;
    /* The new normal in the frame of the shading normal, of unit length. May run differentiated. */
    vec3 (*normal)(const bsdf_context *ctx);
};

/* The functions that every perturbed_class has. The nested material is its only child. */
bsdf_sample perturbed_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2);
ir_ref perturbed_pdf(const bsdf_context *ctx, vec3 wo);
color perturbed_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe);
bsdf_polarized perturbed_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe);
vec3 perturbed_lobe_direction(const bsdf_context *ctx, ir_ref lobe);
ir_ref perturbed_lobe_eta(const bsdf_context *ctx, ir_ref lobe);
bsdf_attached perturbed_attached(const bsdf_context *ctx, const bsdf_draw *draw);
bool perturbed_directions_move_by_uv(const scene_object *o);
ir_ref perturbed_roughness(const bsdf_context *ctx, ir_ref lobe);
uint32_t perturbed_variant(const render_scene *s, const scene_object *o);
void perturbed_mark(render_scene *s, const scene_object *o);
uint32_t perturbed_needs(const class_node *n);                                     /* tangents */
static const plugin_slot perturbed_slots[] = {{PLUGIN_BSDF, "nested_bsdf", 1, 1}}; /* the nested material */
#define PERTURBED_PARAMS                                                                                     \
    {                                                                                                        \
        "flip_invalid_normals",                                                                              \
        PLUGIN_BOOLEAN,                                                                                      \
        0,                                                                                                   \
        "true",                                                                                              \
        0,                                                                                                   \
        0,                                                                                                   \
        "turn normals that face away from the viewer"},                                                      \
    {                                                                                                        \
        "use_shadowing_function", PLUGIN_BOOLEAN, 0, "true", 0, 0,                                           \
            "darken grazing light as a rough surface would"                                                  \
    }

#endif
