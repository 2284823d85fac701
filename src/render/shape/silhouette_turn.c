/* SPDX-License-Identifier: BSD-3-Clause
 * Where the interpolated normal N of a face turns away from a viewpoint v. The face is still seen there, but
 * most materials are black from behind, so light jumps along the curve
 *
 *     g(x, y) = N(x, y) . (p(x, y) - v) = 0 ,
 *
 * x and y being the weights of the face's second and third vertex, with which p and N are linear. g is a
 * polynomial of degree two. For a given x it has two zeros in y, and the other way about; a point of the
 * curve belongs to the coordinate along which the curve goes most there.
 *
 * When vertices, the shape or the viewpoint move, the curve moves over the face. At fixed (x, y) g changes by
 * dg, so the curve's point steps by -dg / |grad g|^2 along grad g. */
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

/* Of a side of the curve: the cosine there between normal and view, many times the rounding of that. */
static const float BESIDE = 4e-6f;

/* The face, in the space in which its mesh stands: at its first vertex, and by x and y. */
typedef struct turning_face {
    vec3 p, p_x, p_y, n, n_x, n_y;
} turning_face;

static void corners(tracer *t, ir_ref edge, const mesh_vertices *array, vec3 out[3])
{
    static const uint32_t words[3] = {EDGE_FROM, EDGE_TO, EDGE_OPPOSITE};
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref v[3];
        mesh_vertex(t, array, t_word(t, edge, words[k]), v);
        out[k] = vec3_at(v);
    }
    out[1] = v3_sub(t, out[1], out[0]), out[2] = v3_sub(t, out[2], out[0]);
}

static turning_face face_at(tracer *t, ir_ref data, ir_ref edge)
{
    vec3 p[3], n[3];
    const mesh_vertices positions = {data, MESH_ARRAY_POSITIONS, t_word(t, data, MESH_POSITIONS), 3},
                        normals = {data, MESH_ARRAY_NORMALS, t_word(t, data, MESH_NORMALS), 3};
    corners(t, edge, &positions, p), corners(t, edge, &normals, n);
    return (turning_face){p[0], p[1], p[2], n[0], n[1], n[2]};
}

static vec3 across_face(tracer *t, vec3 at, vec3 by_x, vec3 by_y, ir_ref x, ir_ref y)
{
    return v3_add(t, at, v3_add(t, v3_scale(t, by_x, x), v3_scale(t, by_y, y)));
}

/* A point of the curve: its place, the slope of g, and the other coordinate's derivative by the one along
 * which the curve goes most (second: bool, it is y). */
typedef struct turning_place {
    ir_ref there, x, y, by_x, by_y, second, slope;
} turning_place;

static turning_place place_at(tracer *t, const turning_face *face, vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), many = ir_mul(f, along, t_f32(t, 4)),
           number = ir_min(f, ir_to_u32(f, many), t_u32(t, 3)), u = ir_sub(f, many, ir_to_f32(f, number));
    turning_place q = {.second = t_has_bit(t, number, 1)};
    vec3 w = v3_sub(t, face->p, viewpoint);
    ir_ref at = v3_dot(t, face->n, w), x = ir_add(f, v3_dot(t, face->n, face->p_x), v3_dot(t, face->n_x, w)),
           y = ir_add(f, v3_dot(t, face->n, face->p_y), v3_dot(t, face->n_y, w)),
           xx = v3_dot(t, face->n_x, face->p_x), yy = v3_dot(t, face->n_y, face->p_y),
           xy = ir_add(f, v3_dot(t, face->n_x, face->p_y), v3_dot(t, face->n_y, face->p_x));
    /* a z^2 + b z + c, with z the coordinate other than u */
    ir_ref a = ir_select(f, q.second, xx, yy), b = t_mad(t, xy, u, ir_select(f, q.second, x, y)),
           first = ir_select(f, q.second, y, x), square = ir_select(f, q.second, yy, xx),
           c = t_mad(t, t_mad(t, square, u, first), u, at);
    ir_ref root = ir_sqrt(f, ir_sub(f, t_sqr(t, b), ir_mul(f, t_f32(t, 4), ir_mul(f, a, c))));
    root = ir_select(f, ir_lt(f, b, zero), ir_neg(f, root), root);
    ir_ref half = ir_mul(f, t_f32(t, -0.5f), ir_add(f, b, root)), nearer = t_has_bit(t, number, 2);
    ir_ref over = ir_select(f, nearer, half, a);
    over = ir_select(f, ir_eq(f, over, zero), t_f32(t, 1e-30f), over);
    ir_ref z = ir_div(f, ir_select(f, nearer, c, half), over);
    q.there = ir_and(f, ir_ge(f, z, zero), ir_le(f, ir_add(f, z, u), one));
    z = ir_select(f, q.there, z, zero);
    q.x = ir_select(f, q.second, z, u), q.y = ir_select(f, q.second, u, z);
    q.by_x = t_mad(t, ir_add(f, xx, xx), q.x, t_mad(t, xy, q.y, x));
    q.by_y = t_mad(t, ir_add(f, yy, yy), q.y, t_mad(t, xy, q.x, y));
    ir_ref by_u = ir_select(f, q.second, q.by_y, q.by_x), by_z = ir_select(f, q.second, q.by_x, q.by_y),
           size = ir_abs(f, by_z), size_u = ir_abs(f, by_u);
    ir_ref most = ir_or(f, ir_gt(f, size, size_u), ir_and(f, ir_eq(f, size, size_u), ir_not(f, q.second)));
    q.there = ir_and(f, q.there, ir_and(f, most, ir_gt(f, size, zero)));
    q.slope = ir_select(f, q.there, ir_neg(f, ir_div(f, by_u, ir_select(f, q.there, by_z, one))), zero);
    return q;
}

