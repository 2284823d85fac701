/* SPDX-License-Identifier: BSD-3-Clause
 * Which light a vertex samples, where not all have the same probability: by a table (light_table.c), or by a
 * tree over the lights (light_tree.c), which takes the table for a part of the samples. Detached, like all
 * choices (docs/theory/detached_replay.md). */
#include "render/integrator/derived/derived.h"

uint32_t light_choice_functions(const plan *p)
{
    return p->lights_tree ? LIGHT_STEP_NODES + 1 : p->lights_tabled ? LIGHT_STEP_SUM + 1 : 0;
}

ir_ref light_choice_probability(tracer *t, const vec3 *from, ir_ref light)
{
    return from && t->plan->lights_tree ? light_tree_probability(t, *from, light)
                                        : light_table_probability(t, light);
}

ir_ref light_choice_sample(tracer *t, const vec3 *from, ir_ref u, ir_ref *probability)
{
    if (from && t->plan->lights_tree)
        return light_tree_sample(t, *from, u, probability);
    ir_ref light = light_table_sample(t, u);
    *probability = light_table_probability(t, light);
    return light;
}

ir_func *light_choice_step(ir_module *m, const plan *p, enum light_step step)
{
    static const char *const names[] = {"light_weights", "light_sum", "light_leaves", "light_nodes"};
    ir_func *f = ir_func_create(m, names[step]);
    tracer t = plan_tracer(p, f);
    ir_ref record = ir_param(f, IR_U32), id = ir_param(f, IR_U32);
    if (step <= LIGHT_STEP_SUM)
        light_table_step(&t, step, id);
    else
        light_tree_step(&t, step, record, id);
    ir_return(f, NULL, 0);
    return f;
}
