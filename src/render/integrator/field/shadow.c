/* SPDX-License-Identifier: BSD-3-Clause
 * Transmittance of the radiance field between a vertex and its sampled light. It is marched like a segment of
 * a path (march.c), but only the density counts. What arrives is a product with exp(-tau) of every sample as
 * a factor, so the derivative by every tau is minus what arrives, and the replay needs no sums. */
#include "render/integrator/field/march.h"
#include "spirv_gen/ad/ad.h"

/* The segment that leads from the vertex to the light. Its samples are shifted by another part of a step than
 * those of the segment that leads to the vertex: the golden ratio away. */
static field_segment toward_light(walk *w, const walk_vertex *v)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref offset = t_f32(t, 0.5f);
    if (w->plan->scene->march.jitter) {
        ir_ref shifted = ir_add(f, v->u_march, t_f32(t, 0.618034f));
        offset = ir_sub(f, shifted, ir_floor(f, shifted));
    }
    return (field_segment){
        .o = v->si.p, .d = v->light_d, .limit = v->light.distance, .offset = offset, .dark = true};
}

ir_ref field_shadow(walk *w, const walk_vertex *v, bool differentiated)
{
    field_segment s = toward_light(w, v);
    return field_march(w, &s, v->light.there, differentiated).transmittance;
}

void field_shadow_replay(walk *w, const walk_vertex *v, ir_ref when, color arrives)
{
    if (!plan_wants(w->plan->field, "density"))
        return;
    tracer *t = &w->t;
    ir_func *f = t->f;
    field_segment s = toward_light(w, v);
    march m = march_begin(w, &s);
    m.skips = march_replay_skips(w, &m);
    march_state a = march_start(w, &m, ir_and(f, when, v->light.there));
    ir_ref seed = ir_neg(f, color_sum(&w->t, arrives));
    loop_state state = {0}, next = {0};
    state_march(w, &state, &a, false);
    ir_ref loop = state_loop(f, &state);
    state_march(w, &state, &a, false);
    ir_while(f, march_goes_on(w, &m, a.i, a.left));
    a.i = march_next_seen(w, &m, a.i);
    ir_ref there = ir_lt(f, a.i, m.last), thickness = march_thickness(w, &m, a.i, true),
           own = ir_select(f, there, seed, t_f32(t, 0));
    a.left = ir_mul(f, a.left, march_through(w, there, ir_detach(f, thickness)));
    ad_backward(f, &thickness, &own, 1, NULL, NULL, 0);
    a.i = ir_add(f, a.i, t_u32(t, 1));
    state_march(w, &next, &a, false);
    state_endloop(f, loop, &state, &next);
    state_march(w, &state, &a, false);
    state_end(&state);
}
