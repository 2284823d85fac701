/* SPDX-License-Identifier: BSD-3-Clause
 * From packed two-wide hierarchies to eight-wide ones.
 *
 * Which two-wide nodes become one wide node, and which subtrees become a leaf, is decided by dynamic
 * programming over the surface area cost (Ylitie, Karras, Laine 2017, "Efficient Incoherent Ray Traversal on
 * GPUs Through Compressed Wide BVHs", section 3.1). cost(n, i) is the least cost of the subtree of node n as
 * at most i children of a wide node:
 *     cost(n, 1) = min(leaf(n), area(n) node_cost + spread(n, 8))
 *     cost(n, i) = min(spread(n, i), cost(n, i - 1))
 *     spread(n, i) = min over k of cost(left, k) + cost(right, i - k)
 * Children stand behind their parents, so one pass backwards finds all costs.
 *
 * Boxes and triangles are filled in afterwards, by all threads. That is also all there is to do when vertices
 * have moved: the packed hierarchy has been refitted then, and this one keeps its tree, too. */
#include "gpu/native/hierarchy.h"

#include "base/bvh_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of testing eight boxes, eight triangles, entering a level, calling a traced function. */
static const float node_cost = 1, block_cost = 1.5f, level_cost = 2, candidate_cost = 4;

/* ---- costs ---- */

typedef struct choice {
    float cost[WIDE];         /* [i]: cost(n, i), i from 1 */
    uint8_t spread[WIDE + 1]; /* [i]: children for the left side, where the node is spread over i */
    uint8_t fewer;            /* bit i: cost(n, i) is cost(n, i - 1) */
    bool leaf;
    uint32_t first, count; /* entries below; count is COUNT_MANY where they make no leaf */
    uint32_t candidates;   /* of these, no triangles */
    uint16_t least[3], most[3];
} choice;

enum { COUNT_MANY = WIDE + 1, ALIGNMENT = 64 };

typedef struct builder {
    gpu_hierarchy *h;
    const uint32_t *words;
    uint32_t base; /* word that references count from */
    uint32_t grid; /* word of this tree's grid */
    float cell[3];
    choice *choices;          /* of the nodes behind the grid */
    uint32_t stack;           /* see gpu_hierarchy.stack_size */
    const uint32_t *level_of; /* of a record: level number; sorted pairs (word, level) */
    uint32_t level_count;
} builder;

static const uint32_t *node_at(const builder *b, uint32_t reference)
{
    return b->words + b->base + reference;
}

static choice *choice_of(const builder *b, uint32_t reference)
{
    return &b->choices[(b->base + reference - b->grid) / BVH_NODE_WORDS - 1];
}

static bool is_inner(uint32_t reference) { return !(reference & BVH_LEAF); }

static uint32_t entry_kind(const gpu_hierarchy *h, uint32_t entry)
{
    return h->words[h->entries + BVH_ENTRY_WORDS * (size_t)entry + BVH_ENTRY_KIND];
}

static float area_of(const builder *b, const choice *c)
{
    float e[3];
    for (int k = 0; k < 3; k++)
        e[k] = b->cell[k] * (float)(c->most[k] > c->least[k] ? c->most[k] - c->least[k] : 0);
    return e[0] * e[1] + e[1] * e[2] + e[2] * e[0];
}

static float leaf_cost(const choice *c)
{
    uint32_t triangles = c->count - c->candidates;
    return (triangles ? block_cost : 0) + candidate_cost * (float)c->candidates;
}

/* A child that is no inner node, in the form of one. */
static choice outermost(const builder *b, uint32_t reference)
{
    choice c = {.leaf = true};
    if (reference == BVH_NONE)
        return c;
    if (reference >= BVH_LEVEL) {
        c.count = COUNT_MANY;
        return c;
    }
    c.first = reference & BVH_LEAF_FIRST;
    c.count = ((reference & BVH_LEAF_COUNT) >> BVH_COUNT_SHIFT) + 1;
    for (uint32_t k = 0; k < c.count; k++)
        c.candidates += entry_kind(b->h, c.first + k) != b->h->desc.triangle_kind;
    return c;
}

