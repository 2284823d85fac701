/* SPDX-License-Identifier: BSD-3-Clause
 * The slopes of a Beckmann surface whose roughness has been scaled away. Slopes x and y have the density
 * e^(-x^2 - y^2) / pi. A direction has the part `sine` along x and the part `mu` along the normal. The two
 * together need not have unit length. From there, slopes x up to mu / sine are seen, in proportion to
 * mu - sine x (Heitz and d'Eon 2014, equation 2). */
#ifndef BL_RENDER_BECKMANN_H
#define BL_RENDER_BECKMANN_H

#include "render/trace.h"

#define BECKMANN_FAR 3.5f /* larger slopes hardly exist: e^(-FAR^2) = 5e-6 */

/* The largest slope that is seen, at most BECKMANN_FAR. */
ir_ref beckmann_edge(tracer *t, ir_ref sine, ir_ref mu);
/* The integral of (mu - sine x) e^(-x^2) over x up to `last`. `last` is not negative. */
ir_ref beckmann_area(tracer *t, ir_ref sine, ir_ref mu, ir_ref last);
/* Slopes x and y, made of two uniform numbers, with the density with which they are seen. */
vec2 beckmann_slopes(tracer *t, ir_ref sine, ir_ref mu, ir_ref u1, ir_ref u2);

#endif
