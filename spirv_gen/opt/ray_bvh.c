/* SPDX-License-Identifier: BSD-3-Clause
 * RAY_CLOSEST and RAY_ANY -> traversal of a two-wide BVH by traced code.
 *
 * Layout, all in words of the scene buffer (src/scene/bvh.c builds the tree, ray_nodes.c packs it, constants
 * in base/bvh_layout.h); grid, entries and level records begin at multiples of four words:
 *   grid at word[node_base_word]: [0..2] its origin xyz   [3..5] its cell xyz (f32)   [6], [7] zero
 *   node at word[node_base_word] + r, r = 8 (k + 1) for node k; the root's r is 8
 *     [0..2] box minimum xyz   [3..5] maximum: planes in cells from the origin, the left child's in bits
 *                              0..15, the right one's above
 *     [6] left reference   [7] right reference
 *   reference: r of an inner node, or bit 31 set for a leaf: bits 28..30 = number of entries - 1, bits 0..27
 *   = first entry;
 *     0xFFFFFFFF: no child, whose box is inverted so that no ray enters it
 *   entry k at word[entry_base_word] + 12 k
 *     [0..8] payload of the kind (triangle: v0 xyz, e1 xyz, e2 xyz; sphere: center xyz, radius)
 *     [9] kind = index of the intersection function   [10] shape   [11] primitive in the shape
 * options.stack_size is at least the number of inner nodes on the longest path from the root plus 1. tmin >=
 * 0.
 *
 * Two levels (options.level_word): the tree at node_base is the outer one, its leaves are inner trees seen
 * through a map, each as often as one likes (instances). The nodes of inner trees follow; their references
 * count from node_base, too. Level record at word w, of the outer level (whose place word[level_word] is) and
 * of each leaf of it:
 *     w + [0..11] map from the world to the level, 3 rows of 4 [12..14], [15..17] origin and cell of its grid
 *     (f32)
 *     w + [18] reference of its root; of the outer level, whose map is the identity, 0
 *   reference: bits 31 and 30 set: enter the level whose record stands at the word in bits 2..29
 * A ray is mapped but not normalised, so distances are the same on both levels. Entering an inner level
 * pushes the reference of the outer one: so going back is entering a level, too, one that goes on with the
 * stack instead of at its root. `find_leaf` alternates between changes of level and descents until it stands
 * at an entry.
 *
 * Traversal: the per-lane stack holds references still to visit, the nearer child is visited first; its
 * bottom is the reference 0xFFFFFFFF, which ends the outer loop. `descend` is a loop of its own, because on a
 * CPU device all code of a loop body runs for every trip whatever the lanes need, so that loops are the only
 * code that can be skipped. A trip of the outer loop is then one leaf entry; a leaf with more of them stays
 * the current reference, with one entry less. Near and far planes are chosen by the sign of the direction
 * (selects of words), which saves the six minima and six maxima per box of the usual slab test. Gathers cost
 * most of a trip on CPU devices: so planes of two boxes share a word, and a node is two reads of four words,
 * an entry three, a level five. Measured, 121k triangles, incoherent rays, SwiftShader and lavapipe, relative
 * to this form: hand-written one loop with a branch for inner nodes and leaves 0.67 and 0.50; an inner loop
 * over the leaf's entries 0.98 and 0.98; slabs by minimum and maximum 0.87 and 0.90. The last trip intersects
 * nothing: every lane has left. With a descent before the loop and one at the end of its body that trip is
 * saved, and images take longer (docs/decisions/traversal.md).
 *
 * The nearest hit is the first in the order of distance, of equal distances, of entries, and, of one entry
 * that instances show at one place, of the words of their records. So it does not depend on the way through
 * the tree, and is the same for every tree over the same entries. There are two exceptions. A triangle may be
 * met at such a grazing angle that rounding puts the hit outside of its box; whether the box is skipped
 * depends on the hits before. And kinds that search the interval for a root (grids of distances, B-spline
 * curves) have last bits of t that depend on where it ends. An intersection function leaves out what lies at
 * tmin or at tmax; so it gets the float behind the nearest hit so far, and the traversal compares. The state
 * begins with the float before tmax, at which no hit has been found. The next hit (ir_ray_next) may lie at
 * tmin: the function gets the float before it, too.
 *
 * Rounding: a distance is q a + b, a = cell / d, b = (origin - o) / d. Its error is at most a few 2^-24 of
 * |b|, which is 2^-6 of a cell times the distance of o from the grid in sizes of the grid. Boxes are packed
 * with a cell to spare on every side, which covers that for origins within 60 sizes; farther ones see the
 * scene at a distance of which 2^-20, by which the exit is enlarged, is more than the rest. So no box is
 * missed that holds a hit. |d| is clamped to 1e-9, or 0 * infinity would make NaN of a slab. */
