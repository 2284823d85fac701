/* SPDX-License-Identifier: BSD-3-Clause
 * Paths from lights that move with parameters (docs/theory/light_tracing.md; PRB section 4.2). The random
 * numbers of the light's ray and of discrete lobes are held, and so are the directions that rough lobes have
 * sampled, in the world. So every vertex is a function of parameters and of the ray that leads to it, from
 * the point on the light on: the surface is met anew by the ray, on the entry that is known to be hit.
 *
 * From there everything is evaluated again by the functions that have decided the path, at the vertex that
 * has moved: the material's values, the adjoint of shading, the connection to the sensor with its weight and
 * its place in the image, the direction of a discrete lobe. A held direction is an integral over all
 * directions at the vertex, wherever that is, so its density stays; the numbers of a light's ray carry its
 * density along.
 *
 * What is seen only before or only after a change is left out: silhouettes, edges of shadows, the border of
 * the image (docs/theory/edges.md). In a frozen pass values are those of the other set along the path that
 * the first set has decided. */
#include "render/integrator/motion/light_motion.h"
#include "render/integrator/motion/attached_vertex.h"
#include "render/integrator/motion/none.h"

uint32_t light_outcome_pack(const walk *w, const light_outcome *r, ir_ref out[LIGHT_OUTCOME_MOST])
{
    const uint32_t n = w->t.channels;
    for (uint32_t c = 0; c < n; c++)
        out[c] = r->splat.c[c], out[n + c] = r->onward.c[c];
    if (!w->motion->chains)
        return 2 * n;
    out[2 * n] = r->place.x, out[2 * n + 1] = r->place.y;
    vec3_put(r->next_o, out + 2 * n + LIGHT_PLACE_NUMBERS);
    vec3_put(r->next_d, out + 2 * n + LIGHT_PLACE_NUMBERS + 3);
    return 2 * n + LIGHT_PLACE_NUMBERS + LIGHT_RAY_NUMBERS;
}

light_outcome light_outcome_unpack(const walk *w, const ir_ref *in)
{
    const uint32_t n = w->t.channels;
    light_outcome r = {0};
    for (uint32_t c = 0; c < n; c++)
        r.splat.c[c] = in[c], r.onward.c[c] = in[n + c];
    if (!w->motion->chains)
        return r;
    r.place = (vec2){in[2 * n], in[2 * n + 1]};
    r.next_o = vec3_at(in + 2 * n + LIGHT_PLACE_NUMBERS);
    r.next_d = vec3_at(in + 2 * n + LIGHT_PLACE_NUMBERS + 3);
    return r;
}

light_outcome light_outcome_at_light(walk *w, const light_position *at, const light_vertex *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!w->motion->chains) {
        color radiance = walk_radiance(w, l->emission, true), sent = radiance;
        if (w->media && !light_receives(w))
            sent = color_mul(t, sent, light_passed(w, l));
        return (light_outcome){.splat = color_scale(t, sent, ir_detach(f, l->scale)),
                               .onward = color_scale(t, radiance, ir_detach(f, l->onward))};
    }
    walk reads = *w;
    reads.t = walk_differentiated(w);
    light_emission e = light_begin(w, at->sample, true);
    light_connection c = light_connect(&reads, at, e.ray.p, &e);
    ir_ref seen = ir_mul(f, light_cosine(w, &e, &c), c.link.weight);
    return (light_outcome){
        .splat = color_scale(t, e.radiance, ir_mul(f, ir_mul(f, e.ray.point_weight, e.choice), seen)),
        .onward = color_scale(t, e.radiance, ir_mul(f, e.ray.weight, e.choice)),
        .place = light_place(w, c.link.position),
        .next_o = e.ray.p,
        .next_d = e.ray.d,
    };
}

/* The vertex of l, where the ray from o meets its entry now. *along: in, the direction in which the ray
 * begins; out, that in which it arrives. */
