/* SPDX-License-Identifier: BSD-3-Clause
 * Weights between paths from the sensor and paths from lights (docs/theory/metropolis.md, Techniques). A path
 * x0 x1 .. xk from the sensor to a light is found in three ways: x(k-1) samples the light, its material's
 * sample meets the light, or a path from the light is connected to the sensor at x1. Each has the square of
 * its density over the sum of all three squares (power heuristic; Veach 1997, section 9.2).
 *
 * Densities are over that of the second way. Geometry in between cancels, and so do materials if their
 * sampling has the same density per projected solid angle in both directions. That holds for diffuse surfaces
 * and mirrors, and nearly for rough ones. Weights must add up to 1 for each path, and need not be made of
 * true densities; so it is taken to hold, and nothing is evaluated twice. What is left is
 *
 *     met by a sample          1
 *     sampled light            E / (c rho)
 *     path from the light      E T,                T = |cos at x1, to x2| / (W |cos at x1, to x0| rho1)
 *
 * with rho, rho1 the densities of sampling x(k-1) -> xk and x1 -> x2 in solid angle, W the sensor's
 * importance, E the density of rays that leave the light, per area and projected solid angle, and c the
 * factor that turns a density per solid angle at x(k-1) into one like E. T is called `reach`. It is 0 where
 * x1 has scattered by a discrete lobe, at which no path from a light is connected. Delta lights cannot be
 * met, and lights cannot be sampled for discrete lobes.
 *
 * Invariant: both kinds of paths compute the same numbers for the same path, up to rounding. So what differs
 * by direction, such as the place on the lens, is replaced by something that does not. */
#include "render/integrator/path/technique_weights.h"

static const float pi = 3.14159265358979323846f;

/* a / b, bounded so that squares of it are finite; both are at least 0. */
static ir_ref bounded_ratio(tracer *t, ir_ref a, ir_ref b)
{
    ir_func *f = t->f;
    const ir_ref most = t_f32(t, 1e15f), least = t_f32(t, 1e-30f);
    return ir_min(f, ir_div(f, a, ir_max(f, b, least)), most);
}

/* The share of paths from lights. */
static ir_ref light_share_of(walk *w, ir_ref reach, const technique_light *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref mine = t_sqr(t, reach), others = ir_add(f, t_sqr(t, l->met), t_sqr(t, l->sampled));
    return t_ratio(t, mine, ir_add(f, mine, others));
}

/* T, where x1 is the vertex at p, with both cosines there, and rho1. */
static ir_ref reach_of(walk *w, vec3 p, ir_ref to_sensor_z, ir_ref onward_z, ir_ref density)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const sensor_view view = walk_view(w);
    const vec2 middle = {t_f32(t, 0.5f), t_f32(t, 0.5f)};
    sensor_link link = sensor_of(view.object)->link(t, &view, p, middle);
    ir_ref seen = ir_and(f, link.seen, link.within);
    ir_ref back = ir_mul(f, ir_mul(f, link.weight, ir_abs(f, to_sensor_z)), density);
    ir_ref some = ir_and(f, seen, ir_gt(f, back, t_f32(t, 0)));
    return ir_select(f, some, bounded_ratio(t, ir_abs(f, onward_z), back), t_f32(t, 0));
}

/* ---- lights ---- */

/* bool: the light is infinitely far. */
static ir_ref is_far(walk *w, ir_ref cls)
{
    ir_func *f = w->t.f;
    ir_ref is = ir_bool(f, false);
    for (uint32_t i = 0; i < w->plan->emitters.count; i++)
        if (!emitter_of(w->plan->emitters.data[i])->bound)
            is = ir_or(f, is, ir_eq(f, cls, t_u32(&w->t, i)));
    return is;
}

