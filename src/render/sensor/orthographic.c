/* SPDX-License-Identifier: BSD-3-Clause
 * Parallel rays. The width of the film spans [-1, 1] of the camera's x axis, which to_world may scale, and
 * its height follows the aspect. The near plane is scaled with the axes, and the distance between near and
 * far plane is not, as in Mitsuba. Where to_world is requested, the record is derived from it
 * (orthographic_update), so that rays are differentiated. */
#include "render/classes.h"

enum record { WINDOW = POSE_WORDS, DIRECTION = WINDOW + WINDOW_WORDS, LENGTH = DIRECTION + 3, RECORD_WORDS };
enum { PARAM_TO_WORLD = 2 };
/* The extra words: the record as the scene has it, then near_clip, then height over width of the film. */
enum extra { EXTRA_NEAR = RECORD_WORDS, EXTRA_ASPECT, EXTRA_WORDS };

static bl_result orthographic_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    if (matrix_determinant3(scene_get(o, "to_world")->matrix) == 0)
        return scene_error(err, BL_ERROR_SCENE, o->where, "orthographic: to_world is singular");
    return sensor_check_clips(o, err);
}

static void orthographic_record(const render_scene *s, const scene_object *o, const double to_world[16],
                                const sensor_film *film, uint32_t *words)
{
    (void)s;
    double m[16],
        near = scene_number(o, "near_clip"),
        length = sqrt(to_world[2] * to_world[2] + to_world[6] * to_world[6] + to_world[10] * to_world[10]);
    memcpy(m, to_world, sizeof m);
    for (int k = 0; k < 3; k++) {
        m[4 * k + 1] *= (double)film->full_height / film->full_width;
        m[4 * k + 3] += near * to_world[4 * k + 2];
        words[DIRECTION + k] = float_word((float)(to_world[4 * k + 2] / length));
    }
    sensor_pose_words(m, words);
    sensor_window_words(film, 0, 0, words + WINDOW);
    words[LENGTH] = float_word((float)(scene_number(o, "far_clip") - near));
}

static void orthographic_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    const render_scene *s = p->scene;
    const sensor_film film = {s->full_width, s->full_height, s->crop_x, s->crop_y, s->width, s->height};
    orthographic_record(s, o, scene_get(o, "to_world")->matrix, &film, words);
    words[EXTRA_NEAR] = float_word((float)scene_number(o, "near_clip"));
    words[EXTRA_ASPECT] = float_word((float)((double)film.full_height / film.full_width));
}

/* Derives the record from the parameters. */
static void orthographic_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    vec3 column[4];
    sensor_extra_words(t, n, record, RECORD_WORDS, derived);
    sensor_matrix(t, n, record, PARAM_TO_WORLD, column);
    vec3_put(column[0], derived + POSE_X),
        vec3_put(v3_scale(t, column[1], t_real(t, record, n->extra_word + EXTRA_ASPECT)), derived + POSE_Y);
    vec3_put(column[2], derived + POSE_Z), vec3_put(v3_normalize(t, column[2]), derived + DIRECTION);
    vec3_put(v3_add(t, column[3], v3_scale(t, column[2], t_real(t, record, n->extra_word + EXTRA_NEAR))),
             derived + POSE_ORIGIN);
}

static ray orthographic_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    (void)lens;
    vec2 film = sensor_film_position(t, v, WINDOW, position);
    vec3 across = v3_add(t, v3_scale(t, sensor_vector(t, v, POSE_X), film.x),
                         v3_scale(t, sensor_vector(t, v, POSE_Y), film.y));
    return (ray){v3_add(t, sensor_vector(t, v, POSE_ORIGIN), across), sensor_vector(t, v, DIRECTION),
                 sensor_real(t, v, LENGTH)};
}

/* For light tracing: finds the way from p back along the rays to the near plane, by Cramer's rule. The
 * importance is 1 over the area of the window across the rays. */
static sensor_link orthographic_link(tracer *t, const sensor_view *v, vec3 p, vec2 lens)
{
    (void)lens;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), half = t_f32(t, 0.5f);
    vec3 x = sensor_vector(t, v, POSE_X), y = sensor_vector(t, v, POSE_Y), z = sensor_vector(t, v, DIRECTION);
    vec3 to = v3_sub(t, p, sensor_vector(t, v, POSE_ORIGIN)), yz = v3_cross(t, y, z);
    ir_ref determinant = v3_dot(t, x, yz), depth = ir_div(f, v3_dot(t, to, v3_cross(t, x, y)), determinant);
    ir_ref film_x = ir_div(f, v3_dot(t, to, yz), determinant),
           film_y = ir_div(f, v3_dot(t, to, v3_cross(t, z, x)), determinant);
    ir_ref scale_x = sensor_real(t, v, WINDOW + WINDOW_SCALE_X),
           scale_y = sensor_real(t, v, WINDOW + WINDOW_SCALE_Y);
    film_x = ir_mul(f, half, ir_sub(f, one, film_x)), film_y = ir_mul(f, half, ir_sub(f, one, film_y));
    sensor_link l = {.point = v3_sub(t, p, v3_scale(t, z, depth)), .near = t_f32(t, 0)};
    l.position = (vec2){ir_div(f, ir_sub(f, film_x, sensor_real(t, v, WINDOW + WINDOW_OFFSET_X)), scale_x),
                        ir_div(f, ir_sub(f, film_y, sensor_real(t, v, WINDOW + WINDOW_OFFSET_Y)), scale_y)};
    ir_ref before_far = ir_le(f, depth, sensor_real(t, v, LENGTH));
    l.behind_near = ir_ge(f, depth, t_f32(t, 0));
    l.within = ir_and(f, l.behind_near, before_far);
    l.far = t_ratio(t, sensor_real(t, v, LENGTH), depth);
    l.seen = sensor_in_window(t, l.position);
    ir_ref area = ir_mul(f, ir_mul(f, t_f32(t, 4), ir_abs(f, determinant)), ir_mul(f, scale_x, scale_y));
    l.weight = ir_div(f, one, area);
    return l;
}

static const plugin_param orthographic_params[] = {
    {"near_clip", PLUGIN_FLOAT, 0, "1e-2", 0, 1e30, "where rays start"},
    {"far_clip", PLUGIN_FLOAT, 0, "1e4", 1e-9, 1e30, "where they end"},
    [PARAM_TO_WORLD] = {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
                        "camera to world; its scale is the film's size"},
    {"shutter_open", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},
    {"shutter_close", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},
};
static const plugin_slot sensor_slots[] = {SENSOR_SLOTS};
const sensor_class sensor_orthographic = {
    .base = {.plugin = {PLUGIN_SENSOR, "orthographic", PLUGIN_TABLE(orthographic_params),
                        PLUGIN_TABLE(sensor_slots), "parallel rays"},
             .load = orthographic_load,
             .extra_words = EXTRA_WORDS,
             .extra = orthographic_extra,
             .derived_count = RECORD_WORDS,
             .update = orthographic_update},
    .record = orthographic_record,
    .ray = orthographic_ray,
    .link = orthographic_link,
    .parallel = true,
};
