/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/packed_trees.h"

#include "base/bvh_layout.h"
#include "render/trace.h"
#include "support/scene_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* ---- trees by hand ---- */

enum { LEAF_MOST = 4 };

typedef struct maker {
    plan *p;
    packed_shape shape;
    uint32_t base;
    uint32_t *leaves; /* references */
    uint32_t count;   /* nodes so far */
    uint32_t deepest, random;
} maker;

static uint32_t below(maker *m, uint32_t end) { return (uint32_t)(scene_random(&m->random) * end); }

static void list_leaves(maker *m, uint32_t entries, uint32_t *count)
{
    *count = 0;
    for (uint32_t first = 0, size; first < entries; first += size) {
        size = m->shape == PACKED_RANDOM ? 1 + below(m, LEAF_MOST) : 1;
        size = size < entries - first ? size : entries - first;
        m->leaves[(*count)++] = BVH_LEAF | (size - 1) << BVH_COUNT_SHIFT | first;
    }
    for (uint32_t k = *count; k > 1 && m->shape == PACKED_RANDOM; k--) {
        uint32_t i = below(m, k), kept = m->leaves[k - 1];
        m->leaves[k - 1] = m->leaves[i], m->leaves[i] = kept;
    }
}

/* A reference to what has leaves first .. first + count - 1 below it. Parents stand before their children. */
static uint32_t put(maker *m, uint32_t first, uint32_t count, uint32_t depth)
{
    bool lonely = m->shape == PACKED_RANDOM && count == 1 && below(m, 8) == 0;
    if (depth > 0 && count <= 1 && !lonely)
        return count ? m->leaves[first] : BVH_NONE;
    uint32_t reference = BVH_NODE_WORDS * ++m->count, side[2] = {count - 1, 1};
    if (m->shape == PACKED_RIGHT)
        side[0] = 1, side[1] = count - 1;
    if (m->shape == PACKED_RANDOM)
        side[0] = lonely ? below(m, 2) : 1 + below(m, count - 1), side[1] = count - side[0];
    m->deepest = depth + 1 > m->deepest ? depth + 1 : m->deepest;
    uint32_t children[2] = {put(m, first, side[0], depth + 1), 0};
    children[1] = put(m, first + side[0], side[1], depth + 1);
    uint32_t *node = m->p->words.data + m->base + reference;
    for (int k = 0; k < 3; k++)
        for (int s = 0; s < 2; s++) {
            bool there = children[s] != BVH_NONE;
            node[k] |= (there ? 0u : BVH_CELLS) << 16 * s, node[3 + k] |= (there ? (uint32_t)BVH_CELLS : 0u)
                                                                          << 16 * s;
        }
    memcpy(node + BVH_NODE_REFERENCE, children, sizeof children);
    return reference;
}

uint32_t packed_take_tree(plan *p, packed_shape shape)
{
    uint32_t entries = p->scene->primitives.count, leaves, old = p->words.data[HEADER_NODES];
    assert_true(entries > 1 && !p->words.data[HEADER_LEVEL]);
    maker m = {.p = p, .shape = shape, .random = 7, .leaves = calloc(entries, sizeof *m.leaves)};
    assert_non_null(m.leaves);
    plan_align(p);
    m.base = plan_reserve(p, BVH_NODE_WORDS * (3 * entries + 1));
    memcpy(p->words.data + m.base, p->words.data + old, BVH_NODE_WORDS * sizeof(uint32_t));
    p->words.data[HEADER_NODES] = m.base;
    list_leaves(&m, entries, &leaves);
    put(&m, 0, leaves, 0);
    free(m.leaves);
    return m.deepest;
}

/* ---- moving ---- */

static float get(const plan *p, uint32_t word)
{
    float v;
    memcpy(&v, p->words.data + word, sizeof v);
    return v;
}

static void set(plan *p, uint32_t word, float v) { memcpy(p->words.data + word, &v, sizeof v); }

static uint32_t entry_at(const plan *p, uint32_t k)
{
    return p->words.data[HEADER_ENTRIES] + BVH_ENTRY_WORDS * k;
}

/* Planes of one axis, of both children: they change places. */
static void mirror_node(uint32_t *node)
{
    uint32_t least = node[0], most = node[3];
    node[0] = node[3] = 0;
    for (int side = 0; side < 2; side++) {
        node[0] |= (BVH_CELLS - (most >> 16 * side & 0xFFFF)) << 16 * side;
        node[3] |= (BVH_CELLS - (least >> 16 * side & 0xFFFF)) << 16 * side;
    }
}

static void mirror_below(plan *p, uint32_t reference)
{
    uint32_t *node = p->words.data + p->words.data[HEADER_NODES] + reference;
    mirror_node(node);
    for (uint32_t side = 0; side < 2; side++)
        if (!(node[BVH_NODE_REFERENCE + side] & BVH_LEAF))
            mirror_below(p, node[BVH_NODE_REFERENCE + side]);
}

void packed_mirror(plan *p)
{
    uint32_t grid = p->words.data[HEADER_NODES];
    mirror_below(p, BVH_ROOT);
    set(p, grid, -(get(p, grid) + BVH_CELLS * get(p, grid + BVH_GRID_CELL)));
    for (uint32_t k = 0; k < p->scene->primitives.count; k++)
        for (uint32_t i = 0; i < 9; i += 3)
            set(p, entry_at(p, k) + i, -get(p, entry_at(p, k) + i));
}

static void scale(plan *p, uint32_t word, uint32_t count, float by)
{
    for (uint32_t k = 0; k < count; k++)
        set(p, word + k, by * get(p, word + k));
}

void packed_double_groups(plan *p)
{
    for (uint32_t k = 0; k < p->scene->primitives.count; k++)
        scale(p, entry_at(p, k), 9, 2);
    for (uint32_t g = 0; g < p->group_count; g++)
        for (uint32_t k = 0; k < p->scene->instances.count; k++)
            if (p->scene->instances.data[k].group ==
                g) { /* they share a tree, of which one leads to the grid */
                uint32_t root = p->words.data[plan_level(p, k) + BVH_RECORD_ROOT];
                scale(p, p->words.data[HEADER_NODES] + root - BVH_NODE_WORDS, 6, 2);
                break;
            }
    for (uint32_t k = 0; k < p->scene->instances.count; k++)
        scale(p, plan_level(p, k) + BVH_RECORD_MAP, 12, 2),
            scale(p, plan_level(p, k) + BVH_RECORD_GRID, 6, 2);
}

void packed_move_instances(plan *p, const float by[3])
{
    for (uint32_t k = 0; k < p->scene->instances.count; k++)
        for (uint32_t row = 0; row < 3; row++) {
            uint32_t at = plan_level(p, k) + BVH_RECORD_MAP + 4 * row;
            float moved = get(p, at) * by[0] + get(p, at + 1) * by[1] + get(p, at + 2) * by[2];
            set(p, at + 3, get(p, at + 3) - moved);
        }
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint32_t places[2] = {p->words.data[HEADER_NODES] + axis,
                              p->words.data[HEADER_LEVEL] + BVH_RECORD_GRID + axis};
        for (int k = 0; k < 2; k++)
            set(p, places[k], get(p, places[k]) + by[axis]);
    }
}
