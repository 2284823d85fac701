/* SPDX-License-Identifier: BSD-3-Clause
 * Silhouettes of curves (shape/curve.c), in pieces: of linear curves the cones of segments, and the balls at
 * control points; of B-splines the sides of segments, and the circles in which the tube ends.
 *
 * Linear segments. On the cone around a segment n . a = q (curve.c), so n . (p0 - v) + r0 = 0 holds all along
 * a line. Of the circle in which a cone from v touches the ball at a control point that part is on the hull
 * that is on no cone's side: n . a <= q before a segment, and n . a >= q behind it.
 *
 * B-splines. N is the unit vector from the curve c(s) to a point of the tube, at a right angle to c', and w =
 * c - v. The normal is K N - r' c' with K = |c'|^2 - r N . c'' (curve.c), so the silhouette is where
 *     G = K (N . w + r) - r' c' . w = 0.
 * Where K > 0 that has two solutions, one on either side, which Newton's method finds among the unit vectors
 * across c'. Along the silhouette N' = a T + b B, with T = c' / |c'|, B = T x N, a = -N . c'' / |c'| and b
 * from G' = 0. Rays meet the outside of the tube only, so of an end's circle that part is an edge which rays
 * meet from outside. */
#include "render/plan.h"
#include "render/shape/curve.h"

#include <math.h>
#include <string.h>

static const float turn = 6.28318531f;
/* Words of a piece: the offset of its first control point from the shape's data; what it is. */
enum { PIECE_POINTS, PIECE_WHAT };
enum { WHAT_CONE = 4, WHAT_SEGMENT_BEFORE = 1, WHAT_SEGMENT_AFTER = 2 }; /* else a ball, bits */
enum { TUBE_SIDES, TUBE_BEGIN, TUBE_END };
static const double BEND_LEAST = 0.02; /* share of a ball at a straight joint that a motion may bend */

/* ---- pieces ---- */

static const float *point_at(const render_scene *s, const render_shape *shape, uint32_t offset)
{
    return (const float *)(const void *)(s->geometry.data + shape->data + offset);
}

static double distance_of(const float *a, const float *b)
{
    double sum = 0;
    for (int k = 0; k < 3; k++)
        sum += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sqrt(sum);
}

static void put(silhouette_pieces *out, uint32_t offset, uint32_t what, double weight)
{
    array_push(&out->all, ((silhouette_piece){{offset, what}, .weight = weight}));
}

/* The offset of segment k's first control point, where each has `each` primitives whose entries say it at
 * `word`. PLAN_NONE: there is no such segment. */
static uint32_t segment_at(const render_scene *s, const render_shape *shape, uint32_t k, uint32_t each,
                           uint32_t word)
{
    return k < shape->primitive_count / each
               ? s->primitives.data[shape->first_entry_primitive + each * k].entry[word]
               : PLAN_NONE;
}

/* Whether segment k follows the one before it on the same curve. */
static bool follows(const render_scene *s, const render_shape *shape, uint32_t k, uint32_t each,
                    uint32_t word)
{
    uint32_t before = segment_at(s, shape, k - 1, each, word);
    return k > 0 && before != PLAN_NONE && segment_at(s, shape, k, each, word) == before + 4;
}

/* By how much a line bends at b, over pi. */
static double bend(const float *a, const float *b, const float *c)
{
    double along = 0;
    for (int k = 0; k < 3; k++)
        along += ((double)b[k] - (double)a[k]) * ((double)c[k] - (double)b[k]);
    double angle = acos(fmin(fmax(along / (distance_of(a, b) * distance_of(b, c)), -1), 1));
    return isfinite(angle) ? angle * 2 / (double)turn : 1;
}

void linear_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out)
{
    for (uint32_t k = 0; segment_at(s, shape, k, 1, ENTRY_SEGMENT) != PLAN_NONE; k++) {
        uint32_t offset = segment_at(s, shape, k, 1, ENTRY_SEGMENT);
        const float *p = point_at(s, shape, offset);
        bool before = follows(s, shape, k, 1, ENTRY_SEGMENT),
             after = follows(s, shape, k + 1, 1, ENTRY_SEGMENT);
        double bends = before ? fmax(bend(p - 4, p, p + 4), BEND_LEAST) : 0.5;
        put(out, offset, WHAT_CONE, 2 * distance_of(p, p + 4));
        put(out, offset, WHAT_SEGMENT_AFTER | (before ? WHAT_SEGMENT_BEFORE : 0),
            (double)turn * bends * (double)p[3]);
        if (!after)
            put(out, offset + 4, WHAT_SEGMENT_BEFORE, (double)turn / 2 * (double)p[7]);
    }
}

