/* SPDX-License-Identifier: BSD-3-Clause
 * Sums of the contributions still to come (radiance_sums.h), for paths from the camera (kernels/replay.c) and
 * from lights (kernels/light_tracing.c).
 *
 * A sum is a pair of floats: a number, and the rounding errors of all additions to it (Knuth's two-sum). If
 * phase 1 subtracts the same terms as phase 0 added, almost nothing is left. What is left beyond
 * RESIDUAL_TOLERANCE, or another hash, says that the two walks differed (docs/theory/replay_equality.md). */
#include "render/integrator/walk/radiance_sums.h"

replay_sums sums_start(tracer *t)
{
    color none = color_all(t_f32(t, 0));
    return (replay_sums){none, none, none, none, none};
}

void state_sums(loop_state *s, const tracer *t, replay_sums *p)
{
    state_color(s, t, &p->L), state_color(s, t, &p->L_error), state_color(s, t, &p->M),
        state_color(s, t, &p->M_error);
    state_color(s, t, &p->size);
}

void sums_add(tracer *t, replay_sums *s, color whole, color but_one, ir_ref takes)
{
    ir_func *f = t->f;
    for (uint32_t c = 0; c < t->channels; c++) {
        two_float_add(t, &s->L.c[c], &s->L_error.c[c],
                      ir_select(f, takes, ir_neg(f, whole.c[c]), whole.c[c]));
        two_float_add(t, &s->M.c[c], &s->M_error.c[c],
                      ir_select(f, takes, ir_neg(f, but_one.c[c]), but_one.c[c]));
    }
}

color sums_L(tracer *t, const replay_sums *s)
{
    COLOR_EACH(r, ir_add(t->f, s->L.c[c], s->L_error.c[c]));
    return r;
}

color sums_M(tracer *t, const replay_sums *s)
{
    COLOR_EACH(r, ir_add(t->f, s->M.c[c], s->M_error.c[c]));
    return r;
}

color sums_over(tracer *t, const replay_sums *s, color factor)
{
    ir_func *f = t->f;
    color L = sums_L(t, s), M = sums_M(t, s), r;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref is_zero = ir_eq(f, factor.c[c], t_f32(t, 0));
        r.c[c] =
            ir_select(f, is_zero, M.c[c], ir_div(f, L.c[c], ir_select(f, is_zero, t_f32(t, 1), factor.c[c])));
    }
    return r;
}

void sums_note_size(tracer *t, replay_sums *s, ir_ref ended)
{
    s->size = color_select(t, ended, s->L, s->size);
}

void sums_set(tracer *t, replay_sums *s, ir_ref when, const replay_sums *other)
{
    s->L = color_select(t, when, other->L, s->L);
    s->L_error = color_select(t, when, other->L_error, s->L_error);
    s->M = color_select(t, when, other->M, s->M);
    s->M_error = color_select(t, when, other->M_error, s->M_error);
}

void sums_restart(tracer *t, replay_sums *s, ir_ref fresh)
{
    const replay_sums none = sums_start(t);
    sums_set(t, s, fresh, &none);
}

ir_ref sums_residual(tracer *t, const replay_sums *s)
{
    ir_func *f = t->f;
    ir_ref left = ir_bool(f, false);
    color L = sums_L(t, s);
    for (uint32_t c = 0; c < t->channels; c++)
        left = ir_or(
            f, left,
            ir_gt(f, ir_abs(f, L.c[c]), ir_mul(f, ir_abs(f, s->size.c[c]), t_f32(t, RESIDUAL_TOLERANCE))));
    return left;
}

ir_ref replay_hash(tracer *t, ir_ref hash, ir_ref decisions, ir_ref alive)
{
    ir_func *f = t->f;
    return ir_mul(f, ir_xor(f, hash, ir_xor(f, decisions, ir_to_u32(f, alive))), t_u32(t, 16777619u));
}
