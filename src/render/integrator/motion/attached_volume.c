/* SPDX-License-Identifier: BSD-3-Clause
 * Attached paths in volumetric walks: media, and surfaces that let light straight through, lie along rays
 * that move (docs/theory/attached_replay.md, Through media). A vertex is a function of its ray as in
 * attached_path.c. Besides:
 *
 *   - A free flight holds the share that it has of the way to the surface ahead. A flight that reaches the
 *     surface moves by the transmittance of the way, whose length and place change. A collision keeps its
 *     share of the way, so the measure of its distance grows as the way does. If the distance were held, the
 *     derivative would lose the light of a way that grows. The random numbers and the probability of the
 *     choice between the two are held in either case. Where no surface is ahead, the distance is held.
 *   - A collision that moves, or a surface behind which a collision, a surface that lets through or a
 *     discrete lobe comes next, holds the sampled direction. Points of two neighbours must not be held there:
 *     collisions have neighbours at any distance r, and 1 / r has no bound in the mean (local_volume.c). So
 *     the chain goes on.
 *   - Light sampling holds the point on the light. So where the next vertex shines, the sample holds that
 *     point, too. The link is LINK_POINT, or, if surfaces that let through lie between, LINK_RAY with a ray
 *     that turns about the point (attached_vertex.swings).
 *
 * The segment's motion is that of local_volume.c, which is all that media/ has to know. */
#include "render/integrator/motion/attached_vertex.h"
#include "render/integrator/motion/displacement.h"
#include "render/integrator/motion/local_volume.h"

/* ---- the segment ---- */

void attached_stands(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_arrival *way = &v->attached.arrival;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    (void)at;
    if (w->media)
        way->collides = v->flight.collides, way->flown = v->flight.t;
    v->hit.attached.arrival = *way;
    two_vertices x = attached_look(w, way);
    ir_ref turns = link_is(w, way->link, LINK_RAY),
           swings = ir_and(f, link_is(w, way->link, LINK_POINT), way->hit.valid);
    vec3 shift = displacement3(w, x.now.o, x.before.o), turn = displacement3(w, x.now.d, x.before.d);
    ir_ref inverse = t_ratio(t, one, ir_select(f, swings, ir_detach(f, way->hit.t), one));
    turn = v3_select(t, turns, turn, v3_zero(t));
    turn = v3_select(t, swings, v3_scale(t, shift, ir_neg(f, inverse)), turn);
    shift = v3_select(t, ir_or(f, turns, swings), shift, v3_zero(t));
    vec3 moved = displacement3(w, x.now.si.p, x.before.si.p);
    v->attached.motion = (segment_motion){
        .shift = shift,
        .turn = turn,
        .near = zero,
        .far = zero,
        .growth = one,
        .displacement = v3_select(t, turns, moved, v3_zero(t)),
    };
    if (!w->media)
        return;
    ir_ref grows = ir_mul(f, ir_detach(f, v->flight.t), ir_sub(f, x.growth, one)),
           far = ir_select(f, v->flight.collides, grows, x.slide);
    ir_ref end = ir_detach(f, ir_select(f, v->flight.collides, v->flight.t, v->flight.s.limit));
    v->attached.motion.far = far, v->attached.motion.growth = x.growth;
    v->flight.s.motion = (stretch_motion){shift, turn, zero, far, end};
    v->flight.growth = x.growth;
}

ray_motion attached_to_light(walk *w, const walk_vertex *v)
{
    return volume_line_to_light(w, v, v->attached.motion.displacement);
}

/* ---- ahead ---- */

/* The walk along the ray that goes on, through surfaces that let it through. */
typedef struct way_on {
    walk_position at;
    ir_ref going;   /* bool: the walk goes on */
    ir_ref crosses; /* bool: it has gone through a surface */
    ir_ref meets;   /* bool: it has met a surface or a medium */
    ir_ref holds;   /* bool: it has come to a point that is held: p, with the geometric normal ng */
    ir_ref delta;   /* bool: there a discrete lobe leads on */
    vec3 p, ng;
} way_on;

