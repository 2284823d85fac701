/* SPDX-License-Identifier: BSD-3-Clause
 * Throughput of a walk whose gradient is wanted, and Russian roulette.
 *
 * Path replay divides by factors, and the derivative with respect to a factor that is exactly 0 is what the
 * path contributes without it. So beta leaves zero factors out and counts them (docs/theory/zero_factors.md):
 * `whole` is the throughput, `but_one` is the throughput without its only zero factor. Roulette uses beta, so
 * a path with one zero survives as if that factor were 1.
 *
 * All of this is detached: beta is a product of detached values, and both roulette's decision and its
 * probability are constants of the derivative (docs/theory/detached_replay.md). Kernels that differentiate
 * the weight of a whole path carry a product of their own beside beta (kernels/forward.c,
 * frozen_unrolled.c).
 *
 * Of polarised light a factor is what a segment does to the intensity: the product of the matrices up to a
 * vertex that depolarises (docs/theory/polarized_replay.md). So zeros are counted where segments end. Within
 * a segment the row may be 0 or nearly so and the light behind still matters, so roulette takes beta where it
 * is exactly 0. */
#include "render/integrator/walk/kernel.h"

void state_throughput(const walk *w, loop_state *s, throughput *b)
{
    state_ref(s, &b->eta);
    state_color(s, &w->t, &b->beta);
    state_refs(s, b->zeros, w->t.channels);
    for (int k = 0; k < 4 && w->polarized; k++)
        state_color(s, &w->t, &b->row[k]);
    if (w->polarized)
        state_vec3(s, &b->basis);
    for (int k = 0; k < 4 && w->entries > 1; k++)
        state_color(s, &w->t, &b->asked[k]);
}

throughput throughput_start(walk *w)
{
    ir_ref zero = t_u32(&w->t, 0), one = t_f32(&w->t, 1);
    throughput b = {.beta = color_all(one), .eta = one};
    for (uint32_t c = 0; c < w->t.channels; c++)
        b.zeros[c] = zero;
    for (int k = 0; k < 4 && w->polarized; k++)
        b.row[k] = color_all(t_f32(&w->t, k == 0));
    if (w->polarized)
        b.basis = v3(one, t_f32(&w->t, 0), t_f32(&w->t, 0));
    for (int k = 0; k < 4 && w->entries > 1; k++)
        b.asked[k] = color_all(t_f32(&w->t, 0));
    return b;
}

void throughput_restart(walk *w, ir_ref alive, throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    throughput start = throughput_start(w);
    for (uint32_t c = 0; c < t->channels; c++) {
        b->beta.c[c] = ir_select(f, alive, b->beta.c[c], start.beta.c[c]);
        b->zeros[c] = ir_select(f, alive, b->zeros[c], start.zeros[c]);
    }
    b->eta = ir_select(f, alive, b->eta, start.eta);
    for (int k = 0; k < 4 && w->polarized; k++)
        b->row[k] = color_select(t, alive, b->row[k], start.row[k]);
}

throughput throughput_select(walk *w, ir_ref condition, const throughput *a, const throughput *b)
{
    throughput r = *a, other = *b;
    loop_state state = {0}, others = {0};
    state_throughput(w, &state, &r), state_throughput(w, &others, &other);
    state_select(w->t.f, condition, &state, &others);
    state_throughput(w, &state, &r);
    state_end(&state);
    return r;
}

color throughput_where(walk *w, const ir_ref zeros[COLOR_MOST], uint32_t count, color of)
{
    tracer *t = &w->t;
    COLOR_EACH(r, ir_select(t->f, ir_eq(t->f, zeros[c], t_u32(t, count)), of.c[c], t_f32(t, 0)));
    return r;
}
static color intensity(const walk *w, const throughput *b) { return w->polarized ? b->row[0] : b->beta; }
color throughput_whole(walk *w, const throughput *b)
{
    return throughput_where(w, b->zeros, 0, intensity(w, b));
}
color throughput_but_one(walk *w, const throughput *b)
{
    return throughput_where(w, b->zeros, 1, intensity(w, b));
}

void throughput_fly(walk *w, const walk_vertex *v, throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(!w->media || ir_made(w->t.f, v->flight.weight.c[0]), "no flight before a vertex of pass %d",
              (int)w->pass);
    for (uint32_t c = 0; w->media && c < t->channels; c++) {
        b->beta.c[c] = ir_mul(f, b->beta.c[c], v->flight.weight.c[c]);
        b->zeros[c] = ir_min(f, t_u32(&w->t, 2), ir_add(f, b->zeros[c], v->flight.zeros[c]));
    }
    for (int k = 0; k < 4 && w->media && w->polarized; k++)
        b->row[k] = color_mul(t, b->row[k], v->flight.weight);
    for (int k = 0; k < 4 && w->media && w->entries > 1; k++)
        b->asked[k] = color_mul(t, b->asked[k], throughput_flown(w, v));
}

