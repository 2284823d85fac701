/* SPDX-License-Identifier: BSD-3-Clause
 * The step between the two runs of a pass of edges: what the first has left for each cell becomes the table
 * by which the second chooses (boundary/guide.c). It runs twice: to add up, with the number of the table, and
 * to write the table, with EDGE_TABLES more. Sums have one order: that of cells in a lane, and that of lanes.
 */
#include "render/integrator/kernels/boundary.h"

bl_result kernel_edges_learn(const plan *p, ir_module *m)
{
    ir_func *f = ir_func_create(m, "edges learn");
    tracer t = plan_tracer(p, f);
    m->entry = f;
    m->buffers.data[BUFFER_VALUES].constant = false;
    ir_if(f, ir_lt(f, ir_global_id(f), ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    ir_ref step = ir_uniform(f, IR_U32, UNIFORM_TABLE_STEP), tables = t_u32(&t, EDGE_TABLES);
    ir_if(f, ir_lt(f, step, tables));
    boundary_add_up(&t, step, ir_global_id(f));
    ir_else(f);
    boundary_learn(&t, ir_sub(f, step, tables), ir_global_id(f));
    ir_endif(f);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}