#include "base/bvh_layout.h"
#include "spirv_gen/opt/pass.h"

#include <math.h>
#include <stdlib.h>

#define WHOLE_QUADS                                                                                          \
    0xFFFFFFFCu /* tells code generation that a place is a multiple of four (spv/vector_loads.c) */
#define EXIT_SLACK (1.0f + 1.0f / 1048576.0f)
#define SMALLEST_DIRECTION 1e-9f

enum { RAY_ORIGIN = 0, RAY_DIRECTION = 3, RAY_TMIN = 6, RAY_TMAX = 7, RAY_AFTER = 8 };
/* What a level sets, as loop state: the ray, scale and shift, its record. */
enum { STATE_RAY, STATE_SCALE = 6, STATE_SHIFT = 9, STATE_LEVEL = 12, LEVEL_STATE };

typedef struct traversal {
    ir_func *f;
    const opt_options *o;
    ir_func *const *intersect;
    uint32_t kinds;
    ir_ref world[8];
    ir_ref ray[8];             /* on the level where the traversal stands */
    ir_ref level;              /* its record's place; 0 where there is one level */
    ir_ref scale[3], shift[3]; /* of cells to distances along the ray */
    ir_ref node_base, entry_base, stack;
    bool next;    /* the next hit is wanted, */
    ir_ref after; /* behind this entry at tmin */
} traversal;

/* Results of a closest traversal. */
typedef struct found {
    ir_ref t, entry, u, v, level;
} found;

/* Reads one axis of the grid at base + first, origin and then cell, and prepares the ray for it. */
static void prepare_axis(traversal *t, uint32_t axis, ir_ref base, uint32_t first)
{
    ir_func *f = t->f;
    ir_ref d = t->ray[RAY_DIRECTION + axis];
    ir_ref negative = ir_lt(f, d, ir_f32(f, 0));
    ir_ref smallest = ir_select(f, negative, ir_f32(f, -SMALLEST_DIRECTION), ir_f32(f, SMALLEST_DIRECTION));
    ir_ref clamped = ir_select(f, ir_lt(f, ir_abs(f, d), ir_f32(f, SMALLEST_DIRECTION)), smallest, d);
    ir_ref inverse = ir_div(f, ir_f32(f, 1), clamped);
    ir_ref origin = ir_load(f, IR_F32, t->o->scene_buffer, ir_add(f, base, ir_u32(f, first + axis)));
    ir_ref cell = ir_load(f, IR_F32, t->o->scene_buffer, ir_add(f, base, ir_u32(f, first + axis + 3)));
    t->scale[axis] = ir_mul(f, cell, inverse);
    t->shift[axis] = ir_mul(f, ir_sub(f, origin, t->ray[RAY_ORIGIN + axis]), inverse);
}

static void prepare(traversal *t)
{
    ir_func *f = t->f;
    t->node_base = ir_load(f, IR_U32, t->o->scene_buffer, ir_u32(f, t->o->node_base_word));
    for (uint32_t axis = 0; axis < 3; axis++)
        prepare_axis(t, axis, t->node_base, 0);
    t->entry_base = ir_and(f, ir_load(f, IR_U32, t->o->scene_buffer, ir_u32(f, t->o->entry_base_word)),
                           ir_u32(f, WHOLE_QUADS));
    t->level =
        t->o->level_word ? ir_load(f, IR_U32, t->o->scene_buffer, ir_u32(f, t->o->level_word)) : ir_u32(f, 0);
    t->stack = ir_local(f, IR_U32, t->o->stack_size);
    ir_lstore(f, t->stack, ir_u32(f, 0), ir_u32(f, BVH_NONE));
}

