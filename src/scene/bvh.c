/* SPDX-License-Identifier: BSD-3-Clause
 * A two-wide bounding volume hierarchy: binned surface area heuristic (Wald 2007) with 16 bins on each axis,
 * leaves of 1 to leaf_most (4).
 *
 * Node = 16 words: [0..2] left child's box minimum, [3..5] its maximum, [6..8] and [9..11] the right child's
 * (f32), [12] left and [13] right reference, [14] and [15] zero. A reference is the number of an inner node;
 * or BVH_LEAF (bit 31) with count - 1 in bits 28..30 and the index of the first entry of `order` in bits
 * 0..27; or BVH_NONE, with the inverted box (+inf, -inf). Node 0 is the root, and nodes follow each other
 * depth first, so that near memory is near in space.
 *
 * Depth: a node with r levels left below and including itself may hold at most leaf_most * 2^r primitives; a
 * split that would break this is replaced by the median, which never does.
 *
 * Threads take ranges of primitives from a shared stack. A range of n primitives owns 2n - 1 places of the
 * temporary tree, so where a subtree lands, and so every byte of the result, does not depend on who built it
 * or when. */
#include "scene/scene_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BIN_COUNT = 16,
    TASK_SMALL = 2048 /* primitives: built without sharing */,
    THREADS_MAX = 16,
    COUNT_MAX = 1 << 28
};
static const double traversal_cost = 1, primitive_cost = 1;

/* The fourth number is there for the vector unit. */
typedef struct box {
    _Alignas(16) float least[4], most[4];
} box;

/* A primitive. Items are moved, not indices of them, so that every pass over a range reads on in memory. */
typedef struct item {
    box bounds;
} item;

static item item_of(const float *bounds, uint32_t number)
{
    item i = {0};
    memcpy(i.bounds.least, bounds, 3 * sizeof *bounds), memcpy(i.bounds.most, bounds + 3, 3 * sizeof *bounds);
    memcpy(&i.bounds.least[3], &number, sizeof number);
    return i;
}

static uint32_t number_of(const item *i)
{
    uint32_t number; /* in the place of the fourth number */
    memcpy(&number, &i->bounds.least[3], sizeof number);
    return number;
}

typedef struct tree_node {
    box bounds;
    uint32_t first, count; /* leaf: entries; inner: count is 0 */
    uint32_t right;        /* inner; the left child is the next place */
} tree_node;

typedef struct task {
    uint32_t place, first, count, level; /* level: of inner nodes left, including this one */
} task;

typedef struct builder {
    item *items;
    tree_node *tree;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ARRAY(task) tasks; /* under lock */
    uint32_t working;  /* under lock: threads that hold a task */
    uint32_t leaf_most, depth_most;
} builder;

/* ---- boxes ---- */

