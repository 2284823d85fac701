/* SPDX-License-Identifier: BSD-3-Clause
 * Sparse grids, made dense. */
#ifndef BL_SCENE_VOLUME_SPARSE_H
#define BL_SCENE_VOLUME_SPARSE_H

#include "scene/scene.h"

typedef struct sparse_grid {
    const char *format;        /* for messages: "NanoVDB" */
    int64_t first[3], last[3]; /* indices of the box around all active voxels: x, y, z */
    double map[9], origin[3];  /* world = map index + origin; rows of 3 */
    float (*voxel)(void *user, const int32_t index[3]);
    void *user;
} sparse_grid;

/* The voxels of the box and where it is in the world. A voxel's value is the one at its index, as OpenVDB
 * interpolates, so the box reaches half a voxel beyond the outer indices. On failure out has nothing to
 * free. */
bl_result volume_make_dense(const sparse_grid *g, scene_volume *out, bl_error *err);

#endif
