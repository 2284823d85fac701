/* SPDX-License-Identifier: BSD-3-Clause
 * See crossing_parts.h. Two triangles meet where both have a stretch on the line that their planes share
 * (Moeller 1997). A ball meets a plane or another ball in a circle, of which places at equal distances are
 * asked whether they lie within the triangle. */
#include "render/shape/crossing_parts.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double ROUNDING = 1e-6;
static const double WAY[3] = {1, 0.83, 1.19};
enum {
    SIDES = 24,  /* of the polygon in place of a circle */
    PLACES = 256 /* of a circle that are asked */
};

/* ---- vectors ---- */

static void subtract(const double *a, const double *b, double *out)
{
    for (int k = 0; k < 3; k++)
        out[k] = a[k] - b[k];
}

/* Makes a vector a unit vector. False: it is none. */
static bool normalize(double v[3], double least)
{
    const double length = sqrt(dot3(v, v));
    for (int k = 0; k < 3 && length > least; k++)
        v[k] /= length;
    return length > least;
}

/* Two vectors of unit length at right angles to a third one and to each other. */
static void axes_around(const double *n, double s[3], double t[3])
{
    const double other[3] = {fabs(n[0]) < fabs(n[1]), fabs(n[0]) >= fabs(n[1]), 0};
    cross3(n, other, s), normalize(s, 0);
    cross3(n, s, t), normalize(t, 0);
}

/* ---- parts ---- */

static void add_part(crossing_parts *out, crossing_part p)
{
    for (int k = 0; k < 3; k++) {
        p.low[k] = p.corner[0][k] - p.radius, p.high[k] = p.corner[0][k] + p.radius;
        for (int c = 1; c < 3 && !(p.radius > 0); c++)
            p.low[k] = fmin(p.low[k], p.corner[c][k]), p.high[k] = fmax(p.high[k], p.corner[c][k]);
    }
    array_push(out, p);
}

static void add_triangle(crossing_parts *out, uint32_t primitive, const double *a, const double *b,
                         const double *c)
{
    crossing_part p = {.primitive = primitive};
    memcpy(p.corner[0], a, sizeof p.corner[0]), memcpy(p.corner[1], b, sizeof p.corner[1]);
    memcpy(p.corner[2], c, sizeof p.corner[2]);
    add_part(out, p);
}

/* Around a centre, by two axes: triangles to the centre, or, along a third axis, a tube. */
static void add_circle(crossing_parts *out, uint32_t primitive, const double *centre, const double *s,
                       const double *t, const double *tube)
{
    double rim[2][3], beyond[2][3];
    for (int i = 0; i <= SIDES; i++) {
        const double angle = 2 * pi * i / SIDES;
        double *at = rim[i % 2], *far = beyond[i % 2];
        for (int k = 0; k < 3; k++) {
            at[k] = centre[k] + cos(angle) * s[k] + sin(angle) * t[k];
            far[k] = at[k] + (tube ? tube[k] : 0);
        }
        if (i == 0)
            continue;
        add_triangle(out, primitive, rim[0], rim[1], tube ? beyond[0] : centre);
        if (tube)
            add_triangle(out, primitive, beyond[0], beyond[1], rim[1]);
    }
}

static void add_cylinder(crossing_parts *out, uint32_t primitive, const double *base, const double *axis,
                         double radius)
{
    double s[3], t[3];
    axes_around(axis, s, t);
    for (int k = 0; k < 3; k++)
        s[k] *= radius, t[k] *= radius;
    add_circle(out, primitive, base, s, t, axis);
}

static void add_box(crossing_parts *out, uint32_t primitive, const float *bounds)
{
    for (int axis = 0; axis < 3; axis++)
        for (int end = 0; end < 2; end++) {
            double corner[4][3];
            for (int c = 0; c < 4; c++) {
                corner[c][axis] = (double)bounds[axis + 3 * end];
                corner[c][(axis + 1) % 3] = (double)bounds[(axis + 1) % 3 + 3 * (c == 1 || c == 2)];
                corner[c][(axis + 2) % 3] = (double)bounds[(axis + 2) % 3 + 3 * (c >= 2)];
            }
            add_triangle(out, primitive, corner[0], corner[1], corner[2]);
            add_triangle(out, primitive, corner[0], corner[2], corner[3]);
        }
}

