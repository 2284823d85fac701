/* SPDX-License-Identifier: BSD-3-Clause
 * Voxels of a grid of distances: samples, the interpolant, and maps between the grid and the world. */
#include "render/shape/sdfgrid.h"

ir_ref sdf_sample(tracer *t, ir_ref data, ir_ref x, ir_ref y, ir_ref z)
{
    ir_func *f = t->f;
    ir_ref row = ir_add(f, ir_mul(f, z, t_word(t, data, SDF_SIZE + 1)), y);
    return t_offset(t, ir_add(f, data, ir_add(f, ir_mul(f, row, t_word(t, data, SDF_SIZE)), x)), SDF_VALUES);
}

void sdf_polynomial(tracer *t, ir_ref data, const ir_ref voxel[3], ir_ref k[8])
{
    ir_func *f = t->f;
    for (uint32_t i = 0; i < 8; i++) {
        ir_ref corner[3];
        for (uint32_t axis = 0; axis < 3; axis++)
            corner[axis] = ir_add(f, voxel[axis], t_u32(t, i >> axis & 1));
        k[i] = t_real(t, sdf_sample(t, data, corner[0], corner[1], corner[2]), 0);
    }
    for (uint32_t bit = 1; bit < 8; bit *= 2)
        for (uint32_t i = 0; i < 8; i++)
            if (i & bit)
                k[i] = ir_sub(f, k[i], k[i ^ bit]);
}

vec3 sdf_to_grid(tracer *t, ir_ref data, vec3 v, bool point)
{
    ir_ref out[3];
    for (uint32_t row = 0; row < 3; row++) {
        out[row] = v3_dot(t, v3_load(t, data, SDF_TO_GRID + 4 * row), v);
        if (point)
            out[row] = ir_add(t->f, out[row], t_real(t, data, SDF_TO_GRID + 4 * row + 3));
    }
    return vec3_at(out);
}

vec3 sdf_normal(tracer *t, ir_ref data, vec3 g)
{
    vec3 x = v3_load(t, data, SDF_TO_GRID), y = v3_load(t, data, SDF_TO_GRID + 4),
         z = v3_load(t, data, SDF_TO_GRID + 8);
    return v3_normalize(t,
                        v3_add(t, v3_scale(t, x, g.x), v3_add(t, v3_scale(t, y, g.y), v3_scale(t, z, g.z))));
}
