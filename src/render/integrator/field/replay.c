/* SPDX-License-Identifier: BSD-3-Clause
 * Path replay of the march ("Path Replay Backpropagation for Radiance Field Rendering", equations 1 to 6;
 * docs/theory/radiance_fields.md). The march runs again. At sample i it knows S_i, the same bits as before,
 * and so the radiance that is still to come, L - beta S_i, where L is what the path finds from the segment's
 * beginning on. So
 *
 *     dc_i   = dL beta T_i alpha_i,
 *     dtau_i = dL (beta T_i c_i - (L - beta S_i)).
 *
 * Nothing is divided, so factors that are 0 need no care. Nothing is stored, so memory does not depend on the
 * number of samples.
 *
 * A sample at degree 2 adds to 224 elements of the gradient, which costs more than the march. So replays may
 * be thinned: one sample of n is backpropagated, and of its lookups one voxel of eight. Both choices are
 * random and unbiased. The lanes of a device's vector backpropagate in the same trip of the loop, so the work
 * is saved although they run in step (docs/decisions/field-gradient-cost.md). */
#include "render/integrator/field/march.h"

enum { MOVING = 9 /* numbers of a moving ray: origin and direction in the cube, direction in the world */ };
enum { TILE_BITS = 6 /* so many pixels have their first count in common, so that their lanes run in step */ };
static const uint32_t thinning_block = 0x7F4A7C15u; /* of random numbers; no vertex owns it */

/* Where nothing has to be added up along the segment: no inputs. */
static arrivals moving_inputs(walk *w, const march *m)
{
    arrivals a = {.count = m->moves ? MOVING : 0};
    vec3_put(m->now.o, a.at), vec3_put(m->now.d, a.at + 3), vec3_put(m->w, a.at + 6);
    for (uint32_t k = 0; k < a.count; k++)
        a.sum[k] = t_f32(&w->t, 0);
    return a;
}

/* ---- one sample ---- */

/* Adjoints of the values of a sample: thickness, and the channels of the radiance. */
typedef struct sample_adjoint {
    ir_ref of[1 + COLOR_MOST];
} sample_adjoint;

/* Moves the sums past the sample, and returns its adjoint. */
static sample_adjoint pass_sample(walk *w, const march_sample *s, ir_ref there, const field_seeds *seeds,
                                  march_state *a)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    ir_ref through = march_through(w, there, ir_detach(f, s->thickness)),
           weight = ir_mul(f, a->left, ir_sub(f, t_f32(t, 1), through));
    sample_adjoint r = {{zero}};
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref radiance = ir_detach(f, s->radiance.c[c]);
        ir_ref own = ir_mul(f, seeds->emitted.c[c], t_mad(t, a->left, radiance, a->sum.c[c]));
        r.of[0] = ir_add(f, r.of[0], ir_sub(f, own, seeds->to_come.c[c]));
        r.of[1 + c] = ir_mul(f, seeds->emitted.c[c], weight);
        a->sum.c[c] = ir_add(f, a->sum.c[c], ir_mul(f, weight, radiance));
    }
    for (uint32_t k = 0; k < 1 + t->channels; k++)
        r.of[k] = ir_select(f, there, r.of[k], zero);
    a->left = ir_mul(f, a->left, through);
    a->i = ir_add(f, a->i, t_u32(t, 1));
    return r;
}

static void backpropagate(walk *w, const march_sample *s, const sample_adjoint *by, arrivals *moved)
{
    ir_ref outputs[1 + COLOR_MOST] = {s->thickness};
    memcpy(outputs + 1, s->radiance.c, sizeof s->radiance.c);
    backward_into(&w->t, outputs, by->of, 1 + w->t.channels, moved);
}

/* ---- all samples ---- */

static march_state replay_all(walk *w, const march *m, march_state a, const field_seeds *seeds,
                              arrivals *moved)
{
    ir_func *f = w->t.f;
    loop_state state = {0}, next = {0};
    state_march(w, &state, &a, false), state_arrivals(&state, moved);
    ir_ref loop = state_loop(f, &state);
    state_march(w, &state, &a, false), state_arrivals(&state, moved);
    ir_while(f, march_goes_on(w, m, a.i, a.left));
    a.i = march_next_seen(w, m, a.i);
    ir_ref there = ir_lt(f, a.i, m->last);
    march_sample s = march_take(w, m, a.i, true);
    sample_adjoint by = pass_sample(w, &s, there, seeds, &a);
    backpropagate(w, &s, &by, moved);
    state_march(w, &next, &a, false), state_arrivals(&next, moved);
    state_endloop(f, loop, &state, &next);
    state_march(w, &state, &a, false), state_arrivals(&state, moved);
    state_end(&state);
    return a;
}

/* ---- some samples ---- */

/* Three uniform numbers for sample i: an additive sequence (Roberts 2018, "R3") from a random beginning. */
static void numbers_of(walk *w, const march *m, ir_ref i, ir_ref out[3])
{
    static const uint32_t advance[3] = {3518319155u, 2882110345u, 2360945575u};
    ir_func *f = w->t.f;
    for (int k = 0; k < 3; k++) {
        ir_ref bits = t_mad(&w->t, i, t_u32(&w->t, advance[k]), m->numbers[k]);
        out[k] = ir_mul(f, ir_to_f32(f, ir_shr(f, bits, t_u32(&w->t, 8))), t_f32(&w->t, 0x1p-24f));
    }
}

