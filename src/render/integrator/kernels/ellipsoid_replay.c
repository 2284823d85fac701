/* SPDX-License-Identifier: BSD-3-Clause
 * The gradient of ellipsoids that emit, by path replay (Vicini, Speierer, Jakob 2021, listings 1 and 2, with
 * kernels in the place of vertices). Phase 0 of a sample adds what each kernel contributes to L. Phase 1
 * subtracts it again, so that L is what comes from behind the kernel, and
 *
 *     dalpha_i = dL (T_i c_i - L / (1 - alpha_i))        dc_i = dL T_i alpha_i
 *
 * alpha is at most 0.9999, so no factor is ever zero. Where it is bounded by that it has no derivative.
 *
 * Colours that are sRGB become linear when they have been added up. So dL of a sample is multiplied by the
 * slope of that at the end of phase 0.
 *
 * RENDER_GRADIENT has both phases in one loop; RENDER_REPLAY and RENDER_ADJOINT are kernels of one phase
 * each, with L between them in BUFFER_SAMPLES (replay.c does the same for paths). L is a two-float sum
 * (docs/theory/replay_equality.md). */
#include "render/integrator/kernels/ellipsoid_field.h"
#include "render/integrator/kernels/replay.h"
#include "spirv_gen/ad/ad.h"

typedef struct ellipsoid_replay {
    ellipsoid_ray r;
    ir_ref phase;            /* bool: phase 1 */
    color L, L_error, total; /* total: L at the end of phase 0 */
    color slope;             /* of the image's value there: ellipsoids_image_slope */
    ir_ref hash, hash_first;
    film_value sum; /* of the image */
} ellipsoid_replay;

static void state_replay(walk *w, loop_state *s, ellipsoid_replay *p)
{
    state_ellipsoids(w, s, &p->r);
    if (w->pass == RENDER_GRADIENT)
        state_ref(s, &p->phase);
    state_color(s, &w->t, &p->L), state_color(s, &w->t, &p->L_error), state_color(s, &w->t, &p->total);
    if (w->plan->scene->srgb_primitives)
        state_color(s, &w->t, &p->slope);
    else if (s->reads)
        p->slope = color_all(t_f32(&w->t, 1));
    state_ref(s, &p->hash), state_ref(s, &p->hash_first);
    state_film(w, s, &p->sum);
}

/* ---- one kernel ---- */

/* Backpropagates through alpha and colour. dL: of the sum of contributions; T: transmittance before the
 * kernel. */
static void kernel_adjoint(walk *w, const ellipsoid_replay *p, const ellipsoid_visit *v, color dL, ir_ref T)
{
    tracer *t = &w->t, reads = walk_differentiated(w);
    ir_func *f = t->f;
    ir_if(f, ir_and(f, p->phase, v->there));
    ir_ref behind = ir_div(f, t_f32(t, 1), ir_sub(f, t_f32(t, 1), v->alpha)), outputs[1 + COLOR_MOST],
           seeds[1 + COLOR_MOST];
    outputs[0] = ellipsoid_alpha(&reads, &v->hit), seeds[0] = t_f32(t, 0);
    color c = ellipsoid_color(&reads, &v->hit);
    for (uint32_t k = 0; k < t->channels; k++) {
        ir_ref rest = ir_mul(f, ir_add(f, p->L.c[k], p->L_error.c[k]), behind),
               change = ir_sub(f, ir_mul(f, T, v->c.c[k]), rest);
        seeds[0] = t_mad(t, dL.c[k], change, seeds[0]);
        outputs[1 + k] = c.c[k], seeds[1 + k] = ir_mul(f, dL.c[k], ir_mul(f, T, v->alpha));
    }
    ad_backward(f, outputs, seeds, 1 + t->channels, NULL, NULL, 0);
    ir_else(f);
    ir_endif(f);
}

/* Adds or subtracts the kernel's light, and backpropagates. Returns whether the ray goes on. */
static ir_ref visit(walk *w, ellipsoid_replay *p, film_value dL)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ellipsoid_visit v = ellipsoids_next(w, &p->r);
    ir_ref T = p->r.transmittance, share = ir_mul(f, T, v.alpha);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref light = ir_mul(f, share, v.c.c[c]);
        two_float_add(t, &p->L.c[c], &p->L_error.c[c], ir_select(f, p->phase, ir_neg(f, light), light));
    }
    if (w->pass != RENDER_REPLAY)
        kernel_adjoint(w, p, &v, color_mul(t, film_adjoint(w, &p->r.at, dL), p->slope), T);
    ir_ref alive = ellipsoids_pass(w, &v, &p->r);
    p->hash = replay_hash(t, p->hash, v.entry, alive);
    return alive;
}

