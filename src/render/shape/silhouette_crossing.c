/* SPDX-License-Identifier: BSD-3-Clause
 * Curves in which two shapes go through each other. A piece of such a curve belongs to two primitives, each
 * flat (a triangle or a disk) or round (a sphere). Two planes meet in a line, of which the piece is the part
 * that lies within both; a sphere meets a plane or another sphere in a circle, of which only that counts that
 * lies within the flat one.
 *
 * As any viewpoint sees it, one surface hides the other on one side of the curve, and on the other side it is
 * the other way about. So both surfaces are seen right up to the curve, and light jumps as at a crease.
 *
 * The curve stays on both surfaces. With n_k their normals and v_k the velocity of any point of the surface k
 * that is there now, the curve's velocity v, at a right angle to its tangent, solves n_k . v = n_k . v_k. */
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

static const float pi = 3.14159265358979323846f;
static const float PARALLEL = 1e-4f; /* sine of the angle between two planes, at least */

/* One of the two primitives, where it is now. */
typedef struct crossing_side {
    ir_ref primitive, entry;
    ir_ref round, disk; /* bool */
    vec3 o, e1, e2;     /* flat: a point and two vectors (bvh_layout.h); round: the centre is o */
    vec3 across, n;     /* flat: e1 x e2, and its unit vector */
    ir_ref radius;      /* round */
} crossing_side;

static bool some_round(tracer *t) { return t->plan->scene->kind_used[SHAPE_SPHERE]; }

static crossing_side side_at(tracer *t, ir_ref edge, uint32_t k)
{
    ir_ref kinds = t_word(t, edge, CROSSING_KINDS);
    crossing_side s = {.primitive = t_word(t, edge, k ? CROSSING_OTHER : CROSSING_ONE)};
    s.entry = silhouette_entry(t, s.primitive);
    s.round = t_has_bit(t, kinds, 1u << k), s.disk = t_has_bit(t, kinds, 4u << k);
    s.o = v3_load(t, s.entry, 0), s.e1 = v3_load(t, s.entry, 3), s.e2 = v3_load(t, s.entry, 6);
    s.across = v3_cross(t, s.e1, s.e2), s.radius = t_real(t, s.entry, 3);
    s.n = v3_scale(t, s.across, t_ratio(t, t_f32(t, 1), v3_length(t, s.across)));
    return s;
}

static vec3 normal_at(tracer *t, const crossing_side *s, vec3 p)
{
    if (!some_round(t))
        return s->n;
    return v3_select(t, s->round, v3_normalize(t, v3_sub(t, p, s->o)), s->n);
}

/* The coordinates a, b of o + a e1 + b e2, a point of the plane; of a difference of points with origin false.
 */
static vec2 coordinates(tracer *t, const crossing_side *s, vec3 p, bool origin)
{
    vec3 d = origin ? v3_sub(t, p, s->o) : p;
    ir_ref by = t_ratio(t, t_f32(t, 1), v3_dot(t, s->across, s->across));
    return (vec2){ir_mul(t->f, v3_dot(t, v3_cross(t, d, s->e2), s->across), by),
                  ir_mul(t->f, v3_dot(t, v3_cross(t, s->e1, d), s->across), by)};
}

/* bool: the coordinates are those of a point within. */
static ir_ref within(tracer *t, const crossing_side *s, vec2 c)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    ir_ref triangle =
        ir_and(f, ir_and(f, ir_ge(f, c.x, zero), ir_ge(f, c.y, zero)), ir_le(f, ir_add(f, c.x, c.y), one));
    if (!t->plan->scene->kind_used[SHAPE_DISK])
        return triangle;
    ir_ref disk = ir_le(f, ir_add(f, t_sqr(t, c.x), t_sqr(t, c.y)), one);
    return ir_or(f, ir_and(f, s->disk, disk), ir_and(f, ir_not(f, s->disk), triangle));
}

