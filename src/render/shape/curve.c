/* SPDX-License-Identifier: BSD-3-Clause
 * Curves with thickness, as two plugins. A linearcurve is the hull of spheres that slide along the segments
 * between control points, so it is round at joints and ends. A bsplinecurve is a tube of circles across a
 * uniform cubic B-spline, and it is open at its ends.
 *
 * Rays meet the outside of a curve only (Mitsuba), so a path that has entered a curve meets nothing there.
 * Curves cannot be lights. to_world moves the control points and leaves the radii as they are. u of uv is
 * the angle about the curve as a share of a turn, from a direction that leans toward +z. v is the place
 * along all segments of the shape, as a share of their number.
 *
 * A hit keeps two numbers: the place s along the segment, and 0.
 *
 * Linear segments. Let X = o + t d - p0, a = p1 - p0 and q = r0 - r1. The spheres are the family |X - s
 * a|^2 = (r0 - s q)^2. Its envelope is a cone, on which s = (a.X - q r0) / (|a|^2 - q^2). Where s is
 * outside of 0 .. 1 the ray can only hit the spheres of the ends. The hull is convex, so the first hit is
 * the nearest point at which the ray enters the cone or a sphere.
 *
 * B-splines. A segment is cut into pieces. Each piece has a box of its own, and a cone of
 * its own between its two ends. The hit with the cone is where Newton's method starts to solve
 *     |X|^2 = r(s)^2,   X . c'(s) = 0        with X = o + t d - c(s)
 * for t and s. The cone is wider than the tube, so Newton starts in front of the tube. From there it comes to
 * the place where the ray enters; from a start inside, a ray that grazes the tube would find where it leaves.
 * A solution counts as a hit if the iteration has come to rest on the piece, or a little
 * beyond its end, where the neighbour begins. The iteration is not differentiated: bspline_follow says how
 * a known hit depends on the ray.
 *
 * The entry of a B-spline's piece holds the word of the data, the offset from there to the first of four
 * control points, and the places where the piece begins and ends. The entry of a linear segment holds p0,
 * r0, p1, r1 and the same offset. */
#include "render/shape/curve.h"
#include "render/shape/area.h"

static const float pi = 3.14159265358979323846f;

enum { PIECES = CURVE_PIECES, NEWTON_STEPS = 6 };
/* A cone between the ends of a piece is wider than the tube: by a share of the radius, and by how far a chord
 * is from an arc, over the second derivative. */
static const float WIDER = 1.1f, BULGE = 1.0f / (8 * PIECES * PIECES);
#define OVERLAP (1.0f / 256) /* how far neighbouring pieces overlap, in s */

/* ---- loading ---- */

/* Moves the control points to the world, and leaves their radii as they are. */
static bl_result move_points(const scene_object *o, scene_curves *c, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
        return scene_error(err, BL_ERROR_SCENE, o->where, "%s: to_world must be affine (last row 0 0 0 1)",
                           o->cls->name);
    for (uint32_t i = 0; i < c->point_count; i++) {
        float *p = c->points + 4 * (size_t)i;
        double moved[3] = {(double)p[0], (double)p[1], (double)p[2]};
        matrix_apply(m, moved, 1, moved);
        for (int k = 0; k < 3; k++) {
            p[k] = (float)moved[k];
            if (!isfinite(p[k]))
                return scene_error(err, BL_ERROR_SCENE, o->where,
                                   "%s: control point %u is out of range after to_world", o->cls->name, i);
        }
    }
    return BL_OK;
}

/* Grows a box by the sphere (x, y, z, r), and by some slack for rounding. */
static void box_sphere(float box[6], const double sphere[4], double more)
{
    for (int k = 0; k < 3; k++) {
        double r = sphere[3] * (1 + 1e-5) + more + 1e-6 * fabs(sphere[k]);
        box[k] = fminf(box[k], nextafterf((float)(sphere[k] - r), -INFINITY));
        box[3 + k] = fmaxf(box[3 + k], nextafterf((float)(sphere[k] + r), INFINITY));
    }
}

