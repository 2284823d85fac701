/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that surfaces see: what is reflected or refracted jumps where something else comes into view. A path
 * is walked from the camera to one of its vertices, x, and on from there through a point of a silhouette as x
 * sees it. With f the material's value, beta the throughput, r the distance from x to the edge and l the
 * length of the edge at a right angle to the ray:
 *
 *     dI = beta  integral over the silhouette of  f (L_inner (n . v_inner) - L_outer (n . v_outer)) / r^2  dl
 *
 * v is the motion of the edge relative to the ray from x to what is seen on that side. The light that the ray
 * past the edge finds at its first hit is left to boundary_lit.c, which samples lights, unless the way to x
 * began with a mirror. */
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/kernels/replay.h"

static const float CREASES = 0.1f; /* how much light counts that both sides have, which matters at creases */
enum { DEPTHS = 12 /* vertices behind the last of these are never chosen but by chains of null lobes */ };

/* Which vertex of the path the edge is seen from, counted from 0: k with probability 2^-(k+1), the last with
 * what is left. */
typedef struct vertex_choice {
    ir_ref depth, inverse; /* u32; 1 / probability */
} vertex_choice;

static vertex_choice choose_vertex(walk *w, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    int32_t most = w->plan->scene->max_depth;
    uint32_t count = most < 0 || most - 1 > DEPTHS ? DEPTHS : (uint32_t)(most - 1);
    vertex_choice v = {t_u32(t, 0), t_f32(t, count > 1 ? 2 : 1)};
    for (uint32_t k = 1; k < count; k++) {
        ir_ref beyond = ir_ge(f, u, t_f32(t, 1 - 1 / (float)(1u << k)));
        float inverse = (float)(1u << (k + 1 < count ? k + 1 : k));
        v.depth = ir_select(f, beyond, t_u32(t, k), v.depth);
        v.inverse = ir_select(f, beyond, t_f32(t, inverse), v.inverse);
    }
    return v;
}

/* Walks to the vertex at a depth. *alive: the path gets there. *mirrored: its first vertex sampled a discrete
 * lobe. */
static radiance_walk walk_to(walk *w, ir_ref sample, ir_ref depth, ir_ref *alive, ir_ref *mirrored)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_position camera = walk_camera(w, sample);
    radiance_walk p = radiance_start(w, &camera);
    loop_state state = {0}, next = {0};
    *alive = ir_bool(f, true), *mirrored = ir_bool(f, false);
#define STATE(s)                                                                                             \
    state_position(w, s, &p.at), state_color(s, &p.beta), state_ref(s, &p.eta), state_ref(s, alive),         \
        state_ref(s, mirrored)
    STATE(&state);
    ir_ref loop = state_loop(f, &state);
    STATE(&state);
    ir_while(f, ir_and(f, *alive, ir_lt(f, p.at.depth, depth)));
    ir_ref first = ir_eq(f, p.at.depth, t_u32(t, 0));
    p.radiance = color_all(t_f32(t, 0));
    walk_vertex v = radiance_vertex(w, &p, (ir_ref){0}, alive);
    *mirrored = ir_select(f, first, v.sample.delta, *mirrored);
    STATE(&next);
    state_endloop(f, loop, &state, &next);
    STATE(&state);
    state_end(&state);
#undef STATE
    return p;
}

/* The point x, as the detached gradient moves it. */
static vec3 viewpoint_moved(walk *w, const walk_position *at, const walk_vertex *v)
{
    tracer *t = &w->t;
    walk_hit hit = v->met;
    hit.slides = at->delta;
    if (w->plan->sensor) {
        ir_ref first = ir_eq(t->f, at->depth, t_u32(t, 0));
        walk_ray camera = attached_camera_ray(w, at->sample);
        hit.o = v3_select(t, first, camera.o, v3_detach(t, hit.o));
        hit.d = v3_select(t, first, camera.d, v3_detach(t, hit.d));
    }
    return boundary_hit_moved(w, &hit);
}

static color scattered_toward(walk *w, const walk_vertex *v, vec3 d)
{
    walk_vertex toward = *v;
    color value, unused;
    toward.to_light = frame_to_local(&w->t, v->frame, d);
    walk_values(w, &toward, false, &value, &unused);
    return value;
}

/* boundary_wish.value */
static ir_ref value_toward(walk *w, const void *of, vec3 d)
{
    return color_max(&w->t, scattered_toward(w, of, d));
}

