/* SPDX-License-Identifier: BSD-3-Clause
 * The two distributions of light that a hair's lobes are products of: along the fibre and around it. theta is the angle to the fibre's normal plane,
 * phi the azimuth in it; the solid angle is cos(theta) dtheta dphi, so a lobe is longitudinal times azimuthal. */
#ifndef BL_RENDER_HAIR_LOBES_H
#define BL_RENDER_HAIR_LOBES_H

#include "render/classes.h"

/* M of the variance v (d'Eon, Francois, Hill, Letteri and Aubry 2011, An Energy-Conserving Hair Reflectance Model, equation 7): the integral over
 * sin(theta_o) is 1. Scattering is about the cone theta_o = -theta_i. */
ir_ref hair_longitudinal(tracer *t, ir_ref v, vec2 wi, vec2 wo); /* x, y: sine and cosine of theta */
/* sin(theta_o) with that density (d'Eon, Marschner and Hanika 2013, Importance Sampling for Physically-Based Hair Fiber Models, section 4.1). */
ir_ref hair_longitudinal_sample(tracer *t, ir_ref v, vec2 wi, ir_ref u1, ir_ref u2);

/* Logistic distribution of the scale s, trimmed to [-pi, pi], of an angle that may lie some turns off (Chiang, Bitterli, Tappan and Burley 2016, A
 * Practical and Controllable Hair and Fur Model for Production Path Tracing, section 4.2). */
ir_ref hair_azimuthal(tracer *t, ir_ref s, ir_ref angle);
ir_ref hair_azimuthal_sample(tracer *t, ir_ref s, ir_ref u);

#endif
