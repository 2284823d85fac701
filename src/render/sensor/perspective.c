/* SPDX-License-Identifier: BSD-3-Clause
 * Pinhole camera and thin lens. The ray starts on the near plane, as in Mitsuba; clip distances are depths. */
#include "render/classes.h"

enum record { WINDOW = POSE_WORDS, TANGENT_X = WINDOW + WINDOW_WORDS, TANGENT_Y, NEAR_CLIP, FAR_CLIP, APERTURE, FOCUS };

/* ---- loading ---- */

static bl_result perspective_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    TRY(fov_check(o, err));
    if (sensor_scales(scene_get(o, "to_world")->matrix))
        return scene_error(err, BL_ERROR_SCENE, o->where, "%s: to_world must not scale", o->cls->name);
    return sensor_check_clips(o, err);
}

/* ---- kernels ---- */

static void view_words(const scene_object *o, const double to_world[16], const sensor_film *film, double shift_x, double shift_y, uint32_t *words)
{
    double aspect = (double)film->full_width / film->full_height, tx = fov_tangent_x(fov_read(o, aspect));
    sensor_pose_words(to_world, words);
    sensor_window_words(film, shift_x, shift_y, words + WINDOW);
    words[TANGENT_X] = float_word((float)tx);
    words[TANGENT_Y] = float_word((float)(tx / aspect));
    words[NEAR_CLIP] = float_word((float)scene_number(o, "near_clip"));
    words[FAR_CLIP] = float_word((float)scene_number(o, "far_clip"));
}

static void perspective_record(const render_scene *s, const scene_object *o, const double to_world[16], const sensor_film *film, uint32_t *words)
{
    (void)s;
    view_words(o, to_world, film, scene_number(o, "principal_point_offset_x"), scene_number(o, "principal_point_offset_y"), words);
}

static void thinlens_record(const render_scene *s, const scene_object *o, const double to_world[16], const sensor_film *film, uint32_t *words)
{
    (void)s;
    const scene_value *focus = scene_get(o, "focus_distance");
    view_words(o, to_world, film, 0, 0, words);
    words[APERTURE] = float_word((float)scene_number(o, "aperture_radius"));
    words[FOCUS] = float_word((float)(focus->given ? focus->number : scene_number(o, "far_clip")));
}

/* local: a direction of the camera, of any length; from: where the ray leaves the plane z = 0, in the world. */
static ray between_clips(tracer *t, const sensor_view *v, vec3 from, vec3 local, ir_ref length)
{
    ir_func *f = t->f;
    ir_ref record = v->record;
    vec3 unit = v3_scale(t, local, ir_div(f, t_f32(t, 1), length));
    vec3 d = v3_add(t, v3_scale(t, v3_load(t, record, POSE_X), unit.x),
                    v3_add(t, v3_scale(t, v3_load(t, record, POSE_Y), unit.y), v3_scale(t, v3_load(t, record, POSE_Z), unit.z)));
    d = v3_normalize(t, d);
    /* length by depth: of a ray's part that is as deep as 1 */
    ir_ref by_depth = ir_div(f, length, local.z);
    ir_ref near = ir_mul(f, t_real(t, record, NEAR_CLIP), by_depth), far = ir_mul(f, t_real(t, record, FAR_CLIP), by_depth);
    return (ray){v3_add(t, from, v3_scale(t, d, near)), d, ir_sub(f, far, near)};
}

static vec3 pinhole_direction(tracer *t, const sensor_view *v, vec2 position)
{
    ir_func *f = t->f;
    vec2 film = sensor_film_position(t, v, WINDOW, position);
    return v3(ir_mul(f, film.x, t_real(t, v->record, TANGENT_X)), ir_mul(f, film.y, t_real(t, v->record, TANGENT_Y)), t_f32(t, 1));
}

static ray perspective_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    (void)lens;
    vec3 local = pinhole_direction(t, v, position);
    return between_clips(t, v, v3_load(t, v->record, POSE_ORIGIN), local, v3_length(t, local));
}

/* From a point of the aperture through the point of the plane of focus that a pinhole would see. */
static ray thinlens_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    ir_func *f = t->f;
    ir_ref radius = t_real(t, v->record, APERTURE);
    vec2 disk = warp_disk_concentric(t, lens.x, lens.y);
    ir_ref x = ir_mul(f, radius, disk.x), y = ir_mul(f, radius, disk.y);
    vec3 focus = v3_scale(t, pinhole_direction(t, v, position), t_real(t, v->record, FOCUS));
    vec3 local = v3(ir_sub(f, focus.x, x), ir_sub(f, focus.y, y), focus.z);
    vec3 from = v3_add(t, v3_load(t, v->record, POSE_ORIGIN),
                       v3_add(t, v3_scale(t, v3_load(t, v->record, POSE_X), x), v3_scale(t, v3_load(t, v->record, POSE_Y), y)));
    return between_clips(t, v, from, local, v3_length(t, local));
}

/* ---- classes ---- */

#define VIEW_PARAMS                                                                                                          \
    {"fov", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 1e-3, 179.99, "field of view in degrees"},                                  \
        {"focal_length", PLUGIN_STRING, PLUGIN_ABSENT, NULL, 0, 0, "35 mm equivalent, e.g. 50mm (the default)"},           \
        {"fov_axis", PLUGIN_STRING, 0, "x", 0, 0, "x, y, diagonal, smaller or larger"},                                    \
        {"near_clip", PLUGIN_FLOAT, 0, "1e-2", 1e-9, 1e30, "where rays start"},                                            \
        {"far_clip", PLUGIN_FLOAT, 0, "1e4", 1e-9, 1e30, "where they end"},                                                \
        {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "camera to world, without scale"},                             \
        {"shutter_open", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},                                           \
        {"shutter_close", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"}

static const plugin_param perspective_params[] = {
    VIEW_PARAMS,
    {"focus_distance", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 1e30, "accepted; a pinhole is in focus everywhere"},
    {"principal_point_offset_x", PLUGIN_FLOAT, 0, "0", -1e3, 1e3, "relative to the film's width"},
    {"principal_point_offset_y", PLUGIN_FLOAT, 0, "0", -1e3, 1e3, "relative to the film's height"},
};
static const plugin_param thinlens_params[] = {
    VIEW_PARAMS,
    {"aperture_radius", PLUGIN_FLOAT, PLUGIN_REQUIRED, NULL, 0, 1e30, "of the lens, in scene units; 0 is a pinhole"},
    {"focus_distance", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 1e-9, 1e30, "depth that is sharp; far_clip if missing"},
};
static const plugin_slot sensor_slots[] = {{PLUGIN_FILM, "film", 0, 1}, {PLUGIN_SAMPLER, "sampler", 0, 1}, {PLUGIN_MEDIUM, "medium", 0, 1}};
const sensor_class sensor_perspective = {
    .base = {.plugin = {PLUGIN_SENSOR, "perspective", perspective_params, 11, sensor_slots, 3, "pinhole camera"}, .load = perspective_load},
    .record = perspective_record,
    .ray = perspective_ray,
};
const sensor_class sensor_thinlens = {
    .base = {.plugin = {PLUGIN_SENSOR, "thinlens", thinlens_params, 10, sensor_slots, 3, "camera with depth of field"}, .load = perspective_load},
    .record = thinlens_record,
    .ray = thinlens_ray,
};
