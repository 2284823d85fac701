/* SPDX-License-Identifier: BSD-3-Clause
 * What one vertex contributes to a path, and the derivative of that: listings 1 and 2 of PRB (section 4.1),
 * without the walks. The derivative is
 *
 *     dL . (beta E' + beta D' + L f' / f)
 *
 * Here beta is the throughput, E the emission that was found, D the light that was sampled, f the value of
 * the material's sample, L the radiance still to come behind the vertex, and dL the derivative of the loss by
 * the sample's radiance (docs/theory/detached_replay.md). Factors that are 0 are left out of products and
 * counted (docs/theory/zero_factors.md). Where paths are attached, the derivative takes the adjoint of the
 * ray that goes on, and delivers that of the ray that leads here (docs/theory/attached_replay.md). */
#include "render/integrator/path/adjoint.h"
#include "spirv_gen/ad/ad.h"

/* The values of the material toward the light and for the sample; where light is polarised, what the row sees
 * of the former. */
static void values_of(walk *w, const walk_vertex *v, const walk_position *at, const throughput *b,
                      contribution *k)
{
    color lit[4];
    if (!w->polarized) {
        walk_values_where(w, v, &k->for_light, &k->for_sample);
        return;
    }
    k->polarized = polarized_at(w, v, at, b->basis);
    polarized_lit(w, &k->polarized, lit);
    k->for_light = polarized_dot(w, b->row, lit);
}

contribution contribute(walk *w, const walk_vertex *v, const walk_position *at, const throughput *b)
{
    tracer *t = &w->t;
    contribution k = {
        .hit = color_all(t_f32(t, 0)),
        .light = color_all(t_f32(t, 0)),
        .light_radiance = color_all(t_f32(t, 0)),
        .light_scale = color_all(t_f32(t, 0)),
    };
    values_of(w, v, at, b, &k);
    if (w->plan->scene->emitters.count == 0)
        return k;
    k.hit_radiance = walk_radiance_where(w, v->hit);
    k.hit = light_met(w, b, color_scale(t, k.hit_radiance, v->hit_mis));
    if (w->next_event) {
        k.light_radiance = walk_radiance_where(w, v->light);
        k.light_scale = walk_light_scale(w, v, at, false);
        k.light = color_mul(t, color_mul(t, k.light_radiance, k.for_light), k.light_scale);
    }
    return k;
}

color light_met(walk *w, const throughput *b, color light)
{
    return w->polarized ? color_mul(&w->t, light, b->row[0]) : light;
}

passage contribution_pass(walk *w, ir_ref depth, const walk_vertex *v, const contribution *k, throughput *b)
{
    if (!w->polarized)
        return throughput_pass(w, depth, v, k->for_sample, b);
    color row[4];
    polarized_row(w, &k->polarized, b->row, row);
    passage onward = throughput_pass_polarized(w, depth, v, row, k->polarized.basis,
                                               k->polarized.of.sample.depolarizes, b);
    if (w->entries > 1)
        polarized_row(w, &k->polarized, b->asked, b->asked);
    for (int j = 0; j < 4 && w->entries > 1; j++)
        b->asked[j] = color_scale(&w->t, b->asked[j], onward.inverse_pdf);
    return onward;
}

void account_by(walk *w, replay_state *p, const throughput *b, color light, ir_ref takes)
{
    tracer *t = &w->t;
    if (w->polarized) { /* The row is in the light. */
        sums_add(t, &p->sums, throughput_where(w, b->zeros, 0, light),
                 throughput_where(w, b->zeros, 1, light), takes);
        return;
    }
    sums_add(t, &p->sums, color_mul(t, throughput_whole(w, b), light),
             color_mul(t, throughput_but_one(w, b), light), takes);
}

void account(walk *w, replay_state *p, color light, ir_ref takes) { account_by(w, p, &p->b, light, takes); }

/* ---- adjoints ---- */

/* Code that runs where a condition holds, and adds to the adjoints that arrive. */
typedef struct branch {
    ir_ref op;
    arrivals inside;
} branch;

static branch begin_branch(walk *w, ir_ref condition, const arrivals *arrived)
{
    return (branch){.op = ir_if(w->t.f, condition), .inside = *arrived};
}

static void end_branch(walk *w, const branch *b, arrivals *arrived)
{
    ir_else(w->t.f);
    ir_endif(w->t.f);
    arrivals_join(&w->t, b->op, &b->inside, arrived);
}

arrivals arrivals_start(walk *w, const replay_state *p, const walk_vertex *v)
{
    arrivals a = {0};
    a.count = w->motion->inputs(w, &p->at, v, a.at);
    BL_ASSERT(a.count <= ARRIVALS_MOST, "adjoints arrive at %u values", a.count);
    for (uint32_t k = 0; k < a.count; k++)
        a.sum[k] = t_f32(&w->t, 0);
    return a;
}

