/* SPDX-License-Identifier: BSD-3-Clause
 * Voxels of a grid of distances: samples, and the interpolant. */
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