color throughput_flown(walk *w, const walk_vertex *v)
{
    return throughput_where(w, v->flight.zeros, 0, v->flight.weight);
}

ir_ref walk_may_go_on(walk *w, const walk_vertex *v)
{
    ir_func *f = w->t.f;
    return ir_is_none(v->ends) ? v->goes_on : ir_and(f, v->goes_on, ir_not(f, v->ends));
}

ir_ref walk_survival(walk *w, const walk_vertex *v, ir_ref depth, ir_ref throughput_max, ir_ref eta)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref q = ir_min(f, ir_mul(f, throughput_max, t_sqr(t, eta)), t_f32(t, 0.95f));
    ir_ref from = t_u32(t, (uint32_t)w->plan->scene->rr_depth + (w->plan->scene->volumetric ? 1 : 0)),
           deep = ir_ge(f, depth, from);
    if (w->volumetric)
        deep = ir_and(f, deep, ir_not(f, v->through));
    return ir_select(f, deep, q, t_f32(t, 1));
}

/* Roulette, once b has the vertex's value. living: the throughput that still matters; inverse: 1 / pdf. */
static passage survive(walk *w, ir_ref depth, const walk_vertex *v, color living, ir_ref inverse,
                       throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    b->eta = ir_mul(f, b->eta, v->sample.eta);
    ir_ref most = color_max(t, living);
    ir_ref q = walk_survival(w, v, ir_add(f, depth, t_u32(t, 1)), most, b->eta);
    ir_ref survives = ir_lt(f, v->u_roulette, q);
    ir_ref up = t_ratio(t, one, q);
    b->beta = color_scale(t, b->beta, up);
    for (int k = 0; k < 4 && w->polarized; k++)
        b->row[k] = color_scale(t, b->row[k], up);
    return (passage){
        .alive = ir_and(f, ir_and(f, walk_may_go_on(w, v), survives),
                        ir_and(f, ir_gt(f, v->sample.pdf, zero), ir_gt(f, most, zero))),
        .inverse_pdf = ir_mul(f, inverse, up),
    };
}

passage throughput_pass(walk *w, ir_ref depth, const walk_vertex *v, color value, throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(ir_made(w->t.f, v->sample.pdf), "a vertex without a sample in pass %d", (int)w->pass);
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), two = t_u32(t, 2);
    ir_ref inverse = t_ratio(t, one, v->sample.pdf);
    color living;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref is_zero = ir_eq(f, value.c[c], zero);
        b->beta.c[c] = ir_mul(f, b->beta.c[c], ir_mul(f, ir_select(f, is_zero, one, value.c[c]), inverse));
        b->zeros[c] = ir_min(f, two, ir_add(f, b->zeros[c], ir_to_u32(f, is_zero)));
        living.c[c] = ir_select(f, ir_lt(f, b->zeros[c], two), b->beta.c[c], zero);
    }
    return survive(w, depth, v, living, inverse, b);
}

passage throughput_pass_polarized(walk *w, ir_ref depth, const walk_vertex *v, const color row[4], vec3 basis,
                                  ir_ref depolarizes, throughput *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), two = t_u32(t, 2), inverse = t_ratio(t, t_f32(t, 1), v->sample.pdf);
    color living;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref dark = ir_eq(f, row[0].c[c], zero), left_out = ir_and(f, depolarizes, dark);
        ir_ref before = ir_mul(f, b->beta.c[c], inverse), here = ir_mul(f, row[0].c[c], inverse);
        b->row[0].c[c] = ir_select(f, left_out, before, here);
        for (int k = 1; k < 4; k++)
            b->row[k].c[c] = ir_mul(f, row[k].c[c], inverse);
        b->zeros[c] = ir_min(f, two, ir_add(f, b->zeros[c], ir_to_u32(f, left_out)));
        b->beta.c[c] = ir_select(f, depolarizes, b->row[0].c[c], before);
        ir_ref seen = ir_abs(f, ir_select(f, dark, before, here));
        living.c[c] = ir_select(f, ir_lt(f, b->zeros[c], two), seen, zero);
    }
    b->basis = basis;
    return survive(w, depth, v, living, inverse, b);
}
