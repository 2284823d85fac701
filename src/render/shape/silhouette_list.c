/* SPDX-License-Identifier: BSD-3-Clause
 * The list of what silhouettes are sampled from, written as a plan is made: edges of meshes, pieces of other
 * shapes, curves in which shapes go through each other, and their carriers.
 *
 * What is chosen has a probability in proportion to its weight. Carriers that parameters move stand first, so
 * that one of them can be chosen by itself; others are chosen less often by STATIONARY. */
#include "render/plan_internal.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double STATIONARY = 0.25;

typedef struct edge_list {
    uint32_t edges, count, table; /* words of the scene buffer */
    double total;                 /* sum of the weights */
} edge_list;

/* About how long the silhouette is of a shape that has no pieces: the circumference of a ball with its area.
 */
static double round_length(const render_shape *shape) { return sqrt(4 * pi * fmax((double)shape->area, 0)); }

/* The edges or pieces of a shape. */
static void find_pieces(const plan *p, const render_shape *shape, silhouette_pieces *found)
{
    const shape_kind_class *kind = shape_kinds[shape->kind];
    if (shape->kind == SHAPE_TRIANGLES)
        silhouette_find_edges(&(silhouette_words){p->words.data, p->geometry}, shape,
                              shape_vertices_requested(p, shape), found);
    else if (kind->silhouette_pieces)
        kind->silhouette_pieces(p->scene, shape, found);
    else
        array_push(&found->all, ((silhouette_piece){.weight = round_length(shape)}));
}

/* Writes edges or pieces, without those that have no weight. mesh: they are a mesh's. */
static edge_list write_edges(plan *p, bool mesh, silhouette_pieces *found)
{
    edge_list list = {0};
    for (uint32_t i = 0; i < found->all.count; i++)
        if (found->all.data[i].weight > 0 && isfinite(found->all.data[i].weight)) {
            list.total += found->all.data[i].weight;
            found->all.data[list.count++] = found->all.data[i];
        }
    list.edges = plan_reserve(p, list.count * EDGE_WORDS), list.table = plan_reserve(p, list.count);
    double sum = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        const silhouette_piece *e = &found->all.data[i];
        uint32_t *words = p->words.data + list.edges + i * EDGE_WORDS;
        float before = (float)(sum / list.total);
        sum += e->weight;
        float after = i + 1 == list.count ? 1 : (float)(sum / list.total);
        memcpy(words, e->words, sizeof e->words);
        p->edge_turns |= mesh && words[EDGE_OTHER] == EDGE_TURNS;
        words[EDGE_CREASE] = float_word((float)e->crease),
        words[EDGE_PROBABILITY] = float_word(after - before);
        p->words.data[list.table + i] = float_word(after);
    }
    array_free(&found->all);
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
    uint32_t shape, instance, list; /* of carriers.edges */
    bool moves;
    double weight;
} carrier;
typedef struct carriers {
    ARRAY(carrier) all;
    ARRAY(edge_list) edges; /* by shape, and then by crossing */
    shape_crossings crossings;
    bool *moves; /* of each shape: its curves do; owned */
} carriers;

/* other: the shape that shape `index` goes through, or itself. */
static void add_carrier(plan *p, carriers *c, uint32_t list, uint32_t index, uint32_t other,
                        uint32_t instance)
{
    const render_shape *shapes = p->scene->shapes.data;
    const render_instance *at = instance == PLAN_NONE ? NULL : &p->scene->instances.data[instance];
    double length = c->edges.data[list].total;
    bool moving =
        c->moves[index] || c->moves[other] || (at && at->object && to_world_requested(p, at->object));
    length *= (at ? scale_of(at) : 1) * (moving ? 1 : STATIONARY) *
              fmax(scene_number(shapes[index].object, "silhouette_sampling_weight"),
                   scene_number(shapes[other].object, "silhouette_sampling_weight"));
    if (length > 0 && isfinite(length))
        array_push(&c->all, ((carrier){index, instance == PLAN_NONE ? 0 : instance, list, moving, length}));
}