/* Distances to the planes of both boxes that share a word. */
static void plane_distances(const traversal *t, ir_ref both, uint32_t axis, ir_ref distance[2])
{
    ir_func *f = t->f;
    ir_ref cells[2] = {ir_and(f, both, ir_u32(f, 0xFFFF)), ir_shr(f, both, ir_u32(f, 16))};
    for (int side = 0; side < 2; side++) /* signed, which CPU devices convert in one instruction */
        distance[side] =
            ir_add(f, ir_mul(f, ir_to_f32(f, ir_to_i32(f, cells[side])), t->scale[axis]), t->shift[axis]);
}

/* Distances at which the ray enters a node's boxes; hit: it does so before it ends. */
static void enter_boxes(const traversal *t, const ir_ref node[BVH_NODE_WORDS], ir_ref tmax, ir_ref first[2],
                        ir_ref hit[2])
{
    ir_func *f = t->f;
    ir_ref enter[3][2], leave[3][2];
    for (uint32_t axis = 0; axis < 3; axis++) {
        ir_ref backward = ir_lt(f, t->ray[RAY_DIRECTION + axis], ir_f32(f, 0)), least = node[axis],
               most = node[axis + 3];
        plane_distances(t, ir_select(f, backward, most, least), axis, enter[axis]);
        plane_distances(t, ir_select(f, backward, least, most), axis, leave[axis]);
    }
    for (int side = 0; side < 2; side++) {
        first[side] =
            ir_max(f, ir_max(f, enter[0][side], enter[1][side]), ir_max(f, enter[2][side], t->ray[RAY_TMIN]));
        ir_ref last = ir_min(f, ir_min(f, leave[0][side], leave[1][side]), ir_min(f, leave[2][side], tmax));
        hit[side] = ir_le(f, first[side], ir_mul(f, last, ir_f32(f, EXIT_SLACK)));
    }
}

static ir_ref pop(const traversal *t, ir_ref top)
{
    return ir_lload(t->f, t->stack, ir_sub(t->f, top, ir_u32(t->f, 1)));
}

static void load_node(const traversal *t, ir_ref reference, ir_ref node[BVH_NODE_WORDS])
{
    ir_ref at = ir_and(t->f, ir_add(t->f, t->node_base, reference), ir_u32(t->f, WHOLE_QUADS));
    for (uint32_t k = 0; k < BVH_NODE_WORDS; k++)
        node[k] = ir_load(t->f, IR_U32, t->o->scene_buffer, ir_add(t->f, at, ir_u32(t->f, k)));
}

/* Goes down until `state` = (reference, top of stack) is a leaf or the end. */
static void descend(const traversal *t, ir_ref tmax, ir_ref state[2])
{
    ir_func *f = t->f;
    ir_ref one = ir_u32(f, 1), loop = ir_loop(f, state, 2), top = state[1];
    ir_while(f, ir_lt(f, state[0], ir_u32(f, BVH_LEAF)));
    ir_ref node[BVH_NODE_WORDS], enter[2], hit[2];
    load_node(t, state[0], node);
    enter_boxes(t, node, tmax, enter, hit);
    ir_ref left = node[6], right = node[7];
    ir_ref both = ir_and(f, hit[0], hit[1]), either = ir_or(f, hit[0], hit[1]);
    ir_ref left_first = ir_select(f, both, ir_le(f, enter[0], enter[1]), hit[0]);
    ir_lstore(f, t->stack, top, ir_select(f, left_first, right, left)); /* counts only if both are hit */
    ir_ref next = ir_select(f, either, ir_select(f, left_first, left, right), pop(t, top));
    ir_ref kept = ir_select(f, either, top, ir_sub(f, top, one));
    ir_endloop(f, loop, (ir_ref[]){next, ir_select(f, both, ir_add(f, top, one), kept)}, 2);
}

/* ---- levels ---- */

static void put_level(const traversal *t, ir_ref *state)
{
    for (uint32_t k = 0; k < 6; k++)
        state[STATE_RAY + k] = t->ray[k];
    for (uint32_t axis = 0; axis < 3; axis++)
        state[STATE_SCALE + axis] = t->scale[axis], state[STATE_SHIFT + axis] = t->shift[axis];
    state[STATE_LEVEL] = t->level;
}

