/* SPDX-License-Identifier: BSD-3-Clause
 * Several sensors side by side on one film (Mitsuba's batch). Each has an equal share of the width, and the
 * aspect of that share. A filter may take a sample over the border between two sensors, as in Mitsuba. The
 * record is the window, followed by a record for each sensor. A batch has no differentiable parameters. */
#include "render/classes.h"

static uint32_t members(const scene_object *o, const scene_object *out[])
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < o->child_count; k++)
        if (o->children[k]->cls->category == PLUGIN_SENSOR) {
            if (out)
                out[n] = o->children[k];
            n++;
        }
    return n;
}

static const scene_object **list(arena *a, const scene_object *o)
{
    const scene_object **all = arena_alloc(a, (o->child_count + 1) * sizeof *all);
    members(o, all);
    return all;
}

static bl_result batch_bind(const render_scene *s, const scene_object *o, bl_error *err)
{
    uint32_t count = members(o, NULL);
    if (count == 0)
        return scene_error(err, BL_ERROR_SCENE, o->where, "batch: it needs at least one sensor");
    if (s->full_width % count)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "batch: the film's width of %u is not divisible by the number of sensors, %u",
                           s->full_width, count);
    for (uint32_t k = 0; k < o->child_count; k++) {
        const scene_object *child = o->children[k];
        if (child->cls->category != PLUGIN_SENSOR)
            continue;
        if (child->cls == &sensor_batch.base.plugin || sensor_of(child)->weight)
            return scene_error(err, BL_ERROR_UNSUPPORTED, child->where,
                               "batch: a sensor of type \"%s\" in it is not implemented yet",
                               child->cls->name);
        const scene_object *srf = scene_child(child, PLUGIN_TEXTURE);
        if (srf)
            return scene_error(err, BL_ERROR_UNSUPPORTED, srf->where,
                               "batch: the sensors in it have one film, and no responses (srf) of their own");
        if (sensor_of(child)->bind)
            TRY(sensor_of(child)->bind(s, child, err));
    }
    return BL_OK;
}

static void batch_record(const render_scene *s, const scene_object *o, const double to_world[16],
                         const sensor_film *film, uint32_t *words)
{
    (void)to_world;
    arena a = {0};
    uint32_t count = members(o, NULL), width = film->full_width / count;
    const sensor_film share = {width, film->full_height, 0, 0, width, film->full_height};
    const scene_object **all = list(&a, o);
    sensor_window_words(film, 0, 0, words);
    for (uint32_t k = 0; k < count; k++)
        sensor_record_on(s, all[k], &share, NULL, words + (k + 1) * SENSOR_WORDS);
    arena_free(&a);
}

static ir_func *member_ray(tracer *t, const scene_object *sensor, uint32_t index)
{
    ir_func *f = ir_func_create(t->f->module, sensor->cls->name);
    tracer own = *t;
    own.f = f;
    ir_ref record = ir_param(f, IR_U32), in[4], at = t_offset(&own, record, (index + 1) * SENSOR_WORDS);
    for (int k = 0; k < 4; k++)
        in[k] = ir_param(f, IR_F32);
    ray r = sensor_ray(&own, &(sensor_view){sensor, at, NULL}, (vec2){in[0], in[1]}, (vec2){in[2], in[3]});
    ir_ref out[7] = {r.o.x, r.o.y, r.o.z, r.d.x, r.d.y, r.d.z, r.tmax};
    ir_return(f, out, 7);
    return f;
}

static ray batch_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    ir_func *f = t->f;
    uint32_t count = members(v->object, NULL);
    vec2 film = sensor_film_position(t, v, 0, position); /* it goes from 1 to -1 */
    ir_ref half = t_f32(t, 0.5f), one = t_f32(t, 1), zero = t_f32(t, 0);
    ir_ref x = ir_mul(f, ir_mul(f, half, ir_sub(f, one, film.x)), t_f32(t, (float)count)),
           y = ir_mul(f, half, ir_sub(f, one, film.y));
    ir_ref index = ir_min(f, ir_to_u32(f, ir_max(f, x, zero)), t_u32(t, count - 1));
    ir_func **functions = arena_alloc(&f->module->arena, count * sizeof *functions);
    const scene_object **all = list(&f->module->arena, v->object);
    for (uint32_t k = 0; k < count; k++)
        functions[k] = member_ray(t, all[k], k);
    ir_ref in[5] = {v->record, ir_sub(f, x, ir_to_f32(f, index)), y, lens.x, lens.y}, out[7];
    ir_call(f, index, functions, count, in, 5, out);
    return (ray){v3(out[0], out[1], out[2]), v3(out[3], out[4], out[5]), out[6]};
}

static const plugin_param batch_params[] = {
    {"shutter_open", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},
    {"shutter_close", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},
};
static const plugin_slot batch_slots[] = {
    {PLUGIN_FILM, "film", 0, 1}, {PLUGIN_SAMPLER, "sampler", 0, 1}, {PLUGIN_SENSOR, "sensor", 1, 64}};
const sensor_class sensor_batch = {
    .base.plugin = {PLUGIN_SENSOR, "batch", PLUGIN_TABLE(batch_params), PLUGIN_TABLE(batch_slots),
                    "several sensors side by side"},
    .bind = batch_bind,
    .record = batch_record,
    .ray = batch_ray,
};
