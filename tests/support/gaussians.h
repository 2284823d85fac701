/* SPDX-License-Identifier: BSD-3-Clause
 * Random ellipsoids that emit, for tests: their files in both forms, and what a ray sees of them, composited
 * in double precision by a sort. */
#ifndef TEST_GAUSSIANS_H
#define TEST_GAUSSIANS_H

#include "base/base.h"

enum { GAUSSIANS_MOST = 64, GAUSSIAN_HARMONICS = 16 };

/* Raw values, as files of 3D Gaussian splatting have them. */
typedef struct gaussians {
    uint32_t count, coefficients; /* of a colour: 1, 4, 9 or 16 */
    double center[GAUSSIANS_MOST][3], log_scale[GAUSSIANS_MOST][3];
    double rotation[GAUSSIANS_MOST][4]; /* real part first, of any length */
    double logit[GAUSSIANS_MOST];
    double harmonics[GAUSSIANS_MOST][GAUSSIAN_HARMONICS][3];
} gaussians;

/* Values that files in f32 hold exactly. size: of a typical deviation. */
gaussians gaussians_random(uint32_t count, uint32_t degree, double size, uint32_t seed);
/* Writes an ascii PLY. plain: with opacities and sh_coeffs as they are used, else as trained files have them.
 */
bl_result gaussians_write(const gaussians *g, bool plain, const char *path, bl_error *err);

/* How kernels are seen. */
typedef struct gaussian_view {
    double extent;
    bool adaptive, srgb;
    int32_t max_depth; /* -1: unbounded */
} gaussian_view;

/* Values as the arrays of a scene have them, in the order of these: data [10], sh_coeffs, opacities. */
uint32_t gaussians_value_count(const gaussians *g);
void gaussians_values(const gaussians *g, double *values);
/* What comes along a ray. values: as gaussians_values. visited: NULL, or the number of kernels. */
void gaussians_radiance(const double *values, uint32_t count, uint32_t coefficients, gaussian_view view,
                        const double o[3], const double d[3], double rgb[3], uint32_t *visited);

#endif
