/* SPDX-License-Identifier: BSD-3-Clause
 * The edges of a mesh, and the curves on its faces along which interpolated normals turn away.
 *
 * Vertices at one place are one here, so a seam is no border (silhouette_seams.c: those of two meshes). Faces
 * without area do not count. An edge between two faces in one plane, which nothing can bend, is left out.
 * Where more than two faces meet, an edge counts as a border of the first.
 *
 * An edge weighs its length times the share of directions for which it lies on a silhouette: the angle by
 * which the surface bends, over pi; a curve where normals turn away weighs as its face is long, times the
 * angle between the normals. */
#include "base/vector.h"
#include "render/plan_internal.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
/* FLAT: angles below it, over pi, are the rounding of what is flat. BEND_LEAST: of edges whose faces may
 * bend. CREASE: of what jumps at a crease, beside a silhouette. */
static const double FLAT = 1e-4, BEND_LEAST = 0.02, CREASE = 0.5;
/* Where a mesh has been turned, a face that was a line is so high, at most, over the coordinates. */
static const double ROUNDING = 0x1p-21;

/* One face at an edge. place: of its two ends, the lesser first, equal for vertices at one place. */
typedef struct edge_use {
    uint32_t place[2], from, to, opposite, face, corner;
} edge_use;

typedef struct edge_mesh {
    const uint32_t *base, *words; /* all words, and the mesh's own */
    uint32_t vertices, first_primitive;
    bool bends; /* its vertices are parameters */
} edge_mesh;

/* ---- vertices at one place ---- */

static const float *position(const edge_mesh *m, uint32_t v)
{
    return (const float *)(const void *)(m->base + m->words[MESH_POSITIONS] + 3 * (size_t)v);
}

static bool same_place(const float *a, const float *b)
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static uint32_t hash_of(const float *x)
{
    uint32_t h = 2166136261u;
    for (int k = 0; k < 3; k++) {
        float v = x[k] + 0.0f; /* -0 and 0 are one place */
        uint32_t word;
        memcpy(&word, &v, sizeof word);
        h = (h ^ word) * 16777619u, h ^= h >> 15;
    }
    return h;
}

/* For each vertex the first one at its place. NULL: out of memory. */
static uint32_t *weld(const edge_mesh *m)
{
    uint32_t slots = 4;
    while (slots < 2 * (uint64_t)m->vertices)
        slots *= 2;
    uint32_t *table = memory_need(slots * sizeof *table),
             *first = memory_need((m->vertices + 1) * sizeof *first);
    memset(table, 0xFF, slots * sizeof *table);
    for (uint32_t v = 0; v < m->vertices; v++) {
        uint32_t at = hash_of(position(m, v)) & (slots - 1);
        while (table[at] != PLAN_NONE && !same_place(position(m, table[at]), position(m, v)))
            at = (at + 1) & (slots - 1);
        if (table[at] == PLAN_NONE)
            table[at] = v;
        first[v] = table[at];
    }
    memory_free(table);
    return first;
}

/* ---- edges ---- */

static int by_place(const void *a, const void *b)
{
    const edge_use *x = a, *y = b;
    for (int k = 0; k < 2; k++)
        if (x->place[k] != y->place[k])
            return x->place[k] < y->place[k] ? -1 : 1;
    return x->face < y->face ? -1 : x->face > y->face;
}

bool silhouette_into_face(const float *from, const float *to, const float *opposite, double out[3])
{
    double along[3], aside[3], rounding = 0;
    for (int k = 0; k < 3; k++) {
        along[k] = (double)to[k] - (double)from[k];
        aside[k] = (double)opposite[k] - (double)from[k];
        rounding = fmax(rounding, ROUNDING * fmax(fabs((double)from[k]), fabs((double)to[k])));
    }
    double share = dot3(aside, along) / dot3(along, along);
    for (int k = 0; k < 3; k++)
        out[k] = aside[k] - share * along[k];
    double length = sqrt(dot3(out, out));
    for (int k = 0; k < 3; k++)
        out[k] /= length;
    return length > rounding && isfinite(length);
}

static bool into_face(const edge_mesh *m, const edge_use *e, double out[3])
{
    return silhouette_into_face(position(m, e->from), position(m, e->to), position(m, e->opposite), out);
}