/* A primitive with an empty box, which box_sphere then grows. */
static render_primitive empty_box(uint32_t kind, uint32_t shape, uint32_t segment)
{
    return (render_primitive){.bounds = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY},
                              .entry[BVH_ENTRY_KIND] = kind,
                              .entry[BVH_ENTRY_SHAPE] = shape,
                              .entry[BVH_ENTRY_PRIMITIVE] = segment};
}

/* Adds a linear segment as one primitive. */
static void put_segment(render_scene *s, const float *points, uint32_t offset, uint32_t segment)
{
    render_primitive p = empty_box(SHAPE_LINEAR_CURVE, s->shapes.count, segment);
    for (int k = 0; k < 2; k++)
        box_sphere(p.bounds,
                   (double[]){(double)points[4 * k], (double)points[4 * k + 1], (double)points[4 * k + 2],
                              (double)points[4 * k + 3]},
                   0);
    memcpy(p.entry, points, 8 * sizeof *points);
    p.entry[ENTRY_SEGMENT] = offset;
    array_push(&s->primitives, p);
}

/* The blossom of the spline at (a, b, c), for one coordinate of its control points (Ramshaw 1987). The
 * Bezier points of the spline's part from u to v are its values at (u,u,u), (u,u,v), (u,v,v) and (v,v,v). */
static double blossom(const float *points, int axis, double a, double b, double c)
{
    /* the knots of the segment are -2 .. 3 */
    double d[4];
    const double u[3] = {a, b, c};
    for (int i = 0; i < 4; i++)
        d[i] = (double)points[4 * i + axis];
    for (int level = 0; level < 3; level++)
        for (int i = 0; i < 3 - level; i++) {
            double low = i + level - 2, high = i + 1, w = (u[level] - low) / (high - low);
            d[i] = (1 - w) * d[i] + w * d[i + 1];
        }
    return d[0];
}

/* Adds a B-spline segment as PIECES primitives. The box of a piece holds the four Bezier points, each with
 * the largest of their radii, so it holds the piece. */
static void put_pieces(render_scene *s, const float *points, uint32_t data, uint32_t offset, uint32_t segment)
{
    for (int piece = 0; piece < PIECES; piece++) {
        double u = (double)piece / PIECES - (double)OVERLAP, v = (piece + 1.0) / PIECES + (double)OVERLAP;
        render_primitive p = empty_box(SHAPE_BSPLINE, s->shapes.count, segment);
        const double corner[4][3] = {{u, u, u}, {u, u, v}, {u, v, v}, {v, v, v}};
        double sphere[4][4], radius = 0;
        for (int i = 0; i < 4; i++) {
            for (int axis = 0; axis < 4; axis++)
                sphere[i][axis] = blossom(points, axis, corner[i][0], corner[i][1], corner[i][2]);
            radius = fmax(radius, sphere[i][3]);
        }
        for (int i = 0; i < 4; i++) {
            sphere[i][3] = radius;
            box_sphere(p.bounds, sphere[i], 0);
        }
        p.entry[ENTRY_DATA] = data, p.entry[ENTRY_POINTS] = offset;
        p.entry[ENTRY_BEGIN] = float_word((float)piece / PIECES),
        p.entry[ENTRY_END] = float_word((float)(piece + 1) / PIECES);
        array_push(&s->primitives, p);
    }
}

