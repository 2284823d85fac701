/* SPDX-License-Identifier: BSD-3-Clause
 * Seams: borders of meshes that coincide, as those of two walls in a corner. There the surface does not end:
 * the other mesh goes on. So both borders become edges between two faces, one of each mesh, and each counts
 * half of what jumps, because both are sampled (silhouette_mesh.c).
 *
 * Two borders are one seam if their ends lie at the same places. to_world rounds, so places count as the same
 * within a distance that is small beside that at which rays pass an edge. Borders with other ends, three at
 * one place, and those of faces that lie on each other stay borders. */
#include "render/plan_internal.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Within it places are the same, over 1 + the largest coordinate. */
static const float TOLERANCE = RAY_EPSILON / 16;

/* ---- places ---- */

typedef struct places {
    ARRAY(const float *) all;
    uint32_t *slots, count; /* numbers of places, by the hash of a cube around each; a power of two */
} places;

static float tolerance_at(const float *p)
{
    return TOLERANCE * (1 + fmaxf(fabsf(p[0]), fmaxf(fabsf(p[1]), fabsf(p[2]))));
}

/* The slot at which the search begins for places in the cube of a point. Cubes are as wide as two tolerances
 * of points with this binary exponent. */
static uint32_t slot_of(const places *s, int exponent, const double *p)
{
    double cube = ldexp(4 * (double)TOLERANCE, exponent);
    uint32_t h = 2166136261u ^ (uint32_t)exponent;
    for (int k = 0; k < 3; k++) {
        uint64_t number = (uint64_t)(int64_t)floor(p[k] / cube);
        h = (h ^ (uint32_t)number ^ (uint32_t)(number >> 32)) * 16777619u, h ^= h >> 15;
    }
    return h & (s->count - 1);
}

static bool together(const float *a, const float *b)
{
    double square = 0, most = (double)tolerance_at(a);
    for (int k = 0; k < 3; k++) {
        double d = (double)a[k] - (double)b[k];
        square += d * d;
    }
    return square <= most * most;
}

/* A place together with p, in the cube of the point `near` p. PLAN_NONE: none. */
static uint32_t look_up(const places *s, const float *p, int exponent, const double *near)
{
    uint32_t at = slot_of(s, exponent, near);
    for (; s->slots[at] != PLAN_NONE; at = (at + 1) & (s->count - 1))
        if (together(p, s->all.data[s->slots[at]]))
            return s->slots[at];
    return PLAN_NONE;
}

/* The number of p's place, a new one if there is none yet. */
static uint32_t place_of(places *s, const float *p)
{
    double reach = (double)tolerance_at(p), largest = reach / (double)TOLERANCE, own[3];
    int least = ilogb(largest - reach), most = ilogb(largest + reach);
    uint32_t found = PLAN_NONE;
    for (int exponent = least; exponent <= most; exponent++)
        for (int corner = 0; corner < 8 && found == PLAN_NONE; corner++) {
            for (int k = 0; k < 3; k++)
                own[k] = (double)p[k] + (corner >> k & 1 ? reach : -reach);
            found = look_up(s, p, exponent, own);
        }
    if (found != PLAN_NONE)
        return found;
    for (int k = 0; k < 3; k++)
        own[k] = (double)p[k];
    uint32_t at = slot_of(s, ilogb(largest), own);
    while (s->slots[at] != PLAN_NONE)
        at = (at + 1) & (s->count - 1);
    s->slots[at] = s->all.count;
    array_push(&s->all, p);
    return s->slots[at];
}

/* ---- borders ---- */

typedef struct border {
    uint32_t group, place[2]; /* of its ends, the lesser first */
    uint32_t shape, piece;
    bool turned; /* EDGE_FROM is at the greater place */
} border;
typedef ARRAY(border) borders;

/* Where borders are looked for. */
typedef struct bordered {
    const render_scene *scene;
    silhouette_words words;
    const silhouette_pieces *of; /* of each shape */
} bordered;

static const float *end_of(const bordered *x, const border *b, enum edge_word which)
{
    const uint32_t *mesh = x->words.base + x->words.geometry + x->scene->shapes.data[b->shape].data,
                   *piece = x->of[b->shape].all.data[b->piece].words;
    return (const float *)(const void *)(x->words.base + mesh[MESH_POSITIONS] + 3 * (size_t)piece[which]);
}

