/* SPDX-License-Identifier: BSD-3-Clause
 * What is computed from parameters before and after passes: derived values, sampling tables, the table by
 * which lights are chosen, geometry after a change. */
#ifndef BL_RENDER_DERIVED_H
#define BL_RENDER_DERIVED_H

#include "render/integrator/walk/kernel.h"

/* ---- update.c: derived values, their gradients and their tangents ---- */

bl_result kernel_update(const plan *p, ir_module *m);
bl_result kernel_update_adjoint(const plan *p, ir_module *m, bool fixed_point);
bl_result kernel_update_tangent(const plan *p, ir_module *m);
/* An element of BUFFER_GRADIENT as a number. */
ir_ref gradient_number(tracer *t, ir_ref element, bool fixed_point);

/* ---- sampling_tables.c ---- */

bl_result kernel_tables(const plan *p, ir_module *m);

/* ---- geometry.c: what follows from moved vertices ---- */

bl_result kernel_geometry(const plan *p, ir_module *m);
bl_result kernel_geometry_adjoint(const plan *p, ir_module *m, bool fixed_point);
bl_result kernel_geometry_tangent(const plan *p, ir_module *m);

/* ---- light_choice.c: only where plan.lights_tabled ---- */

/* A step of table and tree, with the signature of a step of a class. */
ir_func *light_choice_step(ir_module *m, const plan *p, enum light_step step);
/* The light that u chooses, u32, and its probability; the probability of a given light. from: the place that
 * is lit; NULL: no place, so that the table alone decides. */
ir_ref light_choice_sample(tracer *t, const vec3 *from, ir_ref u, ir_ref *probability);
ir_ref light_choice_probability(tracer *t, const vec3 *from, ir_ref light);

/* ---- light_table.c: the same by the table alone ---- */

void light_table_step(tracer *t, enum light_step step, ir_ref light);
ir_ref light_table_sample(tracer *t, ir_ref u);
ir_ref light_table_probability(tracer *t, ir_ref light);

/* ---- light_tree.c: only where plan.lights_tree ---- */

void light_tree_step(tracer *t, enum light_step step, ir_ref record, ir_ref id);
ir_ref light_tree_sample(tracer *t, vec3 from, ir_ref u, ir_ref *probability);
ir_ref light_tree_probability(tracer *t, vec3 from, ir_ref light);

#endif
