/* SPDX-License-Identifier: BSD-3-Clause
 * The step between the two runs of a pass of edges: what the first has left for each cell becomes the table
 * by which the second chooses (boundary/guide.c). It runs in LEARN_STEPS steps; step k of a table has its
 * number and k times EDGE_TABLES. Sums have one order: that of cells in a lane, and that of lanes. */
#include "render/integrator/kernels/boundary.h"

bl_result kernel_edges_learn(const plan *p, ir_module *m)
{
    ir_func *f = ir_func_create(m, "edges learn");
    tracer t = plan_tracer(p, f);
    m->entry = f;
    m->buffers.data[BUFFER_VALUES].constant = false;
    ir_if(f, ir_lt(f, ir_global_id(f), ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    ir_ref step = ir_uniform(f, IR_U32, UNIFORM_TABLE_STEP), tables = t_u32(&t, EDGE_TABLES);
    ir_ref kind = ir_div(f, step, tables), which = ir_sub(f, step, ir_mul(f, kind, tables));
    ir_if(f, ir_eq(f, kind, t_u32(&t, LEARN_ADD_UP)));
    boundary_add_up(&t, which, ir_global_id(f));
    ir_else(f);
    ir_if(f, ir_eq(f, kind, t_u32(&t, LEARN_TABLE)));
    boundary_learn(&t, which, ir_global_id(f));
    ir_else(f);
    boundary_add_variance(&t, which);
    ir_endif(f);
    ir_endif(f);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}
