/* SPDX-License-Identifier: BSD-3-Clause
 * See attached_vertex.h. The ray is intersected again with the entry that is known to be hit, so that the
 * surface is a function of the ray. Where the link says that the whole ray moves, it is walk_arrival.now. */
#include "render/integrator/motion/attached_vertex.h"
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/motion/displacement.h"
#include "render/integrator/motion/shifted.h"

ir_ref link_is(walk *w, ir_ref link, enum walk_link is)
{
    BL_ASSERT(ir_made(w->t.f, link), "a vertex without a link");
    bool either = is == LINK_RAY && w->attaches;
    return (either ? ir_ge : ir_eq)(w->t.f, link, t_u32(&w->t, is));
}

/* The vertex of the values that are differentiated, along a ray that may have bent. */
static ray_vertex look_along_curve(walk *w, const walk_arrival *way)
{
    tracer *t = &w->t;
    ir_ref moves = link_is(w, way->link, LINK_RAY);
    eikonal_state last = eikonal_last_stretch(w, &way->curve, way->now);
    vec3 d = v3_select(t, way->curve.bends, v3_normalize(t, last.w), last.w);
    walk_hit hit = way->hit;
    hit.o = v3_select(t, moves, last.x, v3_detach(t, hit.o));
    hit.d = v3_select(t, moves, d, v3_detach(t, hit.d));
    interaction si = walk_surface_met(w, hit, w->fn.interact_differentiated);
    const ir_ref *stretch = way->curve.state; /* place and velocity; their sum is any point of it */
    vec3 nowhere = v3_detach(t, v3_add(t, vec3_at(stretch), vec3_at(stretch + 3)));
    eikonal_arrival end = eikonal_arrives(w, &way->curve, &last, v3_select(t, way->hit.valid, si.p, nowhere));
    return (ray_vertex){.si = si,
                        .o = last.x,
                        .d = v3_select(t, moves, end.v, v3_detach(t, way->curve.d)),
                        .thickness = end.thickness,
                        .emitted = end.emitted};
}

/* The vertex of one set of values. slide: the functions that intersect entries again. along: the ray. */
static ray_vertex look(walk *w, const walk_arrival *way, ir_func **slide, walk_ray along)
{
    BL_ASSERT(slide, "surfaces are met anew by functions that were not traced");
    tracer *t = &w->t;
    ir_ref moves = link_is(w, way->link, LINK_RAY);
    walk_hit hit = way->hit;
    hit.o = v3_select(t, moves, along.o, v3_detach(t, hit.o)),
    hit.d = v3_select(t, moves, along.d, v3_detach(t, hit.d));
    interaction si = walk_surface_met(w, hit, slide);
    return (ray_vertex){.si = si, .o = along.o, .d = hit.d};
}

ray_vertex attached_look_now(walk *w, const walk_arrival *way)
{
    return w->bends ? look_along_curve(w, way) : look(w, way, w->fn.interact_differentiated, way->now);
}

/* The distance along the ray at which it meets the surface. */
static ir_ref reach(walk *w, const ray_vertex *x)
{
    return v3_dot(&w->t, v3_sub(&w->t, x->si.p, x->o), x->d);
}

/* Puts the vertex where the flight has ended: a collision keeps its share of the way to the surface. */
static void stand_in_medium(walk *w, const walk_arrival *way, two_vertices *x)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref moves = ir_and(f, link_is(w, way->link, LINK_RAY), way->hit.valid),
           flown = ir_detach(f, way->flown);
    x->growth = shifted_ratio(w, moves, reach(w, &x->now), reach(w, &x->before));
    x->slide = ir_select(f, moves, displacement(w, reach(w, &x->now), reach(w, &x->before)), t_f32(t, 0));
    vec3 now = v3_add(t, x->now.o, v3_scale(t, x->now.d, ir_mul(f, flown, x->growth))),
         before = v3_add(t, x->before.o, v3_scale(t, x->before.d, flown));
    x->now.si.p = v3_select(t, way->collides, now, x->now.si.p);
    x->before.si.p = v3_select(t, way->collides, before, x->before.si.p);
    if (w->pass != RENDER_FROZEN)
        x->before = x->now;
}

two_vertices attached_look(walk *w, const walk_arrival *way)
{
    two_vertices x = {.now = attached_look_now(w, way)};
    x.before = w->pass == RENDER_FROZEN
                   ? look(w, way, w->fn.slide_before, (walk_ray){.o = way->hit.o, .d = way->hit.d})
                   : x.now;
    if (w->bends && w->pass == RENDER_FROZEN) /* the stretch that was met is a ray of its own */
        x.before.d = way->curve.d, x.before.thickness = way->curve.thickness,
        x.before.emitted = way->curve.emitted;
    if (w->media)
        stand_in_medium(w, way, &x);
    return x;
}