static void list_borders(const bordered *x, borders *out)
{
    const silhouette_pieces *of = x->of;
    for (uint32_t i = 0; i < x->scene->shapes.count; i++) {
        const render_shape *shape = &x->scene->shapes.data[i];
        for (uint32_t k = 0; k < of[i].all.count && shape->kind == SHAPE_TRIANGLES; k++)
            if (of[i].all.data[k].words[EDGE_OTHER] == PLAN_NONE)
                array_push(out, ((border){.group = shape->group, .shape = i, .piece = k}));
    }
}

static void find_places(const bordered *x, borders *all)
{
    places s = {.count = 4};
    while (s.count < 4 * (uint64_t)all->count)
        s.count *= 2;
    s.slots = memory_need(s.count * sizeof *s.slots);
    memset(s.slots, 0xFF, s.count * sizeof *s.slots);
    for (uint32_t i = 0; i < all->count; i++) {
        border *b = &all->data[i];
        uint32_t from = place_of(&s, end_of(x, b, EDGE_FROM)), to = place_of(&s, end_of(x, b, EDGE_TO));
        b->turned = from > to;
        b->place[0] = b->turned ? to : from, b->place[1] = b->turned ? from : to;
    }
    memory_free(s.slots);
    array_free(&s.all);
}

static bool one_place(const border *a, const border *b)
{
    return a->group == b->group && a->place[0] == b->place[0] && a->place[1] == b->place[1];
}

static int by_place(const void *a, const void *b)
{
    const border *x = a, *y = b;
    const uint32_t left[] = {x->group, x->place[0], x->place[1], x->shape, x->piece},
                   right[] = {y->group, y->place[0], y->place[1], y->shape, y->piece};
    for (int k = 0; k < 5; k++)
        if (left[k] != right[k])
            return left[k] < right[k] ? -1 : 1;
    return 0;
}

/* ---- seams ---- */

/* Whether the faces at two borders lie on each other: then one hides the other. */
static bool on_each_other(const bordered *x, const border *a, const border *b)
{
    const border *at[2] = {a, b};
    double into[2][3] = {{0}}, cosine = 0;
    for (int i = 0; i < 2; i++)
        silhouette_into_face(end_of(x, at[i], EDGE_FROM), end_of(x, at[i], EDGE_TO),
                             end_of(x, at[i], EDGE_OPPOSITE), into[i]);
    for (int k = 0; k < 3; k++)
        cosine += into[0][k] * into[1][k];
    return cosine > 1 - 1e-6;
}

/* Lists the borders that are seams: two in a row are one. */
static void find_seams(const bordered *x, borders *out)
{
    borders all = {0};
    list_borders(x, &all);
    find_places(x, &all);
    if (all.count > 0)
        qsort(all.data, all.count, sizeof *all.data, by_place);
    for (uint32_t i = 0, next; i < all.count; i = next) {
        const border *a = &all.data[i];
        for (next = i + 1; next < all.count && one_place(&all.data[next], a);)
            next++;
        if (next == i + 2 && a->place[0] != a->place[1] && !on_each_other(x, a, a + 1)) {
            array_push(out, *a);
            array_push(out, a[1]);
        }
    }
    array_free(&all);
}

/* Makes of the border `own` an edge whose second face is that of `other`, `face`. */
static void join(plan *p, const bordered *x, silhouette_piece *piece, const border *own, const border *other,
                 uint32_t face)
{
    const uint32_t *there = x->of[other->shape].all.data[other->piece].words;
    bool turned = own->turned != other->turned;
    float within = 4 * fmaxf(tolerance_at(end_of(x, own, EDGE_FROM)), tolerance_at(end_of(x, own, EDGE_TO)));
    const uint32_t words[SEAM_WORDS] = {
        [SEAM_SHAPE] = p->words.data[HEADER_SHAPES] + other->shape * SHAPE_WORDS,
        [SEAM_FROM] = there[turned ? EDGE_TO : EDGE_FROM],
        [SEAM_TO] = there[turned ? EDGE_FROM : EDGE_TO],
        [SEAM_OPPOSITE] = there[EDGE_OPPOSITE],
        [SEAM_FACE] = face ^ turned,
        [SEAM_TOLERANCE] = float_word(within),
    };
    piece->words[EDGE_OTHER] = EDGE_SEAM, piece->words[EDGE_FACE_TWO] = p->words.count;
    piece->weight /= 2, piece->crease = 1;
    plan_append(p, words, SEAM_WORDS);
}