/* ---- where two planes meet ---- */

/* A stretch of a line. */
typedef struct stretch {
    ir_ref low, high;
} stretch;

/* Leaves that of it where at + x by is 0 or more. */
static void clip(tracer *t, ir_ref at, ir_ref by, stretch *s)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), never = ir_and(f, ir_eq(f, by, zero), ir_lt(f, at, zero)),
           begin = t_ratio(t, ir_neg(f, at), by), end = t_ratio(t, at, ir_neg(f, by));
    s->low = ir_select(f, ir_gt(f, by, zero), ir_max(f, s->low, begin), s->low);
    s->high = ir_select(f, ir_lt(f, by, zero), ir_min(f, s->high, end), s->high);
    s->high = ir_select(f, never, s->low, s->high);
}

/* Leaves what lies within a primitive of the line from o along a unit vector, both in its plane. */
static void clip_by(tracer *t, const crossing_side *of, vec3 o, vec3 along, stretch *s)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1);
    vec2 at = coordinates(t, of, o, true), by = coordinates(t, of, along, false);
    stretch own = *s;
    clip(t, at.x, by.x, &own), clip(t, at.y, by.y, &own);
    clip(t, ir_sub(f, one, ir_add(f, at.x, at.y)), ir_neg(f, ir_add(f, by.x, by.y)), &own);
    if (t->plan->scene->kind_used[SHAPE_DISK]) {
        ir_ref a = ir_add(f, t_sqr(t, by.x), t_sqr(t, by.y)), b = t_mad(t, at.x, by.x, ir_mul(f, at.y, by.y)),
               c = ir_sub(f, ir_add(f, t_sqr(t, at.x), t_sqr(t, at.y)), one);
        ir_ref half = t_ratio(t, t_safe_sqrt(t, ir_sub(f, t_sqr(t, b), ir_mul(f, a, c))), a),
               middle = t_ratio(t, ir_neg(f, b), a);
        own.low = ir_select(f, of->disk, ir_max(f, s->low, ir_sub(f, middle, half)), own.low);
        own.high = ir_select(f, of->disk, ir_min(f, s->high, ir_add(f, middle, half)), own.high);
    }
    *s = own;
}

/* bool: a primitive goes to both sides of a plane, by more than a distance. Where it does not, it ends there,
 * and its edge is what is seen. */
static ir_ref goes_through(tracer *t, const crossing_side *s, vec3 o, vec3 n, ir_ref distance)
{
    ir_func *f = t->f;
    ir_ref at = v3_dot(t, n, v3_sub(t, s->o, o)), one = v3_dot(t, n, s->e1), two = v3_dot(t, n, s->e2),
           zero = t_f32(t, 0);
    ir_ref low = ir_min(f, zero, ir_min(f, one, two)), high = ir_max(f, zero, ir_max(f, one, two));
    if (t->plan->scene->kind_used[SHAPE_DISK]) {
        ir_ref reach = ir_sqrt(f, ir_add(f, t_sqr(t, one), t_sqr(t, two)));
        low = ir_select(f, s->disk, ir_neg(f, reach), low), high = ir_select(f, s->disk, reach, high);
    }
    return ir_and(f, ir_lt(f, ir_add(f, at, low), ir_neg(f, distance)),
                  ir_gt(f, ir_add(f, at, high), distance));
}

/* A point of a curve, and its derivative by `along`. */
typedef struct crossing_place {
    ir_ref there;
    vec3 p, along;
} crossing_place;

