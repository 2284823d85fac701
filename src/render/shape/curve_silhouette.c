/* SPDX-License-Identifier: BSD-3-Clause
 * Silhouettes of curves (shape/curve.c). Those of B-splines are not in use yet: the kind does not name the
 * hooks, because borders of their shadows disagree with differences. Pieces are the sides of segments, and
 * ends.
 *
 * B-splines. With X = p - c(s), a point of the tube has X . c' = 0 and |X| = r, and the normal
 * n = (|c'|^2 - X . c'') X - r r' c'. It is on the silhouette from v where n . (p - v) = 0. For each s there
 * are two such points, one on each side; in the angle about the curve Newton's method finds them from where
 * they are on a straight tube. The derivative p' by s follows from the three equations: with T at a right
 * angle to c' and X,
 *
 *     p' = (1 - X . c'' / |c'|^2) c' + (r' / r) X + tau T,
 *
 * and tau makes the derivative of n . (p - v) zero. Rays meet the outside only, so of the circle at an open
 * end only the part counts that shows its outside.
 *
 * Linear segments. On the cone around a segment n . a = q (curve.c), so n . (p0 - v) + r0 = 0 holds all along
 * a line. Of the circle in which a cone from v touches the ball at a control point that part is on the hull
 * that is on no cone's side: n . a <= q before a segment, and n . a >= q behind it.
 *
 * Where control points move by a motion, c moves with them, and X stays at a right angle to c'. */
#include "render/plan.h"
#include "render/shape/curve.h"

#include <math.h>
#include <string.h>

static const float turn = 6.28318531f;
enum { NEWTON_STEPS = 4 };
/* Words of a piece: the offset of its first control point from the shape's data; what it is. */
enum { PIECE_POINTS, PIECE_WHAT };
enum { WHAT_SIDES, WHAT_BEGIN, WHAT_END }; /* of B-splines */
enum {
    WHAT_CONE = 4,
    WHAT_SEGMENT_BEFORE = 1,
    WHAT_SEGMENT_AFTER = 2
}; /* of linear curves: else a ball, bits */
/* Where a tube is bent almost as much as it is thick, bspline_intersect does not find it within about this
 * share of its radius from the silhouette. */
static const float BLUR = 0.002f;
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

