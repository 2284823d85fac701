/* SPDX-License-Identifier: BSD-3-Clause
 * From shapes to hierarchies. A scene without shapegroups has one, over all primitives. Otherwise every group
 * has one over its own primitives, in its own space, what stands in no group is a group of its own that is
 * seen once where it is, and the outer hierarchy is over instances. Leaves of the outer one hold one
 * instance. Groups do not nest (Mitsuba). */
#include "render/classes.h"

enum { UNPLACED = 0 }; /* place of an object: its group + 1 */

/* ---- which group a shape stands in ---- */

typedef struct placing {
    render_scene *scene;
    uint32_t *place; /* by object index; of a shapegroup: the group that it is */
    bl_error *err;
} placing;

static bool is(const scene_object *o, const shape_class *cls) { return o->cls == &cls->base.plugin; }

static bl_result place_children(placing *p, const scene_object *o, uint32_t group);

static bl_result place_shape(placing *p, const scene_object *o, uint32_t group)
{
    if (is(o, &shape_shapegroup)) {
        if (group)
            return scene_error(p->err, BL_ERROR_SCENE, o->where,
                               "shapegroup: groups cannot hold other groups");
        if (p->place[o->index] != UNPLACED)
            return BL_OK;
        const render_group own = {.object = o};
        array_push(&p->scene->groups, own);
        p->place[o->index] = p->scene->groups.count;
        return place_children(p, o, p->scene->groups.count - 1);
    }
    if (is(o, &shape_instance)) {
        if (group)
            return scene_error(p->err, BL_ERROR_SCENE, o->where, "instance: groups cannot hold instances");
        return place_children(p, o, 0);
    }
    if (p->place[o->index] != UNPLACED && p->place[o->index] != group + 1)
        return scene_error(p->err, BL_ERROR_UNSUPPORTED, o->where,
                           "%s: one shape in a shapegroup and outside of it, or in two; write it twice",
                           o->cls->name);
    p->place[o->index] = group + 1;
    return place_children(p, o, group);
}

static bl_result place_children(placing *p, const scene_object *o, uint32_t group)
{
    for (uint32_t k = 0; k < o->child_count; k++)
        if (o->children[k]->cls->category == PLUGIN_SHAPE)
            TRY(place_shape(p, o->children[k], group));
    return BL_OK;
}

static bl_result place_all(render_scene *s, bl_error *err)
{
    placing p = {.scene = s,
                 .place = memory_need_zeroed(s->description->object_count + 1u, sizeof *p.place),
                 .err = err};
    render_group first = {0};
    array_push(&s->groups, first);
    bl_result r = place_children(&p, s->description->root, 0);
    for (uint32_t i = 0; r == BL_OK && i < s->shapes.count; i++) {
        render_shape *shape = &s->shapes.data[i];
        shape->group = p.place[shape->object->index] - 1;
        if (shape->group && shape->emitter)
            r = scene_error(err, BL_ERROR_SCENE, shape->emitter->where,
                            "a shape in a shapegroup cannot be a light");
    }
    for (uint32_t k = 0; r == BL_OK && k < s->instances.count; k++) {
        const scene_object *group = scene_child(s->instances.data[k].object, PLUGIN_SHAPE);
        BL_ASSERT(is(group, &shape_shapegroup), "an instance of a %s", group->cls->name);
        s->instances.data[k].group = p.place[group->index] - 1;
    }
    memory_free(p.place);
    return r;
}

/* ---- hierarchies ---- */

void render_join_box(float into[6], const float box[6])
{
    for (int k = 0; k < 3; k++)
        into[k] = fminf(into[k], box[k]), into[3 + k] = fmaxf(into[3 + k], box[3 + k]);
}

void render_shape_bounds(const render_scene *s, const render_shape *shape, float out[6])
{
    for (int k = 0; k < 3; k++)
        out[k] = INFINITY, out[3 + k] = -INFINITY;
    for (uint32_t i = 0; i < shape->primitive_count; i++)
        render_join_box(out, s->primitives.data[shape->first_entry_primitive + i].bounds);
}

/* Over some primitives, or, where member is NULL, over all. */
static bl_result build_over(render_scene *s, const uint32_t *member, uint32_t count, scene_bvh *bvh,
                            float whole[6], bl_error *err)
{
    TRY(memory_check((size_t)(count + 1) * 24, err));
    float(*bounds)[6] = memory_need((size_t)(count + 1) * sizeof *bounds);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(bounds[i], s->primitives.data[member ? member[i] : i].bounds, sizeof *bounds);
        render_join_box(whole, bounds[i]);
    }
    bl_result r = bvh_build((const float(*)[6])bounds, count, BVH_LEAF_MAX, bvh, err);
    for (uint32_t i = 0; member && r == BL_OK && i < count; i++)
        bvh->order[i] = member[bvh->order[i]];
    memory_free(bounds);
    return r;
}