/* Per area, of lights on shapes; that their points may be sampled by a texture is left out. */
static ir_ref inverse_area(walk *w, ir_ref cls, ir_ref record)
{
    tracer *t = &w->t;
    ir_ref r = t_f32(t, 1);
    for (uint32_t i = 0; i < w->plan->emitters.count; i++) {
        const class_node *n = w->plan->emitters.data[i];
        if (!emitter_of(n)->on_shape)
            continue;
        ir_ref is = ir_eq(t->f, cls, t_u32(t, i));
        r = ir_select(t->f, is,
                      t_real(t, ir_select(t->f, is, record, t_u32(t, 0)), n->extra_word + AREA_INVERSE_AREA),
                      r);
    }
    return r;
}

/* Per solid angle, of the environment in direction d. */
static ir_ref environment_density(walk *w, vec3 d)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), lights = t_word(t, t_u32(t, 0), HEADER_EMITTERS);
    const uint32_t at = 2 * w->plan->scene->environment;
    const class_node *n =
        w->plan->emitters.data[w->plan->words.data[w->plan->words.data[HEADER_EMITTERS] + at]];
    const emitter_hit hit = {.ref = v3(zero, zero, zero),
                             .d = d,
                             .distance = t_f32(t, 1),
                             .normal = v3_neg(t, d),
                             .uv = light_emission_uv(w, ir_bool(t->f, false), (vec2){zero, zero}, d),
                             .entry = t_u32(t, 0),
                             .at = {zero, zero}};
    return emitter_of(n)->pdf(t, n, t_word(t, lights, at + 1), &hit);
}

/* A light, seen from x(k-1) along the unit direction d. */
typedef struct seen_light {
    ir_ref cls, record, index;
    vec3 d, n;       /* n: the geometric normal of a light on a shape */
    ir_ref distance; /* of a light that is not far */
} seen_light;

/* E and c. */
typedef struct light_densities {
    ir_ref rays, per_angle;
} light_densities;

static light_densities densities_of(walk *w, const seen_light *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const float radius = w->plan->scene->radius * 1.0001f;
    ir_ref far = is_far(w, l->cls), on_shape = light_is_on_shape(w, l->cls),
           choice = light_pick_probability(w, l->index),
           inverse_square = bounded_ratio(t, t_f32(t, 1), t_sqr(t, l->distance));
    ir_ref cosine = ir_mul(f, ir_abs(f, v3_dot(t, l->n, l->d)), t_f32(t, 1 / pi));
    ir_ref near = ir_mul(f, ir_select(f, on_shape, cosine, t_f32(t, 1 / (4 * pi))), inverse_square);
    ir_ref per_angle = ir_select(f, far, t_f32(t, 1 / (pi * radius * radius)), near);
    ir_ref rays =
        ir_select(f, on_shape, ir_mul(f, inverse_area(w, l->cls, l->record), t_f32(t, 1 / pi)), per_angle);
    if (w->plan->scene->environment != PLAN_NONE)
        rays = ir_select(f, light_is_environment(w, l->cls),
                         ir_mul(f, per_angle, environment_density(w, l->d)), rays);
    return (light_densities){ir_mul(f, rays, choice), per_angle};
}

/* Over the density of paths from the light, without `reach`. density: rho; discrete: bool, in place of it. */
static technique_light compared(walk *w, const seen_light *l, ir_ref density, ir_ref discrete)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    light_densities d = densities_of(w, l);
    return (technique_light){
        .met = ir_select(f, light_is_delta(w, l->cls), zero, bounded_ratio(t, one, d.rays)),
        .sampled = ir_select(f, discrete, zero, bounded_ratio(t, one, ir_mul(f, d.per_angle, density))),
        .far = is_far(w, l->cls),
    };
}

/* ---- paths from the sensor ---- */

