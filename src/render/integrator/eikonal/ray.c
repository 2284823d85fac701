/* SPDX-License-Identifier: BSD-3-Clause
 * See ray.h. Absorption and emission are summed by the midpoint rule, one point a step, which is of the
 * order of the steps themselves. */
#include "render/integrator/eikonal/ray.h"
#include "spirv_gen/ad/ad.h"

#include <string.h>

static vec3 force(tracer *t, const eikonal_law *law, vec3 p)
{
    medium_index i = law->index(t, law, p);
    return v3_scale(t, i.slope, i.n);
}

/* ---- one step ---- */

eikonal_state eikonal_begin(tracer *t, const eikonal_law *law, vec3 o, vec3 d)
{
    ir_func *f = t->f;
    medium_index i = law->index(t, law, o);
    ir_ref half = ir_mul(f, t_f32(t, 0.5f), law->step);
    color none = color_all(t_f32(t, 0));
    vec3 kick = v3_scale(t, i.slope, ir_mul(f, half, i.n));
    return (eikonal_state){o, v3_add(t, v3_scale(t, d, i.n), kick), none, none};
}

/* What a straight stretch adds: it is `length` long and has its middle at p. */
static void add_light(tracer *t, const eikonal_law *law, vec3 p, ir_ref length, color *thickness,
                      color *emitted)
{
    ir_func *f = t->f;
    color before = *thickness, absorbed = color_all(t_f32(t, 0));
    if (law->extinction) {
        absorbed = color_scale(t, law->extinction(t, law, p), length);
        *thickness = color_add(t, before, absorbed);
    }
    if (!law->emission || !emitted)
        return;
    color emission = law->emission(t, law, p);
    ir_ref half = t_f32(t, 0.5f);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref left = ir_exp(f, ir_neg(f, t_mad(t, half, absorbed.c[c], before.c[c])));
        emitted->c[c] = t_mad(t, left, ir_mul(f, emission.c[c], length), emitted->c[c]);
    }
}

static vec3 middle(tracer *t, vec3 a, vec3 b) { return v3_scale(t, v3_add(t, a, b), t_f32(t, 0.5f)); }

eikonal_state eikonal_step(tracer *t, const eikonal_law *law, const eikonal_state *s)
{
    vec3 drift = v3_scale(t, s->w, law->step);
    eikonal_state r = *s;
    r.x = v3_add(t, s->x, drift);
    if (law->extinction || law->emission)
        add_light(t, law, middle(t, s->x, r.x), v3_length(t, drift), &r.thickness, &r.emitted);
    r.w = v3_add(t, s->w, v3_scale(t, force(t, law, r.x), law->step));
    return r;
}

eikonal_state eikonal_back(tracer *t, const eikonal_law *law, const eikonal_state *s)
{
    eikonal_state r = *s;
    r.w = v3_sub(t, s->w, v3_scale(t, force(t, law, s->x), law->step));
    vec3 drift = v3_scale(t, r.w, law->step);
    r.x = v3_sub(t, s->x, drift);
    if (law->extinction) {
        color added = color_all(t_f32(t, 0));
        add_light(t, law, middle(t, s->x, r.x), v3_length(t, drift), &added, NULL);
        COLOR_EACH(before, ir_sub(t->f, s->thickness.c[c], added.c[c]));
        r.thickness = before;
    }
    return r;
}

eikonal_arrival eikonal_arrive(tracer *t, const eikonal_law *law, const eikonal_state *s, vec3 p)
{
    ir_func *f = t->f;
    vec3 way = v3_sub(t, p, s->x);
    ir_ref square = v3_dot(t, s->w, s->w), elapsed = ir_div(f, v3_dot(t, way, s->w), square);
    ir_ref late = ir_sub(f, elapsed, ir_mul(f, t_f32(t, 0.5f), law->step));
    eikonal_arrival a = {v3_add(t, s->w, v3_scale(t, force(t, law, p), late)), s->thickness, s->emitted};
    if (law->extinction || law->emission)
        add_light(t, law, middle(t, s->x, p), ir_mul(f, elapsed, ir_sqrt(f, square)), &a.thickness,
                  &a.emitted);
    return a;
}

