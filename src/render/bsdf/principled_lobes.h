/* SPDX-License-Identifier: BSD-3-Clause
 * The terms that principled.c and principledthin.c share. They are Disney's (Burley 2012, Physically Based
 * Shading at Disney; Burley 2015, Extending the Disney BRDF to a BSDF with Integrated Subsurface Scattering),
 * in Mitsuba's arrangement. Directions are in the local frame, with wi.z > 0. A term whose weight is a plain
 * 0 that nobody differentiates leaves nothing in the trace (plan_has). The functions themselves detach
 * nothing. */
#ifndef BL_RENDER_PRINCIPLED_LOBES_H
#define BL_RENDER_PRINCIPLED_LOBES_H

#include "render/bsdf/facet.h"
#include "render/bsdf/microfacet.h"

/* Rows of the parameter table that both materials have. */
#define PRINCIPLED_WEIGHT(name, help)                                                                        \
    {                                                                                                        \
        name, PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_PART | PLUGIN_HELD, "0", 0, 1, help                    \
    }
#define PRINCIPLED_PARAMS                                                                                    \
    {"base_color", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE, "0.5", 0, 0, "colour of the material"},              \
        {"roughness", PLUGIN_TEXTURED, PLUGIN_SCALAR | PLUGIN_HELD, "0.5", 0, 1, "of the specular lobes"},   \
        PRINCIPLED_WEIGHT("anisotropic", "0: as rough along the surface's u as along its v"),                \
        PRINCIPLED_WEIGHT("spec_tint", "how much of base_color there is in the dielectric reflection"),      \
        {"sheen", PLUGIN_TEXTURED,      PLUGIN_SCALAR | PLUGIN_PART | PLUGIN_HELD, "0", 0,                   \
         1e6,     "weight of the sheen"},                                                                    \
        PRINCIPLED_WEIGHT("sheen_tint", "how much of base_color there is in the sheen"),                     \
        PRINCIPLED_WEIGHT("flatness", "from the diffuse lobe to an approximation of subsurface scattering")

/* A row for a sampling rate: a factor of the probability with which a lobe is chosen. */
#define PRINCIPLED_RATE(name, help)                                                                          \
    {                                                                                                        \
        name, PLUGIN_FLOAT, 0, "1", 0, 1e6, help                                                             \
    }

/* The hook `needs`: an anisotropic material reads the tangents. */
uint32_t principled_needs(const class_node *n);

/* The value of a textured parameter where it is the same everywhere, or else_one where it varies. */
double principled_constant_or(const scene_object *o, const char *param, double else_one);

/* What the hook directions_move_by_uv returns for lobes that these parameters shape. */
bool principled_turn_by_uv(const scene_object *o, const char *const *params, uint32_t count);

/* The alpha of the specular lobes along x and y: roughness^2 / aspect and roughness^2 * aspect (Burley 2012,
 * section 5.4), each at least 0.001. */
vec2 principled_alpha(const bsdf_context *ctx, ir_ref roughness);

/* (1 - cosine)^5 for a cosine >= 0 (Schlick 1994). */
ir_ref schlick_weight(tracer *t, ir_ref cosine);
/* schlick_weight for reflection between media of relative index eta. The angle is that on the thinner
 * medium's side. The weight is 1 beyond the critical angle. cosine > 0. */
ir_ref schlick_weight_between(tracer *t, ir_ref cosine, ir_ref eta);
/* Schlick's reflectance, f0 + (1 - f0) weight. */
color schlick_reflectance(tracer *t, color f0, ir_ref weight);
/* The reflectance at normal incidence, ((eta - 1) / (eta + 1))^2. */
ir_ref schlick_normal(tracer *t, ir_ref eta);

/* base over its luminance, or white where the luminance is 0. */
color principled_tint(tracer *t, color base);

/* The density of the facet's normal among the normals that wi sees. */
ir_ref principled_normal_pdf(tracer *t, vec2 alpha, const facet *a);

/* Diffuse reflection with retro-reflection (Burley 2012, section 5.3), and its flat variant (Burley 2015,
 * section 4), times base and cos(wo). */
color principled_diffuse(const bsdf_context *ctx, const facet *a, color base, ir_ref roughness);
/* Sheen (Burley 2012, section 5.3) times cos(wo). Only for classes that have it. */
color principled_sheen(const bsdf_context *ctx, const facet *a, color base);

/* The clearcoat, which only `principled` has. The two numbers are its roughness at a gloss of 0 and of 1.
 * principled_coat_alpha2 is the square of the roughness at the point. The distribution D(m) is of Berry's
 * kind (GTR1). Normals are sampled with the density D(m) m.z. The value includes the weight and cos(wo). */
#define PRINCIPLED_COAT_ROUGH 0.1f
#define PRINCIPLED_COAT_GLOSS 0.001f
ir_ref principled_coat_alpha2(const bsdf_context *ctx);
ir_ref principled_coat_distribution(tracer *t, ir_ref alpha2, vec3 m);
vec3 principled_coat_normal(tracer *t, ir_ref alpha2, ir_ref u1, ir_ref u2);
ir_ref principled_coat_value(const bsdf_context *ctx, const facet *a, ir_ref eta);

#endif
