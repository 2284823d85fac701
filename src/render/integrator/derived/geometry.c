/* SPDX-License-Identifier: BSD-3-Clause
 * What follows from the positions of vertices when these have changed: one small kernel for all steps.
 * render/refit.h lists the dispatches, one step each, and lays out the work buffer, which is bound in place
 * of BUFFER_SAMPLES. This file has the steps that serve rays; geometry_mesh.c has normals and areas,
 * geometry_transform.c shapes that move with their to_world.
 *
 *   entries    the triangles that rays are tested against
 *   boxes      refits the hierarchy from the leaves up: the boxes of one round of nodes, whose children are
 *              leaves or belong to earlier rounds
 *   grids      the quantisation grid of each hierarchy, from its root's box (opt/ray_nodes.c)
 *   levels     copies of these grids in the records of levels
 *   pack       quantises boxes to cells of the grid, outward
 *   costs      the surface area heuristic's sum, in 64 parts; the host decides by it whether to build anew
 *   corners    of triangles, for acceleration structures
 *
 * Invariants: every step computes anew all that is in its range, so what did not change keeps its bytes. The
 * host has excluded NaN and infinite positions. Quantised boxes are never smaller than the boxes. */
#include "render/integrator/derived/geometry.h"
#include "base/bvh_layout.h"

enum { GRID_SPARE = 2 * BVH_CELLS_SPARE + 2, BOX_WORDS = 12 };

typedef struct box {
    ir_ref least[3], most[3];
} box;

/* ---- the work buffer ---- */

static ir_ref work_real(tracer *t, ir_ref at, uint32_t word)
{
    return ir_load(t->f, IR_F32, BUFFER_SAMPLES, t_offset(t, at, word));
}
static ir_ref work_header(tracer *t, enum refit_header word) { return work_word(t, t_u32(t, 0), word); }

static ir_ref boxes_of(tracer *t, ir_ref slot)
{
    return ir_add(t->f, work_header(t, REFIT_BOXES), ir_mul(t->f, slot, t_u32(t, BOX_WORDS)));
}

static box load_box(tracer *t, ir_ref at)
{
    box b;
    for (uint32_t k = 0; k < 3; k++)
        b.least[k] = work_real(t, at, k), b.most[k] = work_real(t, at, k + 3);
    return b;
}

static void store_box(tracer *t, ir_ref at, const box *b)
{
    for (uint32_t k = 0; k < 3; k++) {
        ir_store(t->f, BUFFER_SAMPLES, t_offset(t, at, k), b->least[k]);
        ir_store(t->f, BUFFER_SAMPLES, t_offset(t, at, k + 3), b->most[k]);
    }
}

/* ---- boxes ---- */

static box empty_box(tracer *t)
{
    ir_ref inf = t_f32(t, INFINITY), minus = t_f32(t, -INFINITY);
    return (box){{inf, inf, inf}, {minus, minus, minus}};
}

static box join(tracer *t, const box *a, const box *b)
{
    box r;
    for (int k = 0; k < 3; k++)
        r.least[k] = ir_min(t->f, a->least[k], b->least[k]), r.most[k] = ir_max(t->f, a->most[k], b->most[k]);
    return r;
}

static box choose(tracer *t, ir_ref condition, const box *a, const box *b)
{
    box r;
    for (int k = 0; k < 3; k++)
        r.least[k] = ir_select(t->f, condition, a->least[k], b->least[k]),
        r.most[k] = ir_select(t->f, condition, a->most[k], b->most[k]);
    return r;
}

/* The box of a node whose children's boxes are known: their union. */
static box whole_box(tracer *t, ir_ref slot)
{
    ir_ref at = boxes_of(t, slot);
    box left = load_box(t, at), right = load_box(t, t_offset(t, at, 6));
    return join(t, &left, &right);
}

