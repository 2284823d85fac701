/* SPDX-License-Identifier: BSD-3-Clause
 * The places of a scene's shapes and instances: every one whose to_world is a parameter gets an object with
 * its translation, rotation and scale (shape/pose.c), which are parameters under the name of the shape. */
#include "render/scene_internal.h"

static bl_result add_place(render_scene *s, const scene_object *o, bl_error *err)
{
    render_place place = {.object = o, .to_world = render_offered_parameter(s, o, "to_world")};
    if (place.to_world == PLAN_NONE)
        return BL_OK;
    scene_object *pose = render_new_object(s, &shape_pose.plugin, o->where);
    place.pose = pose, pose->values[POSE_SCALE].number = 1;
    TRY(render_visit(s, pose, s->names[o->index], NULL, err));
    place.translation = render_find_parameter(s, pose, POSE_TRANSLATION),
    place.rotation = render_find_parameter(s, pose, POSE_ROTATION),
    place.scale = render_find_parameter(s, pose, POSE_SCALE);
    array_push(&s->places, place);
    s->place_of[o->index] = s->places.count;
    const uint32_t parameters[] = {place.to_world, place.translation, place.rotation, place.scale};
    for (size_t k = 0; k < sizeof parameters / sizeof *parameters; k++)
        s->parameters.data[parameters[k]].place = s->places.count;
    return BL_OK;
}

bl_result render_add_places(render_scene *s, bl_error *err)
{
    s->place_of = memory_need_zeroed((size_t)s->description->object_count + 1, sizeof *s->place_of);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        TRY(add_place(s, s->shapes.data[i].object, err));
    for (uint32_t k = 0; k < s->instances.count; k++)
        TRY(add_place(s, s->instances.data[k].object, err));
    return BL_OK;
}
