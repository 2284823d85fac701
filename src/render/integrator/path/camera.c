/* SPDX-License-Identifier: BSD-3-Clause
 * The camera's ray of a sample, and how a path begins with it. Block 0 of the sample's random numbers chooses
 * the place on the film, by importance sampling of the filter, and the point of the aperture. The factors of
 * the filter and the sensor that are not sampled become the sample's weight. */
#include "render/film/film.h"
#include "render/integrator/path/path.h"

/* place: of the record of a sensor that the host writes, which says where that of its class is. */
static sensor_view view_at(walk *w, ir_ref place)
{
    const class_node *node = w->plan->sensor;
    ir_ref record = node ? t_word(&w->t, place, SENSOR_OF_CLASS) : place;
    return (sensor_view){w->plan->scene->sensor, record, node};
}

sensor_view walk_view(walk *w)
{
    tracer *t = &w->t;
    ir_ref zero = t_u32(t, 0);
    if (!w->plan->sensor || w->plan->sensor_moves)
        return view_at(w, t_word(t, zero, HEADER_SENSOR));
    return (sensor_view){w->plan->scene->sensor, t_word(t, zero, HEADER_VIEW), w->plan->sensor};
}

/* The sensor behind which the walk's pixel is. *pixel: the pixel's number in its view. */
static sensor_view view_of(walk *w, ir_ref film_pixels, ir_ref *pixel)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref view = ir_div(f, w->pixel, film_pixels), stride = t_u32(t, sensor_words(w->plan->scene->sensor));
    *pixel = ir_sub(f, w->pixel, ir_mul(f, view, film_pixels));
    ir_ref first = t_word(t, t_u32(t, 0), HEADER_SENSOR);
    return view_at(w, ir_add(f, first, ir_mul(f, view, stride)));
}

/* Where a sample lies: the sensor, and the random numbers that are left for its aperture. */
typedef struct camera_place {
    sensor_view view;
    vec2 film, lens; /* film: on the image, in [0,1]^2 */
    ir_ref weight;
} camera_place;

static camera_place place_of(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_u32(t, 0), header = zero;
    random4 r = walk_numbers(w, sample, zero, SAMPLER_PAIRS);
    ir_ref weight = t_f32(t, sensor_weight(w->plan->scene));
    const filter_class *cls = (const filter_class *)w->plan->filter->cls;
    ir_ref width = ir_uniform(f, IR_U32, UNIFORM_WIDTH), height = ir_uniform(f, IR_U32, UNIFORM_HEIGHT),
           half = t_f32(t, 0.5f), pixel = w->pixel;
    sensor_view view = {.object = NULL};
    if (w->plan->batch_pixels)
        view = view_of(w, ir_mul(f, width, height), &pixel);
    ir_ref y = ir_div(f, pixel, width), x = ir_sub(f, pixel, ir_mul(f, y, width)),
           filter = t_word(t, header, HEADER_FILTER);
    if (w->chain.any) {
        primary_pixel chosen = primary_take_pixel(w, &r);
        x = chosen.x, y = chosen.y;
    }
    if (cls->edges && !film_samples_border(w->plan->scene)) {
        r.u[0] = filter_within(t, cls, filter, (window_axis){x, width}, r.u[0], &weight);
        r.u[1] = filter_within(t, cls, filter, (window_axis){y, height}, r.u[1], &weight);
    }
    vec2 offset = cls->sample(t, filter, r.u[0], r.u[1], &weight);
    vec2 film = {ir_div(f, ir_add(f, ir_add(f, ir_to_f32(f, x), half), offset.x), ir_to_f32(f, width)),
                 ir_div(f, ir_add(f, ir_add(f, ir_to_f32(f, y), half), offset.y), ir_to_f32(f, height))};
    if (!w->plan->batch_pixels)
        view = walk_view(w);
    return (camera_place){view, film, {r.u[2], r.u[3]}, weight};
}