static void take_level(traversal *t, const ir_ref *state)
{
    for (uint32_t k = 0; k < 6; k++)
        t->ray[k] = state[STATE_RAY + k];
    for (uint32_t axis = 0; axis < 3; axis++)
        t->scale[axis] = state[STATE_SCALE + axis], t->shift[axis] = state[STATE_SHIFT + axis];
    t->level = state[STATE_LEVEL];
}

/* The world's ray on the level whose record is at `record`. */
static void enter_level(traversal *t, ir_ref record)
{
    ir_func *f = t->f;
    for (uint32_t row = 0; row < 3; row++) {
        ir_ref map[4];
        for (uint32_t k = 0; k < 4; k++)
            map[k] = ir_load(f, IR_F32, t->o->scene_buffer,
                             ir_add(f, record, ir_u32(f, BVH_RECORD_MAP + 4 * row + k)));
        for (uint32_t what = RAY_ORIGIN; what <= RAY_DIRECTION; what += RAY_DIRECTION) {
            ir_ref sum = ir_add(
                f, ir_mul(f, map[0], t->world[what]),
                ir_add(f, ir_mul(f, map[1], t->world[what + 1]), ir_mul(f, map[2], t->world[what + 2])));
            t->ray[what + row] = what == RAY_ORIGIN ? ir_add(f, sum, map[3]) : sum;
        }
    }
    for (uint32_t axis = 0; axis < 3; axis++)
        prepare_axis(t, axis, record, BVH_RECORD_GRID);
    t->level = record;
}

/* Follows `at` = (reference, top of stack) as long as it says which level to go to. */
static void change_level(traversal *t, ir_ref at[2])
{
    ir_func *f = t->f;
    ir_ref one = ir_u32(f, 1), state[2 + LEVEL_STATE] = {at[0], at[1]};
    put_level(t, state + 2);
    ir_ref outer = ir_load(f, IR_U32, t->o->scene_buffer, ir_u32(f, t->o->level_word)),
           loop = ir_loop(f, state, 2 + LEVEL_STATE), top = state[1];
    ir_while(f, ir_and(f, ir_ge(f, state[0], ir_u32(f, BVH_LEVEL)), ir_ne(f, state[0], ir_u32(f, BVH_NONE))));
    ir_ref next[2 + LEVEL_STATE], record = ir_and(f, state[0], ir_u32(f, BVH_LEVEL_PLACE));
    ir_ref root = ir_load(f, IR_U32, t->o->scene_buffer, ir_add(f, record, ir_u32(f, BVH_RECORD_ROOT))),
           back = ir_eq(f, root, ir_u32(f, 0));
    enter_level(t, record);
    ir_lstore(f, t->stack, top, ir_or(f, outer, ir_u32(f, BVH_LEVEL))); /* counts only on the way in */
    next[0] = ir_select(f, back, pop(t, top), root);
    next[1] = ir_select(f, back, ir_sub(f, top, one), ir_add(f, top, one));
    put_level(t, next + 2);
    ir_endloop(f, loop, next, 2 + LEVEL_STATE);
    at[0] = state[0], at[1] = state[1];
    take_level(t, state + 2);
}

/* Goes on from `at` = (reference, top of stack) to the next leaf of entries, or the end. */
static void find_leaf(traversal *t, ir_ref tmax, ir_ref at[2])
{
    ir_func *f = t->f;
    if (!t->o->level_word) {
        descend(t, tmax, at);
        return;
    }
    ir_ref state[2 + LEVEL_STATE] = {at[0], at[1]}, next[2 + LEVEL_STATE];
    put_level(t, state + 2);
    ir_ref loop = ir_loop(f, state, 2 + LEVEL_STATE),
           past_leaf = ir_ge(f, ir_sub(f, state[0], ir_u32(f, BVH_LEAF)), ir_u32(f, BVH_LEVEL - BVH_LEAF));
    ir_while(f, ir_and(f, past_leaf, ir_ne(f, state[0], ir_u32(f, BVH_NONE))));
    take_level(t, state + 2);
    next[0] = state[0], next[1] = state[1];
    change_level(t, next);
    descend(t, tmax, next);
    put_level(t, next + 2);
    ir_endloop(f, loop, next, 2 + LEVEL_STATE);
    at[0] = state[0], at[1] = state[1];
    take_level(t, state + 2);
}

