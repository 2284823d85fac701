/* SPDX-License-Identifier: BSD-3-Clause
 * Rotations given by a vector: about its direction, by its length in radians (Rodrigues' formula). */
#ifndef BL_RENDER_ROTATION_H
#define BL_RENDER_ROTATION_H

#include "render/trace.h"

void rotation_matrix(const double radians[3], double out[3][3]); /* out[row][column] */
/* The images of the three axes. They have derivatives at 0, and there they are exactly the axes. */
void rotation_columns(tracer *t, vec3 radians, vec3 out[3]);

#endif