void bspline_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out)
{
    for (uint32_t k = 0; segment_at(s, shape, k, CURVE_PIECES, ENTRY_POINTS) != PLAN_NONE; k++) {
        uint32_t offset = segment_at(s, shape, k, CURVE_PIECES, ENTRY_POINTS);
        const float *p = point_at(s, shape, offset);
        put(out, offset, WHAT_SIDES, 2 * distance_of(p + 4, p + 8));
        if (!follows(s, shape, k, CURVE_PIECES, ENTRY_POINTS))
            put(out, offset, WHAT_BEGIN, (double)turn / 2 * (double)p[7]);
        if (!follows(s, shape, k + 1, CURVE_PIECES, ENTRY_POINTS))
            put(out, offset, WHAT_END, (double)turn / 2 * (double)p[11]);
    }
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

/* ---- B-splines ---- */

static ir_ref piece_points(tracer *t, const silhouette_query *at)
{
    return ir_add(t->f, at->data, t_word(t, at->piece, PIECE_POINTS));
}

/* The place along the segment; *second: bool, on the second of the two sides. */
static ir_ref bspline_place(tracer *t, const silhouette_query *at, ir_ref what, ir_ref *second)
{
    ir_func *f = t->f;
    ir_ref two = ir_add(f, at->along, at->along), one = t_f32(t, 1), zero = t_f32(t, 0);
    *second = ir_ge(f, two, one);
    ir_ref side = ir_select(f, *second, ir_sub(f, two, one), two);
    ir_ref end = ir_select(f, ir_eq(f, what, t_u32(t, WHAT_END)), one, zero);
    return ir_select(f, ir_eq(f, what, t_u32(t, WHAT_SIDES)), side, end);
}

/* The circle of the tube at a place, and the numbers by which a viewpoint sees it. */
typedef struct tube_circle {
    spline c;
    frame fr;            /* n along the curve */
    ir_ref speed2;       /* |c'|^2 */
    ir_ref a, b, k1, k2; /* c - v and c'' by fr.s and fr.t */
    ir_ref lean;         /* r' c' . (c - v) */
} tube_circle;

static tube_circle circle_at(tracer *t, ir_ref points, ir_ref s, vec3 viewpoint)
{
    ir_func *f = t->f;
    tube_circle o = {.c = spline_at(t, points, s)};
    o.speed2 = v3_dot(t, o.c.d1, o.c.d1);
    o.fr = frame_around(t, v3_scale(t, o.c.d1, t_ratio(t, t_f32(t, 1), ir_sqrt(f, o.speed2))));
    vec3 w = v3_sub(t, o.c.c, viewpoint);
    o.a = v3_dot(t, o.fr.s, w), o.b = v3_dot(t, o.fr.t, w);
    o.k1 = v3_dot(t, o.fr.s, o.c.d2), o.k2 = v3_dot(t, o.fr.t, o.c.d2);
    o.lean = ir_mul(f, o.c.r1, v3_dot(t, o.c.d1, w));
    return o;
}

/* The direction (cosine, sine) of the silhouette about the curve. Returns a bool: it was found. */
static ir_ref find_side(tracer *t, const tube_circle *o, ir_ref second, vec2 *at)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), reach = ir_sqrt(f, t_mad(t, o->a, o->a, t_sqr(t, o->b))),
           per = t_ratio(t, one, reach), x = ir_mul(f, o->a, per), y = ir_mul(f, o->b, per);
    ir_ref cosine = ir_mul(f, ir_sub(f, t_ratio(t, o->lean, o->speed2), o->c.r), per);
    ir_ref found = ir_lt(f, ir_abs(f, cosine), one), sine = t_safe_sqrt(t, ir_sub(f, one, t_sqr(t, cosine))),
           off = {0};
    sine = ir_select(f, second, ir_neg(f, sine), sine);
    *at = (vec2){ir_sub(f, ir_mul(f, x, cosine), ir_mul(f, y, sine)),
                 ir_add(f, ir_mul(f, y, cosine), ir_mul(f, x, sine))};
    for (int k = 0; k <= NEWTON_STEPS; k++) {
        ir_ref bent =
            ir_sub(f, o->speed2, ir_mul(f, o->c.r, t_mad(t, o->k1, at->x, ir_mul(f, o->k2, at->y))));
        ir_ref toward = ir_add(f, t_mad(t, o->a, at->x, ir_mul(f, o->b, at->y)), o->c.r);
        off = ir_sub(f, ir_mul(f, bent, toward), o->lean);
        if (k == NEWTON_STEPS)
            break;
        ir_ref turned = ir_sub(f, ir_mul(f, o->k2, at->x), ir_mul(f, o->k1, at->y));
        ir_ref slope = ir_sub(f, ir_mul(f, bent, ir_sub(f, ir_mul(f, o->b, at->x), ir_mul(f, o->a, at->y))),
                              ir_mul(f, ir_mul(f, o->c.r, turned), toward));
        ir_ref flat = ir_eq(f, slope, t_f32(t, 0));
        ir_ref step = ir_neg(f, ir_div(f, off, ir_select(f, flat, one, slope)));
        step = t_clamp(t, step, -0.5f, 0.5f);
        vec2 next = {ir_sub(f, at->x, ir_mul(f, at->y, step)), ir_add(f, at->y, ir_mul(f, at->x, step))};
        ir_ref size = t_ratio(t, one, ir_sqrt(f, t_mad(t, next.x, next.x, t_sqr(t, next.y))));
        *at = (vec2){ir_mul(f, next.x, size), ir_mul(f, next.y, size)};
    }
    return ir_and(f, found,
                  ir_le(f, ir_abs(f, off), ir_mul(f, ir_mul(f, o->speed2, reach), t_f32(t, 1e-4f))));
}

/* p' by s on a side: x is X, y is p - v. */
static vec3 along_side(tracer *t, ir_ref points, const spline *c, ir_ref speed2, vec3 x, vec3 y)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), bent = ir_sub(f, speed2, v3_dot(t, x, c->d2)), share = t_ratio(t, bent, speed2),
           grows = t_ratio(t, c->r1, c->r);
    vec3 third = v3_zero(t);
    static const float weight[4] = {-1, 3, -3, 1};
    for (uint32_t k = 0; k < 4; k++)
        third = v3_add(t, third, v3_scale(t, v3_load(t, points, 4 * k), t_f32(t, weight[k])));
    vec3 across = v3_cross(t, c->d1, x),
         known = v3_add(t, v3_scale(t, c->d1, ir_sub(f, share, one)), v3_scale(t, x, grows));
    ir_ref xy = v3_dot(t, x, y), change = v3_dot(t, c->d1, c->d2);
    change = ir_sub(f, ir_add(f, change, change), ir_add(f, v3_dot(t, known, c->d2), v3_dot(t, x, third)));
    ir_ref rest = ir_add(f, ir_mul(f, change, xy), ir_mul(f, bent, v3_dot(t, known, y)));
    rest = ir_sub(f, rest, ir_mul(f, t_mad(t, c->r, c->r2, t_sqr(t, c->r1)), v3_dot(t, c->d1, y)));
    rest = ir_sub(f, rest, ir_mul(f, ir_mul(f, c->r, c->r1), v3_dot(t, c->d2, y)));
    ir_ref by = ir_sub(f, ir_mul(f, bent, v3_dot(t, across, y)), ir_mul(f, v3_dot(t, across, c->d2), xy));
    ir_ref flat = ir_eq(f, by, t_f32(t, 0)), tau = ir_neg(f, ir_div(f, rest, ir_select(f, flat, one, by)));
    return v3_add(t, v3_scale(t, c->d1, share), v3_add(t, v3_scale(t, x, grows), v3_scale(t, across, tau)));
}