bl_result kernel_edges_path(walk *w, ir_module *m)
{
    boundary_loop loop = boundary_begin(w, m);
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk blind = *w; /* lights on the way to x do not matter */
    blind.next_event = false;
    ir_ref alive, mirrored, zero = t_f32(t, 0), one = t_f32(t, 1);
    vertex_choice choice = choose_vertex(w, boundary_numbers(w, loop.sample, 0).u[0]);
    radiance_walk p = walk_to(&blind, loop.sample, choice.depth, &alive, &mirrored);
    walk_vertex v = walk_visit(&blind, p.at);
    ir_ref there = ir_and(f, ir_and(f, alive, v.goes_on), ir_eq(f, p.at.depth, choice.depth));
    boundary_point b = boundary_pick(w, v.si.p, loop.sample, &loop.guide,
                                     &(boundary_wish){.creases = true, .value = value_toward, .of = &v});
    b.there = ir_and(f, b.there, there);
    vec3 from = ray_offset(t, v.si.p, v.si.ng, b.d);
    color value = scattered_toward(w, &v, b.d);
    walk_position at = p.at;
    at.depth = ir_add(f, at.depth, t_u32(t, 1)), at.delta = ir_bool(f, true), at.pdf = one;
    ir_ref emission[2] = {one, edges_lit_possible(w->plan) ? ir_select(f, mirrored, one, zero) : one};
    boundary_sides s = boundary_trace(w, &b, from, &at, emission);
    b.there = ir_and(f, b.there, boundary_seen(w, &b, &s));
    ir_ref weight = ir_mul(f, choice.inverse, ir_div(f, b.weight, t_sqr(t, b.distance)));
    color arrived = color_scale(t, color_mul(t, p.beta, value), weight);
    vec3 x = viewpoint_moved(w, &p.at, &v);
    color jump = color_mul(t, arrived, color_add(t, s.radiance[0], color_scale(t, s.radiance[1], t_f32(t, -1)))),
          both = color_mul(t, arrived, color_add(t, s.radiance[0], s.radiance[1]));
    ir_ref motion[2], seed[2], counts = ir_and(f, b.there, loop.usual);
    ir_ref found = t_mad(t, boundary_size(w, both), t_f32(t, CREASES), boundary_size(w, jump));
    for (int k = 0; k < 2; k++) {
        vec3 y = boundary_hit_moved(w, &s.hit[k]);
        motion[k] = boundary_motion(w, &b, &(boundary_segment){x, y, ir_not(f, s.hit[k].valid)});
    }
    if (boundary_forward(w)) {
        color sum, by;
        for (int c = 0; c < 3; c++)
            by.c[c] = zero;
        for (int k = 0; k < 2; k++)
            by = color_add(
                t, by,
                color_scale(t, color_mul(t, arrived, s.radiance[k]),
                            k ? ir_neg(f, boundary_tangent(w, motion[k])) : boundary_tangent(w, motion[k])));
        by = walk_weigh(w, p.at, by);
        ir_ref of_film = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_FILM_SPP));
        by = color_scale(t, by, ir_div(f, of_film, ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_SPP))));
        ir_ref finite = color_finite(t, by);
        kernel_count(w, ir_and(f, counts, ir_not(f, finite)), STATUS_NON_FINITE);
        sum = kernel_load_sum(w, loop.l.film, loop.l.inside);
        for (int c = 0; c < 3; c++)
            sum.c[c] = ir_add(f, sum.c[c], ir_select(f, ir_and(f, finite, counts), by.c[c], zero));
        kernel_store_sum(w, loop.l.film, ir_and(f, loop.l.inside, loop.usual), sum);
    } else {
        color dL = walk_weigh(w, p.at, replay_sample_adjoint(w, &loop.l));
        for (int k = 0; k < 2; k++) {
            seed[k] = zero;
            for (int c = 0; c < 3; c++)
                seed[k] = t_mad(t, ir_mul(f, dL.c[c], arrived.c[c]), s.radiance[k].c[c], seed[k]);
        }
        seed[1] = ir_neg(f, seed[1]);
        boundary_backward(w, counts, motion, seed, 2);
    }
    ir_ref possible = ir_mul(f, ir_mul(f, choice.inverse, color_max(t, p.beta)), b.possible);
    boundary_end(w, &loop, b.there, found, ir_select(f, there, possible, zero));
    ir_return(f, NULL, 0);
    return BL_OK;
}
