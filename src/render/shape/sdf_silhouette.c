/* SPDX-License-Identifier: BSD-3-Clause
 * Silhouettes of a grid of distances (shape/sdfgrid.c), in pieces: a voxel, and a face of voxels.
 *
 * In a voxel with the interpolant g the silhouette from a viewpoint v is where g = 0 and h = (x - v) . grad g
 * = 0. In a plane across an axis both have the form a + b y + c z + d y z. So the curve meets the plane in at
 * most two points, which the zeros of a quadratic give. A number along the piece is a place on an axis and
 * one of six: a choice among those points of the planes across the three axes that are inside the voxel.
 * A point counts only for the axis along which the curve goes most, so each is one point of one plane.
 *
 * At a face between voxels the surface bends, as at the edge of a mesh. Its curve there is where a form
 * a + b u + c v + d u v is 0. Half of the numbers along it are a place u, half are a place v, and a point
 * counts for the one along which the curve goes most. A face at the border of the grid has one voxel: there
 * the surface ends.
 *
 * All of this is on the grid, where samples stand at integers, and relative to the voxel's lower corner. */
#include "render/plan.h"
#include "render/shape/sdfgrid.h"
#include "render/shape/silhouette_words.h"

#include <math.h>
#include <string.h>

/* Words of a piece: three for the voxel, and what it is: the voxel itself, or its face at the lower or upper
 * side of an axis. An upper face is at the border of the grid. */
enum { PIECE_VOXEL, PIECE_WHAT = 3 };
enum { WHAT_INSIDE, WHAT_LOWER /* 3 axes */, WHAT_UPPER = 4 };
enum { AXES = 3, ROOTS = 2, POINTS = AXES * ROOTS };
static const double pi = 3.14159265358979323846;
/* Least shares of directions for which a piece is taken to have a silhouette; of a crease, how much of what
 * jumps at a silhouette. */
static const double BEND_LEAST = 0.005, CREASE = 0.5;

/* ---- pieces ---- */

typedef struct host_voxel {
    const float *to_grid;
    uint32_t at[3], size[3];
    double k[8]; /* coefficients of the interpolant */
} host_voxel;

static host_voxel voxel_at(const uint32_t *data, const uint32_t at[3])
{
    host_voxel v = {.to_grid = (const float *)(const void *)(data + SDF_TO_GRID)};
    const float *values = (const float *)(const void *)(data + SDF_VALUES);
    memcpy(v.at, at, sizeof v.at), memcpy(v.size, data + SDF_SIZE, sizeof v.size);
    for (size_t i = 0; i < 8; i++) {
        size_t x = at[0] + (i & 1), y = at[1] + (i >> 1 & 1), z = at[2] + (i >> 2);
        v.k[i] = (double)values[(z * v.size[1] + y) * v.size[0] + x];
    }
    for (uint32_t bit = 1; bit < 8; bit *= 2)
        for (uint32_t i = 0; i < 8; i++)
            if (i & bit)
                v.k[i] -= v.k[i ^ bit];
    return v;
}

static double interpolant_at(const host_voxel *v, const double p[3])
{
    double sum = 0;
    for (uint32_t i = 0; i < 8; i++)
        sum += v->k[i] * (i & 1 ? p[0] : 1) * (i & 2 ? p[1] : 1) * (i & 4 ? p[2] : 1);
    return sum;
}

/* The unit normal in the world. */
static void normal_at(const host_voxel *v, const double p[3], double n[3])
{
    double g[3] = {0}, length = 0;
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t axis = 0; axis < 3; axis++) {
            double by = i >> axis & 1 ? v->k[i] : 0;
            for (uint32_t other = 0; other < 3; other++)
                by *= other != axis && i >> other & 1 ? p[other] : 1;
            g[axis] += by;
        }
    for (int k = 0; k < 3; k++)
        n[k] = g[0] * (double)v->to_grid[k] + g[1] * (double)v->to_grid[4 + k] +
               g[2] * (double)v->to_grid[8 + k],
        length += n[k] * n[k];
    for (int k = 0; k < 3; k++)
        n[k] /= sqrt(length);
}