/* All faces at all edges, in order. Faces without area are left out: they hide nothing. */
static edge_use *uses_of(const edge_mesh *m, uint32_t *count)
{
    uint32_t faces = m->words[MESH_FACE_COUNT], n = 0, *place = weld(m);
    edge_use *uses = memory_need((3 * (size_t)faces + 1) * sizeof *uses);
    for (uint32_t face = 0; face < faces; face++) {
        const uint32_t *v = m->base + m->words[MESH_FACES] + 3 * (size_t)face;
        for (int k = 0; k < 3; k++) {
            uint32_t from = v[k], to = v[(k + 1) % 3];
            bool turned = place[from] > place[to];
            double across[3];
            uses[n] = (edge_use){{place[turned ? to : from], place[turned ? from : to]},
                                 turned ? to : from,
                                 turned ? from : to,
                                 v[(k + 2) % 3],
                                 face,
                                 (uint32_t)k};
            n += place[from] != place[to] && into_face(m, &uses[n], across);
        }
    }
    memory_free(place);
    qsort(uses, n, sizeof *uses, by_place);
    *count = n;
    return uses;
}

/* How far the surface bends at the edge between two faces, over pi. */
static double bend(const edge_mesh *m, const edge_use *a, const edge_use *b)
{
    double x[3], y[3];
    bool both = into_face(m, a, x) && into_face(m, b, y);
    BL_ASSERT(both, "faces without area are left out before");
    double turn = 1 - acos(fmin(fmax(dot3(x, y), -1), 1)) / pi;
    return turn < FLAT ? 0 : turn;
}

static uint32_t face_word(const edge_mesh *m, const edge_use *e)
{
    const uint32_t *v = m->base + m->words[MESH_FACES] + 3 * (size_t)e->face;
    return edge_face(m->first_primitive + e->face, e->corner, e->from != v[e->corner]);
}

/* b NULL: the edge is a border. */
static silhouette_piece describe(const edge_mesh *m, const edge_use *a, const edge_use *b)
{
    double turn = b ? bend(m, a, b) : 1, length = 0;
    if (b && m->bends)
        turn = fmax(turn, BEND_LEAST);
    const edge_use *other = b ? b : a;
    silhouette_piece e = {
        {a->from, a->to, a->opposite, b ? b->opposite : PLAN_NONE, face_word(m, a), face_word(m, other)},
        .crease = b ? CREASE * turn : 0};
    for (int k = 0; k < 3; k++) {
        double d = (double)position(m, a->to)[k] - (double)position(m, a->from)[k];
        length += d * d;
    }
    e.weight = sqrt(length) * (turn + e.crease);
    return e;
}

/* The largest angle between two of the normals at a face's vertices, over pi. */
static double spread(const edge_mesh *m, const uint32_t *v)
{
    const float *normals = (const float *)(const void *)(m->base + m->words[MESH_NORMALS]);
    double least = 1;
    for (int i = 0; i < 3; i++) {
        double a[3], b[3];
        for (int k = 0; k < 3; k++)
            a[k] = (double)normals[3 * (size_t)v[i] + (size_t)k],
            b[k] = (double)normals[3 * (size_t)v[(i + 1) % 3] + (size_t)k];
        least = fmin(least, dot3(a, b) / sqrt(dot3(a, a) * dot3(b, b)));
    }
    double most = acos(fmax(least, -1)) / pi;
    return most < FLAT ? 0 : most;
}

/* The curves along which interpolated normals turn away from the viewpoint, about as long as their faces. */
static void find_turns(edge_mesh *m, silhouette_pieces *out)
{
    for (uint32_t face = 0; face < m->words[MESH_FACE_COUNT]; face++) {
        const uint32_t *v = m->base + m->words[MESH_FACES] + 3 * (size_t)face;
        double along[3], to[3], share = fmax(spread(m, v), m->bends ? BEND_LEAST : 0);
        for (int k = 0; k < 3; k++)
            along[k] = (double)position(m, v[1])[k] - (double)position(m, v[0])[k],
            to[k] = (double)position(m, v[2])[k] - (double)position(m, v[0])[k];
        double square = dot3(along, along) * dot3(to, to) - dot3(along, to) * dot3(along, to);
        array_push(&out->all, ((silhouette_piece){{v[0], v[1], v[2], EDGE_TURNS,
                                                   edge_face(m->first_primitive + face, 0, false)},
                                                  .weight = share * pow(fmax(square, 0), 0.25),
                                                  .crease = 1}));
    }
}

void silhouette_find_edges(const silhouette_words *w, const render_shape *shape, bool bends,
                           silhouette_pieces *out)
{
    uint32_t n;
    edge_mesh m = {w->base, w->base + w->geometry + shape->data, shape->vertex_count,
                   shape->first_entry_primitive, bends};
    edge_use *uses = uses_of(&m, &n);
    for (uint32_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && memcmp(uses[next].place, uses[i].place, sizeof uses[i].place) == 0;)
            next++;
        array_push(&out->all, describe(&m, &uses[i], next == i + 2 ? &uses[i + 1] : NULL));
    }
    memory_free(uses);
    if (m.words[MESH_NORMALS] != PLAN_NONE)
        find_turns(&m, out);
}