/* Sample i, whose derivatives go through one voxel of each lookup. */
static march_sample take_thinned(walk *w, const march *m, ir_ref i)
{
    tracer values = t_deciding(&w->t), t = walk_differentiated(w);
    ir_func *f = t.f;
    ir_ref u[3];
    vec3 p = march_along(&t, &m->in_cube, march_distance(&t, m, i));
    numbers_of(w, m, i, u);
    ir_ref density = m->cls->raw_density(&values, m->n, m->record, p, NULL),
           one_density = m->cls->raw_density(&t, m->n, m->record, p, u);
    color raw = m->cls->raw_color(&values, m->n, m->record, p, m->basis, NULL),
          one_raw = m->cls->raw_color(&t, m->n, m->record, p, m->basis, u);
    density = ir_replace_grad(f, density, one_density);
    for (uint32_t c = 0; c < 3; c++)
        raw.c[c] = ir_replace_grad(f, raw.c[c], one_raw.c[c]);
    return march_activated(&t, m, density, raw);
}

/* Passes up to `count` samples. */
static march_state pass_samples(walk *w, const march *m, march_state a, ir_ref count)
{
    ir_func *f = w->t.f;
    loop_state state = {0}, next = {0};
    state_march(w, &state, &a, false), state_ref(&state, &count);
    ir_ref loop = state_loop(f, &state);
    state_march(w, &state, &a, false), state_ref(&state, &count);
    ir_ref some = ir_lt(f, t_u32(&w->t, 0), count);
    ir_while(f, ir_and(f, some, march_goes_on(w, m, a.i, a.left)));
    march_state then = march_step(w, m, a, false);
    count = ir_sub(f, count, t_u32(&w->t, 1));
    state_march(w, &next, &then, false), state_ref(&next, &count);
    state_endloop(f, loop, &state, &next);
    state_march(w, &state, &a, false), state_ref(&state, &count);
    state_end(&state);
    return a;
}

/* Systematic sampling: `count` samples are passed, the next is backpropagated on behalf of n, and so on.
 * The first count is random in [0, n), so each sample has the same chance. Neighbouring pixels have one
 * first count; that correlates them, and biases none. */
static march_state replay_thinned(walk *w, const march *m, march_state a, const field_seeds *seeds)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    uint32_t n = w->plan->scene->march.thin, bits = 0;
    while (1u << bits < n)
        bits++;
    ir_ref count = bits ? ir_shr(f, m->numbers[3], t_u32(t, 32 - bits)) : t_u32(t, 0);
    loop_state state = {0}, next = {0};
    state_march(w, &state, &a, false), state_ref(&state, &count);
    ir_ref loop = state_loop(f, &state);
    state_march(w, &state, &a, false), state_ref(&state, &count);
    ir_while(f, march_goes_on(w, m, a.i, a.left));
    a = pass_samples(w, m, a, count);
    ir_ref on = march_goes_on(w, m, a.i, a.left), i = march_next_seen(w, m, a.i),
           there = ir_and(f, on, ir_lt(f, i, m->last));
    march_sample s = take_thinned(w, m, i);
    a.i = ir_select(f, on, i, ir_sub(f, a.i, t_u32(t, 1)));
    sample_adjoint by = pass_sample(w, &s, there, seeds, &a);
    for (uint32_t k = 0; k < 1 + t->channels; k++)
        by.of[k] = ir_mul(f, by.of[k], t_f32(t, (float)n));
    arrivals none = {.count = 0};
    backpropagate(w, &s, &by, &none);
    count = t_u32(t, n - 1);
    state_march(w, &next, &a, false), state_ref(&next, &count);
    state_endloop(f, loop, &state, &next);
    state_march(w, &state, &a, false), state_ref(&state, &count);
    state_end(&state);
    return a;
}

/* ---- the replay ---- */

field_passage field_replay(walk *w, const field_segment *s, ir_ref when, const field_seeds *seeds,
                           arrivals *sum)
{
    BL_ASSERT(field_any(w), "a replay without a field in pass %d", (int)w->pass);
    ir_func *f = w->t.f;
    march m = march_begin(w, s);
    m.skips = march_replay_skips(w, &m);
    march_state a = march_start(w, &m, when);
    if (w->plan->scene->march.thin && !m.moves) {
        random_counter from = {w->pixel, s->sample, w->seed, w->stream, t_u32(&w->t, thinning_block)};
        random_words(&w->t, &from, m.numbers);
        from.pixel = ir_shr(f, w->pixel, t_u32(&w->t, TILE_BITS));
        ir_ref words[4];
        random_words(&w->t, &from, words);
        m.numbers[3] = words[3];
        a = replay_thinned(w, &m, a, seeds);
    } else {
        arrivals moved = moving_inputs(w, &m);
        a = replay_all(w, &m, a, seeds, &moved);
        if (m.moves)
            backward_into(&w->t, moved.at, moved.sum, MOVING, sum);
    }
    return march_found(w, &m, &a, false);
}
