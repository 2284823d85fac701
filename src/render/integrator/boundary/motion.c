/* SPDX-License-Identifier: BSD-3-Clause
 * How an edge moves relative to the segment that touches it. The segment's ends are the points that the
 * detached gradient holds (docs/theory/moving_geometry.md): only if both terms hold the same points do they
 * add up to the whole derivative. */
#include "render/integrator/boundary/boundary.h"

static const float PARALLEL = 0.02f; /* sine of the angle between two surfaces, at least */

/* The surface at a hit, as it moves; where shapes move at all. */
static interaction surface_moved(walk *w, const walk_hit *hit)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_hit h = *hit;
    bool ray_moves = w->wants.surface_anew;
    h.t = ir_detach(f, h.t), h.b = (vec2){ir_detach(f, h.b.x), ir_detach(f, h.b.y)};
    if (!ray_moves)
        h.o = v3_detach(t, h.o), h.d = v3_detach(t, h.d);
    return walk_surface_met(w, h, w->fn.interact_differentiated);
}

vec3 boundary_hit_moved(walk *w, const walk_hit *hit)
{
    tracer *t = &w->t;
    vec3 p = v3_detach(t, hit->p);
    if (!w->fn.interact_differentiated)
        return p;
    return v3_select(t, hit->valid, surface_moved(w, hit).p, p);
}

/* bool: the edge stands on the surface that is seen past it. That surface is met before the edge, and its
 * plane passes the edge nearer than rays do, so they see no gap. Where it is nearly parallel to the surface
 * that ends there, it does not say where the edge goes. n: the unit normals on both sides. */
static ir_ref stands(walk *w, const boundary_point *b, const boundary_sides *s, const vec3 n[2])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref near = ir_mul(f, b->offset, t_f32(t, 2)), sine = v3_length(t, v3_cross(t, n[0], n[1])),
           is = ir_and(f, ir_and(f, b->closed, s->seen), ir_gt(f, sine, t_f32(t, PARALLEL)));
    vec3 to[2];
    for (int k = 0; k < 2; k++) {
        to[k] = v3_sub(t, v3_detach(t, s->hit[k].p), b->p);
        is = ir_and(f, is, s->hit[k].valid);
        is = ir_and(f, is, ir_lt(f, ir_abs(f, v3_dot(t, n[k], to[k])), near));
    }
    return ir_and(f, is, ir_lt(f, v3_dot(t, to[1], b->d), t_f32(t, 0)));
}

/* bool: the surface on which an edge stands goes on behind it, or the body has a face there. Else that
 * surface has an edge there, too, which stands on the body. n: its normal; p: where it is seen. */
static ir_ref goes_on(walk *w, const boundary_point *b, vec3 p, vec3 n, ir_ref stands)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref away = ir_gt(f, v3_dot(t, n, b->d), t_f32(t, 0)), height = ir_mul(f, b->offset, t_f32(t, 4));
    vec3 up = v3_select(t, away, v3_neg(t, n), n), behind = v3_sub(t, v3_add(t, b->p, b->p), p);
    ir_ref off = v3_dot(t, up, v3_sub(t, p, behind));
    vec3 from = v3_add(t, behind, v3_scale(t, up, ir_add(f, off, height)));
    ir_ref far = ir_select(f, stands, ir_add(f, height, height), t_f32(t, -1));
    return walk_closest(w, from, v3_neg(t, up), far).valid;
}

boundary_edge boundary_edge_moved(walk *w, const boundary_point *b, const boundary_sides *s, vec3 from)
{
    tracer reads = walk_differentiated(w), *t = &reads;
    ir_func *f = t->f;
    boundary_edge edge = {silhouette_moved(t, &b->place, b->p, from), t_f32(t, 1)};
    if (!w->fn.interact_differentiated)
        return edge;
    ir_ref by[2];
    vec3 n[2];
    for (int k = 0; k < 2; k++) {
        interaction si = surface_moved(w, &s->hit[k]);
        n[k] = v3_detach(t, si.ng), by[k] = v3_dot(t, n[k], v3_sub(t, si.p, v3_detach(t, si.p)));
    }
    vec3 curve = v3_add(t, v3_detach(t, b->p), silhouette_crossing_step(t, n, by));
    ir_ref is = stands(w, b, s, n), on = goes_on(w, b, v3_detach(t, s->hit[1].p), n[1], is);
    edge.p = v3_select(t, is, curve, edge.p);
    edge.share = ir_select(f, ir_and(f, is, ir_not(f, on)), t_f32(t, 0.5f), edge.share);
    return edge;
}

ir_ref boundary_motion(walk *w, const boundary_point *b, const boundary_segment *s)
{
    tracer reads = walk_differentiated(w), *t = &reads;
    ir_func *f = t->f;
    vec3 edge = s->edge ? *s->edge : silhouette_moved(t, &b->place, b->p, s->x), n = v3_detach(t, b->n),
         x = v3_detach(t, s->x), y = v3_detach(t, s->y);
    /* The share of the way from x to y at which the edge is. */
    ir_ref before = v3_length(t, v3_sub(t, v3_detach(t, b->p), x)),
           after = v3_length(t, v3_sub(t, y, v3_detach(t, b->p)));
    ir_ref share = t_ratio(t, before, ir_add(f, before, after));
    share = ir_select(f, s->y_far, t_f32(t, 0), share);
    ir_ref at_x = ir_mul(f, v3_dot(t, n, v3_sub(t, s->x, x)), ir_sub(f, t_f32(t, 1), share)),
           at_y = ir_mul(f, v3_dot(t, n, v3_sub(t, s->y, y)), share);
    at_y = ir_select(f, s->y_far, t_f32(t, 0), at_y);
    ir_ref moved = v3_dot(t, n, v3_sub(t, edge, v3_detach(t, b->p)));
    ir_ref relative = ir_sub(f, moved, ir_add(f, at_x, at_y));
    return ir_is_none(s->share) ? relative : ir_mul(f, relative, s->share);
}

ray boundary_camera_ray(walk *w, vec2 position, vec2 lens)
{
    tracer reads = walk_differentiated(w);
    sensor_view view = walk_view(w);
    vec2 p = {ir_detach(reads.f, position.x), ir_detach(reads.f, position.y)};
    return sensor_ray(&reads, &view, p, lens);
}
