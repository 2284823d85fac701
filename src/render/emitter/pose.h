/* SPDX-License-Identifier: BSD-3-Clause
 * What lights at a point share, which are point, spot and projector: their place and direction as a
 * parameter. */
#ifndef BL_RENDER_POSE_H
#define BL_RENDER_POSE_H

#include "render/classes.h"

/* How many derived values pose_inverse fills: the rows of the inverse of the upper left 3x3 of to_world. */
enum { POSE_INVERSE = 9 };

/* A column of to_world. Columns 0 to 2 are the images of the axes, and column 3 is the position. slot: the
 * index of `to_world` among the parameters of the class; it must be differentiable. */
vec3 pose_column(tracer *t, const class_node *n, ir_ref record, uint32_t slot, uint32_t column);
/* The inverse for the class's `update`. A matrix without an inverse gives finite numbers. */
void pose_inverse(tracer *t, const class_node *n, ir_ref record, uint32_t slot, ir_ref out[POSE_INVERSE]);
/* A direction of the world in the light's space. It is not normalised. first: the first of the derived
 * values that pose_inverse filled. */
vec3 pose_to_local(tracer *t, const class_node *n, ir_ref record, uint32_t first, vec3 d);
/* Gives an error unless to_world has an inverse. */
bl_result pose_check(const scene_object *o, bl_error *err);

/* The unit direction in the world of a local vector. *length: how long the vector is in the world before it
 * is normalised. */
vec3 pose_to_world(tracer *t, const class_node *n, ir_ref record, uint32_t slot, vec3 local, ir_ref *length);
/* The sample of a light at a position, seen from ref: direction and distance to it, with pdf 1 and uv 0. */
emitter_sample pose_sample(tracer *t, vec3 position, vec3 ref);
/* The bound of a light at a point whose rays are at most an angle from a unit axis. */
emitter_bound pose_bound(tracer *t, vec3 position, vec3 axis, ir_ref cos_angle);
/* Whether light that the texture colours has no steps. Then moving the texture has a complete gradient. */
bool emitter_texture_smooth(const scene_object *texture);

#endif
