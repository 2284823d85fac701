/* SPDX-License-Identifier: BSD-3-Clause
 * Pinhole camera. Camera space: +z forward, +x to the image's left, +y up. The ray starts on the near plane, as in Mitsuba. */
#include "render/classes.h"

enum record { ORIGIN, AXIS_X = 3, AXIS_Y = 6, AXIS_Z = 9, TANGENT_X = 12, TANGENT_Y, NEAR_CLIP, FAR_CLIP, OFFSET_X, OFFSET_Y, SCALE_X, SCALE_Y };

static bool scales(const double m[16])
{
    for (int c = 0; c < 3; c++)
        if (!(fabs(m[c] * m[c] + m[4 + c] * m[4 + c] + m[8 + c] * m[8 + c] - 1) <= 1e-3))
            return true;
    return false;
}

static bl_result perspective_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    TRY(fov_check(o, err));
    if (scene_number(o, "far_clip") <= scene_number(o, "near_clip"))
        return scene_error(err, BL_ERROR_SCENE, o->where, "perspective: \"far_clip\" must be greater than \"near_clip\"");
    if (scales(scene_get(o, "to_world")->matrix))
        return scene_error(err, BL_ERROR_SCENE, o->where, "perspective: to_world must not scale");
    return BL_OK;
}

/* ---- other sensors of the scene ---- */

static bool same_values(const scene_object *a, const scene_object *b)
{
    if (!a || !b || a->cls != b->cls)
        return a == b;
    for (uint32_t k = 0; k < a->cls->param_count; k++)
        if (a->cls->params[k].kind != PLUGIN_STRING && a->values[k].number != b->values[k].number)
            return false;
    return true;
}

static bool same_film(const scene_object *a, const scene_object *b)
{
    return same_values(a, b) && (!a || same_values(scene_child(a, PLUGIN_RFILTER), scene_child(b, PLUGIN_RFILTER)));
}

bl_result sensor_check(const render_scene *s, uint32_t index, const float *to_world, bl_error *err)
{
    double pose[16];
    if (index >= s->sensors.count)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no sensor %u: the scene has %u, counted from 0", index, s->sensors.count);
    const scene_object *sensor = s->sensors.data[index];
    if (!same_film(s->film, scene_child(sensor, PLUGIN_FILM)))
        return scene_error(err, BL_ERROR_UNSUPPORTED, sensor->where,
                           "sensor %u: its film differs from the first sensor's in size, crop window or filter", index);
    for (int k = 0; to_world && k < 16; k++) {
        pose[k] = (double)to_world[k];
        if (!isfinite(pose[k]))
            return error_set(err, BL_ERROR_ARGUMENT, "sensor %u: its to_world is not finite", index);
    }
    if (to_world && scales(pose))
        return error_set(err, BL_ERROR_ARGUMENT, "sensor %u: its to_world must not scale", index);
    return BL_OK;
}

/* ---- kernels ---- */

void perspective_record(const render_scene *s, const scene_object *o, const float *to_world, uint32_t words[SENSOR_WORDS])
{
    double pose[16];
    const double *own = scene_get(o, "to_world")->matrix, *m = pose;
    for (int k = 0; k < 16; k++)
        pose[k] = to_world ? (double)to_world[k] : own[k];
    for (int k = 0; k < 3; k++) {
        words[ORIGIN + k] = float_word((float)m[4 * k + 3]);
        words[AXIS_X + k] = float_word((float)m[4 * k]);
        words[AXIS_Y + k] = float_word((float)m[4 * k + 1]);
        words[AXIS_Z + k] = float_word((float)m[4 * k + 2]);
    }
    double aspect = (double)s->full_width / s->full_height, tx = fov_tangent_x(fov_read(o, aspect));
    words[TANGENT_X] = float_word((float)tx);
    words[TANGENT_Y] = float_word((float)(tx / aspect));
    words[NEAR_CLIP] = float_word((float)scene_number(o, "near_clip"));
    words[FAR_CLIP] = float_word((float)scene_number(o, "far_clip"));
    /* from the image, the crop window, to the whole film */
    words[OFFSET_X] = float_word((float)(scene_number(o, "principal_point_offset_x") + (double)s->crop_x / s->full_width));
    words[OFFSET_Y] = float_word((float)(scene_number(o, "principal_point_offset_y") + (double)s->crop_y / s->full_height));
    words[SCALE_X] = float_word((float)((double)s->width / s->full_width));
    words[SCALE_Y] = float_word((float)((double)s->height / s->full_height));
}

ray perspective_ray(tracer *t, ir_ref record, vec2 position)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = t_f32(t, 2);
    ir_ref x = t_mad(t, position.x, t_real(t, record, SCALE_X), t_real(t, record, OFFSET_X));
    ir_ref y = t_mad(t, position.y, t_real(t, record, SCALE_Y), t_real(t, record, OFFSET_Y));
    vec3 local = v3(ir_mul(f, ir_sub(f, one, ir_mul(f, two, x)), t_real(t, record, TANGENT_X)),
                    ir_mul(f, ir_sub(f, one, ir_mul(f, two, y)), t_real(t, record, TANGENT_Y)), one);
    ir_ref length = v3_length(t, local); /* distance along the ray per unit of depth */
    vec3 unit = v3_scale(t, local, ir_div(f, one, length));
    vec3 d = v3_add(t, v3_scale(t, v3_load(t, record, AXIS_X), unit.x),
                    v3_add(t, v3_scale(t, v3_load(t, record, AXIS_Y), unit.y), v3_scale(t, v3_load(t, record, AXIS_Z), unit.z)));
    d = v3_normalize(t, d);
    ir_ref near = ir_mul(f, t_real(t, record, NEAR_CLIP), length), far = ir_mul(f, t_real(t, record, FAR_CLIP), length);
    return (ray){v3_add(t, v3_load(t, record, ORIGIN), v3_scale(t, d, near)), d, ir_sub(f, far, near)};
}

static const plugin_param perspective_params[] = {
    {"fov", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 1e-3, 179.99, "field of view in degrees"},
    {"focal_length", PLUGIN_STRING, PLUGIN_ABSENT, NULL, 0, 0, "35 mm equivalent, e.g. 50mm (the default)"},
    {"fov_axis", PLUGIN_STRING, 0, "x", 0, 0, "x, y, diagonal, smaller or larger"},
    {"near_clip", PLUGIN_FLOAT, 0, "1e-2", 1e-9, 1e30, "where rays start"},
    {"far_clip", PLUGIN_FLOAT, 0, "1e4", 1e-9, 1e30, "where they end"},
    {"focus_distance", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 1e30, "accepted; a pinhole is in focus everywhere"},
    {"principal_point_offset_x", PLUGIN_FLOAT, 0, "0", -1e3, 1e3, "relative to the film's width"},
    {"principal_point_offset_y", PLUGIN_FLOAT, 0, "0", -1e3, 1e3, "relative to the film's height"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "camera to world, without scale"},
    {"shutter_open", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},
    {"shutter_close", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},
};
static const plugin_slot sensor_slots[] = {{PLUGIN_FILM, "film", 0, 1}, {PLUGIN_SAMPLER, "sampler", 0, 1}};
const render_class sensor_perspective = {
    .plugin = {PLUGIN_SENSOR, "perspective", perspective_params, 11, sensor_slots, 2, "pinhole camera"},
    .load = perspective_load,
};
