/* SPDX-License-Identifier: BSD-3-Clause
 * One vertex of a path that begins at a light (light tracing; Veach 1997, section 8.4 and, for shading
 * normals, 5.3). Semantics are those of Mitsuba's ptracer. Vertex 0 lies on the light, and is connected to
 * the sensor if the light can be seen. Vertices on surfaces follow while depth < max_depth, and each is
 * connected to the sensor. A sensor that is a surface itself (sensor_class.receive) is not connected to:
 * paths meet it, at a depth of max_depth at most. Importance is relative to the mean over the image, so every
 * path counts 1 / (samples per pixel).
 *
 * light_visit decides, and is detached. The light's radiance and the materials' values at the sampled path
 * carry derivatives (walk_radiance, light_values). Where paths move with parameters, motion/light_motion.c
 * calls light_begin, light_connect and light_weigh again at the vertex that has moved. A material's value for
 * importance is its value for the reversed directions; where nothing is transmitted both are the same. The
 * adjoint of a shading normal's cosine is a factor of its own. A direction that lies on different sides of
 * the geometric and the shading normal gets nothing. */
#include "render/integrator/path/light_path.h"
#include "render/integrator/eikonal/curve.h"
#include "render/integrator/vertex/plugin_functions.h"

#include "render/bsdf/perturbed.h"

light_position light_before(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0);
    return (light_position){
        .sample = sample,
        .depth = t_u32(t, 0),
        .o = v3(zero, zero, zero),
        .d = v3(zero, zero, t_f32(t, 1)),
        .tmax = t_f32(t, -1),
        .medium = t_u32(t, 0),
        .event = t_u32(t, 0),
        .share = color_all(t_f32(t, 1.0f / (float)t->channels)),
    };
}

/* The number of a vertex's block of random numbers. Blocks 0 and 1 are the light's. Behind them every vertex
 * has two: one for the way to the sensor (which: 0), one for the way on (which: 1). */
static ir_ref block_of(walk *w, const light_position *at, uint32_t which)
{
    ir_ref number = w->volumetric ? at->event : at->depth;
    return ir_add(w->t.f, ir_mul(w->t.f, number, t_u32(&w->t, 2)), t_u32(&w->t, 2 + which));
}

void state_light_place(const walk *w, loop_state *s, light_position *at)
{
    state_ref(s, &at->depth), state_ref(s, &at->tmax), state_vec3(s, &at->o), state_vec3(s, &at->d);
    if (w->bends || w->volumetric)
        state_ref(s, &at->medium);
    if (w->volumetric)
        state_ref(s, &at->event);
    if (w->chromatic)
        state_color(s, &w->t, &at->share);
}

vec2 light_lens(walk *w, const light_position *at)
{
    random4 r = walk_numbers(w, at->sample, block_of(w, at, 0), SAMPLER_ONE_TWO_ONE);
    return (vec2){r.u[1], r.u[2]};
}

/* ---- the light ---- */

/* The light, in the direction of its ray. */
static walk_light shining(walk *w, const light_emission *e)
{
    return (walk_light){
        .there = ir_bool(w->t.f, true),
        .cls = e->cls,
        .record = e->record,
        .uv = e->ray.uv,
        .d = v3_neg(&w->t, e->ray.d),
        .on = {.p = e->ray.p, .face = e->ray.face, .b = e->ray.b},
        .distance = t_f32(&w->t, 1),
        .facing = ir_bool(w->t.f, true),
    };
}

light_emission light_begin(walk *w, ir_ref sample, bool moved)
{
    tracer *t = &w->t;
    random4 r1 = walk_numbers(w, sample, t_u32(t, 0), SAMPLER_ONE_TWO_ONE),
            r2 = walk_numbers(w, sample, t_u32(t, 1), SAMPLER_ONE_TWO_ONE);
    return light_begin_by(w, r1.u[0], (emitter_ray_arguments){{r1.u[1], r1.u[2], r2.u[1], r2.u[2]}}, moved);
}