/* Loads the file and adds its segments to the scene. order: how many control points a segment has. */
static bl_result add_curves(render_scene *s, const scene_object *o, uint32_t kind, uint32_t order,
                            bl_error *err)
{
    scene_curves c;
    bl_error reason = {0};
    bl_result r = curves_load(scene_get(o, "filename")->path, order, &c, &reason);
    if (r != BL_OK)
        return scene_error(err, r, scene_get(o, "filename")->where, "%s: %s", o->cls->name, reason.text);
    r = move_points(o, &c, err);
    if (r == BL_OK)
        r = render_room(s, 0, CURVE_POINTS + 4 * (uint64_t)c.point_count, err);
    if (r != BL_OK) {
        curves_free(&c);
        return r;
    }
    uint32_t data = s->geometry.count, first = s->primitives.count, segments = 0, points = c.point_count;
    array_reserve(&s->geometry, data + CURVE_POINTS + 4 * c.point_count);
    memcpy(s->geometry.data + data + CURVE_POINTS, c.points, 4 * (size_t)c.point_count * sizeof *c.points);
    for (uint32_t k = 0; k < c.curve_count; k++)
        for (uint32_t i = c.firsts[k]; i + order <= c.firsts[k + 1]; i++, segments++) {
            if (kind == SHAPE_LINEAR_CURVE)
                put_segment(s, c.points + 4 * (size_t)i, CURVE_POINTS + 4 * i, segments);
            else
                put_pieces(s, c.points + 4 * (size_t)i, data, CURVE_POINTS + 4 * i, segments);
        }
    s->geometry.data[data + CURVE_SEGMENTS] = segments;
    s->geometry.count = data + CURVE_POINTS + 4 * c.point_count;
    curves_free(&c);
    render_shape shape = {
        .object = o,
        .kind = kind,
        .first_entry_primitive = first,
        .primitive_count = s->primitives.count - first,
        .vertex_count = points,
        .data = data,
    };
    array_push(&s->shapes, shape);
    s->kind_used[kind] = true;
    return BL_OK;
}

static bl_result linear_load(render_scene *s, const scene_object *o, bl_error *err)
{
    return add_curves(s, o, SHAPE_LINEAR_CURVE, 2, err);
}
static bl_result bspline_load(render_scene *s, const scene_object *o, bl_error *err)
{
    return add_curves(s, o, SHAPE_BSPLINE, 4, err);
}

/* ---- traced: cones between spheres ---- */

typedef struct ball {
    vec3 c;
    ir_ref r;
} ball;

typedef struct cone_hit {
    /* s: the place along the axis. there (bool): there is a hit. */
    ir_ref t, s, there;
} cone_hit;

/* Takes the place at the distance `at` as the best hit if it is valid, beyond tmin, and nearer than the
 * best hit so far. */
static void nearer(tracer *t, cone_hit *best, ir_ref tmin, ir_ref at, ir_ref s, ir_ref valid)
{
    ir_func *f = t->f;
    ir_ref take = ir_and(f, valid, ir_and(f, ir_gt(f, at, tmin), ir_lt(f, at, best->t)));
    best->t = ir_select(f, take, at, best->t), best->s = ir_select(f, take, s, best->s);
    best->there = ir_or(f, best->there, take);
}

/* Takes the point where the ray enters the sphere b, which stands at the place s of the axis, if it is
 * nearer than the best hit so far. per is 1 / |d|^2. */
static void enter_ball(tracer *t, const ball *b, const shape_ray *query, ir_ref per, float s, cone_hit *best)
{
    ir_func *f = t->f;
    vec3 to = v3_sub(t, b->c, query->o);
    ir_ref middle = ir_mul(f, v3_dot(t, to, query->d), per);
    vec3 nearest = v3_sub(t, v3_scale(t, query->d, middle), to);
    ir_ref square = ir_mul(f, ir_sub(f, t_sqr(t, b->r), v3_dot(t, nearest, nearest)), per);
    nearer(t, best, query->tmin, ir_sub(f, middle, t_safe_sqrt(t, square)), t_f32(t, s),
           ir_ge(f, square, t_f32(t, 0)));
}

typedef struct cone {
    /* The cone is where k2 t^2 + 2 k1 t + k0 = 0, with t counted from `shift` on. square is k1^2 - k2 k0. */
    ir_ref k2, k1, square;
    ir_ref size2, lean; /* size2 is |a|^2 - q^2, lean is q r0 */
    ir_ref shift;
    ir_ref ax, ad; /* ax is a . X at t = 0, ad is a . d */
} cone;

/* The cone around two balls, as the ray sees it. The ray's origin is moved to the point nearest to the
 * middle of the axis, which keeps the squares small. */
