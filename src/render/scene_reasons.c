/* SPDX-License-Identifier: BSD-3-Clause
 * What gradients lack by parameters that move shapes, vertices and sensors (docs/theory/edges.md). Lights say
 * it of their own parameters, where they load. A reason names only what is in the scene: steps of textures
 * where a texture has some, clip planes where they can cut something. */
#include "render/medium/media.h"
#include "render/scene_internal.h"
#include "render/shape/silhouette.h"

/* ---- shapes ---- */

/* What is said of a place, one bit each. */
typedef uint32_t place_notes;
enum {
    NOTE_STEPS = 1, /* of a texture */
    NOTE_BEAM = 2,
    NOTE_ENDS = 4,   /* a face lies where the grid of the medium inside ends, so that there is another
                        derivative when the shape grows than when it shrinks */
    NOTE_SEAM = 8,   /* a border coincides with that of another mesh, so that a gap opens when the shape moves
                        one way, and not when it moves the other way */
    NOTE_APART = 16, /* with that of a mesh in another instance */
    NOTE_CROSSES = 32, /* the surface goes through another one */
    NOTES_MOST = 64
};

/* By shape: whether it has a seam with another one, with what an instance shows, and whether it goes through
 * another one. By instance: whether what it shows has a seam with what another one shows. */
typedef struct meetings {
    bool *seams, *apart, *crossings, *instances;
} meetings;
static const char crossing[] =
    "the curve in which it goes through another shape, as its boxes do, is left out";

static bool beams(const render_shape *shape)
{
    return shape->emitter && ((const emitter_class *)(const void *)shape->emitter->cls)->delta;
}

/* Whether paths from the camera cannot find the place of the shape, as it is a light that none of them meets.
 */
static bool beams_unseen(const render_scene *s, const render_shape *shape)
{
    return beams(shape) && !s->light_tracing;
}

/* Where moving edges are differentiated: what they lack, and what else is left out. */
static const char *reason_beside_edges(render_scene *s, const char *const *more, uint32_t count)
{
    const char *reason = edges_lack(s);
    for (uint32_t i = 0; i < count; i++)
        reason = reason ? arena_printf(&s->memory, "%s; %s", reason, more[i]) : more[i];
    return reason;
}

/* What is left out where something of which this is said moves. */
static const char *moving_reason(render_scene *s, place_notes n)
{
    if (edges_differentiated(s)) {
        const char *more[7];
        uint32_t count = 0;
        if (n & NOTE_STEPS)
            more[count++] = "steps of textures that move are left out";
        if (s->clipped && !edges_cuts_possible(s))
            more[count++] = "borders of what clip planes cut are left out";
        if (n & NOTE_BEAM)
            more[count++] = "the place of the light is left out";
        if (n & NOTE_ENDS)
            more[count++] = "the grid inside ends at a face: the gradient is that of shrinking";
        if (n & NOTE_SEAM)
            more[count++] = "a border coincides with another mesh's: that is right if both move alike";
        if (n & NOTE_APART)
            more[count++] = "a border coincides with another instance's, and is not joined to it";
        if (n & NOTE_CROSSES)
            more[count++] = crossing;
        return reason_beside_edges(s, more, count);
    }
    const char *what =
        n & NOTE_STEPS ? "edges, shadows and steps of textures that move" : "edges and shadows that move";
    const char *beside = s->light_tracing
                             ? " are left out"
                             : ", and what lies next to mirrors, smooth glass and masks, are left out";
    return arena_printf(&s->memory, "%s%s%s", what, beside,
                        n & NOTE_BEAM ? "; so is the place of the light" : "");
}

/* Whether it is a picture that may have another value at u = 1 than at u = 0. */
static bool picture_has_ends(const scene_object *o)
{
    return o->cls == &texture_bitmap.base.plugin &&
           (strcmp(scene_get(o, "wrap_mode")->text, "repeat") != 0 || scene_get(o, "to_uv")->given);
}

/* Whether texture coordinates go around the shape, so that they have a seam. */
static bool closes(const scene_object *shape)
{
    return shape->cls == &shape_sphere.base.plugin || shape->cls == &shape_cylinder.base.plugin ||
           shape->cls == &shape_disk.base.plugin;
}

static bool shape_has_seam(const render_shape *shape)
{
    return closes(shape->object) && ((shape->bsdf && scene_any(shape->bsdf, picture_has_ends)) ||
                                     (shape->emitter && scene_any(shape->emitter, picture_has_ends)));
}

static bool shape_has_steps(const render_shape *shape)
{
    return (shape->bsdf && texture_has_steps(shape->bsdf)) ||
           (shape->emitter && texture_has_steps(shape->emitter)) || shape_has_seam(shape);
}