void crossing_parts_add(const render_scene *s, uint32_t primitive, crossing_parts *out)
{
    const render_primitive *p = &s->primitives.data[primitive];
    double n[9];
    for (uint32_t k = 0; k < 9; k++) {
        float v;
        memcpy(&v, p->entry + k, sizeof v);
        n[k] = (double)v;
    }
    switch (p->entry[BVH_ENTRY_KIND]) {
    case SHAPE_TRIANGLES:
        add_triangle(out, primitive, n, (double[]){n[0] + n[3], n[1] + n[4], n[2] + n[5]},
                     (double[]){n[0] + n[6], n[1] + n[7], n[2] + n[8]});
        break;
    case SHAPE_SPHERE:
        add_part(out,
                 (crossing_part){.corner = {{n[0], n[1], n[2]}}, .radius = n[3], .primitive = primitive});
        break;
    case SHAPE_DISK:
        add_circle(out, primitive, n, n + 3, n + 6, NULL);
        break;
    case SHAPE_CYLINDER:
        add_cylinder(out, primitive, n, n + 3, n[6]);
        break;
    case SHAPE_LINEAR_CURVE:
    case SHAPE_BSPLINE:
    case SHAPE_SDF:
        add_box(out, primitive, p->bounds);
        break;
    default:
        break;
    }
}

void crossing_parts_move(crossing_parts *all, double by)
{
    for (uint32_t i = 0; i < all->count; i++)
        for (int k = 0; k < 3; k++) {
            crossing_part *p = &all->data[i];
            p->low[k] += by * WAY[k], p->high[k] += by * WAY[k];
            for (int c = 0; c < 3; c++)
                p->corner[c][k] += by * WAY[k];
        }
}

/* ---- pairs ---- */

static int by_low(const void *a, const void *b)
{
    const crossing_part *x = a, *y = b;
    if (x->low[0] < y->low[0] || x->low[0] > y->low[0])
        return x->low[0] < y->low[0] ? -1 : 1;
    return x->primitive < y->primitive ? -1 : x->primitive > y->primitive;
}

void crossing_parts_sort(crossing_parts *all)
{
    if (all->count > 0)
        qsort(all->data, all->count, sizeof *all->data, by_low);
}

static bool boxes_meet(const crossing_part *a, const crossing_part *b, double reach)
{
    bool meet = true;
    for (int k = 0; k < 3; k++)
        meet &= a->low[k] <= b->high[k] + reach && b->low[k] <= a->high[k] + reach;
    return meet;
}

/* Those of `all`, from `from` on, that begin before one ends. turned: it is the second of each pair. */
static bool meet_one(const crossing_part *one, const crossing_parts *all, uint32_t from, double reach,
                     bool turned, uint64_t *looks, crossing_pair *with, void *of)
{
    for (uint32_t i = from; i < all->count && all->data[i].low[0] <= one->high[0] + reach; i++) {
        const crossing_part *other = &all->data[i];
        if (*looks == 0)
            return false;
        --*looks;
        if (boxes_meet(one, other, reach) && !with(of, turned ? other : one, turned ? one : other))
            return false;
    }
    return true;
}

void crossing_parts_meet(const crossing_parts *a, const crossing_parts *b, double reach, uint64_t *looks,
                         crossing_pair *with, void *of)
{
    bool on = true;
    for (uint32_t i = 0, j = 0; on && (i < a->count || j < b->count);)
        if (j == b->count || (i < a->count && a->data[i].low[0] <= b->data[j].low[0]))
            on = meet_one(&a->data[i], b, j, reach, false, looks, with, of), i++;
        else
            on = meet_one(&b->data[j], a, i, reach, true, looks, with, of), j++;
}

/* Up to rounding: corners are sums of a vertex and an edge. */
static bool share_vertex(const crossing_part *a, const crossing_part *b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            bool same = true;
            for (int k = 0; k < 3; k++)
                same &= fabs(a->corner[i][k] - b->corner[j][k]) <= ROUNDING * (1 + fabs(a->corner[i][k]));
            if (same)
                return true;
        }
    return false;
}

void crossing_parts_meet_themselves(const crossing_parts *all, uint64_t *looks, crossing_pair *with, void *of)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const crossing_part *a = &all->data[i], *b = a + 1, *end = all->data + all->count;
        for (; b < end && b->low[0] <= a->high[0] && *looks > 0; b++, --*looks)
            if (boxes_meet(a, b, 0) && !share_vertex(a, b) && !with(of, a, b))
                return;
    }
}