light_emission light_begin_by(walk *w, ir_ref u, emitter_ray_arguments a, bool moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(w->fn.emitter_ray, "a walk whose paths do not begin at lights");
    light_emission e;
    picked_light picked;
    ir_ref probability = light_pick(w, NULL, u, &picked);
    e.index = picked.index, e.cls = picked.cls, e.record = picked.record;
    ref_list in = refs_for(e.record), out = refs_results();
    emitter_ray_visit(&in, &a);
    e.choice = t_ratio(t, t_f32(t, 1), probability);
    ir_call(f, e.cls, moved ? w->fn.emitter_ray_differentiated : w->fn.emitter_ray, w->plan->emitters.count,
            in.at, in.count, out.at);
    e.ray = (emitter_ray){0};
    emitter_ray_results_visit(w, &out, &e.ray);
    e.far = light_is_environment(w, e.cls);
    e.radiance = walk_radiance(w, shining(w, &e), moved);
    return e;
}

/* light_begin, run only where `begins`. Elsewhere the result is valid but means nothing. */
static light_emission begin_emission(walk *w, ir_ref begins, ir_ref sample)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), branch = ir_if(f, begins);
    light_emission e = light_begin(w, sample, false);
    ir_else(f);
    ir_ref cls = t_word(t, t_word(t, t_u32(t, 0), HEADER_EMITTERS), 0),
           record = t_word(t, t_word(t, t_u32(t, 0), HEADER_EMITTERS), 1);
    ir_endif(f);
    ir_ref *all[] = {&e.ray.p.x,  &e.ray.p.y,  &e.ray.p.z,    &e.ray.d.x,          &e.ray.d.y,  &e.ray.d.z,
                     &e.ray.n.x,  &e.ray.n.y,  &e.ray.n.z,    &e.ray.ns.x,         &e.ray.ns.y, &e.ray.ns.z,
                     &e.ray.uv.x, &e.ray.uv.y, &e.ray.weight, &e.ray.point_weight, &e.choice};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        *all[k] = ir_phi(f, branch, *all[k], zero);
    for (uint32_t c = 0; c < t->channels; c++)
        e.radiance.c[c] = ir_phi(f, branch, e.radiance.c[c], zero);
    if (w->plan->light_needs & NEED_FACE) {
        e.ray.face = ir_phi(f, branch, e.ray.face, t_u32(t, 0));
        e.ray.b = (vec2){ir_phi(f, branch, e.ray.b.x, zero), ir_phi(f, branch, e.ray.b.y, zero)};
    }
    e.index = ir_phi(f, branch, e.index, t_u32(t, 0)), e.cls = ir_phi(f, branch, e.cls, cls),
    e.record = ir_phi(f, branch, e.record, record), e.far = ir_phi(f, branch, e.far, ir_bool(f, false));
    return e;
}

/* ---- the sensor ---- */

bool light_receives(const walk *w) { return sensor_of(w->plan->scene->sensor)->receive; }

/* In place of a connection, for a sensor that is a surface: the path goes nowhere else to be seen. */
static light_connection no_connection(walk *w)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0);
    vec3 up = v3(zero, zero, t_f32(t, 1));
    return (light_connection){
        {.seen = ir_bool(t->f, false), .position = {zero, zero}, .weight = zero}, up, zero};
}

light_connection light_connect(walk *w, const light_position *at, vec3 p, const light_emission *e)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (light_receives(w))
        return no_connection(w);
    const sensor_view view = walk_view(w);
    BL_ASSERT(sensor_of(view.object)->link, "a sensor that paths cannot be connected to");
    const float away = 65536 * (w->plan->scene->radius + 1);
    bool skies = w->plan->scene->environment != PLAN_NONE;
    vec3 pinhole = sensor_vector(t, &view, POSE_ORIGIN);
    if (skies)
        p = v3_select(t, e->far, v3_sub(t, pinhole, v3_scale(t, e->ray.d, t_f32(t, away))), p);
    light_connection c = {.link = sensor_of(view.object)->link(t, &view, p, light_lens(w, at))};
    vec3 to = v3_sub(t, c.link.point, p);
    c.distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    c.to = v3_scale(t, to, ir_div(f, t_f32(t, 1), c.distance));
    c.link.seen = ir_and(f, c.link.seen, skies ? ir_or(f, e->far, c.link.within) : c.link.within);
    if (skies) {
        c.link.weight = ir_select(f, e->far, ir_mul(f, c.link.weight, t_sqr(t, c.distance)), c.link.weight);
        if (sensor_of(view.object)->parallel)
            c.link.seen = ir_and(f, c.link.seen, ir_not(f, e->far));
    }
    return c;
}

