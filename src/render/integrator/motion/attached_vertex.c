/* SPDX-License-Identifier: BSD-3-Clause
 * See attached_vertex.h. The ray is intersected again with the entry that is known to be hit, so that the
 * surface is a function of the ray. Where the link says that the whole ray moves, it is walk_arrival.now. */
#include "render/integrator/motion/attached_vertex.h"

ir_ref link_is(walk *w, ir_ref link, enum walk_link is)
{
    BL_ASSERT(ir_made(w->t.f, link), "a vertex without a link");
    bool either = is == LINK_RAY && w->attaches;
    return (either ? ir_ge : ir_eq)(w->t.f, link, t_u32(&w->t, is));
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

two_vertices attached_look(walk *w, const walk_arrival *way)
{
    two_vertices x = {.now = look(w, way, w->fn.interact_differentiated, way->now)};
    x.before = w->pass == RENDER_FROZEN
                   ? look(w, way, w->fn.slide_before, (walk_ray){.o = way->hit.o, .d = way->hit.d})
                   : x.now;
    return x;
}