/* The carriers of an instance, of those of its group; of all where the scene has no groups. */
static void add_carriers(plan *p, carriers *c, uint32_t instance)
{
    const render_scene *s = p->scene;
    for (uint32_t i = 0; i < c->edges.count; i++) {
        const uint32_t both[2] = {i, i},
                       *shape = i < s->shapes.count ? both : c->crossings.data[i - s->shapes.count].shape;
        if (instance == PLAN_NONE || s->shapes.data[shape[0]].group == s->instances.data[instance].group)
            add_carrier(p, c, i, shape[0], shape[1], instance);
    }
}

static int moving_first(const void *a, const void *b)
{
    const carrier *x = a, *y = b;
    if (x->moves != y->moves)
        return x->moves ? -1 : 1;
    if (x->instance != y->instance)
        return x->instance < y->instance ? -1 : 1;
    return x->list < y->list ? -1 : x->list > y->list;
}

/* The curves of shapes that move, and of what touches one of them: where a body stands on a floor that moves,
 * its border does. */
static void find_moving(const plan *p, carriers *c)
{
    const render_scene *s = p->scene;
    bool *own = memory_need_zeroed(s->shapes.count + 1, sizeof *own), some = false;
    c->moves = memory_need_zeroed(s->shapes.count + 1, sizeof *c->moves);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        some |= own[i] = shape_motion_requested(p, &s->shapes.data[i]);
    if (some)
        shapes_find_touching(s, own, c->moves);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        c->moves[i] |= own[i];
    memory_free(own);
}

static void find_carriers(plan *p, carriers *c)
{
    const render_scene *s = p->scene;
    find_moving(p, c);
    silhouette_pieces *found = memory_need_zeroed(s->shapes.count + 1, sizeof *found);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].bsdf)
            find_pieces(p, &s->shapes.data[i], &found[i]);
    silhouette_join_seams(p, found);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        array_push(&c->edges, s->shapes.data[i].bsdf
                                  ? write_edges(p, s->shapes.data[i].kind == SHAPE_TRIANGLES, &found[i])
                                  : (edge_list){0});
    memory_free(found);
    shapes_list_crossings(s, &c->crossings);
    for (uint32_t i = 0; i < c->crossings.count; i++)
        array_push(&c->edges, write_edges(p, false, &c->crossings.data[i].pieces));
    p->edge_crossings = c->crossings.count > 0;
    if (!s->has_groups)
        add_carriers(p, c, PLAN_NONE);
    for (uint32_t k = 0; k < s->instances.count && s->has_groups; k++)
        add_carriers(p, c, k);
    if (c->all.count > 0)
        qsort(c->all.data, c->all.count, sizeof *c->all.data, moving_first);
}

/* Writes the record of a carrier, and returns its entry of the cumulative table. */
static float write_carrier(plan *p, const carriers *c, uint32_t k, uint32_t at, double share[2])
{
    const carrier *own = &c->all.data[k];
    const edge_list *list = &c->edges.data[own->list];
    uint32_t *w = p->words.data + at + k * CARRIER_WORDS;
    float low = (float)share[0], high = k + 1 == c->all.count ? 1 : (float)share[1];
    w[CARRIER_SHAPE] = p->words.data[HEADER_SHAPES] + own->shape * SHAPE_WORDS;
    w[CARRIER_INSTANCE] = own->instance;
    w[CARRIER_KIND] =
        own->list < p->scene->shapes.count ? p->scene->shapes.data[own->shape].kind : CARRIER_CROSSES;
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
    carriers c = {0};
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
        p->edge_cuts = edges_cuts_possible(p->scene);
        p->edge_cells = silhouette_write_cells(p, head, c.all.count, moving);
    }
    array_free(&c.edges);
    array_free(&c.crossings);
    array_free(&c.all);
    memory_free(c.moves);
}
