/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/hierarchy_check.h"

#include "base/bvh_layout.h"
#include "gpu/native/hierarchy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BOX = 6 };

/* What a packed tree has below it: entries, or records of levels. */
typedef struct leaf {
    uint32_t what; /* entry; or word of a record */
    uint32_t seen;
    float box[BOX]; /* of the packed leaf: planes from the origin of its grid */
} leaf;

typedef struct check {
    const gpu_hierarchy *h;
    const uint32_t *words;
    ARRAY(leaf) leaves; /* of the tree that is looked at, sorted */
    float cell[3];
    bool outer; /* it has levels below it */
    uint32_t stack;
    uint8_t *nodes_seen, *blocks_seen;
    hierarchy_numbers n;
} check;

/* ---- the packed tree ---- */

static void list_leaves(check *c, uint32_t reference, const float *box)
{
    const uint32_t *base = c->words + c->words[c->h->desc.node_base_word];
    if (reference == BVH_NONE)
        return;
    if (reference & BVH_LEAF) {
        uint32_t count = c->outer ? 1 : ((reference & BVH_LEAF_COUNT) >> BVH_COUNT_SHIFT) + 1,
                 first = c->outer ? reference & BVH_LEVEL_PLACE : reference & BVH_LEAF_FIRST;
        for (uint32_t k = 0; k < count; k++) {
            leaf l = {.what = first + k};
            memcpy(l.box, box, sizeof l.box);
            array_push(&c->leaves, l);
        }
        return;
    }
    const uint32_t *node = base + reference;
    for (uint32_t side = 0; side < 2; side++) {
        float inner[BOX];
        for (int k = 0; k < BOX; k++)
            inner[k] = c->cell[k % 3] * (float)(node[k] >> 16 * side & 0xFFFF);
        list_leaves(c, node[BVH_NODE_REFERENCE + side], inner);
    }
}

static int by_what(const void *x, const void *y)
{
    const leaf *a = x, *b = y;
    return a->what < b->what ? -1 : a->what > b->what;
}

/* Notes that a leaf stands where all the boxes above it have `box` in common. */
static void see(check *c, uint32_t what, const float *box)
{
    const leaf key = {.what = what};
    leaf *l = bsearch(&key, c->leaves.data, c->leaves.count, sizeof key, by_what);
    if (!l)
        fail_msg("%u is below a node, and not in the packed tree", what);
    l->seen++;
    for (int k = 0; k < 3; k++)
        if (!(box[k] <= l->box[k] && box[3 + k] >= l->box[3 + k]))
            fail_msg("axis %d of the box of %u is %g to %g; above it is one of %g to %g", k, what,
                     (double)l->box[k], (double)l->box[3 + k], (double)box[k], (double)box[3 + k]);
}

/* ---- the eight-wide tree ---- */

static void check_triangle(const check *c, const wide_block *b, uint32_t k, bool there)
{
    float entry[9];
    memcpy(entry, c->words + c->h->entries + BVH_ENTRY_WORDS * (size_t)(b->first + (there ? k : 0)),
           sizeof entry);
    for (int i = 0; i < 9; i++) {
        float has = (i < 3 ? b->v0 : i < 6 ? b->e1 : b->e2)[i % 3][k];
        if (there ? memcmp(&has, &entry[i], sizeof has) != 0 : !isnan(has))
            fail_msg("place %u of the block of entry %u is not what it should be", k, b->first);
    }
}

static void check_block(check *c, uint32_t reference, const float *box)
{
    uint32_t at = reference & WIDE_NUMBER, others = 0;
    assert_true(at < c->h->block_sources.count && !c->blocks_seen[at]);
    c->blocks_seen[at] = 1;
    const wide_block *b = &c->h->blocks[at];
    uint32_t count = c->h->block_sources.data[at].count;
    assert_true(count >= 1 && count <= WIDE);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t kind = c->words[c->h->entries + BVH_ENTRY_WORDS * (b->first + k) + BVH_ENTRY_KIND];
        others |= (uint32_t)(kind != c->h->desc.triangle_kind) << k;
        see(c, b->first + k, box);
    }
    for (uint32_t k = 0; k < WIDE; k++)
        check_triangle(c, b, k, k < count && !(others >> k & 1));
    assert_int_equal(b->others, others);
    assert_int_equal((reference & WIDE_MIXED) != 0, others != 0);
    c->n.entries += count;
}

static void check_node(check *c, uint32_t at, const float *box, uint32_t waiting);

static void check_reference(check *c, uint32_t reference, const float *box, uint32_t waiting)
{
    if (!(reference & WIDE_BLOCK)) {
        check_node(c, reference, box, waiting);
    } else if (reference >= WIDE_LEVEL) {
        uint32_t level = reference & WIDE_NUMBER;
        assert_true(c->outer && level >= 1 && level < c->h->levels.count);
        see(c, c->h->levels.data[level].record, box);
    } else {
        assert_false(c->outer);
        check_block(c, reference, box);
    }
}

