/* SPDX-License-Identifier: BSD-3-Clause
 * Heights in place of positions: what the words at MESH_HEIGHTS say of a mesh (enum heights_word). */
#include "render/classes.h"

bool heights_array(const render_scene *s, const render_shape *shape, mesh_positions *out)
{
    const uint32_t at = s->geometry.data[shape->data + MESH_HEIGHTS];
    if (!at)
        return false;
    const uint32_t columns = s->geometry.data[at + HEIGHTS_COLUMNS];
    *out = (mesh_positions){"heights", 3, {shape->vertex_count / columns, columns, 1}, at + HEIGHTS_VALUES};
    return true;
}

vec3 heights_vertex(tracer *t, ir_ref grid, ir_ref index, ir_ref height)
{
    ir_func *f = t->f;
    ir_ref columns = ir_max(f, t_word(t, grid, HEIGHTS_COLUMNS), t_u32(t, 1)),
           row = ir_div(f, index, columns), column = ir_sub(f, index, ir_mul(f, row, columns));
    vec3 p = v3_add(t, v3_load(t, grid, HEIGHTS_ORIGIN),
                    v3_add(t, v3_scale(t, v3_load(t, grid, HEIGHTS_COLUMN), ir_to_f32(f, column)),
                           v3_scale(t, v3_load(t, grid, HEIGHTS_ROW), ir_to_f32(f, row))));
    return v3_add(t, p, v3_scale(t, v3_load(t, grid, HEIGHTS_AXIS), height));
}