/* An angle over pi; 1 where there is none. */
static double angle_between(const double a[3], const double b[3])
{
    double angle = acos(fmin(fmax(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], -1), 1)) / pi;
    return isfinite(angle) ? angle : 1;
}

/* The points where the surface meets the edges of a voxel. axis and side: only those on that face, unless
 * axis is AXES. */
static uint32_t crossings(const host_voxel *v, uint32_t axis, double side, double out[12][3])
{
    uint32_t count = 0;
    for (uint32_t along = 0; along < 3; along++)
        for (uint32_t k = 0; k < 4; k++) {
            double p[2][3];
            uint32_t a = (along + 1) % 3, b = (along + 2) % 3;
            for (int end = 0; end < 2; end++)
                p[end][along] = end, p[end][a] = k & 1, p[end][b] = k >> 1;
            if (axis < AXES && (along == axis || p[0][axis] != side))
                continue;
            double from = interpolant_at(v, p[0]), to = interpolant_at(v, p[1]);
            if ((from > 0) == (to > 0) || from == to)
                continue;
            memcpy(out[count], p[0], sizeof p[0]);
            out[count++][along] = from / (from - to);
        }
    return count;
}

/* The length of the side of a cube in the world that is as large as a voxel. */
static double voxel_size(const host_voxel *v)
{
    double m[16] = {0};
    for (int k = 0; k < 12; k++)
        m[k] = (double)v->to_grid[k];
    m[15] = 1;
    return 1 / cbrt(fabs(matrix_determinant3(m)));
}

static void put(silhouette_pieces *out, const host_voxel *v, uint32_t what, double weight, double crease)
{
    array_push(&out->all, ((silhouette_piece){
                              {v->at[0], v->at[1], v->at[2], what}, .weight = weight, .crease = crease}));
}

static void put_inside(silhouette_pieces *out, const host_voxel *v)
{
    double at[12][3], n[12][3], bend = BEND_LEAST;
    uint32_t count = crossings(v, AXES, 0, at);
    for (uint32_t i = 0; i < count; i++) {
        normal_at(v, at[i], n[i]);
        for (uint32_t j = 0; j < i; j++)
            bend = fmax(bend, angle_between(n[i], n[j]));
    }
    put(out, v, WHAT_INSIDE, voxel_size(v) * bend, 0);
}

/* below: the voxel on the other side; NULL: there is none. */
static void put_face(silhouette_pieces *out, const host_voxel *v, const host_voxel *below, uint32_t axis,
                     bool upper, bool creases)
{
    double at[12][3], bend = below ? BEND_LEAST : 1, n[2][3];
    uint32_t count = crossings(v, axis, upper, at);
    for (uint32_t i = 0; i < count && below; i++) {
        normal_at(v, at[i], n[0]), at[i][axis] = 1;
        normal_at(below, at[i], n[1]);
        bend = fmax(bend, angle_between(n[0], n[1]));
    }
    double crease = below && creases ? CREASE * bend : 0;
    if (count > 0)
        put(out, v, (upper ? WHAT_UPPER : WHAT_LOWER) + axis, voxel_size(v) * (bend + crease), crease);
}

void sdf_pieces(const render_scene *s, const render_shape *shape, silhouette_pieces *out)
{
    const uint32_t *data = s->geometry.data + shape->data;
    bool creases = !data[SDF_SMOOTH];
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        const uint32_t *at = s->primitives.data[shape->first_entry_primitive + i].entry + SDF_ENTRY_VOXEL;
        host_voxel v = voxel_at(data, at);
        put_inside(out, &v);
        for (uint32_t axis = 0; axis < 3; axis++) {
            uint32_t lower[3] = {at[0], at[1], at[2]};
            lower[axis] -= at[axis] > 0;
            host_voxel below = voxel_at(data, lower);
            put_face(out, &v, at[axis] > 0 ? &below : NULL, axis, false, creases);
            if (at[axis] + 2 == v.size[axis])
                put_face(out, &v, NULL, axis, true, creases);
        }
    }
}

/* ---- traced: the axes, turned ---- */

/* A voxel whose axes are turned so that one of them is first. */
typedef struct turned {
    ir_ref axis;  /* u32: the one that is first */
    ir_ref k[8];  /* coefficients of the interpolant */
    ir_ref to[3]; /* the viewpoint */
} turned;

