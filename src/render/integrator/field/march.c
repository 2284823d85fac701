/* SPDX-License-Identifier: BSD-3-Clause
 * Emission and absorption along a segment of a path, by a march with a fixed step, and its path replay
 * ("Path Replay Backpropagation for Radiance Field Rendering", equations 1 to 6;
 * docs/theory/radiance_fields.md). Sample i lies at the distance t_i = (i + offset) step from the segment's
 * beginning. There
 *
 *     tau_i = sigma_i step,   alpha_i = 1 - exp(-tau_i),   T_{i+1} = T_i exp(-tau_i),   S_{i+1} = S_i + T_i
 * alpha_i c_i.
 *
 * S after the last sample is the emitted radiance, T the transmittance. Where T falls below a bound the march
 * ends, and nothing behind is seen.
 *
 * The replay marches again. At sample i it knows S_i, the same bits as before, and so the radiance that is
 * still to come, L - beta S_i, where L is what the path finds from the segment's beginning on. So
 *
 *     dc_i   = dL beta T_i alpha_i,
 *     dtau_i = dL (beta T_i c_i - (L - beta S_i)).
 *
 * Nothing is divided, so factors that are 0 need no care. Nothing is stored, so memory does not depend on the
 * number of samples.
 *
 * Samples keep their places when cells of empty space are skipped: i is an integer, and t_i is computed from
 * it. A skipped sample has an opacity that rounds to 0, so skipping changes no bit (unless the user allows it
 * to: empty_below). Where a derivative by an empty cell matters, replays do not skip (field_class.dead). */
#include "render/integrator/field/march.h"

enum { MOVING = 9 /* numbers of a moving ray: origin and direction in the cube, direction in the world */ };

typedef struct march_state {
    ir_ref i;      /* u32: number of the next sample */
    ir_ref left;   /* transmittance, which decides where the march ends */
    ir_ref passed; /* where differentiated: the same, differentiated */
    color sum;     /* emitted so far */
} march_state;

field_passage field_select(walk *w, ir_ref condition, const field_passage *a, const field_passage *b)
{
    ir_func *f = w->t.f;
    return (field_passage){
        .emitted = color_select(&w->t, condition, a->emitted, b->emitted),
        .transmittance = ir_select(f, condition, a->transmittance, b->transmittance),
        .left = ir_select(f, condition, a->left, b->left),
        .end = ir_select(f, condition, a->end, b->end),
    };
}

/* ---- one sample ---- */

typedef struct march_sample {
    ir_ref thickness; /* tau */
    color radiance;
} march_sample;

static march_sample sample(walk *w, const march *m, ir_ref i, bool differentiated)
{
    tracer t = differentiated ? walk_differentiated(w) : t_deciding(&w->t);
    bool moves = m->moves && differentiated;
    ir_ref distance = march_distance(&t, m, i), basis[FIELD_BASIS_MOST];
    vec3 p = march_along(&t, moves ? &m->now : &m->in_cube, distance);
    if (moves)
        m->cls->basis(&t, m->n, m->w, basis);
    march_sample s = {.thickness = ir_mul(t.f, m->cls->density(&t, m->n, m->record, p), m->step)};
    s.radiance = m->cls->radiance(&t, m->n, m->record, p, moves ? basis : m->basis);
    return s;
}

static ir_ref thickness_only(walk *w, const march *m, ir_ref i)
{
    tracer t = t_deciding(&w->t);
    vec3 p = march_along(&t, &m->in_cube, march_distance(&t, m, i));
    return ir_mul(t.f, m->cls->density(&t, m->n, m->record, p), m->step);
}

/* ---- the march ---- */

static void state_march(loop_state *s, march_state *a, bool differentiated)
{
    state_ref(s, &a->i), state_ref(s, &a->left);
    state_color(s, &a->sum);
    if (differentiated)
        state_ref(s, &a->passed);
}

static march_state march_start(walk *w, const march *m, ir_ref when)
{
    ir_func *f = w->t.f;
    ir_ref one = t_f32(&w->t, 1);
    return (march_state){
        .i = ir_select(f, when, m->first, m->last),
        .left = one,
        .passed = one,
        .sum = color_all(t_f32(&w->t, 0)),
    };
}

static march_state march_step(walk *w, const march *m, march_state a, bool differentiated)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    a.i = march_next_seen(w, m, a.i);
    ir_ref there = ir_lt(f, a.i, m->last);
    march_sample s = sample(w, m, a.i, differentiated);
    ir_ref through = march_through(w, there, s.thickness), before = differentiated ? a.passed : a.left,
           weight = ir_mul(f, before, ir_sub(f, t_f32(t, 1), through));
    for (int c = 0; c < 3; c++)
        a.sum.c[c] = ir_add(f, a.sum.c[c], ir_mul(f, weight, s.radiance.c[c]));
    a.passed = ir_mul(f, before, through);
    if (!differentiated)
        a.left = a.passed;
    else if (w->pass == RENDER_FROZEN) /* the scene's own values decide */
        a.left = ir_mul(f, a.left, march_through(w, there, thickness_only(w, m, a.i)));
    else
        a.left = ir_detach(f, a.passed);
    a.i = ir_add(f, a.i, t_u32(t, 1));
    return a;
}