static void check_node(check *c, uint32_t at, const float *box, uint32_t waiting)
{
    uint32_t count = 0;
    assert_true(at < c->h->node_sources.count && !c->nodes_seen[at]);
    c->nodes_seen[at] = 1;
    const wide_node *n = &c->h->nodes[at];
    for (uint32_t k = 0; k < WIDE; k++)
        count += n->child[k] != WIDE_NONE;
    waiting += count > 1 ? count - 1 : 0; /* one of them is visited at once */
    c->stack = waiting > c->stack ? waiting : c->stack;
    for (uint32_t k = 0; k < WIDE; k++) {
        float common[BOX];
        for (int i = 0; i < 3; i++) {
            common[i] = fmaxf(box[i], n->least[i][k]), common[3 + i] = fminf(box[3 + i], n->most[i][k]);
            if (n->child[k] == WIDE_NONE)
                assert_true(n->least[i][k] > n->most[i][k]);
        }
        if (n->child[k] != WIDE_NONE)
            check_reference(c, n->child[k], common, waiting);
    }
}

/* A tree, of which a root is given in both forms. grid: its word. Returns how many references wait at most.
 */
static uint32_t check_tree(check *c, uint32_t packed, uint32_t grid, uint32_t wide)
{
    static const float all[BOX] = {-INFINITY, -INFINITY, -INFINITY, INFINITY, INFINITY, INFINITY};
    c->leaves.count = 0, c->stack = 1;
    memcpy(c->cell, c->words + grid + BVH_GRID_CELL, sizeof c->cell);
    list_leaves(c, packed, all);
    if (c->leaves.count)
        qsort(c->leaves.data, c->leaves.count, sizeof *c->leaves.data, by_what);
    if (wide != WIDE_NONE) /* nothing is in it */
        check_reference(c, wide, all, 0);
    for (uint32_t k = 0; k < c->leaves.count; k++)
        if (c->leaves.data[k].seen != 1)
            fail_msg("%u is %u times in the tree", c->leaves.data[k].what, c->leaves.data[k].seen);
    return c->stack;
}

/* The trees of instances. Several levels may have one tree. */
static uint32_t check_inner(check *c)
{
    uint32_t stack = 0, base = c->words[c->h->desc.node_base_word];
    for (uint32_t k = 1; k < c->h->levels.count; k++) {
        const wide_level *l = &c->h->levels.data[k];
        const uint32_t *record = c->words + l->record;
        for (uint32_t i = 0; i < 12; i++)
            assert_memory_equal(&l->column[i % 4][i / 4], record + BVH_RECORD_MAP + i, sizeof **l->column);
        assert_memory_equal(l->origin, record + BVH_RECORD_GRID, 3 * sizeof *l->origin);
        uint32_t packed = record[BVH_RECORD_ROOT];
        bool known = false;
        for (uint32_t i = 1; i < k; i++)
            if (c->words[c->h->levels.data[i].record + BVH_RECORD_ROOT] == packed) {
                assert_int_equal(c->h->levels.data[i].root, l->root);
                known = true;
            }
        uint32_t here = known ? 0 : check_tree(c, packed, base + packed - BVH_NODE_WORDS, l->root);
        stack = here > stack ? here : stack;
    }
    return stack;
}

hierarchy_numbers hierarchy_check(const gpu_hierarchy *h, const uint32_t *words)
{
    check c = {.h = h, .words = words};
    uint32_t base = words[h->desc.node_base_word], inner = 0;
    c.nodes_seen = calloc(h->node_sources.count + 1u, 1),
    c.blocks_seen = calloc(h->block_sources.count + 1u, 1);
    assert_true(c.nodes_seen && c.blocks_seen && h->levels.count >= 1);
    assert_memory_equal(h->levels.data[0].origin, words + base, 3 * sizeof *h->levels.data[0].origin);
    if (h->desc.level_word) {
        assert_int_equal(h->levels.data[0].record, words[h->desc.level_word]);
        inner = check_inner(&c) + 1; /* and the way back */
    }
    c.outer = h->desc.level_word != 0;
    c.n.stack = check_tree(&c, BVH_ROOT, base, h->levels.data[0].root) + inner;
    for (uint32_t k = 0; k < h->node_sources.count; k++)
        assert_true(c.nodes_seen[k]);
    for (uint32_t k = 0; k < h->block_sources.count; k++)
        assert_true(c.blocks_seen[k]);
    if (h->stack_size < c.n.stack)
        fail_msg("%u references may wait, and there is room for %u", c.n.stack, h->stack_size);
    c.n.nodes = h->node_sources.count, c.n.blocks = h->block_sources.count, c.n.levels = h->levels.count;
    array_free(&c.leaves);
    free(c.nodes_seen), free(c.blocks_seen);
    return c.n;
}