/* ---- the whole way ---- */

uint32_t eikonal_pack(const tracer *t, bool lit, const eikonal_state *s, ir_ref out[EIKONAL_NUMBERS_MOST])
{
    vec3_put(s->x, out), vec3_put(s->w, out + 3);
    if (!lit)
        return 6;
    memcpy(out + 6, s->thickness.c, t->channels * sizeof *out);
    memcpy(out + 6 + t->channels, s->emitted.c, t->channels * sizeof *out);
    return 6 + 2 * t->channels;
}

eikonal_state eikonal_unpack(tracer *t, bool lit, const ir_ref *in)
{
    color none = color_all(t_f32(t, 0));
    eikonal_state s = {vec3_at(in), vec3_at(in + 3), none, none};
    if (!lit)
        return s;
    memcpy(s.thickness.c, in + 6, t->channels * sizeof *in);
    memcpy(s.emitted.c, in + 6 + t->channels, t->channels * sizeof *in);
    return s;
}

/* The parameters of eikonal_flown, declared in a new function. */
typedef struct flown_parameters {
    tracer t, reads; /* reads: detached */
    eikonal_law law, known;
    ir_ref ray[6], steps;
    eikonal_state end;
    uint32_t numbers; /* of a state */
} flown_parameters;

static flown_parameters declare(ir_func *f, const eikonal_plan *p)
{
    flown_parameters q = {.t = p->t};
    q.t.f = f, q.reads = t_deciding(&q.t), q.reads.frozen = false;
    ir_ref record = ir_param(f, IR_U32), end[EIKONAL_NUMBERS_MOST];
    for (int k = 0; k < 6; k++)
        q.ray[k] = ir_param(f, IR_F32);
    q.steps = ir_param(f, IR_U32);
    q.numbers = p->lit ? 6 + 2 * q.t.channels : 6;
    for (uint32_t k = 0; k < q.numbers; k++)
        end[k] = ir_param(f, IR_F32);
    q.end = eikonal_unpack(&q.t, p->lit, end);
    q.law = p->law(&q.t, p->of, record), q.known = p->law(&q.reads, p->of, record);
    return q;
}

static eikonal_state begin(flown_parameters *q)
{
    return eikonal_begin(&q->t, &q->law, vec3_at(q->ray), vec3_at(q->ray + 3));
}

static ir_func *make_primal(ir_module *m, const eikonal_plan *p)
{
    ir_func *f = ir_func_create(m, "eikonal_flown");
    flown_parameters q = declare(f, p);
    ir_ref state[EIKONAL_NUMBERS_MOST + 1], next[EIKONAL_NUMBERS_MOST + 1];
    eikonal_pack(&q.t, p->lit, &q.end, state);
    eikonal_state s = begin(&q);
    if (!p->runs) { /* A call that reads what is differentiated is active, whatever its arguments are. */
        s = eikonal_step(&q.t, &q.law, &s);
        eikonal_pack(&q.t, p->lit, &s, next);
        for (uint32_t k = 0; k < q.numbers; k++)
            state[k] = ir_replace_grad(f, state[k], next[k]);
    } else {
        eikonal_pack(&q.t, p->lit, &s, state);
        state[q.numbers] = t_u32(&q.t, 0);
        ir_ref loop = ir_loop(f, state, q.numbers + 1);
        ir_while(f, ir_lt(f, state[q.numbers], q.steps));
        s = eikonal_unpack(&q.t, p->lit, state);
        s = eikonal_step(&q.t, &q.law, &s);
        eikonal_pack(&q.t, p->lit, &s, next);
        next[q.numbers] = t_offset(&q.t, state[q.numbers], 1);
        ir_endloop(f, loop, next, q.numbers + 1);
    }
    ir_return(f, state, q.numbers);
    return f;
}