/* ---- ends of rays ---- */

/* bool: after phase 1, more is left of L than rounding explains, or the ray has visited other kernels. */
static ir_ref drifted(walk *w, const ellipsoid_replay *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref any = ir_ne(f, p->hash, p->hash_first);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref left = ir_abs(f, ir_add(f, p->L.c[c], p->L_error.c[c]));
        any = ir_or(f, any, ir_gt(f, left, ir_mul(f, p->total.c[c], t_f32(t, RESIDUAL_TOLERANCE))));
    }
    return any;
}

static void empty_sums(walk *w, ellipsoid_replay *p, ir_ref fresh)
{
    tracer *t = &w->t;
    color none = color_all(t_f32(t, 0));
    p->L = color_select(t, fresh, none, p->L), p->L_error = color_select(t, fresh, none, p->L_error);
}

static void add_image(walk *w, ellipsoid_replay *p, ir_ref add)
{
    tracer *t = &w->t;
    color weighed = walk_weigh(w, p->r.at, ellipsoids_image(w, p->L)), none = color_all(t_f32(t, 0));
    p->sum = film_plain(w, color_add(t, film_light(w, p->sum), color_select(t, add, weighed, none)));
}

/* The next ray; fresh (bool): of the next sample. */
static void next_ray(walk *w, ellipsoid_replay *p, ir_ref alive, ir_ref fresh)
{
    ir_func *f = w->t.f;
    ellipsoids_restart(w, alive, &p->r);
    p->hash = ir_select(f, alive, p->hash, t_u32(&w->t, 0));
    p->r.at.sample = ir_add(f, p->r.at.sample, ir_to_u32(f, fresh));
    empty_sums(w, p, fresh);
}

/* After phase 0 comes phase 1 of the same sample, unless the sum is not finite. */
static void finish_fused(walk *w, ellipsoid_replay *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive), first_ended = ir_and(f, ended, ir_not(f, p->phase)),
           finite = color_finite(t, p->L);
    kernel_count(w, ir_and(f, ir_and(f, ended, p->phase), drifted(w, p)), STATUS_DRIFT);
    kernel_count(w, ir_and(f, first_ended, ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref replay = ir_and(f, first_ended, finite);
    add_image(w, p, replay);
    p->total = color_select(t, first_ended, p->L, p->total);
    p->slope = color_select(t, first_ended, ellipsoids_image_slope(w, p->L), p->slope);
    p->hash_first = ir_select(f, first_ended, p->hash, p->hash_first);
    next_ray(w, p, alive, ir_and(f, ended, ir_not(f, replay)));
    p->phase = ir_or(f, replay, ir_and(f, p->phase, alive));
}

/* The words of BUFFER_SAMPLES: L and its error in the place of sums without a zero factor. */
static ir_ref sample_word(walk *w, const lane *l, const ellipsoid_replay *p, uint32_t plane)
{
    return kernel_sample_word(w, l, p->r.at.sample, t_u32(&w->t, plane));
}

static void finish_replay(walk *w, const lane *l, ellipsoid_replay *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const sample_planes plane = sample_planes_of(t->channels);
    ir_ref ended = ir_not(f, alive), finite = color_finite(t, p->L);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    add_image(w, p, ir_and(f, ended, finite));
    ir_if(f, ended);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_store(f, BUFFER_SAMPLES, sample_word(w, l, p, plane.radiance + c), p->L.c[c]);
        ir_store(f, BUFFER_SAMPLES, sample_word(w, l, p, plane.but_one + c), p->L_error.c[c]);
    }
    ir_store(f, BUFFER_SAMPLES, sample_word(w, l, p, plane.hash), p->hash);
    ir_else(f);
    ir_endif(f);
    next_ray(w, p, alive, ended);
}

/* RENDER_ADJOINT: a ray that begins loads what RENDER_REPLAY stored. If that is not finite, it meets nothing.
 */
