/* SPDX-License-Identifier: BSD-3-Clause
 * Reflection and refraction at smooth interfaces, for every material that has one. Directions are in the
 * local frame. Light is not polarised. */
#ifndef BL_RENDER_FRESNEL_H
#define BL_RENDER_FRESNEL_H

#include "render/classes.h"

typedef struct fresnel {
    ir_ref reflectance;
    ir_ref cos_t; /* z of the transmitted direction, whose sign is opposite to that of cos_i; it is 0 under
                     total reflection */
    ir_ref eta_it, eta_ti; /* the index of the other side over that of wi's side, and its inverse */
} fresnel;

/* The equations between dielectrics. cos_i: z of wi. eta: index below the surface over that above it. */
fresnel fresnel_dielectric(tracer *t, ir_ref cos_i, ir_ref eta);
/* The reflectance of a conductor with the index eta + i k, seen from vacuum at cos_i > 0. Neither eta nor k
 * is negative. */
ir_ref fresnel_conductor(tracer *t, ir_ref cos_i, ir_ref eta, ir_ref k);
vec3 fresnel_reflected(tracer *t, vec3 wi);
/* The hook `lobe_direction` of materials whose discrete lobes are mirrored ones or null lobes. */
vec3 fresnel_mirrored(const bsdf_context *ctx, ir_ref lobe);
vec3 fresnel_refracted(tracer *t, vec3 wi, const fresnel *f);

/* The mean reflectance of diffuse light that comes from below a surface of relative index eta. It is the
 * integral of 2 mu F(mu, 1 / eta). */
ir_ref fresnel_diffuse_internal(tracer *t, ir_ref eta);

/* The index of a glass at a wavelength (glass.c). false: no glass has this name. */
bool glass_index(const char *name, double nm, double *out);
void glass_list(text *names);

/* ior.c makes one parameter "eta" of int_ior over ext_ior. A class that has it as its data parameter reserves
 * INTERFACE_WORDS extra words. Of indices that are curves "eta" is the quotient at the yellow line of helium,
 * 587.56 nm. Where light is spectral, it is the curve's samples, and interface_eta is what it has at the
 * wavelength tracer.wavelengths->bends. A class that takes curves has PLUGIN_CURVE at its indices and
 * interface_disperses. */
enum { INTERFACE_ETA, INTERFACE_GRADIENT, INTERFACE_WORDS };
bool interface_disperses(const render_scene *s, const scene_object *o);
/* turns: the directions of discrete lobes depend on eta. */
bl_result interface_load(render_scene *s, const scene_object *o, bool turns, bl_error *err);
void interface_extra(const plan *p, const scene_object *o, uint32_t *words);
ir_ref interface_eta(tracer *t, const class_node *n, ir_ref record);
/* The value of a smooth interface: the share of the lobe that was sampled, times the texture of that lobe.
 * reflects is a bool that says which lobe. The value is black where delta is false. */
color interface_value(const bsdf_context *ctx, ir_ref reflectance, ir_ref transmittance, ir_ref delta,
                      ir_ref reflects);

#endif
