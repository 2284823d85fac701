/* SPDX-License-Identifier: BSD-3-Clause
 * The tree of nodes: where things are in the world, and shapes for the meshes of nodes. A large mesh that
 * several nodes show is a shapegroup with instances; others are shapes of their own. Where a node mirrors,
 * faces are turned, so that the front stays the front (glTF 2.0, 3.7.4).
 *
 * Each node is reached once, since a tree has no cycles and no node two parents; so trees of any depth and
 * with any mistake end. */
#include "scene/gltf/gltf.h"

#include <math.h>
#include <string.h>

enum { INSTANCED_FACES_LEAST = 256 /* below, a hierarchy of its own does not pay */ };

static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

/* ---- places ---- */

static void multiply(const double a[16], const double b[16], double out[16])
{
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            double sum = 0;
            for (int m = 0; m < 4; m++)
                sum += a[4 * i + m] * b[4 * m + k];
            out[4 * i + k] = sum;
        }
}

/* Translation, rotation (a quaternion x y z w) and scale as a matrix. */
static void from_parts(const double t[3], const double q[4], const double s[3], double m[16])
{
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), x = q[0] / length,
                 y = q[1] / length, z = q[2] / length, w = q[3] / length;
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                         2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                         2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    memcpy(m, identity, sizeof identity);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            m[4 * i + k] = r[3 * i + k] * s[k];
        m[4 * i + 3] = t[i];
    }
}

static bl_result local_matrix(gltf *g, gltf_place where, const cJSON *node, double m[16])
{
    double columns[16], t[3] = {0}, q[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1};
    if (gltf_get(node, "matrix")) {
        TRY(gltf_numbers(g, where, node, "matrix", 16, -1e15, 1e15, columns));
        for (int i = 0; i < 16; i++)
            m[i] = columns[i % 4 * 4 + i / 4];
        if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
            return gltf_error(g, BL_ERROR_SCENE, where, "its \"matrix\" is not affine");
        return BL_OK;
    }
    TRY(gltf_numbers(g, where, node, "translation", 3, -1e15, 1e15, t));
    TRY(gltf_numbers(g, where, node, "rotation", 4, -1e3, 1e3, q));
    TRY(gltf_numbers(g, where, node, "scale", 3, -1e15, 1e15, s));
    if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
        return gltf_error(g, BL_ERROR_SCENE, where, "its \"rotation\" is no quaternion of length 1");
    from_parts(t, q, s, m);
    return BL_OK;
}

/* A node to be visited, and the place of its parent. */
typedef struct waiting {
    uint32_t node;
    double parent[16];
} waiting;
typedef struct node_stack {
    ARRAY(waiting) list;
    bool *reached; /* of all nodes */
} node_stack;

/* Puts the nodes of an array on the stack, the last one first, so that the first one is taken first. */
static bl_result push_all(gltf *g, gltf_place where, const cJSON *array, const double parent[16],
                          node_stack *stack)
{
    const uint32_t first = stack->list.count;
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(number >= 0 && number < (double)g->lists[GLTF_NODES].count) || number != floor(number))
            return gltf_error(g, BL_ERROR_SCENE, where, "one of its nodes is not an index below %u",
                              g->lists[GLTF_NODES].count);
        waiting w = {.node = (uint32_t)number};
        memcpy(w.parent, parent, sizeof w.parent);
        if (stack->reached[w.node])
            return gltf_error(g, BL_ERROR_SCENE, (gltf_place){GLTF_NODES, w.node},
                              "it is reached twice: the nodes are no tree");
        stack->reached[w.node] = true;
        TRY(array_check(&stack->list, 1, g->err));
        array_push(&stack->list, w);
    }
    for (uint32_t i = first, k = stack->list.count; i + 1 < k; i++) {
        const waiting swap = stack->list.data[i];
        stack->list.data[i] = stack->list.data[--k];
        stack->list.data[k] = swap;
    }
    return BL_OK;
}

static bool mirrors(const double m[16]) { return matrix_determinant3(m) < 0; }

static bl_result visit(gltf *g, node_stack *stack)
{
    static const char *const known[] = {"KHR_lights_punctual", NULL};
    const waiting w = stack->list.data[--stack->list.count];
    const gltf_place where = {GLTF_NODES, w.node};
    const cJSON *node = gltf_item(g, where);
    gltf_instance at = {.node = w.node, .mesh = GLTF_NONE, .light = GLTF_NONE, .camera = GLTF_NONE};
    double local[16];
    TRY(local_matrix(g, where, node, local));
    multiply(w.parent, local, at.to_world);
    TRY(gltf_index(g, where, node, "mesh", GLTF_MESHES, &at.mesh));
    TRY(gltf_index(g, where, gltf_extension(node, "KHR_lights_punctual"), "light", GLTF_LIGHTS, &at.light));
    TRY(gltf_index(g, where, node, "camera", GLTF_CAMERAS, &at.camera));
    TRY(array_check(&g->instances, 1, g->err));
    array_push(&g->instances, at);
    if (at.mesh != GLTF_NONE && !mirrors(at.to_world))
        g->meshes[at.mesh].users++;
    gltf_note_extensions(g, node, "a node", known);
    if (gltf_get(node, "skin"))
        gltf_note(g, "a mesh with a skin is shown as it is modelled, not posed");
    return push_all(g, where, gltf_get(node, "children"), at.to_world, stack);
}

