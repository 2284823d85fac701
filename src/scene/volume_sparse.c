/* SPDX-License-Identifier: BSD-3-Clause
 * See volume_sparse.h. Boxes come from files: sides and allocations are bounded before anything is read. */
#include "scene/volume_sparse.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE_MOST = 1 << 14, DENSE_MOST = 1 << 28 /* voxels */ };

static bl_result place(const sparse_grid *g, scene_volume *out, bl_error *err)
{
    uint64_t count = 1;
    for (int k = 0; k < 3; k++) {
        if (g->last[k] < g->first[k] || g->last[k] - g->first[k] >= SIDE_MOST)
            return error_set(err, BL_ERROR_FORMAT,
                             "the %s grid has no active voxels, or more than %d along an axis", g->format,
                             SIDE_MOST);
        out->size[k] = (uint32_t)(g->last[k] - g->first[k] + 1);
        count *= out->size[k];
    }
    if (count > DENSE_MOST)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "the %s grid has %ju voxels in its box, more than the limit of 2^28", g->format,
                         (uintmax_t)count);
    for (int r = 0; r < 3; r++) {
        double offset = g->origin[r];
        for (int k = 0; k < 3; k++) {
            offset += g->map[3 * r + k] * ((double)g->first[k] - 0.5);
            out->box[4 * r + k] = (float)(g->map[3 * r + k] * out->size[k]);
        }
        out->box[4 * r + 3] = (float)offset;
    }
    for (int k = 0; k < 12; k++)
        if (!isfinite(out->box[k]))
            return error_set(err, BL_ERROR_FORMAT, "the transform of the %s grid is not finite", g->format);
    return BL_OK;
}

static bl_result fill(const sparse_grid *g, float *value, bl_error *err)
{
    int32_t at[3];
    for (at[2] = (int32_t)g->first[2]; at[2] <= g->last[2]; at[2]++)
        for (at[1] = (int32_t)g->first[1]; at[1] <= g->last[1]; at[1]++)
            for (at[0] = (int32_t)g->first[0]; at[0] <= g->last[0]; at[0]++, value++) {
                *value = g->voxel(g->user, at);
                if (!isfinite(*value))
                    return error_set(err, BL_ERROR_FORMAT,
                                     "voxel (%d, %d, %d) of the %s grid is not a finite number", at[0], at[1],
                                     at[2], g->format);
            }
    return BL_OK;
}

bl_result volume_make_dense(const sparse_grid *g, scene_volume *out, bl_error *err)
{
    *out = (scene_volume){.channels = 1};
    TRY(place(g, out, err));
    size_t count = (size_t)out->size[0] * out->size[1] * out->size[2];
    TRY(budget_take(BUDGET_VOXELS, count, err));
    out->values = memory_alloc(count * sizeof *out->values);
    if (!out->values)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for a volume of %zu values", count);
    bl_result r = fill(g, out->values, err);
    if (r != BL_OK)
        volume_free(out);
    return r;
}