void bspline_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out)
{
    for (uint32_t k = 0; segment_at(s, shape, k, CURVE_PIECES, ENTRY_POINTS) != PLAN_NONE; k++) {
        uint32_t offset = segment_at(s, shape, k, CURVE_PIECES, ENTRY_POINTS);
        const float *p = point_at(s, shape, offset);
        put(out, offset, TUBE_SIDES, 2 * distance_of(p + 4, p + 8));
        if (!follows(s, shape, k, CURVE_PIECES, ENTRY_POINTS))
            put(out, offset, TUBE_BEGIN, (double)turn / 2 * (double)p[7]);
        if (!follows(s, shape, k + 1, CURVE_PIECES, ENTRY_POINTS))
            put(out, offset, TUBE_END, (double)turn / 2 * (double)p[11]);
    }
}

/* ---- traced ---- */

static ir_ref piece_points(tracer *t, const silhouette_query *at)
{
    return ir_add(t->f, at->data, t_word(t, at->piece, PIECE_POINTS));
}

/* The place in [0, 1) along one of two sides, each of which has half of the numbers. second: bool. */
static ir_ref place_on_side(tracer *t, ir_ref along, ir_ref *second)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = ir_add(f, along, along);
    *second = ir_ge(f, two, one);
    return ir_select(f, *second, ir_sub(f, two, one), two);
}

/* ---- linear segments ---- */

/* The two lines on the cone around a segment. */
static silhouette_point cone_silhouette(tracer *t, ir_ref points, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), zero = t_f32(t, 0), r = t_real(t, points, 3),
           q = ir_sub(f, r, t_real(t, points, 7)), second, s = place_on_side(t, at->along, &second);
    vec3 from = v3_load(t, points, 0), a = v3_sub(t, v3_load(t, points, 4), from),
         w = v3_sub(t, from, at->viewpoint);
    ir_ref per = t_ratio(t, one, v3_length(t, a)), k = ir_mul(f, q, per),
           wide = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, k)));
    frame fr = frame_around(t, v3_scale(t, a, per));
    ir_ref x = v3_dot(t, fr.s, w), y = v3_dot(t, fr.t, w), reach = ir_sqrt(f, t_mad(t, x, x, t_sqr(t, y)));
    per = t_ratio(t, one, reach), x = ir_mul(f, x, per), y = ir_mul(f, y, per);
    ir_ref level = ir_add(f, r, ir_mul(f, k, v3_dot(t, fr.n, w)));
    ir_ref cosine = ir_neg(f, t_ratio(t, level, ir_mul(f, wide, reach))),
           sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)));
    silhouette_point p = {.closed = ir_bool(f, true), .crease = zero};
    p.there = ir_and(f, ir_gt(f, ir_mul(f, wide, reach), zero), ir_lt(f, ir_abs(f, cosine), one));
    sine = ir_select(f, second, ir_neg(f, sine), sine);
    ir_ref cx = ir_sub(f, ir_mul(f, x, cosine), ir_mul(f, y, sine)),
           cy = ir_add(f, ir_mul(f, y, cosine), ir_mul(f, x, sine));
    vec3 round = v3_add(t, v3_scale(t, fr.s, cx), v3_scale(t, fr.t, cy));
    p.out = v3_add(t, v3_scale(t, fr.n, k), v3_scale(t, round, wide));
    ir_ref radius = ir_sub(f, r, ir_mul(f, s, q));
    p.p = v3_add(t, v3_add(t, from, v3_scale(t, a, s)), v3_scale(t, p.out, radius));
    p.along = v3_scale(t, v3_sub(t, a, v3_scale(t, p.out, q)), t_f32(t, 2));
    return p;
}

/* bool: a unit normal of the ball at control point `points` is on no side of the segment before or after it.
 */
static ir_ref ball_shows(tracer *t, ir_ref points, ir_ref what, vec3 n)
{
    ir_func *f = t->f;
    ir_ref shows = ir_bool(f, true), none = t_u32(t, 0);
    for (uint32_t bit = WHAT_SEGMENT_BEFORE; bit <= WHAT_SEGMENT_AFTER; bit *= 2) {
        ir_ref there = t_has_bit(t, what, bit), four = ir_select(f, there, t_u32(t, 4), none);
        bool after = bit == WHAT_SEGMENT_AFTER;
        ir_ref first = after ? points : ir_sub(f, points, four),
               last = after ? ir_add(f, points, four) : points;
        ir_ref q = ir_sub(f, t_real(t, first, 3), t_real(t, last, 3)),
               lean = v3_dot(t, n, v3_sub(t, v3_load(t, last, 0), v3_load(t, first, 0)));
        ir_ref on = after ? ir_le(f, lean, q) : ir_ge(f, lean, q);
        shows = ir_and(f, shows, ir_or(f, on, ir_not(f, there)));
    }
    return shows;
}

