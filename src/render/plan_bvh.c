/* SPDX-License-Identifier: BSD-3-Clause
 * What rays read of the scene buffer: packed hierarchies, level records, entries. Without instances there is
 * one hierarchy over all primitives. With them the outer one is over instances; below each instance's leaf
 * stands the record of its level (opt/ray_bvh.c), which has the maps both ways, and the root of its group's
 * hierarchy. Ray queries have no nodes; their instances are the device's, and a table leads from the device's
 * number of an instance to its first entry and to the record. */
#include "base/bvh_layout.h"
#include "render/classes.h"
#include "spirv_gen/opt/opt.h"

const scene_bvh *plan_group_bvh(const plan *p, uint32_t group)
{
    return p->rebuilt               ? &p->rebuilt[group]
           : p->scene->groups.count ? &p->scene->groups.data[group].bvh
                                    : &p->scene->bvh;
}

const scene_bvh *plan_outer_bvh(const plan *p)
{
    return !p->rebuilt              ? &p->scene->bvh
           : p->scene->groups.count ? &p->rebuilt[p->group_count]
                                    : &p->rebuilt[0];
}

/* Primitives of a group in the order of their entries: the hierarchy's, or by kind of box. */
static void order_group(plan *p, uint32_t group, uint32_t first, uint32_t *order)
{
    const scene_bvh *bvh = plan_group_bvh(p, group);
    uint32_t at = first, boxes = 0;
    for (int pass = p->query ? 0 : 2; pass < 3; pass++)
        for (uint32_t i = 0; i < bvh->count; i++) {
            bool triangle = p->scene->primitives.data[bvh->order[i]].entry[BVH_ENTRY_KIND] == SHAPE_TRIANGLES;
            boxes += pass == 0 && !triangle;
            if (p->query ? pass == triangle : true)
                order[at++] = bvh->order[i];
        }
    p->groups[group] = (plan_group){.first = first, .count = bvh->count, .box_count = boxes};
}

static void choose_order(plan *p)
{
    uint32_t first = 0;
    p->group_count = p->scene->groups.count ? p->scene->groups.count : 1;
    if (!p->order) { /* else hierarchies have been built anew, over the same groups */
        p->order = arena_alloc(&p->memory, (p->scene->primitives.count + 1) * sizeof *p->order);
        p->groups = arena_alloc(&p->memory, p->group_count * sizeof *p->groups);
    }
    for (uint32_t g = 0; g < p->group_count; g++) {
        order_group(p, g, first, p->order);
        first += p->groups[g].count;
    }
}

/* ---- hierarchies ---- */

/* Packs a hierarchy to the end of the buffer; returns where. */
static uint32_t put_nodes(plan *p, const scene_bvh *bvh)
{
    uint32_t at = plan_reserve(p, opt_packed_words(bvh->node_count));
    opt_pack_nodes(bvh->nodes, bvh->node_count, p->words.data + at);
    return at;
}

/* References of the packed nodes at `nodes`: inner ones count from node_base, leaves get what `leaf` makes of
 * them. */
static void rebase_nodes(plan *p, uint32_t nodes, uint32_t count, uint32_t first_entry,
                         const uint32_t *records)
{
    uint32_t base = nodes - p->words.data[HEADER_NODES];
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t *reference =
            p->words.data + nodes + BVH_NODE_WORDS * (i / 2 + 1) + BVH_NODE_REFERENCE + i % 2;
        if (*reference == BVH_NONE)
            continue;
        if (!(*reference & BVH_LEAF))
            *reference += base;
        else
            *reference =
                records ? BVH_LEVEL | records[*reference & BVH_LEAF_FIRST] : *reference + first_entry;
    }
}

static void put_record(plan *p, uint32_t record, const render_instance *instance, uint32_t nodes)
{
    uint32_t *w = p->words.data + record;
    memcpy(w + LEVEL_TO_GROUP, instance->to_group, sizeof instance->to_group);
    memcpy(w + LEVEL_TO_WORLD, instance->to_world, sizeof instance->to_world);
    if (!p->query)
        memcpy(w + LEVEL_GRID, p->words.data + nodes, 6 * sizeof *w);
}

/* Records of the outer level and of every instance, in the order of the instances. Returns the first
 * instance's. */
static uint32_t put_levels(plan *p, const uint32_t *group_nodes)
{
    static const render_instance outer = {
        .to_world = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
        .to_group = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
    };
    const render_scene *s = p->scene;
    uint32_t at = plan_reserve(p, (s->instances.count + 1) * LEVEL_WORDS), first = at + LEVEL_WORDS;
    BL_ASSERT(p->words.count < 1u << 30, "%u words", p->words.count);
    p->words.data[HEADER_LEVEL] = at;
    put_record(p, at, &outer, p->words.data[HEADER_NODES]);
    for (uint32_t k = 0; k < s->instances.count; k++) {
        uint32_t record = first + k * LEVEL_WORDS, nodes = group_nodes[s->instances.data[k].group];
        put_record(p, record, &s->instances.data[k], nodes);
        p->words.data[record + LEVEL_MOTION] = p->level_motions[k];
        if (!p->query)
            p->words.data[record + LEVEL_ROOT] = nodes - p->words.data[HEADER_NODES] + BVH_NODE_WORDS;
    }
    return first;
}

