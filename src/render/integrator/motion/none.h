/* SPDX-License-Identifier: BSD-3-Clause
 * Functions of struct walk_motion_class that do nothing. motion_none consists of them. Other kinds of motion
 * take those for which they have no use. */
#ifndef BL_RENDER_MOTION_NONE_H
#define BL_RENDER_MOTION_NONE_H

#include "render/integrator/motion/motion.h"

void none_state(walk *w, loop_state *s, walk_position *at);
void none_before(walk *w, walk_position *at);
void none_camera(walk *w, walk_position *camera);
void none_join(walk *w, ir_ref branch, const walk_position *camera, walk_position *at);
void none_begun(walk *w, ir_ref fresh, walk_position *at);
void none_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive, walk_position *next);
void none_visit(walk *w, walk_vertex *v, const walk_position *at);
void none_light_chosen(walk *w, walk_vertex *v, vec3 normal);
void none_sampled(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2);
void none_light_reference(walk *w, walk_light *light, emitter_moved_arguments *a);
bool none_emission(walk *w, walk_light *light);
void none_arguments(walk *w, const walk_vertex *v, const walk_light *light, bsdf_value_arguments *a,
                    motion_factors *by);
bool none_hit_mis(walk *w, const walk_vertex *v, ir_ref *mis);
ray_motion none_to_light(walk *w, const walk_vertex *v);
void none_through(walk *w, const walk_hit *hit, const segment_motion *s, bsdf_color_arguments *a);
uint32_t none_inputs(walk *w, const walk_position *at, const walk_vertex *v, ir_ref out[ARRIVALS_MOST]);
uint32_t none_onward(walk *w, const walk_vertex *v, ir_ref out[RAY_MOST]);
void none_adjoint(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when, arrivals *arrived,
                  ir_ref carried[RAY_MOST]);

#endif
