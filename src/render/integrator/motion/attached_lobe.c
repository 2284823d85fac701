/* SPDX-License-Identifier: BSD-3-Clause
 * Rough lobes whose sampling is attached to parameters (PRB section 4.2; Zeltner et al. 2021). The sampled
 * direction is a function of parameters and of the ray that arrives. The random numbers are held. So the path
 * behind the vertex moves, too (attached_path.c), and the density by which the value is divided is
 * differentiated. The reason is variance: if directions are held and the normal turns, a lobe of roughness
 * alpha changes by 1 / alpha of itself. If the directions turn with the normal, it changes next to nothing.
 *
 * Discrete choices keep their probabilities: the density is that of the direction given the choices. Weights
 * against light sampling are functions of place, direction and parameters. They add up to 1 for all of these
 * only together, so both weights are differentiated: the weight of what an attached ray has met, and the
 * weight of the light that is sampled at an attached vertex. Tables of light sampling would make the weights
 * jump from cell to cell, and attached samples cross cells. So the weights use a density without the tables'
 * steps (walk.smooth); any positive density is right.
 *
 * A mixture (`mixes`) samples one of its parts, some of which may be detached: rough metal blended with
 * paper. A direction may come from any part. Each part stands for a share of the value, and the shares add up
 * to 1 for all parameters. So the shares of all parts are differentiated, also of parts whose directions are
 * held. In the shares only densities are differentiated. The probability with which a part is chosen is held
 * as far as parameters move it: shares add up to 1 for any probabilities, and the derivatives of these would
 * give noise to every parameter on which a probability depends, such as the weight of a coat.
 *
 * Lobes whose roughness is at most render_scene.attach_below are attached, but at most look_ahead of them in
 * a chain, since long chains are visited more often (kernels/attached_replay.c). All other lobes are
 * detached, and cut the chain (docs/theory/attached_replay.md, Rough lobes). */
#include "render/integrator/motion/attached_vertex.h"
#include "render/integrator/motion/shifted.h"

bool attached_wanted(const walk *w)
{
    const render_scene *s = w->plan->scene;
    return s->attaches && s->use_bsdf_sampling && !s->light_tracing && w->pass != RENDER_PRIMAL &&
           w->pass != RENDER_VARIANCE;
}

void attached_sampled(walk *w, walk_vertex *v, ir_ref roughness, ir_ref u1, ir_ref u2)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!w->attaches)
        return;
    v->attached.u1 = u1, v->attached.u2 = u2;
    if (ir_is_none(roughness)) { /* The scene has no material. */
        v->attached.weighs = v->attached.sampled = v->attached.density_only = ir_bool(f, false);
        return;
    }
    const render_scene *s = w->plan->scene;
    ir_ref near = s->inverts ? ir_bool(f, true) : ir_lt(f, v->attached.count, t_u32(t, s->look_ahead)),
           sampled = ir_gt(f, v->sample.pdf, t_f32(t, 0));
    v->attached.weighs = ir_and(f, bsdf_smooth_enough(t, roughness), near);
    v->attached.sampled = ir_and(f, v->attached.weighs, ir_and(f, sampled, ir_not(f, v->sample.delta)));
    v->attached.density_only = w->some_lobes_detached
                                   ? ir_and(f, v->attached.sampled, bsdf_detached(t, v->sample.lobe))
                                   : ir_bool(f, false);
}

ir_ref attached_next_count(walk *w, const walk_vertex *v)
{
    ir_func *f = w->t.f;
    ir_ref count = ir_add(f, v->attached.count, ir_to_u32(f, v->attached.sampled));
    return ir_select(f, link_is(w, v->attached.onward, LINK_FIXED), t_u32(&w->t, 0), count);
}

/* The MIS weight, by the power heuristic, of what was sampled with density a, against density b. */
static ir_ref weight(tracer *t, ir_ref a, ir_ref b)
{
    return ir_div(t->f, t_f32(t, 1), ir_add(t->f, t_f32(t, 1), t_sqr(t, t_ratio(t, b, a))));
}

/* The smooth density of the light that the ray of x has met. from: where light sampling began, in volumetric
 * walks. */
static ir_ref density_met(walk *w, const walk_vertex *v, const ray_vertex *x, vec3 from)
{
    tracer *t = &w->t;
    ir_ref there = v->attached.arrival.hit.valid;
    vec3 ref = w->volumetric ? from : x->o;
    vec3 along = v3_select(t, there, v3_sub(t, x->si.p, ref), x->d), n = v3_select(t, there, x->si.ng, x->d);
    emitter_hit hit = {.ref = ref, .d = x->d, .normal = n};
    hit.uv = light_emission_uv(w, there, x->si.uv, x->d);
    hit.distance = v3_length(t, along);
    return light_smooth_density(w, &v->hit, hit);
}

/* The smooth density of a sampled light, as seen from its reference point. n: the normal on the light. */
static ir_ref density_sampled(walk *w, const walk_light *light, vec3 n)
{
    emitter_hit hit = {light->ref, light->d, .distance = light->distance, .normal = n, .uv = light->uv};
    return light_smooth_density(w, light, hit);
}

bool attached_hit_mis(walk *w, const walk_vertex *v, ir_ref *mis)
{
    tracer *t = &w->t;
    if (!w->wants.hit_mis)
        return false;
    BL_ASSERT(ir_made(w->t.f, v->attached.hit_pdf), "the density of the light that was met is not known");
    two_vertices x = attached_look(w, &v->attached.arrival);
    ir_ref moves = ir_and(t->f, v->hit.there, ir_eq(t->f, v->attached.arrival.link, t_u32(t, LINK_ATTACHED)));
    const walk_arrival *way = &v->attached.arrival;
    ir_ref changed = shifted_ratio(w, moves, density_met(w, v, &x.now, way->now.from),
                                   density_met(w, v, &x.before, way->from));
    ir_ref hit_pdf = ir_detach(t->f, v->attached.hit_pdf);
    ir_ref now = weight(t, v->attached.arrival.now.pdf, ir_mul(t->f, hit_pdf, changed)),
           before = weight(t, v->attached.arrival.pdf, hit_pdf);
    *mis = walk_shifted(w, moves, ir_detach(t->f, v->hit_mis), now, before);
    return true;
}

ir_ref attached_light_factor(walk *w, const walk_vertex *v, const walk_light *light, ir_ref pdf_now,
                             ir_ref pdf_before)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_light *was = &v->light;
    BL_ASSERT(was->sampled && ir_made(w->t.f, v->attached.light_pdf), "no light was sampled");
    ir_ref weighed =
        ir_and(f, ir_and(f, v->attached.weighs, was->there), ir_not(f, light_is_delta(w, was->cls)));
    vec3 n = v3_detach(t, was->n);
    ir_ref before = density_sampled(w, was, n), now = density_sampled(w, light, n);
    ir_ref changed = shifted_ratio(w, weighed, now, before);
    ir_ref pdf = ir_detach(f, v->attached.light_pdf);
    return shifted_ratio(w, weighed, weight(t, ir_mul(f, pdf, changed), pdf_now), weight(t, pdf, pdf_before));
}
