/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes that go through each other, as a ball half sunk into the floor. What is seen jumps along the curve
 * in which they meet, and that is the silhouette of neither. So a plan lists the pairs of triangles, disks,
 * spheres and cylinders that have a part of the curve, and it is sampled (silhouette_crossing.c). Of curves
 * and grids of distances it is not, and whoever asks for gradients is told where the boxes of their parts go
 * through another shape.
 *
 * Shapes that only touch do not go through each other: so two shapes must do so where one is moved a little
 * one way, and where it is moved the other way. That also finds a ball whose equator is a row of edges that
 * lie in the floor.
 *
 * When shapes move, other primitives meet. So pairs are listed, too, that come near each other. A mesh may go
 * through itself; of its own faces those pairs are listed that do. */
#include "render/scene_internal.h"
#include "render/shape/crossing_parts.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a shape is moved, over 1 + the largest coordinate. */
static const double TOUCH = 1e-5;
/* How near shapes touch, over that distance: as near as rays pass edges. */
static const double TOUCH_REACH = 10;
/* How near pairs come that are listed, over the size of the smaller shape; their weights, and at most so much
 * of the weights of those that cross. */
static const double NEAR = 0.25, NEAR_WEIGHT = 0.06, NEAR_SHARE = 0.25;
enum {
    NEAR_MOST = 1 << 15,      /* pairs of two shapes, where not all of them cross */
    CROSSINGS_MOST = 1 << 15, /* pairs of shapes */
    LOOKS_MOST = 1 << 27,     /* at pairs of shapes and of parts, in all; no more is found then */
    LOOKS_NEAR = 1 << 24      /* at those of two shapes, before less that is near is looked for */
};

/* With room for what is moved: `little` and more. */
typedef struct shape_box {
    uint32_t shape;
    double low[3], high[3], little, size;
} shape_box;
typedef ARRAY(shape_box) shape_boxes;

static shape_box box_of(const render_scene *s, uint32_t index)
{
    shape_box box = {.shape = index};
    float bounds[6];
    render_shape_bounds(s, &s->shapes.data[index], bounds);
    for (int k = 0; k < 3; k++)
        box.low[k] = (double)bounds[k], box.high[k] = (double)bounds[3 + k];
    double most = 0;
    for (int k = 0; k < 3; k++) {
        most = fmax(most, fmax(fabs(box.low[k]), fabs(box.high[k])));
        box.size = fmax(box.size, box.high[k] - box.low[k]);
    }
    box.little = TOUCH * (1 + most);
    for (int k = 0; k < 3; k++)
        box.low[k] -= 2 * box.little, box.high[k] += 2 * box.little;
    return box;
}

static bool boxes_meet(const double *low, const double *high, const shape_box *other, double reach)
{
    bool meet = true;
    for (int k = 0; k < 3; k++)
        meet &= low[k] <= other->high[k] + reach && other->low[k] <= high[k] + reach;
    return meet;
}

/* Whether what is seen may jump where the surface ends, and rays meet its parts. */
static bool shows(const render_shape *shape)
{
    return shape->bsdf && !scene_is(shape->bsdf, &bsdf_null.base.plugin) && shape->primitive_count > 0;
}

static void list_boxes(const render_scene *s, shape_boxes *out)
{
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (shows(&s->shapes.data[i]))
            array_push(out, box_of(s, i));
}

/* The parts of a shape that come near another one, sorted. */
static void list_near(const render_scene *s, const shape_box *own, const shape_box *other, double reach,
                      crossing_parts *out)
{
    const render_shape *shape = &s->shapes.data[own->shape];
    out->count = 0;
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        const float *b = s->primitives.data[shape->first_entry_primitive + i].bounds;
        const double low[3] = {(double)b[0], (double)b[1], (double)b[2]},
                     high[3] = {(double)b[3], (double)b[4], (double)b[5]};
        if (boxes_meet(low, high, other, reach))
            crossing_parts_add(s, shape->first_entry_primitive + i, out);
    }
    crossing_parts_sort(out);
}

/* ---- whether two shapes go through each other ---- */

/* looks: so many more are made. */
typedef struct search {
    const render_scene *scene;
    crossing_parts near[2];
    uint64_t looks;
    bool found;
} search;

static bool find_crossing(void *of, const crossing_part *a, const crossing_part *b)
{
    search *x = of;
    x->found = crossing_length(a, b) > 0;
    return !x->found;
}

static bool any_crosses(search *x)
{
    x->found = false;
    crossing_parts_meet(&x->near[0], &x->near[1], 0, &x->looks, find_crossing, x);
    return x->found;
}

/* Where a stands, moved a little to either side. */
static bool shapes_cross(search *x, const shape_box *a, const shape_box *b)
{
    list_near(x->scene, a, b, 0, &x->near[0]), list_near(x->scene, b, a, 0, &x->near[1]);
    crossing_parts_move(&x->near[0], a->little);
    if (!any_crosses(x))
        return false;
    crossing_parts_move(&x->near[0], -2 * a->little);
    return any_crosses(x);
}