static uint32_t group_of(const render_scene *s, uint32_t primitive)
{
    return s->shapes.data[s->primitives.data[primitive].entry[BVH_ENTRY_SHAPE]].group;
}

/* One hierarchy for each group, over the primitives that stand in it, in their order. */
static bl_result build_groups(render_scene *s, bl_error *err)
{
    static const float empty[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    const uint32_t n = s->primitives.count, groups = s->groups.count;
    TRY(memory_check(((size_t)n + groups + 2) * sizeof(uint32_t), err));
    uint32_t *member = memory_need((size_t)(n + 1) * sizeof *member),
             *end = memory_need_zeroed(groups + 1u, sizeof *end); /* of each group's part of member */
    for (uint32_t i = 0; i < n; i++)
        end[group_of(s, i) + 1]++;
    for (uint32_t g = 0; g < groups; g++)
        end[g + 1] += end[g];
    for (uint32_t i = 0; i < n; i++)
        member[end[group_of(s, i)]++] = i; /* so what was the beginning becomes the end */
    bl_result r = BL_OK;
    for (uint32_t g = 0; g < groups && r == BL_OK; g++) {
        const uint32_t first = g ? end[g - 1] : 0;
        memcpy(s->groups.data[g].bounds, empty, sizeof empty);
        r = build_over(s, member + first, end[g] - first, &s->groups.data[g].bvh, s->groups.data[g].bounds,
                       err);
    }
    memory_free(end);
    memory_free(member);
    return r;
}

void render_map_box(const float m[12], const float box[6], float out[6])
{
    for (int row = 0; row < 3; row++) {
        double low = (double)m[4 * row + 3], high = low;
        for (int k = 0; k < 3; k++) {
            double a = (double)m[4 * row + k] * (double)box[k],
                   b = (double)m[4 * row + k] * (double)box[3 + k];
            low += fmin(a, b), high += fmax(a, b);
        }
        double slack = 1e-6 * (fabs(low) + fabs(high) + high - low);
        out[row] = nextafterf((float)(low - slack), -INFINITY),
        out[3 + row] = nextafterf((float)(high + slack), INFINITY);
    }
}

/* Instances of groups that hold something; the first group comes with its own. */
static void keep_instances(render_scene *s)
{
    static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    render_instance own = {0};
    memcpy(own.to_world, identity, sizeof identity), memcpy(own.to_group, identity, sizeof identity);
    array_push(&s->instances, own);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->instances.count; k++)
        if (s->groups.data[s->instances.data[k].group].bvh.count > 0)
            s->instances.data[kept++] = s->instances.data[k];
    s->instances.count = kept;
}

static bl_result build_outer(render_scene *s, float whole[6], bl_error *err)
{
    float(*bounds)[6] = memory_need((size_t)(s->instances.count + 1) * sizeof *bounds);
    for (uint32_t k = 0; k < s->instances.count; k++) {
        const render_instance *i = &s->instances.data[k];
        render_map_box(i->to_world, s->groups.data[i->group].bounds, bounds[k]);
        if (!i->hidden)
            render_join_box(whole, bounds[k]);
    }
    bl_result r = bvh_build((const float(*)[6])bounds, s->instances.count, 1, &s->bvh, err);
    memory_free(bounds);
    return r;
}

bl_result render_build_levels(render_scene *s, bl_error *err)
{
    static const float empty[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    float whole[6];
    double start = clock_seconds();
    memcpy(whole, empty, sizeof empty);
    if (!s->has_groups) {
        TRY(build_over(s, NULL, s->primitives.count, &s->bvh, whole, err));
    } else {
        TRY(place_all(s, err));
        TRY(build_groups(s, err));
        keep_instances(s);
        TRY(build_outer(s, whole, err));
    }
    s->bvh_seconds = clock_seconds() - start;
    for (int k = 0; k < 3 && s->bvh.count; k++) {
        s->center[k] = 0.5f * (whole[k] + whole[3 + k]);
        s->radius += (whole[3 + k] - whole[k]) * (whole[3 + k] - whole[k]);
    }
    s->radius = 0.5f * sqrtf(s->radius);
    return BL_OK;
}
