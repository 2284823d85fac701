/* SPDX-License-Identifier: BSD-3-Clause
 * The lists behind refit.h, made on the host; and new hierarchies where moved vertices have made the old ones
 * bad. */
#include "render/refit.h"

#include "base/bvh_layout.h"
#include "render/classes.h"
#include "render/shape/ellipsoids.h"

const char *const refit_step_names[REFIT_STEP_COUNT] = {
    "place",       "place inverse", "instance",   "settle",  "solid",  "normal values", "normals",
    "area blocks", "area sums",     "area table", "entries", "round",  "grid",          "level",
    "pack",        "cost",          "corner",     "remake",  "heights"};

/* ---- lists ---- */

typedef struct lists {
    const plan *p;
    refit *out;
    uint32_t *height; /* by slot: rounds up to and including the node's */
} lists;

/* Room for `count` words, zeroed. */
static uint32_t room(refit *r, uint32_t count)
{
    uint32_t at = r->work.count;
    array_reserve(&r->work, at + count + 1);
    memset(r->work.data + at, 0, count * sizeof(uint32_t));
    r->work.count += count;
    return at;
}

static void add(refit *r, refit_step step, uint32_t record, uint32_t lanes, uint32_t parameter)
{
    refit_dispatch d = {step, record, lanes, parameter};
    if (lanes)
        array_push(&r->dispatches, d);
}

/* ---- nodes ---- */

static const uint32_t *node_at(const plan *p, uint32_t slot)
{
    return p->words.data + p->words.data[HEADER_NODES] + BVH_NODE_WORDS * (size_t)slot;
}

/* Notes the heights of the nodes of one hierarchy, whose children stand behind their parents. Returns the
 * greatest. */
static uint32_t find_heights(lists *l, uint32_t grid, uint32_t count)
{
    uint32_t most = 0;
    for (uint32_t slot = grid + count; slot > grid; slot--) {
        uint32_t height = 1;
        for (int side = 0; side < 2; side++) {
            uint32_t reference = node_at(l->p, slot)[BVH_NODE_REFERENCE + side];
            if (!(reference & BVH_LEAF) && l->height[reference / BVH_NODE_WORDS] >= height)
                height = l->height[reference / BVH_NODE_WORDS] + 1;
        }
        l->height[slot] = height;
        most = height > most ? height : most;
    }
    return most;
}

/* A hierarchy: its grid's slot and how many nodes follow. */
typedef struct tree {
    uint32_t grid, count;
} tree;

/* Pairs of the nodes of some trees, round by round, and the dispatches. */
static void add_rounds(lists *l, const tree *trees, uint32_t tree_count)
{
    uint32_t rounds = 0;
    for (uint32_t k = 0; k < tree_count; k++) {
        uint32_t own = find_heights(l, trees[k].grid, trees[k].count);
        rounds = own > rounds ? own : rounds;
    }
    for (uint32_t round = 1; round <= rounds; round++) {
        uint32_t first = l->out->work.count;
        for (uint32_t k = 0; k < tree_count; k++)
            for (uint32_t slot = trees[k].grid + 1; slot <= trees[k].grid + trees[k].count; slot++)
                if (l->height[slot] == round) {
                    uint32_t at = room(l->out, 2);
                    l->out->work.data[at] = slot, l->out->work.data[at + 1] = trees[k].grid;
                }
        add(l->out, REFIT_ROUND, first, (l->out->work.count - first) / 2, PLAN_NONE);
    }
}