static bool may_meet(search *x, const shape_box *a, const shape_box *b, double reach)
{
    const render_shape *shapes = x->scene->shapes.data;
    x->looks -= x->looks > 0;
    return x->looks > 0 && shapes[a->shape].group == shapes[b->shape].group &&
           boxes_meet(a->low, a->high, b, reach);
}

static void end(search *x, shape_boxes *boxes)
{
    for (int k = 0; k < 2; k++)
        array_free(&x->near[k]);
    array_free(boxes);
}

static bool is_left(enum shape_kind kind)
{
    return kind == SHAPE_LINEAR_CURVE || kind == SHAPE_BSPLINE || kind == SHAPE_SDF;
}

/* Ellipsoids let light through, mostly, and are not asked. */
static bool is_sampled(enum shape_kind kind) { return !is_left(kind) && kind != SHAPE_ELLIPSOID; }

void shapes_find_left_crossings(const render_scene *s, bool *has)
{
    shape_boxes boxes = {0};
    search x = {.scene = s, .looks = LOOKS_MOST};
    bool some = false;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++)
        some |= s->kind_used[k] && is_left(k);
    if (some)
        list_boxes(s, &boxes);
    for (uint32_t i = 0; i < boxes.count; i++)
        for (uint32_t j = i + 1; j < boxes.count; j++) {
            const shape_box *a = &boxes.data[i], *b = &boxes.data[j];
            const enum shape_kind kind[2] = {s->shapes.data[a->shape].kind, s->shapes.data[b->shape].kind};
            bool asked = (is_left(kind[0]) || is_left(kind[1])) && kind[0] != SHAPE_ELLIPSOID &&
                         kind[1] != SHAPE_ELLIPSOID,
                 known = has[a->shape] && has[b->shape];
            if (asked && !known && may_meet(&x, a, b, 0) && shapes_cross(&x, a, b))
                has[a->shape] = has[b->shape] = true;
        }
    end(&x, &boxes);
}

/* ---- what stands on what ---- */

static bool find_any(void *of, const crossing_part *a, const crossing_part *b)
{
    (void)a, (void)b;
    *(bool *)of = true;
    return false;
}

/* Whether parts of both come nearer to each other than rays tell. */
static bool shapes_touch(search *x, const shape_box *a, const shape_box *b)
{
    const double reach = TOUCH_REACH * fmax(a->little, b->little);
    bool touch = false;
    if (!may_meet(x, a, b, reach))
        return false;
    list_near(x->scene, a, b, reach, &x->near[0]), list_near(x->scene, b, a, reach, &x->near[1]);
    crossing_parts_meet(&x->near[0], &x->near[1], reach, &x->looks, find_any, &touch);
    return touch;
}

void shapes_find_touching(const render_scene *s, const bool *of, bool *touch)
{
    shape_boxes boxes = {0};
    search x = {.scene = s, .looks = LOOKS_MOST};
    list_boxes(s, &boxes);
    for (uint32_t i = 0; i < boxes.count; i++)
        for (uint32_t j = 0; j < boxes.count; j++) {
            const shape_box *a = &boxes.data[i], *b = &boxes.data[j];
            if (of[a->shape] && !of[b->shape] && !touch[b->shape])
                touch[b->shape] = shapes_touch(&x, a, b);
        }
    end(&x, &boxes);
}

/* ---- the pairs of primitives ---- */

/* A pair of primitives, and how long the curve is that they have in common. */
typedef struct primitive_pair {
    uint32_t primitive[2];
    double length;
} primitive_pair;
typedef ARRAY(primitive_pair) primitive_pairs;

static bool list_near_pair(void *of, const crossing_part *a, const crossing_part *b)
{
    primitive_pairs *x = of;
    array_push(x, ((primitive_pair){{a->primitive, b->primitive}, crossing_length(a, b)}));
    return x->count < NEAR_MOST;
}

static bool list_crossing_pair(void *of, const crossing_part *a, const crossing_part *b)
{
    primitive_pairs *x = of;
    const double length = crossing_length(a, b);
    if (length > 0)
        array_push(x, ((primitive_pair){{a->primitive, b->primitive}, length}));
    return true;
}

static int by_primitives(const void *a, const void *b)
{
    const primitive_pair *x = a, *y = b;
    for (int k = 0; k < 2; k++)
        if (x->primitive[k] != y->primitive[k])
            return x->primitive[k] < y->primitive[k] ? -1 : 1;
    return 0;
}

/* Makes one pair of all that have the same primitives, since a disk has several parts. */
static void merge(primitive_pairs *x)
{
    uint32_t count = 0;
    if (x->count > 0)
        qsort(x->data, x->count, sizeof *x->data, by_primitives);
    for (uint32_t i = 0; i < x->count; i++)
        if (count > 0 && by_primitives(&x->data[count - 1], &x->data[i]) == 0)
            x->data[count - 1].length += x->data[i].length;
        else
            x->data[count++] = x->data[i];
    x->count = count;
}

