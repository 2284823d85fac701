/* SPDX-License-Identifier: BSD-3-Clause
 * Paths from the sensor beside those from lights: the other half of the image of `bidirectional`
 * (docs/theory/light_tracing.md, Both ways). A lane has traced its paths from lights (light_tracing.c); now
 * it traces as many through its own pixel, and adds what they find to the image of splats. Both kinds share
 * what both can find (path/technique_weights.h).
 *
 * Invariant: no random number of a lane's paths from lights is one of its paths from the sensor. */
#include "render/integrator/kernels/kernels.h"

enum { SEED_OF_SENSOR = 0x5E50 }; /* sets these paths apart from those from lights */

static void state_sensor(walk *w, loop_state *s, radiance_walk *p)
{
    state_position(w, s, &p->at);
    state_color(s, &w->t, &p->beta), state_color(s, &w->t, &p->radiance);
    state_ref(s, &p->eta), state_ref(s, &p->reach);
}

/* Where a path has ended: what it has found joins its pixel, as a splat of its own, so the sum does not
 * depend on how a lane's samples are sliced. The next sample begins. */
static void finish(walk *w, radiance_walk *p, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref ended = ir_not(f, alive);
    film_value found = film_of(w, &p->at, p->radiance);
    ir_ref finite = film_finite(w, &found);
    kernel_count(w, ir_and(f, ended, ir_not(f, finite)), STATUS_NON_FINITE);
    splat_add_to_pixel(w, ir_and(f, ended, finite), &found);
    p->radiance = color_select(t, alive, p->radiance, color_all(t_f32(t, 0)));
    p->beta = color_select(t, alive, p->beta, color_all(t_f32(t, 1)));
    p->eta = ir_select(f, alive, p->eta, t_f32(t, 1));
    p->reach = ir_select(f, alive, p->reach, t_f32(t, 0));
    p->at = walk_restart(w, alive, p->at);
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, ended));
}

void sensor_paths_add(walk *w, const lane *l)
{
    ir_func *f = w->t.f;
    BL_ASSERT(w->multiplexed && !w->polarized, "paths from the sensor beside others");
    w->seed = ir_xor(f, w->seed, t_u32(&w->t, SEED_OF_SENSOR));
    walk_position at = walk_before(w, l->first);
    radiance_walk p = radiance_start(w, &at);
    loop_state state = {0}, next = {0};
    state_sensor(w, &state, &p);
    ir_ref loop = state_loop(f, &state);
    state_sensor(w, &state, &p);
    ir_while(f, ir_lt(f, p.at.sample, l->last));
    p.at = walk_start(w, walk_begins(w, &p.at), p.at);
    ir_ref alive;
    radiance_vertex(w, &p, &alive);
    finish(w, &p, alive);
    state_sensor(w, &next, &p);
    state_endloop(f, loop, &state, &next);
}
