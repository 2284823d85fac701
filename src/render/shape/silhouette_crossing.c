/* SPDX-License-Identifier: BSD-3-Clause
 * Curves in which two shapes go through each other. A piece of such a curve belongs to two primitives, each
 * flat (a triangle or a disk), round (a sphere) or a tube (a cylinder). Two planes meet in a line, of which
 * the piece is the part that lies within both; a sphere meets a plane or another sphere in a circle, of which
 * only that counts that lies within the flat one. A tube consists of lines, each of which meets a plane once,
 * and a sphere or a tube twice. Where the plane is steep to the tube's sections, it meets each section twice
 * instead.
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
    ir_ref round, disk, tube; /* bool */
    vec3 o, e1,
        e2; /* flat: a point and two vectors (bvh_layout.h); round: the centre is o; tube: an end, the axis */
    vec3 across, n; /* flat: e1 x e2, and its unit vector */
    ir_ref radius;  /* round, tube */
} crossing_side;

static bool some_round(tracer *t) { return t->plan->scene->kind_used[SHAPE_SPHERE]; }
static bool some_tube(tracer *t) { return t->plan->scene->kind_used[SHAPE_CYLINDER]; }

static vec3 unit_of(tracer *t, vec3 v) { return v3_scale(t, v, t_ratio(t, t_f32(t, 1), v3_length(t, v))); }
/* v without its part along a unit vector */
static vec3 beside_axis(tracer *t, vec3 v, vec3 axis)
{
    return v3_sub(t, v, v3_scale(t, axis, v3_dot(t, v, axis)));
}

static crossing_side side_at(tracer *t, ir_ref edge, uint32_t k)
{
    ir_ref kinds = t_word(t, edge, CROSSING_KINDS);
    crossing_side s = {.primitive = t_word(t, edge, k ? CROSSING_OTHER : CROSSING_ONE)};
    s.entry = silhouette_entry(t, s.primitive);
    s.round = t_has_bit(t, kinds, CROSSING_ROUND << k), s.disk = t_has_bit(t, kinds, CROSSING_DISK << k);
    s.tube = t_has_bit(t, kinds, CROSSING_TUBE << k);
    s.o = v3_load(t, s.entry, 0), s.e1 = v3_load(t, s.entry, 3), s.e2 = v3_load(t, s.entry, 6);
    s.across = v3_cross(t, s.e1, s.e2), s.n = unit_of(t, s.across);
    s.radius = t_real(t, s.entry, 3);
    if (some_tube(t))
        s.radius = ir_select(t->f, s.tube, t_real(t, s.entry, 6), s.radius);
    return s;
}