/* The pairs that cross or come near each other: as near as the most of pairs lets them. */
static void list_pairs(search *x, const shape_box *a, const shape_box *b, primitive_pairs *out)
{
    double reach = NEAR * fmin(a->size, b->size), least = reach / 1024;
    for (bool full = true; full; reach /= 2) {
        const bool near = reach > least;
        uint64_t some = LOOKS_NEAR, *looks = near ? &some : &x->looks;
        out->count = 0;
        list_near(x->scene, a, b, near ? reach : 0, &x->near[0]);
        list_near(x->scene, b, a, near ? reach : 0, &x->near[1]);
        crossing_parts_meet(&x->near[0], &x->near[1], near ? reach : 0, looks,
                            near ? list_near_pair : list_crossing_pair, out);
        full = near && (some == 0 || out->count >= NEAR_MOST);
    }
    merge(out);
}

/* The size of a primitive's box. */
static double size_of(const render_scene *s, uint32_t primitive)
{
    const float *b = s->primitives.data[primitive].bounds;
    return (double)fmaxf(b[3] - b[0], fmaxf(b[4] - b[1], b[5] - b[2]));
}

static double near_weight(const render_scene *s, const primitive_pair *pair)
{
    return NEAR_WEIGHT * fmin(size_of(s, pair->primitive[0]), size_of(s, pair->primitive[1]));
}

/* CROSSING_KINDS of the primitive at number k of a pair. */
static uint32_t kind_bits(const render_scene *s, uint32_t primitive, int k)
{
    const uint32_t kind = s->primitives.data[primitive].entry[BVH_ENTRY_KIND];
    return (kind == SHAPE_SPHERE     ? CROSSING_ROUND
            : kind == SHAPE_DISK     ? CROSSING_DISK
            : kind == SHAPE_CYLINDER ? CROSSING_TUBE
                                     : 0)
           << k;
}

static void add_crossing(const render_scene *s, uint32_t a, uint32_t b, const primitive_pairs *pairs,
                         shape_crossings *out)
{
    shape_crossing own = {.shape = {a, b}};
    double crossing = 0, near = 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        const primitive_pair *pair = &pairs->data[i];
        crossing += pair->length, near += pair->length > 0 ? 0 : near_weight(s, pair);
    }
    const double by = near > 0 ? fmin(1, NEAR_SHARE * crossing / near) : 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        const primitive_pair *pair = &pairs->data[i];
        const uint32_t *p = pair->primitive;
        silhouette_piece piece = {{[CROSSING_ONE] = p[0],
                                   [CROSSING_OTHER] = p[1],
                                   [CROSSING_KINDS] = kind_bits(s, p[0], 0) | kind_bits(s, p[1], 1)},
                                  .crease = 1};
        piece.weight = pair->length > 0 ? pair->length : by * near_weight(s, pair);
        array_push(&own.pieces.all, piece);
    }
    array_push(out, own);
}

/* The pairs of a mesh that goes through itself. */
static void list_own_pairs(search *x, uint32_t index, primitive_pairs *out)
{
    const render_shape *shape = &x->scene->shapes.data[index];
    crossing_parts *own = &x->near[0];
    own->count = out->count = 0;
    for (uint32_t i = 0; i < shape->primitive_count; i++)
        crossing_parts_add(x->scene, shape->first_entry_primitive + i, own);
    crossing_parts_sort(own);
    crossing_parts_meet_themselves(own, &x->looks, list_crossing_pair, out);
    merge(out);
}

void shapes_list_crossings(const render_scene *s, shape_crossings *out)
{
    shape_boxes boxes = {0};
    search x = {.scene = s, .looks = LOOKS_MOST};
    primitive_pairs pairs = {0};
    list_boxes(s, &boxes);
    for (uint32_t i = 0; i < boxes.count; i++)
        for (uint32_t j = i; j < boxes.count; j++) {
            const shape_box *a = &boxes.data[i], *b = &boxes.data[j];
            const enum shape_kind kind = s->shapes.data[a->shape].kind;
            pairs.count = 0;
            if (out->count == CROSSINGS_MOST)
                break;
            if (i == j && kind == SHAPE_TRIANGLES)
                list_own_pairs(&x, a->shape, &pairs);
            else if (i != j && is_sampled(kind) && is_sampled(s->shapes.data[b->shape].kind) &&
                     may_meet(&x, a, b, 0) && shapes_cross(&x, a, b))
                list_pairs(&x, a, b, &pairs);
            if (pairs.count > 0)
                add_crossing(s, a->shape, b->shape, &pairs, out);
        }
    array_free(&pairs);
    end(&x, &boxes);
}