/* t, u, v of the intersection with one entry. */
static void intersect_entry(const traversal *t, ir_ref entry, ir_ref tmax, ir_ref results[3])
{
    ir_func *f = t->f;
    ir_ref data = ir_add(f, t->entry_base, ir_mul(f, entry, ir_u32(f, BVH_ENTRY_WORDS)));
    ir_ref args[9] = {data};
    for (uint32_t k = 0; k < 8; k++)
        args[k + 1] = k == RAY_TMAX ? tmax : t->ray[k];
    if (t->kinds == 1)
        ir_inline(f, t->intersect[0], args, results);
    else
        ir_call(f, ir_load(f, IR_U32, t->o->scene_buffer, ir_add(f, data, ir_u32(f, 9))), t->intersect,
                t->kinds, args, 9, results);
}

/* The largest float below a positive one; 0 for all others. */
static ir_ref float_before(ir_func *f, ir_ref v)
{
    ir_ref before = ir_bits_to_f32(f, ir_sub(f, ir_bits_to_u32(f, v), ir_u32(f, 1)));
    return ir_select(f, ir_gt(f, v, ir_f32(f, 0)), before, ir_f32(f, 0));
}

/* The smallest float above one that is finite and not negative. */
static ir_ref float_after(ir_func *f, ir_ref v)
{
    return ir_bits_to_f32(f, ir_add(f, ir_bits_to_u32(f, v), ir_u32(f, 1)));
}

/* bool: a hit comes before another one; a, b: distance, entry. */
static ir_ref comes_before(ir_func *f, const ir_ref a[2], const ir_ref b[2])
{
    return ir_or(f, ir_lt(f, a[0], b[0]), ir_and(f, ir_eq(f, a[0], b[0]), ir_lt(f, a[1], b[1])));
}

/* t, u, v of the intersection with an entry. nearest: distance and entry of the nearest so far; level: its
 * level. Returns whether this one takes its place. */
static ir_ref intersect_nearer(const traversal *t, ir_ref entry, const ir_ref nearest[2], ir_ref level,
                               ir_ref results[3])
{
    ir_func *f = t->f;
    traversal inclusive = *t;
    if (t->next)
        inclusive.ray[RAY_TMIN] = float_before(f, t->ray[RAY_TMIN]);
    intersect_entry(&inclusive, entry, float_after(f, nearest[0]), results);
    const ir_ref hit[2] = {results[0], entry}, last[2] = {t->ray[RAY_TMIN], t->after};
    ir_ref nearer = comes_before(f, hit, nearest);
    if (t->o->level_word) {
        ir_ref same = ir_and(f, ir_eq(f, hit[0], nearest[0]), ir_eq(f, hit[1], nearest[1]));
        nearer = ir_or(f, nearer, ir_and(f, same, ir_lt(f, t->level, level)));
    }
    return t->next ? ir_and(f, comes_before(f, last, hit), nearer) : nearer;
}

/* What comes after the first entry of leaf `at[0]`: its other entries as a smaller leaf, or the top of the
 * stack. */
static void advance(const traversal *t, const ir_ref at[2], ir_ref next[2])
{
    ir_func *f = t->f;
    ir_ref more = ir_ne(f, ir_and(f, at[0], ir_u32(f, BVH_LEAF_COUNT)), ir_u32(f, 0));
    next[0] = ir_select(f, more, ir_sub(f, at[0], ir_u32(f, BVH_LEAF_FIRST)), pop(t, at[1]));
    next[1] = ir_select(f, more, at[1], ir_sub(f, at[1], ir_u32(f, 1)));
}

/* Number of loop states that a level takes; it follows the others. */
static uint32_t level_states(const traversal *t) { return t->o->level_word ? LEVEL_STATE : 0; }

