/* SPDX-License-Identifier: BSD-3-Clause
 * The image: path tracing with path regeneration, and in a variance pass the sums of squares of its samples.
 * There is one loop over the vertices of all samples of a lane. A lane whose path has ended starts its next
 * sample in the same trip, which makes CPU devices 13 to 36 % faster (docs/architecture.md, Lanes).
 *
 * Invariant: the path is that of the gradient kernels, since walk_visit and walk_survival decide it there
 * too. Only throughput is simpler here: a factor of 0 ends the path. */
#include "render/integrator/kernels/kernels.h"

typedef struct primal_state {
    walk_position at;
    color beta, radiance, sum, squares;
    ir_ref eta;
} primal_state;

static void state_primal(walk *w, loop_state *s, primal_state *p, bool squares)
{
    state_position(w, s, &p->at);
    state_color(s, &p->beta), state_color(s, &p->radiance), state_color(s, &p->sum);
    state_ref(s, &p->eta);
    if (squares)
        state_color(s, &p->squares);
}

/* One vertex: adds its light and moves on. Returns whether the path goes on. */
static ir_ref vertex(walk *w, primal_state *p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_vertex v = walk_visit(w, p->at);
    if (field_any(w)) {
        field_segment s = field_segment_to(w, &p->at, &v);
        field_passage q = field_march(w, &s, ir_bool(f, true), false);
        for (int c = 0; c < 3; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], q.emitted.c[c], p->radiance.c[c]);
        p->beta = color_scale(t, p->beta, q.transmittance);
    }
    if (w->media && emission_any(w)) {
        color emitted = emission_radiance(w, &v.flight, false);
        for (int c = 0; c < 3; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], emitted.c[c], p->radiance.c[c]);
    }
    for (int c = 0; w->media && c < 3; c++) {
        ir_ref clean = ir_eq(f, v.flight.zeros[c], t_u32(t, 0));
        p->beta.c[c] = ir_mul(f, p->beta.c[c], ir_select(f, clean, v.flight.weight.c[c], t_f32(t, 0)));
    }
    color for_light, for_sample;
    walk_values(w, &v, false, &for_light, &for_sample);
    bool lights = w->plan->scene->emitters.count > 0;
    if (lights) {
        color hit = color_scale(t, walk_radiance(w, v.hit, false), v.hit_mis);
        for (int c = 0; c < 3; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], hit.c[c], p->radiance.c[c]);
    }
    if (lights && w->next_event) {
        color scale = walk_light_scale(w, &v, &p->at, false),
              direct = color_mul(t, color_mul(t, walk_radiance(w, v.light, false), for_light), scale);
        for (int c = 0; c < 3; c++)
            p->radiance.c[c] = t_mad(t, p->beta.c[c], direct.c[c], p->radiance.c[c]);
    }
    p->beta = color_mul(t, p->beta, color_scale(t, for_sample, t_ratio(t, t_f32(t, 1), v.sample.pdf)));
    p->eta = ir_mul(f, p->eta, v.sample.eta);
    ir_ref most = color_max(t, p->beta),
           q = walk_survival(w, &v, ir_add(f, p->at.depth, t_u32(t, 1)), most, p->eta);
    p->beta = color_scale(t, p->beta, t_ratio(t, t_f32(t, 1), q));
    ir_ref alive = ir_and(f, v.goes_on, ir_and(f, ir_gt(f, most, t_f32(t, 0)), ir_lt(f, v.u_roulette, q)));
    p->at = walk_next(w, p->at, &v, alive);
    return alive;
}

/* Where a path has ended: its radiance joins the sums and the next sample begins. */
static void finish_path(walk *w, primal_state *p, ir_ref alive, bool squares)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), finite = color_finite(t, p->radiance);
    color weighed = walk_weigh(w, p->at, p->radiance);
    kernel_count(w, ir_and(f, ir_not(f, alive), ir_not(f, finite)), STATUS_NON_FINITE);
    ir_ref add = ir_and(f, ir_not(f, alive), finite);
    for (int c = 0; c < 3; c++) {
        ir_ref v = ir_select(f, add, weighed.c[c], zero);
        p->sum.c[c] = ir_add(f, p->sum.c[c], v);
        if (squares)
            p->squares.c[c] = t_mad(t, v, v, p->squares.c[c]);
        p->radiance.c[c] = ir_select(f, alive, p->radiance.c[c], zero);
        p->beta.c[c] = ir_select(f, alive, p->beta.c[c], t_f32(t, 1));
    }
    p->eta = ir_select(f, alive, p->eta, t_f32(t, 1));
    p->at = walk_restart(w, alive, p->at);
    p->at.sample = ir_add(f, p->at.sample, ir_to_u32(f, ir_not(f, alive)));
}

bl_result kernel_primal(walk *w, ir_module *m)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    bool squares = w->pass == RENDER_VARIANCE;
    BL_ASSERT(squares || w->pass == RENDER_PRIMAL, "an image in pass %d", (int)w->pass);
    lane l = kernel_lane(w, m);
    ir_ref zero = t_f32(t, 0), squares_at = squares ? kernel_squares_word(w, &l) : t_u32(t, 0);
    primal_state p = {
        .at = walk_before(w, l.first),
        .beta = color_all(t_f32(t, 1)),
        .radiance = color_all(zero),
        .eta = t_f32(t, 1),
    };
    p.sum = kernel_load_sum(w, l.film, l.inside);
    if (squares)
        p.squares = kernel_load_sum(w, squares_at, l.inside);
    loop_state state = {0}, next = {0};
    state_primal(w, &state, &p, squares);
    ir_ref loop = state_loop(f, &state);
    state_primal(w, &state, &p, squares);
    ir_while(f, ir_lt(f, p.at.sample, l.last));
    p.at = walk_start(w, walk_begins(w, &p.at), p.at);
    ir_ref alive = vertex(w, &p);
    finish_path(w, &p, alive, squares);
    state_primal(w, &next, &p, squares);
    state_endloop(f, loop, &state, &next);
    state_primal(w, &state, &p, squares);
    state_end(&state);
    kernel_store_sum(w, l.film, l.inside, p.sum);
    if (squares)
        kernel_store_sum(w, squares_at, l.inside, p.squares);
    ir_return(f, NULL, 0);
    return BL_OK;
}