static void begin_adjoint(walk *w, const lane *l, ellipsoid_replay *p, ir_ref fresh)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const sample_planes plane = sample_planes_of(t->channels);
    ir_ref stored[2 * COLOR_MOST], branch = ir_if(f, fresh), zero = t_f32(t, 0);
    for (uint32_t k = 0; k < 2 * t->channels; k++)
        stored[k] = ir_load(f, IR_F32, BUFFER_SAMPLES, sample_word(w, l, p, plane.radiance + k));
    ir_ref hash = ir_load(f, IR_U32, BUFFER_SAMPLES, sample_word(w, l, p, plane.hash));
    ir_else(f);
    ir_endif(f);
    color L = {0}, error = {0};
    p->hash_first = ir_phi(f, branch, hash, p->hash_first);
    for (uint32_t c = 0; c < t->channels; c++) {
        L.c[c] = ir_phi(f, branch, stored[c], p->L.c[c]);
        error.c[c] = ir_phi(f, branch, stored[t->channels + c], p->L_error.c[c]);
    }
    ir_ref finite = color_finite(t, L), lost = ir_and(f, fresh, ir_not(f, finite));
    p->L = color_select(t, lost, color_all(zero), L),
    p->L_error = color_select(t, lost, color_all(zero), error);
    p->total = color_select(t, fresh, p->L, p->total);
    p->slope = color_select(t, fresh, ellipsoids_image_slope(w, p->L), p->slope);
    p->r.at.tmax = ir_select(f, lost, t_f32(t, -1), p->r.at.tmax);
}

static void finish_adjoint(walk *w, ellipsoid_replay *p, ir_ref alive)
{
    ir_func *f = w->t.f;
    ir_ref ended = ir_not(f, alive);
    kernel_count(w, ir_and(f, ended, drifted(w, p)), STATUS_DRIFT);
    next_ray(w, p, alive, ended);
}

/* ---- the kernel ---- */

static ellipsoid_replay start(walk *w, const lane *l)
{
    tracer *t = &w->t;
    color none = color_all(t_f32(t, 0));
    return (ellipsoid_replay){.r = ellipsoids_before(w, l->first),
                              .phase = ir_bool(t->f, w->pass == RENDER_ADJOINT),
                              .L = none,
                              .L_error = none,
                              .total = none,
                              .slope = none,
                              .hash = t_u32(t, 0),
                              .hash_first = t_u32(t, 0),
                              .sum = film_none(w)};
}

bl_result kernel_ellipsoids_gradient(walk *w, ir_module *m)
{
    ir_func *f = w->t.f;
    bool image = w->pass != RENDER_ADJOINT;
    BL_ASSERT(w->pass == RENDER_GRADIENT || w->pass == RENDER_REPLAY || w->pass == RENDER_ADJOINT,
              "a gradient in pass %d", (int)w->pass);
    lane l = kernel_lane(w, m);
    film_value dL = replay_sample_adjoint(w, &l);
    replay_skip_zero(w, &dL, &l);
    ellipsoid_replay p = start(w, &l);
    if (image)
        p.sum = kernel_load_sum(w, l.film, l.inside);
    loop_state state = {0}, next = {0};
    state_replay(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_replay(w, &state, &p);
    ir_while(f, ir_lt(f, p.r.at.sample, l.last));
    ir_ref fresh = walk_begins(w, &p.r.at);
    ellipsoids_start(w, &p.r);
    if (w->pass == RENDER_ADJOINT)
        begin_adjoint(w, &l, &p, fresh);
    ir_ref alive = visit(w, &p, dL);
    if (w->pass == RENDER_GRADIENT)
        finish_fused(w, &p, alive);
    else if (w->pass == RENDER_REPLAY)
        finish_replay(w, &l, &p, alive);
    else
        finish_adjoint(w, &p, alive);
    state_replay(w, &next, &p);
    state_endloop(f, loop, &state, &next);
    if (w->pass != RENDER_REPLAY)
        ir_flush(f, BUFFER_GRADIENT, l.inside);
    state_replay(w, &state, &p);
    state_end(&state);
    if (image)
        kernel_store_sum(w, l.film, l.inside, p.sum);
    ir_return(f, NULL, 0);
    return BL_OK;
}
