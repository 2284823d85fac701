/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes that go through each other, as a ball half sunk into the floor. What is seen jumps along the curve
 * in which they meet, and that is the silhouette of neither, so it is not sampled (docs/theory/edges.md).
 * Whoever asks for gradients is told.
 *
 * Meshes are compared triangle by triangle, spheres as they are, disks and cylinders as triangles inscribed
 * in them; curves, grids and ellipsoids are not. Shapes that only touch do not go through each other: so two
 * shapes must do so where one is moved a little one way, and where it is moved the other way. That also finds
 * a ball whose equator is a row of edges that lie in the floor. */
#include "render/scene_internal.h"
#include "render/shape/silhouette.h"

#include <math.h>
#include <string.h>

/* How far a shape is moved, over 1 + the largest coordinate: at an angle to walls and floors. */
static const double TOUCH = 1e-4, WAY[3] = {1, 0.83, 1.19};
enum {
    TESTS_MOST = 1 << 23, /* pairs of boxes that are compared in all; no more crossings are found then */
    SIDES = 24            /* of the polygon in place of a circle */
};

/* A triangle, or a ball around corner[0]. */
typedef struct part {
    double corner[3][3], radius; /* radius: 0, of a triangle */
    double low[3], high[3];
} part;
typedef ARRAY(part) parts;

static double entry_number(const render_primitive *p, uint32_t word)
{
    float v;
    memcpy(&v, p->entry + word, sizeof v);
    return (double)v;
}

/* ---- vectors ---- */

static void subtract(const double *a, const double *b, double *out)
{
    for (int k = 0; k < 3; k++)
        out[k] = a[k] - b[k];
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double *a, const double *b, double *out)
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static double distance(const double *a, const double *b)
{
    double d[3];
    subtract(a, b, d);
    return sqrt(dot(d, d));
}

/* ---- parts ---- */

static void add_part(parts *out, part p)
{
    for (int k = 0; k < 3; k++) {
        p.low[k] = p.corner[0][k] - p.radius, p.high[k] = p.corner[0][k] + p.radius;
        for (int c = 1; c < 3 && !(p.radius > 0); c++)
            p.low[k] = fmin(p.low[k], p.corner[c][k]), p.high[k] = fmax(p.high[k], p.corner[c][k]);
    }
    array_push(out, p);
}

static void add_triangle(parts *out, const double *a, const double *b, const double *c)
{
    part p = {.radius = 0};
    memcpy(p.corner[0], a, sizeof p.corner[0]), memcpy(p.corner[1], b, sizeof p.corner[1]);
    memcpy(p.corner[2], c, sizeof p.corner[2]);
    add_part(out, p);
}

/* Around a centre, by two axes: triangles to the centre, or, along a third axis, a tube. */
static void add_circle(parts *out, const double *centre, const double *s, const double *t, const double *tube)
{
    double rim[2][3], beyond[2][3];
    for (int i = 0; i <= SIDES; i++) {
        const double angle = 2 * 3.14159265358979323846 * i / SIDES;
        double *at = rim[i % 2], *far = beyond[i % 2];
        for (int k = 0; k < 3; k++) {
            at[k] = centre[k] + cos(angle) * s[k] + sin(angle) * t[k];
            far[k] = at[k] + (tube ? tube[k] : 0);
        }
        if (i == 0)
            continue;
        add_triangle(out, rim[0], rim[1], tube ? beyond[0] : centre);
        if (tube)
            add_triangle(out, beyond[0], beyond[1], rim[1]);
    }
}

static void add_cylinder(parts *out, const double *base, const double *axis, double radius)
{
    double s[3], t[3], other[3] = {0};
    other[fabs(axis[0]) < fabs(axis[1]) ? 0 : 1] = 1;
    cross(axis, other, s), cross(axis, s, t);
    const double by[2] = {radius / sqrt(dot(s, s)), radius / sqrt(dot(t, t))};
    for (int k = 0; k < 3; k++)
        s[k] *= by[0], t[k] *= by[1];
    add_circle(out, base, s, t, axis);
}

static void add_parts(const render_primitive *p, parts *out)
{
    double n[9];
    for (uint32_t k = 0; k < 9; k++)
        n[k] = entry_number(p, k);
    switch (p->entry[BVH_ENTRY_KIND]) {
    case SHAPE_TRIANGLES:
        add_triangle(out, n, (double[]){n[0] + n[3], n[1] + n[4], n[2] + n[5]},
                     (double[]){n[0] + n[6], n[1] + n[7], n[2] + n[8]});
        break;
    case SHAPE_SPHERE:
        add_part(out, (part){.corner = {{n[0], n[1], n[2]}}, .radius = n[3]});
        break;
    case SHAPE_DISK:
        add_circle(out, n, n + 3, n + 6, NULL);
        break;
    case SHAPE_CYLINDER:
        add_cylinder(out, n, n + 3, n[6]);
        break;
    default:
        break;
    }
}

