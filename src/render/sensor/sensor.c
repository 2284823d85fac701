/* SPDX-License-Identifier: BSD-3-Clause
 * What all sensors share: records, poses, windows of films, and which sensors the same kernels can look
 * through.
 *
 * The record of a sensor is the last part of the scene buffer, so it can change while everything before it
 * is constant. The traced function of a sensor makes a ray of unit weight, or of a weight that is the same
 * for all rays of the sensor. */
#include "render/classes.h"
#include "render/rotation.h"

bool sensor_is(const render_scene *s, uint32_t object)
{
    return object < s->own_objects && s->is_sensor[object];
}

/* ---- records ---- */

uint32_t sensor_words(const scene_object *sensor)
{
    return SENSOR_WORDS * (1 + (sensor->cls == &sensor_batch.base.plugin ? sensor->child_count : 0));
}

/* Multiplies m by the translation, and then by the rotation. */
static void turn(double m[16], const double degrees[3], const double translation[3])
{
    double r[3], by[3][3], old[16];
    for (int k = 0; k < 3; k++)
        r[k] = degrees[k] * 3.14159265358979323846 / 180;
    rotation_matrix(r, by);
    memcpy(old, m, sizeof old);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            m[4 * i + j] = 0;
            for (int k = 0; k < 3; k++)
                m[4 * i + j] += old[4 * i + k] * by[k][j];
        }
        for (int k = 0; k < 3; k++)
            m[4 * i + 3] += old[4 * i + k] * translation[k];
    }
}

void sensor_record_on(const render_scene *s, const scene_object *sensor, const sensor_film *film,
                      const float *to_world, uint32_t *words)
{
    double pose[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};
    int own = scene_find_param(sensor, "to_world"), turned = scene_find_param(sensor, "rotation");
    for (int k = 0; k < 16 && (to_world || own >= 0); k++)
        pose[k] = to_world ? (double)to_world[k] : sensor->values[own].matrix[k];
    if (!to_world && turned >= 0)
        turn(pose, sensor->values[turned].vector, scene_get(sensor, "translation")->vector);
    sensor_of(sensor)->record(s, sensor, pose, film, words);
}

void sensor_record(const render_scene *s, const scene_object *sensor, const float *to_world, uint32_t *words)
{
    const sensor_film film = {s->full_width, s->full_height, s->crop_x, s->crop_y, s->width, s->height};
    sensor_record_on(s, sensor, &film, to_world, words);
}

void sensor_pose_words(const double m[16], uint32_t *words)
{
    for (int k = 0; k < 3; k++) {
        words[POSE_ORIGIN + k] = float_word((float)m[4 * k + 3]);
        words[POSE_X + k] = float_word((float)m[4 * k]);
        words[POSE_Y + k] = float_word((float)m[4 * k + 1]);
        words[POSE_Z + k] = float_word((float)m[4 * k + 2]);
    }
}

void sensor_window_words(const sensor_film *film, double shift_x, double shift_y, uint32_t *words)
{
    BL_ASSERT(film->full_width > 0 && film->full_height > 0, "a film of %u by %u", film->full_width,
              film->full_height);
    words[WINDOW_OFFSET_X] = float_word((float)(shift_x + (double)film->x / film->full_width));
    words[WINDOW_OFFSET_Y] = float_word((float)(shift_y + (double)film->y / film->full_height));
    words[WINDOW_SCALE_X] = float_word((float)((double)film->width / film->full_width));
    words[WINDOW_SCALE_Y] = float_word((float)((double)film->height / film->full_height));
}

/* ---- checks ---- */

bool sensor_scales(const double m[16])
{
    for (int c = 0; c < 3; c++)
        if (!(fabs(m[c] * m[c] + m[4 + c] * m[4 + c] + m[8 + c] * m[8 + c] - 1) <= 1e-3))
            return true;
    return false;
}

bl_result sensor_check_clips(const scene_object *o, bl_error *err)
{
    if (scene_number(o, "far_clip") <= scene_number(o, "near_clip"))
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "%s: \"far_clip\" must be greater than \"near_clip\"", o->cls->name);
    return BL_OK;
}

