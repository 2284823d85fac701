/* SPDX-License-Identifier: BSD-3-Clause
 * Light tracing: the image, and its gradient by path replay (docs/theory/light_tracing.md). A lane has light
 * paths where other kernels have samples of a pixel; the pixels that they contribute to are found on the way.
 *
 * The loss changes by dL = sum over splats of A dS, where A is dL/dI read at the splat through the filter. A
 * path's splats S_k are products along the path. So with L = sum of A_k S_k, per channel, path replay works
 * as it does for radiance still to come (Vicini et al. 2021, listings 1 and 2), with the light's radiance as
 * the first factor. Phase 0 adds A_k S_k to L, phase 1 subtracts them again. The derivative with respect to
 * the value of vertex j is (L after j) / value, and with respect to the light's radiance it is L / radiance.
 * M is the sum of contributions without their only zero factor (docs/theory/zero_factors.md).
 *
 * Invariant: both phases use the same random numbers and leave out the same splats that are not finite. */
#include "render/integrator/kernels/kernels.h"
#include "render/integrator/path/technique_weights.h"
#include "render/integrator/walk/radiance_sums.h"
#include "spirv_gen/ad/ad.h"

typedef struct light_state {
    light_position at;
    throughput b;
    technique_light light; /* where walk.multiplexed */
    /* in the gradient kernel: */
    ir_ref phase; /* bool: subtracting and backpropagating */
    replay_sums sums;
    ir_ref hash, hash_first;
} light_state;

static void state_light(const walk *w, loop_state *s, light_state *p, bool gradient)
{
    state_ref(s, &p->at.sample), state_light_place(w, s, &p->at);
    state_throughput(w, s, &p->b);
    if (w->multiplexed)
        state_technique(s, &p->light);
    if (!gradient)
        return;
    state_ref(s, &p->phase), state_ref(s, &p->hash), state_ref(s, &p->hash_first);
    state_sums(s, &w->t, &p->sums);
}

/* ---- the image ---- */

static ir_ref image_vertex(walk *w, light_state *p)
{
    tracer *t = &w->t;
    walk_set_wavelengths(w, p->at.sample);
    light_vertex v = light_visit(w, &p->at, (ir_ref){0});
    light_emit(w, &v, &p->b);
    throughput_fly(w, &v.v, &p->b);
    color contribution = color_mul(t, throughput_whole(w, &p->b), light_splat_factor(w, &v));
    if (w->multiplexed)
        contribution = color_scale(t, contribution, technique_weigh_splat(w, &p->at, &v, &p->light));
    ir_ref finite = color_finite(t, contribution);
    kernel_count(w, ir_and(t->f, v.splat.there, ir_not(t->f, finite)), STATUS_NON_FINITE);
    v.splat.there = ir_and(t->f, v.splat.there, finite);
    splat_add(w, &v.splat, contribution, NULL);
    return light_pass(w, &v, &p->at, &p->b).alive;
}

/* ---- the gradient ---- */

/* Of the light's radiance, at the beginning of the path. */
static void adjoint_light(walk *w, const light_state *p, const light_vertex *v)
{
    color seed = sums_over(&w->t, &p->sums, v->radiance);
    ir_if(w->t.f, ir_and(w->t.f, p->phase, v->begins));
    color_backward(&w->t, walk_radiance(w, v->emission, true), seed);
    ir_else(w->t.f);
    ir_endif(w->t.f);
}

/* Of the material's two values. seed: adjoint of the splat's factor `scale * for_sensor`. */
static void adjoint_surface(walk *w, const light_state *p, const light_vertex *v, color seed)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color for_sensor, for_sample;
    const uint32_t n = t->channels;
    ir_ref outputs[2 * COLOR_MOST], seeds[2 * COLOR_MOST];
    color onward = throughput_where(w, p->b.zeros, 0, sums_over(t, &p->sums, v->for_sample));
    light_values(w, v, true, &for_sensor, &for_sample);
    for (uint32_t c = 0; c < t->channels; c++) {
        outputs[c] = for_sensor.c[c], outputs[n + c] = for_sample.c[c];
        seeds[c] = ir_select(f, v->splat.there, ir_mul(f, seed.c[c], v->scale), t_f32(t, 0)),
        seeds[n + c] = onward.c[c];
    }
    ir_if(f, ir_and(f, p->phase, ir_and(f, v->v.si.valid, ir_not(f, v->begins))));
    ad_backward(f, outputs, seeds, 2 * n, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
}

/* Of what media let through: on the flight to the vertex, which all splats from here on have as a factor, and
 * on the way to the sensor. */
static void adjoint_flight_of_light(walk *w, const light_state *p, const light_vertex *v)
{
    tracer *t = &w->t;
    arrivals none = {0};
    color missing = throughput_where(w, p->b.zeros, 0, sums_M(t, &p->sums));
    flight_adjoint(w, &v->v.flight, p->phase, sums_L(t, &p->sums), missing, &none);
}

