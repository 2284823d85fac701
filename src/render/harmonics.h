/* SPDX-License-Identifier: BSD-3-Clause
 * Real spherical harmonics, with the order and signs of Mitsuba's sh_eval: functions l, m at l l + l + m, and
 * the sign (-1)^m (Sloan 2013, "Efficient Spherical Harmonic Evaluation"). */
#ifndef BL_RENDER_HARMONICS_H
#define BL_RENDER_HARMONICS_H

#include "render/trace.h"

enum { HARMONICS_DEGREE = 3, HARMONICS_MOST = (HARMONICS_DEGREE + 1) * (HARMONICS_DEGREE + 1) };

/* The functions of degrees 0 to `degree` at a unit vector: (degree + 1)^2 of them. */
void harmonics(tracer *t, vec3 d, uint32_t degree, ir_ref *out);

#endif
