/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that surfaces see: what is reflected or refracted jumps where something else comes into view. A path
 * is walked from the camera to one of its vertices, x, and on from there through a point of a silhouette as x
 * sees it. With f the material's value, beta the throughput, r the distance from x to the edge and l the
 * length of the edge at a right angle to the ray:
 *
 *     dI = beta  integral over the silhouette of  f (L_inner (n . v_inner) - L_outer (n . v_outer)) / r^2  dl
 *
 * v is the motion of the edge relative to the ray from x to what is seen on that side. Of the light that the
 * ray past the edge finds at its first hit, this pass has the share of the material's sampling at x, and
 * boundary_lit.c or boundary_shaft.c, which sample lights, the rest; in media it has all. Past an edge of a
 * lamp it has all of that lamp's light (boundary/sides.c). */
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/kernels/replay.h"
#include "render/integrator/motion/motion.h"

static const float CREASES = 0.1f; /* how much light counts that both sides have, which matters at creases */

/* Sets how a side's first vertex y moves. In volumetric walks the segment from x swings about y if both lie
 * on surfaces of one shape, or if y shines. Then y is held, or goes along with its shape if it shines. Other
 * segments keep their directions, as if y were far away (motion/local_volume.c). */
static boundary_segment side_of(walk *w, const walk_vertex *v, const boundary_sides *s, int k, vec3 x)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_hit hit = s->hit[k];
    ir_ref held = hit.valid;
    if (local_volume_wanted(w)) {
        ir_ref shape = shape_of_entry(t, hit.entry),
               shines = ir_ne(f, t_word(t, shape, SHAPE_EMITTER_CLASS), t_u32(t, PLAN_NONE)),
               on = w->media ? ir_not(f, v->flight.collides) : ir_bool(f, true),
               swings = local_volume_swings(w, on, v->si.shape, shape, shines);
        held = ir_and(f, held, swings), hit.slides = ir_not(f, shines);
    }
    return (boundary_segment){.x = x, .y = boundary_hit_moved(w, &hit), .y_far = ir_not(f, held)};
}

/* The point x, as the detached gradient moves it. */
static vec3 viewpoint_moved(walk *w, const walk_position *at, const walk_vertex *v)
{
    tracer *t = &w->t;
    if (local_volume_wanted(w))
        return v3_add(t, v3_detach(t, v->si.p), v->local_volume.motion.displacement);
    walk_hit hit = v->met;
    hit.slides = at->delta;
    if (w->plan->camera) {
        ir_ref first = ir_eq(t->f, at->depth, t_u32(t, 0));
        walk_ray camera = attached_camera_ray(w, at->sample);
        hit.o = v3_select(t, first, camera.o, v3_detach(t, hit.o));
        hit.d = v3_select(t, first, camera.d, v3_detach(t, hit.d));
    }
    return boundary_hit_moved(w, &hit);
}

/* bool: the passes from lights do not find this path, because they cannot connect anything to a mirror: on
 * surfaces none that begins with one, in volumetric walks none whose last vertex before x is one. */
static ir_ref has_all(walk *w, const boundary_way *led)
{
    ir_func *f = w->t.f;
    if (!w->volumetric)
        return led->mirrored;
    return ir_and(f, ir_ne(f, led->p.at.depth, t_u32(&w->t, 0)), led->p.at.delta);
}

/* boundary_wish.value */
static ir_ref value_toward(walk *w, const void *of, vec3 d)
{
    return color_max(&w->t, boundary_scattered(w, of, d));
}

/* What goes past an edge to the path's vertex x. */
typedef struct edge_light {
    color arrived; /* throughput, the material's value and weights: what radiance past the edge is multiplied
                      by */
    boundary_sides sides;
    ir_ref motion[2]; /* of the edge, relative to the ray on each side */
    ir_ref counts;    /* bool: it is a sample of the pass */
} edge_light;

/* Forward mode: the derivative of what the lane's pixel gets by this path. */
static void add_moved(walk *w, const boundary_loop *loop, const walk_position *at, const edge_light *e)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color by = color_all(t_f32(t, 0));
    for (int k = 0; k < 2; k++)
        by = color_add(t, by,
                       color_scale(t, color_mul(t, e->arrived, e->sides.radiance[k]),
                                   k ? ir_neg(f, boundary_tangent(w, e->motion[k]))
                                     : boundary_tangent(w, e->motion[k])));
    film_value added = film_of(w, at, by);
    ir_ref of_film = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_FILM_SPP)),
           scale = ir_div(f, of_film, ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_SPP)));
    for (uint32_t c = 0; c < w->film_channels; c++)
        added.c[c] = ir_mul(f, added.c[c], scale);
    ir_ref finite = film_finite(w, &added);
    kernel_count(w, ir_and(f, e->counts, ir_not(f, finite)), STATUS_NON_FINITE);
    film_value sum = kernel_load_sum(w, loop->l.film, loop->l.inside);
    for (uint32_t c = 0; c < w->film_channels; c++)
        film_take(w, ir_and(f, finite, e->counts), added.c[c], &sum.c[c], NULL);
    kernel_store_sum(w, loop->l.film, ir_and(f, loop->l.inside, loop->guide.usual), sum);
}