/* The circle in which the cone from the viewpoint touches the ball at a control point. */
static silhouette_point ball_silhouette(tracer *t, ir_ref points, ir_ref what, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), r = t_real(t, points, 3), angle = ir_mul(f, at->along, t_f32(t, turn)),
           x = ir_cos(f, angle), y = ir_sin(f, angle);
    vec3 c = v3_load(t, points, 0), to = v3_sub(t, at->viewpoint, c);
    ir_ref inverse = t_ratio(t, one, v3_length(t, to)), cosine = ir_min(f, ir_mul(f, r, inverse), one),
           sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)));
    frame fr = frame_around(t, v3_scale(t, to, inverse));
    vec3 round = v3_add(t, v3_scale(t, fr.s, x), v3_scale(t, fr.t, y)),
         turned = v3_sub(t, v3_scale(t, fr.t, x), v3_scale(t, fr.s, y));
    silhouette_point p = {.closed = ir_bool(f, true), .crease = t_f32(t, 0)};
    p.out = v3_add(t, v3_scale(t, round, sine), v3_scale(t, fr.n, cosine));
    p.p = v3_add(t, c, v3_scale(t, p.out, r));
    p.along = v3_scale(t, turned, ir_mul(f, ir_mul(f, r, sine), t_f32(t, turn)));
    p.there = ir_and(f, ir_gt(f, sine, t_f32(t, 0)), ball_shows(t, points, what, p.out));
    return p;
}

silhouette_point linear_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref points = piece_points(t, at), what = t_word(t, at->piece, PIECE_WHAT),
           cone = ir_eq(f, what, t_u32(t, WHAT_CONE)), branch = ir_if(f, cone);
    silhouette_point side = cone_silhouette(t, points, at);
    ir_else(f);
    silhouette_point ball = ball_silhouette(t, points, what, at);
    ir_endif(f);
    silhouette_point p = {.there = ir_phi(f, branch, side.there, ball.there),
                          .p = v3_phi(t, branch, side.p, ball.p),
                          .along = v3_phi(t, branch, side.along, ball.along),
                          .out = v3_phi(t, branch, side.out, ball.out)};
    p.closed = ir_bool(f, true), p.crease = t_f32(t, 0);
    return p;
}

vec3 linear_silhouette_moved(tracer *t, const silhouette_query *at, vec3 p)
{
    ir_func *f = t->f;
    ir_ref points = piece_points(t, at),
           cone = ir_eq(f, t_word(t, at->piece, PIECE_WHAT), t_u32(t, WHAT_CONE)), second,
           s = ir_select(f, cone, place_on_side(t, at->along, &second), t_f32(t, 0));
    tracer now = t_deciding(t);
    now.motion = NULL;
    ir_ref next = ir_add(f, points, ir_select(f, cone, t_u32(t, 4), t_u32(t, 0)));
    vec3 from = kind_point(t, points), to = kind_point(t, next),
         c = v3_add(t, from, v3_scale(t, v3_sub(t, to, from), s));
    from = kind_point(&now, points), to = kind_point(&now, next);
    vec3 stays = v3_add(t, from, v3_scale(t, v3_sub(t, to, from), s));
    return v3_add(t, v3_sub(t, p, v3_detach(t, stays)), c);
}

/* ---- B-splines ---- */

enum { TUBE_STEPS = 5 };
static const float OFF_MOST = 1e-3f; /* how far off the search may end: as an angle about the spline */
/* Over the radius. Rays that pass this far outside of a tube may still count as hits (bspline_intersect). */
static const float TUBE_BLUR = 3e-4f;

static ir_ref tube_place(tracer *t, const silhouette_query *at, ir_ref *second)
{
    ir_func *f = t->f;
    ir_ref what = t_word(t, at->piece, PIECE_WHAT), s = place_on_side(t, at->along, second),
           end = ir_select(f, ir_eq(f, what, t_u32(t, TUBE_BEGIN)), t_f32(t, 0), t_f32(t, 1));
    return ir_select(f, ir_eq(f, what, t_u32(t, TUBE_SIDES)), s, end);
}