/* bool: nothing stands between the vertex and the sensor's near plane. To an environment the ray goes the
 * other way, from the sensor, where f32 is precise; and so do all rays where walk.from_sensor. */
static ir_ref unoccluded(walk *w, const light_connection *c, const light_emission *e, vec3 p, vec3 n,
                         ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), near = ir_mul(f, c->distance, c->link.near);
    vec3 o = ray_offset(t, p, n, c->to), d = c->to;
    ir_ref far = walk_far(w, ir_mul(f, c->distance, ir_sub(f, one, c->link.near)));
    if (w->from_sensor || w->plan->scene->environment != PLAN_NONE) {
        ir_ref turned = w->from_sensor ? ir_bool(f, true) : e->far;
        o = v3_select(t, turned, v3_sub(t, c->link.point, v3_scale(t, c->to, near)), o);
        d = v3_select(t, turned, v3_neg(t, d), d), far = ir_select(f, e->far, t_f32(t, 1e30f), far);
    }
    if (w->past_lights) {
        walk_position on = {.o = o, .d = d, .depth = t_u32(t, 0)};
        on.tmax = ir_select(f, wanted, far, t_f32(t, -1));
        on = walk_skip_lights(w, on), o = on.o, far = on.tmax;
    }
    return ir_and(f, wanted,
                  ir_not(f, light_occluded(w, &(ray){o, d, ir_select(f, wanted, far, t_f32(t, -1))})));
}

vec2 light_place(walk *w, vec2 position)
{
    ir_func *f = w->t.f;
    ir_ref width = ir_uniform(f, IR_U32, UNIFORM_WIDTH), height = ir_uniform(f, IR_U32, UNIFORM_HEIGHT);
    return (vec2){ir_mul(f, position.x, ir_to_f32(f, width)), ir_mul(f, position.y, ir_to_f32(f, height))};
}

sensor_reception light_receive(walk *w, const interaction *si, vec3 d)
{
    const sensor_view view = walk_view(w);
    return sensor_of(view.object)->receive(&w->t, &view, si, d);
}

/* The splat of a vertex on the sensor's surface. Light that the path has lost there already is no matter: it
 * is counted before the surface scatters it. */
static void receive(walk *w, const light_position *at, light_vertex *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_scene *s = w->plan->scene;
    sensor_reception r = light_receive(w, &l->v.si, at->d);
    uint32_t first = s->hide_emitters ? 2 : 1;
    l->splat.there = ir_and(f, r.received, ir_ge(f, at->depth, t_u32(t, first)));
    if (w->media)
        l->splat.there = ir_and(f, l->splat.there, ir_not(f, l->v.flight.collides));
    l->splat.at = light_place(w, r.position);
    l->scale = r.weight;
}

/* ---- surfaces ---- */

/* The adjoint of shading: |cos(wi) (wo . ng)| / |cos(wo) (wi . ng)|, where `cosines` is |cos(wi)| / |cos(wo)|
 * to the shading normal, and ng the geometric normal. It is 0 where a direction lies on different sides of
 * the two normals. */
static ir_ref shading_adjoint(walk *w, const walk_vertex *v, ir_ref cosines, ir_ref wi_ng, ir_ref wo_z,
                              ir_ref wo_ng)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), to = ir_mul(f, wo_z, wo_ng), from = ir_mul(f, v->wi.z, wi_ng);
    ir_ref ratio = ir_mul(f, cosines, t_ratio(t, ir_abs(f, wo_ng), ir_abs(f, wi_ng)));
    return ir_select(f, ir_and(f, ir_gt(f, to, zero), ir_gt(f, from, zero)), ratio, zero);
}