/* For every child that is a leaf: the box of those of its primitives that are no triangles. */
static void add_fixed(lists *l, uint32_t slots)
{
    static const float empty[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    const plan *p = l->p;
    uint32_t at = room(l->out, 12 * slots);
    l->out->work.data[REFIT_FIXED] = at;
    for (uint32_t i = 0; i < 2 * slots; i++) {
        float box[6];
        memcpy(box, empty, sizeof box);
        uint32_t reference = l->height[i / 2] ? node_at(p, i / 2)[BVH_NODE_REFERENCE + i % 2] : BVH_NONE,
                 first = reference & BVH_LEAF_FIRST;
        bool entries = reference != BVH_NONE && reference & BVH_LEAF && !(reference & BVH_LEAF >> 1);
        for (uint32_t e = first; entries && e <= first + (reference >> 28 & 3); e++) {
            const render_primitive *primitive = &p->scene->primitives.data[p->order[e]];
            if (primitive->entry[BVH_ENTRY_KIND] != SHAPE_TRIANGLES &&
                !to_world_requested(p, p->scene->shapes.data[primitive->entry[BVH_ENTRY_SHAPE]].object))
                render_join_box(box, primitive->bounds);
        }
        memcpy(l->out->work.data + at + 6 * i, box, sizeof box);
    }
}

/* The cost of one hierarchy, which REFIT_COST adds up on the device. */
static double cost_of(const scene_bvh *b)
{
    double sum = 0, root[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (uint32_t i = 0; i < 2 * b->node_count; i++) {
        float box[6];
        double e[3];
        memcpy(box, b->nodes + 16 * (size_t)(i / 2) + 6 * (i % 2), sizeof box);
        for (int k = 0; k < 3; k++) {
            e[k] = fmax((double)box[3 + k] - (double)box[k], 0);
            if (i < 2)
                root[k] = fmin(root[k], (double)box[k]), root[3 + k] = fmax(root[3 + k], (double)box[3 + k]);
        }
        sum += e[0] * e[1] + e[1] * e[2] + e[2] * e[0];
    }
    double x = root[3] - root[0], y = root[4] - root[1], z = root[5] - root[2], whole = x * y + y * z + z * x;
    return whole > 0 ? sum / whole : 0;
}

/* The number of an entry's primitive within its shape. */
static uint32_t number_of(const plan *p, uint32_t entry)
{
    return p->order[entry] -
           p->scene->shapes.data[p->scene->primitives.data[p->order[entry]].entry[BVH_ENTRY_SHAPE]]
               .first_entry_primitive;
}

static void add_numbers(const plan *p, refit *r)
{
    uint32_t at = room(r, p->scene->primitives.count);
    r->work.data[REFIT_NUMBERS] = at;
    for (uint32_t e = 0; e < p->scene->primitives.count; e++)
        r->work.data[at + e] = number_of(p, e);
}

static void add_nodes(lists *l)
{
    const plan *p = l->p;
    refit *r = l->out;
    uint32_t groups = p->scene->groups.count, slots = 0, count = 0;
    tree *trees =
        memory_need_zeroed(groups + 1, sizeof *trees); /* the outer hierarchy's, or the only one; groups' */
    for (uint32_t k = 0; k <= groups; k++) {
        const scene_bvh *b = k ? plan_group_bvh(p, k - 1) : plan_outer_bvh(p);
        trees[k] = (tree){slots, b->node_count};
        slots += b->node_count + 1, count += b->node_count;
        r->cost += cost_of(b);
    }
    l->height = memory_need_zeroed(slots + 1, sizeof *l->height);
    r->work.data[REFIT_NODE_COUNT] = count;
    uint32_t boxes = room(r, 12 * slots), costs = room(r, REFIT_COST_PARTS), pairs;
    r->work.data[REFIT_BOXES] = boxes, r->work.data[REFIT_COSTS] = costs;
    add(r, REFIT_ENTRIES, 0, p->scene->primitives.count, PLAN_NONE);
    /* pairs of all hierarchies follow each other, so lists of grids come first */
    uint32_t grids = room(r, groups + 1);
    for (uint32_t k = 0; k <= groups; k++)
        r->work.data[grids + k] = trees[k].grid;
    if (groups) {
        uint32_t level_grids = room(r, p->scene->instances.count + 1);
        r->work.data[REFIT_LEVEL_GRIDS] = level_grids;
        r->work.data[REFIT_LEVELS] = p->words.data[HEADER_LEVEL];
        for (uint32_t k = 0; k < p->scene->instances.count; k++)
            r->work.data[level_grids + 1 + k] = trees[1 + p->scene->instances.data[k].group].grid;
    }
    pairs = r->work.count;
    if (groups) {
        add_rounds(l, trees + 1, groups);
        add(r, REFIT_GRID, grids + 1, groups, PLAN_NONE);
    }
    add_rounds(l, trees, 1);
    add(r, REFIT_GRID, grids, 1, PLAN_NONE);
    add(r, REFIT_LEVEL, 0, groups ? p->scene->instances.count + 1 : 0, PLAN_NONE);
    add(r, REFIT_PACK, pairs, count, PLAN_NONE);
    add(r, REFIT_COST, pairs, REFIT_COST_PARTS, PLAN_NONE);
    if (refit_has_fixed(p->scene))
        add_fixed(l, slots);
    if (to_world_solids_move(p))
        add_numbers(p, r);
    memory_free(l->height);
    memory_free(trees);
}

/* ---- meshes ---- */

/* For each vertex: the list of the corners of faces that meet there. */
static void add_corners(const plan *p, const render_shape *shape, uint32_t record, refit *r)
{
    const uint32_t *mesh = p->words.data + p->geometry + shape->data, n = shape->vertex_count,
                   corners = 3 * mesh[MESH_FACE_COUNT];
    const uint32_t *faces = p->words.data + mesh[MESH_FACES];
    uint32_t starts = room(r, n + 2), list = room(r, corners), *count = r->work.data + starts + 1;
    r->work.data[record + REFIT_MESH_STARTS] = starts, r->work.data[record + REFIT_MESH_CORNERS] = list;
    for (uint32_t c = 0; c < corners; c++)
        count[faces[c] + 1]++; /* one place late, so that filling the lists leaves them where they begin */
    for (uint32_t v = 1; v < n; v++)
        count[v + 1] += count[v];
    for (uint32_t c = 0; c < corners; c++)
        r->work.data[list + count[faces[c]]++] = c;
}

/* The array that moves the ellipsoids of a shape; PLAN_NONE: none does. */
static uint32_t ellipsoid_mover(const plan *p, const render_shape *shape, const bool *moves)
{
    uint32_t found = PLAN_NONE;
    for (int k = 0; k < ELLIPSOID_ARRAYS; k++) {
        uint32_t i = ellipsoid_parameter(p->scene, shape, (enum ellipsoid_array)k);
        if (i != PLAN_NONE && moves[i])
            found = i;
    }
    return found;
}

/* The parameter that moves a shape, its positions, its to_world or its own array; PLAN_NONE: none moves. */
static uint32_t mover(const plan *p, const render_shape *shape, const bool *moves)
{
    uint32_t position =
                 render_find_parameter(p->scene, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS),
             place = to_world_parameter(p->scene, shape->object);
    return position != PLAN_NONE && moves[position] ? position
           : place != PLAN_NONE && moves[place]     ? place
                                                    : ellipsoid_mover(p, shape, moves);
}

/* Where 1 / area of a shape stands; PLAN_NONE: it is no light. */
static uint32_t inverse_area(const plan *p, uint32_t index)
{
    const uint32_t *own = p->words.data + p->words.data[HEADER_SHAPES] + index * SHAPE_WORDS;
    return own[SHAPE_EMITTER_CLASS] == PLAN_NONE
               ? PLAN_NONE
               : own[SHAPE_EMITTER_RECORD] + p->emitters.data[own[SHAPE_EMITTER_CLASS]]->extra_word +
                     AREA_INVERSE_AREA;
}

static void add_solid(const plan *p, uint32_t index, uint32_t parameter, refit *r)
{
    const render_shape *shape = &p->scene->shapes.data[index];
    uint32_t record = room(r, REFIT_SOLID_WORDS), entries = room(r, shape->primitive_count);
    for (uint32_t e = 0; e < p->scene->primitives.count; e++)
        if (p->order[e] - shape->first_entry_primitive < shape->primitive_count)
            r->work.data[entries + p->order[e] - shape->first_entry_primitive] =
                p->words.data[HEADER_ENTRIES] + BVH_ENTRY_WORDS * e;
    uint32_t *w = r->work.data + record;
    w[REFIT_SOLID_TO_WORLD] =
        p->words.data[p->words.data[HEADER_SHAPES] + index * SHAPE_WORDS + SHAPE_TO_WORLD];
    w[REFIT_SOLID_ENTRIES] = entries;
    w[REFIT_SOLID_INVERSE_AREA] = inverse_area(p, index), w[REFIT_SOLID_KIND] = shape->kind;
    if (p->scene->ellipsoid_field) {
        add(r, REFIT_REMAKE, record, shape->primitive_count, PLAN_NONE);
        return;
    }
    add(r, REFIT_TRANSFORM_POINTS, record,
        shape_kinds[shape->kind]->transform_point ? shape->vertex_count : 0, parameter);
    add(r, REFIT_SOLID, record, shape->primitive_count,
        PLAN_NONE); /* as entries of triangles: new hierarchies begin with the loaded scene's */
    add(r, REFIT_TO_WORLD_INVERSE, r->work.data[record + REFIT_SOLID_TO_WORLD], 1, parameter);
}

static void add_mesh(const plan *p, uint32_t index, uint32_t parameter, refit *r)
{
    const render_shape *shape = &p->scene->shapes.data[index];
    bool placed = to_world_requested(p, shape->object); /* and its normals go along */
    uint32_t record = room(r, REFIT_MESH_WORDS), faces = shape->primitive_count,
             data = p->geometry + shape->data;
    const uint32_t *own = p->words.data + p->words.data[HEADER_SHAPES] + index * SHAPE_WORDS;
    uint32_t light = inverse_area(p, index),
             normals = render_find_parameter(p->scene, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_NORMALS);
    faces = p->words.data[data + MESH_FACE_COUNT];
    uint32_t block_count = (faces + REFIT_AREA_BLOCK - 1) / REFIT_AREA_BLOCK,
             blocks = room(r, block_count + 1);
    r->work.data[record + REFIT_MESH_DATA] = data, r->work.data[record + REFIT_MESH_INVERSE_AREA] = light;
    r->work.data[record + REFIT_MESH_BLOCKS] = blocks;
    if (placed) {
        add(r, REFIT_TO_WORLD, own[SHAPE_TO_WORLD], shape->vertex_count, parameter);
        add(r, REFIT_TO_WORLD_INVERSE, own[SHAPE_TO_WORLD], 1, parameter);
    }
    if (!placed && p->words.data[data + MESH_HEIGHTS])
        add(r, REFIT_HEIGHTS, data, shape->vertex_count, parameter);
    if (!placed && shape->normals_made && normals != PLAN_NONE &&
        (p->gradient_offset[normals] == PLAN_NONE || p->normals_of[normals] != PLAN_NONE)) {
        add_corners(p, shape, record, r);
        r->work.data[record + REFIT_MESH_NORMAL_VALUES] = p->value_offset[normals];
        r->work.data[record + REFIT_MESH_NORMAL_GRADIENTS] = p->gradient_offset[normals];
        add(r, REFIT_NORMAL_VALUES, record, p->normals_of[normals] != PLAN_NONE ? shape->vertex_count : 0,
            parameter);
        add(r, REFIT_NORMALS, record, shape->vertex_count, parameter);
    }
    add(r, REFIT_AREA_BLOCKS, record, block_count, parameter);
    add(r, REFIT_AREA_SUMS, record, 1, parameter);
    add(r, REFIT_AREA_TABLE, record, faces, parameter);
}

static void add_instance(const plan *p, uint32_t index, uint32_t parameter, refit *r)
{
    uint32_t record = room(r, REFIT_INSTANCE_WORDS);
    r->work.data[record + REFIT_INSTANCE_TO_WORLD] = p->level_motions[index];
    r->work.data[record + REFIT_INSTANCE_LEVEL] = plan_level(p, index);
    r->instances[index] = record;
    add(r, REFIT_INSTANCE, record, 1, PLAN_NONE); /* as solids */
    add(r, REFIT_TO_WORLD_INVERSE, p->level_motions[index], 1, parameter);
}

/* For queries: entries, and corners of the groups in which something moves. */
static void add_queries(const plan *p, const bool *moves, refit *r)
{
    const render_scene *s = p->scene;
    r->corners = memory_need_zeroed(p->group_count, sizeof *r->corners);
    add(r, REFIT_ENTRIES, 0, s->primitives.count, PLAN_NONE);
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        uint32_t group = s->groups.count ? shape->group : 0;
        if (mover(p, shape, moves) == PLAN_NONE || r->corners[group])
            continue;
        const plan_group *g = &p->groups[group];
        uint32_t triangles = g->count - g->box_count, record = room(r, REFIT_GROUP_WORDS),
                 corners = room(r, 9 * triangles);
        r->work.data[record + REFIT_GROUP_ENTRY] = g->first + g->box_count,
                              r->work.data[record + REFIT_GROUP_CORNERS] = corners;
        r->corners[group] = corners;
        add(r, REFIT_CORNER, record, triangles, PLAN_NONE);
    }
}

void refit_create(const plan *p, const bool *moves, refit *out)
{
    const render_scene *s = p->scene;
    *out = (refit){0};
    room(out, REFIT_HEADER_WORDS);
    out->instances = memory_need_zeroed(s->instances.count + 1, sizeof *out->instances);
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        uint32_t parameter = mover(p, &s->shapes.data[i], moves);
        if (parameter != PLAN_NONE)
            (s->shapes.data[i].kind == SHAPE_TRIANGLES ? add_mesh : add_solid)(p, i, parameter, out);
    }
    for (uint32_t k = 0; k < s->instances.count; k++) {
        uint32_t parameter = to_world_parameter(s, s->instances.data[k].object);
        if (parameter != PLAN_NONE && moves[parameter])
            add_instance(p, k, parameter, out);
    }
    if (p->query)
        add_queries(p, moves, out);
    else
        add_nodes(&(lists){.p = p, .out = out});
}

