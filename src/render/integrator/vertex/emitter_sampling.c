/* SPDX-License-Identifier: BSD-3-Clause
 * Light at a vertex, detached. Emission is found in two ways: the path's ray meets it, or a light is chosen
 * and sampled (next-event estimation). Both ways can find the same light, so each is weighed by the power
 * heuristic of the two densities (multiple importance sampling, Veach 1997, chapter 9). The two weights add
 * up to 1 for all parameters, so they stay detached (docs/theory/detached_replay.md).
 *
 * A delta light cannot be met, and the direction of a discrete lobe cannot be found by sampling lights. There
 * the weight is 1. */
#include "render/integrator/derived/derived.h"
#include "render/integrator/vertex/plugin_functions.h"
#include "render/integrator/vertex/vertex.h"

/* a^2 / (a^2 + b^2). Along a light's own plane densities have no bound. They are cut off, so that their
 * squares are finite. */
static ir_ref power_heuristic(tracer *t, ir_ref a, ir_ref b)
{
    const ir_ref most = t_f32(t, 1e18f), a2 = t_sqr(t, ir_min(t->f, a, most)),
                 b2 = t_sqr(t, ir_min(t->f, b, most));
    return t_ratio(t, a2, ir_add(t->f, a2, b2));
}

/* ---- emission at the hit ---- */

ir_ref light_hit_pdf(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    BL_ASSERT(w->next_event, "a density of light sampling in a walk that samples no lights");
    const interaction *si = &v->si;
    vec3 from = w->volumetric ? at.scattered : at.o;
    ir_ref distance = w->volumetric ? v3_length(t, v3_sub(t, si->p, from)) : si->t;
    emitter_hit hit = {
        .ref = from,
        .d = at.d,
        .distance = distance,
        .normal = si->ng,
        .uv = v->hit.uv,
        .entry = si->entry,
        .at = si->b,
    };
    ref_list in = refs_for(v->hit.record);
    emitter_pdf_visit(&in, &hit);
    ir_ref pdf;
    ir_call(t->f, v->hit.cls, w->smooth ? w->fn.emitter_smooth : w->fn.emitter_pdf, w->plan->emitters.count,
            in.at, in.count, &pdf);
    const render_scene *s = w->plan->scene;
    if (!w->plan->lights_tabled)
        return v->attached.hit_pdf = ir_mul(t->f, pdf, t_f32(t, 1.0f / (float)s->emitters.count));
    ir_ref light = t_word(t, si->shape, SHAPE_EMITTER_INDEX);
    if (s->environment != PLAN_NONE)
        light = ir_select(t->f, si->valid, light, t_u32(t, s->environment));
    return v->attached.hit_pdf = ir_mul(t->f, pdf, light_choice_probability(t, &from, light));
}

static const class_node *environment_of(const plan *p)
{
    BL_ASSERT(p->scene->environment != PLAN_NONE, "the scene has no environment");
    return p->emitters.data[p->words.data[p->words.data[HEADER_EMITTERS] + 2 * p->scene->environment]];
}

bool walk_locates(const plan *p)
{
    return p->scene->environment != PLAN_NONE && emitter_of(environment_of(p))->locate;
}

/* Whether the environment's to_world is a parameter whose gradient is wanted. */
static bool environment_turns(const plan *p)
{
    return environment_of(p)->requested & emitter_of(environment_of(p))->pose_params;
}

static vec2 environment_uv(tracer *t, vec3 d)
{
    const class_node *n = environment_of(t->plan);
    ir_ref record = t_word(t, t_word(t, t_u32(t, 0), HEADER_EMITTERS), 2 * t->plan->scene->environment + 1);
    return emitter_of(n)->locate(t, n, record, d);
}

vec2 light_emission_uv(walk *w, ir_ref there, vec2 uv, vec3 d)
{
    if (!walk_locates(w->plan))
        return uv;
    vec2 far = environment_uv(&w->t, d);
    return (vec2){ir_select(w->t.f, there, uv.x, far.x), ir_select(w->t.f, there, uv.y, far.y)};
}

/* A coordinate of uv. Where the light is the environment (is: bool), it gets the derivative of `now`. Its
 * value stays that of the path that was walked, from which `now` differs by rounding. */
static ir_ref located(tracer *t, ir_ref is, ir_ref at, ir_ref now)
{
    return ir_select(t->f, is, t->frozen ? now : ir_replace_grad(t->f, ir_detach(t->f, at), now), at);
}

void light_locate(walk *w, const walk_light *light, vec2 *uv)
{
    if (!walk_locates(w->plan) || !environment_turns(w->plan))
        return;
    tracer t = walk_differentiated(w);
    vec2 far = environment_uv(&t, light->d_moves ? light->d : v3_detach(&t, light->d));
    const ir_ref is = light_is_environment(w, light->cls);
    uv->x = located(&t, is, uv->x, far.x), uv->y = located(&t, is, uv->y, far.y);
}