/* The one of three that `axis` says. */
static ir_ref by_axis(tracer *t, ir_ref axis, ir_ref x, ir_ref y, ir_ref z)
{
    ir_func *f = t->f;
    return ir_select(f, ir_eq(f, axis, t_u32(t, 0)), x, ir_select(f, ir_eq(f, axis, t_u32(t, 1)), y, z));
}

/* Bits of a coefficient, where the axes are turned by `axis`. */
static uint32_t turned_bits(uint32_t bits, uint32_t axis)
{
    uint32_t out = 0;
    for (uint32_t k = 0; k < 3; k++)
        out |= (bits >> k & 1) << (axis + k) % 3;
    return out;
}

static void turn_polynomial(tracer *t, ir_ref axis, const ir_ref k[8], ir_ref out[8])
{
    for (uint32_t i = 0; i < 8; i++)
        out[i] = by_axis(t, axis, k[i], k[turned_bits(i, 1)], k[turned_bits(i, 2)]);
}

static turned turn(tracer *t, ir_ref axis, const ir_ref k[8], vec3 viewpoint)
{
    turned v = {.axis = axis};
    turn_polynomial(t, axis, k, v.k);
    v.to[0] = by_axis(t, axis, viewpoint.x, viewpoint.y, viewpoint.z);
    v.to[1] = by_axis(t, axis, viewpoint.y, viewpoint.z, viewpoint.x);
    v.to[2] = by_axis(t, axis, viewpoint.z, viewpoint.x, viewpoint.y);
    return v;
}

/* A vector along turned axes, along those of the grid. */
static vec3 turn_back(tracer *t, ir_ref axis, const ir_ref v[3])
{
    return v3(by_axis(t, axis, v[0], v[2], v[1]), by_axis(t, axis, v[1], v[0], v[2]),
              by_axis(t, axis, v[2], v[1], v[0]));
}

/* a / b, where b may have any sign; where it is 0, a large number or 0. */
static ir_ref divide(tracer *t, ir_ref a, ir_ref b)
{
    ir_func *f = t->f;
    return ir_div(f, a, ir_select(f, ir_eq(f, b, t_f32(t, 0)), t_f32(t, 1e-30f), b));
}

/* a + b y + c z + d y z */
typedef struct bilinear {
    ir_ref a, b, c, d;
} bilinear;

static bilinear interpolant_across(tracer *t, const ir_ref k[8], ir_ref u)
{
    return (bilinear){t_mad(t, k[1], u, k[0]), t_mad(t, k[3], u, k[2]), t_mad(t, k[5], u, k[4]),
                      t_mad(t, k[7], u, k[6])};
}

/* bool: 0 <= v <= 1 */
static ir_ref within(tracer *t, ir_ref v)
{
    return ir_and(t->f, ir_ge(t->f, v, t_f32(t, 0)), ir_le(t->f, v, t_f32(t, 1)));
}

/* A point on the grid, the tangent of a curve there, and where the surface is not. */
typedef struct grid_point {
    ir_ref there; /* bool */
    vec3 p, along, out;
} grid_point;

/* ---- traced: inside a voxel ---- */

/* h in the plane across the first axis at u, where g is `g`. */
static bilinear slope_across(tracer *t, const turned *v, ir_ref u, const bilinear *g)
{
    ir_func *f = t->f;
    ir_ref x = ir_sub(f, u, v->to[0]), y = v->to[1], z = v->to[2];
    return (bilinear){
        ir_sub(f, ir_mul(f, x, v->k[1]), t_mad(t, g->b, y, ir_mul(f, g->c, z))),
        ir_sub(f, t_mad(t, x, v->k[3], g->b), ir_mul(f, g->d, z)),
        ir_sub(f, t_mad(t, x, v->k[5], g->c), ir_mul(f, g->d, y)),
        t_mad(t, x, v->k[7], ir_add(f, g->d, g->d)),
    };
}