/* ---- two parts ---- */

/* Whether a point of the triangle's plane lies within it. */
static bool lies_within(const double *p, const part *b, const double *n)
{
    double e[3], to[3], out[3], sign[3];
    for (int k = 0; k < 3; k++) {
        subtract(b->corner[(k + 1) % 3], b->corner[k], e), subtract(p, b->corner[k], to);
        cross(e, to, out), sign[k] = dot(out, n);
    }
    return sign[0] >= 0 && sign[1] >= 0 && sign[2] >= 0;
}

/* A unit vector at a right angle to a triangle; false: it has no area. */
static bool normal_of(const part *a, double out[3])
{
    double e1[3], e2[3];
    subtract(a->corner[1], a->corner[0], e1), subtract(a->corner[2], a->corner[0], e2);
    cross(e1, e2, out);
    const double area = sqrt(dot(out, out));
    for (int k = 0; k < 3 && area > 0; k++)
        out[k] /= area;
    return area > 0;
}

/* Where, along a line, the triangle a meets the plane of b that has the normal n. False: it does not go
 * through that plane. */
static bool stretch_in_plane(const part *a, const part *b, const double *n, const double *line,
                             double stretch[2])
{
    double above[3], to[3], low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 3; k++) {
        subtract(a->corner[k], b->corner[0], to);
        above[k] = dot(to, n), low = fmin(low, above[k]), high = fmax(high, above[k]);
    }
    if (!(low < 0 && high > 0))
        return false;
    stretch[0] = INFINITY, stretch[1] = -INFINITY;
    for (int k = 0; k < 3; k++) {
        const double from = above[k], end = above[(k + 1) % 3];
        if ((from < 0) == (end < 0))
            continue;
        const double start = dot(a->corner[k], line), stop = dot(a->corner[(k + 1) % 3], line),
                     at = start + (stop - start) * from / (from - end);
        stretch[0] = fmin(stretch[0], at), stretch[1] = fmax(stretch[1], at);
    }
    return true;
}

/* Both have a stretch on the line in which their planes meet, and these overlap (Moeller 1997). */
static bool triangles_cross(const part *a, const part *b)
{
    double own[3], other[3], line[3], s[2], t[2];
    if (!normal_of(a, own) || !normal_of(b, other))
        return false;
    cross(own, other, line);
    const double length = sqrt(dot(line, line));
    if (!(length > 1e-6)) /* they are parallel */
        return false;
    for (int k = 0; k < 3; k++)
        line[k] /= length;
    return stretch_in_plane(a, b, other, line, s) && stretch_in_plane(b, a, own, line, t) &&
           fmin(s[1], t[1]) > fmax(s[0], t[0]);
}

static double distance_to_edge(const double *p, const double *from, const double *to)
{
    double e[3], d[3], at[3];
    subtract(to, from, e), subtract(p, from, d);
    const double square = dot(e, e), share = square > 0 ? fmin(1, fmax(0, dot(d, e) / square)) : 0;
    for (int k = 0; k < 3; k++)
        at[k] = from[k] + share * e[k];
    return distance(p, at);
}

static bool ball_crosses(const part *ball, const part *b)
{
    const double *c = ball->corner[0];
    double nearest = INFINITY, farthest = 0, n[3], to[3], foot[3];
    for (int k = 0; k < 3; k++) {
        nearest = fmin(nearest, distance_to_edge(c, b->corner[k], b->corner[(k + 1) % 3]));
        farthest = fmax(farthest, distance(c, b->corner[k]));
    }
    if (!normal_of(b, n))
        return false;
    subtract(c, b->corner[0], to);
    const double above = dot(to, n);
    for (int k = 0; k < 3; k++)
        foot[k] = c[k] - above * n[k];
    if (lies_within(foot, b, n))
        nearest = fabs(above);
    return nearest < ball->radius && farthest > ball->radius;
}