static cone cone_along(tracer *t, const ball *from, const ball *to, vec3 o, vec3 d)
{
    ir_func *f = t->f;
    vec3 a = v3_sub(t, to->c, from->c);
    cone c = {0};
    ir_ref dd = v3_dot(t, d, d);
    vec3 mid = v3_sub(t, v3_add(t, from->c, v3_scale(t, a, t_f32(t, 0.5f))), o);
    c.shift = ir_div(f, v3_dot(t, mid, d), dd);
    vec3 x = v3_sub(t, v3_add(t, o, v3_scale(t, d, c.shift)), from->c);
    ir_ref q = ir_sub(f, from->r, to->r), aa = v3_dot(t, a, a);
    c.size2 = ir_sub(f, aa, t_sqr(t, q)), c.lean = ir_mul(f, q, from->r);
    c.ax = v3_dot(t, a, x), c.ad = v3_dot(t, a, d);
    ir_ref xd = v3_dot(t, x, d), xx = v3_dot(t, x, x), past = ir_sub(f, c.ax, c.lean);
    c.k2 = ir_sub(f, ir_mul(f, c.size2, dd), t_sqr(t, c.ad));
    c.k1 = ir_sub(f, ir_mul(f, c.size2, xd), ir_mul(f, past, c.ad));
    ir_ref k0 = ir_sub(f, ir_mul(f, c.size2, ir_sub(f, xx, t_sqr(t, from->r))), t_sqr(t, past));
    c.square = ir_sub(f, t_sqr(t, c.k1), ir_mul(f, c.k2, k0));
    return c;
}

/* The place s along the axis of the cone at the distance `at`, which is counted from `shift` on. */
static ir_ref cone_place(tracer *t, const cone *c, ir_ref at)
{
    return ir_div(t->f, ir_sub(t->f, t_mad(t, at, c->ad, c->ax), c->lean), c->size2);
}

static void linear_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    ball from = {kind_point(t, entry), t_real(t, entry, 3)},
         to = {kind_point(t, t_offset(t, entry, 4)), t_real(t, entry, 7)};
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), per = ir_div(f, one, v3_dot(t, query->d, query->d));
    cone_hit best = {query->tmax, zero, ir_bool(f, false)};
    cone c = cone_along(t, &from, &to, query->o, query->d);
    ir_ref root = t_safe_sqrt(t, c.square),
           pierced = ir_and(f, ir_ge(f, c.square, zero), ir_gt(f, c.size2, zero));
    /* Of the two roots the one counts at which the ray enters: there the normal is against the ray. */
    for (int side = -1; side <= 1; side += 2) {
        ir_ref at = ir_div(f, ir_sub(f, side < 0 ? ir_neg(f, root) : root, c.k1), c.k2),
               s = cone_place(t, &c, at);
        /* half the slope of the quadric, which is negative inside */
        ir_ref inward = ir_lt(f, t_mad(t, c.k2, at, c.k1), zero);
        ir_ref on = ir_and(f, ir_ge(f, s, zero), ir_le(f, s, one));
        nearer(t, &best, query->tmin, ir_add(f, at, c.shift), s, ir_and(f, pierced, ir_and(f, on, inward)));
    }
    enter_ball(t, &from, query, per, 0, &best), enter_ball(t, &to, query, per, 1, &best);
    out[0] = best.t, out[1] = best.s, out[2] = zero;
}

/* ---- traced: B-splines ---- */

/* The normal of the tube, of any length, at the point x from the spline. The circles turn with the curve and
 * grow, so it has the direction (|c'|^2 - X.c'') X - r r' c'. */
static vec3 tube_normal(tracer *t, const spline *c, vec3 x)
{
    ir_ref bend = ir_sub(t->f, v3_dot(t, c->d1, c->d1), v3_dot(t, x, c->d2));
    return v3_sub(t, v3_scale(t, x, bend), v3_scale(t, c->d1, ir_mul(t->f, c->r, c->r1)));
}