static box box_empty(void)
{
    return (box){{INFINITY, INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
}

static inline void box_add(box *b, const box *other)
{
    for (int i = 0; i < 4; i++)
        b->least[i] = other->least[i] < b->least[i] ? other->least[i] : b->least[i];
    for (int i = 0; i < 4; i++)
        b->most[i] = other->most[i] > b->most[i] ? other->most[i] : b->most[i];
}

static double box_area(const box *b)
{
    double x = (double)b->most[0] - b->least[0], y = (double)b->most[1] - b->least[1],
           z = (double)b->most[2] - b->least[2];
    return x < 0 ? 0 : x * y + y * z + z * x;
}

/* Twice the centre, in double: sums of two floats do not overflow. */
static double centre(const item *i, int axis)
{
    return (double)i->bounds.least[axis] + (double)i->bounds.most[axis];
}

/* ---- splits ---- */

typedef struct split {
    int axis;     /* -1: none */
    uint32_t bin; /* the last one that goes left */
    double cost;
} split;

typedef struct span {
    double least[3], scale[3]; /* of centres */
} span;

static uint32_t bin_of(const span *s, int axis, const item *i)
{
    double at = (centre(i, axis) - s->least[axis]) * s->scale[axis];
    return at >= BIN_COUNT - 1 ? BIN_COUNT - 1 : (uint32_t)at;
}

typedef struct range {
    double least, most;
} range;

static inline range widen(range r, double to)
{
    return (range){to < r.least ? to : r.least, to > r.most ? to : r.most};
}

static span measure(const builder *b, const task *t, box *bounds)
{
    span s;
    box whole = box_empty();
    range x = {INFINITY, -INFINITY}, y = x, z = x; /* of their own, so that they stay in registers */
    for (uint32_t i = 0; i < t->count; i++) {
        const item *p = &b->items[t->first + i];
        box_add(&whole, &p->bounds);
        x = widen(x, centre(p, 0)), y = widen(y, centre(p, 1)), z = widen(z, centre(p, 2));
    }
    *bounds = whole;
    const range all[3] = {x, y, z};
    for (int axis = 0; axis < 3; axis++) {
        s.least[axis] = all[axis].least;
        double extent = all[axis].most - s.least[axis];
        s.scale[axis] = extent > 0 ? BIN_COUNT / extent : 0;
        if (!isfinite(s.scale[axis]))
            s.scale[axis] = 0;
    }
    return s;
}

/* The bins of one axis. Most nodes have few primitives, so only bins that hold something are looked at. */
typedef struct bins {
    box bounds[BIN_COUNT];
    uint32_t counts[BIN_COUNT];
    uint32_t used; /* bit i: bin i holds something; else its fields are not set */
} bins;

static inline void put_in_bin(bins *b, uint32_t bin, const item *p)
{
    if (b->used >> bin & 1) {
        b->counts[bin]++;
        box_add(&b->bounds[bin], &p->bounds);
    } else {
        b->used |= 1u << bin;
        b->counts[bin] = 1, b->bounds[bin] = p->bounds;
    }
}

/* The cheapest of the planes of one axis; of planes that split alike the first. */
static void sweep(const bins *b, int axis, uint32_t total, split *best)
{
    uint32_t used[BIN_COUNT], count = 0, left = 0;
    for (uint32_t i = 0; i < BIN_COUNT; i++)
        if (b->used >> i & 1)
            used[count++] = i;
    double right_area[BIN_COUNT];
    box grown = box_empty();
    for (uint32_t k = count - 1; k > 0; k--) {
        box_add(&grown, &b->bounds[used[k]]);
        right_area[k] = box_area(&grown);
    }
    grown = box_empty();
    for (uint32_t k = 0; k + 1 < count; k++) {
        box_add(&grown, &b->bounds[used[k]]);
        left += b->counts[used[k]];
        double cost = box_area(&grown) * left + right_area[k + 1] * (total - left);
        if (cost < best->cost)
            *best = (split){axis, used[k], cost};
    }
}

static split find_split(const builder *b, const task *t, const span *s)
{
    bins all[3];
    split best = {-1, 0, INFINITY};
    all[0].used = all[1].used = all[2].used = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const item *p = &b->items[t->first + i];
        for (int axis = 0; axis < 3; axis++)
            put_in_bin(&all[axis], bin_of(s, axis, p), p);
    }
    for (int axis = 0; axis < 3; axis++)
        if (s->scale[axis] > 0)
            sweep(&all[axis], axis, t->count, &best);
    return best;
}

static uint32_t partition(builder *b, const task *t, const span *s, split by)
{
    item *items = b->items + t->first;
    uint32_t left = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        item p = items[i];
        if (bin_of(s, by.axis, &p) <= by.bin) {
            items[i] = items[left];
            items[left++] = p;
        }
    }
    return left;
}

/* Whether primitive p comes before q on an axis; their numbers decide between equals. */
static bool before(int axis, const item *p, const item *q)
{
    double x = centre(p, axis), y = centre(q, axis);
    return x < y || (x == y && number_of(p) < number_of(q));
}

/* Quickselect (Hoare), middle element as pivot: afterwards the lower half of the range comes before the upper
 * one. */
static uint32_t split_median(builder *b, const task *t, const span *s)
{
    int axis = 0;
    for (int i = 1; i < 3; i++) /* the smallest positive scale is the largest extent */
        if (s->scale[i] > 0 && (s->scale[axis] == 0 || s->scale[i] < s->scale[axis]))
            axis = i;
    item *items = b->items + t->first;
    uint32_t half = t->count / 2;
    BL_ASSERT(t->count >= 2, "%u primitives are split", t->count);
    int64_t low = 0, high = (int64_t)t->count - 1;
    while (low < high) {
        item pivot = items[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (before(axis, &items[i], &pivot))
                i++;
            while (before(axis, &pivot, &items[j]))
                j--;
            if (i <= j) {
                item swap = items[i];
                items[i++] = items[j];
                items[j--] = swap;
            }
        }
        if (half <= j)
            high = j;
        else if (half >= i)
            low = i;
        else
            break;
    }
    return half;
}

/* How many primitives fit below a node with `level` levels of inner nodes. */
static uint64_t capacity(const builder *b, uint32_t level) { return (uint64_t)b->leaf_most << level; }

