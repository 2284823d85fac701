/* SPDX-License-Identifier: BSD-3-Clause
 * Pinhole camera and thin lens. A ray starts on the near plane, as in Mitsuba, and clip distances are
 * depths. A direction of camera space is (x tan_x, y tan_y, 1), with x and y in [-1, 1] on the film. A ray
 * of the thin lens goes from a point of the aperture through the point of the plane of focus that a pinhole
 * would see.
 *
 * Where parameters of the sensor are requested, its record is derived from them (view_update), so that rays
 * are differentiated. Silhouettes, edges of shadows and steps, which move in the image, are left out of
 * these gradients (scene_reasons.c). */
#include "render/classes.h"

enum record {
    WINDOW = POSE_WORDS,
    TANGENT_X = WINDOW + WINDOW_WORDS,
    TANGENT_Y,
    NEAR_CLIP,
    FAR_CLIP,
    APERTURE,
    FOCUS,
    RECORD_WORDS
};
enum param { PARAM_TO_WORLD = 5, PARAM_ROTATION, PARAM_TRANSLATION }; /* slots of VIEW_PARAMS */
/* The extra words begin with the record as the scene has it, without shifts of the film. At EXTRA_FOV
 * they say where x_fov is. */
enum extra { EXTRA_FOV = RECORD_WORDS, EXTRA_WORDS = EXTRA_FOV + 2 };

static const double pi = 3.14159265358979323846;

/* ---- loading ---- */

/* Offers the parameters of the view. x_fov is in degrees, however the file gives the field of view. A focus
 * distance that the file does not give is the far clip distance. The function also says what the gradients
 * lack. */
static void offer_parameters(render_scene *s, const scene_object *o)
{
    static const uint32_t one = 1;
    const scene_value *focus = scene_get(o, "focus_distance");
    float degrees =
        (float)(360 / pi * atan(fov_tangent_x(fov_read(o, (double)s->full_width / s->full_height))));
    render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){1, &one, 1e-3f, 179.99f, &degrees});
    for (uint32_t k = render_last_parameter(s, o); k; k = s->parameters.data[k - 1].next) {
        const render_parameter *p = &s->parameters.data[k - 1];
        if (p->slot != PLAN_DATA_SLOT && strcmp(o->cls->params[p->slot].name, "focus_distance") == 0 &&
            !focus->given)
            s->values.data[p->offset] = (float)scene_number(o, "far_clip");
    }
}

static bl_result perspective_load(render_scene *s, const scene_object *o, bl_error *err)
{
    TRY(fov_check(o, err));
    if (sensor_scales(scene_get(o, "to_world")->matrix))
        return scene_error(err, BL_ERROR_SCENE, o->where, "%s: to_world must not scale", o->cls->name);
    TRY(sensor_check_clips(o, err));
    offer_parameters(s, o);
    return BL_OK;
}

/* ---- kernels ---- */

static void view_words(const scene_object *o, const double to_world[16], const sensor_film *film,
                       double shift_x, double shift_y, uint32_t *words)
{
    double aspect = (double)film->full_width / film->full_height, tx = fov_tangent_x(fov_read(o, aspect));
    sensor_pose_words(to_world, words);
    sensor_window_words(film, shift_x, shift_y, words + WINDOW);
    words[TANGENT_X] = float_word((float)tx);
    words[TANGENT_Y] = float_word((float)(tx / aspect));
    words[NEAR_CLIP] = float_word((float)scene_number(o, "near_clip"));
    words[FAR_CLIP] = float_word((float)scene_number(o, "far_clip"));
}

static void perspective_record(const render_scene *s, const scene_object *o, const double to_world[16],
                               const sensor_film *film, uint32_t *words)
{
    (void)s;
    view_words(o, to_world, film, scene_number(o, "principal_point_offset_x"),
               scene_number(o, "principal_point_offset_y"), words);
}

static void thinlens_record(const render_scene *s, const scene_object *o, const double to_world[16],
                            const sensor_film *film, uint32_t *words)
{
    (void)s;
    const scene_value *focus = scene_get(o, "focus_distance");
    view_words(o, to_world, film, 0, 0, words);
    words[APERTURE] = float_word((float)scene_number(o, "aperture_radius"));
    words[FOCUS] = float_word((float)(focus->given ? focus->number : scene_number(o, "far_clip")));
}