/* Backpropagates the radiance of a light, found (Le') or sampled (the light's side of Ld'), where the light
 * is there and `when` holds. The code is in a branch because lights are met rarely. */
static void adjoint_light(walk *w, walk_light light, ir_ref when, color seed, arrivals *arrived)
{
    branch b = begin_branch(w, ir_and(w->t.f, when, light.there), arrived);
    color_backward_into(&w->t, walk_radiance(w, light, true), seed, &b.inside);
    end_branch(w, &b, arrived);
}

/* Backpropagates the radiance of the light that the path's ray has met. If the ray was sampled attached, the
 * MIS weight of the light is backpropagated, too. */
static void adjoint_hit(walk *w, const walk_vertex *v, const contribution *k, ir_ref when, color seed_whole,
                        arrivals *arrived)
{
    color seed = color_scale(&w->t, seed_whole, v->hit_mis),
          whole = color_mul(&w->t, seed_whole, k->hit_radiance);
    branch b = begin_branch(w, ir_and(w->t.f, when, v->hit.there), arrived);
    color radiance = walk_radiance(w, v->hit, true);
    ir_ref outputs[COLOR_MOST + 1], seeds[COLOR_MOST + 1];
    uint32_t count = w->t.channels;
    memcpy(outputs, radiance.c, sizeof radiance.c), memcpy(seeds, seed.c, sizeof seed.c);
    if (w->wants.hit_mis) {
        seeds[count] = color_sum(&w->t, whole);
        w->motion->hit_mis(w, v, &outputs[count]);
        count++;
    }
    backward_into(&w->t, outputs, seeds, count, &b.inside);
    end_branch(w, &b, arrived);
}

/* Outputs and seeds for the material's side of Ld' and for L * value' / value: of either as many as
 * light has channels. */
static void bsdf_outputs(walk *w, const replay_state *p, const vertex_adjoint *of, color seed_whole,
                         ir_ref *outputs, ir_ref *seeds)
{
    tracer *t = &w->t;
    const contribution *k = of->k;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    color for_light, for_sample, radiance = k->onward ? *k->onward : sums_over(t, &p->sums, k->for_sample);
    walk_values(w, of->v, true, &for_light, &for_sample);
    for (uint32_t c = 0; c < t->channels; c++) {
        outputs[c] = for_light.c[c];
        seeds[c] = ir_mul(f, seed_whole.c[c], ir_mul(f, k->light_scale.c[c], k->light_radiance.c[c]));
        outputs[t->channels + c] = for_sample.c[c];
        ir_ref clean = ir_eq(f, p->b.zeros[c], t_u32(t, 0));
        seeds[t->channels + c] = ir_select(f, clean, ir_mul(f, of->dL.c[c], radiance.c[c]), zero);
    }
}

uint32_t adjoint_outputs(walk *w, const replay_state *p, const vertex_adjoint *of, ir_ref *outputs,
                         ir_ref *seeds)
{
    tracer *t = &w->t;
    const walk_vertex *v = of->v;
    const uint32_t n = t->channels;
    color whole = color_mul(t, throughput_whole(w, &p->b), of->dL), none = color_all(t_f32(t, 0));
    uint32_t count = 0;
    if (w->plan->scene->emitters.count > 0) {
        color found = color_select(t, v->hit.there, color_scale(t, whole, v->hit_mis), none);
        color radiance = walk_radiance(w, v->hit, true);
        memcpy(outputs, radiance.c, n * sizeof *outputs), memcpy(seeds, found.c, n * sizeof *seeds);
        count = n;
    }
    if (w->wants.hit_mis) {
        seeds[count] = color_sum(t, color_mul(t, whole, of->k->hit_radiance));
        seeds[count] = ir_select(t->f, v->hit.there, seeds[count], t_f32(t, 0));
        w->motion->hit_mis(w, v, &outputs[count]);
        count++;
    }
    if (count && w->next_event) {
        color sampled = color_mul(t, color_mul(t, whole, of->k->for_light), of->k->light_scale);
        sampled = color_select(t, v->light.there, sampled, none);
        color radiance = walk_radiance(w, v->light, true);
        memcpy(outputs + count, radiance.c, n * sizeof *outputs);
        memcpy(seeds + count, sampled.c, n * sizeof *seeds);
        count += n;
    }
    bsdf_outputs(w, p, of, whole, outputs + count, seeds + count);
    for (uint32_t k = count; k < count + 2 * n; k++)
        seeds[k] = ir_select(t->f, v->goes_on, seeds[k], t_f32(t, 0));
    return count + 2 * n;
}