/* A factor of surfaces; a collision in a medium has none, and 1 instead. */
static ir_ref at_surface(walk *w, const walk_vertex *v, ir_ref factor)
{
    return w->media ? ir_select(w->t.f, v->flight.collides, t_f32(&w->t, 1), factor) : factor;
}

/* |cos(wi)| / |cos(wo)|, to the shading normal. */
static ir_ref cosines_of(walk *w, vec3 wi, vec3 wo)
{
    return t_ratio(&w->t, ir_abs(w->t.f, wi.z), ir_abs(w->t.f, wo.z));
}

/* The same for a sample of a discrete lobe, to the normal that has mirrored or refracted it. A normal map may
 * have turned that normal. */
static ir_ref cosines_of_discrete(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), eta = v->sample.eta,
           crosses = ir_lt(f, ir_mul(f, v->wi.z, v->wo.z), t_f32(t, 0));
    vec3 h = v3_add(t, v->wi, v3_scale(t, v->wo, ir_select(f, crosses, eta, one)));
    ir_ref near = ir_abs(f, v3_dot(t, v->wi, h)), far = ir_abs(f, v3_dot(t, v->wo, h)),
           limit = ir_and(f, v->sample.lobe, t_u32(t, LOBE_REFRACTION_LIMIT));
    ir_ref bent = ir_gt(f, far, t_f32(t, 1e-6f)),
           ratio = ir_select(f, bent, ir_div(f, near, ir_select(f, bent, far, one)), one);
    return ir_select(f, ir_ne(f, limit, t_u32(t, 0)), eta, ratio);
}

/* Whether the class is not reciprocal: its values from wi to wo and from wo to wi differ by more than the
 * cosines to the shading normal. Such a class refracts into another index, or turns the normal. */
static bool one_way(const class_node *n)
{
    if (n->cls->plugin.category != PLUGIN_BSDF)
        return false;
    const bsdf_class *cls = bsdf_of(n);
    bool any = (cls->transmits && !cls->null) || cls->transmits_by || cls->value == perturbed_value;
    for (uint32_t k = 0; k < n->child_count; k++)
        any |= one_way(n->child[k]);
    return any;
}

static bool some_one_way(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->bsdfs.count; i++)
        any |= one_way(w->plan->bsdfs.data[i]);
    return any;
}

/* A material's values are those for radiance, which travels against the light. If a class is not reciprocal
 * (one_way), its values are taken from the side to which the light leaves. The value from wi to wo times the
 * squared index would be the same number, but would hide that index from derivatives. Discrete lobes are not
 * functions of two directions. They have the index as a factor, which onward_factor undoes. */
static void material_values(walk *w, const light_vertex *v, bool differentiated, color *for_sensor,
                            color *for_sample)
{
    tracer *t = &w->t;
    if (!some_one_way(w)) {
        walk_values(w, &v->v, differentiated, for_sensor, for_sample);
        return;
    }
    walk_vertex sampled = v->v, seen = v->v;
    color unused;
    sampled.wi = v3_select(t, v->v.sample.delta, v->v.wi, v->v.wo),
    sampled.wo = v3_select(t, v->v.sample.delta, v->v.wo, v->v.wi);
    walk_values(w, &sampled, differentiated, &unused, for_sample);
    ir_ref by = ir_select(t->f, v->v.sample.delta, t_f32(t, 1), cosines_of(w, v->v.wo, v->v.wi));
    by = at_surface(w, &v->v, by);
    *for_sample = color_scale(t, *for_sample, w->motion->chains ? by : ir_detach(t->f, by));
    seen.wi = v->v.to_light, seen.to_light = v->v.wi;
    walk_values(w, &seen, differentiated, for_sensor, &unused);
    ir_ref seen_by = at_surface(w, &v->v, cosines_of(w, v->v.to_light, v->v.wi));
    *for_sensor = color_scale(t, *for_sensor, w->motion->chains ? seen_by : ir_detach(t->f, seen_by));
}