/* A place y where g and h are 0 for the same z. NaN: there is none. second: bool */
static ir_ref common_zero(tracer *t, const bilinear *g, const bilinear *h, ir_ref second)
{
    ir_func *f = t->f;
    ir_ref p2 = ir_sub(f, ir_mul(f, h->b, g->d), ir_mul(f, h->d, g->b)),
           p1 = ir_add(f, ir_sub(f, ir_mul(f, h->a, g->d), ir_mul(f, h->d, g->a)),
                       ir_sub(f, ir_mul(f, h->b, g->c), ir_mul(f, h->c, g->b))),
           p0 = ir_sub(f, ir_mul(f, h->a, g->c), ir_mul(f, h->c, g->a));
    ir_ref root = ir_sqrt(f, ir_sub(f, t_sqr(t, p1), ir_mul(f, t_f32(t, 4), ir_mul(f, p2, p0))));
    root = ir_select(f, ir_lt(f, p1, t_f32(t, 0)), ir_neg(f, root), root);
    ir_ref q = ir_mul(f, t_f32(t, -0.5f), ir_add(f, p1, root));
    return ir_select(f, second, divide(t, p0, q), divide(t, q, p2));
}

/* z to a y; of the two equations the one is solved that depends more on z. scale: a length that makes the
 * slopes of g and h alike */
static ir_ref other_coordinate(tracer *t, const bilinear *g, const bilinear *h, ir_ref y, ir_ref scale)
{
    ir_func *f = t->f;
    ir_ref by_g = t_mad(t, g->d, y, g->c), by_h = t_mad(t, h->d, y, h->c);
    ir_ref better = ir_ge(f, ir_mul(f, ir_abs(f, by_g), scale), ir_abs(f, by_h));
    ir_ref rest = ir_select(f, better, t_mad(t, g->b, y, g->a), t_mad(t, h->b, y, h->a));
    return divide(t, ir_neg(f, rest), ir_select(f, better, by_g, by_h));
}

/* Sets the tangent at p by grad g x H w, with the matrix H of second derivatives and w = p - v; and `out` by
 * the sign of w . H w. It is there where the first component of the tangent is the largest. */
static void finish_inside(tracer *t, const turned *v, const ir_ref p[3], grid_point *out)
{
    ir_func *f = t->f;
    const ir_ref *k = v->k;
    ir_ref size[3], tangent[3], zero = t_f32(t, 0);
    ir_ref xy = t_mad(t, k[7], p[2], k[3]), xz = t_mad(t, k[7], p[1], k[5]), yz = t_mad(t, k[7], p[0], k[6]);
    vec3 w = v3(ir_sub(f, p[0], v->to[0]), ir_sub(f, p[1], v->to[1]), ir_sub(f, p[2], v->to[2]));
    vec3 slope = v3(ir_add(f, ir_mul(f, xy, w.y), ir_mul(f, xz, w.z)),
                    ir_add(f, ir_mul(f, xy, w.x), ir_mul(f, yz, w.z)),
                    ir_add(f, ir_mul(f, xz, w.x), ir_mul(f, yz, w.y)));
    vec3 g = v3(t_mad(t, t_mad(t, k[7], p[2], k[3]), p[1], t_mad(t, k[5], p[2], k[1])),
                t_mad(t, t_mad(t, k[7], p[2], k[3]), p[0], t_mad(t, k[6], p[2], k[2])),
                t_mad(t, t_mad(t, k[7], p[1], k[5]), p[0], t_mad(t, k[6], p[1], k[4])));
    vec3_put(v3_cross(t, g, slope), tangent);
    for (int i = 0; i < 3; i++)
        size[i] = ir_abs(f, tangent[i]);
    ir_ref second = ir_eq(f, v->axis, t_u32(t, 1)), last = ir_eq(f, v->axis, t_u32(t, 2));
    /* Of equal ones the axis with the least number counts. The axis behind the first one is a later one
     * unless the first is the last, and that before it is a later one if the first is axis 0. */
    ir_ref more = ir_and(f, ir_gt(f, size[0], size[1]), ir_gt(f, size[0], size[2])),
           behind = ir_and(f, ir_eq(f, size[0], size[1]), ir_not(f, last)),
           before = ir_and(f, ir_eq(f, size[0], size[2]), ir_not(f, ir_or(f, second, last)));
    ir_ref at_least =
        ir_and(f, ir_or(f, ir_gt(f, size[0], size[1]), behind), ir_or(f, ir_gt(f, size[0], size[2]), before));
    out->there = ir_and(f, ir_or(f, more, at_least), ir_gt(f, size[0], zero));
    ir_ref per = divide(t, t_f32(t, 1), tangent[0]);
    for (int i = 0; i < 3; i++)
        tangent[i] = ir_mul(f, tangent[i], per);
    ir_ref hollow = ir_lt(f, v3_dot(t, w, slope), zero), away[3];
    vec3_put(v3_select(t, hollow, v3_neg(t, g), g), away);
    out->along = turn_back(t, v->axis, tangent), out->out = turn_back(t, v->axis, away);
}

