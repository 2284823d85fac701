/* SPDX-License-Identifier: BSD-3-Clause
 * RAY_CLOSEST and RAY_ANY -> traversal of a two-wide BVH by traced code.
 *
 * Layout, all in words of the scene buffer (src/scene/bvh.c builds it):
 *   node k at word[node_base_word] + 16 k; node 0 is the root
 *     [0..2] left box min xyz   [3..5] left max   [6..8] right min   [9..11] right max   (f32)
 *     [12] left reference   [13] right reference   [14], [15] zero
 *   reference: index of an inner node, or bit 31 set for a leaf: bits 28..30 = number of entries - 1, bits 0..27 = first entry;
 *     0xFFFFFFFF: no child, whose box must be inverted (min = +inf, max = -inf) so that no ray enters it
 *   entry k at word[entry_base_word] + 12 k
 *     [0..8] payload of the kind (triangle: v0 xyz, e1 xyz, e2 xyz; sphere: center xyz, radius)
 *     [9] kind = index of the intersection function   [10] shape   [11] primitive in the shape
 * options.stack_size is at least the number of inner nodes on the longest path from the root plus 1. tmin >= 0.
 *
 * Traversal: the per-lane stack holds references still to visit, the nearer child is visited first; its bottom is the reference
 * 0xFFFFFFFF, which ends the outer loop. `descend` is a loop of its own, because on a CPU device all code of a loop body runs for every
 * trip whatever the lanes need, so that loops are the only code that can be skipped. A trip of the outer loop is then one leaf entry; a
 * leaf with more of them stays the current reference, with one entry less.
 * Near and far planes are chosen by the sign of the direction (an offset per axis, computed once), which saves the six minima and six
 * maxima per box of the usual slab test.
 * Measured, 121k triangles, incoherent rays, SwiftShader and lavapipe, relative to this form: hand-written one loop with a branch for
 * inner nodes and leaves 0.67 and 0.50; an inner loop over the leaf's entries 0.98 and 0.98; slabs by minimum and maximum 0.87 and 0.90.
 *
 * Rounding: entry and exit distances carry three roundings and a division of up to 2.5 ulp each, in all below 2^-20 relative, by which
 * the exit and the best distance so far are enlarged: no box is missed that holds a hit. |d| is clamped to 1e-9, or 0 * infinity would
 * make NaN of a slab. */
#include "spirv_gen/opt/pass.h"

#include <stdlib.h>

#define NODE_WORDS_LOG2 4u
#define ENTRY_WORDS 12u
#define LEAF 0x80000000u
#define LEAF_FIRST 0x0FFFFFFFu
#define LEAF_COUNT 0x70000000u
#define END 0xFFFFFFFFu
#define EXIT_SLACK (1.0f + 1.0f / 1048576.0f)
#define SMALLEST_DIRECTION 1e-9f

enum { RAY_ORIGIN = 0, RAY_DIRECTION = 3, RAY_TMIN = 6, RAY_TMAX = 7 };

typedef struct traversal {
    ir_func *f;
    const opt_options *o;
    ir_func *const *intersect;
    uint32_t kinds;
    ir_ref ray[8];
    ir_ref inverse[3];
    ir_ref near_plane[3], far_plane[3]; /* words of the planes of the left box that the ray meets first and last */
    ir_ref node_base, entry_base, stack;
} traversal;

/* Results of a closest traversal. */
typedef struct found {
    ir_ref t, entry, u, v;
} found;

static void prepare_axis(traversal *t, uint32_t axis)
{
    ir_func *f = t->f;
    ir_ref d = t->ray[RAY_DIRECTION + axis];
    ir_ref negative = ir_lt(f, d, ir_f32(f, 0));
    ir_ref smallest = ir_select(f, negative, ir_f32(f, -SMALLEST_DIRECTION), ir_f32(f, SMALLEST_DIRECTION));
    ir_ref clamped = ir_select(f, ir_lt(f, ir_abs(f, d), ir_f32(f, SMALLEST_DIRECTION)), smallest, d);
    t->inverse[axis] = ir_div(f, ir_f32(f, 1), clamped);
    t->near_plane[axis] = ir_select(f, negative, ir_u32(f, axis + 3), ir_u32(f, axis));
    t->far_plane[axis] = ir_select(f, negative, ir_u32(f, axis), ir_u32(f, axis + 3));
}