static void weigh_hit(walk *w, const walk_position *at, walk_vertex *v, ir_ref reach)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref index = t_word(t, v->si.shape, SHAPE_EMITTER_INDEX);
    if (w->plan->scene->environment != PLAN_NONE)
        index = ir_select(f, v->si.valid, index, t_u32(t, w->plan->scene->environment));
    const seen_light l = {v->hit.cls, v->hit.record, ir_select(f, v->hit.there, index, t_u32(t, 0)),
                          at->d,      v->si.ng,      v->si.t};
    technique_light other = compared(w, &l, at->pdf, at->delta);
    ir_ref mine = ir_sub(f, t_f32(t, 1), light_share_of(w, reach, &other));
    v->hit_mis = ir_mul(f, v->hit_mis, mine);
}

static void weigh_sampled(walk *w, walk_vertex *v, ir_ref first, ir_ref reach)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const seen_light l = {v->light.cls, v->light.record, v->light.index,
                          v->light_d,   v->light.n,      v->light.distance};
    ir_ref here = reach_of(w, v->si.p, v->wi.z, v->to_light.z, v->to_light_pdf);
    technique_light other = compared(w, &l, v->to_light_pdf, ir_bool(f, false));
    ir_ref mine = ir_sub(f, t_f32(t, 1), light_share_of(w, ir_select(f, first, here, reach), &other));
    v->light_weight = ir_mul(f, v->light_weight, mine);
}

void technique_weigh_visit(walk *w, const walk_position *at, walk_vertex *v, ir_ref *reach)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref first = ir_eq(f, at->depth, t_u32(t, 0));
    weigh_hit(w, at, v, *reach);
    if (w->next_event)
        weigh_sampled(w, v, first, *reach);
    ir_ref behind = reach_of(w, v->si.p, v->wi.z, v->wo.z, v->sample.pdf);
    behind = ir_select(f, v->sample.delta, t_f32(t, 0), behind);
    *reach = ir_select(f, first, behind, *reach);
}

/* ---- paths from lights ---- */

technique_light technique_light_start(walk *w)
{
    ir_ref zero = t_f32(&w->t, 0);
    return (technique_light){zero, zero, ir_bool(w->t.f, false)};
}

void state_technique(loop_state *s, technique_light *l)
{
    state_ref(s, &l->met), state_ref(s, &l->sampled), state_ref(s, &l->far);
}

/* At the light: what is known before the ray has met x(k-1). */
static technique_light at_light(walk *w, const light_vertex *v)
{
    ir_ref one = t_f32(&w->t, 1);
    const seen_light l = {v->emission.cls, v->emission.record, v->emission.index,
                          v->emission.d,   v->light_normal,    one};
    return compared(w, &l, one, ir_bool(w->t.f, false));
}

ir_ref technique_weigh_splat(walk *w, const light_position *at, const light_vertex *v, technique_light *l)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), first = ir_eq(f, at->depth, t_u32(t, 1));
    ir_ref seen_by = walk_bsdf_density(w, &v->v, v->v.to_light, v->v.wi),
           onward_by = walk_bsdf_density(w, &v->v, v->v.wo, v->v.wi);
    ir_ref reach = reach_of(w, v->v.si.p, v->v.to_light.z, v->v.wi.z, seen_by);
    /* Where this is x(k-1): once as x1, which the sensor sees, and once for a path that goes on. */
    ir_ref apart = ir_mul(f, l->sampled, ir_select(f, l->far, t_f32(t, 1), t_sqr(t, v->v.si.t)));
    technique_light seen = *l, behind = at_light(w, v);
    seen.sampled = ir_select(f, first, bounded_ratio(t, apart, seen_by), l->sampled);
    ir_ref goes = ir_select(f, v->v.sample.delta, zero, bounded_ratio(t, apart, onward_by));
    l->met = ir_select(f, v->begins, behind.met, l->met);
    l->far = ir_select(f, v->begins, behind.far, l->far);
    l->sampled = ir_select(f, v->begins, behind.sampled, ir_select(f, first, goes, l->sampled));
    return ir_select(f, v->begins, zero, light_share_of(w, reach, &seen));
}