/* The point `number` (u32, below POINTS) that the curve has at u. Its tangent is by u, and `out` is a
 * gradient. */
static grid_point inside_point(tracer *t, const ir_ref k[8], vec3 viewpoint, ir_ref u, ir_ref number)
{
    ir_func *f = t->f;
    ir_ref axes = t_u32(t, AXES), second = ir_ge(f, number, axes);
    turned v = turn(t, ir_select(f, second, ir_sub(f, number, axes), number), k, viewpoint);
    bilinear g = interpolant_across(t, v.k, u), h = slope_across(t, &v, u, &g);
    ir_ref scale =
        ir_add(f, ir_abs(f, ir_sub(f, u, v.to[0])), ir_add(f, ir_abs(f, v.to[1]), ir_abs(f, v.to[2])));
    ir_ref y = common_zero(t, &g, &h, second), z = other_coordinate(t, &g, &h, y, scale);
    ir_ref valid = ir_and(f, within(t, y), within(t, z));
    const ir_ref p[3] = {u, ir_select(f, valid, y, u), ir_select(f, valid, z, u)};
    grid_point out = {.p = turn_back(t, v.axis, p)};
    finish_inside(t, &v, p, &out);
    out.there = ir_and(f, valid, out.there);
    return out;
}

/* u32: which points are there at u, as bits. */
static ir_ref points_there(tracer *t, const ir_ref k[8], vec3 viewpoint, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), state[2] = {t_u32(t, 0), t_u32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], t_u32(t, POINTS)));
    ir_ref there = inside_point(t, k, viewpoint, u, state[0]).there,
           bit = ir_select(f, there, ir_shl(f, one, state[0]), t_u32(t, 0));
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], one), ir_or(f, state[1], bit)}, 2);
    return state[1];
}

/* A number below POINTS chooses among the points that are there: the one whose turn it is. share: how many of
 * the numbers lead to it, over POINTS. Returns POINTS where there is none. */
static ir_ref choose_point(tracer *t, ir_ref bits, ir_ref number, ir_ref *share)
{
    ir_func *f = t->f;
    ir_ref count = t_u32(t, 0), one = t_u32(t, 1), chosen = t_u32(t, POINTS), seen = count;
    for (uint32_t k = 0; k < POINTS; k++)
        count = ir_add(f, count, ir_select(f, t_has_bit(t, bits, 1u << k), one, t_u32(t, 0)));
    ir_ref some = ir_max(f, count, one),
           turn_of = ir_sub(f, number, ir_mul(f, ir_div(f, number, some), some));
    for (uint32_t k = 0; k < POINTS; k++) {
        ir_ref there = t_has_bit(t, bits, 1u << k), is = ir_and(f, there, ir_eq(f, seen, turn_of));
        chosen = ir_select(f, is, t_u32(t, k), chosen);
        seen = ir_add(f, seen, ir_select(f, there, one, t_u32(t, 0)));
    }
    ir_ref more = ir_div(f, ir_sub(f, t_u32(t, POINTS - 1), turn_of), some);
    *share = ir_mul(f, ir_to_f32(f, ir_add(f, more, one)), t_f32(t, 1.0f / POINTS));
    return chosen;
}