/* seed: adjoint of the splat, times the throughput. */
static void adjoint_way_to_sensor(walk *w, const light_state *p, const light_vertex *v, color seed)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    arrivals none = {0};
    if (!shadow_is_wanted(w) || light_receives(w))
        return;
    color unshadowed =
        color_scale(t, color_select(t, v->begins, color_all(t_f32(t, 1)), v->for_sensor), v->scale);
    shadow_adjoint(w, &v->crosses, &v->from, ir_and(f, p->phase, v->splat.there),
                   color_mul(t, seed, unshadowed), &none);
}

static ir_ref gradient_vertex(walk *w, light_state *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_set_wavelengths(w, p->at.sample);
    light_vertex v = light_visit(w, &p->at, (ir_ref){0});
    adjoint_light(w, p, &v);
    light_emit(w, &v, &p->b);
    if (w->media)
        adjoint_flight_of_light(w, p, &v);
    throughput_fly(w, &v.v, &p->b);
    color factor = light_splat_factor(w, &v), whole = throughput_whole(w, &p->b);
    ir_ref finite = color_finite(t, color_mul(t, whole, factor)); /* the image leaves out the others */
    v.splat.there = ir_and(f, v.splat.there, finite);
    color adjoint = splat_read(w, &v.splat, false).contribution, seen = color_mul(t, adjoint, factor);
    for (uint32_t c = 0; c < t->channels; c++)
        seen.c[c] = ir_select(f, v.splat.there, seen.c[c], t_f32(t, 0));
    sums_add(t, &p->sums, color_mul(t, whole, seen), color_mul(t, throughput_but_one(w, &p->b), seen),
             p->phase);
    color sent = color_mul(t, whole, adjoint);
    if (w->media)
        adjoint_way_to_sensor(w, p, &v, sent);
    adjoint_surface(w, p, &v, w->media && !light_receives(w) ? color_mul(t, sent, v.passed) : sent);
    ir_ref alive = light_pass(w, &v, &p->at, &p->b).alive;
    p->hash = replay_hash(t, p->hash, v.v.decisions, alive);
    return alive;
}

/* Where a path has ended: after phase 0 comes phase 1 of the same path, after phase 1 phase 0 of the next
 * path. A path whose sum is not finite has no phase 1. */
static void finish_gradient(walk *w, light_state *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), finite = color_finite(t, p->sums.L);
    ir_ref replayed = ir_and(f, ended, p->phase), phase_0_ended = ir_and(f, ended, ir_not(f, p->phase));
    kernel_count(w,
                 ir_and(f, replayed, ir_or(f, ir_ne(f, p->hash, p->hash_first), sums_residual(t, &p->sums))),
                 STATUS_DRIFT);
    kernel_count(w, ir_and(f, phase_0_ended, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref replay = ir_and(f, phase_0_ended, finite), fresh = ir_and(f, ended, ir_not(f, replay));
    sums_note_size(t, &p->sums, phase_0_ended);
    sums_restart(t, &p->sums, fresh);
    p->hash_first = ir_select(f, phase_0_ended, p->hash, p->hash_first);
    p->hash = ir_select(f, alive, p->hash, t_u32(t, 0));
    p->phase = ir_or(f, replay, ir_and(f, p->phase, alive));
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, fresh));
}

/* ---- the kernels ---- */

bl_result kernel_light(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    bool gradient = w->pass == RENDER_GRADIENT;
    BL_ASSERT(gradient || w->pass == RENDER_PRIMAL, "light tracing in pass %d", (int)w->pass);
    BL_ASSERT(w->volumetric == w->media, "light paths through surfaces, without media, in pass %d",
              (int)w->pass);
    lane l = kernel_lane(w, m);
    light_state p = {
        .at = light_before(w, l.first),
        .b = throughput_start(w),
        .light = technique_light_start(w),
        .phase = ir_bool(f, false),
        .sums = sums_start(t),
        .hash = t_u32(t, 0),
        .hash_first = t_u32(t, 0),
    };
    loop_state state = {0}, next = {0};
    state_light(w, &state, &p, gradient);
    ir_ref loop = state_loop(f, &state);
    state_light(w, &state, &p, gradient);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    ir_ref alive = gradient ? gradient_vertex(w, &p) : image_vertex(w, &p);
    throughput_restart(w, alive, &p.b);
    if (gradient)
        finish_gradient(w, &p, alive);
    else
        p.at.sample = ir_add(f, p.at.sample, ir_to_u32(f, ir_not(f, alive)));
    state_light(w, &next, &p, gradient);
    state_endloop(f, loop, &state, &next);
    if (w->multiplexed)
        sensor_paths_add(w, &l);
    if (gradient)
        ir_flush(f, BUFFER_GRADIENT, l.inside);
    ir_return(f, NULL, 0);
    return BL_OK;
}