walk_position walk_camera(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    camera_place place = place_of(w, sample);
    ir_ref zero = t_u32(t, 0), header = zero;
    ray r0 = sensor_ray(t, &place.view, place.film, place.lens);
    walk_position at = {
        .sample = sample,
        .depth = zero,
        .o = r0.o,
        .d = r0.d,
        .tmax = r0.tmax,
        .pdf = t_f32(t, w->behind_null ? -1 : 1),
        .delta = ir_bool(t->f, true),
        .weight = place.weight,
    };
    if (w->volumetric) {
        at.event = zero, at.medium = w->media ? t_word(t, header, HEADER_SENSOR_MEDIUM) : zero;
        at.scattered = r0.o, at.share = color_all(t_f32(t, 1.0f / (float)t->channels));
    } else if (w->bends) /* a sensor is in no medium that bends rays */
        at.medium = zero;
    if (w->disperses)
        at.share = color_all(t_f32(t, 1.0f / (float)t->channels));
    return at;
}

/* The rays of a column of the image lie in a plane with the sensor's vertical, or differ by it. */
vec3 walk_camera_basis(walk *w, ir_ref sample, vec3 d)
{
    tracer *t = &w->t;
    camera_place place = place_of(w, sample);
    vec3 end[2];
    for (int k = 0; k < 2; k++) {
        ray r = sensor_ray(t, &place.view, (vec2){place.film.x, t_f32(t, (float)k)}, place.lens);
        end[k] = v3_add(t, r.o, r.d);
    }
    vec3 across = v3_cross(t, d, v3_sub(t, end[0], end[1]));
    ir_ref some = ir_gt(t->f, v3_dot(t, across, across), t_f32(t, 1e-20f));
    return v3_normalize(t, v3_select(t, some, across, stokes_basis(t, d)));
}

walk_position walk_start(walk *w, ir_ref fresh, walk_position at)
{
    BL_ASSERT(w->motion, "the walk has not begun");
    ir_func *f = w->t.f;
    ir_ref branch = ir_if(f, fresh);
    walk_position camera = walk_camera(w, at.sample);
    w->motion->camera(w, &camera);
    ir_else(f);
    ir_endif(f);
    if (w->volumetric) {
        at.medium = ir_phi(f, branch, camera.medium, at.medium);
        ir_ref x = ir_phi(f, branch, camera.scattered.x, at.scattered.x),
               y = ir_phi(f, branch, camera.scattered.y, at.scattered.y);
        at.scattered = v3(x, y, ir_phi(f, branch, camera.scattered.z, at.scattered.z));
    }
    if (w->bends && !w->volumetric)
        at.medium = ir_phi(f, branch, camera.medium, at.medium);
    for (uint32_t c = 0; w->chromatic && c < w->t.channels; c++)
        at.share.c[c] = ir_phi(f, branch, camera.share.c[c], at.share.c[c]);
    w->motion->join(w, branch, &camera, &at);
    const ir_ref from[10] = {camera.o.x, camera.o.y,  camera.o.z, camera.d.x,   camera.d.y,
                             camera.d.z, camera.tmax, camera.pdf, camera.delta, camera.weight};
    const ir_ref old[10] = {at.o.x, at.o.y,  at.o.z, at.d.x,   at.d.y,
                            at.d.z, at.tmax, at.pdf, at.delta, at.weight};
    ir_ref r[10];
    for (int k = 0; k < 9 + w->weighted; k++)
        r[k] = ir_phi(f, branch, from[k], old[k]);
    at.o = v3(r[0], r[1], r[2]), at.d = v3(r[3], r[4], r[5]);
    at.tmax = r[6], at.pdf = r[7], at.delta = r[8];
    walk_set_wavelengths(w, at.sample);
    if (w->weighted)
        at.weight = r[9];
    w->motion->begun(w, fresh, &at);
    return at;
}