/* A unit vector N across the spline, and what G and its derivative are made of there. */
typedef struct tube_normal {
    vec3 n, b;       /* N and B */
    ir_ref k, m;     /* K; N . w + r */
    ir_ref g, slope; /* G, and its derivative along B */
} tube_normal;

static tube_normal tube_normal_at(tracer *t, const spline *c, vec3 w, vec3 n)
{
    ir_func *f = t->f;
    tube_normal a = {.n = n, .b = v3_cross(t, v3_normalize(t, c->d1), n)};
    a.k = ir_sub(f, v3_dot(t, c->d1, c->d1), ir_mul(f, c->r, v3_dot(t, n, c->d2)));
    a.m = ir_add(f, v3_dot(t, n, w), c->r);
    a.g = ir_sub(f, ir_mul(f, a.k, a.m), ir_mul(f, c->r1, v3_dot(t, c->d1, w)));
    a.slope =
        ir_sub(f, ir_mul(f, a.k, v3_dot(t, a.b, w)), ir_mul(f, ir_mul(f, c->r, a.m), v3_dot(t, a.b, c->d2)));
    return a;
}

/* The N of the silhouette on one side. G falls along B at the first one and rises at the second, so both are
 * never the same. sign: -1 for the first, else 1. */
static tube_normal tube_search(tracer *t, const spline *c, vec3 w, ir_ref sign)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), square = v3_dot(t, c->d1, c->d1), along = v3_dot(t, c->d1, w);
    vec3 across = v3_sub(t, w, v3_scale(t, c->d1, t_ratio(t, along, square)));
    ir_ref reach = v3_length(t, across), level = ir_sub(f, t_ratio(t, ir_mul(f, c->r1, along), square), c->r);
    ir_ref cosine = ir_max(f, ir_min(f, t_ratio(t, level, reach), one), ir_neg(f, one)),
           sine = ir_mul(f, sign, ir_neg(f, t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine)))));
    vec3 x = v3_scale(t, across, t_ratio(t, one, reach)), y = v3_cross(t, v3_normalize(t, c->d1), x);
    tube_normal a = tube_normal_at(t, c, w, v3_add(t, v3_scale(t, x, cosine), v3_scale(t, y, sine)));
    for (int k = 0; k < TUBE_STEPS; k++) {
        ir_ref step = t_ratio(t, ir_mul(f, a.g, sign), ir_mul(f, a.slope, sign));
        a = tube_normal_at(t, c, w, v3_normalize(t, v3_sub(t, a.n, v3_scale(t, a.b, step))));
    }
    return a;
}

/* Of a point of the silhouette: its derivative by s. */
static vec3 tube_tangent(tracer *t, const spline *c, vec3 w, const tube_normal *a, ir_ref sign)
{
    ir_func *f = t->f;
    vec3 tangent = v3_normalize(t, c->d1);
    ir_ref turns = ir_neg(f, t_ratio(t, v3_dot(t, a->n, c->d2), v3_length(t, c->d1)));
    /* K' and (N . w + r)' but for what b adds */
    ir_ref k = ir_add(f, ir_mul(f, turns, v3_dot(t, tangent, c->d2)), v3_dot(t, a->n, c->d3));
    k = ir_neg(f, t_mad(t, c->r, k, ir_mul(f, c->r1, v3_dot(t, a->n, c->d2))));
    k = ir_add(f, k, ir_mul(f, t_f32(t, 2), v3_dot(t, c->d1, c->d2)));
    ir_ref m = t_mad(t, turns, v3_dot(t, tangent, w), c->r1);
    ir_ref rest = ir_mul(f, c->r2, v3_dot(t, c->d1, w)),
           length = ir_add(f, v3_dot(t, c->d2, w), v3_dot(t, c->d1, c->d1));
    rest = t_mad(t, c->r1, length, rest);
    rest = ir_sub(f, rest, ir_add(f, ir_mul(f, k, a->m), ir_mul(f, a->k, m)));
    ir_ref b = t_ratio(t, ir_mul(f, rest, sign), ir_mul(f, a->slope, sign));
    vec3 changes = v3_add(t, v3_scale(t, tangent, turns), v3_scale(t, a->b, b));
    return v3_add(t, c->d1, v3_add(t, v3_scale(t, a->n, c->r1), v3_scale(t, changes, c->r)));
}