static void prepare(traversal *t)
{
    ir_func *f = t->f;
    for (uint32_t axis = 0; axis < 3; axis++)
        prepare_axis(t, axis);
    t->node_base = ir_load(f, IR_U32, t->o->scene_buffer, ir_u32(f, t->o->node_base_word));
    t->entry_base = ir_load(f, IR_U32, t->o->scene_buffer, ir_u32(f, t->o->entry_base_word));
    t->stack = ir_local(f, IR_U32, t->o->stack_size);
    ir_lstore(f, t->stack, ir_u32(f, 0), ir_u32(f, END));
}

static ir_ref plane_distance(const traversal *t, ir_ref node, ir_ref plane, uint32_t box, uint32_t axis)
{
    ir_func *f = t->f;
    ir_ref at = ir_add(f, ir_add(f, node, plane), ir_u32(f, box));
    ir_ref position = ir_load(f, IR_F32, t->o->scene_buffer, at);
    return ir_mul(f, ir_sub(f, position, t->ray[RAY_ORIGIN + axis]), t->inverse[axis]);
}

/* Distance at which the ray enters the box whose planes start `box` words into the node; *hit: it does so before it ends. */
static ir_ref enter_box(const traversal *t, ir_ref node, uint32_t box, ir_ref tmax, ir_ref *hit)
{
    ir_func *f = t->f;
    ir_ref enter[3], leave[3];
    for (uint32_t axis = 0; axis < 3; axis++) {
        enter[axis] = plane_distance(t, node, t->near_plane[axis], box, axis);
        leave[axis] = plane_distance(t, node, t->far_plane[axis], box, axis);
    }
    ir_ref first = ir_max(f, ir_max(f, enter[0], enter[1]), ir_max(f, enter[2], t->ray[RAY_TMIN]));
    ir_ref last = ir_min(f, ir_min(f, leave[0], leave[1]), ir_min(f, leave[2], tmax));
    *hit = ir_le(f, first, ir_mul(f, last, ir_f32(f, EXIT_SLACK)));
    return first;
}

static ir_ref pop(const traversal *t, ir_ref top) { return ir_lload(t->f, t->stack, ir_sub(t->f, top, ir_u32(t->f, 1))); }

static ir_ref child(const traversal *t, ir_ref node, uint32_t at)
{
    return ir_load(t->f, IR_U32, t->o->scene_buffer, ir_add(t->f, node, ir_u32(t->f, at)));
}

/* Goes down until `state` = (reference, top of stack) is a leaf or the end. */
static void descend(const traversal *t, ir_ref tmax, ir_ref state[2])
{
    ir_func *f = t->f;
    ir_ref one = ir_u32(f, 1), loop = ir_loop(f, state, 2), top = state[1];
    ir_while(f, ir_lt(f, state[0], ir_u32(f, LEAF)));
    ir_ref node = ir_add(f, t->node_base, ir_shl(f, state[0], ir_u32(f, NODE_WORDS_LOG2)));
    ir_ref hit_left, hit_right;
    ir_ref enter_left = enter_box(t, node, 0, tmax, &hit_left), enter_right = enter_box(t, node, 6, tmax, &hit_right);
    ir_ref left = child(t, node, 12), right = child(t, node, 13);
    ir_ref both = ir_and(f, hit_left, hit_right), either = ir_or(f, hit_left, hit_right);
    ir_ref left_first = ir_select(f, both, ir_le(f, enter_left, enter_right), hit_left);
    ir_lstore(f, t->stack, top, ir_select(f, left_first, right, left)); /* counts only if both are hit */
    ir_ref next = ir_select(f, either, ir_select(f, left_first, left, right), pop(t, top));
    ir_ref kept = ir_select(f, either, top, ir_sub(f, top, one));
    ir_endloop(f, loop, (ir_ref[]){next, ir_select(f, both, ir_add(f, top, one), kept)}, 2);
}

/* t, u, v of the intersection with one entry. */
static void intersect_entry(const traversal *t, ir_ref entry, ir_ref tmax, ir_ref results[3])
{
    ir_func *f = t->f;
    ir_ref data = ir_add(f, t->entry_base, ir_mul(f, entry, ir_u32(f, ENTRY_WORDS)));
    ir_ref args[9] = {data};
    for (uint32_t k = 0; k < 8; k++)
        args[k + 1] = k == RAY_TMAX ? tmax : t->ray[k];
    if (t->kinds == 1)
        ir_inline(f, t->intersect[0], args, results);
    else
        ir_call(f, child(t, data, 9), t->intersect, t->kinds, args, 9, results);
}

