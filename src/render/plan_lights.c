/* SPDX-License-Identifier: BSD-3-Clause
 * The tree of lights, on the host: which light is at which leaf. The nodes themselves follow the values of
 * parameters and are made on the device (integrator/derived/light_tree.c).
 *
 * All leaves are at the same level, so a node's place says where its children and its lights are. A node's
 * lights are cut in two halves of equal number, in the order of their places along the axis in which these
 * differ most. The order is that of the scene as it was loaded: lights that move later keep their leaves. */
#include "render/integrator/passes.h"
#include "render/plan_internal.h"

#include <stdlib.h>

/* A light that has a place. */
typedef struct placed_light {
    uint32_t light;
    float at[3];
    uint32_t axis; /* that the order goes by */
} placed_light;

static bool is_placed(const scene_object *light) { return ((const emitter_class *)light->cls)->bound; }

/* Whether the scene wants it to be sampled. */
static bool is_sampled(const scene_object *light) { return scene_number(light, "sampling_weight") > 0; }

static uint32_t placed_count(const render_scene *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->emitters.count; i++)
        count += is_placed(s->emitters.data[i]) && is_sampled(s->emitters.data[i]);
    return count;
}

bool plan_has_light_tree(const plan *p) { return placed_count(p->scene) > 1; }

static void place_of_shape(const render_scene *s, const render_shape *shape, float at[3])
{
    for (uint32_t axis = 0; axis < 3; axis++) {
        float least = 1e30f, most = -1e30f;
        for (uint32_t i = 0; i < shape->primitive_count; i++) {
            const float *box = s->primitives.data[shape->first_entry_primitive + i].bounds;
            least = box[axis] < least ? box[axis] : least, most = box[3 + axis] > most ? box[3 + axis] : most;
        }
        at[axis] = 0.5f * (least + most);
    }
}

/* The place of a light at a point: the parameter that moves it is a point, or a matrix of rows. */
static void place_of_point(const render_scene *s, const scene_object *light, float at[3])
{
    uint32_t moves = ((const emitter_class *)light->cls)->pose_params, slot = 0;
    BL_ASSERT(moves, "%s has a place and no parameter that moves it", light->cls->name);
    while (!(moves >> slot & 1))
        slot++;
    const render_parameter *pose = &s->parameters.data[render_find_parameter(s, light, slot)];
    for (uint32_t axis = 0; axis < 3; axis++)
        at[axis] = s->values.data[pose->offset + (pose->count == 3 ? axis : 4 * axis + 3)];
}

static int compare_places(const void *a, const void *b)
{
    const placed_light *x = a, *y = b;
    float u = x->at[x->axis], v = y->at[y->axis];
    return u < v ? -1 : u > v ? 1 : x->light < y->light ? -1 : 1;
}

static uint32_t widest_axis(const placed_light *lights, uint32_t count)
{
    float width[3];
    for (uint32_t axis = 0; axis < 3; axis++) {
        float least = 1e30f, most = -1e30f;
        for (uint32_t i = 0; i < count; i++)
            least = lights[i].at[axis] < least ? lights[i].at[axis] : least,
            most = lights[i].at[axis] > most ? lights[i].at[axis] : most;
        width[axis] = most - least;
    }
    return width[0] >= width[1] && width[0] >= width[2] ? 0 : width[1] >= width[2] ? 1 : 2;
}

/* Puts the lights of a node to its leaves, which are `count` or more. */
static void take_leaves(placed_light *lights, uint32_t count, uint32_t *leaves, uint32_t leaf_count)
{
    if (leaf_count == 1) {
        *leaves = count ? lights->light : PLAN_NONE;
        return;
    }
    uint32_t axis = widest_axis(lights, count), half = (count + 1) / 2;
    for (uint32_t i = 0; i < count; i++)
        lights[i].axis = axis;
    qsort(lights, count, sizeof *lights, compare_places);
    take_leaves(lights, half, leaves, leaf_count / 2);
    take_leaves(lights + half, count - half, leaves + leaf_count / 2, leaf_count / 2);
}

/* The lights that have a place, at *lights; those that have none, behind the words of the others. */
static void sort_out(plan *p, placed_light *placed, uint32_t *leaf_of, uint32_t *afar)
{
    const render_scene *s = p->scene;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->emitters.count; i++) {
        const scene_object *light = s->emitters.data[i];
        leaf_of[i] = LIGHT_LEFT_OUT;
        if (!is_sampled(light))
            continue;
        if (!is_placed(light)) {
            leaf_of[i] = LIGHT_AFAR, afar[p->lights_afar++] = i;
            continue;
        }
        placed_light *own = &placed[count++];
        own->light = i;
        if (s->emitter_shape.data[i] == PLAN_NONE)
            place_of_point(s, light, own->at);
        else
            place_of_shape(s, &s->shapes.data[s->emitter_shape.data[i]], own->at);
    }
}

/* A step of the nodes of a level, or of the leaves. */
static void add_step(plan *p, enum light_step function, uint32_t nodes)
{
    plan_table step = {.function = function, .record = nodes, .lanes = nodes};
    array_push(&p->table_builds, step);
}

void plan_place_light_tree(plan *p)
{
    const render_scene *s = p->scene;
    uint32_t count = placed_count(s), n = s->emitters.count;
    while (1u << p->light_levels < count)
        p->light_levels++;
    const uint32_t leaf_count = 1u << p->light_levels;
    p->value_count = (p->value_count + 3) & ~3u;
    uint32_t *words = arena_alloc(&p->memory, (LIGHT_TREE_LEAVES + leaf_count + 2 * n) * sizeof *words),
             *leaves = words + LIGHT_TREE_LEAVES, *leaf_of = leaves + leaf_count, *afar = leaf_of + n;
    placed_light *placed = arena_alloc(&p->memory, (count + 1) * sizeof *placed);
    words[LIGHT_TREE_NODES] = p->value_count;
    p->value_count += 2 * leaf_count * LIGHT_NODE_WORDS;
    sort_out(p, placed, leaf_of, afar);
    take_leaves(placed, count, leaves, leaf_count);
    for (uint32_t k = 0; k < leaf_count; k++)
        if (leaves[k] != PLAN_NONE)
            leaf_of[leaves[k]] = k;
    p->words.data[HEADER_LIGHT_TREE] = p->words.count;
    plan_append(p, words, LIGHT_TREE_LEAVES + leaf_count + n + p->lights_afar);
    add_step(p, LIGHT_STEP_LEAVES, leaf_count);
    for (uint32_t nodes = leaf_count / 2; nodes; nodes /= 2)
        add_step(p, LIGHT_STEP_NODES, nodes);
}