/* Whether a triangle of the shape lies in the border of the grid of the medium inside. */
static bool ends_with_grid(const render_scene *s, const render_shape *shape)
{
    double low[3], high[3];
    if (!scene_is(shape->interior, &medium_heterogeneous.base.plugin) || shape->kind != SHAPE_TRIANGLES)
        return false;
    medium_box(shape->interior, low, high);
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        const float *b = s->primitives.data[shape->first_entry_primitive + i].bounds;
        for (int k = 0; k < 3; k++) {
            double least = (double)b[k], most = (double)b[3 + k], near = 1e-5 * (high[k] - low[k]);
            if ((fabs(least - low[k]) < near && fabs(most - low[k]) < near) ||
                (fabs(least - high[k]) < near && fabs(most - high[k]) < near))
                return true;
        }
    }
    return false;
}

static place_notes notes_of(const render_scene *s, const meetings *m, uint32_t index)
{
    const render_shape *shape = &s->shapes.data[index];
    return (shape_has_steps(shape) ? NOTE_STEPS : 0) | (beams_unseen(s, shape) ? NOTE_BEAM : 0) |
           (ends_with_grid(s, shape) ? NOTE_ENDS : 0) | (m->seams[index] ? NOTE_SEAM : 0) |
           (m->apart[index] ? NOTE_APART : 0) | (m->crossings[index] ? NOTE_CROSSES : 0);
}

/* Notes of all places: of shapes their own, of instances what their groups hold. */
static void note_places(const render_scene *s, const meetings *m, place_notes *places, place_notes *groups)
{
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        const uint32_t place = s->place_of[shape->object->index];
        const place_notes own = notes_of(s, m, i);
        if (place)
            places[place - 1] |= own;
        if (s->groups.count)
            groups[shape->group] |= own;
    }
    for (uint32_t k = 0; k < s->instances.count; k++) {
        const scene_object *o = s->instances.data[k].object;
        if (!o || !s->place_of[o->index])
            continue;
        place_notes shown = groups[s->instances.data[k].group] & ~(place_notes)(NOTE_SEAM | NOTE_APART);
        if (m->instances[k]) /* of seams, only those beside others: what is in a group moves as one */
            shown |= NOTE_APART;
        places[s->place_of[o->index] - 1] = shown;
    }
}

static void add_place_reasons(render_scene *s, const meetings *m)
{
    const char *reasons[NOTES_MOST] = {NULL}; /* each is made where it is needed first */
    place_notes *places = memory_need_zeroed(s->places.count + 1, sizeof *places),
                *groups = memory_need_zeroed(s->groups.count + 1, sizeof *groups);
    BL_ASSERT(places && groups, "out of memory");
    bool made[NOTES_MOST] = {false};
    note_places(s, m, places, groups);
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        render_parameter *p = &s->parameters.data[i];
        if (!p->place)
            continue;
        const place_notes n = places[p->place - 1];
        if (!made[n])
            reasons[n] = moving_reason(s, n), made[n] = true;
        p->reason = reasons[n];
    }
    memory_free(places);
    memory_free(groups);
}

/* Of an array of a mesh. */
static void add_vertex_reason(render_scene *s, const meetings *m, uint32_t index, render_parameter *p)
{
    const render_shape *shape = &s->shapes.data[index];
    if (p->slot == PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS)
        p->reason = moving_reason(s, notes_of(s, m, index));
    else if (p->slot == PLAN_ARRAY_SLOT + MESH_ARRAY_UVS && !p->turns && shape_has_steps(shape))
        p->reason = "the steps of checkerboards and nearest texels, which move with it, are left out";
    else if (p->slot == PLAN_ARRAY_SLOT + MESH_ARRAY_NORMALS && !p->reason)
        p->reason = render_turned_normals;
}

static void add_vertex_reasons(render_scene *s, const meetings *m)
{
    uint32_t *shape_of = memory_need_zeroed((size_t)s->description->object_count + 1, sizeof *shape_of);
    BL_ASSERT(shape_of, "out of memory");
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].kind == SHAPE_TRIANGLES)
            shape_of[s->shapes.data[i].object->index] = 1 + i;
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        render_parameter *p = &s->parameters.data[i];
        if (mesh_slot_moves(p->slot) && shape_of[p->object])
            add_vertex_reason(s, m, shape_of[p->object] - 1, p);
    }
    memory_free(shape_of);
}

/* ---- sensors ---- */

/* How many times as far away as the near plane the corner of a view's image is, at most: of an image up to
 * four times as long as wide. fov: in degrees, along any axis. */
static double corner_most(double fov)
{
    static const double pi = 3.14159265358979323846;
    double side = tan(fov * pi / 360);
    return sqrt(1 + 17 * side * side);
}

static bool is_given(const scene_value *v) { return v && v->given; }

/* Whether some box is nearer to a point than `reach`. Boxes of a group stand in its own space, so with groups
 * the answer is yes. */
static bool something_near(const render_scene *s, const double place[3], double reach)
{
    for (uint32_t i = 0; i < s->primitives.count && !s->has_groups; i++) {
        const float *b = s->primitives.data[i].bounds;
        double square = 0;
        for (int k = 0; k < 3; k++) {
            double beside = fmax(fmax((double)b[k] - place[k], place[k] - (double)b[3 + k]), 0);
            square += beside * beside;
        }
        if (square <= reach * reach)
            return true;
    }
    return s->has_groups;
}