static crossing_place on_line(tracer *t, const crossing_side s[2], ir_ref along)
{
    ir_func *f = t->f;
    vec3 line = v3_cross(t, s[0].n, s[1].n);
    ir_ref sine = v3_length(t, line), inverse = t_ratio(t, t_f32(t, 1), sine),
           cosine = v3_dot(t, s[0].n, s[1].n);
    line = v3_scale(t, line, inverse);
    /* From a point of the first plane within it to the second one. */
    vec3 toward = v3_scale(t, v3_sub(t, s[1].n, v3_scale(t, s[0].n, cosine)), t_sqr(t, inverse));
    vec3 o = v3_add(t, s[0].o, v3_scale(t, toward, v3_dot(t, s[1].n, v3_sub(t, s[1].o, s[0].o))));
    stretch part = {t_f32(t, -1e30f), t_f32(t, 1e30f)};
    clip_by(t, &s[0], o, line, &part), clip_by(t, &s[1], o, line, &part);
    ir_ref length = ir_sub(f, part.high, part.low);
    crossing_place q = {.p = v3_add(t, o, v3_scale(t, line, t_mad(t, along, length, part.low)))};
    q.along = v3_scale(t, line, length);
    ir_ref some = ray_epsilon(t, q.p);
    q.there = ir_and(f, ir_gt(f, length, t_f32(t, 0)), ir_gt(f, sine, t_f32(t, PARALLEL)));
    q.there = ir_and(f, q.there, goes_through(t, &s[0], s[1].o, s[1].n, some));
    q.there = ir_and(f, q.there, goes_through(t, &s[1], s[0].o, s[0].n, some));
    return q;
}

/* ---- where a sphere meets a plane or a sphere ---- */

static crossing_place on_circle(tracer *t, const crossing_side s[2], ir_ref along)
{
    ir_func *f = t->f;
    /* `ball` is round; `other` is either. */
    ir_ref first = s[0].round, both = ir_and(f, first, s[1].round),
           angle = ir_mul(f, along, t_f32(t, 2 * pi));
    vec3 centre = v3_select(t, first, s[0].o, s[1].o), other = v3_select(t, first, s[1].o, s[0].o),
         flat = v3_select(t, first, s[1].n, s[0].n), to = v3_sub(t, other, centre);
    ir_ref r = ir_select(f, first, s[0].radius, s[1].radius), apart = v3_length(t, to),
           second = ir_select(f, first, s[1].radius, s[0].radius);
    vec3 n = v3_select(t, both, v3_scale(t, to, t_ratio(t, t_f32(t, 1), apart)), flat);
    ir_ref squares = ir_sub(f, ir_add(f, t_sqr(t, apart), t_sqr(t, r)), t_sqr(t, second)),
           middle = ir_mul(f, t_f32(t, 0.5f), t_ratio(t, squares, apart)),
           distance = ir_select(f, both, middle, v3_dot(t, n, to)),
           square = ir_sub(f, t_sqr(t, r), t_sqr(t, distance)), radius = t_safe_sqrt(t, square);
    frame fr = frame_around(t, n);
    ir_ref x = ir_cos(f, angle), y = ir_sin(f, angle);
    vec3 round = v3_add(t, v3_scale(t, fr.s, x), v3_scale(t, fr.t, y)),
         turned = v3_sub(t, v3_scale(t, fr.t, x), v3_scale(t, fr.s, y));
    crossing_place q = {
        .p = v3_add(t, centre, v3_add(t, v3_scale(t, n, distance), v3_scale(t, round, radius)))};
    q.along = v3_scale(t, turned, ir_mul(f, radius, t_f32(t, 2 * pi)));
    q.there = ir_gt(f, square, ir_mul(f, r, ray_epsilon(t, q.p)));
    for (int k = 0; k < 2; k++)
        q.there =
            ir_and(f, q.there, ir_or(f, s[k].round, within(t, &s[k], coordinates(t, &s[k], q.p, true))));
    return q;
}

static crossing_place place_at(tracer *t, const crossing_side s[2], ir_ref along)
{
    ir_func *f = t->f;
    crossing_place q = on_line(t, s, along);
    if (!some_round(t))
        return q;
    ir_ref branch = ir_if(f, ir_or(f, s[0].round, s[1].round));
    crossing_place own = on_circle(t, s, along);
    ir_else(f);
    ir_endif(f);
    q.there = ir_phi(f, branch, own.there, q.there), q.p = v3_phi(t, branch, own.p, q.p);
    q.along = v3_phi(t, branch, own.along, q.along);
    return q;
}