/* Outer hierarchy, those of the groups, records. */
static void write_two_levels(plan *p)
{
    const render_scene *s = p->scene;
    uint32_t *nodes = arena_alloc(&p->memory, (p->group_count + 1) * sizeof *nodes);
    uint32_t *records = arena_alloc(&p->memory, (s->instances.count + 1) * sizeof *records), outer = 0;
    if (!p->query) {
        outer = put_nodes(p, plan_outer_bvh(p));
        for (uint32_t g = 0; g < p->group_count; g++) {
            nodes[g] = put_nodes(p, plan_group_bvh(p, g));
            rebase_nodes(p, nodes[g], plan_group_bvh(p, g)->node_count, p->groups[g].first, NULL);
        }
    }
    uint32_t first = put_levels(p, nodes);
    for (uint32_t i = 0; i < s->instances.count; i++)
        records[i] = first + plan_outer_bvh(p)->order[i] * LEVEL_WORDS;
    if (!p->query) {
        rebase_nodes(p, outer, plan_outer_bvh(p)->node_count, 0, records);
        return;
    }
    uint32_t table = plan_reserve(p, 4 * s->instances.count);
    p->words.data[HEADER_INSTANCES] = table;
    for (uint32_t k = 0; k < s->instances.count; k++) {
        const plan_group *g = &p->groups[s->instances.data[k].group];
        const uint32_t rows[4] = {g->first + g->box_count, first + k * LEVEL_WORDS, g->first,
                                  first + k * LEVEL_WORDS};
        memcpy(p->words.data + table + 4 * k, rows, sizeof rows); /* its triangles, then its boxes */
    }
}

/* Entries in the plan's order, from word `at` on; where there are edges, behind them the place of each
 * primitive (SILHOUETTE_PRIMITIVES). */
static void put_entries(plan *p, uint32_t at)
{
    const render_scene *s = p->scene;
    uint32_t kind_index[SHAPE_KIND_COUNT] = {0}, used = 0;
    for (uint32_t k = 0; k < SHAPE_KIND_COUNT; k++)
        if (s->kind_used[k])
            kind_index[k] = used++;
    for (uint32_t i = 0; i < s->primitives.count; i++) {
        uint32_t *entry = p->words.data + at + BVH_ENTRY_WORDS * i;
        memcpy(entry, s->primitives.data[p->order[i]].entry, BVH_ENTRY_WORDS * sizeof *entry);
        entry[0] += shape_kinds[entry[BVH_ENTRY_KIND]]->entry_points ? p->geometry : 0;
        entry[BVH_ENTRY_KIND] = kind_index[entry[BVH_ENTRY_KIND]];
        if (p->edges)
            p->words.data[at + BVH_ENTRY_WORDS * s->primitives.count + p->order[i]] = i;
    }
}

void plan_order_by_shape(plan *p)
{
    BL_ASSERT(p->query && !p->scene->has_groups && p->groups[0].box_count == 0, "%u groups, %u boxes",
              p->group_count, p->groups[0].box_count);
    for (uint32_t i = 0; i < p->scene->primitives.count; i++)
        p->order[i] = i;
    put_entries(p, p->words.data[HEADER_ENTRIES]);
}

void plan_write_entries(plan *p)
{
    const render_scene *s = p->scene;
    choose_order(p);
    plan_align(p);
    p->words.data[HEADER_NODES] = p->words.count;
    if (s->groups.count)
        write_two_levels(p);
    else if (!p->query)
        put_nodes(p, plan_outer_bvh(p));
    plan_align(p);
    p->words.data[HEADER_ENTRIES] = p->words.count;
    uint32_t count = s->primitives.count;
    put_entries(p, plan_reserve(p, (count + (count == 0)) * BVH_ENTRY_WORDS + (p->edges ? count : 0)));
}

void plan_take_hierarchies(plan *p, scene_bvh *made)
{
    uint32_t count = p->words.count - plan_sensor_word(p),
             *sensor = memory_need((count + 1) * sizeof *sensor);
    memcpy(sensor, p->words.data + plan_sensor_word(p), count * sizeof *sensor);
    for (uint32_t g = 0; p->rebuilt && g <= p->group_count; g++)
        bvh_free(&p->rebuilt[g]);
    memory_free(p->rebuilt);
    p->rebuilt = made;
    p->words.count = p->words.data[HEADER_NODES];
    plan_write_entries(p);
    uint32_t at = plan_reserve(p, count);
    memcpy(p->words.data + at, sensor, count * sizeof *sensor);
    p->words.data[HEADER_SENSOR] = at;
    memory_free(sensor);
}

void plan_ray_options(const plan *p, opt_options *o)
{
    uint32_t deepest = 0;
    for (uint32_t g = 0; g < p->scene->groups.count; g++)
        deepest = p->scene->groups.data[g].bvh.depth > deepest ? p->scene->groups.data[g].bvh.depth : deepest;
    o->ray_queries = p->query;
    o->scene_buffer = BUFFER_SCENE;
    o->node_base_word = HEADER_NODES, o->entry_base_word = HEADER_ENTRIES;
    o->level_word = p->scene->groups.count ? HEADER_LEVEL : 0;
    o->stack_size = p->scene->bvh.depth + 1 + (p->scene->groups.count ? deepest + 1 : 0);
}