/* Half the surface area: x y + y z + z x of its edges; 0 if it is empty. */
static ir_ref half_area(tracer *t, const box *b)
{
    ir_func *f = t->f;
    ir_ref e[3];
    for (int k = 0; k < 3; k++)
        e[k] = ir_max(f, ir_sub(f, b->most[k], b->least[k]), t_f32(t, 0));
    return t_mad(t, e[0], e[1], t_mad(t, e[1], e[2], ir_mul(f, e[2], e[0])));
}

/* ---- triangles ---- */

static ir_ref entry_at(tracer *t, ir_ref index)
{
    return ir_add(t->f, t_word(t, t_u32(t, 0), HEADER_ENTRIES),
                  ir_mul(t->f, index, t_u32(t, BVH_ENTRY_WORDS)));
}

/* bool: the entry is a triangle; triangles are the first of the kinds in use */
static ir_ref is_triangle(tracer *t, ir_ref entry)
{
    return t->plan->scene->kind_used[SHAPE_TRIANGLES] ? ir_eq(t->f, t_word(t, entry, 9), t_u32(t, 0))
                                                      : ir_bool(t->f, false);
}

static ir_ref data_of(tracer *t, ir_ref entry) { return t_word(t, shape_of_entry(t, entry), SHAPE_DATA); }

static void step_entries(tracer *t, ir_ref record, ir_ref id)
{
    (void)record;
    ir_func *f = t->f;
    ir_ref entry = entry_at(t, id);
    ir_if(f, is_triangle(t, entry));
    vec3 v[3];
    geometry_corners(t, data_of(t, entry), t_word(t, entry, BVH_ENTRY_PRIMITIVE), v);
    ir_ref words[9];
    vec3_put(v[0], words), vec3_put(v3_sub(t, v[1], v[0]), words + 3),
        vec3_put(v3_sub(t, v[2], v[0]), words + 6);
    for (uint32_t k = 0; k < 9; k++)
        ir_store(f, BUFFER_SCENE, t_offset(t, entry, k), words[k]);
    ir_else(f);
    ir_endif(f);
}

static void step_corners(tracer *t, ir_ref record, ir_ref id)
{
    vec3 v[3];
    ir_ref entry = entry_at(t, ir_add(t->f, work_word(t, record, REFIT_GROUP_ENTRY), id));
    ir_ref to = ir_add(t->f, work_word(t, record, REFIT_GROUP_CORNERS), ir_mul(t->f, id, t_u32(t, 9)));
    geometry_corners(t, data_of(t, entry), t_word(t, entry, BVH_ENTRY_PRIMITIVE), v);
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref p[3];
        vec3_put(v[k], p);
        for (uint32_t j = 0; j < 3; j++)
            ir_store(t->f, BUFFER_SAMPLES, t_offset(t, to, 3 * k + j), p[j]);
    }
}

/* ---- nodes ---- */

/* Empty if the entry is no triangle: its words must then not be followed. */
static box triangle_box(tracer *t, ir_ref entry)
{
    ir_func *f = t->f;
    ir_ref p[3], branch = ir_if(f, is_triangle(t, entry));
    vec3 v[3];
    box none = empty_box(t), b = none;
    geometry_corners(t, data_of(t, entry), t_word(t, entry, BVH_ENTRY_PRIMITIVE), v);
    for (int k = 0; k < 3; k++) {
        vec3_put(v[k], p);
        for (int axis = 0; axis < 3; axis++)
            b.least[axis] = ir_min(f, b.least[axis], p[axis]),
            b.most[axis] = ir_max(f, b.most[axis], p[axis]);
    }
    ir_else(f);
    ir_endif(f);
    for (int axis = 0; axis < 3; axis++)
        b.least[axis] = ir_phi(f, branch, b.least[axis], none.least[axis]),
        b.most[axis] = ir_phi(f, branch, b.most[axis], none.most[axis]);
    return b;
}