static void adjoint_bsdf(walk *w, replay_state *p, const vertex_adjoint *of, color seed_whole,
                         arrivals *arrived)
{
    ir_ref outputs[2 * COLOR_MOST], seeds[2 * COLOR_MOST];
    if (w->polarized)
        polarized_outputs(w, p, of, outputs, seeds);
    else
        bsdf_outputs(w, p, of, seed_whole, outputs, seeds);
    branch b = begin_branch(w, ir_and(w->t.f, of->when, of->v->goes_on), arrived);
    backward_into(&w->t, outputs, seeds, 2 * w->t.channels, &b.inside);
    end_branch(w, &b, arrived);
}

/* Does what adjoint_bsdf does, where walk.motion->chains, and backpropagates the ray that goes on, too. */
static void adjoint_passage(walk *w, replay_state *p, const vertex_adjoint *of, color seed_whole,
                            arrivals *arrived)
{
    branch b = begin_branch(w, ir_and(w->t.f, of->when, of->v->goes_on), arrived);
    const uint32_t n = 2 * w->t.channels;
    ir_ref outputs[2 * COLOR_MOST + RAY_MOST], seeds[2 * COLOR_MOST + RAY_MOST];
    bsdf_outputs(w, p, of, seed_whole, outputs, seeds);
    uint32_t width = w->motion->onward(w, of->v, outputs + n);
    BL_ASSERT(width <= RAY_MOST, "%u numbers of a ray", width);
    memcpy(seeds + n, p->chain.ray, sizeof p->chain.ray);
    backward_into(&w->t, outputs, seeds, n + width, &b.inside);
    end_branch(w, &b, arrived);
}

void adjoint_flight(walk *w, const replay_state *p, const walk_vertex *v, color dL, arrivals *arrived)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color to_come = color_mul(t, dL, sums_L(t, &p->sums)), missing = color_mul(t, dL, sums_M(t, &p->sums));
    for (uint32_t c = 0; c < t->channels; c++)
        missing.c[c] = ir_select(f, ir_eq(f, p->b.zeros[c], t_u32(t, 0)), missing.c[c], t_f32(t, 0));
    flight_adjoint(w, &v->flight, p->phase, to_come, missing, arrived);
}

/* The derivative of the loss by the intensity that the path meets. */
static color seed_of(walk *w, const replay_state *p, color dL)
{
    return w->entries > 1 ? p->b.asked[0] : color_mul(&w->t, throughput_whole(w, &p->b), dL);
}

/* The derivative of the loss by what the material sends on of the sampled light, over its radiance. */
static color lit_seed(walk *w, const replay_state *p, const vertex_adjoint *of, color seed_whole)
{
    tracer *t = &w->t;
    color lit[4];
    if (w->entries > 1) {
        polarized_lit(w, &of->k->polarized, lit);
        return polarized_dot(w, p->b.asked, lit);
    }
    return w->polarized ? color_mul(t, throughput_where(w, p->b.zeros, 0, of->k->for_light), of->dL)
                        : color_mul(t, seed_whole, of->k->for_light);
}

/* Backpropagates the transmittance between the vertex and the light that it has sampled. */
static void adjoint_shadow(walk *w, const replay_state *p, const vertex_adjoint *of, color seed_whole,
                           arrivals *arrived)
{
    tracer *t = &w->t;
    const walk_vertex *v = of->v;
    const contribution *k = of->k;
    BL_ASSERT(ir_made(w->t.f, v->shadow.stages), "what was crossed toward the light is not known");
    color seed = w->polarized ? lit_seed(w, p, of, seed_whole) : seed_whole,
          light = w->polarized ? k->light_radiance : color_mul(t, k->light_radiance, k->for_light),
          unshadowed = color_scale(t, light, v->light_weight);
    shadow_adjoint(w, v, &p->at, ir_and(t->f, of->when, v->light.there), color_mul(t, seed, unshadowed),
                   arrived);
}

void adjoint(walk *w, replay_state *p, const vertex_adjoint *of, arrivals *arrived)
{
    tracer *t = &w->t;
    const walk_vertex *v = of->v;
    const contribution *k = of->k;
    BL_ASSERT(!w->motion->chains || ir_made(w->t.f, p->chain.ray[0]),
              "a chain without the adjoint of its ray");
    color seed_whole = seed_of(w, p, of->dL);
    bool lights = w->plan->scene->emitters.count > 0;
    if (lights)
        adjoint_hit(w, v, k, of->when, seed_whole, arrived);
    if (lights && w->next_event)
        adjoint_light(w, v->light, of->when, color_mul(t, lit_seed(w, p, of, seed_whole), k->light_scale),
                      arrived);
    if (lights && w->next_event && w->volumetric && shadow_is_wanted(w))
        adjoint_shadow(w, p, of, seed_whole, arrived);
    if (lights && w->next_event && field_any(w))
        field_shadow_replay(w, v, of->when, color_mul(t, seed_whole, k->light));
    (w->motion->chains ? adjoint_passage : adjoint_bsdf)(w, p, of, seed_whole, arrived);
    w->motion->adjoint(w, &p->at, v, of->when, arrived, p->chain.ray);
}
