/* SPDX-License-Identifier: BSD-3-Clause
 * Edges of meshes as a viewpoint sees them, and the surface on both sides of a mesh's curve.
 *
 * An edge lies on a silhouette where both of its faces are on the same side of the plane through edge and
 * viewpoint. Elsewhere it is a crease: nothing is hidden behind it, but normals may jump there, or light that
 * reaches one of its faces only.
 *
 * Which way a face looks is the sign of its normal times the vector to its first vertex, computed alike at
 * each of its edges. So a face that is seen edge-on (up to the cosine SILHOUETTE_GRAZING) looks away at all
 * of them: it hides nothing, and what hides it is counted once. */
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

static const float INSIDE_MOST = 0.02f; /* of the height of a face */

/* An edge, seen from a viewpoint; of its faces, [0] and [1]: */
typedef struct seen_edge {
    vec3 p, along;
    ir_ref border;      /* bool: both are the same face */
    ir_ref share;       /* of what jumps there, that this edge counts; where plan.edge_seams */
    ir_ref face[2];     /* edge_face() */
    vec3 opposite[2];   /* the third vertex */
    vec3 normal[2];     /* as long as twice the area */
    ir_ref distance[2]; /* from its plane to the viewpoint, times that length and -1 */
    ir_ref edge_on[2];  /* bool: it is seen edge-on */
    ir_ref faces[2];    /* bool: it is not, and the normal leads to the viewpoint's side */
    ir_ref on[2];       /* bool: on which side of the plane through edge and viewpoint it lies */
} seen_edge;

/* A vertex of the mesh, in the space in which the mesh stands. */
static vec3 vertex(tracer *t, ir_ref data, ir_ref index)
{
    ir_ref p[3];
    mesh_vertices positions = {data, MESH_ARRAY_POSITIONS, t_word(t, data, MESH_POSITIONS), 3};
    mesh_vertex(t, &positions, index, p);
    return vec3_at(p);
}

vec3 silhouette_edge_vertex(tracer *t, ir_ref data, ir_ref edge, uint32_t word)
{
    return vertex(t, data, t_word(t, edge, word));
}

static ir_ref corner_of(tracer *t, ir_ref face)
{
    return ir_and(t->f, ir_shr(t->f, face, t_u32(t, 1)), t_u32(t, 3));
}

static void look_at_face(tracer *t, ir_ref face, vec3 from, vec3 to, vec3 viewpoint, seen_edge *e, int k)
{
    ir_func *f = t->f;
    ir_ref turned = t_has_bit(t, face, 1), corner = corner_of(t, face), first = ir_eq(f, corner, t_u32(t, 0)),
           second = ir_eq(f, corner, t_u32(t, 1));
    vec3 a = v3_select(t, turned, to, from), b = v3_select(t, turned, from, to), c = e->opposite[k];
    vec3 v[3] = {v3_select(t, first, a, v3_select(t, second, c, b)),
                 v3_select(t, first, b, v3_select(t, second, a, c)),
                 v3_select(t, first, c, v3_select(t, second, b, a))};
    e->normal[k] = v3_cross(t, v3_sub(t, v[1], v[0]), v3_sub(t, v[2], v[0]));
    vec3 to_first = v3_sub(t, v[0], viewpoint);
    e->distance[k] = v3_dot(t, e->normal[k], to_first);
    ir_ref far = ir_mul(f, v3_length(t, e->normal[k]), v3_length(t, to_first)),
           least = ir_mul(f, far, t_f32(t, SILHOUETTE_GRAZING));
    e->edge_on[k] = ir_le(f, ir_abs(f, e->distance[k]), least);
    e->faces[k] = ir_lt(f, e->distance[k], ir_neg(f, least));
    e->on[k] = ir_select(f, turned, ir_not(f, e->faces[k]), e->faces[k]);
}

static ir_ref apart(tracer *t, vec3 a, vec3 b, ir_ref most)
{
    vec3 d = v3_sub(t, a, b);
    return ir_gt(t->f, v3_dot(t, d, d), t_sqr(t, most));
}

/* Of a seam the second face is another mesh's, which has the same edge, so each counts half. Where the meshes
 * have moved apart the edge is a border. */
