/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/sparse_field.h"
#include "support/scene_cases.h"

const char *const sparse_field_parameters[SPARSE_PARAMETERS] = {"field.density.data", "field.sh_coeffs.data"};

/* x, y, z of the first voxel of each block: corners and sides of cells, sides of the grid, the middle of a
 * cell, two cells at once. */
static const uint8_t blocks[][3] = {{4, 4, 4}, {6, 8, 12}, {12, 15, 3},  {22, 1, 10},
                                    {9, 9, 9}, {8, 16, 8}, {15, 12, 15}, {13, 6, 22}};

/* The cube nearly fills the film. */
static const char sensor[] =
    "<sensor type='perspective'><float name='fov' value='19'/><transform name='to_world'><lookat "
    "origin='3,-4,2.5' target='0,0,.3' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "
    "value='%u'/><integer name='height' value='%u'/><rfilter type='box'/></film></sensor>";

char *sparse_field_xml(arena *a, const char *density_activation, const char *integrator, uint32_t side)
{
    char *march = arena_printf(a, "<integrator type='radiance_field'>%s</integrator>", integrator);
    char *body = arena_printf(
        a,
        "<field type='sh_field' id='field'><transform name='to_world'><translate "
        "value='-.5,-.5,-.4'/><rotate "
        "x='1' y='.4' z='.2' angle='25'/><scale value='1.9,1.6,1.7'/></transform><string "
        "name='density_activation' value='%s'/><string name='color_activation' value='sigmoid'/><volume "
        "type='gridvolume' name='density'><string name='resolution' value='%d'/></volume><volume "
        "type='gridvolume' name='sh_coeffs'><string name='resolution' value='%d'/><integer name='channels' "
        "value='%d'/></volume></field><emitter type='constant' id='sky'><rgb name='radiance' "
        "value='.7,.9,1.2'/></emitter>",
        density_activation, SPARSE_SIDE, SPARSE_SIDE, SPARSE_CHANNELS);
    return scene_xml(a, march, arena_printf(a, sensor, side, side), body);
}

void sparse_field_density(float empty, float out[SPARSE_VOXELS])
{
    for (uint32_t i = 0; i < SPARSE_VOXELS; i++)
        out[i] = empty;
    for (uint32_t k = 0; k < 8 * sizeof blocks / sizeof *blocks; k++) {
        const uint8_t *at = blocks[k / 8];
        uint32_t x = at[0] + (k & 1), y = at[1] + (k >> 1 & 1), z = at[2] + (k >> 2 & 1);
        out[(z * SPARSE_SIDE + y) * SPARSE_SIDE + x] = 2 + (float)(k % 8) - 2 * empty;
    }
}

void sparse_field_coefficients(float *out)
{
    uint32_t state = 3;
    for (uint32_t i = 0; i < SPARSE_VOXELS * SPARSE_CHANNELS; i++)
        out[i] = (float)(4 * scene_random(&state) - 2);
}