static void state_way(walk *w, loop_state *s, way_on *x)
{
    state_position(w, s, &x->at);
    state_ref(s, &x->going), state_ref(s, &x->crosses), state_ref(s, &x->meets), state_ref(s, &x->holds),
        state_ref(s, &x->delta);
    state_vec3(s, &x->p), state_vec3(s, &x->ng);
}

/* To the next surface. from_surface: bool, the way begins on one. */
static void go_on(walk *w, way_on *x, ir_ref from_surface)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    interaction si = walk_intersect(w, x->at, NULL);
    walk_flight flight = {.collides = ir_bool(f, false)};
    if (w->media)
        flight = flight_start(w, &x->at, si.t);
    bsdf_sample sample = walk_sample_at(w, &si, &x->at, t_offset(t, ir_mul(f, x->at.event, t_u32(t, 2)), 2));
    ir_ref flies = ir_not(f, flight.collides), through = ir_and(f, walk_is_through(t, &si, &sample), flies),
           ends = ir_and(f, ir_and(f, si.valid, flies), ir_not(f, through));
    ir_ref shines = ir_ne(f, t_word(t, si.shape, SHAPE_EMITTER_CLASS), t_u32(t, PLAN_NONE)),
           near = ir_and(f, from_surface, ir_not(f, ir_or(f, x->crosses, sample.delta)));
    x->holds = ir_and(f, ends, ir_or(f, shines, near));
    x->delta = ir_and(f, ends, sample.delta);
    x->p = v3_select(t, x->holds, si.p, x->p), x->ng = v3_select(t, x->holds, si.ng, x->ng);
    x->meets = ir_or(f, x->meets, si.valid);
    if (w->media)
        x->meets = ir_or(f, x->meets, flight.s.there);
    x->at.o = v3_select(t, through, ray_offset(t, si.p, si.ng, x->at.d), x->at.o);
    x->at.event = ir_add(f, x->at.event, t_u32(t, 1));
    if (w->media)
        x->at.medium = medium_behind(w, &si, x->at.d, x->at.medium), x->at.share = flight.share;
    x->crosses = ir_or(f, x->crosses, through);
    x->going = through;
}

void attached_look_through(walk *w, walk_vertex *v, const walk_position *at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk own = *w;
    own.motion = &motion_none; /* This walk decides what lies ahead, and moves nothing. */
    ir_ref no = ir_bool(f, false), from_surface = w->media ? ir_not(f, v->flight.collides) : ir_bool(f, true);
    ir_ref wanted = ir_and(f, ir_and(f, v->goes_on, ir_not(f, ir_or(f, v->through, v->sample.delta))),
                           link_is(w, at->attached.link, LINK_RAY));
    if (w->attaches)
        wanted = ir_and(f, wanted, ir_not(f, v->attached.sampled));
    vec3 anywhere = v3_add(t, v->next_o, v->next_d); /* A point from which only finite values can come. */
    way_on x = {walk_next(&own, *at, v, wanted), wanted, no, no, no, no, anywhere, v->next_d};
    loop_state state = {0}, next = {0};
    state_way(&own, &state, &x);
    ir_ref loop = state_loop(f, &state);
    state_way(&own, &state, &x);
    ir_while(f, x.going);
    go_on(&own, &x, from_surface);
    state_way(&own, &next, &x);
    state_endloop(f, loop, &state, &next);
    state_way(&own, &state, &x);
    state_end(&state);
    v->attached.next_p = x.p, v->attached.next_ng = x.ng;
    v->attached.next_valid = ir_and(f, x.holds, ir_not(f, ir_or(f, x.crosses, x.delta)));
    v->attached.next_delta = ir_and(f, x.meets, ir_not(f, v->attached.next_valid));
    v->attached.swings = ir_and(f, x.holds, v->attached.next_delta);
}