/* One step of Newton's method toward |X|^2 = r^2, X . c' = 0. state: t and s. */
static void newton_step(tracer *t, ir_ref points, vec3 o, vec3 d, ir_ref state[2])
{
    ir_func *f = t->f;
    spline c = spline_at(t, points, state[1]);
    vec3 x = v3_sub(t, v3_add(t, o, v3_scale(t, d, state[0])), c.c);
    ir_ref half = t_f32(t, 0.5f), across = v3_dot(t, x, c.d1);
    ir_ref f1 = ir_mul(f, half, ir_sub(f, v3_dot(t, x, x), t_sqr(t, c.r)));
    ir_ref a = v3_dot(t, x, d), b = ir_neg(f, t_mad(t, c.r, c.r1, across)), e = v3_dot(t, d, c.d1);
    ir_ref g = ir_sub(f, v3_dot(t, x, c.d2), v3_dot(t, c.d1, c.d1));
    ir_ref per = ir_div(f, t_f32(t, 1), ir_sub(f, ir_mul(f, a, g), ir_mul(f, b, e)));
    ir_ref dt = ir_mul(f, ir_sub(f, ir_mul(f, b, across), ir_mul(f, g, f1)), per);
    ir_ref ds = ir_mul(f, ir_sub(f, ir_mul(f, e, f1), ir_mul(f, a, across)), per);
    /* in units of s, the length of a segment: no step may leave the neighbourhood */
    ir_ref reach = t_f32(t, 0.5f);
    state[0] = ir_add(f, state[0], dt);
    state[1] = ir_add(f, state[1], ir_max(f, ir_min(f, ds, reach), ir_neg(f, reach)));
}

static void bspline_intersect(tracer *t, ir_ref entry, const shape_ray *query, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref points = ir_add(f, t_word(t, entry, ENTRY_DATA), t_word(t, entry, ENTRY_POINTS)),
           zero = t_f32(t, 0), one = t_f32(t, 1);
    ir_ref begin = t_real(t, entry, ENTRY_BEGIN), end = t_real(t, entry, ENTRY_END);
    spline first = spline_at(t, points, begin), last = spline_at(t, points, end);
    ir_ref bulge = ir_mul(f, ir_max(f, v3_length(t, first.d2), v3_length(t, last.d2)), t_f32(t, BULGE));
    ball from = {first.c, t_mad(t, first.r, t_f32(t, WIDER), bulge)},
         to = {last.c, t_mad(t, last.r, t_f32(t, WIDER), bulge)};
    cone c = cone_along(t, &from, &to, query->o, query->d);
    /* the root is clamped at 0, because a ray that just misses the cone may still touch the tube */
    ir_ref at = ir_div(f, ir_neg(f, ir_add(f, t_safe_sqrt(t, c.square), c.k1)), c.k2);
    ir_ref s = t_clamp(t, cone_place(t, &c, at), -0.5f, 1.5f);
    /* Newton works from the origin that cone_along has moved near the piece */
    vec3 near = v3_add(t, query->o, v3_scale(t, query->d, c.shift));
    ir_ref state[3] = {at, t_mad(t, s, ir_sub(f, end, begin), begin), t_u32(t, 0)};
    ir_ref loop = ir_loop(f, state, 3);
    ir_while(f, ir_lt(f, state[2], t_u32(t, NEWTON_STEPS)));
    ir_ref next[3] = {state[0], state[1], ir_add(f, state[2], t_u32(t, 1))};
    newton_step(t, points, near, query->d, next);
    ir_endloop(f, loop, next, 3);
    spline there = spline_at(t, points, state[1]);
    vec3 x = v3_sub(t, v3_add(t, near, v3_scale(t, query->d, state[0])), there.c);
    ir_ref r2 = t_sqr(t, there.r), speed = v3_length(t, there.d1);
    ir_ref off = ir_abs(f, ir_sub(f, v3_dot(t, x, x), r2)), across = ir_abs(f, v3_dot(t, x, there.d1));
    ir_ref at_rest = ir_and(f, ir_le(f, off, ir_mul(f, r2, t_f32(t, 1e-3f))),
                            ir_le(f, across, ir_mul(f, ir_mul(f, speed, there.r), t_f32(t, 1e-3f))));
    ir_ref low = ir_max(f, zero, ir_sub(f, begin, t_f32(t, OVERLAP))),
           high = ir_min(f, one, ir_add(f, end, t_f32(t, OVERLAP)));
    ir_ref on = ir_and(f, ir_ge(f, state[1], low), ir_le(f, state[1], high));
    ir_ref outside = ir_lt(f, v3_dot(t, tube_normal(t, &there, x), query->d), zero),
           hit_t = ir_add(f, state[0], c.shift);
    ir_ref hit =
        ir_and(f, ir_and(f, at_rest, on),
               ir_and(f, outside, ir_and(f, ir_gt(f, hit_t, query->tmin), ir_lt(f, hit_t, query->tmax))));
    out[0] = ir_select(f, hit, hit_t, query->tmax), out[1] = state[1], out[2] = zero;
}