/* The child on a side of a node, with its box. */
static choice child_of(const builder *b, const uint32_t *node, uint32_t side)
{
    uint32_t reference = node[BVH_NODE_REFERENCE + side];
    choice c = is_inner(reference) ? *choice_of(b, reference) : outermost(b, reference);
    for (int k = 0; k < 3; k++)
        c.least[k] = (uint16_t)(node[k] >> 16 * side), c.most[k] = (uint16_t)(node[3 + k] >> 16 * side);
    if (!is_inner(reference)) {
        float cost = reference == BVH_NONE    ? 0
                     : reference >= BVH_LEVEL ? level_cost * area_of(b, &c)
                                              : leaf_cost(&c) * area_of(b, &c);
        for (uint32_t i = 1; i < WIDE; i++)
            c.cost[i] = cost;
    }
    return c;
}

static float spread(choice *c, const choice *left, const choice *right, uint32_t i)
{
    float best = INFINITY;
    for (uint32_t k = 1; k < i; k++)
        if (left->cost[k] + right->cost[i - k] < best)
            best = left->cost[k] + right->cost[i - k], c->spread[i] = (uint8_t)k;
    return best;
}

static void choose(const builder *b, uint32_t reference)
{
    const uint32_t *node = node_at(b, reference);
    const choice left = child_of(b, node, 0), right = child_of(b, node, 1);
    choice *c = choice_of(b, reference);
    *c = (choice){.first = left.count ? left.first : right.first,
                  .count = left.count + right.count,
                  .candidates = left.candidates + right.candidates};
    if (c->count > WIDE || (left.count && right.count && right.first != left.first + left.count))
        c->count = COUNT_MANY;
    for (int k = 0; k < 3; k++) {
        c->least[k] = left.least[k] < right.least[k] ? left.least[k] : right.least[k];
        c->most[k] = left.most[k] > right.most[k] ? left.most[k] : right.most[k];
    }
    float area = area_of(b, c), as_node = area * node_cost + spread(c, &left, &right, WIDE);
    float as_leaf = c->count <= WIDE ? area * leaf_cost(c) : INFINITY;
    c->leaf = as_leaf <= as_node;
    c->cost[1] = c->leaf ? as_leaf : as_node;
    for (uint32_t i = 2; i < WIDE; i++) {
        float cost = spread(c, &left, &right, i);
        if (cost >= c->cost[i - 1])
            c->fewer |= (uint8_t)(1u << i);
        c->cost[i] = cost < c->cost[i - 1] ? cost : c->cost[i - 1];
    }
}

/* ---- the tree ---- */

/* Collects the child on a side of a node as at most i children. */
static void collect(const builder *b, uint32_t node, uint32_t side, uint32_t i, wide_node_source *out)
{
    uint32_t reference = node_at(b, node)[BVH_NODE_REFERENCE + side];
    if (reference == BVH_NONE)
        return;
    const choice *c = is_inner(reference) ? choice_of(b, reference) : NULL;
    while (c && i > 1 && c->fewer >> i & 1)
        i--;
    if (!c || i == 1) {
        out->source[out->count] = 2 * (b->base + node) + side;
        out->child[out->count++] = reference;
        return;
    }
    collect(b, reference, 0, c->spread[i], out);
    collect(b, reference, 1, i - c->spread[i], out);
}

static uint32_t put_block(builder *b, uint32_t first, uint32_t count, uint32_t candidates)
{
    wide_block_source block = {.first = first, .count = count};
    for (uint32_t k = 0; k < count; k++)
        block.others |= (uint32_t)(entry_kind(b->h, first + k) != b->h->desc.triangle_kind) << k;
    array_push(&b->h->block_sources, block);
    return WIDE_BLOCK | (candidates ? WIDE_MIXED : 0) | (b->h->block_sources.count - 1);
}

static int by_word(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;
    return a[0] < b[0] ? -1 : a[0] > b[0];
}

static uint32_t put(builder *b, uint32_t reference, uint32_t waiting);

static uint32_t put_leaf(builder *b, uint32_t reference)
{
    if (reference >= BVH_LEVEL) {
        const uint32_t key[2] = {reference & BVH_LEVEL_PLACE, 0};
        const uint32_t *found = bsearch(key, b->level_of, b->level_count, sizeof key, by_word);
        BL_ASSERT(found, "no level at word %u", key[0]);
        return WIDE_LEVEL | found[1];
    }
    choice c = outermost(b, reference);
    return put_block(b, c.first, c.count, c.candidates);
}