/* The normal of the tube, of any length. */
static vec3 tube_out(tracer *t, const spline *c, const tube_normal *a)
{
    return v3_sub(t, v3_scale(t, a->n, a->k), v3_scale(t, c->d1, c->r1));
}

static silhouette_point tube_side(tracer *t, const spline *c, const silhouette_query *at, ir_ref second)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), zero = t_f32(t, 0), sign = ir_select(f, second, one, t_f32(t, -1));
    vec3 w = v3_sub(t, c->c, at->viewpoint);
    tube_normal a = tube_search(t, c, w, sign);
    silhouette_point p = {.p = v3_add(t, c->c, v3_scale(t, a.n, c->r)), .out = tube_out(t, c, &a)};
    p.along = v3_scale(t, tube_tangent(t, c, w, &a, sign), t_f32(t, 2));
    /* From a viewpoint far away G is rounded by more than the radius, and so is its slope. */
    ir_ref rises = ir_mul(f, a.slope, sign), off = ir_mul(f, t_mad(t, a.k, c->r, rises), t_f32(t, OFF_MOST));
    p.there = ir_and(f, ir_gt(f, rises, zero), ir_gt(f, a.k, zero));
    p.there = ir_and(f, p.there, ir_lt(f, ir_abs(f, a.g), off));
    return p;
}

static silhouette_point tube_end(tracer *t, const spline *c, const silhouette_query *at, ir_ref begin)
{
    ir_func *f = t->f;
    ir_ref angle = ir_mul(f, at->along, t_f32(t, turn)), zero = t_f32(t, 0);
    frame fr = frame_around(t, v3_normalize(t, c->d1));
    vec3 n = v3_add(t, v3_scale(t, fr.s, ir_cos(f, angle)), v3_scale(t, fr.t, ir_sin(f, angle)));
    tube_normal a = tube_normal_at(t, c, v3_sub(t, c->c, at->viewpoint), n);
    silhouette_point p = {.p = v3_add(t, c->c, v3_scale(t, n, c->r))};
    p.along = v3_scale(t, a.b, ir_mul(f, c->r, t_f32(t, turn)));
    /* G is the normal times the direction from the viewpoint. */
    ir_ref outside = at->backwards ? ir_gt(f, a.g, zero) : ir_lt(f, a.g, zero);
    p.there = ir_and(f, outside, ir_gt(f, a.k, zero));
    vec3 onward =
        v3_add(t, v3_scale(t, c->d1, t_ratio(t, a.k, v3_dot(t, c->d1, c->d1))), v3_scale(t, n, c->r1));
    p.out = v3_select(t, begin, v3_neg(t, onward), onward);
    return p;
}

silhouette_point bspline_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref second, what = t_word(t, at->piece, PIECE_WHAT), begin = ir_eq(f, what, t_u32(t, TUBE_BEGIN));
    spline c = spline_at(t, piece_points(t, at), tube_place(t, at, &second));
    ir_ref branch = ir_if(f, ir_eq(f, what, t_u32(t, TUBE_SIDES)));
    silhouette_point side = tube_side(t, &c, at, second);
    ir_else(f);
    silhouette_point end = tube_end(t, &c, at, begin);
    ir_endif(f);
    silhouette_point p = {.there = ir_phi(f, branch, side.there, end.there),
                          .p = v3_phi(t, branch, side.p, end.p),
                          .along = v3_phi(t, branch, side.along, end.along),
                          .out = v3_phi(t, branch, side.out, end.out)};
    p.closed = ir_bool(f, true), p.crease = t_f32(t, 0), p.blur = ir_mul(f, c.r, t_f32(t, TUBE_BLUR));
    return p;
}

/* N stays at a right angle to c'. Where it goes about the curve does not matter: that is along the edge. */
vec3 bspline_silhouette_moved(tracer *t, const silhouette_query *at, vec3 p)
{
    ir_ref points = piece_points(t, at), second, s = tube_place(t, at, &second);
    tracer now = t_deciding(t);
    now.motion = NULL;
    spline c = spline_at(t, points, s), stays = spline_at(&now, points, s);
    vec3 from = v3_detach(t, stays.c), along = v3_detach(t, stays.d1), x = v3_sub(t, p, from);
    ir_ref turned = v3_dot(t, x, v3_sub(t, c.d1, along)),
           share = t_ratio(t, t_f32(t, 1), v3_dot(t, along, along));
    return v3_add(t, v3_sub(t, p, from), v3_sub(t, c.c, v3_scale(t, along, ir_mul(t->f, turned, share))));
}