/* ---- two triangles ---- */

/* A unit vector at a right angle to a triangle; false: it has no area. */
static bool normal_of(const crossing_part *a, double out[3])
{
    double e1[3], e2[3];
    subtract(a->corner[1], a->corner[0], e1), subtract(a->corner[2], a->corner[0], e2);
    cross3(e1, e2, out);
    return normalize(out, 0);
}

/* Where, along a line, the triangle a meets the plane of b that has the normal n. False: it does not go
 * through that plane. */
static bool stretch_in_plane(const crossing_part *a, const crossing_part *b, const double *n,
                             const double *line, double stretch[2])
{
    double above[3], to[3], low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 3; k++) {
        subtract(a->corner[k], b->corner[0], to);
        above[k] = dot3(to, n), low = fmin(low, above[k]), high = fmax(high, above[k]);
    }
    if (!(low < 0 && high > 0))
        return false;
    stretch[0] = INFINITY, stretch[1] = -INFINITY;
    for (int k = 0; k < 3; k++) {
        const double from = above[k], end = above[(k + 1) % 3];
        if ((from < 0) == (end < 0))
            continue;
        const double start = dot3(a->corner[k], line), stop = dot3(a->corner[(k + 1) % 3], line),
                     at = start + (stop - start) * from / (from - end);
        stretch[0] = fmin(stretch[0], at), stretch[1] = fmax(stretch[1], at);
    }
    return true;
}

static double length_of_triangles(const crossing_part *a, const crossing_part *b)
{
    double own[3], other[3], line[3], s[2], t[2];
    if (!normal_of(a, own) || !normal_of(b, other))
        return 0;
    cross3(own, other, line);
    if (!normalize(line, 1e-6)) /* they are parallel */
        return 0;
    if (!stretch_in_plane(a, b, other, line, s) || !stretch_in_plane(b, a, own, line, t))
        return 0;
    return fmax(0, fmin(s[1], t[1]) - fmax(s[0], t[0]));
}

/* ---- balls ---- */

/* Whether a point of the triangle's plane lies within it. */
static bool lies_within(const double *p, const crossing_part *b, const double *n)
{
    double e[3], to[3], out[3], sign[3];
    for (int k = 0; k < 3; k++) {
        subtract(b->corner[(k + 1) % 3], b->corner[k], e), subtract(p, b->corner[k], to);
        cross3(e, to, out), sign[k] = dot3(out, n);
    }
    return sign[0] >= 0 && sign[1] >= 0 && sign[2] >= 0;
}

/* Of the circle in which a ball meets a plane. */
static double length_on_triangle(const crossing_part *ball, const crossing_part *b)
{
    double n[3], to[3], s[3], t[3], p[3];
    if (!normal_of(b, n))
        return 0;
    subtract(ball->corner[0], b->corner[0], to);
    const double above = dot3(to, n), square = ball->radius * ball->radius - above * above;
    if (!(square > 0))
        return 0;
    axes_around(n, s, t);
    int within = 0;
    for (int i = 0; i < PLACES; i++) {
        const double angle = 2 * pi * (i + 0.5) / PLACES, x = cos(angle) * sqrt(square),
                     y = sin(angle) * sqrt(square);
        for (int k = 0; k < 3; k++)
            p[k] = ball->corner[0][k] - above * n[k] + x * s[k] + y * t[k];
        within += lies_within(p, b, n);
    }
    return 2 * pi * sqrt(square) * within / PLACES;
}

static double length_of_balls(const crossing_part *a, const crossing_part *b)
{
    double to[3];
    subtract(a->corner[0], b->corner[0], to);
    const double apart = sqrt(dot3(to, to)), r = a->radius,
                 middle = (apart * apart + r * r - b->radius * b->radius) / (2 * apart);
    return apart > 0 && fabs(middle) < r ? 2 * pi * sqrt(r * r - middle * middle) : 0;
}

double crossing_length(const crossing_part *a, const crossing_part *b)
{
    if (a->radius > 0 && b->radius > 0)
        return length_of_balls(a, b);
    return a->radius > 0   ? length_on_triangle(a, b)
           : b->radius > 0 ? length_on_triangle(b, a)
                           : length_of_triangles(a, b);
}