static light_vertex met_anew(walk *w, const light_vertex *l, vec3 o, vec3 *along)
{
    tracer *t = &w->t;
    light_vertex moved = *l;
    walk_vertex *v = &moved.v;
    v->attached.arrival =
        (walk_arrival){.link = t_u32(t, LINK_RAY), .hit = v->met, .curve = v->curve, .now = {o, *along, {0}}};
    v->attached.arrival.hit.slides = v->met.valid;
    ray_vertex x = attached_look_now(w, &v->attached.arrival);
    *along = x.d;
    x.si.shape = v->si.shape, x.si.entry = v->si.entry, x.si.level = v->si.level;
    v->si = x.si;
    v->curve.thickness = x.thickness, v->curve.emitted = x.emitted;
    v->frame = surface_frame(t, &v->si);
    v->wi = frame_to_local(t, v->frame, v3_neg(t, x.d));
    moved.next_d = attached_direction(w, v, &x, v3_detach(t, l->next_d), &v->sample.eta);
    v->wo = frame_to_local(t, v->frame, moved.next_d);
    return moved;
}

light_outcome light_outcome_at_surface(walk *w, const light_position *at, const light_vertex *l, vec3 o,
                                       vec3 d)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    light_vertex v = *l;
    ir_ref scale = ir_detach(f, l->scale);
    light_outcome r = {0};
    if (w->motion->chains) {
        walk reads = *w;
        reads.t = walk_differentiated(w);
        v = met_anew(w, l, o, &d);
        const light_emission near = {.far = ir_bool(f, false), .ray.d = v3_detach(t, l->next_d)};
        light_connection c = light_connect(&reads, at, v.v.si.p, &near);
        v.v.to_light = frame_to_local(t, v.v.frame, c.to);
        scale = ir_mul(f, light_weigh(w, d, &c, &v), c.link.weight);
        r.place = light_place(w, c.link.position);
        if (light_receives(w)) {
            sensor_reception received = light_receive(&reads, &v.v.si, d);
            scale = received.weight, r.place = light_place(w, received.position);
        }
        r.next_o = v.v.si.p, r.next_d = v.next_d;
    } else {
        v.onward = ir_detach(f, v.onward);
    }
    color for_sensor, for_sample;
    light_values(w, &v, true, &for_sensor, &for_sample);
    if (w->media) {
        color flown = light_flown(w, at, l);
        for_sensor = color_mul(t, for_sensor, flown), for_sample = color_mul(t, for_sample, flown);
    }
    if (w->media && !light_receives(w))
        for_sensor = color_mul(t, for_sensor, light_passed(w, l));
    r.splat = color_scale(t, for_sensor, scale), r.onward = color_scale(t, for_sample, v.onward);
    return r;
}

/* ---- the kind of motion ---- */

/* The vertex whose values are asked for has moved: its own numbers are the arguments. */
static void light_arguments(walk *w, const walk_vertex *v, const walk_light *light, bsdf_value_arguments *a,
                            motion_factors *by)
{
    (void)light, (void)by;
    *a = walk_value_arguments(w, v, false);
}

/* So has the light. */
static bool light_emission_moves(walk *w, walk_light *light)
{
    (void)w, (void)light;
    return true;
}

const walk_motion_class motion_light = {
    .name = "light paths",
    .chains = true,
    .state = none_state,
    .before = none_before,
    .camera = none_camera,
    .join = none_join,
    .begun = none_begun,
    .next = none_next,
    .met = none_visit,
    .stands = none_visit,
    .light_chosen = none_light_chosen,
    .sampled = none_sampled,
    .look_ahead = none_visit,
    .light_reference = none_light_reference,
    .emission = light_emission_moves,
    .arguments = light_arguments,
    .hit_mis = none_hit_mis,
    .to_light = none_to_light,
    .through = none_through,
    .inputs = none_inputs,
    .onward = none_onward,
    .adjoint = none_adjoint,
};
