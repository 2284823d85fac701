/* SPDX-License-Identifier: BSD-3-Clause
 * Paths from lights as states of Metropolis chains (docs/theory/metropolis.md, Techniques).
 *
 * Such a path is connected to the sensor at every vertex, so it has several splats, in different pixels. A
 * chain has one place for a state. So one splat stands for all of them: it is chosen in proportion to its
 * luminance, and scaled to the luminance of them all (a reservoir of one; Chao 1982), and of the pixels that
 * its filter reaches it takes one in proportion to its share. The choice draws numbers that are new in each
 * step, and what a chain takes the path for, the sum of all luminances, does not depend on it. So a chain may
 * keep the choice while it stays. */
#include "render/integrator/kernels/metropolis.h"
#include "render/integrator/path/technique_weights.h"

enum { STREAM_OF_CHOICES = 4 }; /* walk/primary_samples.c has the streams before it */

typedef struct light_trial {
    light_position at;
    throughput b;
    technique_light light;
    light_splat chosen;
    color splat;  /* the contribution of the chosen one */
    ir_ref sum;   /* f32: of the values of all */
    ir_ref value; /* f32: of the chosen one */
    ir_ref alive, vertices;
} light_trial;

static void state_trial(walk *w, loop_state *s, light_trial *p)
{
    state_light_place(w, s, &p->at), state_throughput(w, s, &p->b), state_technique(s, &p->light);
    state_ref(s, &p->chosen.there), state_vec2(s, &p->chosen.at), state_color(s, &w->t, &p->splat);
    state_ref(s, &p->sum), state_ref(s, &p->value), state_ref(s, &p->alive), state_ref(s, &p->vertices);
}

static random4 choice(walk *w, ir_ref block)
{
    return random_block(&w->t, w->chain.particle, w->chain.step, w->seed, t_u32(&w->t, STREAM_OF_CHOICES),
                        block);
}

/* The splat of a vertex joins those before it. */
static void join(walk *w, light_trial *p, const light_splat *s, color contribution)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const film_value added = film_unweighed(w, contribution);
    ir_ref value = ir_select(f, s->there, film_luminance(w, &added), t_f32(t, 0));
    p->sum = ir_add(f, p->sum, value);
    ir_ref u = choice(w, p->vertices).u[0], taken = ir_lt(f, ir_mul(f, u, p->sum), value);
    p->chosen.there = ir_or(f, p->chosen.there, taken);
    p->chosen.at.x = ir_select(f, taken, s->at.x, p->chosen.at.x);
    p->chosen.at.y = ir_select(f, taken, s->at.y, p->chosen.at.y);
    p->splat = color_select(t, taken, contribution, p->splat);
    p->value = ir_select(f, taken, value, p->value);
}

static void vertex(walk *w, light_trial *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const uint32_t from = w->skips_direct ? DIRECT_SEGMENTS : 1; /* a light's own light is the sensor's */
    light_vertex v = light_visit(w, &p->at, ir_ge(f, p->at.depth, t_u32(t, from)));
    light_emit(w, &v, &p->b);
    ir_ref share = technique_weigh_splat(w, &p->at, &v, &p->light);
    color found = color_mul(t, throughput_whole(w, &p->b), color_scale(t, light_splat_factor(w, &v), share));
    ir_ref finite = color_finite(t, found);
    kernel_count(w, ir_and(f, v.splat.there, ir_not(f, finite)), STATUS_NON_FINITE);
    v.splat.there = ir_and(f, v.splat.there, finite);
    join(w, p, &v.splat, found);
    p->alive = light_pass(w, &v, &p->at, &p->b).alive;
    p->vertices = ir_add(f, p->vertices, t_u32(t, 1));
}

static light_trial walk_light_path(walk *w, ir_ref any)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0);
    light_trial p = {.at = light_before(w, w->chain.step),
                     .b = throughput_start(w),
                     .light = technique_light_start(w),
                     .chosen = {ir_bool(t->f, false), {zero, zero}},
                     .splat = color_all(zero),
                     .sum = zero,
                     .value = zero,
                     .alive = any,
                     .vertices = t_u32(t, 0)};
    walk_set_wavelengths(w, p.at.sample);
    loop_state state = {0}, next = {0};
    state_trial(w, &state, &p);
    ir_ref loop = state_loop(t->f, &state);
    state_trial(w, &state, &p);
    ir_while(t->f, p.alive);
    vertex(w, &p);
    state_trial(w, &next, &p);
    state_endloop(t->f, loop, &state, &next);
    state_trial(w, &state, &p);
    state_end(&state);
    return p;
}

chain_path path_from_light(walk *w, ir_ref any)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    light_trial p = walk_light_path(w, any);
    ir_ref weight, r = t_ratio(t, p.sum, p.value);
    random4 u = choice(w, t_u32(t, 0xFFFFFF));
    ir_ref pixel = splat_choose(w, &p.chosen, (vec2){u.u[0], u.u[1]}, &weight);
    chain_path path = {
        .found = film_unweighed(w, p.splat), .pixel = pixel, .value = p.sum, .vertices = p.vertices};
    ir_ref by = ir_mul(f, weight, r);
    for (uint32_t c = 0; c < w->film_channels; c++)
        path.found.c[c] = ir_select(f, p.chosen.there, ir_mul(f, path.found.c[c], by), t_f32(t, 0));
    return path;
}
