/* SPDX-License-Identifier: BSD-3-Clause
 * A radiance field that is empty but for a few blocks of 2 x 2 x 2 voxels, before a sky. Its density has
 * cells of 4 voxels, most of which are empty. Blocks stand in corners, at sides and in the middle of cells.
 */
#ifndef TEST_SPARSE_FIELD_H
#define TEST_SPARSE_FIELD_H

#include "base/base.h"

enum { SPARSE_SIDE = 24, SPARSE_VOXELS = SPARSE_SIDE * SPARSE_SIDE * SPARSE_SIDE, SPARSE_CHANNELS = 12 };
enum { SPARSE_DENSITY, SPARSE_SH_COEFFS, SPARSE_PARAMETERS };
extern const char *const sparse_field_parameters[SPARSE_PARAMETERS];

/* integrator: what else stands in the integrator; side: of the film. All values are 0. */
char *sparse_field_xml(arena *a, const char *density_activation, const char *integrator, uint32_t side);
/* Raw densities: `empty` (0 or less), and so much above 0 in the blocks that these are seen. Coefficients:
 * random. */
void sparse_field_density(float empty, float out[SPARSE_VOXELS]);
void sparse_field_coefficients(float *out); /* SPARSE_VOXELS * SPARSE_CHANNELS */

#endif
