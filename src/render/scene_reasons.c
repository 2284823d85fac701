/* SPDX-License-Identifier: BSD-3-Clause
 * What gradients lack by parameters that move shapes, vertices and sensors (docs/theory/edges.md). Lights say
 * it of their own parameters, where they load. A reason names only what is in the scene: steps of textures
 * where a texture has some, clip planes where they can cut something. */
#include "render/scene_internal.h"

/* ---- shapes ---- */

static bool beams(const render_shape *shape)
{
    return shape->emitter && ((const emitter_class *)(const void *)shape->emitter->cls)->delta;
}

/* Where moving edges are differentiated: what they lack, and what else is left out. */
static const char *reason_beside_edges(render_scene *s, const char *const *more, uint32_t count)
{
    const char *reason = edges_lack(s);
    for (uint32_t i = 0; i < count; i++)
        reason = reason ? arena_printf(&s->memory, "%s; %s", reason, more[i]) : more[i];
    return reason;
}

/* What is left out where something with such textures, or such a light, moves. */
static const char *moving_reason(render_scene *s, bool steps, bool beam)
{
    if (edges_differentiated(s)) {
        const char *more[2];
        uint32_t count = 0;
        if (steps)
            more[count++] = "steps of textures that move are left out";
        if (beam)
            more[count++] = "the place of the light is left out";
        return reason_beside_edges(s, more, count);
    }
    const char *what =
        steps ? "edges, shadows and steps of textures that move" : "edges and shadows that move";
    return arena_printf(&s->memory,
                        "%s, and what lies next to mirrors, smooth glass and masks, are left out%s", what,
                        beam ? "; so is the place of the light" : "");
}

static bool shape_has_steps(const render_shape *shape)
{
    return (shape->bsdf && texture_has_steps(shape->bsdf)) ||
           (shape->emitter && texture_has_steps(shape->emitter));
}

/* Whether a shape stands at the place: it is its own, or it is in the group that an instance shows there. */
static bool stands_at(const render_scene *s, const render_shape *shape, const render_place *place)
{
    bool shown = false;
    for (uint32_t k = 0; k < s->instances.count; k++)
        shown |= s->instances.data[k].object == place->object && s->instances.data[k].group == shape->group;
    return shown || shape->object == place->object;
}

static void add_place_reasons(render_scene *s, const render_place *place)
{
    const uint32_t parameters[] = {place->to_world, place->translation, place->rotation, place->scale};
    bool steps = false, beam = false;
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (stands_at(s, &s->shapes.data[i], place))
            steps |= shape_has_steps(&s->shapes.data[i]), beam |= beams(&s->shapes.data[i]);
    const char *reason = moving_reason(s, steps, beam);
    for (size_t k = 0; k < sizeof parameters / sizeof *parameters; k++)
        s->parameters.data[parameters[k]].reason = reason;
}

static void add_vertex_reasons(render_scene *s, const render_shape *shape)
{
    uint32_t positions = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS),
             uvs = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_UVS);
    uint32_t normals = render_find_parameter(s, shape->object, PLAN_ARRAY_SLOT + MESH_ARRAY_NORMALS);
    if (normals != PLAN_NONE && !s->parameters.data[normals].reason)
        s->parameters.data[normals].reason = render_turned_normals;
    if (positions != PLAN_NONE)
        s->parameters.data[positions].reason = moving_reason(s, shape_has_steps(shape), beams(shape));
    if (uvs != PLAN_NONE && !s->parameters.data[uvs].turns && shape_has_steps(shape))
        s->parameters.data[uvs].reason =
            "the steps of checkerboards and nearest texels, which move with it, are left out";
}

/* ---- sensors ---- */

/* Whether a clip plane that the file sets, or the far one, may cut what is in the scene. */
static bool may_clip(const render_scene *s, const scene_object *sensor)
{
    bool given = false, beyond = false;
    double place[3] = {0}, far_away = 0;
    for (uint32_t k = 0; k < sensor->cls->param_count; k++) {
        const char *name = sensor->cls->params[k].name;
        given |= (strcmp(name, "near_clip") == 0 || strcmp(name, "far_clip") == 0) && sensor->values[k].given;
        if (strcmp(name, "to_world") == 0)
            for (int i = 0; i < 3; i++)
                place[i] = sensor->values[k].matrix[4 * i + 3];
    }
    for (int i = 0; i < 3; i++)
        far_away += (place[i] - (double)s->center[i]) * (place[i] - (double)s->center[i]);
    for (uint32_t k = 0; k < sensor->cls->param_count; k++)
        if (strcmp(sensor->cls->params[k].name, "far_clip") == 0)
            beyond = sqrt(far_away) + (double)s->radius > sensor->values[k].number;
    return given || beyond;
}

/* What moves in the image of the sensor of the scene, and is left out. */
static const char *image_reason(render_scene *s)
{
    bool edges = edges_differentiated(s);
    const char *items[4] = {"silhouettes", "edges of shadows"};
    uint32_t count = edges ? 0 : 2;
    text list = {0};
    if (texture_has_steps(s->description->root))
        items[count++] = s->volumetric ? "steps of textures and densities" : "steps of textures";
    if (may_clip(s, s->sensor))
        items[count++] = "borders of what clip planes cut";
    if (edges && count == 0)
        return edges_lack(s);
    for (uint32_t i = 0; i < count; i++)
        text_add(&list, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", items[i]);
    const char *reason = arena_printf(&s->memory, "%s, which move in the image, %sare left out", list.data,
                                      s->volumetric ? "and what lies behind mirrors and smooth glass, " : "");
    text_free(&list);
    return edges ? reason_beside_edges(s, &reason, 1) : reason;
}

static void add_sensor_reasons(render_scene *s, const scene_object *sensor)
{
    const char *reason = sensor == s->sensor ? image_reason(s) : "the image is another sensor's";
    for (uint32_t i = 0; i < s->parameters.count; i++)
        if (s->parameters.data[i].object == sensor->index)
            s->parameters.data[i].reason = reason;
    for (uint32_t k = 0; k < sensor->child_count; k++)
        if (sensor->children[k]->cls->category == PLUGIN_SENSOR)
            add_sensor_reasons(s, sensor->children[k]);
}

void render_add_reasons(render_scene *s)
{
    for (uint32_t i = 0; i < s->places.count; i++)
        add_place_reasons(s, &s->places.data[i]);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].kind == SHAPE_TRIANGLES)
            add_vertex_reasons(s, &s->shapes.data[i]);
    for (uint32_t i = 0; i < s->sensors.count; i++)
        add_sensor_reasons(s, s->sensors.data[i]);
    edges_reasons_of_lights(s);
}