/* A step of Newton's method from a place where both equations hold already. It does not change the values,
 * but it gives them the derivatives of the hit. */
static void bspline_follow(tracer *t, ir_ref entry, vec3 o, vec3 d, ir_ref at[3])
{
    newton_step(t, ir_add(t->f, t_word(t, entry, ENTRY_DATA), t_word(t, entry, ENTRY_POINTS)), o, d, at);
}

/* ---- traced: what both have in common ---- */

/* Unit vector from the curve's place c to the point p. The point may be as far away as the end of a ray
 * that hits nothing. What is computed there is multiplied by zero later, so squares must not overflow on
 * the way. */
static vec3 away_from(tracer *t, vec3 c, vec3 p)
{
    ir_func *f = t->f;
    vec3 x = v3_sub(t, p, c);
    ir_ref size = ir_max(f, ir_abs(f, x.x), ir_max(f, ir_abs(f, x.y), ir_abs(f, x.z)));
    return v3_normalize(t, v3_scale(t, x, ir_div(f, t_f32(t, 1), size)));
}

/* A point of the tube. x leads from the curve to the point, c1 is the derivative of the curve there, and r1
 * that of the radius. */
typedef struct tube_point {
    vec3 x, c1;
    ir_ref r1;
} tube_point;

/* Texture coordinates and tangents at a hit. u of the hit is the place along the segment. */
static void curve_interact(tracer *t, const shape_hit *hit, const tube_point *at, interaction *si)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), count = ir_to_f32(f, t_word(t, hit->data, CURVE_SEGMENTS));
    vec3 x = at->x, axis = v3_normalize(t, at->c1),
         up = v3(ir_neg(f, ir_mul(f, axis.z, axis.x)), ir_neg(f, ir_mul(f, axis.z, axis.y)),
                 ir_sub(f, one, t_sqr(t, axis.z)));
    /* No direction across a curve along z leans toward z. Such a curve takes another one, always the same. */
    ir_ref upright = ir_le(f, v3_dot(t, up, up), t_f32(t, 1e-12f));
    up = v3_select(t, upright, v3(zero, one, zero), up);
    vec3 rotated = v3_normalize(t, up), start = v3_cross(t, rotated, axis), out = v3_normalize(t, x);
    si->uv =
        (vec2){t_turn(t, v3_dot(t, rotated, x), v3_dot(t, start, x)),
               ir_div(f, ir_add(f, hit->u, ir_to_f32(f, t_word(t, hit->entry, BVH_ENTRY_PRIMITIVE))), count)};
    si->dp_du = v3_scale(t, v3_cross(t, axis, x), t_f32(t, 2 * pi));
    si->dp_dv = v3_scale(t, v3_add(t, at->c1, v3_scale(t, out, at->r1)), count);
}

static void linear_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    ir_func *f = t->f;
    vec3 from = kind_point(t, hit->entry), a = v3_sub(t, kind_point(t, t_offset(t, hit->entry, 4)), from),
         c = v3_add(t, from, v3_scale(t, a, hit->u));
    ir_ref r0 = t_real(t, hit->entry, 3), q = ir_sub(f, t_real(t, hit->entry, 7), r0);
    vec3 n = away_from(t, c, v3_add(t, hit->o, v3_scale(t, hit->d, hit->t)));
    /* the point is put back onto the sphere */
    vec3 x = v3_scale(t, n, t_mad(t, q, hit->u, r0));
    si->p = v3_add(t, c, x);
    si->ng = si->ns = n;
    curve_interact(t, hit, &(tube_point){x, a, q}, si);
}