static found closest(traversal *t)
{
    enum { OWN = 7 };
    ir_func *f = t->f;
    ir_ref zero = ir_f32(f, 0), r[3] = {{0}, {0}, {0}}, next[OWN + LEVEL_STATE];
    ir_ref s[OWN + LEVEL_STATE] = {ir_u32(f, BVH_ROOT),
                                   ir_u32(f, 1),
                                   float_before(f, t->ray[RAY_TMAX]),
                                   ir_u32(f, BVH_NONE),
                                   zero,
                                   zero,
                                   t->level};
    uint32_t own = t->o->level_word ? OWN : OWN - 1, count = own + level_states(t);
    put_level(t, s + OWN);
    ir_ref loop = ir_loop(f, s, count);
    if (t->o->level_word)
        take_level(t, s + OWN);
    ir_ref at[2] = {s[0], s[1]};
    find_leaf(t, s[2], at);
    ir_while(f, ir_ne(f, at[0], ir_u32(f, BVH_NONE)));
    ir_ref entry = ir_and(f, at[0], ir_u32(f, BVH_LEAF_FIRST));
    ir_ref closer = intersect_nearer(t, entry, s + 2, s[6], r);
    advance(t, at, next);
    next[2] = ir_select(f, closer, r[0], s[2]), next[3] = ir_select(f, closer, entry, s[3]);
    next[4] = ir_select(f, closer, r[1], s[4]), next[5] = ir_select(f, closer, r[2], s[5]);
    if (t->o->level_word) {
        next[6] = ir_select(f, closer, t->level, s[6]);
        put_level(t, next + OWN);
    }
    ir_endloop(f, loop, next, count);
    ir_ref none = ir_eq(f, s[3], ir_u32(f, BVH_NONE));
    return (found){ir_select(f, none, t->ray[RAY_TMAX], s[2]), s[3], s[4], s[5], s[6]};
}

/* The first hit ends the loop. */
static ir_ref any(traversal *t)
{
    enum { OWN = 3 };
    ir_func *f = t->f;
    ir_ref end = ir_u32(f, BVH_NONE), tmax = t->ray[RAY_TMAX], r[3] = {{0}, {0}, {0}},
           next[OWN + LEVEL_STATE];
    ir_ref s[OWN + LEVEL_STATE] = {ir_u32(f, BVH_ROOT), ir_u32(f, 1), ir_bool(f, false)};
    put_level(t, s + OWN);
    ir_ref loop = ir_loop(f, s, OWN + level_states(t));
    if (t->o->level_word)
        take_level(t, s + OWN);
    ir_ref at[2] = {s[0], s[1]};
    find_leaf(t, tmax, at);
    ir_while(f, ir_ne(f, at[0], end));
    intersect_entry(t, ir_and(f, at[0], ir_u32(f, BVH_LEAF_FIRST)), tmax, r);
    advance(t, at, next);
    ir_ref blocked = ir_lt(f, r[0], tmax);
    next[0] = ir_select(f, blocked, end, next[0]), next[2] = blocked;
    if (t->o->level_word)
        put_level(t, next + OWN);
    ir_endloop(f, loop, next, OWN + level_states(t));
    return s[2];
}

static bool lower_ray(ir_copier *c, uint32_t id, ir_inst inst)
{
    if (inst.op != IR_RAY_CLOSEST && inst.op != IR_RAY_ANY)
        return false;
    const opt_pass *pass = c->user;
    ir_operands o = ir_call_operands(c->from, inst);
    ir_func **intersect = memory_need((o.target_count + 1) * sizeof *intersect);
    bool next = inst.op == IR_RAY_CLOSEST && o.arg_count == RAY_AFTER + 1;
    BL_ASSERT(intersect && (next || o.arg_count == RAY_AFTER), "%u ray arguments", o.arg_count);
    for (uint32_t k = 0; k < o.target_count; k++)
        intersect[k] = pass->functions[o.targets[k]];
    traversal t = {
        .f = c->to, .o = pass->options, .intersect = intersect, .kinds = o.target_count, .next = next};
    for (uint32_t k = 0; k < 8; k++)
        t.ray[k] = t.world[k] = ir_copied(c, o.args[k]);
    if (next)
        t.after = ir_copied(c, o.args[RAY_AFTER]);
    prepare(&t);
    if (inst.op == IR_RAY_ANY) {
        opt_replace_results(c, id, (ir_ref[]){any(&t)});
    } else {
        found h = closest(&t);
        opt_replace_results(c, id, (ir_ref[]){h.t, h.entry, h.u, h.v, h.level});
    }
    memory_free(intersect);
    return true;
}

ir_module *opt_rays(const ir_module *m, const opt_options *o)
{
    opt_pass pass = {.from = m, .options = o, .hook = lower_ray};
    return opt_rebuild(&pass);
}