static bool parts_cross(const part *a, const part *b)
{
    if (a->radius > 0 && b->radius > 0) {
        const double apart = distance(a->corner[0], b->corner[0]);
        return apart < a->radius + b->radius && apart > fabs(a->radius - b->radius);
    }
    return a->radius > 0 ? ball_crosses(a, b) : b->radius > 0 ? ball_crosses(b, a) : triangles_cross(a, b);
}

/* ---- shapes ---- */

static bool boxes_meet(const double *low, const double *high, const double *other_low,
                       const double *other_high)
{
    bool meet = true;
    for (int k = 0; k < 3; k++)
        meet &= low[k] <= other_high[k] && other_low[k] <= high[k];
    return meet;
}

/* With room for what is moved: `little` and more. */
typedef struct shape_box {
    uint32_t shape;
    double low[3], high[3], little;
} shape_box;

static double little_of(const shape_box *box)
{
    double most = 0;
    for (int k = 0; k < 3; k++)
        most = fmax(most, fmax(fabs(box->low[k]), fabs(box->high[k])));
    return TOUCH * (1 + most);
}

static shape_box box_of(const render_scene *s, uint32_t index)
{
    const render_shape *shape = &s->shapes.data[index];
    shape_box box = {index, {INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0};
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        const float *b = s->primitives.data[shape->first_entry_primitive + i].bounds;
        for (int k = 0; k < 3; k++)
            box.low[k] = fmin(box.low[k], (double)b[k]), box.high[k] = fmax(box.high[k], (double)b[3 + k]);
    }
    box.little = little_of(&box);
    for (int k = 0; k < 3; k++)
        box.low[k] -= 2 * box.little, box.high[k] += 2 * box.little;
    return box;
}

/* The parts of a shape that lie near another one. */
static void list_near(const render_scene *s, const shape_box *own, const shape_box *other, parts *out)
{
    const render_shape *shape = &s->shapes.data[own->shape];
    out->count = 0;
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        const render_primitive *p = &s->primitives.data[shape->first_entry_primitive + i];
        double low[3], high[3];
        for (int k = 0; k < 3; k++)
            low[k] = (double)p->bounds[k], high[k] = (double)p->bounds[3 + k];
        if (boxes_meet(low, high, other->low, other->high))
            add_parts(p, out);
    }
}

static void move(parts *all, double by)
{
    for (uint32_t i = 0; i < all->count; i++)
        for (int k = 0; k < 3; k++) {
            part *p = &all->data[i];
            p->low[k] += by * WAY[k], p->high[k] += by * WAY[k];
            for (int c = 0; c < 3; c++)
                p->corner[c][k] += by * WAY[k];
        }
}

/* tests: so many have been made. */
static bool any_crosses(const parts *a, const parts *b, uint64_t *tests)
{
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count && *tests < TESTS_MOST; j++, ++*tests) {
            const part *x = &a->data[i], *y = &b->data[j];
            if (boxes_meet(x->low, x->high, y->low, y->high) && parts_cross(x, y))
                return true;
        }
    return false;
}

/* Where a stands, moved a little to either side. */
static bool cross_both_ways(parts *a, const parts *b, double little, uint64_t *tests)
{
    move(a, little);
    if (!any_crosses(a, b, tests))
        return false;
    move(a, -2 * little);
    return any_crosses(a, b, tests);
}

/* Whether what is seen may jump where the surface ends. */
static bool shows(const render_shape *shape)
{
    return shape->bsdf && !scene_is(shape->bsdf, &bsdf_null.base.plugin) && shape->primitive_count > 0;
}

void shapes_find_crossings(const render_scene *s, bool *has)
{
    ARRAY(shape_box) boxes = {0};
    parts near[2] = {0};
    uint64_t tests = 0;
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (shows(&s->shapes.data[i]))
            array_push(&boxes, box_of(s, i));
    for (uint32_t i = 0; i < boxes.count; i++)
        for (uint32_t j = i + 1; j < boxes.count && tests++ < TESTS_MOST; j++) {
            const shape_box *a = &boxes.data[i], *b = &boxes.data[j];
            bool group = s->shapes.data[a->shape].group == s->shapes.data[b->shape].group,
                 known = has[a->shape] && has[b->shape];
            if (!group || known || !boxes_meet(a->low, a->high, b->low, b->high))
                continue;
            list_near(s, a, b, &near[0]), list_near(s, b, a, &near[1]);
            tests += near[0].count + near[1].count;
            if (cross_both_ways(&near[0], &near[1], a->little, &tests))
                has[a->shape] = has[b->shape] = true;
        }
    for (int k = 0; k < 2; k++)
        array_free(&near[k]);
    array_free(&boxes);
}