/* The box of entry `index` if it moves and is no triangle (shape/to_world.c); else *triangle. */
static box solid_box(tracer *t, ir_ref index, const box *triangle)
{
    ir_func *f = t->f;
    ir_ref entry = entry_at(t, index);
    if (!to_world_solids_move(t->plan))
        return *triangle;
    ir_ref to_world = t_word(t, shape_of_entry(t, entry), SHAPE_TO_WORLD),
           solid = ir_and(f, ir_not(f, is_triangle(t, entry)), ir_ne(f, to_world, t_u32(t, 0)));
    ir_ref number = work_word(t, ir_add(f, work_header(t, REFIT_NUMBERS), index), 0);
    /* Records of other kinds have no such word, so word 0 is read instead. */
    ir_ref boxes = t_word(t, ir_select(f, solid, to_world, t_u32(t, 0)), TO_WORLD_BOXES);
    ir_ref at = ir_select(f, solid, ir_add(f, boxes, ir_mul(f, number, t_u32(t, 6))), t_u32(t, 0));
    box b;
    for (uint32_t k = 0; k < 3; k++)
        b.least[k] = t_real(t, at, k), b.most[k] = t_real(t, at, 3 + k);
    return choose(t, solid, &b, triangle);
}

/* The box of `count` entries; count is 0 if the node is no leaf of entries. */
static box leaf_box(tracer *t, ir_ref first, ir_ref count)
{
    ir_func *f = t->f;
    box b = empty_box(t);
    ir_ref state[7] = {t_u32(t, 0), b.least[0], b.least[1], b.least[2], b.most[0], b.most[1], b.most[2]};
    ir_ref loop = ir_loop(f, state, 7);
    ir_while(f, ir_lt(f, state[0], count));
    box joined = {{state[1], state[2], state[3]}, {state[4], state[5], state[6]}},
        own = triangle_box(t, entry_at(t, ir_add(f, first, state[0])));
    own = solid_box(t, ir_add(f, first, state[0]), &own);
    joined = join(t, &joined, &own);
    ir_ref next[7] = {ir_add(f, state[0], t_u32(t, 1)),
                      joined.least[0],
                      joined.least[1],
                      joined.least[2],
                      joined.most[0],
                      joined.most[1],
                      joined.most[2]};
    ir_endloop(f, loop, next, 7);
    return (box){{state[1], state[2], state[3]}, {state[4], state[5], state[6]}};
}

/* The box in the world of a box in a group's space, as render_map_box does, enlarged for rounding in f32.
 * record: of the level. */
static box mapped_box(tracer *t, ir_ref record, const box *b)
{
    ir_func *f = t->f;
    box out;
    for (uint32_t row = 0; row < 3; row++) {
        ir_ref low = t_real(t, record, LEVEL_TO_WORLD + 4 * row + 3), high = low, size = ir_abs(f, low);
        for (uint32_t k = 0; k < 3; k++) {
            ir_ref m = t_real(t, record, LEVEL_TO_WORLD + 4 * row + k), x = ir_mul(f, m, b->least[k]),
                   y = ir_mul(f, m, b->most[k]);
            low = ir_add(f, low, ir_min(f, x, y)), high = ir_add(f, high, ir_max(f, x, y));
            size = ir_add(f, size, ir_max(f, ir_abs(f, x), ir_abs(f, y)));
        }
        ir_ref slack = ir_mul(f, size, t_f32(t, 4e-6f));
        out.least[row] = ir_sub(f, low, slack), out.most[row] = ir_add(f, high, slack);
    }
    return out;
}

/* The box of an instance, which is a leaf of the outer hierarchy. If `level` is false, the first level is
 * read and the result must not be used. */
