/* SPDX-License-Identifier: BSD-3-Clause
 * Rough surfaces of microfacets (Walter, Marschner, Li and Torrance 2007; with two roughnesses Heitz 2014).
 * Directions are in the local frame. alpha is the roughness along x and along y, each at least
 * MICROFACET_LEAST_ALPHA. */
#ifndef BL_RENDER_MICROFACET_H
#define BL_RENDER_MICROFACET_H

#include "render/bsdf/facet.h"

#define MICROFACET_LEAST_ALPHA 1e-4f

typedef enum microfacet_kind { MICROFACET_BECKMANN, MICROFACET_GGX } microfacet_kind;

/* Checks the parameter "distribution", which rough materials share. It is a name in upper or lower case. */
bl_result microfacet_check(const scene_object *o, bl_error *err);
/* Checks "alpha", or "alpha_u" and "alpha_v" in its place. Materials with two roughnesses are a class of
 * their own, so that materials with one roughness are not slower. */
bl_result microfacet_check_alpha(const scene_object *o, bl_error *err);
microfacet_kind microfacet_named(const scene_object *o);
/* The variant of rough classes. Bit 1: the distribution is GGX. Bit 2: only visible normals are sampled. */
uint32_t microfacet_variant(const render_scene *s, const scene_object *o);
/* The parameter "attached" of materials with attached sampling (bsdf_class.attached), and the bits that it
 * sets in their variant. */
#define MICROFACET_ATTACHED_PARAM                                                                            \
    {                                                                                                        \
        "attached", PLUGIN_STRING, 0, "auto", 0, 0,                                                          \
            "gradients follow its samples: never, always, or (auto) where it is smooth"                      \
    }
bl_result microfacet_check_attached(const scene_object *o, bl_error *err);
uint32_t microfacet_attached_choice(const scene_object *o); /* these bits alone: 4 and 8 */
uint32_t microfacet_attached_variant(const render_scene *s, const scene_object *o);
/* The hooks mark, attaches and directions_move_by_uv of materials with alpha, or alpha_u and alpha_v. */
void microfacet_mark(render_scene *s, const scene_object *o);
bool microfacet_attaches(const render_scene *s, const scene_object *o);
bool microfacet_directions_move_by_uv(const scene_object *o);
/* For materials that do not have the parameters alpha, alpha_u and alpha_v as textures: what their hooks
 * `attaches` and `roughness` return. smooth: the object may be smooth enough to be attached. */
bool microfacet_attaches_if(const render_scene *s, const scene_object *o, bool smooth);
ir_ref microfacet_roughness_of(tracer *t, const class_node *n, vec2 alpha);
/* The hook `roughness` of materials that have them. */
ir_ref microfacet_roughness(const bsdf_context *ctx, ir_ref lobe);
/* bool: the material is not attached there, because it is too rough or nothing in the scene attaches. */
ir_ref microfacet_detached(tracer *t, const class_node *n, vec2 alpha);
static inline microfacet_kind microfacet_kind_of(const class_node *n)
{
    return (microfacet_kind)(n->variant & 1);
}
static inline bool microfacet_visible_of(const class_node *n) { return n->variant >> 1 & 1; }
/* The hook `needs`: with two roughnesses the material reads the tangents. */
uint32_t microfacet_needs(const class_node *n);
vec2 microfacet_alpha(const bsdf_context *ctx);

/* A distribution of microfacets and how its normals are sampled. visible: they are sampled among the normals
 * that the direction sees, else among all, in proportion to their area seen along z. */
typedef struct microfacets {
    microfacet_kind kind;
    bool visible;
    vec2 alpha;
} microfacets;
static inline microfacets microfacets_of(const class_node *n, vec2 alpha)
{
    return (microfacets){microfacet_kind_of(n), microfacet_visible_of(n), alpha};
}

/* The density of the normals m over the area they cover, per solid angle and unit of surface. m.z > 0. */
ir_ref microfacet_distribution(tracer *t, microfacet_kind kind, vec2 alpha, vec3 m);
/* The share of the facets of normal m that v sees (Smith). v.z > 0 and v.m > 0. */
ir_ref microfacet_visible(tracer *t, microfacet_kind kind, vec2 alpha, vec3 v);
/* D(m) G(wi) G(wo) / (4 cos wi). This times the reflectance of the facet is the value of the reflection. */
ir_ref microfacet_reflection(tracer *t, microfacet_kind kind, vec2 alpha, const facet *a);
/* A normal to reflect wi about, and its density in solid angle at wi. */
vec3 microfacet_sample(tracer *t, const microfacets *facets, vec3 wi, ir_ref u1, ir_ref u2);
ir_ref microfacet_pdf(tracer *t, const microfacets *facets, vec3 wi, vec3 m);
/* The square root of v. Where derivatives are wanted, v is at least 1e-12, as there is no derivative at 0. */
ir_ref microfacet_root(tracer *t, ir_ref v);

#endif
