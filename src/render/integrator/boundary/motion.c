/* SPDX-License-Identifier: BSD-3-Clause
 * How an edge moves relative to the segment that touches it. The segment's ends are the points that the
 * detached gradient holds (docs/theory/moving_geometry.md): only if both terms hold the same points do they
 * add up to the whole derivative. */
#include "render/integrator/boundary/boundary.h"

vec3 boundary_hit_moved(walk *w, const walk_hit *hit)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_hit h = *hit;
    if (!w->fn.interact_differentiated)
        return v3_detach(t, h.p);
    bool ray_moves = w->wants.surface_anew;
    vec3 p = v3_detach(t, h.p);
    h.t = ir_detach(f, h.t), h.b = (vec2){ir_detach(f, h.b.x), ir_detach(f, h.b.y)};
    if (!ray_moves)
        h.o = v3_detach(t, h.o), h.d = v3_detach(t, h.d);
    interaction si = walk_surface_met(w, h, w->fn.interact_differentiated);
    return v3_select(t, h.valid, si.p, p);
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
    return ir_sub(f, moved, ir_add(f, at_x, at_y));
}

ray boundary_camera_ray(walk *w, vec2 position, vec2 lens)
{
    tracer reads = walk_differentiated(w);
    sensor_view view = walk_view(w);
    vec2 p = {ir_detach(reads.f, position.x), ir_detach(reads.f, position.y)};
    return sensor_ray(&reads, &view, p, lens);
}