/* Makes the node of a task: a leaf (false), or an inner node whose children are the two tasks. */
static bool divide(builder *b, const task *t, task children[2])
{
    tree_node *node = &b->tree[t->place];
    span s = measure(b, t, &node->bounds);
    node->first = t->first;
    node->count = t->count;
    if (t->count == 1)
        return false;
    split by = find_split(b, t, &s);
    double area = box_area(&node->bounds);
    if (t->count <= b->leaf_most &&
        (by.axis < 0 || t->level == 0 ||
         primitive_cost * t->count * area <= traversal_cost * area + primitive_cost * by.cost))
        return false;
    BL_ASSERT(t->level > 0 && t->count <= capacity(b, t->level), "%u primitives, %u levels", t->count,
              t->level);
    uint32_t left = by.axis >= 0 ? partition(b, t, &s, by) : 0;
    uint32_t more = left > t->count - left ? left : t->count - left;
    if (left == 0 || left == t->count || more > capacity(b, t->level - 1))
        left = split_median(b, t, &s);
    BL_ASSERT(left > 0 && left < t->count, "%u of %u primitives to the left", left, t->count);
    node->count = 0;
    node->right = t->place + 2 * left;
    children[0] = (task){t->place + 1, t->first, left, t->level - 1};
    children[1] = (task){node->right, t->first + left, t->count - left, t->level - 1};
    return true;
}

static void build_small(builder *b, const task *t)
{
    task children[2];
    if (divide(b, t, children)) {
        build_small(b, &children[0]);
        build_small(b, &children[1]);
    }
}

/* ---- threads ---- */

static void *work(void *user)
{
    builder *b = user;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (b->tasks.count == 0 && b->working > 0)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->tasks.count == 0)
            break;
        task t = b->tasks.data[--b->tasks.count], children[2];
        b->working++;
        pthread_mutex_unlock(&b->lock);
        bool shared = false;
        if (t.count <= TASK_SMALL)
            build_small(b, &t);
        else
            shared = divide(b, &t, children);
        pthread_mutex_lock(&b->lock);
        b->working--;
        if (shared) {
            array_push(&b->tasks, children[1]);
            array_push(&b->tasks, children[0]);
        }
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void build_tree(builder *b, uint32_t count, uint32_t threads)
{
    pthread_t others[THREADS_MAX];
    uint32_t started = 0;
    task whole = {0, 0, count, b->depth_most};
    array_push(&b->tasks, whole);
    while (started + 1 < threads && started < THREADS_MAX &&
           pthread_create(&others[started], NULL, work, b) == 0)
        started++; /* without more threads this one does it all */
    work(b);
    while (started > 0)
        pthread_join(others[--started], NULL);
    array_free(&b->tasks);
}

/* ---- the final layout ---- */

static void put_child(uint32_t *node, int side, const box *bounds, uint32_t reference)
{
    memcpy(node + 6 * side, bounds->least, 3 * sizeof *bounds->least);
    memcpy(node + 6 * side + 3, bounds->most, 3 * sizeof *bounds->most);
    node[BVH_WIDE_REFERENCE + side] = reference;
}

static uint32_t leaf_reference(const tree_node *leaf)
{
    BL_ASSERT(leaf->count >= 1 && leaf->count <= BVH_LEAF_MAX && leaf->first <= BVH_LEAF_FIRST,
              "a leaf of %u primitives at %u", leaf->count, leaf->first);
    return BVH_LEAF | (leaf->count - 1) << BVH_COUNT_SHIFT | leaf->first;
}

/* Writes the inner node at `place` and all below it; returns its number. */
static uint32_t flatten(const builder *b, uint32_t place, uint32_t depth, scene_bvh *out)
{
    const tree_node *node = &b->tree[place];
    const uint32_t children[2] = {place + 1, node->right}, number = out->node_count++;
    out->depth = depth > out->depth ? depth : out->depth;
    for (int side = 0; side < 2; side++) {
        const tree_node *child = &b->tree[children[side]];
        uint32_t reference =
            child->count ? leaf_reference(child) : flatten(b, children[side], depth + 1, out);
        put_child(out->nodes + BVH_WIDE_WORDS * (size_t)number, side, &child->bounds, reference);
    }
    return number;
}

static uint32_t count_inner(const builder *b, uint32_t place)
{
    const tree_node *node = &b->tree[place];
    return node->count ? 0 : 1 + count_inner(b, place + 1) + count_inner(b, node->right);
}

