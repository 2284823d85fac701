/* SPDX-License-Identifier: BSD-3-Clause
 * The places of a scene's shapes and instances: every one whose to_world is a parameter gets an object with
 * its translation, rotation and scale (shape/pose.c), which are parameters under the name of the shape. */
#include "render/scene_internal.h"

static uint32_t slot_called(const scene_object *o, const char *name)
{
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        if (strcmp(o->cls->params[k].name, name) == 0 && o->cls->params[k].flags & PLUGIN_DIFFERENTIABLE)
            return k;
    return PLAN_NONE;
}

/* A parameter of an object, which from now on belongs to the place that is added next. */
static uint32_t take(render_scene *s, const scene_object *o, const char *name)
{
    uint32_t slot = slot_called(o, name),
             i = slot == PLAN_NONE ? PLAN_NONE : render_find_parameter(s, o, slot);
    if (i != PLAN_NONE)
        s->parameters.data[i].place = 1 + s->places.count;
    return i;
}

static bl_result add_place(render_scene *s, const scene_object *o, bl_error *err)
{
    render_place place = {.object = o, .to_world = o ? take(s, o, "to_world") : PLAN_NONE};
    if (place.to_world == PLAN_NONE)
        return BL_OK;
    scene_object *pose = render_new_object(s, &shape_pose.plugin, o->where);
    place.pose = pose, pose->values[POSE_SCALE].number = 1;
    TRY(render_visit(s, pose, s->names[o->index], NULL, err));
    place.translation = take(s, pose, "translation"), place.rotation = take(s, pose, "rotation"),
    place.scale = take(s, pose, "scale");
    array_push(&s->places, place);
    s->place_of[o->index] = s->places.count;
    return BL_OK;
}

bl_result render_add_places(render_scene *s, bl_error *err)
{
    s->place_of = calloc((size_t)s->description->object_count + 1, sizeof *s->place_of);
    BL_ASSERT(s->place_of, "out of memory");
    for (uint32_t i = 0; i < s->shapes.count; i++)
        TRY(add_place(s, s->shapes.data[i].object, err));
    for (uint32_t k = 0; k < s->instances.count; k++)
        TRY(add_place(s, s->instances.data[k].object, err));
    return BL_OK;
}
