/* SPDX-License-Identifier: BSD-3-Clause
 * Sampling tables (plan.h): one small kernel for all steps of all classes. A dispatch runs one step of one
 * instance, which its uniforms name. The plan lists the dispatches in the order in which they must run.
 *
 * Invariant: tables are detached. Nothing is differentiated here, and frozen evaluations read the tables of
 * the values that decide the path (docs/theory/derived_quantities.md). */
#include "render/integrator/derived/derived.h"

static ir_func *make_step(ir_module *m, const plan *p, const class_node *n, uint32_t step)
{
    BL_ASSERT(n->cls->table_step, "%s has sampling tables and no steps", n->cls->plugin.name);
    ir_func *f = ir_func_create(m, n->cls->plugin.name);
    tracer of_plan = plan_tracer(p, f), t = light_off_path(&of_plan);
    ir_ref record = ir_param(f, IR_U32), id = ir_param(f, IR_U32);
    n->cls->table_step(&t, n, record, step, id);
    ir_return(f, NULL, 0);
    return f;
}

bl_result kernel_tables(const plan *p, ir_module *m)
{
    uint32_t count = 0, made = 0;
    for (uint32_t i = 0; i < p->tables.count; i++)
        count += p->tables.data[i]->cls->table_steps;
    count += light_choice_functions(p);
    BL_ASSERT(count > 0, "%u classes with sampling tables", p->tables.count);
    m->buffers.data[BUFFER_VALUES].constant = false;
    ir_func **functions = arena_alloc(&m->arena, count * sizeof(ir_func *));
    for (uint32_t step = 0; step < light_choice_functions(p); step++)
        functions[made++] = light_choice_step(m, p, step);
    for (uint32_t i = 0; i < p->tables.count; i++)
        for (uint32_t step = 0; step < p->tables.data[i]->cls->table_steps; step++)
            functions[made++] = make_step(m, p, p->tables.data[i], step);
    ir_func *f = ir_func_create(m, "tables");
    m->entry = f;
    ir_ref id = ir_global_id(f), args[2] = {ir_uniform(f, IR_U32, UNIFORM_TABLE_RECORD), id};
    ir_if(f, ir_lt(f, id, ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    ir_call(f, ir_uniform(f, IR_U32, UNIFORM_TABLE_STEP), functions, count, args, 2, NULL);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}