/* ---- as a viewpoint sees it ---- */

/* Across the view and the curve, and which surface is seen there. */
typedef struct crossing_view {
    vec3 across;      /* not of unit length */
    ir_ref first;     /* bool: on the side to which `across` leads the first one is seen */
    vec3 n[2];        /* of both surfaces, unit vectors */
    vec3 within[2];   /* unit vectors in them, at right angles to the curve, */
    ir_ref by[2];     /* times this they lead the way of `across` */
    ir_ref cosine[2]; /* of the view and the normals */
} crossing_view;

static crossing_view view_at(tracer *t, const crossing_side s[2], const crossing_place *q, vec3 viewpoint)
{
    ir_func *f = t->f;
    vec3 d = v3_normalize(t, v3_sub(t, q->p, viewpoint)), along = v3_normalize(t, q->along);
    crossing_view v = {.across = v3_cross(t, along, d)};
    ir_ref deep[2], zero = t_f32(t, 0);
    for (int k = 0; k < 2; k++) {
        v.n[k] = normal_at(t, &s[k], q->p), v.within[k] = v3_cross(t, along, v.n[k]);
        v.cosine[k] = v3_dot(t, v.n[k], d);
        ir_ref step = v3_dot(t, v.within[k], v.across);
        v.by[k] = ir_select(f, ir_lt(f, step, zero), t_f32(t, -1), t_f32(t, 1));
        deep[k] = t_ratio(t, ir_mul(f, v.by[k], v3_dot(t, v.within[k], d)), ir_abs(f, step));
    }
    v.first = ir_lt(f, deep[0], deep[1]);
    return v;
}

silhouette_point silhouette_crossing(tracer *t, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    crossing_side s[2] = {side_at(t, edge, 0), side_at(t, edge, 1)};
    crossing_place q = place_at(t, s, along);
    crossing_view v = view_at(t, s, &q, viewpoint);
    return (silhouette_point){.there = q.there,
                              .p = q.p,
                              .along = q.along,
                              .out = v3_select(t, v.first, v3_neg(t, v.across), v.across),
                              .closed = ir_bool(t->f, false),
                              .crease = t_real(t, edge, EDGE_CREASE)};
}

/* The coordinates of a point beside the curve, but not outside. */
static vec2 beside(tracer *t, const crossing_side *s, vec3 p)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    vec2 c = coordinates(t, s, p, true);
    c.x = ir_max(f, c.x, ir_select(f, s->disk, c.x, zero)),
    c.y = ir_max(f, c.y, ir_select(f, s->disk, c.y, zero));
    ir_ref size = ir_select(f, s->disk, ir_sqrt(f, ir_add(f, t_sqr(t, c.x), t_sqr(t, c.y))),
                            ir_add(f, c.x, c.y)),
           by = ir_select(f, ir_gt(f, size, one), t_ratio(t, one, size), one);
    return (vec2){ir_mul(f, c.x, by), ir_mul(f, c.y, by)};
}