void light_values(walk *w, const light_vertex *v, bool differentiated, color *for_sensor, color *for_sample)
{
    material_values(w, v, differentiated, for_sensor, for_sample);
    if (w->bends_lit) { /* what the curve that leads here lets through is a factor of both */
        color left = eikonal_passed(w, &v->v.curve).left;
        *for_sample = color_mul(&w->t, *for_sample, left);
        *for_sensor = light_receives(w) ? left : color_mul(&w->t, *for_sensor, left);
        return;
    }
    if (light_receives(w))
        *for_sensor = color_all(t_f32(&w->t, 1));
}

/* The factor by which a sample's value is multiplied on a path that begins at a light. */
static ir_ref onward_factor(walk *w, const light_vertex *l, ir_ref wi_ng, ir_ref wo_ng)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_vertex *v = &l->v;
    ir_ref cosines = cosines_of(w, v->wi, v->wo), squared = t_f32(t, 1);
    if (some_one_way(w)) {
        cosines = ir_select(f, v->sample.delta, cosines_of_discrete(w, v), cosines);
        squared = ir_select(f, v->sample.delta, t_sqr(t, v->sample.eta), squared);
    }
    return at_surface(w, v, ir_mul(f, shading_adjoint(w, v, cosines, wi_ng, v->wo.z, wo_ng), squared));
}

ir_ref light_weigh(walk *w, vec3 d, const light_connection *c, light_vertex *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_vertex *v = &l->v;
    ir_ref wi_ng = ir_neg(f, v3_dot(t, d, v->si.ng));
    ir_ref sensor_adjoint = shading_adjoint(w, v, cosines_of(w, v->wi, v->to_light), wi_ng, v->to_light.z,
                                            v3_dot(t, c->to, v->si.ng));
    l->onward = onward_factor(w, l, wi_ng, v3_dot(t, l->next_d, v->si.ng));
    return at_surface(w, v, sensor_adjoint);
}

/* Describes the surface that the ray has met, samples where it scatters to, and weighs its connection c to
 * the sensor. */
static void scatter(walk *w, const light_position *at, const light_connection *c, light_vertex *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_vertex *v = &l->v;
    random4 r = walk_numbers(w, at->sample, block_of(w, at, 1), SAMPLER_ONE_TWO_ONE);
    if (!w->media)
        v->bsdf_class = t_word(t, v->si.shape, SHAPE_BSDF_CLASS),
        v->bsdf_record = t_word(t, v->si.shape, SHAPE_BSDF_RECORD);
    if (w->media || w->disperses)
        v->share = w->media ? v->flight.share : at->share;
    if (w->disperses) /* by the number of the way to the sensor that is left */
        v->hero = dispersion_hero(w, v->share,
                                  walk_numbers(w, at->sample, block_of(w, at, 0), SAMPLER_ONE_TWO_ONE).u[3]);
    v->frame = walk_frame(w, v, &v->si);
    v->wi = frame_to_local(t, v->frame, v3_neg(t, at->d)), v->to_light = frame_to_local(t, v->frame, c->to);
    v->u_roulette = r.u[3];
    ir_ref toward_pdf;
    walk_sample_bsdf(w, v, (ir_ref){0}, r.u[0], r.u[1], r.u[2], &toward_pdf);
    l->next_d = v3_normalize(t, frame_to_world(t, v->frame, v->wo));
    ir_ref sensor_adjoint = light_weigh(w, at->d, c, l);
    ir_ref scatters = ir_and(f, ir_gt(f, toward_pdf, t_f32(t, 0)), ir_gt(f, sensor_adjoint, t_f32(t, 0)));
    l->splat.there = ir_and(f, l->splat.there, ir_or(f, l->begins, ir_and(f, l->goes_on, scatters)));
    l->scale = ir_select(f, l->begins, l->scale, ir_mul(f, sensor_adjoint, c->link.weight));
    light_values(w, l, false, &l->for_sensor, &l->for_sample);
    if (w->volumetric) {
        v->through = walk_is_through(t, &v->si, &v->sample);
        l->goes_on = ir_or(f, l->goes_on, v->through);
        l->next_d = v3_select(t, v->through, at->d, l->next_d);
    }
    v->goes_on = l->goes_on = ir_and(f, l->goes_on, ir_gt(f, l->onward, t_f32(t, 0)));
}

