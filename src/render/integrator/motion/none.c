/* SPDX-License-Identifier: BSD-3-Clause
 * The kind of motion of paths that stay where they are: parameters change what is found along such a path,
 * but not where the path goes (docs/theory/detached_replay.md). These functions do nothing. Other kinds of
 * motion use them too. */
#include "render/integrator/motion/none.h"

void none_state(walk *w, loop_state *s, walk_position *at) { (void)w, (void)s, (void)at; }

void none_before(walk *w, walk_position *at) { (void)w, (void)at; }

void none_camera(walk *w, walk_position *camera) { (void)w, (void)camera; }

void none_join(walk *w, ir_ref branch, const walk_position *camera, walk_position *at)
{
    (void)w, (void)branch, (void)camera, (void)at;
}

void none_begun(walk *w, ir_ref fresh, walk_position *at) { (void)w, (void)fresh, (void)at; }

void none_next(walk *w, const walk_position *at, const walk_vertex *v, ir_ref alive, walk_position *next)
{
    (void)w, (void)at, (void)v, (void)alive, (void)next;
}

void none_visit(walk *w, walk_vertex *v, const walk_position *at) { (void)w, (void)v, (void)at; }

void none_light_chosen(walk *w, walk_vertex *v, vec3 normal) { (void)w, (void)v, (void)normal; }

void none_sampled(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2)
{
    (void)w, (void)v, (void)roughness, (void)u1, (void)u2;
}

void none_light_reference(walk *w, walk_light *light, emitter_moved_arguments *a)
{
    (void)w, (void)light, (void)a;
}

bool none_emission(walk *w, walk_light *light)
{
    (void)w, (void)light;
    return false;
}

void none_arguments(walk *w, const walk_vertex *v, const walk_light *light, bsdf_value_arguments *a,
                    motion_factors *by)
{
    (void)w, (void)v, (void)light, (void)a, (void)by;
}

bool none_hit_mis(walk *w, const walk_vertex *v, ir_ref *mis)
{
    (void)w, (void)v, (void)mis;
    return false;
}

ray_motion none_to_light(walk *w, const walk_vertex *v)
{
    (void)w, (void)v;
    return (ray_motion){0};
}

void none_through(walk *w, const walk_hit *hit, const segment_motion *s, bsdf_color_arguments *a)
{
    (void)w, (void)hit, (void)s, (void)a;
}

uint32_t none_inputs(walk *w, const walk_position *at, const walk_vertex *v, ir_ref out[ARRIVALS_MOST])
{
    (void)w, (void)at, (void)v, (void)out;
    return 0;
}

uint32_t none_onward(walk *w, const walk_vertex *v, ir_ref out[RAY_MOST])
{
    (void)w, (void)v, (void)out;
    return 0;
}

void none_adjoint(walk *w, const walk_position *at, const walk_vertex *v, ir_ref when, arrivals *arrived,
                  ir_ref carried[RAY_MOST])
{
    (void)w, (void)at, (void)v, (void)when, (void)arrived, (void)carried;
}

const walk_motion_class motion_none = {
    .name = "none",
    .state = none_state,
    .before = none_before,
    .camera = none_camera,
    .join = none_join,
    .begun = none_begun,
    .next = none_next,
    .met = none_visit,
    .stands = none_visit,
    .light_chosen = none_light_chosen,
    .sampled = none_sampled,
    .look_ahead = none_visit,
    .light_reference = none_light_reference,
    .emission = none_emission,
    .arguments = none_arguments,
    .hit_mis = none_hit_mis,
    .to_light = none_to_light,
    .through = none_through,
    .inputs = none_inputs,
    .onward = none_onward,
    .adjoint = none_adjoint,
};