void sensor_direction(const scene_object *o, const double to_world[16], double d[3])
{
    const scene_value *direction = scene_get(o, "direction");
    for (int k = 0; k < 3; k++)
        d[k] = direction->given ? direction->vector[k] : to_world[4 * k + 2];
    double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    for (int k = 0; k < 3; k++)
        d[k] /= length;
}

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
    return same_values(a, b) && film_same_responses(a, b) &&
           (!a || same_values(scene_child(a, PLUGIN_RFILTER), scene_child(b, PLUGIN_RFILTER)));
}

bl_result sensor_check(const render_scene *s, uint32_t index, const float *to_world, bl_error *err)
{
    double pose[16];
    if (index >= s->sensors.count)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no sensor %u: the scene has %u, counted from 0",
                         index, s->sensors.count);
    const scene_object *sensor = s->sensors.data[index];
    /* Bound to what becomes part of the kernel: shapes, or other sensors. */
    bool bound = sensor_of(sensor)->bind != NULL;
    if (sensor->cls != s->sensor->cls || (bound && sensor != s->sensor))
        return scene_error(err, BL_ERROR_UNSUPPORTED, sensor->where,
                           "sensor %u is another plugin than the sensor of the job's kernels", index);
    if (!same_film(s->film, scene_child(sensor, PLUGIN_FILM)) || !film_same_responses(s->sensor, sensor))
        return scene_error(err, BL_ERROR_UNSUPPORTED, sensor->where,
                           "sensor %u: its film or response differs from the first sensor's, in size, crop "
                           "window, filter or bands",
                           index);
    if (to_world && scene_find_param(sensor, "to_world") < 0)
        return error_set(err, BL_ERROR_ARGUMENT, "sensor %u: a sensor of type \"%s\" has no pose of its own",
                         index, sensor->cls->name);
    for (int k = 0; to_world && k < 16; k++) {
        pose[k] = (double)to_world[k];
        if (!isfinite(pose[k]))
            return error_set(err, BL_ERROR_ARGUMENT, "sensor %u: its to_world is not finite", index);
    }
    bool rigid =
        sensor->cls == &sensor_perspective.base.plugin || sensor->cls == &sensor_thinlens.base.plugin;
    if (to_world && rigid && sensor_scales(pose))
        return error_set(err, BL_ERROR_ARGUMENT, "sensor %u: its to_world must not scale", index);
    return BL_OK;
}

bool sensor_exchangeable(const render_scene *s, uint32_t index)
{
    bl_error unused = {0};
    return sensor_check(s, index, NULL, &unused) == BL_OK;
}

/* ---- traced ---- */

ir_ref sensor_real(tracer *t, const sensor_view *v, uint32_t word)
{
    BL_ASSERT(!v->node || word < v->node->cls->derived_count, "%s has %u derived values, not %u",
              v->node->cls->plugin.name, v->node->cls->derived_count, word + 1);
    return v->node ? plan_derived(t, v->node, v->record, t_u32(t, word)) : t_real(t, v->record, word);
}

vec3 sensor_vector(tracer *t, const sensor_view *v, uint32_t word)
{
    return v3(sensor_real(t, v, word), sensor_real(t, v, word + 1), sensor_real(t, v, word + 2));
}

void sensor_extra_words(tracer *t, const class_node *n, ir_ref record, uint32_t words, ir_ref *derived)
{
    BL_ASSERT(words <= n->cls->extra_words && words <= n->cls->derived_count,
              "%s: %u words of %u, for %u derived values", n->cls->plugin.name, words, n->cls->extra_words,
              n->cls->derived_count);
    for (uint32_t k = 0; k < words; k++)
        derived[k] = t_real(t, record, n->extra_word + k);
}

