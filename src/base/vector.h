/* SPDX-License-Identifier: BSD-3-Clause
 * Vectors of three doubles, on the host. In kernels they are vec3 (render/trace.h). */
#ifndef BL_BASE_VECTOR_H
#define BL_BASE_VECTOR_H

static inline double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* out may be a or b. */
static inline void cross3(const double a[3], const double b[3], double out[3])
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    for (int k = 0; k < 3; k++)
        out[k] = c[k];
}

#endif
