/* SPDX-License-Identifier: BSD-3-Clause
 * Radiative backpropagation (Nimier-David, Speierer, Ruiz, Jakob 2020), to compare path replay with
 * (docs/theory/radiative_backpropagation.md). Adjoint radiance is transported from the sensor along a path.
 * At each vertex (listing 2) the derivative of the material's value is multiplied by the radiance that
 * arrives along the sampled direction. That radiance is
 *
 *   METHOD_RECURSIVE  estimated by a path of its own, which begins at the vertex with other random numbers.
 *                     This is unbiased, and costs about n^2 / 2 visits for a path of n vertices.
 *   METHOD_UNIT       taken to be 1 (section 3.8, biased I): one walk, without a second one.
 *
 * In media (appendix A.1) the flight to a vertex emits adjoint radiance, too: the derivative of the weight of
 * the flight, times the radiance at its end.
 *
 * What a vertex contributes, and its derivative, is computed as in path replay, light sampling included. For
 * each vertex of the path there is one turn: phase 0 walks from the vertex to the end of the path, then phase
 * 1 visits that vertex alone, so that L without the vertex's own light is the radiance that arrives. Behind
 * the vertex a turn has its own random numbers. The first turn begins at the camera and gives the sample's
 * radiance.
 *
 * Rays do not move with parameters here (plan_attaches_paths): directions of mirrors and smooth glass stay.
 */
#include "render/integrator/kernels/replay.h"

enum { FRESH_STREAM = 2 }; /* image: 0, gradient: 1 */

/* Behind the turn's vertex, random numbers are the turn's own; up to it, they are the path's. */
static void choose_numbers(walk *w, const replay_state *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref turn = walk_order(w, &p->turn.from);
    ir_ref behind = ir_gt(f, walk_order(w, &p->at), turn);
    ir_ref own = ir_add(f, w->seed, ir_mul(f, ir_add(f, turn, t_u32(t, 1)), t_u32(t, 0x9E3779B1u)));
    w->seed = ir_select(f, behind, own, w->seed);
    w->stream = ir_select(f, behind, t_u32(t, FRESH_STREAM), w->stream);
}

static void state_turn(walk *w, loop_state *s, replay_state *p)
{
    state_position(w, s, &p->turn.from), state_throughput(w, s, &p->turn.b);
}

static void begin_turn(walk *w, replay_state *p, ir_ref fresh)
{
    p->turn.from = position_select(w, fresh, p->at, p->turn.from);
    p->turn.b = throughput_select(w, fresh, &p->b, &p->turn.b);
}

static ir_ref turn_vertex(const walk *kernel, replay_state *p, film_value dL)
{
    walk own = *kernel;
    choose_numbers(&own, p);
    return replay_vertex(&own, p, dL);
}

/* METHOD_UNIT: the flight to the vertex, and what the medium emits on it. The radiance at the flight's end is
 * 1. */
static void unit_flight(walk *w, replay_state *p, const walk_vertex *v, color dL, arrivals *arrived)
{
    tracer *t = &w->t;
    ir_ref always = ir_bool(t->f, true);
    if (emission_any(w)) {
        color emitted = emission_radiance(w, &v->flight, false);
        account(w, p, emitted, ir_bool(t->f, false));
        emission_adjoint(w, &v->flight, always, emitted, color_mul(t, throughput_whole(w, &p->b), dL),
                         arrived);
    }
    throughput_fly(w, v, &p->b);
    flight_adjoint(w, &v->flight, always, color_mul(t, dL, throughput_whole(w, &p->b)),
                   color_mul(t, dL, throughput_but_one(w, &p->b)), arrived);
}

/* METHOD_UNIT. The material is differentiated at the sampled direction only: light sampling would count the
 * same radiance again. */
static ir_ref unit_vertex(const walk *kernel, replay_state *p, film_value dL)
{
    walk own = *kernel, *w = &own;
    tracer *t = &w->t;
    walk_vertex v = walk_visit(w, p->at);
    arrivals arrived = arrivals_start(w, p, &v);
    color dL_light = film_adjoint(w, &p->at, dL);
    if (w->media)
        unit_flight(w, p, &v, dL_light, &arrived);
    contribution k = contribute(w, &v, &p->at, &p->b);
    account(w, p, color_add(t, k.hit, k.light), ir_bool(t->f, false));
    color onward = color_scale(t, throughput_whole(w, &p->b), t_ratio(t, t_f32(t, 1), v.sample.pdf));
    k.onward = &onward, k.light_radiance = color_all(t_f32(t, 0));
    ir_ref always = ir_bool(t->f, true);
    adjoint(w, p, &(vertex_adjoint){&v, &k, dL_light, always}, &arrived);
    passage next = throughput_pass(w, p->at.depth, &v, k.for_sample, &p->b);
    p->at = walk_next(w, p->at, &v, next.alive);
    return next.alive;
}

static void finish_unit(walk *w, replay_state *p, ir_ref alive)
{
    ir_func *f = w->t.f;
    ir_ref ended = ir_not(f, alive), finite = color_finite(&w->t, p->sums.L);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    replay_add_image(w, p, ir_and(f, ended, finite));
    replay_new_path(w, p, ended, alive);
}

/* METHOD_RECURSIVE. Phase 0 of a turn goes on to the end of the path; then phase 1 visits the turn's vertex,
 * after which the next vertex has its turn. A sum that is not finite ends the sample. */
static void finish_turn(walk *w, replay_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref finite = color_finite(t, p->sums.L),
           phase_0_ended = ir_and(f, ir_not(f, p->phase), ir_not(f, alive));
    ir_ref back = ir_and(f, phase_0_ended, finite), next = ir_and(f, p->phase, alive);
    ir_ref over =
        ir_or(f, ir_and(f, phase_0_ended, ir_not(f, finite)), ir_and(f, p->phase, ir_not(f, alive)));
    kernel_count(w, ir_and(f, phase_0_ended, ir_not(f, finite)), STATUS_NON_FINITE);
    replay_add_image(w, p, ir_and(f, back, walk_begins(w, &p->turn.from)));
    p->turn.from = position_select(w, next, p->at, p->turn.from);
    p->turn.b = throughput_select(w, next, &p->b, &p->turn.b);
    p->at = position_select(w, back, p->turn.from, p->at);
    p->b = throughput_select(w, back, &p->turn.b, &p->b);
    sums_restart(t, &p->sums, next);
    p->seen = ir_select(f, next, t_u32(t, 0), p->seen);
    p->phase = back;
    replay_new_path(w, p, over, ir_not(f, over));
}

const gradient_estimator recursive_radiative = {
    .state = state_turn,
    .begins = replay_begins,
    .begin = begin_turn,
    .vertex = turn_vertex,
    .finish = finish_turn,
};

const gradient_estimator unit_radiative = {
    .begins = replay_begins,
    .vertex = unit_vertex,
    .finish = finish_unit,
};
