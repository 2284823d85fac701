/* SPDX-License-Identifier: BSD-3-Clause
 * Emission and absorption along a segment of a path, by a march with a fixed step
 * (docs/theory/radiance_fields.md). Sample i lies at the distance t_i = (i + offset) step from the segment's
 * beginning. There
 *
 *     tau_i = sigma_i step,   alpha_i = 1 - exp(-tau_i),
 *     T_{i+1} = T_i exp(-tau_i),   S_{i+1} = S_i + T_i alpha_i c_i.
 *
 * S after the last sample is the emitted radiance, T the transmittance. Where T falls below a bound the march
 * ends, and nothing behind is seen. Replays are in replay.c.
 *
 * A skipped sample has an opacity that rounds to 0, so skipping changes no bit (unless the user allows it to:
 * empty_below). */
#include "render/integrator/field/march.h"

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

march_sample march_activated(tracer *t, const march *m, ir_ref raw_density, color raw_color)
{
    march_sample s = {.thickness = ir_mul(t->f, m->cls->density(t, m->n, raw_density), m->step)};
    s.radiance = m->cls->radiance(t, m->n, raw_color);
    return s;
}

march_sample march_take(walk *w, const march *m, ir_ref i, bool differentiated)
{
    if (m->dark)
        return (march_sample){.thickness = march_thickness(w, m, i, differentiated)};
    tracer t = differentiated ? walk_differentiated(w) : t_deciding(&w->t);
    bool moves = m->moves && differentiated;
    ir_ref distance = march_distance(&t, m, i), basis[FIELD_BASIS_MOST];
    vec3 p = march_along(&t, moves ? &m->now : &m->in_cube, distance);
    if (moves)
        m->cls->basis(&t, m->n, m->w, basis);
    ir_ref density = m->cls->raw_density(&t, m->n, m->record, p, NULL);
    color raw = m->cls->raw_color(&t, m->n, m->record, p, moves ? basis : m->basis, NULL);
    return march_activated(&t, m, density, raw);
}

ir_ref march_thickness(walk *w, const march *m, ir_ref i, bool differentiated)
{
    tracer t = differentiated ? walk_differentiated(w) : t_deciding(&w->t);
    vec3 p = march_along(&t, &m->in_cube, march_distance(&t, m, i));
    ir_ref raw = m->cls->raw_density(&t, m->n, m->record, p, NULL);
    return ir_mul(t.f, m->cls->density(&t, m->n, raw), m->step);
}

/* ---- the march ---- */

void state_march(const walk *w, loop_state *s, march_state *a, bool differentiated)
{
    state_ref(s, &a->i), state_ref(s, &a->left);
    if (!a->dark)
        state_color(s, &w->t, &a->sum);
    if (differentiated)
        state_ref(s, &a->passed);
}

march_state march_start(walk *w, const march *m, ir_ref when)
{
    ir_func *f = w->t.f;
    ir_ref one = t_f32(&w->t, 1);
    return (march_state){
        .i = ir_select(f, when, m->first, m->last),
        .left = one,
        .passed = one,
        .dark = m->dark,
        .sum = color_all(t_f32(&w->t, 0)),
    };
}

/* S after a sample. */
static color emitted_after(tracer *t, const march_state *a, const march_sample *s, ir_ref before,
                           ir_ref through)
{
    ir_func *f = t->f;
    ir_ref weight = ir_mul(f, before, ir_sub(f, t_f32(t, 1), through));
    COLOR_EACH(r, ir_add(f, a->sum.c[c], ir_mul(f, weight, s->radiance.c[c])));
    return r;
}

march_state march_step(walk *w, const march *m, march_state a, bool differentiated)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    a.i = march_next_seen(w, m, a.i);
    ir_ref there = ir_lt(f, a.i, m->last);
    march_sample s = march_take(w, m, a.i, differentiated);
    ir_ref through = march_through(w, there, s.thickness), before = differentiated ? a.passed : a.left;
    if (!m->dark)
        a.sum = emitted_after(t, &a, &s, before, through);
    a.passed = ir_mul(f, before, through);
    if (!differentiated)
        a.left = a.passed;
    else if (w->pass == RENDER_FROZEN) /* the scene's own values decide */
        a.left = ir_mul(f, a.left, march_through(w, there, march_thickness(w, m, a.i, false)));
    else
        a.left = ir_detach(f, a.passed);
    a.i = ir_add(f, a.i, t_u32(t, 1));
    return a;
}

field_passage march_found(walk *w, const march *m, const march_state *a, bool differentiated)
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
        state_march(w, &state, &then, true), state_march(w, &before, &a, true);
        state_select(f, on, &state, &before);
        state_march(w, &state, &a, true);
        state_end(&state);
    }
    field_passage found = march_found(w, m, &a, true);
    ir_ref many = march_goes_on(w, m, a.i, a.left);
    if (m->dark)
        found.transmittance = ir_select(f, many, t_f32(t, 1e38f), found.transmittance);
    else
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
    state_march(w, &state, &a, differentiated);
    ir_ref loop = state_loop(f, &state);
    state_march(w, &state, &a, differentiated);
    ir_while(f, march_goes_on(w, &m, a.i, a.left));
    march_state then = march_step(w, &m, a, differentiated);
    state_march(w, &next, &then, differentiated);
    state_endloop(f, loop, &state, &next);
    state_march(w, &state, &a, differentiated);
    state_end(&state);
    return march_found(w, &m, &a, differentiated);
}