static grid_point inside_silhouette(tracer *t, const ir_ref k[8], vec3 viewpoint, ir_ref along)
{
    ir_func *f = t->f;
    ir_ref many = ir_mul(f, along, t_f32(t, POINTS)),
           number = ir_min(f, ir_to_u32(f, many), t_u32(t, POINTS - 1)),
           u = ir_sub(f, many, ir_to_f32(f, number)), share;
    ir_ref chosen = choose_point(t, points_there(t, k, viewpoint, u), number, &share),
           any = ir_lt(f, chosen, t_u32(t, POINTS));
    grid_point p = inside_point(t, k, viewpoint, u, ir_select(f, any, chosen, t_u32(t, 0)));
    p.there = ir_and(f, p.there, any);
    p.along = v3_scale(t, p.along, ir_div(f, t_f32(t, 1), share));
    return p;
}

/* ---- traced: on a face ---- */

/* The derivative of an interpolant by the first axis. */
static ir_ref steepness(tracer *t, const ir_ref k[8], ir_ref u, ir_ref v)
{
    return t_mad(t, t_mad(t, k[7], v, k[3]), u, t_mad(t, k[5], v, k[1]));
}

/* A point of the curve on a face across the first axis, where the interpolant is `g`: on turned axes, with
 * its tangent. */
typedef struct face_point {
    ir_ref there, p[2], along[2], slope[2]; /* slope: the derivative of g */
} face_point;

static face_point on_face(tracer *t, const bilinear *g, ir_ref along)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = ir_add(f, along, along), second = ir_ge(f, two, one);
    ir_ref at = ir_select(f, second, ir_sub(f, two, one), two), b = ir_select(f, second, g->c, g->b),
           c = ir_select(f, second, g->b, g->c), across = t_mad(t, g->d, at, c);
    ir_ref other = divide(t, ir_neg(f, t_mad(t, b, at, g->a)), across), inside = within(t, other);
    other = ir_select(f, inside, other, at);
    ir_ref slope = t_mad(t, g->d, other, b), size = ir_abs(f, slope), size_across = ir_abs(f, across);
    ir_ref most =
        ir_or(f, ir_gt(f, size_across, size), ir_and(f, ir_eq(f, size_across, size), ir_not(f, second)));
    ir_ref turns = ir_neg(f, ir_mul(f, t_f32(t, 2), divide(t, slope, across))), ahead = t_f32(t, 2);
    return (face_point){.there = ir_and(f, inside, most),
                        .p = {ir_select(f, second, other, at), ir_select(f, second, at, other)},
                        .along = {ir_select(f, second, turns, ahead), ir_select(f, second, ahead, turns)},
                        .slope = {ir_select(f, second, across, slope), ir_select(f, second, slope, across)}};
}

/* Where two parts of the surface lie, seen along w: into[0] and into[1] lead into them. */
static void part_ways(tracer *t, const vec3 into[2], vec3 w, ir_ref one_part, silhouette_point *s,
                      grid_point *p)
{
    ir_func *f = t->f;
    vec3 across = v3_cross(t, p->along, w);
    ir_ref side[2] = {v3_dot(t, into[0], across), v3_dot(t, into[1], across)};
    s->closed = ir_or(f, one_part, ir_gt(f, ir_mul(f, side[0], side[1]), t_f32(t, 0)));
    ir_ref first = ir_or(f, one_part, ir_ge(f, ir_abs(f, side[0]), ir_abs(f, side[1])));
    p->out = v3_neg(t, v3_select(t, first, into[0], into[1]));
}