static void look_past_seam(tracer *t, ir_ref edge, vec3 from, vec3 to, seen_edge *e)
{
    ir_func *f = t->f;
    ir_ref branch = ir_if(f, ir_eq(f, t_word(t, edge, EDGE_OTHER), t_u32(t, EDGE_SEAM))),
           seam = t_word(t, edge, EDGE_FACE_TWO), most = t_real(t, seam, SEAM_TOLERANCE),
           data = t_word(t, t_word(t, seam, SEAM_SHAPE), SHAPE_DATA);
    vec3 ends[2] = {vertex(t, data, t_word(t, seam, SEAM_FROM)), vertex(t, data, t_word(t, seam, SEAM_TO))},
         opposite = vertex(t, data, t_word(t, seam, SEAM_OPPOSITE));
    ir_ref border = ir_or(f, apart(t, ends[0], from, most), apart(t, ends[1], to, most)),
           face = ir_select(f, border, e->face[0], t_word(t, seam, SEAM_FACE));
    opposite = v3_select(t, border, e->opposite[0], opposite);
    ir_ref one = t_f32(t, 1), share = ir_select(f, border, one, t_f32(t, 0.5f));
    ir_else(f);
    ir_endif(f);
    e->border = ir_phi(f, branch, border, e->border), e->face[1] = ir_phi(f, branch, face, e->face[1]);
    e->opposite[1] = v3_phi(t, branch, opposite, e->opposite[1]);
    e->share = ir_phi(f, branch, share, one);
}

static seen_edge look_at_edge(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    uint32_t least = t->plan->edge_seams ? EDGE_SEAM : EDGE_TURNS; /* of what is no vertex */
    ir_ref other = t_word(t, edge, EDGE_OTHER), opposite = t_word(t, edge, EDGE_OPPOSITE);
    vec3 from = silhouette_edge_vertex(t, data, edge, EDGE_FROM),
         to = silhouette_edge_vertex(t, data, edge, EDGE_TO);
    seen_edge e = {.along = v3_sub(t, to, from), .border = ir_ge(f, other, t_u32(t, least))};
    e.p = v3_add(t, from, v3_scale(t, e.along, along));
    e.opposite[0] = vertex(t, data, opposite);
    e.opposite[1] = vertex(t, data, ir_select(f, e.border, opposite, other));
    e.face[0] = t_word(t, edge, EDGE_FACE_ONE), e.face[1] = t_word(t, edge, EDGE_FACE_TWO);
    if (t->plan->edge_seams)
        look_past_seam(t, edge, from, to, &e);
    look_at_face(t, e.face[0], from, to, viewpoint, &e, 0);
    look_at_face(t, e.face[1], from, to, viewpoint, &e, 1);
    return e;
}

/* bool: all of the surface lies on one side. */
static ir_ref closed_at(tracer *t, const seen_edge *e)
{
    ir_func *f = t->f;
    ir_ref both = ir_or(f, ir_and(f, e->on[0], e->on[1]), ir_not(f, ir_or(f, e->on[0], e->on[1])));
    return ir_or(f, e->border, both);
}

/* bool: the first face stands out more. Of one that is seen edge-on its side says nothing. */
static ir_ref first_stands_out(tracer *t, const seen_edge *e)
{
    return ir_ge(t->f, ir_abs(t->f, e->distance[0]), ir_abs(t->f, e->distance[1]));
}

silhouette_point silhouette_edge(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    seen_edge e = look_at_edge(t, data, edge, viewpoint, along);
    vec3 most = v3_select(t, first_stands_out(t, &e), e.opposite[0], e.opposite[1]);
    return (silhouette_point){.there = ir_bool(t->f, true),
                              .p = e.p,
                              .along = t->plan->edge_seams ? v3_scale(t, e.along, e.share) : e.along,
                              .out = v3_sub(t, e.p, most),
                              .closed = closed_at(t, &e),
                              .crease = t_real(t, edge, EDGE_CREASE)};
}

/* ---- the surface on both sides ---- */

ir_ref silhouette_entry(tracer *t, ir_ref primitive)
{
    ir_func *f = t->f;
    ir_ref entries = t_aligned(t, t_word(t, t_u32(t, 0), HEADER_ENTRIES)), words = t_u32(t, BVH_ENTRY_WORDS),
           count = t_word(t, t_word(t, t_u32(t, 0), HEADER_SILHOUETTES), SILHOUETTE_PRIMITIVES);
    ir_ref place = ir_add(f, ir_add(f, entries, ir_mul(f, words, count)), primitive);
    return ir_add(f, entries, ir_mul(f, words, t_word(t, place, 0)));
}

/* The coordinates on a face of the place `along` its edge, a share `inside` of the way to the third vertex.
 */