silhouette_point bspline_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref what = t_word(t, at->piece, PIECE_WHAT), sides = ir_eq(f, what, t_u32(t, WHAT_SIDES)), second,
           points = piece_points(t, at), s = bspline_place(t, at, what, &second);
    tube_circle o = circle_at(t, points, s, at->viewpoint);
    vec2 side;
    ir_ref found = find_side(t, &o, second, &side), angle = ir_mul(f, at->along, t_f32(t, turn));
    ir_ref x = ir_select(f, sides, side.x, ir_cos(f, angle)),
           y = ir_select(f, sides, side.y, ir_sin(f, angle));
    vec3 out = v3_add(t, v3_scale(t, o.fr.s, x), v3_scale(t, o.fr.t, y)), from = v3_scale(t, out, o.c.r);
    silhouette_point p = {.p = v3_add(t, o.c.c, from), .closed = ir_bool(f, true), .crease = t_f32(t, 0)};
    vec3 toward = v3_sub(t, p.p, at->viewpoint);
    ir_ref bent = ir_sub(f, o.speed2, v3_dot(t, from, o.c.d2));
    vec3 n = v3_sub(t, v3_scale(t, from, bent), v3_scale(t, o.c.d1, ir_mul(f, o.c.r, o.c.r1)));
    ir_ref shows = ir_lt(f, v3_dot(t, n, toward), t_f32(t, 0));
    p.there = ir_and(f, ir_gt(f, bent, t_f32(t, 0)),
                     ir_or(f, ir_and(f, sides, found), ir_and(f, ir_not(f, sides), shows)));
    vec3 ring = v3_scale(t, v3_sub(t, v3_scale(t, o.fr.t, x), v3_scale(t, o.fr.s, y)),
                         ir_mul(f, o.c.r, t_f32(t, turn)));
    vec3 line = v3_scale(t, along_side(t, points, &o.c, o.speed2, from, toward), t_f32(t, 2));
    p.along = v3_select(t, sides, line, ring);
    vec3 ahead = v3_select(t, ir_eq(f, what, t_u32(t, WHAT_END)), o.c.d1, v3_neg(t, o.c.d1));
    p.out = v3_select(t, sides, out, ahead);
    p.blur = ir_mul(f, o.c.r, t_f32(t, BLUR));
    return p;
}

vec3 bspline_silhouette_moved(tracer *t, const silhouette_query *at, vec3 p)
{
    ir_func *f = t->f;
    ir_ref second, points = piece_points(t, at),
                   s = bspline_place(t, at, t_word(t, at->piece, PIECE_WHAT), &second);
    tracer now = t_deciding(t);
    now.motion = NULL;
    spline stays = spline_at(&now, points, s), moved = spline_at(t, points, s);
    vec3 x = v3_sub(t, p, v3_detach(t, stays.c)), d1 = v3_detach(t, stays.d1);
    ir_ref back = ir_neg(f, t_ratio(t, v3_dot(t, x, moved.d1), v3_dot(t, d1, d1)));
    return v3_add(t, v3_add(t, moved.c, x), v3_scale(t, d1, back));
}

/* ---- linear segments ---- */

/* The two lines on the cone around a segment. */
static silhouette_point cone_silhouette(tracer *t, ir_ref points, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), zero = t_f32(t, 0), r = t_real(t, points, 3),
           q = ir_sub(f, r, t_real(t, points, 7));
    ir_ref two = ir_add(f, at->along, at->along), second = ir_ge(f, two, one),
           s = ir_select(f, second, ir_sub(f, two, one), two);
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
           cone = ir_eq(f, t_word(t, at->piece, PIECE_WHAT), t_u32(t, WHAT_CONE)), one = t_f32(t, 1),
           two = ir_add(f, at->along, at->along);
    ir_ref s = ir_select(f, ir_ge(f, two, one), ir_sub(f, two, one), two);
    s = ir_select(f, cone, s, t_f32(t, 0));
    tracer now = t_deciding(t);
    now.motion = NULL;
    ir_ref next = ir_add(f, points, ir_select(f, cone, t_u32(t, 4), t_u32(t, 0)));
    vec3 from = kind_point(t, points), to = kind_point(t, next),
         c = v3_add(t, from, v3_scale(t, v3_sub(t, to, from), s));
    from = kind_point(&now, points), to = kind_point(&now, next);
    vec3 stays = v3_add(t, from, v3_scale(t, v3_sub(t, to, from), s));
    return v3_add(t, v3_sub(t, p, v3_detach(t, stays)), c);
}
