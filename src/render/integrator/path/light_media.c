/* SPDX-License-Identifier: BSD-3-Clause
 * Paths from lights in participating media (docs/theory/light_tracing.md): the medium that a path begins in,
 * flights between vertices, and what gets through from a vertex to the sensor. Flights and transmittance are
 * those of paths from the sensor (media/), in their order: a collision is a vertex, and a surface that the
 * path goes straight through is none. Phase functions are the same in both directions.
 *
 * The medium of a light is that on the near side of the first boundary of media that its ray meets, whatever
 * opaque surfaces are before it. So boundaries must be closed, as paths from the sensor need them, too. */
#include "render/integrator/media/media.h"
#include "render/integrator/path/light_path.h"

static walk_position walk_position_of(const light_position *at)
{
    return (walk_position){
        .sample = at->sample,
        .depth = at->depth,
        .o = at->o,
        .d = at->d,
        .tmax = at->tmax,
        .event = at->event,
        .medium = at->medium,
        .share = at->share,
    };
}

/* What a ray meets of boundaries of media, up to infinity or the first one. */
typedef struct boundaries {
    ir_ref some; /* bool */
    ir_ref near,
        last; /* u32: the medium before the first one, and behind the last one, as in walk_position */
} boundaries;

/* first: bool, the ray ends at the first boundary. wanted: bool, the ray is asked at all. */
static boundaries look_for_boundaries(walk *w, vec3 o, vec3 d, bool first, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const ir_ref none = t_u32(t, 0);
    ir_ref state[7] = {o.x, o.y, o.z, wanted, ir_bool(f, false), none, none}, loop = ir_loop(f, state, 7);
    ir_while(f, state[3]);
    vec3 from = vec3_at(state);
    interaction si = walk_intersect(w, (walk_position){.o = from, .d = d, .tmax = t_f32(t, 1e30f)}, NULL);
    ir_ref either = ir_or(f, t_word(t, si.shape, SHAPE_INTERIOR), t_word(t, si.shape, SHAPE_EXTERIOR)),
           boundary = ir_and(f, si.valid, ir_ne(f, either, none));
    ir_ref before = medium_behind(w, &si, v3_neg(t, d), none), behind = medium_behind(w, &si, d, none);
    vec3 on = v3_select(t, si.valid, ray_offset(t, si.p, si.ng, d), from);
    ir_ref next[7] = {on.x,
                      on.y,
                      on.z,
                      first ? ir_and(f, si.valid, ir_not(f, boundary)) : si.valid,
                      ir_or(f, state[4], boundary),
                      ir_select(f, ir_and(f, boundary, ir_not(f, state[4])), before, state[5]),
                      ir_select(f, boundary, behind, state[6])};
    ir_endloop(f, loop, next, 7);
    return (boundaries){state[4], state[5], state[6]};
}

ir_ref light_medium_at(walk *w, vec3 p, vec3 d, ir_ref begins)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const boundaries here = look_for_boundaries(w, p, d, true, begins);
    ir_ref outside = t_u32(t, 0);
    if (w->plan->words.data[HEADER_SENSOR_MEDIUM]) { /* it may have no end */
        const sensor_view view = walk_view(w);
        ir_ref asks = ir_and(f, begins, ir_not(f, here.some));
        boundaries there = look_for_boundaries(w, sensor_vector(t, &view, POSE_ORIGIN), d, false, asks);
        outside = ir_select(f, there.some, there.last, t_word(t, t_u32(t, 0), HEADER_SENSOR_MEDIUM));
    }
    return ir_select(f, here.some, here.near, outside);
}

void light_fly(walk *w, const light_position *at, walk_vertex *v)
{
    tracer *t = &w->t;
    walk_position by = walk_position_of(at), reaching = by;
    reaching.tmax = flight_reach(w, &by);
    v->si = walk_intersect(w, reaching, &v->met);
    v->flight = flight_start(w, &by, v->si.t);
    v->collision_z = t_f32(t, 0);
    v->bsdf_class = t_word(t, v->si.shape, SHAPE_BSDF_CLASS),
    v->bsdf_record = t_word(t, v->si.shape, SHAPE_BSDF_RECORD);
    walk_take_collision(w, v, by);
}

/* The vertex from which the way to the sensor begins, as the way from a vertex to a light. A point just
 * outside of the scene stands for one at infinity. */
static walk_vertex looking_to_sensor(walk *w, const light_connection *c, const light_way *from,
                                     const light_vertex *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_scene *s = w->plan->scene;
    walk_vertex v = l->v;
    v.si.p = from->p, v.si.ng = from->n, v.si.valid = ir_and(f, v.si.valid, ir_not(f, l->begins));
    v.light_d = c->to, v.light.distance = ir_mul(f, c->distance, ir_sub(f, t_f32(t, 1), c->link.near));
    if (s->environment == PLAN_NONE)
        return v;
    vec3 centre = v3(t_f32(t, s->center[0]), t_f32(t, s->center[1]), t_f32(t, s->center[2]));
    ir_ref out =
        t_mad(t, v3_length(t, v3_sub(t, c->link.point, centre)), t_f32(t, 2), t_f32(t, 2 * (s->radius + 1)));
    v.light.distance = ir_select(f, from->far, out, v.light.distance);
    v.si.p = v3_select(t, from->far, v3_sub(t, c->link.point, v3_scale(t, c->to, out)), v.si.p);
    return v;
}

void light_to_sensor(walk *w, const light_position *at, const light_connection *c, const light_way *from,
                     light_vertex *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    l->from = walk_position_of(at), l->crosses = looking_to_sensor(w, c, from, l);
    const walk_shadow shadow = shadow_cross(w, &l->crosses, &l->from, l->splat.there, false);
    l->crosses.shadow = shadow;
    l->splat.there = ir_and(f, l->splat.there, shadow.open);
    l->passed = throughput_where(w, shadow.zeros, 0, shadow.product);
}

color light_passed(walk *w, const light_vertex *l)
{
    const walk_shadow shadow = shadow_cross(w, &l->crosses, &l->from, l->splat.there, true);
    return throughput_where(w, shadow.zeros, 0, shadow.product);
}

color light_flown(walk *w, const light_position *at, const light_vertex *l)
{
    return flight_weight(w, &l->v.flight, at->share);
}
