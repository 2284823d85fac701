/* SPDX-License-Identifier: BSD-3-Clause
 * Silhouettes of linear curves (shape/curve.c), in pieces: the cones of segments, and the balls at control
 * points. Those of B-splines are not sampled.
 *
 * Linear segments. On the cone around a segment n . a = q (curve.c), so n . (p0 - v) + r0 = 0 holds all along
 * a line. Of the circle in which a cone from v touches the ball at a control point that part is on the hull
 * that is on no cone's side: n . a <= q before a segment, and n . a >= q behind it. */
#include "render/plan.h"
#include "render/shape/curve.h"

#include <math.h>
#include <string.h>

static const float turn = 6.28318531f;
/* Words of a piece: the offset of its first control point from the shape's data; what it is. */
enum { PIECE_POINTS, PIECE_WHAT };
enum { WHAT_CONE = 4, WHAT_SEGMENT_BEFORE = 1, WHAT_SEGMENT_AFTER = 2 }; /* else a ball, bits */
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

/* ---- traced ---- */

static ir_ref piece_points(tracer *t, const silhouette_query *at)
{
    return ir_add(t->f, at->data, t_word(t, at->piece, PIECE_POINTS));
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
