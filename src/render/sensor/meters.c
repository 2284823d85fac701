/* SPDX-License-Identifier: BSD-3-Clause
 * Sensors that measure at a place: along one ray (radiancemeter), and from infinitely far along one direction
 * (distant).
 *
 * Densities are those of Mitsuba. The distant sensor averages over its target. The target is a point, or a
 * shape (uniformly in area); without a target it is the cross section of the bounding sphere of the scene.
 * These sensors have no differentiable parameters. */
#include "render/classes.h"

enum record { ORIGIN, DIRECTION = 3, ACROSS_X = 6, ACROSS_Y = 9, RADIUS = 12 };

static void put(uint32_t *words, const double v[3])
{
    for (int k = 0; k < 3; k++)
        words[k] = float_word((float)v[k]);
}

static bl_result check_direction(const scene_object *o, const char *what, bl_error *err)
{
    const scene_value *direction = scene_get(o, "direction"), *to_world = scene_get(o, "to_world");
    if (direction->given && to_world->given)
        return scene_error(err, BL_ERROR_SCENE, direction->where,
                           "%s: give either \"to_world\" or %s, not both", o->cls->name, what);
    double d[3];
    sensor_direction(o, to_world->matrix, d);
    if (!isfinite(d[0] + d[1] + d[2]))
        return scene_error(err, BL_ERROR_SCENE, o->where, "%s: its direction is zero", o->cls->name);
    return BL_OK;
}

/* ---- radiancemeter ---- */

static bl_result radiancemeter_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    if (scene_get(o, "origin")->given != scene_get(o, "direction")->given)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "radiancemeter: \"origin\" and \"direction\" go together");
    return check_direction(o, "\"origin\" and \"direction\"", err);
}

static void radiancemeter_record(const render_scene *s, const scene_object *o, const double to_world[16],
                                 const sensor_film *film, uint32_t *words)
{
    (void)s, (void)film;
    const scene_value *given = scene_get(o, "origin");
    double d[3], origin[3];
    sensor_direction(o, to_world, d);
    for (int k = 0; k < 3; k++)
        origin[k] = given->given ? given->vector[k] : to_world[4 * k + 3];
    put(words + ORIGIN, origin), put(words + DIRECTION, d);
}

static ray radiancemeter_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    (void)position, (void)lens;
    return (ray){v3_load(t, v->record, ORIGIN), v3_load(t, v->record, DIRECTION), t_f32(t, 1e30f)};
}

/* ---- distant ---- */

static const scene_object *target_shape(const scene_object *o) { return scene_child(o, PLUGIN_SHAPE); }

static bl_result distant_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    if (target_shape(o) && scene_get(o, "target")->given)
        return scene_error(err, BL_ERROR_SCENE, o->where, "distant: more than one target");
    return check_direction(o, "\"direction\"", err);
}

static bl_result distant_bind(const render_scene *s, const scene_object *o, bl_error *err)
{
    return target_shape(o) ? sensor_check_surface(s, o, target_shape(o), err) : BL_OK;
}

/* The record also has two axes across d, as long as the radius of the bounding sphere. */
static void distant_record(const render_scene *s, const scene_object *o, const double to_world[16],
                           const sensor_film *film, uint32_t *words)
{
    (void)film;
    const scene_value *target = scene_get(o, "target");
    double d[3], origin[3], x[3], y[3], radius = fmax((double)s->radius, 1e-4);
    bool given = scene_get(o, "direction")->given;
    sensor_direction(o, to_world, d);
    int least =
        fabs(d[0]) < fabs(d[1]) ? (fabs(d[0]) < fabs(d[2]) ? 0 : 2) : (fabs(d[1]) < fabs(d[2]) ? 1 : 2);
    double length = sqrt(1 - d[least] * d[least]);
    for (int k = 0; k < 3; k++)
        x[k] = given ? ((k == least) - d[least] * d[k]) / length : to_world[4 * k];
    for (int k = 0; k < 3; k++)
        y[k] =
            given ? d[(k + 1) % 3] * x[(k + 2) % 3] - d[(k + 2) % 3] * x[(k + 1) % 3] : to_world[4 * k + 1];
    for (int k = 0; k < 3; k++) {
        origin[k] =
            target->given ? target->vector[k] - 2 * radius * d[k] : (double)s->center[k] - radius * d[k];
        x[k] *= radius, y[k] *= radius;
    }
    put(words + ORIGIN, origin), put(words + DIRECTION, d), put(words + ACROSS_X, x),
        put(words + ACROSS_Y, y);
    words[RADIUS] = float_word((float)radius);
}

static ray distant_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    (void)position;
    ir_func *f = t->f;
    vec3 o = v3_load(t, v->record, ORIGIN), d = v3_load(t, v->record, DIRECTION);
    if (target_shape(v->object)) {
        interaction at = sensor_surface_point(t, target_shape(v->object), lens);
        o = v3_sub(t, at.p, v3_scale(t, d, ir_mul(f, t_f32(t, 2), t_real(t, v->record, RADIUS))));
    } else if (!scene_get(v->object, "target")->given) {
        vec2 disk = warp_disk_concentric(t, lens.x, lens.y);
        vec3 across = v3_add(t, v3_scale(t, v3_load(t, v->record, ACROSS_X), disk.x),
                             v3_scale(t, v3_load(t, v->record, ACROSS_Y), disk.y));
        o = v3_add(t, o, across);
    }
    return (ray){o, d, t_f32(t, 1e30f)};
}

/* ---- classes ---- */

static const plugin_slot sensor_slots[] = {SENSOR_SLOTS};
static const plugin_slot distant_slots[] = {SENSOR_SLOTS, {PLUGIN_SHAPE, "target", 0, 1}};
static const plugin_param radiancemeter_params[] = {
    {"origin", PLUGIN_POINT, PLUGIN_ABSENT, NULL, 0, 0, "where the ray starts"},
    {"direction", PLUGIN_POINT, PLUGIN_ABSENT, NULL, 0, 0, "where it goes"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "or both: +z from the origin"},
    SENSOR_SHUTTER,
};
static const plugin_param distant_params[] = {
    {"direction", PLUGIN_POINT, PLUGIN_ABSENT, NULL, 0, 0, "where rays go"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "or this: +z"},
    {"target", PLUGIN_POINT, PLUGIN_ABSENT, NULL, 0, 0,
     "a point that rays go through; or a shape; the whole scene if missing"},
    SENSOR_SHUTTER,
};
const sensor_class sensor_radiancemeter = {
    .base = {.plugin = {PLUGIN_SENSOR, "radiancemeter", PLUGIN_TABLE(radiancemeter_params),
                        PLUGIN_TABLE(sensor_slots), "radiance along one ray"},
             .load = radiancemeter_load},
    .one_pixel = true,
    .record = radiancemeter_record,
    .ray = radiancemeter_ray,
};
const sensor_class sensor_distant = {
    .base = {.plugin = {PLUGIN_SENSOR, "distant", PLUGIN_TABLE(distant_params), PLUGIN_TABLE(distant_slots),
                        "radiance that leaves the scene in a direction"},
             .load = distant_load},
    .one_pixel = true,
    .bind = distant_bind,
    .record = distant_record,
    .ray = distant_ray,
};