/* A node with at most eight children. waiting: references on the stack when it is reached. */
static uint32_t put_node(builder *b, uint32_t reference, uint32_t waiting)
{
    gpu_hierarchy *h = b->h;
    const choice *c = choice_of(b, reference);
    wide_node_source node = {.grid = b->grid};
    uint32_t at = h->node_sources.count;
    BL_ASSERT(at <= WIDE_NUMBER, "%u nodes", at);
    collect(b, reference, 0, c->spread[WIDE], &node);
    collect(b, reference, 1, WIDE - c->spread[WIDE], &node);
    array_push(&h->node_sources, node);
    waiting += node.count;
    b->stack = waiting > b->stack ? waiting : b->stack;
    for (uint32_t k = 0; k < node.count; k++)
        node.child[k] = put(b, node.child[k], waiting);
    h->node_sources.data[at] = node;
    return at;
}

static uint32_t put(builder *b, uint32_t reference, uint32_t waiting)
{
    if (!is_inner(reference))
        return put_leaf(b, reference);
    const choice *c = choice_of(b, reference);
    if (c->leaf)
        return c->count ? put_block(b, c->first, c->count, c->candidates) : WIDE_NONE;
    return put_node(b, reference, waiting);
}

static uint32_t count_nodes(const uint32_t *words, uint32_t base, uint32_t root)
{
    uint32_t count = 1;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t reference = words[base + root + BVH_NODE_REFERENCE + side];
        if (is_inner(reference))
            count += count_nodes(words, base, reference);
    }
    return count;
}

/* The tree whose root, an inner node, has this packed reference. */
static bl_result put_tree(builder *b, uint32_t root, uint32_t *out, bl_error *err)
{
    uint32_t count = count_nodes(b->words, b->base, root);
    b->grid = b->base + root - BVH_NODE_WORDS;
    memcpy(b->cell, b->words + b->grid + BVH_GRID_CELL, sizeof b->cell);
    b->choices = malloc((size_t)count * sizeof *b->choices);
    if (!b->choices)
        return error_set(err, BL_ERROR_MEMORY, "no memory for a hierarchy of %u nodes", count);
    for (uint32_t k = count; k > 0; k--)
        choose(b, root + BVH_NODE_WORDS * (k - 1));
    b->stack = 0;
    *out = put(b, root, 1);
    free(b->choices);
    return BL_OK;
}

/* ---- levels ---- */

static wide_level level_at(const uint32_t *words, uint32_t record)
{
    wide_level l = {.record = record};
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 4; k++)
            memcpy(&l.column[k][row], words + record + BVH_RECORD_MAP + 4 * row + k, sizeof **l.column);
    memcpy(l.origin, words + record + BVH_RECORD_GRID, 3 * sizeof *l.origin);
    return l;
}

/* Lists the records that the outer tree leads to: (word, 0). */
static void find_records(const builder *b, uint32_t node, uint32_t *pairs, uint32_t *count)
{
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t reference = node_at(b, node)[BVH_NODE_REFERENCE + side];
        if (is_inner(reference)) {
            find_records(b, reference, pairs, count);
        } else if (reference != BVH_NONE) {
            pairs[2 * *count] = reference & BVH_LEVEL_PLACE, pairs[2 * *count + 1] = 0;
            ++*count;
        }
    }
}

static int by_root(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;
    return a[1] != b[1] ? (a[1] < b[1] ? -1 : 1) : a[0] < b[0] ? -1 : a[0] > b[0];
}

/* The trees that instances show, each once, and a level for each instance. pairs: (record, root of its tree),
 * becomes (record, number of its level). */