static void view_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    const render_scene *s = p->scene;
    const sensor_film film = {s->full_width, s->full_height, s->crop_x, s->crop_y, s->width, s->height};
    uint32_t fov = render_find_parameter(s, o, PLAN_DATA_SLOT);
    view_words(o, scene_get(o, "to_world")->matrix, &film, 0, 0, words);
    words[EXTRA_FOV] = s->parameters.data[fov].offset, words[EXTRA_FOV + 1] = p->gradient_offset[fov];
}

static vec3 point_param(tracer *t, const class_node *n, ir_ref record, uint32_t slot)
{
    ir_ref e[3];
    for (uint32_t k = 0; k < 3; k++)
        e[k] = plan_load(t, n, record, n->field[slot], slot, t_u32(t, k));
    return v3(e[0], e[1], e[2]);
}

/* Derives the record from the parameters. */
static void view_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    ir_func *f = t->f;
    vec3 columns[4];
    sensor_extra_words(t, n, record, RECORD_WORDS, derived);
    sensor_matrix(t, n, record, PARAM_TO_WORLD, columns);
    sensor_pose_derive(t, columns, point_param(t, n, record, PARAM_ROTATION),
                       point_param(t, n, record, PARAM_TRANSLATION), derived);
    ir_ref half = ir_mul(f, plan_load(t, n, record, n->extra_word + EXTRA_FOV, PLAN_DATA_SLOT, t_u32(t, 0)),
                         t_f32(t, (float)(pi / 360)));
    ir_ref tangent = ir_div(f, ir_sin(f, half), ir_cos(f, half));
    derived[TANGENT_Y] = ir_mul(f, tangent, ir_div(f, derived[TANGENT_Y], derived[TANGENT_X]));
    derived[TANGENT_X] = tangent;
    if (n->cls == &sensor_perspective.base) {
        derived[WINDOW + WINDOW_OFFSET_X] = ir_add(f, derived[WINDOW + WINDOW_OFFSET_X],
                                                   plan_number(t, n, record, "principal_point_offset_x"));
        derived[WINDOW + WINDOW_OFFSET_Y] = ir_add(f, derived[WINDOW + WINDOW_OFFSET_Y],
                                                   plan_number(t, n, record, "principal_point_offset_y"));
    } else {
        derived[APERTURE] = plan_number(t, n, record, "aperture_radius"),
        derived[FOCUS] = plan_number(t, n, record, "focus_distance");
    }
}

/* The ray from the near plane to the far plane. local: a direction in camera space, of the given length,
 * which may be any. from: the place in the world where the ray leaves the plane z = 0. */
static ray between_clips(tracer *t, const sensor_view *v, vec3 from, vec3 local, ir_ref length)
{
    ir_func *f = t->f;
    vec3 unit = v3_scale(t, local, ir_div(f, t_f32(t, 1), length));
    vec3 d = v3_add(t, v3_scale(t, sensor_vector(t, v, POSE_X), unit.x),
                    v3_add(t, v3_scale(t, sensor_vector(t, v, POSE_Y), unit.y),
                           v3_scale(t, sensor_vector(t, v, POSE_Z), unit.z)));
    d = v3_normalize(t, d);
    /* the length of that part of the ray that is as deep as 1 */
    ir_ref by_depth = ir_div(f, length, local.z);
    ir_ref near = ir_mul(f, sensor_real(t, v, NEAR_CLIP), by_depth),
           far = ir_mul(f, sensor_real(t, v, FAR_CLIP), by_depth);
    return (ray){v3_add(t, from, v3_scale(t, d, near)), d, ir_sub(f, far, near)};
}

static vec3 pinhole_direction(tracer *t, const sensor_view *v, vec2 position)
{
    ir_func *f = t->f;
    vec2 film = sensor_film_position(t, v, WINDOW, position);
    return v3(ir_mul(f, film.x, sensor_real(t, v, TANGENT_X)),
              ir_mul(f, film.y, sensor_real(t, v, TANGENT_Y)), t_f32(t, 1));
}

