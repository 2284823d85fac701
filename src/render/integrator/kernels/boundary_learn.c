/* SPDX-License-Identifier: BSD-3-Clause
 * The step between the two runs of a pass of edges: what the first has left for each cell becomes the table
 * by which the second chooses (boundary/guide.c). One lane, so the sums have one order. */
#include "render/integrator/kernels/boundary.h"

bl_result kernel_edges_learn(const plan *p, ir_module *m)
{
    ir_func *f = ir_func_create(m, "edges learn");
    tracer t = {.f = f, .plan = p};
    m->entry = f;
    m->buffers.data[BUFFER_VALUES].constant = false;
    ir_if(f, ir_lt(f, ir_global_id(f), ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    boundary_learn(&t, ir_uniform(f, IR_U32, UNIFORM_TABLE_STEP));
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}