/* Roots where the file has no scene: nodes that are nobody's child. */
static bl_result push_orphans(gltf *g, node_stack *stack)
{
    const uint32_t count = g->lists[GLTF_NODES].count;
    bool *child = arena_alloc(&g->memory, count + 1u);
    const cJSON *item;
    for (uint32_t i = 0; i < count; i++)
        cJSON_ArrayForEach(item, gltf_get(gltf_item(g, (gltf_place){GLTF_NODES, i}),
                                          "children")) if (cJSON_IsNumber(item) && item->valuedouble >= 0 &&
                                                           item->valuedouble < count)
            child[(uint32_t)item->valuedouble] = true;
    for (uint32_t i = count; i-- > 0;) {
        waiting w = {.node = i};
        memcpy(w.parent, identity, sizeof identity);
        stack->reached[i] = !child[i];
        TRY(array_check(&stack->list, 1, g->err));
        if (!child[i])
            array_push(&stack->list, w);
    }
    return BL_OK;
}

static bl_result push_roots(gltf *g, node_stack *stack)
{
    uint32_t scene = g->lists[GLTF_SCENES].count ? 0 : GLTF_NONE;
    TRY(gltf_index(g, (gltf_place){GLTF_FILE, 0}, g->json, "scene", GLTF_SCENES, &scene));
    if (scene == GLTF_NONE)
        return push_orphans(g, stack);
    for (uint32_t k = 0; k < g->lists[GLTF_SCENES].count; k++) {
        const char *name = gltf_name(g, (gltf_place){GLTF_SCENES, k});
        if (k != scene)
            gltf_note(g, "scene %u \"%.80s\" is not shown, but scene %u", k, name ? name : "", scene);
    }
    const gltf_place where = {GLTF_SCENES, scene};
    return push_all(g, where, gltf_get(gltf_item(g, where), "nodes"), identity, stack);
}

bl_result gltf_place_nodes(gltf *g)
{
    node_stack stack = {.reached = arena_alloc(&g->memory, g->lists[GLTF_NODES].count + 1u)};
    bl_result r = push_roots(g, &stack);
    while (r == BL_OK && stack.list.count > 0)
        r = visit(g, &stack);
    array_free(&stack.list);
    return r;
}

/* ---- shapes ---- */

static void grow_box(gltf *g, const double box[6], const double to_world[16])
{
    double unit[16] = {0}, placed[16], low[3], high[3];
    for (int k = 0; k < 3; k++)
        unit[5 * k] = box[3 + k] - box[k], unit[4 * k + 3] = box[k];
    unit[15] = 1;
    multiply(to_world, unit, placed);
    matrix_box(placed, low, high);
    for (int k = 0; k < 3; k++)
        g->box[k] = fmin(g->box[k], low[k]), g->box[3 + k] = fmax(g->box[3 + k], high[k]);
}

/* The same mesh with its faces turned. */
static bl_result mirror(gltf *g, gltf_place where, gltf_primitive *p)
{
    const size_t size = 12 * (size_t)p->mesh->face_count;
    if (p->mirrored)
        return BL_OK;
    uint32_t *faces = memory_alloc(size);
    if (!faces)
        return gltf_error(g, BL_ERROR_MEMORY, where, "out of memory");
    assembly_keep(g->assembly, faces);
    memcpy(faces, p->mesh->faces, size);
    p->mirrored = assembly_alloc(g->assembly, sizeof *p->mirrored);
    *p->mirrored = *p->mesh;
    p->mirrored->faces = faces;
    mesh_flip(p->mirrored);
    return BL_OK;
}

/* What a shape is called: part k of `name`. index: what makes the name unique. */
typedef struct shape_name {
    const char *name;
    uint32_t k, index;
} shape_name;

static const char *shape_id(gltf *g, shape_name n)
{
    return gltf_id(g, n.k ? arena_printf(&g->memory, "%.200s_%u", n.name, n.k) : n.name, "node", n.index);
}