/* Whether a near plane that the file sets, or the far plane, may cut what is in the scene. */
static bool may_clip(const render_scene *s, const scene_object *sensor)
{
    const scene_value *pose = scene_find(sensor, "to_world"), *near = scene_find(sensor, "near_clip"),
                      *far = scene_find(sensor, "far_clip"), *fov = scene_find(sensor, "fov"),
                      *lens = scene_find(sensor, "aperture_radius");
    double place[3] = {0}, away = 0;
    for (int i = 0; i < 3; i++) {
        place[i] = pose ? pose->matrix[4 * i + 3] : 0;
        away += (place[i] - (double)s->center[i]) * (place[i] - (double)s->center[i]);
    }
    if (far && sqrt(away) + (double)s->radius > far->number)
        return true;
    if (!is_given(near))
        return false;
    if (!is_given(fov) || is_given(scene_find(sensor, "translation")))
        return true;
    return something_near(s, place, corner_most(fov->number) * near->number + (lens ? lens->number : 0));
}

static bool some(const bool *of, uint32_t count)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++)
        any |= of[i];
    return any;
}

static const char others_image[] = "the image is another sensor's";

/* What moves in the image of a sensor that jobs can look through, and is left out. */
static const char *image_reason(render_scene *s, const meetings *m)
{
    bool edges = edges_differentiated(s);
    const char *items[6] = {"silhouettes", "edges of shadows"};
    uint32_t count = edges ? 0 : 2;
    text list = {0};
    bool steps = texture_has_steps(s->description->root);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        steps |= shape_has_seam(&s->shapes.data[i]);
    if (!s->silhouette && steps)
        items[count++] = s->volumetric ? "steps of textures and densities" : "steps of textures";
    if (s->clipped && !(edges && edges_cuts_possible(s)))
        items[count++] = "borders of what clip planes cut";
    if (some(m->crossings, s->shapes.count))
        items[count++] = "curves in which shapes go through each other";
    if (some(m->instances, s->instances.count))
        items[count++] = "borders of meshes of different instances that coincide";
    if (edges && count == 0)
        return edges_lack(s);
    for (uint32_t i = 0; i < count; i++)
        text_add(&list, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", items[i]);
    const char *reason = arena_printf(&s->memory, "%s, which move in the image, %sare left out", list.data,
                                      s->volumetric ? "and what lies behind mirrors and smooth glass, " : "");
    text_free(&list);
    return edges ? reason_beside_edges(s, &reason, 1) : reason;
}

static void add_sensor_reasons(render_scene *s, const scene_object *sensor, const char *reason)
{
    for (uint32_t k = render_last_parameter(s, sensor); k; k = s->parameters.data[k - 1].next)
        s->parameters.data[k - 1].reason = reason;
    for (uint32_t k = 0; k < sensor->child_count; k++)
        if (sensor->children[k]->cls->category == PLUGIN_SENSOR)
            add_sensor_reasons(s, sensor->children[k], others_image);
}

/* ---- what turns mirrors and glass in volumetric integrators ---- */

/* Attached paths hold shares of the whole way to a surface, also over steps of densities
 * (integrator/motion/attached_volume.c). */
static void add_turning_reasons(render_scene *s)
{
    bool follows = render_attaches_through(s), steps = s->grids_end || render_densities_step(s);
    const char *left_out = render_turned_edges_through;
    if (follows && steps)
        left_out = arena_printf(&s->memory, "steps of densities are left out; %s", left_out);
    for (uint32_t i = 0; i < s->parameters.count && follows; i++)
        if (s->parameters.data[i].reason == render_turned_through)
            s->parameters.data[i].reason = left_out;
}

void render_add_reasons(render_scene *s)
{
    for (uint32_t i = 0; i < s->sensors.count; i++)
        s->clipped = s->clipped || (sensor_exchangeable(s, i) && may_clip(s, s->sensors.data[i]));
    const meetings m = {memory_need_zeroed(s->shapes.count + 1, sizeof *m.seams),
                        memory_need_zeroed(s->shapes.count + 1, sizeof *m.apart),
                        memory_need_zeroed(s->shapes.count + 1, sizeof *m.crossings),
                        memory_need_zeroed(s->instances.count + 1, sizeof *m.instances)};
    if (edges_differentiated(s)) {
        silhouette_have_seams(s, m.seams), shapes_find_left_crossings(s, m.crossings);
        silhouette_have_instance_seams(s, m.instances, m.apart);
    }
    add_turning_reasons(s);
    add_place_reasons(s, &m);
    add_vertex_reasons(s, &m);
    const char *reason = image_reason(s, &m);
    for (uint32_t i = 0; i < s->sensors.count; i++)
        add_sensor_reasons(s, s->sensors.data[i], sensor_exchangeable(s, i) ? reason : others_image);
    memory_free(m.seams);
    memory_free(m.apart);
    memory_free(m.crossings);
    memory_free(m.instances);
    edges_reasons_of_lights(s);
}