static vec2 on_edge(tracer *t, ir_ref face, ir_ref along, ir_ref inside)
{
    ir_func *f = t->f;
    ir_ref rest = ir_sub(f, t_f32(t, 1), along), turned = t_has_bit(t, face, 1), corner = corner_of(t, face),
           first = ir_eq(f, corner, t_u32(t, 0)), second = ir_eq(f, corner, t_u32(t, 1));
    ir_ref begin = ir_select(f, turned, along, rest), end = ir_select(f, turned, rest, along);
    vec2 b = {ir_select(f, first, end, ir_select(f, second, begin, inside)),
              ir_select(f, first, inside, ir_select(f, second, end, begin))};
    ir_ref less = ir_sub(f, t_f32(t, 1), inside);
    b.x = ir_select(f, ir_or(f, first, second), ir_mul(f, b.x, less), b.x);
    b.y = ir_select(f, first, b.y, ir_mul(f, b.y, less));
    return b;
}

/* How far inside of a face the surface beside its edge is evaluated: as rays pass an edge, but not far in a
 * small face. Rays that begin at the edge itself would miss the other face, where that stands up. */
static ir_ref inside_of(tracer *t, const seen_edge *e, int k)
{
    ir_ref height = t_ratio(t, v3_length(t, e->normal[k]), v3_length(t, e->along));
    return ir_min(t->f, t_ratio(t, ray_epsilon(t, e->p), height), t_f32(t, INSIDE_MOST));
}

/* The unit vector in the first face, or in the second one, at a right angle to the edge. */
static vec3 into_face(tracer *t, const seen_edge *e, ir_ref first)
{
    vec3 along = v3_normalize(t, e->along),
         to = v3_sub(t, v3_select(t, first, e->opposite[0], e->opposite[1]), e->p);
    return v3_normalize(t, v3_sub(t, to, v3_scale(t, along, v3_dot(t, to, along))));
}

/* How steeply a face goes back behind the edge: its plane's distance along the ray, by the distance from the
 * edge across the ray, toward the surface. */
static ir_ref steepness(tracer *t, const seen_edge *e, int k, vec3 out)
{
    ir_func *f = t->f;
    ir_ref size = ir_max(f, ir_abs(f, e->distance[k]), t_f32(t, 1e-30f));
    ir_ref by = ir_div(f, v3_dot(t, e->normal[k], out), size);
    return ir_select(f, e->faces[k], ir_neg(f, by), by);
}

silhouette_sides silhouette_edge_sides(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    seen_edge e = look_at_edge(t, data, edge, viewpoint, along);
    ir_ref closed = closed_at(t, &e), first = first_stands_out(t, &e);
    vec3 across = v3_cross(t, e.along, v3_sub(t, e.p, viewpoint)),
         out = v3_sub(t, e.p, v3_select(t, first, e.opposite[0], e.opposite[1]));
    ir_ref turned = ir_lt(f, v3_dot(t, across, out), t_f32(t, 0));
    out = v3_select(t, turned, v3_neg(t, across), across);
    /* Of two faces on one side that is seen which is in front. */
    ir_ref in_front = ir_le(f, steepness(t, &e, 0, out), steepness(t, &e, 1, out)),
           inner = ir_select(f, closed, ir_or(f, e.border, in_front), first);
    ir_ref one = ir_select(f, inner, e.face[0], e.face[1]), two = ir_select(f, inner, e.face[1], e.face[0]);
    ir_ref shift = t_u32(t, 3), on_inner = ir_select(f, inner, e.edge_on[0], e.edge_on[1]),
           on_outer = ir_select(f, inner, e.edge_on[1], e.edge_on[0]);
    ir_ref inside[2] = {inside_of(t, &e, 0), inside_of(t, &e, 1)};
    vec3 n[2];
    for (int k = 0; k < 2; k++) {
        n[k] = v3_normalize(t, e.normal[k]);
        n[k] = v3_select(t, e.faces[k], n[k], v3_neg(t, n[k]));
    }
    /* Above the inner face, and not past the edge: there may be what the shape stands on. */
    vec3 over = v3_add(t, v3_select(t, inner, n[0], n[1]), into_face(t, &e, inner));
    return (silhouette_sides){
        .known = {ir_bool(f, true), ir_not(f, closed)},
        .primitive = {ir_shr(f, one, shift), ir_shr(f, two, shift)},
        .b = {on_edge(t, one, along, ir_select(f, inner, inside[0], inside[1])),
              on_edge(t, two, along, ir_select(f, inner, inside[1], inside[0]))},
        .edge_on = ir_or(f, on_inner, ir_and(f, on_outer, ir_not(f, closed))),
        .toward = v3_select(t, closed, over, v3_add(t, n[0], n[1])),
    };
}