static vec3 normal_at(tracer *t, const crossing_side *s, vec3 p)
{
    vec3 n = s->n, out = v3_sub(t, p, s->o);
    if (some_round(t))
        n = v3_select(t, s->round, v3_normalize(t, out), n);
    if (some_tube(t))
        n = v3_select(t, s->tube, unit_of(t, beside_axis(t, out, unit_of(t, s->e1))), n);
    return n;
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

/* How deep a shape goes into another one, at least: less deep, its own edge is seen. */
static ir_ref least_depth(tracer *t, vec3 p)
{
    return ir_mul(t->f, ray_epsilon(t, p), t_f32(t, SILHOUETTE_ABOVE));
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
    ir_ref some = least_depth(t, q.p);
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
    q.there = ir_gt(f, square, ir_mul(f, r, least_depth(t, q.p)));
    for (int k = 0; k < 2; k++)
        q.there =
            ir_and(f, q.there, ir_or(f, s[k].round, within(t, &s[k], coordinates(t, &s[k], q.p, true))));
    return q;
}

/* ---- where a tube meets something ---- */

/* a / b, b of either sign */
static ir_ref quotient(tracer *t, ir_ref a, ir_ref b)
{
    ir_ref negative = ir_lt(t->f, b, t_f32(t, 0));
    return t_ratio(t, ir_select(t->f, negative, ir_neg(t->f, a), a), ir_abs(t->f, b));
}

/* A point of a tube: how far along its axis, and from there to its surface. */
typedef struct tube_point {
    ir_ref there, height;
    vec3 out;
} tube_point;

/* Where a line of a tube, which lies beside its axis by `out`, meets a sphere or another tube: one of two
 * places. */
static tube_point on_tube_line(tracer *t, const crossing_side *tube, const crossing_side *other, vec3 out,
                               ir_ref second)
{
    ir_func *f = t->f;
    vec3 v = unit_of(t, tube->e1), w = v3_sub(t, v3_add(t, tube->o, out), other->o),
         around = unit_of(t, other->e1);
    w = v3_select(t, other->tube, beside_axis(t, w, around), w);
    v = v3_select(t, other->tube, beside_axis(t, v, around), v);
    ir_ref a = v3_dot(t, v, v), b = v3_dot(t, v, w), c = ir_sub(f, v3_dot(t, w, w), t_sqr(t, other->radius)),
           square = ir_sub(f, t_sqr(t, b), ir_mul(f, a, c)), root = t_safe_sqrt(t, square);
    root = ir_select(f, second, root, ir_neg(f, root));
    return (tube_point){ir_gt(f, square, t_f32(t, 0)), t_ratio(t, ir_sub(f, root, b), a), out};
}

/* Where a section of a tube meets a plane: one of two places. */
static tube_point on_tube_section(tracer *t, const crossing_side *tube, const crossing_side *flat,
                                  ir_ref height, ir_ref second)
{
    ir_func *f = t->f;
    vec3 axis = unit_of(t, tube->e1), across = beside_axis(t, flat->n, axis), way = unit_of(t, across),
         middle = v3_add(t, tube->o, v3_scale(t, axis, height));
    ir_ref distance = t_ratio(t, v3_dot(t, flat->n, v3_sub(t, flat->o, middle)), v3_length(t, across)),
           square = ir_sub(f, t_sqr(t, tube->radius), t_sqr(t, distance)), root = t_safe_sqrt(t, square),
           least = ir_mul(f, tube->radius, least_depth(t, middle)); /* else they only touch */
    root = ir_select(f, second, root, ir_neg(f, root));
    return (tube_point){ir_gt(f, square, least), height,
                        v3_add(t, v3_scale(t, way, distance), v3_scale(t, v3_cross(t, axis, way), root))};
}

static crossing_side side_select(tracer *t, ir_ref c, const crossing_side *a, const crossing_side *b)
{
    ir_func *f = t->f;
    return (crossing_side){
        .round = ir_select(f, c, a->round, b->round),
        .disk = ir_select(f, c, a->disk, b->disk),
        .tube = ir_select(f, c, a->tube, b->tube),
        .o = v3_select(t, c, a->o, b->o),
        .e1 = v3_select(t, c, a->e1, b->e1),
        .e2 = v3_select(t, c, a->e2, b->e2),
        .across = v3_select(t, c, a->across, b->across),
        .n = v3_select(t, c, a->n, b->n),
        .radius = ir_select(f, c, a->radius, b->radius),
    };
}

/* bool: a point of a tube lies between its ends, by more than a distance. Where it does not, the end is what
 * is seen. */
static ir_ref between_ends(tracer *t, const crossing_side *tube, vec3 p, ir_ref distance)
{
    ir_func *f = t->f;
    ir_ref height = v3_dot(t, v3_sub(t, p, tube->o), unit_of(t, tube->e1)),
           rest = ir_sub(f, v3_length(t, tube->e1), height);
    return ir_and(f, ir_gt(f, height, distance), ir_gt(f, rest, distance));
}

static crossing_place on_tube(tracer *t, const crossing_side s[2], ir_ref along)
{
    ir_func *f = t->f;
    const float steep = 0.7f; /* cosine between axis and normal, above which lines are followed */
    crossing_side tube = side_select(t, s[0].tube, &s[0], &s[1]),
                  other = side_select(t, s[0].tube, &s[1], &s[0]);
    ir_ref one = t_f32(t, 1), twice = ir_add(f, along, along), second = ir_ge(f, twice, one),
           u = ir_select(f, second, ir_sub(f, twice, one), twice),
           flat = ir_not(f, ir_or(f, other.round, other.tube));
    vec3 axis = unit_of(t, tube.e1);
    ir_ref length = v3_length(t, tube.e1), cosine = v3_dot(t, other.n, axis),
           section = ir_and(f, flat, ir_le(f, ir_abs(f, cosine), t_f32(t, steep)));
    /* A line meets a plane once: then all of `along` goes round the tube once. */
    ir_ref angle = ir_mul(f, ir_select(f, flat, along, u), t_f32(t, 2 * pi));
    frame fr = frame_around(t, axis);
    vec3 out = v3_add(t, v3_scale(t, fr.s, ir_mul(f, ir_cos(f, angle), tube.radius)),
                      v3_scale(t, fr.t, ir_mul(f, ir_sin(f, angle), tube.radius)));
    tube_point by_line = on_tube_line(t, &tube, &other, out, second),
               by_section = on_tube_section(t, &tube, &other, ir_mul(f, u, length), second);
    ir_ref to_plane = quotient(t, v3_dot(t, other.n, v3_sub(t, other.o, v3_add(t, tube.o, out))), cosine);
    ir_ref height = ir_select(f, section, by_section.height, ir_select(f, flat, to_plane, by_line.height));
    out = v3_select(t, section, by_section.out, out);
    crossing_place q = {.p = v3_add(t, tube.o, v3_add(t, v3_scale(t, axis, height), out))};
    vec3 tangent = unit_of(t, v3_cross(t, normal_at(t, &tube, q.p), normal_at(t, &other, q.p)));
    /* `along` steps along the axis, or round it. */
    vec3 way = v3_select(t, section, axis, v3_scale(t, v3_cross(t, axis, out), t_ratio(t, one, tube.radius)));
    ir_ref round = ir_mul(f, ir_mul(f, tube.radius, t_f32(t, 2 * pi)), ir_select(f, flat, one, t_f32(t, 2))),
           step = ir_select(f, section, ir_add(f, length, length), round);
    q.along = v3_scale(t, tangent, quotient(t, step, v3_dot(t, tangent, way)));
    ir_ref some = least_depth(t, q.p), inside = within(t, &other, coordinates(t, &other, q.p, true));
    q.there = ir_select(f, section, by_section.there, ir_or(f, flat, by_line.there));
    q.there = ir_and(f, q.there, between_ends(t, &tube, q.p, some));
    q.there = ir_and(f, q.there, ir_or(f, ir_not(f, other.tube), between_ends(t, &other, q.p, some)));
    q.there = ir_and(f, q.there, ir_or(f, ir_not(f, flat), inside));
    return q;
}

/* Puts `own`, found in a branch that ends here, in the place of `of`. */
static void join(tracer *t, ir_ref branch, const crossing_place *own, crossing_place *of)
{
    ir_func *f = t->f;
    ir_else(f);
    ir_endif(f);
    of->there = ir_phi(f, branch, own->there, of->there), of->p = v3_phi(t, branch, own->p, of->p);
    of->along = v3_phi(t, branch, own->along, of->along);
}

static crossing_place place_at(tracer *t, const crossing_side s[2], ir_ref along)
{
    ir_func *f = t->f;
    crossing_place q = on_line(t, s, along);
    if (some_round(t)) {
        ir_ref branch = ir_if(f, ir_or(f, s[0].round, s[1].round));
        crossing_place own = on_circle(t, s, along);
        join(t, branch, &own, &q);
    }
    if (some_tube(t)) {
        ir_ref branch = ir_if(f, ir_or(f, s[0].tube, s[1].tube));
        crossing_place own = on_tube(t, s, along);
        join(t, branch, &own, &q);
    }
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

/* The coordinates of a point beside the curve, as hits have them, but not outside. */
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
    vec2 b = {ir_mul(f, c.x, by), ir_mul(f, c.y, by)};
    if (!some_tube(t))
        return b;
    ir_ref height = t_ratio(t, v3_dot(t, v3_sub(t, p, s->o), s->e1), v3_dot(t, s->e1, s->e1));
    return (vec2){ir_select(f, s->tube, t_clamp(t, height, 0, 1), b.x), ir_select(f, s->tube, zero, b.y)};
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
        out.shift[k] = v3_select(t, ir_or(f, s[k].round, s[k].tube), shift, v3_zero(t));
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
    ir_ref shape = shape_of_entry(t, s->entry);
    if (t->plan->moves & MOVE_POSITIONS && t->plan->scene->kind_used[SHAPE_TRIANGLES]) {
        ir_ref branch = ir_if(f, ir_not(f, ir_or(f, s->tube, ir_or(f, s->round, s->disk))));
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

vec3 silhouette_crossing_step(tracer *t, const vec3 n[2], const ir_ref by[2])
{
    ir_func *f = t->f;
    ir_ref cosine = v3_dot(t, n[0], n[1]),
           inverse = t_ratio(t, t_f32(t, 1), ir_sub(f, t_f32(t, 1), t_sqr(t, cosine))), part[2];
    for (int k = 0; k < 2; k++)
        part[k] = ir_mul(f, inverse, ir_sub(f, by[k], ir_mul(f, cosine, by[1 - k])));
    return v3_add(t, v3_scale(t, n[0], part[0]), v3_scale(t, n[1], part[1]));
}

vec3 silhouette_crossing_moved(tracer *t, ir_ref edge, ir_ref level, vec3 p)
{
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
    return v3_add(t, p, silhouette_crossing_step(t, n, by));
}