/* Where the light could have been sampled, too. */
static ir_ref hit_weight(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!walk_spares(w))
        return power_heuristic(t, at.pdf, light_hit_pdf(w, v, at));
    ir_ref branch = ir_if(f, ir_and(f, v->hit.there, ir_not(f, at.delta)));
    ir_ref weight = power_heuristic(t, at.pdf, light_hit_pdf(w, v, at));
    walk_end_branch(w, branch, &weight, 1);
    return weight;
}

void light_find_emission(walk *w, walk_vertex *v, walk_position at)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const render_scene *s = w->plan->scene;
    ir_ref zero = t_f32(t, 0), none = t_u32(t, PLAN_NONE), lights = t_word(t, t_u32(t, 0), HEADER_EMITTERS);
    ir_ref cls = t_word(t, v->si.shape, SHAPE_EMITTER_CLASS);
    ir_ref on_shape = ir_and(f, v->si.valid, ir_ne(f, cls, none));
    /* Where there is no light, a valid class and record stand in: those of the environment or the first
     * light. */
    uint32_t stand_in = s->environment == PLAN_NONE ? 0 : s->environment;
    v->hit.cls = ir_select(f, on_shape, cls, t_word(t, lights, 2 * stand_in));
    v->hit.record = ir_select(f, on_shape, t_word(t, v->si.shape, SHAPE_EMITTER_RECORD),
                              t_word(t, lights, 2 * stand_in + 1));
    v->hit.there = on_shape;
    if (s->environment != PLAN_NONE) /* A path that has ended has a negative tmax and sees nothing. */
        v->hit.there = ir_or(f, on_shape, ir_and(f, ir_not(f, v->si.valid), ir_ge(f, at.tmax, zero)));
    if (!ir_is_none(v->flight.collides)) /* a flight that ends in the medium comes to no light */
        v->hit.there = ir_and(f, v->hit.there, ir_not(f, v->flight.collides));
    if (s->hide_emitters)
        v->hit.there = ir_and(f, v->hit.there, ir_gt(f, at.depth, t_u32(t, 0)));
    if (w->behind_null)
        v->hit.there = ir_and(f, v->hit.there, ir_or(f, v->si.valid, ir_ge(f, at.pdf, zero)));
    if (!w->bsdf_emission) /* Only light sampling gives direct light, but what the camera sees still
                            * counts. */
        v->hit.there = ir_and(f, v->hit.there, ir_eq(f, at.depth, t_u32(t, 0)));
    v->hit.d = at.d;
    v->hit.uv = light_emission_uv(w, v->si.valid, v->si.uv, at.d);
    v->hit.on = surface_of_light(t, &v->si, on_shape);
    v->hit.distance = t_f32(t, 1); /* Only delta lights read it, and they are not hit. */
    v->hit.facing = ir_lt(f, v3_dot(t, at.d, v->si.ns), zero);
    if (s->environment != PLAN_NONE)
        v->hit.facing = ir_or(f, v->hit.facing, ir_not(f, v->si.valid));
    ir_ref mis = t_f32(t, 1);
    if (w->next_event)
        mis = ir_select(f, at.delta, mis, hit_weight(w, v, at));
    v->hit_mis = ir_select(f, v->hit.there, mis, zero);
}

/* ---- light sampling ---- */

ir_ref walk_far(walk *w, ir_ref length) { return ir_mul(w->t.f, length, t_f32(&w->t, 1 - 10 * RAY_EPSILON)); }

ir_ref light_occluded(walk *w, const ray *r)
{
    if (w->plan->baked)
        return baked_any(w, r);
    ir_ref args[8] = {r->o.x, r->o.y, r->o.z, r->d.x, r->d.y, r->d.z, t_f32(&w->t, 0), r->tmax};
    return ir_ray_any(w->t.f, w->fn.intersect, w->fn.kinds, args);
}

ir_ref light_unoccluded(walk *w, const interaction *si, vec3 d, ir_ref distance, ir_ref wanted)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    vec3 o = ray_offset(t, si->p, si->ng, d);
    vec3 to = v3_sub(t, v3_add(t, si->p, v3_scale(t, d, distance)), o);
    ir_ref length = ir_max(f, v3_length(t, to), t_f32(t, 1e-20f));
    to = v3_scale(t, to, ir_div(f, t_f32(t, 1), length));
    ir_ref far = walk_far(w, length);
    return ir_not(f, light_occluded(w, &(ray){o, to, ir_select(f, wanted, far, t_f32(t, -1))}));
}

static bool is_delta(const emitter_class *e) { return e->delta; }
static bool is_on_shape(const emitter_class *e) { return e->on_shape; }

/* bool reference: `kind` holds for the class of the light. */
static ir_ref light_is(walk *w, ir_ref cls, bool (*kind)(const emitter_class *e))
{
    ir_func *f = w->t.f;
    ir_ref is = ir_bool(f, false);
    for (uint32_t i = 0; i < w->plan->emitters.count; i++)
        if (kind(emitter_of(w->plan->emitters.data[i])))
            is = ir_or(f, is, ir_eq(f, cls, t_u32(&w->t, i)));
    return is;
}