static void bspline_interact(tracer *t, const shape_hit *hit, interaction *si)
{
    ir_func *f = t->f;
    spline c = spline_at(t, ir_add(f, hit->data, t_word(t, hit->entry, ENTRY_POINTS)), hit->u);
    si->p = v3_add(t, hit->o, v3_scale(t, hit->d, hit->t));
    vec3 x = v3_scale(t, away_from(t, c.c, si->p), c.r);
    si->ng = si->ns = v3_normalize(t, tube_normal(t, &c, x));
    curve_interact(t, hit, &(tube_point){x, c.d1, c.r1}, si);
}

/* ---- moving: control points in their own space ---- */

/* Writes the control points in object space, with their radii. */
static uint32_t curve_object_data(const render_scene *s, const render_shape *shape, float *own)
{
    double inverse[16];
    matrix_invert(scene_get(shape->object, "to_world")->matrix, inverse);
    for (uint32_t i = 0; own && i < shape->vertex_count; i++) {
        float *p = own + 4 * (size_t)i;
        memcpy(p, s->geometry.data + shape->data + CURVE_POINTS + 4 * (size_t)i, 4 * sizeof *p);
        double back[3] = {(double)p[0], (double)p[1], (double)p[2]};
        matrix_apply(inverse, back, 1, back);
        for (int k = 0; k < 3; k++)
            p[k] = (float)back[k];
    }
    return 4 * shape->vertex_count;
}

static void curve_transform_point(tracer *t, const affine_map *to_world, const object_primitive *at)
{
    ir_ref offset = ir_mul(t->f, at->number, t_u32(t, 4)), words[3];
    vec3_put(affine_point(t, to_world, v3_load(t, ir_add(t->f, at->object_data, offset), 0)), words);
    for (uint32_t k = 0; k < 3; k++)
        ir_store(t->f, BUFFER_SCENE, t_offset(t, ir_add(t->f, at->data, offset), CURVE_POINTS + k), words[k]);
}

/* Sets the box of a primitive to one around `count` balls of the same radius r. */
static void box_balls(tracer *t, const vec3 *centre, uint32_t count, ir_ref r, transformed_primitive *out)
{
    ir_func *f = t->f;
    for (uint32_t i = 0; i < count; i++) {
        ir_ref c[3];
        vec3_put(centre[i], c);
        for (int k = 0; k < 3; k++) {
            ir_ref reach = t_mad(t, r, t_f32(t, 1 + 2e-5f), ir_mul(f, ir_abs(f, c[k]), t_f32(t, 4e-6f)));
            ir_ref low = ir_sub(f, c[k], reach), high = ir_add(f, c[k], reach);
            out->least[k] = i ? ir_min(f, out->least[k], low) : low,
            out->most[k] = i ? ir_max(f, out->most[k], high) : high;
        }
    }
}

/* Word of the first control point of a primitive in object space. word: where the entry says the offset. */
static ir_ref own_points(tracer *t, const object_primitive *at, uint32_t word)
{
    return ir_add(t->f, at->object_data, ir_sub(t->f, t_word(t, at->entry, word), t_u32(t, CURVE_POINTS)));
}

static void linear_transform(tracer *t, const affine_map *to_world, const object_primitive *at,
                             transformed_primitive *out)
{
    ir_ref own = own_points(t, at, ENTRY_SEGMENT), r[2] = {t_real(t, own, 3), t_real(t, own, 7)};
    vec3 p[2] = {affine_point(t, to_world, v3_load(t, own, 0)),
                 affine_point(t, to_world, v3_load(t, own, 4))};
    for (int k = 0; k < 2; k++)
        vec3_put(p[k], out->entry + 4 * k), out->entry[4 * k + 3] = r[k];
    box_balls(t, p, 2, ir_max(t->f, r[0], r[1]), out);
    out->entry_count = 8;
}