static grid_point face_silhouette(tracer *t, const silhouette_query *at, const ir_ref voxel[3],
                                  const ir_ref k[8], vec3 viewpoint, silhouette_point *s)
{
    ir_func *f = t->f;
    ir_ref what = t_word(t, at->piece, PIECE_WHAT), upper = ir_ge(f, what, t_u32(t, WHAT_UPPER)),
           one = t_u32(t, 1);
    ir_ref face = ir_sub(f, what, ir_select(f, upper, t_u32(t, WHAT_UPPER), t_u32(t, WHAT_LOWER)));
    /* A face inside a voxel is asked for by no one, but the numbers must be valid. */
    face = ir_min(f, face, t_u32(t, AXES - 1));
    ir_ref place = ir_select(f, upper, t_f32(t, 1), t_f32(t, 0)), lower[3], below[8], turned_below[8];
    ir_ref border = ir_or(f, upper, ir_eq(f, by_axis(t, face, voxel[0], voxel[1], voxel[2]), t_u32(t, 0)));
    for (uint32_t i = 0; i < 3; i++) {
        ir_ref steps = ir_and(f, ir_eq(f, face, t_u32(t, i)), ir_not(f, border));
        lower[i] = ir_sub(f, voxel[i], ir_select(f, steps, one, t_u32(t, 0)));
    }
    sdf_polynomial(t, at->data, lower, below), turn_polynomial(t, face, below, turned_below);
    turned v = turn(t, face, k, viewpoint);
    bilinear g = interpolant_across(t, v.k, place);
    face_point q = on_face(t, &g, at->along);
    const ir_ref p[3] = {place, q.p[0], q.p[1]}, along[3] = {t_f32(t, 0), q.along[0], q.along[1]};
    grid_point out = {.there = q.there, .p = turn_back(t, face, p), .along = turn_back(t, face, along)};
    /* Tangents of the surface that lead away from the face, upwards and downwards. */
    ir_ref square = ir_add(f, t_sqr(t, q.slope[0]), t_sqr(t, q.slope[1])),
           own = steepness(t, v.k, q.p[0], q.p[1]), other = steepness(t, turned_below, q.p[0], q.p[1]);
    const ir_ref up[3] = {square, ir_neg(f, ir_mul(f, own, q.slope[0])),
                          ir_neg(f, ir_mul(f, own, q.slope[1]))},
                 down[3] = {ir_neg(f, square), ir_mul(f, other, q.slope[0]), ir_mul(f, other, q.slope[1])};
    vec3 into[2] = {turn_back(t, face, up), turn_back(t, face, down)};
    into[0] = v3_select(t, upper, v3_neg(t, into[0]), into[0]);
    part_ways(t, into, v3_sub(t, out.p, viewpoint), border, s, &out);
    return out;
}

/* ---- traced: a piece ---- */

silhouette_point sdf_silhouette(tracer *t, const silhouette_query *at)
{
    ir_func *f = t->f;
    ir_ref voxel[3], k[8], corner[3],
        inside = ir_eq(f, t_word(t, at->piece, PIECE_WHAT), t_u32(t, WHAT_INSIDE));
    for (uint32_t i = 0; i < 3; i++)
        voxel[i] = t_word(t, at->piece, PIECE_VOXEL + i), corner[i] = ir_to_f32(f, voxel[i]);
    sdf_polynomial(t, at->data, voxel, k);
    vec3 low = vec3_at(corner),
         viewpoint = v3_sub(t, v3_point_by_map(t, at->data, SDF_TO_GRID, at->viewpoint), low);
    silhouette_point s = {.crease = t_real(t, at->piece, EDGE_CREASE)};
    ir_ref yes = ir_bool(f, true);
    ir_ref branch = ir_if(f, inside);
    grid_point own = inside_silhouette(t, k, viewpoint, at->along);
    vec3 normal = v3_normal_by_map(t, at->data, SDF_TO_GRID, own.out);
    ir_else(f);
    grid_point face = face_silhouette(t, at, voxel, k, viewpoint, &s);
    ir_endif(f);
    s.there = ir_phi(f, branch, own.there, face.there);
    s.closed = ir_phi(f, branch, yes, s.closed);
    vec3 p = v3_phi(t, branch, own.p, face.p), along = v3_phi(t, branch, own.along, face.along),
         out = v3_phi(t, branch, normal, face.out);
    affine_map to_grid;
    for (uint32_t i = 0; i < 4; i++)
        to_grid.column[i] = v3(t_real(t, at->data, SDF_TO_GRID + i), t_real(t, at->data, SDF_TO_GRID + 4 + i),
                               t_real(t, at->data, SDF_TO_GRID + 8 + i));
    affine_map to_world = affine_inverse(t, &to_grid);
    s.p = affine_point(t, &to_world, v3_add(t, p, low)), s.along = affine_vector(t, &to_world, along);
    s.out = v3_select(t, inside, out, affine_vector(t, &to_world, out));
    return s;
}
