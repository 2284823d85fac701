/* SPDX-License-Identifier: BSD-3-Clause
 * Grids of distances (shape/sdfgrid.c): their words, voxels (shape/sdf_voxel.c), and silhouettes
 * (shape/sdf_silhouette.c). */
#ifndef BL_RENDER_SHAPE_SDFGRID_H
#define BL_RENDER_SHAPE_SDFGRID_H

#include "render/shape/silhouette.h"

enum sdf_word {
    SDF_TO_GRID /* maps the world to samples: 3 rows of 4 */,
    SDF_SIZE = 12,
    SDF_SMOOTH = 15,
    SDF_VALUES,
    SDF_WORDS = SDF_VALUES
};
/* Words of an entry. */
enum { SDF_ENTRY_DATA, SDF_ENTRY_VOXEL /* three words: x, y, z */ };

/* The word of the sample (x, y, z). */
ir_ref sdf_sample(tracer *t, ir_ref data, ir_ref x, ir_ref y, ir_ref z);
/* The coefficients of the interpolant of a voxel: it is the sum of k[i] times the product of those
 * coordinates whose bits i has. */
void sdf_polynomial(tracer *t, ir_ref data, const ir_ref voxel[3], ir_ref k[8]);

/* Hooks (shape_kind_class). */
silhouette_point sdf_silhouette(tracer *t, const silhouette_query *at);
void sdf_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out);

#endif
