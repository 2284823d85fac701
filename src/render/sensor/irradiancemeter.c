/* SPDX-License-Identifier: BSD-3-Clause
 * The irradiance on a shape. The image is a map of the shape: a position on the film is the pair of numbers
 * that the shape maps to its points, uniformly in area. On a rectangle these are its texture coordinates, as
 * in Mitsuba; on other shapes they are those of the kind's `point`.
 *
 * Two kinds of paths measure the same image:
 *   from the sensor    Points are chosen by the position on the film, directions by their cosine to the
 *                      shading normal. So every ray has the same weight, pi.
 *   from the lights    A path that meets the shape is counted where it meets it (`receive`). One unit of
 *                      power that arrives is 1 / area in the mean over the image, times the ratio of its
 *                      cosines to the shading and to the geometric normal.
 * With an acceptance angle A below 90 degrees only light within A of the normal is measured, by rays within
 * A, whose weight is pi sin(A)^2. That saves rays where light is known to come from that cone alone.
 *
 * Only light that arrives on the side of the shading normal counts. The sensor has no differentiable
 * parameters. */
#include "render/classes.h"

enum record { INVERSE_AREA = WINDOW_WORDS };

static const double degree = 3.14159265358979323846 / 180;
static const float most = 0x1.fffffep-1f; /* of numbers below 1 */

static double acceptance(const scene_object *o) { return scene_number(o, "acceptance_angle") * degree; }

static float irradiancemeter_weight(const scene_object *o)
{
    double sine = sin(acceptance(o));
    return (float)(180 * degree * sine * sine);
}

static const scene_object *carrier(const render_scene *s, const scene_object *o)
{
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (scene_child(s->shapes.data[i].object, PLUGIN_SENSOR) == o)
            return s->shapes.data[i].object;
    return NULL;
}

static bool is_rectangle(const scene_object *shape) { return shape->cls == &shape_rectangle.base.plugin; }

static bl_result irradiancemeter_bind(const render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_object *shape = carrier(s, o);
    if (!shape)
        return scene_error(err, BL_ERROR_SCENE, o->where, "irradiancemeter: it must stand inside a shape");
    TRY(sensor_check_surface(s, o, shape, err));
    if (s->light_tracing && !shape_kinds[s->shapes.data[sensor_surface_index(s, shape)].kind]->unit)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "ptracer: an irradiancemeter on a shape of type \"%s\" is not implemented yet; "
                           "use a rectangle, a disk, a cylinder or a mesh",
                           shape->cls->name);
    return BL_OK;
}

static void irradiancemeter_record(const render_scene *s, const scene_object *o, const double to_world[16],
                                   const sensor_film *film, uint32_t *words)
{
    (void)to_world;
    sensor_window_words(film, 0, 0, words);
    const scene_object *shape = carrier(s, o);
    double window = (double)film->width / film->full_width * film->height / film->full_height;
    double area = (double)s->shapes.data[sensor_surface_index(s, shape)].area;
    words[INVERSE_AREA] = float_word((float)(1 / (area * window)));
}

/* The point of a rectangle with the texture coordinates u. Its vertices stand in their order around it. */
static vec3 rectangle_point(tracer *t, uint32_t shape, vec2 u)
{
    ir_ref at = t_word(t, plan_shape_data(t, shape), MESH_POSITIONS);
    vec3 corner = v3_load(t, at, 0), along_u = v3_sub(t, v3_load(t, at, 3), corner),
         along_v = v3_sub(t, v3_load(t, at, 9), corner);
    return v3_add(t, corner, v3_add(t, v3_scale(t, along_u, u.x), v3_scale(t, along_v, u.y)));
}

/* A direction around +z, by its cosine, within the acceptance angle. */
static vec3 local_direction(tracer *t, const scene_object *o, vec2 lens)
{
    double sine = sin(acceptance(o));
    if (sine == 1)
        return warp_cosine_hemisphere(t, lens.x, lens.y);
    ir_func *f = t->f;
    vec2 disk = warp_disk_concentric(t, lens.x, lens.y);
    ir_ref scale = t_f32(t, (float)sine), x = ir_mul(f, disk.x, scale), y = ir_mul(f, disk.y, scale);
    return v3(x, y, t_safe_sqrt(t, ir_sub(f, t_f32(t, 1), t_mad(t, x, x, t_sqr(t, y)))));
}

