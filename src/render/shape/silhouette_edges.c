/* SPDX-License-Identifier: BSD-3-Clause
 * The edges of meshes and the pieces of other shapes: the list of what silhouettes are sampled from, as a
 * plan is made.
 *
 * Vertices at one place are one here, so a seam is no border. Faces without area do not count. An edge
 * between two faces in one plane, which nothing can bend, is left out. Where more than two faces meet, an
 * edge counts as a border of the first.
 *
 * Edges are chosen with probabilities in proportion to their length times the share of directions for which
 * they lie on a silhouette: the angle by which the surface bends, over pi. So are the curves on faces along
 * which interpolated normals turn away (silhouette_turn.c): by the angle between the normals. Carriers that
 * parameters move stand first, so that one of them can be chosen by itself; others are chosen less often by
 * STATIONARY. */
#include "render/plan_internal.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
/* FLAT: angles below it, over pi, are the rounding of what is flat. BEND_LEAST: of edges whose faces may
 * bend. CREASE: of what jumps at a crease, beside a silhouette. */
static const double FLAT = 1e-4, BEND_LEAST = 0.02, CREASE = 0.5, STATIONARY = 0.25;

/* One face at an edge. place: of its two ends, the lesser first, equal for vertices at one place. */
typedef struct edge_use {
    uint32_t place[2], from, to, opposite, face, corner;
} edge_use;

/* A mesh, as words of the plan. */
typedef struct edge_mesh {
    const plan *p;
    const uint32_t *words;
    uint32_t vertices, first_primitive;
    bool bends; /* its vertices are parameters */
} edge_mesh;

typedef struct edge_list {
    uint32_t edges, count, table; /* words of the scene buffer */
    double total;                 /* sum of the weights */
} edge_list;

/* ---- vertices at one place ---- */

