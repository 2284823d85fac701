/* SPDX-License-Identifier: BSD-3-Clause
 * Shapes that hold other shapes: merge, shapegroup and instance. In Mitsuba merge is a hint to join what it
 * holds into fewer meshes. Here its shapes are what they would be without it. A shapegroup is not seen
 * itself: an instance shows it, moved by to_world, or is hidden (to_world_hides). The materials are those of
 * the group's shapes. */
#include "render/classes.h"

static const plugin_slot merge_slots[] = {{PLUGIN_SHAPE, "shape", 0, 0}};
static const plugin_param group_params[] = {SHAPE_ACCEPTED};
const shape_class shape_merge = {
    .base = {.plugin = {PLUGIN_SHAPE, "merge", PLUGIN_TABLE(group_params), PLUGIN_TABLE(merge_slots),
                        "shapes as if they stood there alone"}}};

static const plugin_slot group_slots[] = {{PLUGIN_SHAPE, "shape", 1, 0}};

static bl_result group_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)o, (void)err;
    s->has_groups = true;
    return BL_OK;
}

const shape_class shape_shapegroup = {
    .base = {.plugin = {PLUGIN_SHAPE, "shapegroup", PLUGIN_TABLE(group_params), PLUGIN_TABLE(group_slots),
                        "shapes for instances to show"},
             .load = group_load},
};

static bl_result instance_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const double *m = scene_get(o, "to_world")->matrix;
    double inverse[16];
    render_instance instance = {.object = o};
    if (scene_child(o, PLUGIN_SHAPE)->cls != &shape_shapegroup.base.plugin)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "instance: what it shows must be a shapegroup, not \"%s\"",
                           scene_child(o, PLUGIN_SHAPE)->cls->name);
    if (m[12] != 0 || m[13] != 0 || m[14] != 0 || m[15] != 1)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "instance: to_world must be affine (last row 0 0 0 1)");
    instance.hidden = to_world_hides(m);
    if (!instance.hidden && (!matrix_invert(m, inverse) || matrix_determinant3(m) == 0))
        return scene_error(err, BL_ERROR_SCENE, o->where, "instance: to_world is singular");
    for (int k = 0; k < 16 && instance.hidden; k++)
        inverse[k] = k % 4 == 3 ? (double)hidden_at : 0;
    for (int k = 0; k < 12; k++) {
        instance.to_world[k] = (float)m[k], instance.to_group[k] = (float)inverse[k];
        if (!isfinite(instance.to_world[k]) || !isfinite(instance.to_group[k]))
            return scene_error(err, BL_ERROR_SCENE, o->where,
                               "instance: to_world or its inverse is out of range");
    }
    array_push(&s->instances, instance);
    return BL_OK;
}

static const plugin_slot instance_slots[] = {{PLUGIN_SHAPE, "shapegroup", 1, 1}};
static const plugin_param instance_params[] = {
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
     "where the group is shown; any affine map. Scaled by 0: nowhere"},
    SHAPE_ACCEPTED,
};
const shape_class shape_instance = {
    .base = {.plugin = {PLUGIN_SHAPE, "instance", PLUGIN_TABLE(instance_params), PLUGIN_TABLE(instance_slots),
                        "a shapegroup, shown"},
             .load = instance_load},
};