/* Reverse mode: both sides' motions by dL/dI of the lane's pixel. */
static void backpropagate(walk *w, const boundary_loop *loop, const walk_position *at, const edge_light *e)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref seed[2];
    color dL = film_adjoint(w, at, replay_sample_adjoint(w, &loop->l));
    for (int k = 0; k < 2; k++) {
        seed[k] = t_f32(t, 0);
        for (uint32_t c = 0; c < t->channels; c++)
            seed[k] = t_mad(t, ir_mul(f, dL.c[c], e->arrived.c[c]), e->sides.radiance[k].c[c], seed[k]);
    }
    seed[1] = ir_neg(f, seed[1]);
    boundary_backward(w, e->counts, e->motion, seed, 2);
}

/* How much the sample matters: by the jump of the light, and a little by the light itself. */
static ir_ref importance(walk *w, const edge_light *e)
{
    tracer *t = &w->t;
    const color *r = e->sides.radiance;
    color jump = color_mul(t, e->arrived, color_add(t, r[0], color_scale(t, r[1], t_f32(t, -1)))),
          both = color_mul(t, e->arrived, color_add(t, r[0], r[1]));
    return t_mad(t, boundary_size(w, both), t_f32(t, CREASES), boundary_size(w, jump));
}

/* Where the path goes on past the edge b, with what says how much of the light there is this pass's. */
static walk_position position_behind(walk *w, const boundary_way *led, const walk_vertex *v,
                                     const boundary_point *b)
{
    tracer *t = &w->t;
    walk_position at = boundary_behind(w, &led->p.at, v, b->d);
    if (!edges_light_shared(w->plan->scene))
        return at;
    at.delta = has_all(w, led);
    at.pdf = boundary_material_density(w, v, v->wi, frame_to_local(t, v->frame, b->d));
    if (w->plan->edge_crossings) /* no light sees these as an edge */
        at.delta = ir_or(t->f, at.delta, silhouette_crosses(t, &b->place));
    return at;
}

bl_result kernel_edges_path(walk *w, ir_module *m)
{
    boundary_loop loop = boundary_begin(w, m);
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk blind = boundary_blind(w);
    boundary_choice choice = boundary_choose_vertex(w, boundary_numbers(w, loop.sample, 0).u[0]);
    boundary_way led = boundary_walk_to(&blind, loop.sample, choice.depth, (ir_ref){0});
    radiance_walk p = led.p;
    walk_vertex v = walk_visit(&blind, p.at);
    ir_ref there = ir_and(f, ir_and(f, led.alive, v.goes_on), ir_eq(f, p.at.depth, choice.depth));
    if (w->media)
        radiance_cross(w, &p, &v);
    boundary_point b =
        boundary_pick(w, v.si.p, loop.sample, &loop.guide,
                      &(boundary_wish){.candidates = 8, .creases = true, .value = value_toward, .of = &v});
    b.there = ir_and(f, b.there, there);
    vec3 from = ray_offset(t, v.si.p, v.si.ng, b.d);
    color value = boundary_scattered(w, &v, b.d);
    walk_position at = position_behind(w, &led, &v, &b);
    edge_light e = {.sides = boundary_trace(w, &b, from, &at)};
    b.there = ir_and(f, b.there, e.sides.seen);
    ir_ref weight =
        ir_mul(f, ir_mul(f, choice.inverse, loop.scale), ir_div(f, b.weight, t_sqr(t, b.distance)));
    e.arrived = color_scale(t, color_mul(t, p.beta, value), weight);
    vec3 x = viewpoint_moved(w, &p.at, &v);
    ir_ref found = importance(w, &e);
    e.counts = ir_and(f, b.there, loop.guide.usual);
    boundary_edge edge = boundary_edge_moved(w, &b, &e.sides, x);
    for (int k = 0; k < 2; k++) {
        boundary_segment side = side_of(w, &v, &e.sides, k, x);
        side.edge = &edge.p, side.share = edge.share;
        e.motion[k] = boundary_motion(w, &b, &side);
    }
    if (boundary_forward(w))
        add_moved(w, &loop, &p.at, &e);
    else
        backpropagate(w, &loop, &p.at, &e);
    ir_ref possible = ir_mul(f, ir_mul(f, choice.inverse, color_max(t, p.beta)), b.possible);
    boundary_end(w, &loop, b.there, found, ir_select(f, there, possible, t_f32(t, 0)));
    ir_return(f, NULL, 0);
    return BL_OK;
}
