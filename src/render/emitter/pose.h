/* SPDX-License-Identifier: BSD-3-Clause
 * What lights at a point share: point, spot, projector. */
#ifndef BL_RENDER_POSE_H
#define BL_RENDER_POSE_H

#include "render/classes.h"

enum { POSE_INVERSE = 9 /* derived values: rows of the inverse of to_world's upper left 3x3 */ };

/* slot: index of `to_world` in the class's parameters, differentiable. Columns 0 to 2: images of the axes; 3:
 * the position. */
vec3 pose_column(tracer *t, const class_node *n, ir_ref record, uint32_t slot, uint32_t column);
/* For `update`. What has no inverse gives finite numbers. */
void pose_inverse(tracer *t, const class_node *n, ir_ref record, uint32_t slot, ir_ref out[POSE_INVERSE]);
/* A direction of the world in the light's space; not normalised. first: of the derived values that
 * pose_inverse filled. */
vec3 pose_to_local(tracer *t, const class_node *n, ir_ref record, uint32_t first, vec3 d);
bl_result pose_check(const scene_object *o, bl_error *err); /* an error unless it has an inverse */

/* Direction and distance from ref to the position; pdf 1, uv 0. */
/* A local vector in the world, unit; *length: what it was. */
vec3 pose_to_world(tracer *t, const class_node *n, ir_ref record, uint32_t slot, vec3 local, ir_ref *length);
emitter_sample pose_sample(tracer *t, vec3 position, vec3 ref);
/* Whether light that the texture colours has no steps, so that moving the texture has a complete gradient. */
bool emitter_texture_smooth(const scene_object *texture);

#endif
