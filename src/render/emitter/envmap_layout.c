/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the numbers of an environment map from where envmap.h says that they stand: texels, weights, sums of
 * the sampling table and its guides. */
#include "render/emitter/envmap.h"

envmap envmap_open(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    envmap m = {
        .width = t_word(t, record, n->extra_word + EXTRA_WIDTH),
        .height = t_word(t, record, n->extra_word + EXTRA_HEIGHT),
    };
    m.cell_rows = ir_sub(f, m.height, t_u32(t, 1));
    m.width_f = ir_to_f32(f, m.width), m.cell_rows_f = ir_to_f32(f, m.cell_rows);
    m.table = plan_table_at(t, n, record);
    m.rows = t_offset(t, m.table, TABLE_ROWS);
    m.cells = ir_add(f, m.rows, m.cell_rows);
    m.weights = ir_add(f, m.cells, ir_mul(f, m.cell_rows, m.width));
    m.row_steps = t_word(t, record, n->extra_word + EXTRA_ROW_STEPS),
    m.cell_steps = t_word(t, record, n->extra_word + EXTRA_CELL_STEPS);
    m.row_guide = ir_add(f, m.weights, ir_mul(f, m.height, m.width));
    m.cell_guides = ir_add(f, m.row_guide, t_offset(t, m.row_steps, 1));
    return m;
}

corners envmap_corners(tracer *t, const envmap *m, ir_ref x0, ir_ref y0)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), next = ir_add(f, x0, one), first = ir_mul(f, y0, m->width),
           second = ir_add(f, first, m->width);
    ir_ref x1 = ir_select(f, ir_lt(f, next, m->width), next, t_u32(t, 0));
    return (corners){
        .index = {ir_add(f, first, x0), ir_add(f, first, x1), ir_add(f, second, x0), ir_add(f, second, x1)}};
}

void envmap_load_weights(tracer *t, const envmap *m, const corners *k, ir_ref c[4])
{
    for (int i = 0; i < 4; i++)
        c[i] = envmap_value(t, ir_add(t->f, m->weights, k->index[i]));
}

ir_ref envmap_texel(tracer *t, const class_node *n, ir_ref record, ir_ref index, uint32_t channel)
{
    ir_ref first = ir_mul(t->f, index, t_u32(t, 3));
    return plan_load(t, n, record, n->extra_word + EXTRA_VALUE, PLAN_DATA_SLOT, t_offset(t, first, channel));
}

ir_ref envmap_row_sum(tracer *t, const envmap *m, ir_ref row)
{
    ir_ref end = ir_mul(t->f, ir_add(t->f, row, t_u32(t, 1)), m->width);
    return envmap_value(t, ir_add(t->f, m->cells, ir_sub(t->f, end, t_u32(t, 1))));
}

ir_ref envmap_guide(tracer *t, const envmap *m, ir_ref row)
{
    return ir_add(t->f, m->cell_guides, ir_mul(t->f, row, t_offset(t, m->cell_steps, 1)));
}