static ray irradiancemeter_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens)
{
    ir_func *f = t->f;
    const scene_object *shape = carrier(t->plan->scene, v->object);
    vec2 film = sensor_film_position(t, v, 0, position);
    ir_ref half = t_f32(t, 0.5f), one = t_f32(t, 1);
    /* The bound is for filters, which may reach beyond the film. */
    vec2 u = {t_clamp(t, ir_mul(f, half, ir_sub(f, one, film.x)), 0, most),
              t_clamp(t, ir_mul(f, half, ir_sub(f, one, film.y)), 0, most)};
    interaction at = sensor_surface_point(t, shape, u);
    if (is_rectangle(shape))
        at.p = rectangle_point(t, sensor_surface_index(t->plan->scene, shape), u);
    vec3 d = v3_normalize(
        t, frame_to_world(t, frame_around(t, v3_normalize(t, at.ns)), local_direction(t, v->object, lens)));
    return (ray){ray_offset(t, at.p, at.ng, d), d, t_f32(t, 1e30f)};
}

static sensor_reception irradiancemeter_receive(tracer *t, const sensor_view *v, const interaction *si,
                                                vec3 d)
{
    ir_func *f = t->f;
    const render_scene *s = t->plan->scene;
    const scene_object *shape = carrier(s, v->object);
    const uint32_t index = sensor_surface_index(s, shape);
    const ir_ref record = ir_add(f, t_word(t, t_u32(t, 0), HEADER_SHAPES), t_u32(t, index * SHAPE_WORDS)),
                 here = ir_and(f, si->valid, ir_eq(f, si->shape, record));
    vec2 u = si->uv;
    if (!is_rectangle(shape)) {
        ir_ref zero = t_f32(t, 0), branch = ir_if(f, here);
        const emitter_hit hit = {.d = d, .uv = si->uv, .at = si->b, .entry = si->entry};
        vec2 found = shape_kinds[s->shapes.data[index].kind]->unit(t, plan_shape_data(t, index), &hit);
        ir_else(f);
        ir_endif(f);
        u = (vec2){ir_phi(f, branch, found.x, zero), ir_phi(f, branch, found.y, zero)};
    }
    const float least = (float)cos(acceptance(v->object));
    ir_ref cosine = ir_neg(f, v3_dot(t, d, si->ns));
    /* Paths land on the geometric surface; the cosine that is measured is that to the shading normal. */
    ir_ref cosines = t_ratio(t, ir_abs(f, cosine), ir_abs(f, v3_dot(t, d, si->ng)));
    sensor_reception r = {.weight = ir_mul(f, cosines, t_real(t, v->record, INVERSE_AREA))};
    r.position = (vec2){
        ir_div(f, ir_sub(f, u.x, sensor_real(t, v, WINDOW_OFFSET_X)), sensor_real(t, v, WINDOW_SCALE_X)),
        ir_div(f, ir_sub(f, u.y, sensor_real(t, v, WINDOW_OFFSET_Y)), sensor_real(t, v, WINDOW_SCALE_Y))};
    ir_ref lit = ir_gt(f, cosine, t_f32(t, fmaxf(least, 0)));
    r.received = ir_and(f, ir_and(f, here, lit), sensor_in_window(t, r.position));
    return r;
}

static const plugin_slot irradiancemeter_slots[] = {SENSOR_SLOTS};
static const plugin_param irradiancemeter_params[] = {
    {"acceptance_angle", PLUGIN_FLOAT, 0, "90", 1e-3, 90,
     "degrees; light farther from the normal is not measured"},
    SENSOR_SHUTTER,
};
const sensor_class sensor_irradiancemeter = {
    .base.plugin = {PLUGIN_SENSOR, "irradiancemeter", PLUGIN_TABLE(irradiancemeter_params),
                    PLUGIN_TABLE(irradiancemeter_slots), "irradiance on the shape that holds it"},
    .weight = irradiancemeter_weight,
    .bind = irradiancemeter_bind,
    .record = irradiancemeter_record,
    .ray = irradiancemeter_ray,
    .receive = irradiancemeter_receive,
};