silhouette_sides silhouette_crossing_sides(tracer *t, ir_ref edge, vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    crossing_side s[2] = {side_at(t, edge, 0), side_at(t, edge, 1)};
    crossing_place q = place_at(t, s, along);
    crossing_view v = view_at(t, s, &q, viewpoint);
    silhouette_sides out = {.edge_on = ir_bool(f, false), .toward = v3_zero(t)};
    for (int k = 0; k < 2; k++) { /* [0] is seen on the side from which silhouette_point.out leads away */
        ir_ref away = ir_gt(f, v.cosine[k], t_f32(t, 0)), seen = k ? ir_not(f, v.first) : v.first,
               by = ir_select(f, seen, v.by[k], ir_neg(f, v.by[k]));
        vec3 shift = v3_scale(t, v.within[k], ir_mul(f, by, ray_epsilon(t, q.p)));
        out.b[k] = beside(t, &s[k], v3_add(t, q.p, shift));
        out.shift[k] = v3_select(t, s[k].round, shift, v3_zero(t));
        out.known[k] = q.there, out.primitive[k] = s[k].primitive;
        out.edge_on = ir_or(f, out.edge_on, ir_le(f, ir_abs(f, v.cosine[k]), t_f32(t, SILHOUETTE_GRAZING)));
        out.toward = v3_add(t, out.toward, v3_select(t, away, v3_neg(t, v.n[k]), v.n[k]));
    }
    return out;
}

/* ---- moving ---- */

/* The point p of a surface, as it moves. */
static vec3 surface_moved(tracer *t, const crossing_side *s, ir_ref level, vec3 p)
{
    ir_func *f = t->f;
    ir_ref words = ir_mul(f, t_word(t, s->entry, BVH_ENTRY_SHAPE), t_u32(t, SHAPE_WORDS)),
           shape = ir_add(f, t_word(t, t_u32(t, 0), HEADER_SHAPES), words);
    if (t->plan->moves & MOVE_POSITIONS && t->plan->scene->kind_used[SHAPE_TRIANGLES]) {
        ir_ref branch = ir_if(f, ir_not(f, ir_or(f, s->round, s->disk)));
        vec3 own = ir_is_none(level) ? p : v3_point_by_map(t, level, LEVEL_TO_GROUP, p), v[3];
        vec2 c = coordinates(t, s, own, true);
        mesh_face_vertices(t, t_word(t, shape, SHAPE_DATA), t_word(t, s->entry, BVH_ENTRY_PRIMITIVE), v);
        own = v3_add(t, v[0],
                     v3_add(t, v3_scale(t, v3_sub(t, v[1], v[0]), ir_detach(f, c.x)),
                            v3_scale(t, v3_sub(t, v[2], v[0]), ir_detach(f, c.y))));
        if (!ir_is_none(level))
            own = v3_point_by_map(t, level, LEVEL_TO_WORLD, own);
        ir_else(f);
        ir_endif(f);
        p = v3_phi(t, branch, own, p);
    }
    if (t->plan->moves & MOVE_TO_WORLD) {
        affine_map motion = to_world_motion_within(t, shape, level);
        p = affine_point(t, &motion, p);
    }
    return p;
}

vec3 silhouette_crossing_moved(tracer *t, ir_ref edge, ir_ref level, vec3 p)
{
    ir_func *f = t->f;
    tracer now = t_deciding(t);
    p = v3_detach(t, p);
    vec3 own = ir_is_none(level) ? p : v3_point_by_map(t, level, LEVEL_TO_GROUP, p), n[2];
    ir_ref by[2];
    for (uint32_t k = 0; k < 2; k++) {
        crossing_side s = side_at(&now, edge, k);
        n[k] = normal_at(&now, &s, own);
        if (!ir_is_none(level))
            n[k] = v3_normalize(t, v3_covector_by_map(t, level, LEVEL_TO_GROUP, n[k]));
        n[k] = v3_detach(t, n[k]);
        by[k] = v3_dot(t, n[k], v3_sub(t, surface_moved(t, &s, level, p), p));
    }
    ir_ref cosine = v3_dot(t, n[0], n[1]),
           inverse = t_ratio(t, t_f32(t, 1), ir_sub(f, t_f32(t, 1), t_sqr(t, cosine)));
    for (int k = 0; k < 2; k++)
        p = v3_add(t, p,
                   v3_scale(t, n[k], ir_mul(f, inverse, ir_sub(f, by[k], ir_mul(f, cosine, by[1 - k])))));
    return p;
}