silhouette_point silhouette_turn(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    turning_face face = face_at(t, data, edge);
    turning_place q = place_at(t, &face, viewpoint, along);
    ir_ref one = t_f32(t, 1), x = ir_select(f, q.second, q.slope, one),
           y = ir_select(f, q.second, one, q.slope);
    vec3 none = v3_zero(t);
    return (silhouette_point){
        .there = q.there,
        .p = across_face(t, face.p, face.p_x, face.p_y, q.x, q.y),
        .along = v3_scale(t, across_face(t, none, face.p_x, face.p_y, x, y), t_f32(t, 4)),
        .out = across_face(t, none, face.p_x, face.p_y, q.by_x, q.by_y),
        .closed = ir_bool(f, false),
        .crease = t_real(t, edge, EDGE_CREASE),
    };
}

silhouette_sides silhouette_turn_sides(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    turning_face face = face_at(t, data, edge);
    turning_place q = place_at(t, &face, viewpoint, along);
    vec3 p = across_face(t, face.p, face.p_x, face.p_y, q.x, q.y), w = v3_sub(t, p, viewpoint);
    vec3 normal = v3_normalize(t, v3_cross(t, face.p_x, face.p_y));
    ir_ref cosine = v3_dot(t, normal, v3_normalize(t, w)), away = ir_gt(f, cosine, t_f32(t, 0));
    ir_ref square = ir_add(f, t_sqr(t, q.by_x), t_sqr(t, q.by_y)),
           step = t_ratio(t, ir_mul(f, v3_length(t, w), t_f32(t, BESIDE)), square);
    ir_ref x = ir_mul(f, q.by_x, step), y = ir_mul(f, q.by_y, step), yes = q.there;
    ir_ref primitive = ir_shr(f, t_word(t, edge, EDGE_FACE_ONE), t_u32(t, 3));
    return (silhouette_sides){
        .known = {yes, yes},
        .primitive = {primitive, primitive},
        .b = {{ir_sub(f, q.x, x), ir_sub(f, q.y, y)}, {ir_add(f, q.x, x), ir_add(f, q.y, y)}},
        .edge_on = ir_le(f, ir_abs(f, cosine), t_f32(t, SILHOUETTE_GRAZING)),
        .toward = v3_select(t, away, v3_neg(t, normal), normal),
    };
}

silhouette_turning silhouette_turn_moved(tracer *t, ir_ref data, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    tracer now = t_deciding(t);
    turning_face stays = face_at(&now, data, edge), moves = face_at(t, data, edge);
    turning_place q = place_at(&now, &stays, v3_detach(t, viewpoint), ir_detach(f, along));
    return (silhouette_turning){
        .p = across_face(t, moves.p, moves.p_x, moves.p_y, q.x, q.y),
        .n = across_face(t, moves.n, moves.n_x, moves.n_y, q.x, q.y),
        .aside = across_face(t, v3_zero(t), stays.p_x, stays.p_y, q.by_x, q.by_y),
        .square = ir_add(f, t_sqr(t, q.by_x), t_sqr(t, q.by_y)),
    };
}