static bl_result make_shape(gltf *g, const gltf_primitive *p, const scene_mesh *m, shape_name name,
                            const double *to_world, struct raw_node *parent)
{
    struct raw_node *shape, *bsdf, *emitter;
    TRY(budget_check(g->err));
    TRY(gltf_make_material(g, p->material, p->colours, &bsdf));
    /* Materials are named first: they keep the names that they share with shapes. */
    shape = assembly_object(g->assembly, PLUGIN_SHAPE, "mesh", shape_id(g, name));
    assembly_mesh(shape, m);
    if (!m->normals)
        assembly_text(g->assembly, shape, PLUGIN_BOOLEAN, "face_normals", "true");
    if (to_world && memcmp(to_world, identity, sizeof identity) != 0)
        assembly_numbers(g->assembly, shape, PLUGIN_TRANSFORM, "to_world", to_world, 16);
    assembly_add(g->assembly, shape, NULL, bsdf);
    TRY(gltf_make_emitter(g, p->material, &emitter));
    if (emitter)
        assembly_add(g->assembly, shape, NULL, emitter);
    assembly_add(g->assembly, parent, NULL, shape);
    return BL_OK;
}

static bool is_shared(const gltf *g, const gltf_mesh *m)
{
    uint64_t faces = 0;
    bool emits = false;
    for (uint32_t k = 0; k < m->count; k++) {
        faces += m->primitives[k].mesh ? m->primitives[k].mesh->face_count : 0;
        emits |= gltf_material_emits(g, m->primitives[k].material); /* no light can be in a group */
    }
    return m->users > 1 && faces >= INSTANCED_FACES_LEAST && !emits;
}

static bl_result make_instance(gltf *g, const gltf_instance *at, const char *name)
{
    gltf_mesh *m = &g->meshes[at->mesh];
    struct raw_node *root = assembly_root(g->assembly);
    if (!m->group) {
        const char *of_mesh = gltf_name(g, (gltf_place){GLTF_MESHES, at->mesh});
        of_mesh = of_mesh ? of_mesh : "mesh";
        const char *group = arena_printf(&g->memory, "%.200s_group", of_mesh);
        m->group =
            assembly_object(g->assembly, PLUGIN_SHAPE, "shapegroup", gltf_id(g, group, "group", at->mesh));
        for (uint32_t k = 0; k < m->count; k++)
            if (m->primitives[k].mesh)
                TRY(make_shape(g, &m->primitives[k], m->primitives[k].mesh,
                               (shape_name){of_mesh, k, at->mesh}, NULL, m->group));
        assembly_add(g->assembly, root, NULL, m->group);
    }
    struct raw_node *instance =
        assembly_object(g->assembly, PLUGIN_SHAPE, "instance", gltf_id(g, name, "node", at->node));
    assembly_numbers(g->assembly, instance, PLUGIN_TRANSFORM, "to_world", at->to_world, 16);
    assembly_add(g->assembly, instance, NULL, m->group);
    assembly_add(g->assembly, root, NULL, instance);
    return BL_OK;
}

static bl_result show_mesh(gltf *g, const gltf_instance *at)
{
    const gltf_place where = {GLTF_NODES, at->node};
    gltf_mesh *m = &g->meshes[at->mesh];
    const char *name = gltf_name_shown(g, at, (gltf_place){GLTF_MESHES, at->mesh});
    double inverse[16];
    name = name ? name : arena_printf(&g->memory, "node_%u", at->node);
    TRY(gltf_read_mesh(g, at->mesh));
    if (!matrix_invert(at->to_world, inverse)) {
        gltf_note(g, "the node \"%.80s\", which has no extent, is not shown", name);
        return BL_OK;
    }
    for (uint32_t k = 0; k < m->count; k++)
        if (m->primitives[k].mesh)
            grow_box(g, m->primitives[k].box, at->to_world);
    const bool turned = mirrors(at->to_world);
    if (!turned && is_shared(g, m))
        return make_instance(g, at, name);
    for (uint32_t k = 0; k < m->count; k++) {
        gltf_primitive *p = &m->primitives[k];
        if (!p->mesh)
            continue;
        if (turned)
            TRY(mirror(g, where, p));
        TRY(make_shape(g, p, turned ? p->mirrored : p->mesh, (shape_name){name, k, at->node}, at->to_world,
                       assembly_root(g->assembly)));
    }
    return BL_OK;
}

bl_result gltf_make_shapes(gltf *g)
{
    for (int k = 0; k < 3; k++)
        g->box[k] = INFINITY, g->box[3 + k] = -INFINITY;
    for (uint32_t i = 0; i < g->instances.count; i++) {
        if (g->instances.data[i].mesh != GLTF_NONE)
            TRY(show_mesh(g, &g->instances.data[i]));
        TRY(budget_check(g->err));
    }
    return BL_OK;
}