static box instance_box(tracer *t, ir_ref reference, ir_ref level)
{
    ir_func *f = t->f;
    ir_ref first = work_header(t, REFIT_LEVELS),
           record = ir_select(f, level, ir_and(f, reference, t_u32(t, ~BVH_LEVEL)), first);
    ir_ref index = ir_div(f, ir_sub(f, record, first), t_u32(t, LEVEL_WORDS));
    ir_ref grid = work_word(t, ir_add(f, work_header(t, REFIT_LEVEL_GRIDS), index), 0);
    box group = whole_box(t, t_offset(t, grid, 1));
    return mapped_box(t, record, &group);
}

static box child_box(tracer *t, ir_ref slot, uint32_t side)
{
    ir_func *f = t->f;
    ir_ref node = ir_add(f, t_word(t, t_u32(t, 0), HEADER_NODES), ir_mul(f, slot, t_u32(t, BVH_NODE_WORDS)));
    ir_ref reference = t_word(t, node, 6 + side), zero = t_u32(t, 0);
    ir_ref there = ir_ne(f, reference, t_u32(t, BVH_NONE)),
           inner = ir_eq(f, ir_and(f, reference, t_u32(t, BVH_LEAF)), zero);
    ir_ref level = ir_and(
        f, there,
        ir_and(f, ir_not(f, inner), ir_ne(f, ir_and(f, reference, t_u32(t, (BVH_LEVEL & ~BVH_LEAF))), zero)));
    if (t->plan->scene->groups.count == 0)
        level = ir_bool(f, false);
    ir_ref leaf = ir_and(f, there, ir_not(f, ir_or(f, inner, level)));
    ir_ref count = t_offset(t, ir_and(f, ir_shr(f, reference, t_u32(t, 28)), t_u32(t, 3)), 1);
    box b = leaf_box(t, ir_and(f, reference, t_u32(t, BVH_LEAF_FIRST)), ir_select(f, leaf, count, zero));
    if (refit_has_fixed(t->plan->scene)) {
        ir_ref at = ir_add(f, work_header(t, REFIT_FIXED),
                           t_offset(t, ir_mul(f, slot, t_u32(t, BOX_WORDS)), 6 * side));
        box others = load_box(t, at);
        b = join(t, &b, &others);
    }
    box below = whole_box(t, ir_select(f, inner, ir_shr(f, reference, t_u32(t, 3)), slot));
    b = choose(t, inner, &below, &b);
    if (t->plan->scene->groups.count) {
        box instance = instance_box(t, reference, level);
        b = choose(t, level, &instance, &b);
    }
    return b;
}

static void step_boxes(tracer *t, ir_ref record, ir_ref id)
{
    ir_ref slot = work_word(t, ir_add(t->f, record, ir_shl(t->f, id, t_u32(t, 1))), 0),
           at = boxes_of(t, slot);
    for (uint32_t side = 0; side < 2; side++) {
        box b = child_box(t, slot, side);
        store_box(t, t_offset(t, at, 6 * side), &b);
    }
}

/* The grid as in opt/ray_nodes.c, enlarged for rounding in f32. */
static void step_grids(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref grid = work_word(t, ir_add(f, record, id), 0),
           to = ir_add(f, t_word(t, t_u32(t, 0), HEADER_NODES), ir_mul(f, grid, t_u32(t, BVH_NODE_WORDS)));
    box b = whole_box(t, t_offset(t, grid, 1));
    for (uint32_t axis = 0; axis < 3; axis++) {
        ir_ref there = ir_le(f, b.least[axis], b.most[axis]),
               low = ir_select(f, there, b.least[axis], t_f32(t, 0));
        ir_ref high = ir_select(f, there, b.most[axis], t_f32(t, 0)),
               far = ir_max(f, ir_abs(f, low), ir_abs(f, high));
        ir_ref size =
            ir_max(f, ir_max(f, ir_sub(f, high, low), ir_mul(f, far, t_f32(t, 1e-6f))), t_f32(t, 1e-30f));
        ir_ref cell = ir_mul(f, size, t_f32(t, 1.000001f / (BVH_CELLS - 2 * GRID_SPARE)));
        ir_ref origin = ir_sub(f, ir_sub(f, low, ir_mul(f, cell, t_f32(t, GRID_SPARE))),
                               ir_mul(f, far, t_f32(t, 0x1p-22f)));
        ir_ref reach = ir_mul(f, ir_sub(f, high, origin), t_f32(t, 1.000001f / (BVH_CELLS - GRID_SPARE)));
        ir_store(f, BUFFER_SCENE, t_offset(t, to, axis), origin);
        ir_store(f, BUFFER_SCENE, t_offset(t, to, BVH_GRID_CELL + axis), ir_max(f, cell, reach));
    }
}

