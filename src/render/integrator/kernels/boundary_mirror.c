/* SPDX-License-Identifier: BSD-3-Clause
 * Flat mirrors, through which the sensor sees edges (boundary_seen.c). What a flat mirror shows stands behind
 * it: from the viewpoint's image in the mirror the edge is seen straight on, and the image of the edge is
 * seen from the viewpoint. So an edge in a mirror is sampled as any other, with both images in their places.
 * Flat mirrors are rectangles whose material may have a discrete lobe (edges_flat_mirror). One of them is
 * chosen, all alike. The
 * mirror itself is held: next to discrete lobes directions stay (docs/theory/moving_geometry.md). */
#include "render/integrator/kernels/boundary.h"

boundary_mirror boundary_mirror_choose(walk *w, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    uint32_t count = w->plan->edge_mirrors;
    ir_ref list = t_word(t, t_word(t, t_u32(t, 0), HEADER_SILHOUETTES), SILHOUETTE_MIRRORS);
    ir_ref k = ir_to_u32(f, ir_mul(f, u, t_f32(t, 2 * (float)count)));
    boundary_mirror m = {.there = ir_lt(f, u, t_f32(t, 0.5f))};
    m.shape = t_word(t, ir_add(f, list, ir_min(f, k, t_u32(t, count - 1))), 0);
    ir_ref data = t_word(t, m.shape, SHAPE_DATA), at[3][3];
    mesh_vertices positions = {data, MESH_ARRAY_POSITIONS, t_word(t, data, MESH_POSITIONS), 3};
    for (uint32_t i = 0; i < 3; i++)
        mesh_vertex(t, &positions, t_u32(t, i), at[i]);
    m.p = vec3_at(at[0]);
    m.n = v3_normalize(t, v3_cross(t, v3_sub(t, vec3_at(at[1]), m.p), v3_sub(t, vec3_at(at[2]), m.p)));
    m.inverse = ir_select(f, m.there, t_f32(t, 2 * (float)count), t_f32(t, 2));
    return m;
}

/* The image of a vector where m.there; else the vector. */
static vec3 vector_image(tracer *t, const boundary_mirror *m, vec3 v)
{
    ir_ref by = ir_mul(t->f, t_f32(t, -2), v3_dot(t, v, m->n));
    return v3_select(t, m->there, v3_add(t, v, v3_scale(t, m->n, by)), v);
}

static vec3 point_image(tracer *t, const boundary_mirror *m, vec3 p)
{
    return v3_select(t, m->there, v3_add(t, m->p, vector_image(t, m, v3_sub(t, p, m->p))), p);
}

vec3 boundary_mirror_point(walk *w, const boundary_mirror *m, vec3 p) { return point_image(&w->t, m, p); }

vec3 boundary_mirror_vector(walk *w, const boundary_mirror *m, vec3 v) { return vector_image(&w->t, m, v); }

boundary_point boundary_mirror_edge(walk *w, const boundary_mirror *m, const boundary_point *b)
{
    boundary_point image = *b;
    image.p = point_image(&w->t, m, b->p), image.n = vector_image(&w->t, m, b->n);
    return image;
}

color boundary_mirror_pass(walk *w, const boundary_mirror *m, vec3 toward, boundary_point *b,
                           walk_position *at, vec3 *from)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color one = color_all(t_f32(t, 1));
    walk blind = *w; /* lights on the way do not matter */
    blind.next_event = false;
    radiance_walk p = radiance_start(w, at);
    p.at.o = *from, p.at.d = v3_normalize(t, v3_sub(t, toward, *from));
    p.at.tmax = ir_select(f, ir_and(f, m->there, b->there), at->tmax, t_f32(t, -1));
    ir_ref alive;
    walk_vertex v = radiance_vertex(&blind, &p, &alive);
    ir_ref mirrors = ir_and(f, v.sample.delta, ir_gt(f, ir_mul(f, v.wi.z, v.wo.z), t_f32(t, 0)));
    ir_ref there =
        ir_and(f, ir_and(f, alive, v.si.valid), ir_and(f, mirrors, ir_eq(f, v.si.shape, m->shape)));
    /* The edge must lie before the mirror, on the viewer's side. */
    there = ir_and(f, there, ir_gt(f, v3_dot(t, v3_sub(t, b->p, p.at.o), p.at.d), t_f32(t, 0)));
    b->there = ir_and(f, b->there, ir_or(f, ir_not(f, m->there), there));
    *at = position_select(w, m->there, p.at, *at);
    *from = v3_select(t, m->there, p.at.o, *from);
    b->distance = ir_select(f, m->there, v3_length(t, v3_sub(t, b->p, *from)), b->distance);
    return color_select(t, m->there, p.beta, one);
}