void sensor_matrix(tracer *t, const class_node *n, ir_ref record, uint32_t slot, vec3 columns[4])
{
    BL_ASSERT(n->cls->plugin.params[slot].kind == PLUGIN_TRANSFORM, "%s: parameter %u is no matrix",
              n->cls->plugin.name, slot);
    for (uint32_t c = 0; c < 4; c++) {
        ir_ref e[3];
        for (uint32_t k = 0; k < 3; k++)
            e[k] = plan_load(t, n, record, n->field[slot], slot, t_u32(t, 4 * k + c));
        columns[c] = vec3_at(e);
    }
}

void sensor_pose_derive(tracer *t, const vec3 columns[4], vec3 degrees, vec3 translation, ir_ref *derived)
{
    vec3 by[3], out[4] = {columns[3]};
    const ir_ref move[3] = {translation.x, translation.y, translation.z};
    rotation_columns(t, v3_scale(t, degrees, t_f32(t, 0.017453292519943295f)), by);
    for (int k = 0; k < 3; k++)
        out[0] = v3_add(t, out[0], v3_scale(t, columns[k], move[k]));
    for (int j = 0; j < 3; j++) {
        const ir_ref share[3] = {by[j].x, by[j].y, by[j].z};
        for (int i = 0; i < 3; i++) {
            vec3 part = v3_scale(t, columns[i], share[i]);
            out[1 + j] = i ? v3_add(t, out[1 + j], part) : part;
        }
    }
    for (int k = 0; k < 4; k++)
        derived[3 * k] = out[k].x, derived[3 * k + 1] = out[k].y, derived[3 * k + 2] = out[k].z;
}

vec2 sensor_film_position(tracer *t, const sensor_view *v, uint32_t window, vec2 position)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = t_f32(t, 2);
    ir_ref x = t_mad(t, position.x, sensor_real(t, v, window + WINDOW_SCALE_X),
                     sensor_real(t, v, window + WINDOW_OFFSET_X));
    ir_ref y = t_mad(t, position.y, sensor_real(t, v, window + WINDOW_SCALE_Y),
                     sensor_real(t, v, window + WINDOW_OFFSET_Y));
    return (vec2){ir_sub(f, one, ir_mul(f, two, x)), ir_sub(f, one, ir_mul(f, two, y))};
}

ir_ref sensor_in_window(tracer *t, vec2 position)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    ir_ref across = ir_and(f, ir_ge(f, position.x, zero), ir_lt(f, position.x, one));
    return ir_and(f, across, ir_and(f, ir_ge(f, position.y, zero), ir_lt(f, position.y, one)));
}

ray sensor_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    return sensor_of(v->object)->ray(t, v, position, lens);
}

float sensor_weight(const render_scene *s)
{
    const sensor_class *cls = sensor_of(s->sensor);
    return cls->weight ? cls->weight(s->sensor) : 1;
}

/* ---- surfaces ---- */

uint32_t sensor_surface_index(const render_scene *s, const scene_object *shape)
{
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].object == shape)
            return i;
    return PLAN_NONE;
}

bool sensor_stands_on(const render_scene *s, const scene_object *shape)
{
    return scene_child(shape, PLUGIN_SENSOR) == s->sensor && s->sensor;
}

bl_result sensor_check_surface(const render_scene *s, const scene_object *o, const scene_object *shape,
                               bl_error *err)
{
    uint32_t index = sensor_surface_index(s, shape);
    if (index == PLAN_NONE || !shape_kinds[s->shapes.data[index].kind]->point)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "%s: points on a shape of type \"%s\" are not implemented yet", o->cls->name,
                           shape->cls->name);
    if (!(s->shapes.data[index].area > 0))
        return scene_error(err, BL_ERROR_SCENE, o->where, "%s: the shape's area is 0", o->cls->name);
    return BL_OK;
}

interaction sensor_surface_point(tracer *t, const scene_object *shape, vec2 u)
{
    uint32_t index = sensor_surface_index(t->plan->scene, shape);
    return shape_kinds[t->plan->scene->shapes.data[index].kind]->point(t, plan_shape_data(t, index), u.x,
                                                                       u.y);
}
