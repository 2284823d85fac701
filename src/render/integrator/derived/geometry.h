/* SPDX-License-Identifier: BSD-3-Clause
 * What the steps of the geometry kernel share: reads of the work buffer (render/refit.h), and triangles with
 * the present positions of their vertices. */
#ifndef BL_RENDER_GEOMETRY_H
#define BL_RENDER_GEOMETRY_H

#include "render/integrator/derived/derived.h"
#include "render/refit.h"

static inline ir_ref work_word(tracer *t, ir_ref at, uint32_t word)
{
    return ir_load(t->f, IR_U32, BUFFER_SAMPLES, t_offset(t, at, word));
}

/* ---- geometry_mesh.c ---- */

vec3 geometry_position(tracer *t, ir_ref mesh, ir_ref vertex); /* mesh: its data words; vertex: u32 */
void geometry_corners(tracer *t, ir_ref mesh, ir_ref face, vec3 corner[3]);
/* Steps (enum refit_step). record: what the dispatch is about; id: the lane. */
void geometry_heights(tracer *t, ir_ref mesh, ir_ref id);
void geometry_normals(tracer *t, ir_ref record, ir_ref id);
void geometry_normal_values(tracer *t, ir_ref record, ir_ref id);
void geometry_area_blocks(tracer *t, ir_ref record, ir_ref id);
void geometry_area_sums(tracer *t, ir_ref record, ir_ref id);
void geometry_area_table(tracer *t, ir_ref record, ir_ref id);

/* ---- geometry_transform.c: steps ---- */

void geometry_to_world(tracer *t, ir_ref to_world, ir_ref id);
void geometry_to_world_inverse(tracer *t, ir_ref to_world, ir_ref id);
void geometry_instance(tracer *t, ir_ref record, ir_ref id);
void geometry_transform_points(tracer *t, ir_ref record, ir_ref id);
void geometry_solid(tracer *t, ir_ref record, ir_ref id);
void geometry_remake(tracer *t, ir_ref record, ir_ref id);

#endif