/* The cosine at a light. Infinitely far ones have none. */
ir_ref light_cosine(walk *w, const light_emission *e, const light_connection *c)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), facing = ir_gt(f, v3_dot(t, e->ray.ns, c->to), zero);
    return ir_select(f, e->far, t_f32(t, 1),
                     ir_select(f, facing, ir_abs(f, v3_dot(t, e->ray.n, c->to)), zero));
}

/* The surface that the ray of `at` meets. at->d becomes the direction in which the ray arrives. */
static void meet(walk *w, light_position *at, walk_vertex *v)
{
    walk_position by = {.o = at->o, .d = at->d, .tmax = at->tmax, .medium = at->medium};
    if (w->media) {
        light_fly(w, at, v);
        return;
    }
    v->si = w->bends ? eikonal_intersect(w, &by, v) : walk_intersect(w, by, &v->met);
    at->d = by.d;
}

light_vertex light_visit(walk *w, const light_position *before, ir_ref connects)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_scene *s = w->plan->scene;
    ir_ref zero = t_f32(t, 0);
    light_position here = *before, *at = &here;
    light_vertex l = {.begins = ir_eq(f, at->depth, t_u32(t, 0))};
    light_emission e = begin_emission(w, l.begins, at->sample);
    l.emission = shining(w, &e), l.radiance = e.radiance;
    l.emission.index = e.index, l.light_normal = e.ray.n;
    if (w->media) {
        vec3 leaves = ray_offset(t, e.ray.p, e.ray.n, e.ray.d);
        at->medium = ir_select(f, l.begins, light_medium_at(w, leaves, e.ray.d, l.begins), at->medium);
    }
    meet(w, at, &l.v);
    vec3 p = v3_select(t, l.begins, e.ray.p, l.v.si.p), n = v3_select(t, l.begins, e.ray.n, l.v.si.ng);
    light_connection c = light_connect(w, at, p, &e);
    ir_ref cosine = light_cosine(w, &e, &c);
    l.scale = ir_mul(f, ir_mul(f, e.ray.point_weight, e.choice), ir_mul(f, cosine, c.link.weight));
    ir_ref seen = ir_gt(f, l.scale, zero);
    l.splat.there =
        ir_and(f, c.link.seen, s->hide_emitters ? ir_not(f, l.begins) : ir_or(f, ir_not(f, l.begins), seen));
    if (w->past_lights) {
        ir_ref cls = t_word(t, l.v.si.shape, SHAPE_EMITTER_CLASS);
        l.splat.there = ir_and(f, l.splat.there, ir_eq(f, cls, t_u32(t, PLAN_NONE)));
    }
    l.splat.at = light_place(w, c.link.position);
    l.goes_on = l.v.si.valid;
    if (s->max_depth >= 0)
        l.goes_on = ir_and(f, l.goes_on, ir_lt(f, at->depth, t_u32(t, (uint32_t)s->max_depth)));
    scatter(w, at, &c, &l);
    if (light_receives(w))
        receive(w, at, &l);
    if (w->bends && !light_receives(w)) /* no line leads from a curve to the sensor */
        l.splat.there = ir_and(f, l.splat.there,
                               ir_not(f, eikonal_bends(w, medium_behind(w, &l.v.si, c.to, at->medium))));
    if (!ir_is_none(connects))
        l.splat.there = ir_and(f, l.splat.there, connects);
    if (w->media && !light_receives(w))
        light_to_sensor(w, at, &c, &(light_way){p, n, e.far}, &l);
    else if (!light_receives(w))
        l.splat.there = unoccluded(w, &c, &e, p, n, l.splat.there);
    /* From the point on the light, the path goes on along the ray that leaves the light. */
    ir_ref shines = ir_gt(f, e.ray.weight, zero);
    l.onward = ir_select(f, l.begins, ir_mul(f, e.ray.weight, e.choice), l.onward);
    l.goes_on = ir_select(f, l.begins, shines, l.goes_on);
    l.next_d = v3_select(t, l.begins, e.ray.d, l.next_d);
    l.next_o = ray_offset(t, p, n, l.next_d);
    if (w->media)
        l.v.medium = ir_select(f, ir_or(f, l.begins, l.v.flight.collides), at->medium,
                               medium_behind(w, &l.v.si, l.next_d, at->medium));
    else if (w->bends)
        l.v.medium = ir_select(f, l.begins, at->medium, medium_behind(w, &l.v.si, l.next_d, at->medium));
    ir_ref seen_mark = ir_select(f, l.splat.there, t_u32(t, 0xC2B2AE3Du), t_u32(t, 0));
    l.way = ir_add(f, ir_select(f, l.v.si.valid, l.v.si.entry, t_u32(t, PLAN_NONE)),
                   ir_mul(f, l.v.sample.lobe, t_u32(t, 0x9E3779B1u)));
    if (w->bends)
        l.way = ir_xor(f, ir_mul(f, l.way, t_u32(t, 16777619u)), l.v.curve.steps);
    if (w->media)
        l.way = ir_xor(f, ir_mul(f, l.way, t_u32(t, 16777619u)),
                       ir_select(f, l.v.flight.collides, ir_not(f, l.v.flight.steps), l.v.flight.steps));
    l.v.decisions = ir_xor(f, l.way, seen_mark);
    return l;
}