static ray perspective_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    (void)lens;
    vec3 local = pinhole_direction(t, v, position);
    return between_clips(t, v, sensor_vector(t, v, POSE_ORIGIN), local, v3_length(t, local));
}

/* The ray from a point of the aperture through the point of the plane of focus that a pinhole would see. */
static ray thinlens_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    ir_func *f = t->f;
    ir_ref radius = sensor_real(t, v, APERTURE);
    vec2 disk = warp_disk_concentric(t, lens.x, lens.y);
    ir_ref x = ir_mul(f, radius, disk.x), y = ir_mul(f, radius, disk.y);
    vec3 focus = v3_scale(t, pinhole_direction(t, v, position), sensor_real(t, v, FOCUS));
    vec3 local = v3(ir_sub(f, focus.x, x), ir_sub(f, focus.y, y), focus.z);
    vec3 from = v3_add(
        t, sensor_vector(t, v, POSE_ORIGIN),
        v3_add(t, v3_scale(t, sensor_vector(t, v, POSE_X), x), v3_scale(t, sensor_vector(t, v, POSE_Y), y)));
    return between_clips(t, v, from, local, v3_length(t, local));
}

/* ---- light tracing ---- */

/* The place of p on the image, seen from the point (x, y) of the aperture, where the plane z = focus stays
 * in place. A camera without aperture passes 0, 0 and any focus. The slopes (x, y) / z in camera space and
 * the place on the film differ only by scales and shifts. So the importance is 1 / (A cos^3) in solid
 * angle, with A the area of the window at z = 1. */
static sensor_link view_link(tracer *t, const sensor_view *v, vec3 p, ir_ref x, ir_ref y, ir_ref focus)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), half = t_f32(t, 0.5f);
    vec3 axis_x = sensor_vector(t, v, POSE_X), axis_y = sensor_vector(t, v, POSE_Y);
    vec3 from = v3_add(t, sensor_vector(t, v, POSE_ORIGIN),
                       v3_add(t, v3_scale(t, axis_x, x), v3_scale(t, axis_y, y))),
         to = v3_sub(t, p, from);
    ir_ref depth = v3_dot(t, to, sensor_vector(t, v, POSE_Z)), ahead = ir_gt(f, depth, zero),
           by = t_ratio(t, one, depth);
    ir_ref nearer = t_ratio(t, one, focus);
    ir_ref film_x = t_mad(t, v3_dot(t, to, axis_x), by, ir_mul(f, x, nearer)),
           film_y = t_mad(t, v3_dot(t, to, axis_y), by, ir_mul(f, y, nearer));
    ir_ref tangent_x = sensor_real(t, v, TANGENT_X), tangent_y = sensor_real(t, v, TANGENT_Y);
    ir_ref scale_x = sensor_real(t, v, WINDOW + WINDOW_SCALE_X),
           scale_y = sensor_real(t, v, WINDOW + WINDOW_SCALE_Y);
    film_x = ir_mul(f, half, ir_sub(f, one, ir_div(f, film_x, tangent_x))),
    film_y = ir_mul(f, half, ir_sub(f, one, ir_div(f, film_y, tangent_y)));
    sensor_link l = {.point = from, .near = ir_min(f, one, ir_mul(f, sensor_real(t, v, NEAR_CLIP), by))};
    l.position = (vec2){ir_div(f, ir_sub(f, film_x, sensor_real(t, v, WINDOW + WINDOW_OFFSET_X)), scale_x),
                        ir_div(f, ir_sub(f, film_y, sensor_real(t, v, WINDOW + WINDOW_OFFSET_Y)), scale_y)};
    ir_ref before_far = ir_le(f, depth, sensor_real(t, v, FAR_CLIP));
    l.behind_near = ir_ge(f, depth, sensor_real(t, v, NEAR_CLIP));
    l.within = ir_and(f, l.behind_near, before_far);
    l.far = ir_mul(f, sensor_real(t, v, FAR_CLIP), by);
    l.seen = ir_and(f, ahead, sensor_in_window(t, l.position));
    ir_ref area =
        ir_mul(f, ir_mul(f, t_f32(t, 4), ir_mul(f, tangent_x, tangent_y)), ir_mul(f, scale_x, scale_y));
    /* The weight is 1 / (A cos^3 r^2). */
    l.weight = t_ratio(t, v3_length(t, to), ir_mul(f, area, ir_mul(f, depth, t_sqr(t, depth))));
    return l;
}