void silhouette_join_seams(plan *p, silhouette_pieces *of)
{
    borders seams = {0};
    find_seams(&(bordered){p->scene, {p->words.data, p->geometry}, of}, &seams);
    for (uint32_t i = 0; i < seams.count; i += 2) {
        const border *both = &seams.data[i];
        silhouette_piece *piece[2];
        for (int k = 0; k < 2; k++)
            piece[k] = &of[both[k].shape].all.data[both[k].piece];
        const uint32_t face[2] = {piece[0]->words[EDGE_FACE_ONE], piece[1]->words[EDGE_FACE_ONE]};
        for (int k = 0; k < 2; k++) {
            bordered x = {p->scene, {p->words.data, p->geometry}, of}; /* words move as they grow */
            join(p, &x, piece[k], &both[k], &both[1 - k], face[1 - k]);
        }
        p->edge_seams = true;
    }
    array_free(&seams);
}

/* ---- meshes that may have one ---- */

/* The box of a mesh, with the distance within which places are the same. */
typedef struct mesh_box {
    uint32_t group, shape;
    float low[3], high[3];
} mesh_box;

static mesh_box box_of(const bordered *x, uint32_t index)
{
    const render_shape *shape = &x->scene->shapes.data[index];
    const uint32_t *mesh = x->words.base + x->words.geometry + shape->data;
    const float *at = (const float *)(const void *)(x->words.base + mesh[MESH_POSITIONS]);
    mesh_box box = {shape->group, index, {INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (uint32_t i = 0; i < shape->vertex_count; i++) {
        float around = tolerance_at(at + 3 * (size_t)i);
        for (int k = 0; k < 3; k++) {
            box.low[k] = fminf(box.low[k], at[3 * (size_t)i + (size_t)k] - around);
            box.high[k] = fmaxf(box.high[k], at[3 * (size_t)i + (size_t)k] + around);
        }
    }
    return box;
}

static int by_low(const void *a, const void *b)
{
    const mesh_box *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->low[0] < y->low[0] ? -1 : x->low[0] > y->low[0];
}

/* Sets meets[i] where the box of mesh i meets another's. Others have no seam, and finding edges takes time.
 */
static void find_neighbours(const bordered *x, bool *meets)
{
    enum { FACES_MOST = 1024 /* finding the borders of larger meshes takes time */ };
    ARRAY(mesh_box) all = {0};
    for (uint32_t i = 0; i < x->scene->shapes.count; i++) {
        const render_shape *shape = &x->scene->shapes.data[i];
        if (shape->kind == SHAPE_TRIANGLES && shape->bsdf && shape->primitive_count <= FACES_MOST)
            array_push(&all, box_of(x, i));
    }
    if (all.count > 0)
        qsort(all.data, all.count, sizeof *all.data, by_low);
    for (uint32_t i = 0; i < all.count; i++)
        for (uint32_t j = i + 1; j < all.count; j++) {
            const mesh_box *a = &all.data[i], *b = &all.data[j];
            if (b->group != a->group || b->low[0] > a->high[0])
                break;
            if (b->low[1] <= a->high[1] && a->low[1] <= b->high[1] && b->low[2] <= a->high[2] &&
                a->low[2] <= b->high[2])
                meets[a->shape] = meets[b->shape] = true;
        }
    array_free(&all);
}

void silhouette_have_seams(const render_scene *s, bool *has)
{
    borders seams = {0};
    silhouette_pieces *of = memory_need_zeroed(s->shapes.count + 1, sizeof *of);
    bool *meets = memory_need_zeroed(s->shapes.count + 1, sizeof *meets);
    bordered x = {s, {s->geometry.data, 0}, of};
    find_neighbours(&x, meets);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (meets[i])
            silhouette_find_edges(&x.words, &s->shapes.data[i], false, &of[i]);
    find_seams(&x, &seams);
    for (uint32_t i = 0; i < seams.count; i++)
        has[seams.data[i].shape] |= seams.data[i].shape != seams.data[i ^ 1].shape;
    for (uint32_t i = 0; i < s->shapes.count; i++)
        array_free(&of[i].all);
    memory_free(meets);
    memory_free(of);
    array_free(&seams);
}

/* ---- between instances ---- */

/* A border as it stands in the world. The ends are in the order of their first coordinates that differ. */
typedef struct placed_border {
    uint32_t instance, shape;
    float end[2][3];
} placed_border;
typedef ARRAY(placed_border) placed_borders;

static int by_coordinates(const float *a, const float *b)
{
    for (int k = 0; k < 3; k++)
        if (a[k] < b[k] || a[k] > b[k])
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

static int by_first_end(const void *a, const void *b)
{
    const placed_border *x = a, *y = b;
    return by_coordinates(x->end[0], y->end[0]);
}

/* Lists what borders of a mesh an instance of its group shows. */
static void place_borders(const bordered *x, uint32_t index, uint32_t instance, placed_borders *out)
{
    const float *m = x->scene->instances.data[instance].to_world;
    for (uint32_t i = 0; i < x->of[index].all.count; i++) {
        if (x->of[index].all.data[i].words[EDGE_OTHER] != PLAN_NONE)
            continue;
        const border own = {.shape = index, .piece = i};
        placed_border b = {.instance = instance, .shape = index};
        for (int e = 0; e < 2; e++) {
            const float *p = end_of(x, &own, e ? EDGE_TO : EDGE_FROM);
            for (int k = 0; k < 3; k++)
                b.end[e][k] = m[4 * k] * p[0] + m[4 * k + 1] * p[1] + m[4 * k + 2] * p[2] + m[4 * k + 3];
        }
        if (by_coordinates(b.end[1], b.end[0]) < 0) {
            const placed_border turned = b;
            memcpy(b.end[0], turned.end[1], sizeof b.end[0]),
                memcpy(b.end[1], turned.end[0], sizeof b.end[1]);
        }
        array_push(out, b);
    }
}

/* Whether both have the same ends; their order may differ where it was decided by rounding. */
static bool coincide(const placed_border *a, const placed_border *b)
{
    return (together(a->end[0], b->end[0]) && together(a->end[1], b->end[1])) ||
           (together(a->end[0], b->end[1]) && together(a->end[1], b->end[0]));
}

void silhouette_have_instance_seams(const render_scene *s, bool *instances, bool *shapes)
{
    enum { FACES_MOST = 1024, BORDERS_MOST = 1 << 14 };
    silhouette_pieces *of = memory_need_zeroed(s->shapes.count + 1, sizeof *of);
    const bordered x = {s, {s->geometry.data, 0}, of};
    placed_borders all = {0};
    for (uint32_t i = 0; i < s->shapes.count && s->has_groups; i++) {
        const render_shape *shape = &s->shapes.data[i];
        if (shape->kind != SHAPE_TRIANGLES || !shape->bsdf || shape->primitive_count > FACES_MOST)
            continue;
        silhouette_find_edges(&x.words, shape, false, &of[i]);
        for (uint32_t k = 0; k < s->instances.count && all.count < BORDERS_MOST; k++)
            if (s->instances.data[k].group == shape->group)
                place_borders(&x, i, k, &all);
    }
    if (all.count > 0)
        qsort(all.data, all.count, sizeof *all.data, by_first_end);
    for (uint32_t i = 0; i < all.count; i++)
        for (uint32_t j = i + 1; j < all.count; j++) {
            const placed_border *a = &all.data[i], *b = &all.data[j];
            if (b->end[0][0] > a->end[0][0] + 2 * tolerance_at(a->end[0]))
                break;
            if (a->instance == b->instance || !coincide(a, b))
                continue;
            instances[a->instance] = instances[b->instance] = true;
            shapes[a->shape] |= !s->instances.data[a->instance].object;
            shapes[b->shape] |= !s->instances.data[b->instance].object;
        }
    for (uint32_t i = 0; i < s->shapes.count; i++)
        array_free(&of[i].all);
    memory_free(of);
    array_free(&all);
}