/* The trace's counterpart of `blossom`, for one coordinate d of the control points, at the three places u. */
static ir_ref traced_blossom(tracer *t, const ir_ref d[4], const ir_ref u[3])
{
    ir_func *f = t->f;
    ir_ref b[4] = {d[0], d[1], d[2], d[3]};
    for (int level = 0; level < 3; level++)
        for (int i = 0; i < 3 - level; i++) {
            ir_ref w = ir_mul(f, ir_sub(f, u[level], t_f32(t, (float)(i + level - 2))),
                              t_f32(t, 1.0f / (float)(3 - level)));
            b[i] = t_mad(t, ir_sub(f, b[i + 1], b[i]), w, b[i]);
        }
    return b[0];
}

static void bspline_transform(tracer *t, const affine_map *to_world, const object_primitive *at,
                              transformed_primitive *out)
{
    ir_func *f = t->f;
    ir_ref own = own_points(t, at, ENTRY_POINTS), value[4][4], radius = {0};
    ir_ref u = ir_sub(f, t_real(t, at->entry, ENTRY_BEGIN), t_f32(t, OVERLAP)),
           v = ir_add(f, t_real(t, at->entry, ENTRY_END), t_f32(t, OVERLAP));
    const ir_ref corner[4][3] = {{u, u, u}, {u, u, v}, {u, v, v}, {v, v, v}};
    vec3 centre[4];
    for (uint32_t k = 0; k < 4; k++) {
        vec3 p = affine_point(t, to_world, v3_load(t, own, 4 * k));
        value[0][k] = p.x, value[1][k] = p.y, value[2][k] = p.z, value[3][k] = t_real(t, own, 4 * k + 3);
    }
    for (int i = 0; i < 4; i++) {
        ir_ref r = traced_blossom(t, value[3], corner[i]);
        centre[i] = v3(traced_blossom(t, value[0], corner[i]), traced_blossom(t, value[1], corner[i]),
                       traced_blossom(t, value[2], corner[i]));
        radius = i ? ir_max(f, radius, r) : r;
    }
    box_balls(t, centre, 4, radius, out);
}

const shape_kind_class shape_kind_linear = {
    .shell = true,
    .name = "linear curve",
    .intersect = linear_intersect,
    .interact = linear_interact,
    .silhouette = linear_silhouette,
    .silhouette_pieces = linear_pieces,
    .silhouette_moved = linear_silhouette_moved,
    .object_data = curve_object_data,
    .transform = linear_transform,
    .transform_point = curve_transform_point,
    .moves = MOVES_AS_POINTS,
};
const shape_kind_class shape_kind_bspline = {
    .shell = true,
    .name = "bspline curve",
    .intersect = bspline_intersect,
    .interact = bspline_interact,
    .follow = bspline_follow,
    .silhouette = bspline_silhouette,
    .silhouette_pieces = bspline_pieces,
    .silhouette_moved = bspline_silhouette_moved,
    .object_data = curve_object_data,
    .transform = bspline_transform,
    .transform_point = curve_transform_point,
    .moves = MOVES_AS_POINTS,
    .entry_points = true,
};

static const plugin_param curve_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0,
     "control points, `x y z radius` a line, an empty line between curves"},
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, "of control points; radii stay"},
    SHAPE_ACCEPTED,
};
const shape_class shape_linearcurve = {
    .base = {.plugin = {PLUGIN_SHAPE, "linearcurve", PLUGIN_TABLE(curve_params), PLUGIN_TABLE(shape_slots),
                        "round segments between control points; no light"},
             .load = linear_load}};
const shape_class shape_bsplinecurve = {
    .base = {.plugin = {PLUGIN_SHAPE, "bsplinecurve", PLUGIN_TABLE(curve_params), PLUGIN_TABLE(shape_slots),
                        "tubes around cubic B-splines; no light"},
             .load = bspline_load}};