color light_splat_factor(walk *w, const light_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    COLOR_EACH(r, ir_select(f, v->splat.there,
                            ir_select(f, v->begins, v->scale, ir_mul(f, v->scale, v->for_sensor.c[c])),
                            t_f32(&w->t, 0)));
    return w->media && !light_receives(w) ? color_mul(t, r, v->passed) : r;
}

void light_emit(walk *w, const light_vertex *v, throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref lost = ir_and(f, v->begins, ir_eq(f, v->radiance.c[c], t_f32(t, 0)));
        b->beta.c[c] =
            ir_select(f, v->begins, ir_select(f, lost, t_f32(t, 1), v->radiance.c[c]), b->beta.c[c]);
        b->zeros[c] = ir_add(f, b->zeros[c], ir_to_u32(f, lost));
    }
}

passage light_pass(walk *w, const light_vertex *v, light_position *at, throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    throughput first = *b;
    ir_ref one = t_u32(t, 1), before = ir_select(f, v->begins, t_u32(t, 0), ir_sub(f, at->depth, one));
    b->beta = color_scale(t, b->beta, v->onward), first.beta = b->beta;
    /* Roulette begins where depth > rr_depth. */
    passage onward = throughput_pass(w, before, &v->v, v->for_sample, b);
    b->beta = color_select(t, v->begins, first.beta, b->beta);
    for (uint32_t c = 0; c < t->channels; c++)
        b->zeros[c] = ir_select(f, v->begins, first.zeros[c], b->zeros[c]);
    b->eta = ir_select(f, v->begins, first.eta, b->eta);
    ir_ref alive = ir_and(f, v->goes_on, ir_or(f, v->begins, onward.alive));
    if (w->bends || w->media)
        at->medium = ir_select(f, alive, v->v.medium, t_u32(t, 0));
    if (w->media || w->disperses) /* at the light nothing has been chosen by wavelength */
        at->share = color_select(t, ir_and(f, alive, ir_not(f, v->begins)), v->v.share,
                                 color_all(t_f32(t, 1.0f / (float)t->channels)));
    if (w->media)
        at->event = ir_select(f, alive, ir_add(f, at->event, one), t_u32(t, 0));
    at->o = v->next_o, at->d = v->next_d, at->tmax = ir_select(f, alive, t_f32(t, 1e30f), t_f32(t, -1));
    ir_ref longer = w->media ? ir_to_u32(f, ir_not(f, v->v.through)) : one;
    at->depth = ir_select(f, alive, ir_add(f, at->depth, longer), t_u32(t, 0));
    return (passage){alive, ir_select(f, v->begins, t_f32(t, 1), onward.inverse_pdf)};
}