static sensor_link perspective_link(tracer *t, const sensor_view *v, vec3 p, vec2 lens)
{
    (void)lens;
    ir_ref zero = t_f32(t, 0);
    return view_link(t, v, p, zero, zero, t_f32(t, 1));
}

static sensor_link thinlens_link(tracer *t, const sensor_view *v, vec3 p, vec2 lens)
{
    ir_ref radius = sensor_real(t, v, APERTURE);
    vec2 disk = warp_disk_concentric(t, lens.x, lens.y);
    return view_link(t, v, p, ir_mul(t->f, radius, disk.x), ir_mul(t->f, radius, disk.y),
                     sensor_real(t, v, FOCUS));
}

/* ---- classes ---- */

// clang-format off
#define VIEW_PARAMS \
    {"fov", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 1e-3, 179.99, "field of view in degrees"}, \
    {"focal_length", PLUGIN_STRING, PLUGIN_ABSENT, NULL, 0, 0, "35 mm equivalent, e.g. 50mm (the default)"}, \
    {"fov_axis", PLUGIN_STRING, 0, "x", 0, 0, "x, y, diagonal, smaller or larger"}, \
    {"near_clip", PLUGIN_FLOAT, 0, "1e-2", 1e-9, 1e30, "where rays start"}, \
    {"far_clip", PLUGIN_FLOAT, 0, "1e4", 1e-9, 1e30, "where they end"}, \
    {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0, \
     "camera to world, without scale"}, \
    {"rotation", PLUGIN_POINT, PLUGIN_DIFFERENTIABLE, "0,0,0", 0, 0, \
     "besides to_world (not Mitsuba's): about the camera's own axes, by the vector's length in degrees"}, \
    {"translation", PLUGIN_POINT, PLUGIN_DIFFERENTIABLE, "0,0,0", 0, 0, "and along them (not Mitsuba's)"}, \
    {"shutter_open", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"}, \
    {"shutter_close", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"}
// clang-format on

static const plugin_param perspective_params[] = {
    VIEW_PARAMS,
    {"focus_distance", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 1e30,
     "accepted; a pinhole is in focus everywhere"},
    {"principal_point_offset_x", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "0", -1e3, 1e3,
     "relative to the film's width"},
    {"principal_point_offset_y", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "0", -1e3, 1e3,
     "relative to the film's height"},
};
static const plugin_param thinlens_params[] = {
    VIEW_PARAMS,
    {"aperture_radius", PLUGIN_FLOAT, PLUGIN_REQUIRED | PLUGIN_DIFFERENTIABLE, NULL, 0, 1e30,
     "of the lens, in scene units; 0 is a pinhole"},
    {"focus_distance", PLUGIN_FLOAT, PLUGIN_ABSENT | PLUGIN_DIFFERENTIABLE, NULL, 1e-9, 1e30,
     "depth that is sharp; far_clip if missing"},
};
static const plugin_slot sensor_slots[] = {SENSOR_SLOTS};
const sensor_class sensor_perspective = {
    .base = {.plugin = {PLUGIN_SENSOR, "perspective", PLUGIN_TABLE(perspective_params),
                        PLUGIN_TABLE(sensor_slots), "pinhole camera"},
             .load = perspective_load,
             .data_name = "x_fov",
             .extra_words = EXTRA_WORDS,
             .extra = view_extra,
             .derived_count = RECORD_WORDS,
             .update = view_update},
    .record = perspective_record,
    .ray = perspective_ray,
    .link = perspective_link,
};
const sensor_class sensor_thinlens = {
    .base = {.plugin = {PLUGIN_SENSOR, "thinlens", PLUGIN_TABLE(thinlens_params), PLUGIN_TABLE(sensor_slots),
                        "camera with depth of field"},
             .load = perspective_load,
             .data_name = "x_fov",
             .extra_words = EXTRA_WORDS,
             .extra = view_extra,
             .derived_count = RECORD_WORDS,
             .update = view_update},
    .record = thinlens_record,
    .ray = thinlens_ray,
    .link = thinlens_link,
};
