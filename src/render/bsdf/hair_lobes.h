/* SPDX-License-Identifier: BSD-3-Clause
 * The two distributions of light, along the fibre and around it, whose products are the lobes of hair. theta
 * is the angle to the fibre's normal plane, and phi is the azimuth in that plane. The solid angle is
 * cos(theta) dtheta dphi, so that a lobe is the longitudinal distribution times the azimuthal one. */
#ifndef BL_RENDER_HAIR_LOBES_H
#define BL_RENDER_HAIR_LOBES_H

#include "render/classes.h"
#include "render/spectrum/spectrum.h"

/* The width of a distribution in the form in which evaluation needs it: 1 over its variance or scale, and the
 * factor that makes its integral 1. */
typedef struct hair_width {
    ir_ref inverse, norm;
} hair_width;
hair_width hair_along(tracer *t, ir_ref variance);
hair_width hair_around(tracer *t, ir_ref scale);

/* M of d'Eon, Francois, Hill, Letteri and Aubry 2011, An Energy-Conserving Hair Reflectance Model,
 * equation 7. Its integral over sin(theta_o) is 1. Light scatters about the cone theta_o = -theta_i. wi, wo:
 * the sine and the cosine of theta. */
ir_ref hair_longitudinal(tracer *t, hair_width along, vec2 wi, vec2 wo);
/* Samples sin(theta_o) with that density (d'Eon, Marschner and Hanika 2013, Importance Sampling for
 * Physically-Based Hair Fiber Models, section 4.1). */
ir_ref hair_longitudinal_sample(tracer *t, hair_width along, vec2 wi, ir_ref u1, ir_ref u2);

/* The logistic distribution and its samples, trimmed to [-pi, pi] (Chiang, Bitterli, Tappan and Burley 2016,
 * A Practical and Controllable Hair and Fur Model for Production Path Tracing, section 4.2). The angle may
 * lie some turns off that range. */
ir_ref hair_azimuthal(tracer *t, hair_width around, ir_ref angle);
ir_ref hair_azimuthal_sample(tracer *t, hair_width around, ir_ref u);

/* hair_pigments.c: the absorption per radius by concentrations of the brown pigment, eumelanin, and the red
 * one, pheomelanin. */
color hair_absorption(tracer *t, ir_ref brown, ir_ref red);

#endif
