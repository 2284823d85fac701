/* SPDX-License-Identifier: BSD-3-Clause
 * The light whose shadow has the border that an edge makes: which one, the edge as the light sees it, what it
 * sends past the edge, and how it moves. The kernels that look from lights have this in common:
 * boundary_lit.c and, where there are media, boundary_shaft.c.
 *
 * The border of a spot's cone that does not fade is one more such edge, near the light: what is outside of
 * the cone is in the shadow of a screen that moves with the light. Half of that light's samples lie on it. */
#include "render/integrator/derived/derived.h"
#include "render/integrator/kernels/boundary.h"
#include "render/integrator/vertex/plugin_functions.h"

/* At which share of the scene's radius a cone's border is taken, and how far inside of it its light is asked
 * for, as an angle. */
static const float BORDER_DISTANCE = 0.01f, BORDER_OFFSET = 1e-4f;

/* A light sampled from a reference point. */
emitter_sample boundary_light_sampled(walk *w, const light_emission *e, vec3 ref)
{
    emitter_sample_arguments a = {ref, {t_f32(&w->t, 0.5f), t_f32(&w->t, 0.5f)}};
    emitter_sample s = {0};
    ref_list in = refs_for(e->record), out = refs_results();
    emitter_sample_visit(&in, &a);
    ir_call(w->t.f, e->cls, w->fn.emitter_sample, w->plan->emitters.count, in.at, in.count, out.at);
    emitter_sample_results_visit(w, &out, &s);
    return s;
}

static bool some_delta(const walk *w)
{
    bool any = false;
    for (uint32_t k = 0; k < w->plan->emitters.count; k++)
        any |= emitter_of(w->plan->emitters.data[k])->delta;
    return any;
}

bool boundary_some_border(const walk *w)
{
    bool any = false;
    for (uint32_t k = 0; k < w->plan->emitters.count; k++)
        any |= emitter_of(w->plan->emitters.data[k])->border != NULL;
    return any;
}

/* The border of the light's cone. t: differentiated or not. */
static emitter_border border_of_light(walk *w, tracer *t, const light_emission *e, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    emitter_border found = {ir_bool(f, false), v3(zero, zero, zero), v3(one, zero, zero),
                            v3(zero, one, zero)};
    for (uint32_t k = 0; k < w->plan->emitters.count; k++) {
        const class_node *n = w->plan->emitters.data[k];
        if (!emitter_of(n)->border)
            continue;
        ir_ref branch = ir_if(f, ir_eq(f, e->cls, t_u32(t, k)));
        emitter_border own =
            emitter_of(n)->border(t, n, e->record, u, BORDER_DISTANCE * (w->plan->scene->radius + 1e-3f));
        ir_else(f);
        ir_endif(f);
        found.there = ir_phi(f, branch, own.there, found.there);
        found.p = v3_phi(t, branch, own.p, found.p), found.along = v3_phi(t, branch, own.along, found.along);
        found.light = v3_phi(t, branch, own.light, found.light);
    }
    return found;
}

/* Puts the segment on the border of the light's cone, where the random numbers say so (result: bool). */
static ir_ref take_border(walk *w, const light_emission *e, const random4 *r, boundary_point *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    emitter_border border = border_of_light(w, t, e, r->u[0]);
    ir_ref takes = ir_and(f, border.there, ir_lt(f, r->u[1], t_f32(t, 0.5f)));
    vec3 to = v3_sub(t, border.p, e->ray.p);
    ir_ref distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    b->there = ir_or(f, takes, b->there);
    b->p = v3_select(t, takes, border.p, b->p), b->n = v3_select(t, takes, border.light, b->n);
    b->d = v3_select(t, takes, v3_scale(t, to, ir_div(f, t_f32(t, 1), distance)), b->d);
    b->distance = ir_select(f, takes, distance, b->distance);
    b->weight = ir_select(f, takes, v3_length(t, border.along), b->weight);
    b->weight = ir_mul(f, b->weight, ir_select(f, border.there, t_f32(t, 2), t_f32(t, 1)));
    b->offset = ir_select(f, takes, ir_mul(f, distance, t_f32(t, BORDER_OFFSET)), b->offset);
    return takes;
}

/* The distance of a delta light, of which a sample is given. One that shines from infinity is sampled at a
 * distance just beyond the scene, where rays from its point would not be parallel. */
static ir_ref delta_reach(walk *w, ir_ref cls, const emitter_sample *s)
{
    ir_func *f = w->t.f;
    ir_ref reach = s->distance;
    for (uint32_t k = 0; k < w->plan->emitters.count; k++)
        if (!emitter_of(w->plan->emitters.data[k])->bound)
            reach = ir_select(f, ir_eq(f, cls, t_u32(&w->t, k)), t_f32(&w->t, boundary_far(w)), reach);
    return reach;
}

/* The point from which edges are looked for: on the light, or far out in its direction. */
static vec3 viewpoint_of(walk *w, const light_emission *e, ir_ref delta)
{
    tracer *t = &w->t;
    const render_scene *s = w->plan->scene;
    vec3 centre = v3(t_f32(t, s->center[0]), t_f32(t, s->center[1]), t_f32(t, s->center[2]));
    const float away = boundary_far(w);
    vec3 p = v3_select(t, e->far, v3_sub(t, centre, v3_scale(t, e->ray.d, t_f32(t, away))), e->ray.p);
    if (!some_delta(w))
        return p;
    emitter_sample seen = boundary_light_sampled(w, e, centre);
    ir_ref reach = ir_min(t->f, delta_reach(w, e->cls, &seen), t_f32(t, away));
    return v3_select(t, delta, v3_add(t, centre, v3_scale(t, seen.d, reach)), p);
}