void refit_free(refit *r)
{
    array_free(&r->work);
    array_free(&r->dispatches);
    memory_free(r->corners);
    memory_free(r->instances);
    *r = (refit){0};
}

/* ---- new hierarchies ---- */

static void triangle_bounds(const uint32_t *words, const plan *p, const render_primitive *primitive,
                            float bounds[6])
{
    const uint32_t *mesh =
        words + p->geometry + p->scene->shapes.data[primitive->entry[BVH_ENTRY_SHAPE]].data;
    const uint32_t *face = words + mesh[MESH_FACES] + 3 * (size_t)primitive->entry[BVH_ENTRY_PRIMITIVE];
    for (int k = 0; k < 3; k++) {
        float v[3];
        memcpy(v, words + mesh[MESH_POSITIONS] + 3 * (size_t)face[k], sizeof v);
        const float point[6] = {v[0], v[1], v[2], v[0], v[1], v[2]};
        if (k)
            render_join_box(bounds, point);
        else
            memcpy(bounds, point, sizeof point);
    }
}

/* Over the primitives of group `group`, or of all. */
static bl_result rebuild_group(const plan *p, uint32_t group, scene_bvh *out, float whole[6], bl_error *err)
{
    const plan_group *g = &p->groups[group];
    float(*bounds)[6] = memory_need((size_t)(g->count + 1) * sizeof *bounds);
    for (uint32_t i = 0; i < g->count; i++) {
        const render_primitive *primitive = &p->scene->primitives.data[p->order[g->first + i]];
        const uint32_t *own =
            p->words.data + p->words.data[HEADER_SHAPES] + primitive->entry[BVH_ENTRY_SHAPE] * SHAPE_WORDS;
        if (primitive->entry[BVH_ENTRY_KIND] == SHAPE_TRIANGLES)
            triangle_bounds(p->words.data, p, primitive, bounds[i]);
        else if (own[SHAPE_TO_WORLD])
            memcpy(bounds[i],
                   p->words.data + p->words.data[own[SHAPE_TO_WORLD] + TO_WORLD_BOXES] +
                       6 * (size_t)number_of(p, g->first + i),
                   sizeof *bounds);
        else
            memcpy(bounds[i], primitive->bounds, sizeof *bounds);
        render_join_box(whole, bounds[i]);
    }
    bl_result r = bvh_build_within((const float(*)[6])bounds, g->count, BVH_LEAF_MAX,
                                   plan_group_bvh(p, group)->depth, out, err);
    for (uint32_t i = 0; r == BL_OK && i < g->count; i++)
        out->order[i] = p->order[g->first + out->order[i]];
    memory_free(bounds);
    return r;
}

