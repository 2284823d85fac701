/* SPDX-License-Identifier: BSD-3-Clause
 * The two distributions of light that a hair's lobes are products of: along the fibre and around it. theta is
 * the angle to the fibre's normal plane, phi the azimuth in it; the solid angle is cos(theta) dtheta dphi, so
 * a lobe is longitudinal times azimuthal. */
#ifndef BL_RENDER_HAIR_LOBES_H
#define BL_RENDER_HAIR_LOBES_H

#include "render/classes.h"

/* How wide a distribution is, in the form that evaluating it needs: 1 over its variance or scale, and the
 * factor that makes its integral 1. */
typedef struct hair_width {
    ir_ref inverse, norm;
} hair_width;
hair_width hair_along(tracer *t, ir_ref variance);
hair_width hair_around(tracer *t, ir_ref scale);

/* M (d'Eon, Francois, Hill, Letteri and Aubry 2011, An Energy-Conserving Hair Reflectance Model, equation 7):
 * its integral over sin(theta_o) is 1. Scattering is about the cone theta_o = -theta_i. wi, wo: sine and
 * cosine of theta. */
ir_ref hair_longitudinal(tracer *t, hair_width along, vec2 wi, vec2 wo);
/* sin(theta_o) with that density (d'Eon, Marschner and Hanika 2013, Importance Sampling for Physically-Based
 * Hair Fiber Models, section 4.1). */
ir_ref hair_longitudinal_sample(tracer *t, hair_width along, vec2 wi, ir_ref u1, ir_ref u2);

/* Logistic distribution, trimmed to [-pi, pi], of an angle that may lie some turns off (Chiang, Bitterli,
 * Tappan and Burley 2016, A Practical and Controllable Hair and Fur Model for Production Path Tracing,
 * section 4.2). */
ir_ref hair_azimuthal(tracer *t, hair_width around, ir_ref angle);
ir_ref hair_azimuthal_sample(tracer *t, hair_width around, ir_ref u);

#endif