static bool is_environment(const emitter_class *e) { return e->environment; }
ir_ref light_is_delta(walk *w, ir_ref cls) { return light_is(w, cls, is_delta); }
ir_ref light_is_on_shape(walk *w, ir_ref cls) { return light_is(w, cls, is_on_shape); }
ir_ref light_is_environment(walk *w, ir_ref cls) { return light_is(w, cls, is_environment); }

ir_ref light_pick(walk *w, const vec3 *from, ir_ref u, picked_light *picked)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    uint32_t n = w->plan->scene->emitters.count;
    BL_ASSERT(n > 0, "a light is chosen of none");
    ir_ref index = t_u32(t, 0), probability = {0};
    if (w->plan->lights_tabled)
        index = light_choice_sample(t, from, u, &probability);
    else if (n > 1)
        index = ir_min(f, ir_to_u32(f, ir_mul(f, u, t_f32(t, (float)n))), t_u32(t, n - 1));
    ir_ref at = ir_add(f, t_word(t, t_u32(t, 0), HEADER_EMITTERS), ir_mul(f, index, t_u32(t, 2)));
    *picked = (picked_light){index, t_word(t, at, 0), t_word(t, at, 1)};
    return w->plan->lights_tabled ? probability : t_f32(t, 1 / (float)n);
}

ir_ref light_pick_probability(walk *w, ir_ref index)
{
    return w->plan->lights_tabled ? light_choice_probability(&w->t, NULL, index)
                                  : t_f32(&w->t, 1 / (float)w->plan->scene->emitters.count);
}

void light_choose(walk *w, walk_vertex *v, const random4 *r, ir_ref when, vec3 *d, ir_ref *pdf)
{
    BL_ASSERT(ir_made(w->t.f, v->si.p.x), "a light is sampled from a vertex that has no place");
    picked_light picked;
    v->light_probability = light_pick(w, &v->si.p, r->u[0], &picked);
    v->light.cls = picked.cls, v->light.record = picked.record, v->light.index = picked.index;
    emitter_sample_arguments a = {v->si.p, {r->u[1], r->u[2]}};
    emitter_sample s = {0};
    ref_list in = refs_for(v->light.record), out = refs_results();
    emitter_sample_visit(&in, &a);
    walk_call(w, when, v->light.cls, w->fn.emitter_sample, w->plan->emitters.count, &in, out.at);
    emitter_sample_results_visit(w, &out, &s);
    *d = s.d, *pdf = s.pdf;
    if (w->multiplexed)
        v->light.n = s.n;
    if (w->smooth)
        v->attached.light_pdf = s.smooth;
    v->light.distance = s.distance, v->light.uv = s.uv, v->light.facing = s.facing;
    v->light.sampled = true, v->light.ref = v->si.p, v->light.d = *d;
    if (w->plan->light_needs & NEED_FACE)
        v->light.on.face = s.face, v->light.on.b = s.b;
    w->motion->light_chosen(w, v, s.n);
}

ir_ref light_smooth_density(walk *w, const walk_light *light, emitter_hit hit)
{
    BL_ASSERT(w->smooth && ir_made(w->t.f, hit.distance), "a smooth density was not traced");
    ir_ref zero = t_f32(&w->t, 0), density;
    hit.entry = t_u32(&w->t, 0), hit.at = (vec2){zero, zero};
    ref_list in = refs_for(light->record);
    emitter_pdf_visit(&in, &hit);
    ir_call(w->t.f, light->cls, w->fn.emitter_smooth, w->plan->emitters.count, in.at, in.count, &density);
    return density;
}

ir_ref light_share(walk *w, const walk_light *light, vec3 n, ir_ref probability, ir_ref bsdf_pdf)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!w->bsdf_emission)
        return t_f32(t, 1);
    emitter_hit hit = {light->ref, light->d, .distance = light->distance, .normal = n, .uv = light->uv};
    hit.uv = light_emission_uv(w, ir_not(f, light_is_environment(w, light->cls)), light->uv, light->d);
    ir_ref density = ir_mul(f, light_smooth_density(w, light, hit), probability);
    return ir_select(f, light_is_delta(w, light->cls), t_f32(t, 1), power_heuristic(t, density, bsdf_pdf));
}

ir_ref light_weight(walk *w, walk_vertex *v, ir_ref light_pdf, ir_ref bsdf_pdf)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(v->light.sampled, "the weight of a light that was not sampled");
    float n = (float)w->plan->scene->emitters.count;
    bool tabled = w->plan->lights_tabled;
    ir_ref mis = t_f32(t, 1), both = ir_mul(f, light_pdf, tabled ? v->light_probability : t_f32(t, 1 / n));
    if (w->smooth)
        v->attached.light_pdf =
            ir_mul(f, v->attached.light_pdf, tabled ? v->light_probability : t_f32(t, 1 / n));
    if (w->bsdf_emission)
        mis = ir_select(f, light_is_delta(w, v->light.cls), mis,
                        power_heuristic(t, w->smooth ? v->attached.light_pdf : both, bsdf_pdf));
    return ir_mul(f, mis, tabled ? t_ratio(t, t_f32(t, 1), both) : t_ratio(t, t_f32(t, n), light_pdf));
}