/* Copies a grid into the record of its level. */
static void step_levels(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    (void)record;
    ir_ref grid = work_word(t, ir_add(f, work_header(t, REFIT_LEVEL_GRIDS), id), 0);
    ir_ref from = ir_add(f, t_word(t, t_u32(t, 0), HEADER_NODES), ir_mul(f, grid, t_u32(t, BVH_NODE_WORDS)));
    ir_ref to = ir_add(f, work_header(t, REFIT_LEVELS), ir_mul(f, id, t_u32(t, LEVEL_WORDS)));
    for (uint32_t k = 0; k < 6; k++)
        ir_store(f, BUFFER_SCENE, t_offset(t, to, LEVEL_GRID + k), t_real(t, from, k));
}

/* Quantises the boxes of both children: each plane moves outward to a whole cell, and one cell further. */
static void step_pack(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref pair = ir_add(f, record, ir_shl(f, id, t_u32(t, 1))), slot = work_word(t, pair, 0),
           nodes = t_word(t, t_u32(t, 0), HEADER_NODES);
    ir_ref grid = ir_add(f, nodes, ir_mul(f, work_word(t, pair, 1), t_u32(t, BVH_NODE_WORDS)));
    ir_ref node = ir_add(f, nodes, ir_mul(f, slot, t_u32(t, BVH_NODE_WORDS))), at = boxes_of(t, slot);
    box b[2] = {load_box(t, at), load_box(t, t_offset(t, at, 6))};
    for (uint32_t axis = 0; axis < 3; axis++) {
        ir_ref origin = t_real(t, grid, axis), cell = t_real(t, grid, BVH_GRID_CELL + axis),
               word[2] = {t_u32(t, 0), t_u32(t, 0)};
        for (uint32_t side = 0; side < 2; side++) {
            ir_ref there = ir_le(f, b[side].least[axis], b[side].most[axis]);
            ir_ref low = ir_div(f, ir_sub(f, ir_select(f, there, b[side].least[axis], origin), origin), cell);
            ir_ref high = ir_div(f, ir_sub(f, ir_select(f, there, b[side].most[axis], origin), origin), cell);
            /* the quotient is right to a hundredth of a cell; a whole number and that are added before the
             * fraction is cut off */
            low = ir_to_u32(f, t_clamp(t, ir_sub(f, low, t_f32(t, 1.02f)), 0, BVH_CELLS));
            high = ir_to_u32(f, t_clamp(t, ir_add(f, high, t_f32(t, 2.02f)), 0, BVH_CELLS));
            low = ir_select(f, there, low, t_u32(t, BVH_CELLS)),
            high = ir_select(f, there, high, t_u32(t, 0));
            word[0] = ir_or(f, word[0], ir_shl(f, low, t_u32(t, 16 * side)));
            word[1] = ir_or(f, word[1], ir_shl(f, high, t_u32(t, 16 * side)));
        }
        ir_store(f, BUFFER_SCENE, t_offset(t, node, axis), word[0]);
        ir_store(f, BUFFER_SCENE, t_offset(t, node, axis + 3), word[1]);
    }
}

/* Part `id` of the sum over nodes of both children's areas over the root's: the expected number of boxes that
 * a ray through the root hits (surface area heuristic). */