static field_passage march_found(walk *w, const march *m, const march_state *a, bool differentiated)
{
    ir_func *f = w->t.f;
    ir_ref passed = differentiated ? a->passed : a->left, opaque = ir_lt(f, a->left, m->least),
           zero = t_f32(&w->t, 0);
    return (field_passage){
        .emitted = a->sum,
        .transmittance = ir_select(f, opaque, zero, passed),
        .left = ir_select(f, opaque, zero, a->left),
        .end = ir_min(f, a->i, m->last),
    };
}

/* A fixed number of steps. If there are more, the result is not finite. */
static field_passage march_unrolled(walk *w, const march *m, march_state a)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    for (int k = 0; k < UNROLLED_STEPS; k++) {
        ir_ref on = march_goes_on(w, m, a.i, a.left);
        march_state then = march_step(w, m, a, true);
        loop_state state = {0}, before = {0};
        state_march(&state, &then, true), state_march(&before, &a, true);
        state_select(f, on, &state, &before);
        state_march(&state, &a, true);
        state_end(&state);
    }
    field_passage found = march_found(w, m, &a, true);
    ir_ref many = march_goes_on(w, m, a.i, a.left);
    found.emitted = color_select(t, many, color_all(t_f32(t, 1e38f)), found.emitted);
    return found;
}

field_passage field_march(walk *w, const field_segment *s, ir_ref when, bool differentiated)
{
    BL_ASSERT(field_any(w), "a march without a field in pass %d", (int)w->pass);
    ir_func *f = w->t.f;
    march m = march_begin(w, s);
    march_state a = march_start(w, &m, when);
    if (differentiated && w->pass == RENDER_UNROLLED)
        return march_unrolled(w, &m, a);
    loop_state state = {0}, next = {0};
    state_march(&state, &a, differentiated);
    ir_ref loop = state_loop(f, &state);
    state_march(&state, &a, differentiated);
    ir_while(f, march_goes_on(w, &m, a.i, a.left));
    march_state then = march_step(w, &m, a, differentiated);
    state_march(&next, &then, differentiated);
    state_endloop(f, loop, &state, &next);
    state_march(&state, &a, differentiated);
    state_end(&state);
    return march_found(w, &m, &a, differentiated);
}

/* ---- the replay ---- */

static arrivals moving_inputs(walk *w, const march *m)
{
    arrivals a = {.count = m->moves ? MOVING : 0};
    vec3_put(m->now.o, a.at), vec3_put(m->now.d, a.at + 3), vec3_put(m->w, a.at + 6);
    for (uint32_t k = 0; k < a.count; k++)
        a.sum[k] = t_f32(&w->t, 0);
    return a;
}

/* One sample of the replay: the same sums, and its adjoint. */
static march_state replay_step(walk *w, const march *m, march_state a, const field_seeds *seeds,
                               arrivals *moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), outputs[4], adjoints[4] = {zero};
    a.i = march_next_seen(w, m, a.i);
    ir_ref there = ir_lt(f, a.i, m->last);
    march_sample s = sample(w, m, a.i, true);
    outputs[0] = s.thickness;
    ir_ref through = march_through(w, there, ir_detach(f, s.thickness)),
           weight = ir_mul(f, a.left, ir_sub(f, t_f32(t, 1), through));
    for (int c = 0; c < 3; c++) {
        ir_ref radiance = ir_detach(f, s.radiance.c[c]);
        outputs[1 + c] = s.radiance.c[c];
        adjoints[1 + c] = ir_mul(f, seeds->emitted.c[c], weight);
        ir_ref own = ir_mul(f, seeds->emitted.c[c], t_mad(t, a.left, radiance, a.sum.c[c]));
        adjoints[0] = ir_add(f, adjoints[0], ir_sub(f, own, seeds->to_come.c[c]));
        a.sum.c[c] = ir_add(f, a.sum.c[c], ir_mul(f, weight, radiance));
    }
    for (int k = 0; k < 4; k++)
        adjoints[k] = ir_select(f, there, adjoints[k], zero);
    backward_into(t, outputs, adjoints, 4, moved);
    a.left = ir_mul(f, a.left, through);
    a.i = ir_add(f, a.i, t_u32(t, 1));
    return a;
}

field_passage field_replay(walk *w, const field_segment *s, ir_ref when, const field_seeds *seeds,
                           arrivals *sum)
{
    BL_ASSERT(field_any(w), "a replay without a field in pass %d", (int)w->pass);
    ir_func *f = w->t.f;
    march m = march_begin(w, s);
    m.skips = march_replay_skips(w, &m);
    march_state a = march_start(w, &m, when);
    arrivals moved = moving_inputs(w, &m);
    loop_state state = {0}, next = {0};
    state_march(&state, &a, false), state_arrivals(&state, &moved);
    ir_ref loop = state_loop(f, &state);
    state_march(&state, &a, false), state_arrivals(&state, &moved);
    ir_while(f, march_goes_on(w, &m, a.i, a.left));
    march_state then = replay_step(w, &m, a, seeds, &moved);
    state_march(&next, &then, false), state_arrivals(&next, &moved);
    state_endloop(f, loop, &state, &next);
    state_march(&state, &a, false), state_arrivals(&state, &moved);
    state_end(&state);
    if (m.moves)
        backward_into(&w->t, moved.at, moved.sum, MOVING, sum);
    return march_found(w, &m, &a, false);
}