/* Forth, with tangents. */
static ir_func *make_jvp(ir_module *m, const eikonal_plan *p)
{
    ir_func *f = ir_func_create(m, "eikonal_flown_jvp");
    flown_parameters q = declare(f, p);
    const uint32_t n = q.numbers;
    ir_ref state[2 * EIKONAL_NUMBERS_MOST + 1], next[2 * EIKONAL_NUMBERS_MOST + 1], moved[6];
    for (int k = 0; k < 6; k++)
        moved[k] = ir_param(f, IR_F32);
    for (uint32_t k = 0; k < n; k++)
        ir_param(f, IR_F32); /* the end follows from the beginning */
    eikonal_state s = begin(&q);
    eikonal_pack(&q.t, p->lit, &s, state);
    ad_forward(f, q.ray, moved, 6, state, state + n, n);
    state[2 * n] = t_u32(&q.t, 0);
    ir_ref loop = ir_loop(f, state, 2 * n + 1);
    ir_while(f, ir_lt(f, state[2 * n], q.steps));
    s = eikonal_unpack(&q.t, p->lit, state);
    s = eikonal_step(&q.t, &q.law, &s);
    eikonal_pack(&q.t, p->lit, &s, next);
    ad_forward(f, state, state + n, n, next, next + n, n);
    next[2 * n] = t_offset(&q.t, state[2 * n], 1);
    ir_endloop(f, loop, next, 2 * n + 1);
    ir_return(f, state + n, n);
    return f;
}

/* Back from the end: each trip undoes one step and backpropagates it. What was emitted needs not be undone,
 * since a step adds to it whatever it is. */
static ir_func *make_vjp(ir_module *m, const eikonal_plan *p)
{
    ir_func *f = ir_func_create(m, "eikonal_flown_vjp");
    flown_parameters q = declare(f, p);
    const uint32_t n = q.numbers, kept = p->lit ? 6 + q.t.channels : 6;
    ir_ref state[2 * EIKONAL_NUMBERS_MOST + 1], next[2 * EIKONAL_NUMBERS_MOST + 1],
        stepped[EIKONAL_NUMBERS_MOST];
    eikonal_pack(&q.t, p->lit, &q.end, state);
    for (uint32_t k = 0; k < n; k++)
        state[n + k] = ir_param(f, IR_F32);
    state[2 * n] = q.steps;
    ir_ref loop = ir_loop(f, state, 2 * n + 1);
    ir_while(f, ir_gt(f, state[2 * n], t_u32(&q.t, 0)));
    eikonal_state s = eikonal_unpack(&q.t, p->lit, state);
    s = eikonal_back(&q.reads, &q.known, &s);
    eikonal_pack(&q.t, p->lit, &s, next);
    s.emitted = color_detach(&q.t, s.emitted);
    s = eikonal_step(&q.t, &q.law, &s);
    eikonal_pack(&q.t, p->lit, &s, stepped);
    memcpy(next + n + kept, state + n + kept, (n - kept) * sizeof *next);
    ad_backward(f, stepped, state + n, n, next, next + n, kept);
    next[2 * n] = ir_sub(f, state[2 * n], t_u32(&q.t, 1));
    ir_endloop(f, loop, next, 2 * n + 1);
    ir_ref started[6], ray[6 + EIKONAL_NUMBERS_MOST], zero = t_f32(&q.t, 0);
    s = begin(&q);
    vec3_put(s.x, started), vec3_put(s.w, started + 3);
    ad_backward(f, started, state + n, 6, q.ray, ray, 6);
    for (uint32_t k = 0; k < n; k++)
        ray[6 + k] = zero;
    ir_return(f, ray, 6 + n);
    return f;
}

ir_func *eikonal_flown(ir_module *m, const eikonal_plan *p)
{
    ir_func *primal = make_primal(m, p);
    if (!p->t.frozen)
        ad_custom(primal, make_jvp(m, p), make_vjp(m, p));
    return primal;
}
