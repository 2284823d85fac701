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
    return (field_segment){.o = v->si.p, .d = v->light_d, .limit = v->light.distance, .offset = offset};
}

typedef struct shadow_state {
    ir_ref i, left, passed; /* as in march_state of march.c */
} shadow_state;

static void state_shadow(loop_state *s, shadow_state *a, bool differentiated)
{
    state_ref(s, &a->i), state_ref(s, &a->left);
    if (differentiated)
        state_ref(s, &a->passed);
}

static shadow_state shadow_start(walk *w, const march *m, ir_ref when)
{
    ir_ref one = t_f32(&w->t, 1);
    return (shadow_state){ir_select(w->t.f, when, m->first, m->last), one, one};
}

static shadow_state shadow_step(walk *w, const march *m, shadow_state a, bool differentiated)
{
    ir_func *f = w->t.f;
    a.i = march_next_seen(w, m, a.i);
    ir_ref there = ir_lt(f, a.i, m->last);
    if (differentiated)
        a.passed = ir_mul(f, a.passed, march_through(w, there, march_thickness(w, m, a.i, true)));
    if (!differentiated || w->pass == RENDER_FROZEN)
        a.left = ir_mul(f, a.left, march_through(w, there, march_thickness(w, m, a.i, false)));
    else
        a.left = ir_detach(f, a.passed);
    a.i = ir_add(f, a.i, t_u32(&w->t, 1));
    return a;
}

static ir_ref shadow_found(walk *w, const march *m, const shadow_state *a, bool differentiated)
{
    ir_func *f = w->t.f;
    return ir_select(f, ir_lt(f, a->left, m->least), t_f32(&w->t, 0), differentiated ? a->passed : a->left);
}

/* As march_unrolled of march.c. */
static ir_ref shadow_unrolled(walk *w, const march *m, shadow_state a)
{
    ir_func *f = w->t.f;
    for (int k = 0; k < UNROLLED_STEPS; k++) {
        ir_ref on = march_goes_on(w, m, a.i, a.left);
        shadow_state then = shadow_step(w, m, a, true);
        a.i = ir_select(f, on, then.i, a.i), a.left = ir_select(f, on, then.left, a.left),
        a.passed = ir_select(f, on, then.passed, a.passed);
    }
    return ir_select(f, march_goes_on(w, m, a.i, a.left), t_f32(&w->t, 1e38f), shadow_found(w, m, &a, true));
}

ir_ref field_shadow(walk *w, const walk_vertex *v, bool differentiated)
{
    BL_ASSERT(field_any(w), "a shadow without a field in pass %d", (int)w->pass);
    ir_func *f = w->t.f;
    field_segment s = toward_light(w, v);
    march m = march_begin(w, &s);
    shadow_state a = shadow_start(w, &m, v->light.there);
    if (differentiated && w->pass == RENDER_UNROLLED)
        return shadow_unrolled(w, &m, a);
    loop_state state = {0}, next = {0};
    state_shadow(&state, &a, differentiated);
    ir_ref loop = state_loop(f, &state);
    state_shadow(&state, &a, differentiated);
    ir_while(f, march_goes_on(w, &m, a.i, a.left));
    shadow_state then = shadow_step(w, &m, a, differentiated);
    state_shadow(&next, &then, differentiated);
    state_endloop(f, loop, &state, &next);
    state_shadow(&state, &a, differentiated);
    state_end(&state);
    return shadow_found(w, &m, &a, differentiated);
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
    shadow_state a = shadow_start(w, &m, ir_and(f, when, v->light.there));
    ir_ref seed = ir_neg(f, ir_add(f, arrives.c[0], ir_add(f, arrives.c[1], arrives.c[2])));
    loop_state state = {0}, next = {0};
    state_shadow(&state, &a, false);
    ir_ref loop = state_loop(f, &state);
    state_shadow(&state, &a, false);
    ir_while(f, march_goes_on(w, &m, a.i, a.left));
    a.i = march_next_seen(w, &m, a.i);
    ir_ref there = ir_lt(f, a.i, m.last), thickness = march_thickness(w, &m, a.i, true),
           own = ir_select(f, there, seed, t_f32(t, 0));
    a.left = ir_mul(f, a.left, march_through(w, there, ir_detach(f, thickness)));
    ad_backward(f, &thickness, &own, 1, NULL, NULL, 0);
    a.i = ir_add(f, a.i, t_u32(t, 1));
    state_shadow(&next, &a, false);
    state_endloop(f, loop, &state, &next);
    state_shadow(&state, &a, false);
    state_end(&state);
}