/* What the light sends past the edge at b, whose viewpoint it is. */
static void shine(walk *w, const boundary_point *b, boundary_light *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const emitter_ray *r = &l->e.ray;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), facing = ir_gt(f, v3_dot(t, r->ns, b->d), zero);
    ir_ref cosine = ir_select(f, facing, ir_abs(f, v3_dot(t, r->n, b->d)), zero);
    ir_ref area = ir_div(f, ir_mul(f, cosine, r->point_weight), t_sqr(t, b->distance));
    ir_ref by = ir_select(f, l->e.far, r->point_weight, area);
    l->reach = ir_select(f, l->e.far, t_f32(t, 1e30f), b->distance);
    l->radiance = color_scale(t, l->e.radiance, ir_mul(f, by, l->e.choice));
    l->at = (walk_light){.there = ir_bool(f, true), .cls = l->e.cls, .record = l->e.record, .sampled = true};
    l->at.uv = r->uv, l->at.distance = l->reach, l->at.facing = ir_bool(f, true), l->at.ref = b->p;
    l->at.d = v3_neg(t, b->d), l->at.on = (surface){.p = r->p, .face = r->face, .b = r->b}, l->at.n = r->n;
    if (!some_delta(w))
        return;
    vec3 ref = b->p;
    if (boundary_some_border(w))
        ref = v3_select(t, l->border, boundary_beside(w, b), ref);
    emitter_sample s = boundary_light_sampled(w, &l->e, ref);
    walk_light beam = l->at;
    beam.d = s.d, beam.distance = s.distance, beam.uv = s.uv, beam.facing = s.facing;
    color sent =
        color_scale(t, walk_radiance(w, beam, false), ir_mul(f, l->e.choice, t_ratio(t, one, s.pdf)));
    l->radiance = color_select(t, l->delta, sent, l->radiance);
    l->reach = ir_select(f, l->delta, delta_reach(w, l->e.cls, &s), l->reach);
    l->at.d = v3_select(t, l->delta, s.d, l->at.d), l->at.uv.x = ir_select(f, l->delta, s.uv.x, l->at.uv.x);
    l->at.uv.y = ir_select(f, l->delta, s.uv.y, l->at.uv.y), l->at.distance = l->reach;
}

/* The point on the light, differentiated where lights move; else detached. */
vec3 boundary_light_moved(walk *w, const boundary_light *l)
{
    tracer *t = &w->t;
    ir_ref reach = ir_min(t->f, l->reach, t_f32(t, boundary_far(w)));
    vec3 ref = v3_detach(t, l->at.ref), d = v3_detach(t, l->at.d);
    reach = ir_detach(t->f, reach);
    if (!w->fn.emitter_moved)
        return v3_add(t, ref, v3_scale(t, d, reach));
    walk_light light = l->at;
    light.ref = ref, light.d = d, light.distance = reach, light.n = v3_detach(t, light.n);
    ir_ref unused;
    walk_move_light(w, &light, &unused);
    return v3_add(t, ref, v3_scale(t, light.d, light.distance));
}

bool boundary_light_edge(walk *w, const boundary_point *b, const boundary_light *l, vec3 y, vec3 *edge)
{
    if (!boundary_some_border(w))
        return false;
    tracer reads = walk_differentiated(w);
    emitter_border border = border_of_light(w, &reads, &l->e, ir_detach(w->t.f, l->along));
    *edge = v3_select(&w->t, l->border, border.p, silhouette_moved(&reads, &b->place, b->p, y));
    return true;
}

ir_ref boundary_light_share(walk *w, const boundary_light *l, const walk_vertex *v, vec3 wi, vec3 wo)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_light light = l->at;
    vec3 to = v3_sub(t, v3_add(t, l->at.ref, v3_scale(t, l->at.d, l->reach)), v->si.p);
    light.ref = v->si.p, light.distance = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    light.distance = ir_select(f, l->e.far, l->reach, light.distance);
    ir_ref chosen = w->plan->lights_tree ? light_choice_probability(t, &v->si.p, l->e.index)
                                         : t_ratio(t, t_f32(t, 1), l->e.choice);
    return light_share(w, &light, light.n, chosen, boundary_material_density(w, v, wi, wo));
}

boundary_point boundary_light_pick(walk *w, const boundary_loop *loop, boundary_light *l)
{
    const ir_ref *spread = loop->guide.spread, *on = spread + SPREAD_LIGHT_AT;
    ir_ref half = t_f32(&w->t, 0.5f); /* of the direction of the light's ray, which nobody asks for */
    *l = (boundary_light){.e = light_begin_by(w, spread[SPREAD_LIGHT],
                                              (emitter_ray_arguments){{on[0], on[1], half, half}}, false)};
    l->delta = light_is_delta(w, l->e.cls);
    boundary_point b = boundary_pick(w, viewpoint_of(w, &l->e, l->delta), loop->sample, &loop->guide,
                                     &(boundary_wish){.candidates = 4, .backwards = true});
    if (boundary_some_border(w)) {
        random4 r = boundary_numbers(w, loop->sample, 1);
        l->border = take_border(w, &l->e, &r, &b), l->along = r.u[0];
    }
    shine(w, &b, l);
    return b;
}