/* A root whose children are a leaf, or nothing. */
static void single_node(const tree_node *leaf, scene_bvh *out)
{
    box empty = box_empty();
    put_child(out->nodes, 0, leaf ? &leaf->bounds : &empty, leaf ? leaf_reference(leaf) : BVH_NONE);
    put_child(out->nodes, 1, &empty, BVH_NONE);
    out->node_count = out->depth = 1;
}

static bl_result check_bounds(const float (*bounds)[6], uint32_t count, bl_error *err)
{
    if (count > COUNT_MAX)
        return error_set(err, BL_ERROR_SCENE, "%u primitives are more than a hierarchy can hold (%d)", count,
                         COUNT_MAX);
    for (uint32_t i = 0; i < count; i++)
        for (int axis = 0; axis < 3; axis++)
            if (!isfinite(bounds[i][axis]) || !isfinite(bounds[i][axis + 3]) ||
                bounds[i][axis] > bounds[i][axis + 3])
                return error_set(err, BL_ERROR_SCENE, "primitive %u has no finite bounds", i);
    return BL_OK;
}

typedef struct build_limits {
    uint32_t leaf_most, depth_most, threads;
} build_limits;

static bl_result build(const float (*bounds)[6], uint32_t count, build_limits limits, scene_bvh *out,
                       bl_error *err)
{
    const uint32_t leaf_most = limits.leaf_most, depth_most = limits.depth_most;
    *out = (scene_bvh){.count = count};
    TRY(check_bounds(bounds, count, err));
    BL_ASSERT(leaf_most >= 1 && leaf_most <= BVH_LEAF_MAX, "leaves of %u", leaf_most);
    BL_ASSERT(depth_most <= BVH_DEPTH_MAX && count <= (uint64_t)leaf_most << depth_most,
              "%u primitives, depth %u", count, depth_most);
    builder b = {
        .leaf_most = leaf_most,
        .depth_most = depth_most,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    b.items = memory_aligned(_Alignof(item), (count ? count : 1) * sizeof *b.items);
    b.tree = count ? memory_aligned(_Alignof(tree_node), (2 * (size_t)count - 1) * sizeof *b.tree) : NULL;
    out->order = memory_alloc((count ? count : 1) * sizeof *out->order);
    if (!b.items || !out->order || (count && !b.tree)) {
        memory_free(b.items);
        memory_free(b.tree);
        bvh_free(out);
        return error_set(err, BL_ERROR_MEMORY, "out of memory for a hierarchy over %u primitives", count);
    }
    for (uint32_t i = 0; i < count; i++)
        b.items[i] = item_of(bounds[i], i);
    if (count)
        build_tree(&b, count, limits.threads);
    for (uint32_t i = 0; i < count; i++)
        out->order[i] = number_of(&b.items[i]);
    memory_free(b.items);
    uint32_t inner = count ? count_inner(&b, 0) : 0;
    out->nodes = memory_zeroed(inner ? inner : 1, BVH_WIDE_WORDS * sizeof *out->nodes);
    if (!out->nodes) {
        memory_free(b.tree);
        bvh_free(out);
        return error_set(err, BL_ERROR_MEMORY, "out of memory for %u nodes", inner);
    }
    if (inner)
        flatten(&b, 0, 1, out);
    else
        single_node(count ? &b.tree[0] : NULL, out);
    BL_ASSERT(out->node_count == (inner ? inner : 1) && out->depth <= depth_most + 1,
              "%u nodes of %u, depth %u of %u", out->node_count, inner, out->depth, depth_most);
    memory_free(b.tree);
    return BL_OK;
}

bl_result bvh_build_threads(const float (*bounds)[6], uint32_t count, uint32_t leaf_most, uint32_t threads,
                            scene_bvh *out, bl_error *err)
{
    return build(bounds, count, (build_limits){leaf_most, BVH_DEPTH_MAX, threads}, out, err);
}

bl_result bvh_build_within(const float (*bounds)[6], uint32_t count, uint32_t leaf_most, uint32_t depth_most,
                           scene_bvh *out, bl_error *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const build_limits limits = {
        .leaf_most = leaf_most,
        .depth_most = depth_most,
        .threads = cores > 1 && count > TASK_SMALL ? (uint32_t)cores : 1,
    };
    return build(bounds, count, limits, out, err);
}

bl_result bvh_build(const float (*bounds)[6], uint32_t count, uint32_t leaf_most, scene_bvh *out,
                    bl_error *err)
{
    return bvh_build_within(bounds, count, leaf_most, BVH_DEPTH_MAX, out, err);
}

void bvh_free(scene_bvh *b)
{
    if (!b)
        return;
    memory_free(b->nodes);
    memory_free(b->order);
    *b = (scene_bvh){0};
}