static bl_result put_inner_levels(builder *b, uint32_t *pairs, uint32_t count, uint32_t *stack, bl_error *err)
{
    uint32_t root = 0, tree = 0;
    for (uint32_t k = 0; k < count; k++)
        pairs[2 * k + 1] = b->words[pairs[2 * k] + BVH_RECORD_ROOT];
    if (count)
        qsort(pairs, count, 2 * sizeof *pairs, by_root);
    for (uint32_t k = 0; k < count; k++) {
        if (pairs[2 * k + 1] != root) {
            root = pairs[2 * k + 1];
            TRY(put_tree(b, root, &tree, err));
            *stack = b->stack > *stack ? b->stack : *stack;
        }
        wide_level l = level_at(b->words, pairs[2 * k]);
        l.root = tree;
        pairs[2 * k + 1] = b->h->levels.count;
        array_push(&b->h->levels, l);
    }
    if (count)
        qsort(pairs, count, 2 * sizeof *pairs, by_word);
    b->level_of = pairs, b->level_count = count;
    return BL_OK;
}

static bl_result put_levels(builder *b, bl_error *err)
{
    gpu_hierarchy *h = b->h;
    uint32_t count = 0, inner = 0, leaves = count_nodes(b->words, b->base, BVH_ROOT) + 1;
    wide_level outer = level_at(b->words, b->words[h->desc.level_word]);
    uint32_t *pairs = malloc(2 * (size_t)leaves * sizeof *pairs);
    if (!pairs)
        return error_set(err, BL_ERROR_MEMORY, "no memory for %u instances", leaves);
    find_records(b, BVH_ROOT, pairs, &count);
    array_push(&h->levels, outer);
    bl_result r = put_inner_levels(b, pairs, count, &inner, err);
    if (r == BL_OK)
        r = put_tree(b, BVH_ROOT, &outer.root, err);
    h->levels.data[0].root = outer.root;
    h->stack_size = b->stack + inner + 1;
    free(pairs);
    return r;
}

static bl_result put_single(builder *b, bl_error *err)
{
    wide_level only = {.root = WIDE_NONE}; /* without a map: rays are the world's */
    memcpy(only.origin, b->words + b->base, 3 * sizeof *only.origin);
    TRY(put_tree(b, BVH_ROOT, &only.root, err));
    array_push(&b->h->levels, only);
    b->h->stack_size = b->stack + 1;
    return BL_OK;
}

/* ---- boxes and triangles ---- */

static void fill_child(const gpu_hierarchy *h, wide_node *node, uint32_t k, const float cell[3],
                       uint32_t source)
{
    const uint32_t *packed = h->words + source / 2;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t least = packed[axis] >> 16 * (source % 2) & 0xFFFF,
                 most = packed[3 + axis] >> 16 * (source % 2) & 0xFFFF;
        node->least[axis][k] = cell[axis] * (float)least, node->most[axis][k] = cell[axis] * (float)most;
    }
}

static void fill_node(gpu_hierarchy *h, uint32_t at)
{
    const wide_node_source *from = &h->node_sources.data[at];
    wide_node *node = &h->nodes[at];
    float cell[3];
    memcpy(cell, h->words + from->grid + BVH_GRID_CELL, sizeof cell);
    for (uint32_t k = 0; k < WIDE; k++) {
        node->child[k] = k < from->count ? from->child[k] : WIDE_NONE;
        if (k < from->count)
            fill_child(h, node, k, cell, from->source[k]);
        for (int axis = 0; axis < 3 && k >= from->count; axis++)
            node->least[axis][k] = INFINITY, node->most[axis][k] = -INFINITY;
    }
}

static void fill_block(gpu_hierarchy *h, uint32_t at)
{
    const wide_block_source *from = &h->block_sources.data[at];
    wide_block *block = &h->blocks[at];
    block->first = from->first, block->others = from->others, block->count = from->count;
    for (uint32_t k = 0; k < WIDE; k++) {
        float corner[9];
        if (k < from->count && !(from->others >> k & 1))
            memcpy(corner, h->words + h->entries + BVH_ENTRY_WORDS * (size_t)(from->first + k),
                   sizeof corner);
        else
            for (int i = 0; i < 9; i++)
                corner[i] = NAN;
        for (int axis = 0; axis < 3; axis++)
            block->v0[axis][k] = corner[axis], block->e1[axis][k] = corner[3 + axis],
            block->e2[axis][k] = corner[6 + axis];
    }
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT; }
static size_t nodes_bytes(const gpu_hierarchy *h)
{
    return aligned(h->node_sources.count * sizeof *h->nodes);
}
static size_t blocks_bytes(const gpu_hierarchy *h)
{
    return aligned(h->block_sources.count * sizeof *h->blocks);
}