static bl_result rebuild_outer(const plan *p, const float (*groups)[6], scene_bvh *out, bl_error *err)
{
    const render_scene *s = p->scene;
    float(*bounds)[6] = memory_need((size_t)(s->instances.count + 1) * sizeof *bounds);
    for (uint32_t k = 0; k < s->instances.count; k++) {
        float to_world[12];
        memcpy(to_world, p->words.data + plan_level(p, k) + LEVEL_TO_WORLD, sizeof to_world);
        render_map_box(to_world, groups[s->instances.data[k].group], bounds[k]);
    }
    bl_result r = bvh_build_within((const float(*)[6])bounds, s->instances.count, 1, plan_outer_bvh(p)->depth,
                                   out, err);
    memory_free(bounds);
    return r;
}

bl_result refit_rebuild(plan *p, bl_error *err)
{
    const render_scene *s = p->scene;
    uint32_t groups = p->group_count, outer = s->groups.count > 0;
    scene_bvh *made = memory_need_zeroed(groups + 1, sizeof *made);
    float(*whole)[6] = memory_need((size_t)groups * sizeof *whole);
    bl_result r = BL_OK;
    for (uint32_t g = 0; r == BL_OK && g < groups; g++) {
        for (int k = 0; k < 3; k++)
            whole[g][k] = INFINITY, whole[g][3 + k] = -INFINITY;
        r = rebuild_group(p, g, &made[g], whole[g], err);
    }
    if (r == BL_OK && outer)
        r = rebuild_outer(p, (const float(*)[6])whole, &made[groups], err);
    memory_free(whole);
    if (r != BL_OK) {
        for (uint32_t g = 0; g <= groups; g++)
            bvh_free(&made[g]);
        memory_free(made);
        return r;
    }
    plan_take_hierarchies(p, made);
    return BL_OK;
}