/* What comes after the first entry of leaf `at[0]`: its other entries as a smaller leaf, or the top of the stack. */
static void advance(const traversal *t, const ir_ref at[2], ir_ref next[2])
{
    ir_func *f = t->f;
    ir_ref more = ir_ne(f, ir_and(f, at[0], ir_u32(f, LEAF_COUNT)), ir_u32(f, 0));
    next[0] = ir_select(f, more, ir_sub(f, at[0], ir_u32(f, LEAF_FIRST)), pop(t, at[1]));
    next[1] = ir_select(f, more, at[1], ir_sub(f, at[1], ir_u32(f, 1)));
}

static found closest(const traversal *t)
{
    ir_func *f = t->f;
    ir_ref zero = ir_f32(f, 0), r[3] = {{0}, {0}, {0}}, next[2];
    ir_ref s[6] = {ir_u32(f, 0), ir_u32(f, 1), t->ray[RAY_TMAX], ir_u32(f, END), zero, zero};
    ir_ref loop = ir_loop(f, s, 6);
    ir_ref at[2] = {s[0], s[1]};
    descend(t, s[2], at);
    ir_while(f, ir_ne(f, at[0], ir_u32(f, END)));
    ir_ref entry = ir_and(f, at[0], ir_u32(f, LEAF_FIRST));
    intersect_entry(t, entry, s[2], r);
    advance(t, at, next);
    ir_ref closer = ir_lt(f, r[0], s[2]);
    ir_endloop(f, loop,
               (ir_ref[]){next[0], next[1], ir_select(f, closer, r[0], s[2]), ir_select(f, closer, entry, s[3]),
                          ir_select(f, closer, r[1], s[4]), ir_select(f, closer, r[2], s[5])},
               6);
    return (found){s[2], s[3], s[4], s[5]};
}

/* The first hit ends the loop. */
static ir_ref any(const traversal *t)
{
    ir_func *f = t->f;
    ir_ref end = ir_u32(f, END), tmax = t->ray[RAY_TMAX], r[3] = {{0}, {0}, {0}}, next[2];
    ir_ref s[3] = {ir_u32(f, 0), ir_u32(f, 1), ir_bool(f, false)};
    ir_ref loop = ir_loop(f, s, 3);
    ir_ref at[2] = {s[0], s[1]};
    descend(t, tmax, at);
    ir_while(f, ir_ne(f, at[0], end));
    intersect_entry(t, ir_and(f, at[0], ir_u32(f, LEAF_FIRST)), tmax, r);
    advance(t, at, next);
    ir_ref blocked = ir_lt(f, r[0], tmax);
    ir_endloop(f, loop, (ir_ref[]){ir_select(f, blocked, end, next[0]), next[1], blocked}, 3);
    return s[2];
}

static bool lower_ray(ir_copier *c, uint32_t id, ir_inst inst)
{
    if (inst.op != IR_RAY_CLOSEST && inst.op != IR_RAY_ANY)
        return false;
    const opt_pass *pass = c->user;
    ir_operands o = ir_call_operands(c->from, inst);
    ir_func **intersect = malloc((o.target_count + 1) * sizeof *intersect);
    BL_ASSERT(intersect && o.arg_count == 8, "%u ray arguments", o.arg_count);
    for (uint32_t k = 0; k < o.target_count; k++)
        intersect[k] = pass->functions[o.targets[k]];
    traversal t = {.f = c->to, .o = pass->options, .intersect = intersect, .kinds = o.target_count};
    for (uint32_t k = 0; k < 8; k++)
        t.ray[k] = ir_copied(c, o.args[k]);
    prepare(&t);
    if (inst.op == IR_RAY_ANY) {
        opt_replace_results(c, id, (ir_ref[]){any(&t)});
    } else {
        found h = closest(&t);
        opt_replace_results(c, id, (ir_ref[]){h.t, h.entry, h.u, h.v});
    }
    free(intersect);
    return true;
}

ir_module *opt_rays(const ir_module *m, const opt_options *o)
{
    opt_pass pass = {.from = m, .options = o, .hook = lower_ray};
    return opt_rebuild(&pass);
}
