/* SPDX-License-Identifier: BSD-3-Clause
 * The places of a scene's shapes and instances: every one whose to_world is a parameter gets an object with
 * its translation, rotation and scale (shape/pose.c), which are parameters under the name of the shape. */
#include "render/scene_internal.h"

/* The parameter `name` of an object; PLAN_NONE: it is not offered. The parameters of an object follow each
 * other; first: 1 + the first one, 0: it has none. */
static uint32_t find(const render_scene *s, const scene_object *o, uint32_t first, const char *name)
{
    for (uint32_t i = first; i && i <= s->parameters.count; i++) {
        const render_parameter *p = &s->parameters.data[i - 1];
        if (p->object != o->index)
            break;
        if (p->slot < o->cls->param_count && strcmp(o->cls->params[p->slot].name, name) == 0)
            return i - 1;
    }
    return PLAN_NONE;
}

/* first: by object index, see find. */
static bl_result add_place(render_scene *s, const scene_object *o, const uint32_t *first, bl_error *err)
{
    render_place place = {.object = o, .to_world = o ? find(s, o, first[o->index], "to_world") : PLAN_NONE};
    if (place.to_world == PLAN_NONE)
        return BL_OK;
    scene_object *pose = render_new_object(s, &shape_pose.plugin, o->where);
    place.pose = pose, pose->values[POSE_SCALE].number = 1;
    const uint32_t added = s->parameters.count;
    TRY(render_visit(s, pose, s->names[o->index], NULL, err));
    BL_ASSERT(s->parameters.count == added + 3, "a pose of %u parameters", s->parameters.count - added);
    place.translation = added + POSE_TRANSLATION, place.rotation = added + POSE_ROTATION,
    place.scale = added + POSE_SCALE;
    array_push(&s->places, place);
    s->place_of[o->index] = s->places.count;
    s->parameters.data[place.to_world].place = s->places.count;
    for (uint32_t i = added; i < s->parameters.count; i++)
        s->parameters.data[i].place = s->places.count;
    return BL_OK;
}

bl_result render_add_places(render_scene *s, bl_error *err)
{
    uint32_t *first = calloc((size_t)s->description->object_count + 1, sizeof *first);
    s->place_of = calloc((size_t)s->description->object_count + 1, sizeof *s->place_of);
    BL_ASSERT(s->place_of && first, "out of memory");
    for (uint32_t i = s->parameters.count; i > 0; i--)
        first[s->parameters.data[i - 1].object] = i;
    bl_result r = BL_OK;
    for (uint32_t i = 0; i < s->shapes.count && r == BL_OK; i++)
        r = add_place(s, s->shapes.data[i].object, first, err);
    for (uint32_t k = 0; k < s->instances.count && r == BL_OK; k++)
        r = add_place(s, s->instances.data[k].object, first, err);
    free(first);
    return r;
}