static void step_costs(tracer *t, ir_ref record, ir_ref id)
{
    ir_func *f = t->f;
    ir_ref count = work_header(t, REFIT_NODE_COUNT), state[2] = {id, t_f32(t, 0)},
           loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], count));
    ir_ref pair = ir_add(f, record, ir_shl(f, state[0], t_u32(t, 1))),
           at = boxes_of(t, work_word(t, pair, 0));
    box left = load_box(t, at), right = load_box(t, t_offset(t, at, 6)),
        root = whole_box(t, t_offset(t, work_word(t, pair, 1), 1));
    ir_ref share = t_ratio(t, ir_add(f, half_area(t, &left), half_area(t, &right)), half_area(t, &root));
    ir_endloop(f, loop,
               (ir_ref[]){ir_add(f, state[0], t_u32(t, REFIT_COST_PARTS)), ir_add(f, state[1], share)}, 2);
    ir_store(f, BUFFER_SAMPLES, ir_add(f, work_header(t, REFIT_COSTS), id), state[1]);
}

/* ---- the kernel ---- */

static void (*const steps[REFIT_STEP_COUNT])(tracer *t, ir_ref record, ir_ref id) = {
    [REFIT_TO_WORLD] = geometry_to_world,
    [REFIT_TO_WORLD_INVERSE] = geometry_to_world_inverse,
    [REFIT_INSTANCE] = geometry_instance,
    [REFIT_TRANSFORM_POINTS] = geometry_transform_points,
    [REFIT_SOLID] = geometry_solid,
    [REFIT_NORMAL_VALUES] = geometry_normal_values,
    [REFIT_NORMALS] = geometry_normals,
    [REFIT_AREA_BLOCKS] = geometry_area_blocks,
    [REFIT_AREA_SUMS] = geometry_area_sums,
    [REFIT_AREA_TABLE] = geometry_area_table,
    [REFIT_ENTRIES] = step_entries,
    [REFIT_ROUND] = step_boxes,
    [REFIT_GRID] = step_grids,
    [REFIT_LEVEL] = step_levels,
    [REFIT_PACK] = step_pack,
    [REFIT_COST] = step_costs,
    [REFIT_CORNER] = step_corners,
    [REFIT_REMAKE] = geometry_remake,
    [REFIT_HEIGHTS] = geometry_heights,
};

/* Whether scenes of this kind have the step. */
static bool has_step(const render_scene *s, uint32_t step)
{
    return step == REFIT_REMAKE ? s->ellipsoid_field : step == REFIT_HEIGHTS ? s->has_heights : true;
}

bl_result kernel_geometry(const plan *p, ir_module *m)
{
    BL_ASSERT(!p->baked, "%u words of geometry are constants of the kernels", p->words.count);
    m->buffers.data[BUFFER_SCENE].constant = m->buffers.data[BUFFER_VALUES].constant = false;
    ir_func *functions[REFIT_STEP_COUNT];
    uint32_t count = REFIT_STEP_COUNT;
    while (!has_step(p->scene, count - 1))
        count--;
    for (uint32_t k = 0; k < count; k++) {
        ir_func *f = functions[k] = ir_func_create(m, refit_step_names[k]);
        tracer t = plan_tracer(p, f);
        ir_ref record = ir_param(f, IR_U32), id = ir_param(f, IR_U32);
        if (has_step(p->scene, k))
            steps[k](&t, record, id);
        ir_return(f, NULL, 0);
    }
    ir_func *f = m->entry = ir_func_create(m, "geometry");
    ir_ref id = ir_global_id(f), args[2] = {ir_uniform(f, IR_U32, UNIFORM_TABLE_RECORD), id};
    ir_if(f, ir_lt(f, id, ir_uniform(f, IR_U32, UNIFORM_LANE_COUNT)));
    ir_call(f, ir_uniform(f, IR_U32, UNIFORM_TABLE_STEP), functions, count, args, 2, NULL);
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    return BL_OK;
}