static const float *position(const edge_mesh *m, uint32_t v)
{
    return (const float *)(const void *)(m->p->words.data + m->words[MESH_POSITIONS] + 3 * (size_t)v);
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

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* The unit vector in the face, at a right angle to the edge. False: the face has no area. */
static bool into_face(const edge_mesh *m, const edge_use *e, double out[3])
{
    double along[3], to[3];
    for (int k = 0; k < 3; k++) {
        along[k] = (double)position(m, e->to)[k] - (double)position(m, e->from)[k];
        to[k] = (double)position(m, e->opposite)[k] - (double)position(m, e->from)[k];
    }
    double share = dot(to, along) / dot(along, along);
    for (int k = 0; k < 3; k++)
        out[k] = to[k] - share * along[k];
    double length = sqrt(dot(out, out));
    for (int k = 0; k < 3; k++)
        out[k] /= length;
    return length > 0 && isfinite(length);
}

/* All faces at all edges, in order. Faces without area are left out: they hide nothing. */
static edge_use *uses_of(const edge_mesh *m, uint32_t *count)
{
    uint32_t faces = m->words[MESH_FACE_COUNT], n = 0, *place = weld(m);
    edge_use *uses = memory_need((3 * (size_t)faces + 1) * sizeof *uses);
    for (uint32_t face = 0; face < faces; face++) {
        const uint32_t *v = m->p->words.data + m->words[MESH_FACES] + 3 * (size_t)face;
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
    double turn = 1 - acos(fmin(fmax(dot(x, y), -1), 1)) / pi;
    return turn < FLAT ? 0 : turn;
}

static uint32_t face_word(const edge_mesh *m, const edge_use *e)
{
    const uint32_t *v = m->p->words.data + m->words[MESH_FACES] + 3 * (size_t)e->face;
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
    const float *normals = (const float *)(const void *)(m->p->words.data + m->words[MESH_NORMALS]);
    double least = 1;
    for (int i = 0; i < 3; i++) {
        double a[3], b[3];
        for (int k = 0; k < 3; k++)
            a[k] = (double)normals[3 * (size_t)v[i] + (size_t)k],
            b[k] = (double)normals[3 * (size_t)v[(i + 1) % 3] + (size_t)k];
        least = fmin(least, dot(a, b) / sqrt(dot(a, a) * dot(b, b)));
    }
    double most = acos(fmax(least, -1)) / pi;
    return most < FLAT ? 0 : most;
}

/* The curves along which interpolated normals turn away from the viewpoint, about as long as their faces. */
static void find_turns(edge_mesh *m, silhouette_pieces *out)
{
    for (uint32_t face = 0; face < m->words[MESH_FACE_COUNT]; face++) {
        const uint32_t *v = m->p->words.data + m->words[MESH_FACES] + 3 * (size_t)face;
        double along[3], to[3], share = fmax(spread(m, v), m->bends ? BEND_LEAST : 0);
        for (int k = 0; k < 3; k++)
            along[k] = (double)position(m, v[1])[k] - (double)position(m, v[0])[k],
            to[k] = (double)position(m, v[2])[k] - (double)position(m, v[0])[k];
        double square = dot(along, along) * dot(to, to) - dot(along, to) * dot(along, to);
        array_push(&out->all, ((silhouette_piece){{v[0], v[1], v[2], EDGE_TURNS,
                                                   edge_face(m->first_primitive + face, 0, false)},
                                                  .weight = share * pow(fmax(square, 0), 0.25),
                                                  .crease = 1}));
    }
}

static void find_edges(const plan *p, const render_shape *shape, bool bends, silhouette_pieces *out)
{
    uint32_t n;
    edge_mesh m = {p, p->words.data + p->geometry + shape->data, shape->vertex_count,
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

/* About how long the silhouette is of a shape that has no pieces: the circumference of a ball with its area.
 */
static double round_length(const render_shape *shape) { return sqrt(4 * pi * fmax((double)shape->area, 0)); }

/* Writes the edges or pieces of a shape, without those that have no weight. */
static edge_list write_edges(plan *p, const render_shape *shape, bool bends)
{
    silhouette_pieces found = {0};
    const shape_kind_class *kind = shape_kinds[shape->kind];
    if (shape->kind == SHAPE_TRIANGLES)
        find_edges(p, shape, bends, &found);
    else if (kind->silhouette_pieces)
        kind->silhouette_pieces(p->scene, shape, &found);
    else
        array_push(&found.all, ((silhouette_piece){.weight = round_length(shape)}));
    edge_list list = {0};
    for (uint32_t i = 0; i < found.all.count; i++)
        if (found.all.data[i].weight > 0 && isfinite(found.all.data[i].weight)) {
            list.total += found.all.data[i].weight;
            found.all.data[list.count++] = found.all.data[i];
        }
    list.edges = plan_reserve(p, list.count * EDGE_WORDS), list.table = plan_reserve(p, list.count);
    double sum = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        const silhouette_piece *e = &found.all.data[i];
        uint32_t *words = p->words.data + list.edges + i * EDGE_WORDS;
        float before = (float)(sum / list.total);
        sum += e->weight;
        float after = i + 1 == list.count ? 1 : (float)(sum / list.total);
        memcpy(words, e->words, sizeof e->words);
        p->edge_turns |= shape->kind == SHAPE_TRIANGLES && words[EDGE_OTHER] == EDGE_TURNS;
        words[EDGE_CREASE] = float_word((float)e->crease),
        words[EDGE_PROBABILITY] = float_word(after - before);
        p->words.data[list.table + i] = float_word(after);
    }
    array_free(&found.all);
    return list;
}

/* ---- carriers ---- */

/* The scale of lengths of an instance's map; of one that is hidden yet, as if it were shown as it is. */
static double scale_of(const render_instance *i)
{
    double m[16] = {0};
    if (i->hidden)
        return 1;
    for (int k = 0; k < 12; k++)
        m[k] = (double)i->to_world[k];
    m[15] = 1;
    return cbrt(fabs(matrix_determinant3(m)));
}

typedef struct carrier {
    uint32_t shape, instance;
    bool moves;
    double weight;
} carrier;
typedef struct carriers {
    ARRAY(carrier) all;
    edge_list *edges; /* by shape */
} carriers;

static bool moves(const plan *p, const render_shape *shape)
{
    uint32_t positions =
        render_find_parameter(p->scene, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS);
    return (positions != PLAN_NONE && p->gradient_offset[positions] != PLAN_NONE) ||
           to_world_requested(p, shape->object);
}

static void add_carrier(plan *p, carriers *c, uint32_t index, uint32_t instance)
{
    const render_shape *shape = &p->scene->shapes.data[index];
    const render_instance *at = instance == PLAN_NONE ? NULL : &p->scene->instances.data[instance];
    double length = c->edges[index].total;
    bool moving = moves(p, shape) || (at && at->object && to_world_requested(p, at->object));
    length *= (at ? scale_of(at) : 1) * (moving ? 1 : STATIONARY) *
              scene_number(shape->object, "silhouette_sampling_weight");
    if (length > 0 && isfinite(length))
        array_push(&c->all, ((carrier){index, instance == PLAN_NONE ? 0 : instance, moving, length}));
}

static int moving_first(const void *a, const void *b)
{
    const carrier *x = a, *y = b;
    if (x->moves != y->moves)
        return x->moves ? -1 : 1;
    if (x->instance != y->instance)
        return x->instance < y->instance ? -1 : 1;
    return x->shape < y->shape ? -1 : x->shape > y->shape;
}

static void find_carriers(plan *p, carriers *c)
{
    const render_scene *s = p->scene;
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        uint32_t positions = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS);
        bool bends = positions != PLAN_NONE && p->gradient_offset[positions] != PLAN_NONE;
        if (shape->bsdf)
            c->edges[i] = write_edges(p, shape, bends);
    }
    for (uint32_t i = 0; i < s->shapes.count && !s->has_groups; i++)
        add_carrier(p, c, i, PLAN_NONE);
    for (uint32_t k = 0; k < s->instances.count && s->has_groups; k++)
        for (uint32_t i = 0; i < s->shapes.count; i++)
            if (s->shapes.data[i].group == s->instances.data[k].group)
                add_carrier(p, c, i, k);
    if (c->all.count > 0)
        qsort(c->all.data, c->all.count, sizeof *c->all.data, moving_first);
}

/* Writes the record of a carrier, and returns its entry of the cumulative table. */
static float write_carrier(plan *p, const carriers *c, uint32_t k, uint32_t at, double share[2])
{
    const carrier *own = &c->all.data[k];
    const edge_list *list = &c->edges[own->shape];
    uint32_t *w = p->words.data + at + k * CARRIER_WORDS;
    float low = (float)share[0], high = k + 1 == c->all.count ? 1 : (float)share[1];
    w[CARRIER_SHAPE] = p->words.data[HEADER_SHAPES] + own->shape * SHAPE_WORDS;
    w[CARRIER_INSTANCE] = own->instance, w[CARRIER_KIND] = p->scene->shapes.data[own->shape].kind;
    w[CARRIER_EDGE_COUNT] = list->count;
    w[CARRIER_EDGES] = list->edges, w[CARRIER_CDF] = list->table;
    w[CARRIER_PROBABILITY] = float_word(high - low);
    return high;
}

/* Lists the flat mirrors. */
static void write_mirrors(plan *p, uint32_t head)
{
    const render_scene *s = p->scene;
    bool possible = edges_mirrors_possible(s);
    p->words.data[head + SILHOUETTE_MIRRORS] = p->words.count;
    for (uint32_t i = 0; i < s->shapes.count && possible; i++)
        if (edges_flat_mirror(&s->shapes.data[i])) {
            const uint32_t record = p->words.data[HEADER_SHAPES] + i * SHAPE_WORDS;
            plan_append(p, &record, 1), p->edge_mirrors++;
        }
}

void silhouette_write(plan *p)
{
    carriers c = {.edges = memory_need_zeroed(p->scene->shapes.count + 1, sizeof *c.edges)};
    find_carriers(p, &c);
    double total = 0, sum = 0;
    for (uint32_t k = 0; k < c.all.count; k++)
        total += c.all.data[k].weight;
    if (c.all.count > 0) {
        uint32_t head = plan_reserve(p, SILHOUETTE_WORDS), table = plan_reserve(p, c.all.count),
                 at = plan_reserve(p, c.all.count * CARRIER_WORDS);
        uint32_t moving = 0;
        p->words.data[head + SILHOUETTE_COUNT] = c.all.count, p->words.data[head + SILHOUETTE_CDF] = table;
        p->words.data[head + SILHOUETTE_CARRIERS] = at;
        p->words.data[head + SILHOUETTE_PRIMITIVES] = p->scene->primitives.count;
        for (uint32_t k = 0; k < c.all.count; k++) {
            double share[2] = {sum / total, (sum + c.all.data[k].weight) / total};
            sum += c.all.data[k].weight;
            p->words.data[table + k] = float_word(write_carrier(p, &c, k, at, share));
            moving += c.all.data[k].moves;
        }
        p->words.data[HEADER_SILHOUETTES] = head;
        write_mirrors(p, head);
        p->edge_cells = silhouette_write_cells(p, head, c.all.count, moving);
    }
    memory_free(c.edges);
    array_free(&c.all);
}