enum { FILL = 256 /* nodes, or blocks, in a piece of work */ };

static void fill_nodes(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count)
{
    gpu_hierarchy *h = (gpu_hierarchy *)(uintptr_t)t->data;
    (void)thread, (void)turn;
    for (uint32_t k = first * FILL; k < (first + count) * FILL && k < h->node_sources.count; k++)
        fill_node(h, k);
}

static void fill_blocks(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count)
{
    gpu_hierarchy *h = (gpu_hierarchy *)(uintptr_t)t->data;
    (void)thread, (void)turn;
    for (uint32_t k = first * FILL; k < (first + count) * FILL && k < h->block_sources.count; k++)
        fill_block(h, k);
}

static void fill(gpu_hierarchy *h)
{
    const native_task nodes = {
        .blocks = (h->node_sources.count + FILL - 1) / FILL, .data = h, .run = fill_nodes};
    const native_task blocks = {
        .blocks = (h->block_sources.count + FILL - 1) / FILL, .data = h, .run = fill_blocks};
    native_task tasks[2];
    native_job job = {.tasks = tasks};
    if (nodes.blocks)
        tasks[job.count++] = nodes;
    if (blocks.blocks)
        tasks[job.count++] = blocks;
    if (job.count == 0)
        return;
    native_pool_submit(h->device->pool, &job);
    native_pool_finish(h->device->pool, &job);
}

/* ---- life ---- */

static bl_result reserve(gpu_hierarchy *h, bl_error *err)
{
    h->nodes = aligned_alloc(ALIGNMENT, nodes_bytes(h));
    h->blocks = aligned_alloc(ALIGNMENT, blocks_bytes(h));
    return h->nodes && h->blocks ? BL_OK
                                 : error_set(err, BL_ERROR_MEMORY, "no memory for a hierarchy of %u nodes",
                                             h->node_sources.count);
}

bl_result gpu_hierarchy_create(gpu_device *d, const gpu_hierarchy_desc *desc, gpu_hierarchy **out,
                               bl_error *err)
{
    *out = NULL;
    BL_ASSERT(d->candidate->info.kind == GPU_NATIVE && desc->scene->mapped, "rays of another device");
    gpu_hierarchy *h = calloc(1, sizeof *h);
    if (!h)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    h->device = native_device_of(d), h->desc = *desc, h->words = desc->scene->mapped;
    h->entries = h->words[desc->entry_base_word];
    builder b = {.h = h, .words = h->words, .base = h->words[desc->node_base_word]};
    bl_result r = desc->level_word ? put_levels(&b, err) : put_single(&b, err);
    if (r == BL_OK)
        r = native_reserve_rays(h->device, h->stack_size, err);
    if (r == BL_OK)
        r = reserve(h, err);
    if (r != BL_OK) {
        gpu_hierarchy_destroy(h);
        return r;
    }
    fill(h);
    *out = h;
    return BL_OK;
}

void gpu_hierarchy_destroy(gpu_hierarchy *h)
{
    if (!h)
        return;
    array_free(&h->levels);
    array_free(&h->node_sources);
    array_free(&h->block_sources);
    free(h->nodes);
    free(h->blocks);
    free(h);
}

uint64_t gpu_hierarchy_address(const gpu_hierarchy *h) { return (uint64_t)(uintptr_t)h; }

uint64_t gpu_hierarchy_size(const gpu_hierarchy *h)
{
    return sizeof *h + nodes_bytes(h) + blocks_bytes(h) +
           (uint64_t)h->levels.capacity * sizeof *h->levels.data +
           (uint64_t)h->node_sources.capacity * sizeof *h->node_sources.data +
           (uint64_t)h->block_sources.capacity * sizeof *h->block_sources.data;
}

void gpu_hierarchy_follow(gpu_hierarchy *h)
{
    for (uint32_t k = 0; k < h->levels.count; k++) {
        wide_level *l = &h->levels.data[k];
        uint32_t root = l->root;
        if (h->desc.level_word)
            *l = level_at(h->words, l->record);
        else
            memcpy(l->origin, h->words + h->words[h->desc.node_base_word], 3 * sizeof *l->origin);
        l->root = root;
    }
    fill(h);
}
