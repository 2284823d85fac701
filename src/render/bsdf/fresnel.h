/* SPDX-License-Identifier: BSD-3-Clause
 * Reflection and refraction at smooth interfaces, for every material that has one. Local frame; unpolarised light. */
#ifndef BL_RENDER_FRESNEL_H
#define BL_RENDER_FRESNEL_H

#include "render/classes.h"

typedef struct fresnel {
    ir_ref reflectance;
    ir_ref cos_t;          /* z of the transmitted direction: the sign is opposite to that of cos_i; 0 under total reflection */
    ir_ref eta_it, eta_ti; /* index of the other side over that of wi's side, and the inverse */
} fresnel;

/* Between dielectrics. cos_i: z of wi. eta: index below the surface over that above it. */
fresnel fresnel_dielectric(tracer *t, ir_ref cos_i, ir_ref eta);
/* Reflectance of a conductor with index eta + i k, neither negative, seen from vacuum at cos_i > 0. */
ir_ref fresnel_conductor(tracer *t, ir_ref cos_i, ir_ref eta, ir_ref k);
vec3 fresnel_reflected(tracer *t, vec3 wi);
vec3 fresnel_refracted(tracer *t, vec3 wi, const fresnel *f);

/* ior.c: the index of refraction that a FLOAT_OR_NAME parameter gives. */
bl_result ior_read(const scene_object *o, const char *param, double *out, bl_error *err);

/* conductor.c: an error for a named material, and for one beside eta or k. */
bl_result conductor_check_material(const scene_object *o, bl_error *err);

#endif
