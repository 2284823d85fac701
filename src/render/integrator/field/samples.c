/* SPDX-License-Identifier: BSD-3-Clause
 * The samples of a segment: where they lie, and which of them are in empty space. Sample i lies at the
 * distance (i + offset) step. Numbers are integers, and distances are computed from them, so samples keep
 * their places when others are skipped. */
#include "render/integrator/field/march.h"

field_segment field_segment_to(walk *w, const walk_position *at, const walk_vertex *v)
{
    ir_func *f = w->t.f;
    tracer *t = &w->t;
    const render_scene *scene = w->plan->scene;
    ir_ref length = v->si.t;
    if (scene->hide_emitters && scene->emitters.count > 0) /* then t begins behind the hidden lights */
        length = v3_dot(t, v3_sub(t, v->si.p, at->o), at->d);
    field_segment s = {
        .o = at->o,
        .d = at->d,
        .sample = at->sample,
        .limit = ir_select(f, v->si.valid, length, at->tmax),
        .offset = scene->march.jitter ? v->u_march : t_f32(t, 0.5f),
        .moves = w->motion->chains,
        .now = at->attached.now,
    };
    if (w->pass ==
        RENDER_UNROLLED) { /* which goes on after a path has ended somewhere, maybe not at a number */
        ir_ref on = ir_ge(f, at->tmax, t_f32(t, 0));
        vec3 up = v3(t_f32(t, 0), t_f32(t, 0), t_f32(t, 1)), origin = v3_zero(t);
        s.o = v3_select(t, on, s.o, origin), s.d = v3_select(t, on, s.d, up);
        if (s.moves)
            s.now.o = v3_select(t, on, s.now.o, origin), s.now.d = v3_select(t, on, s.now.d, up);
    }
    return s;
}

/* ---- the samples of a segment ---- */

static ir_ref ceiling(ir_func *f, ir_ref x) { return ir_neg(f, ir_floor(f, ir_neg(f, x))); }

/* x, moved away from 0 so that it can be divided by. */
static ir_ref divisor(tracer *t, ir_ref x)
{
    ir_func *f = t->f;
    ir_ref least = t_f32(t, 1e-12f);
    return ir_select(f, ir_lt(f, ir_abs(f, x), least), least, x);
}

/* u32: the number of the first sample at `distance` or beyond. */
static ir_ref sample_at(tracer *t, const march *m, ir_ref distance)
{
    ir_func *f = t->f;
    ir_ref number = ceiling(f, ir_sub(f, ir_div(f, distance, m->step), m->offset));
    return ir_to_u32(f, t_clamp(t, number, 0, 0x1p23f));
}

static void find_samples(tracer *t, march *m, ir_ref limit)
{
    ir_func *f = t->f;
    const ir_ref o[3] = {m->in_cube.o.x, m->in_cube.o.y, m->in_cube.o.z},
                 d[3] = {m->in_cube.d.x, m->in_cube.d.y, m->in_cube.d.z};
    ir_ref near = t_f32(t, 0), far = limit;
    for (int k = 0; k < 3; k++) {
        ir_ref speed = divisor(t, d[k]), a = ir_div(f, ir_neg(f, o[k]), speed),
               b = ir_div(f, ir_sub(f, t_f32(t, 1), o[k]), speed);
        near = ir_max(f, near, ir_min(f, a, b)), far = ir_min(f, far, ir_max(f, a, b));
    }
    m->first = sample_at(t, m, near), m->last = sample_at(t, m, far);
}

march march_begin(walk *w, const field_segment *s)
{
    tracer t = t_deciding(&w->t);
    march m = {.n = w->plan->field,
               .cls = field_of(w->plan->field),
               .offset = s->offset,
               .dark = s->dark,
               .moves = s->moves};
    m.record = t_word(&t, t_u32(&t, 0), HEADER_FIELD);
    m.step = m.cls->step(&t, m.n, m.record);
    m.least = m.cls->least_transmittance(&t, m.n, m.record);
    const vec3 o = v3_detach(&t, s->o), d = v3_detach(&t, s->d);
    m.in_cube = m.cls->into(&t, m.n, m.record, o, d);
    if (!s->dark)
        m.cls->basis(&t, m.n, d, m.basis);
    if (s->moves)
        m.now = m.cls->into(&t, m.n, m.record, s->now.o, s->now.d), m.w = s->now.d;
    m.skips = m.cls->cells && m.cls->cells(m.n) > 1 && !(w->plan->off & PLAN_CELLS);
    find_samples(&t, &m, s->limit);
    return m;
}

ir_ref march_distance(tracer *t, const march *m, ir_ref i)
{
    return ir_mul(t->f, ir_add(t->f, ir_to_f32(t->f, i), m->offset), m->step);
}

bool march_replay_skips(const walk *w, const march *m)
{
    return m->skips &&
           (m->cls->dead(m->n) || w->plan->scene->march.empty_below > 0 || !plan_wants(m->n, "density"));
}

ir_ref march_goes_on(walk *w, const march *m, ir_ref i, ir_ref left)
{
    ir_func *f = w->t.f;
    return ir_and(f, ir_lt(f, i, m->last), ir_ge(f, left, m->least));
}

ir_ref march_through(walk *w, ir_ref there, ir_ref thickness)
{
    ir_func *f = w->t.f;
    return ir_exp(f, ir_neg(f, ir_select(f, there, thickness, t_f32(&w->t, 0))));
}

/* ---- empty space: a DDA over the cells, from sample to sample ---- */

/* The number of the cell at p, x fastest, and the distance at which the ray leaves it. */
static ir_ref cell_at(tracer *t, const march *m, ir_ref distance, ir_ref *leaves)
{
    ir_func *f = t->f;
    uint32_t cells = m->cls->cells(m->n);
    ir_ref count = t_f32(t, (float)cells), zero = t_f32(t, 0), one = t_f32(t, 1), index[3];
    vec3 at = march_along(t, &m->in_cube, distance);
    const ir_ref p[3] = {at.x, at.y, at.z}, o[3] = {m->in_cube.o.x, m->in_cube.o.y, m->in_cube.o.z},
                 d[3] = {m->in_cube.d.x, m->in_cube.d.y, m->in_cube.d.z};
    *leaves = t_f32(t, 1e30f);
    for (int k = 0; k < 3; k++) {
        ir_ref cell = t_clamp(t, ir_floor(f, ir_mul(f, p[k], count)), 0, (float)(cells - 1)),
               speed = divisor(t, d[k]),
               plane = ir_div(f, ir_add(f, cell, ir_select(f, ir_gt(f, speed, zero), one, zero)), count);
        *leaves = ir_min(f, *leaves, ir_div(f, ir_sub(f, plane, o[k]), speed));
        index[k] = ir_to_u32(f, cell);
    }
    return volume_cell_number(t, index, cells);
}

ir_ref march_next_seen(walk *w, const march *m, ir_ref i)
{
    if (!m->skips)
        return i;
    tracer t = t_deciding(&w->t);
    ir_func *f = t.f;
    ir_ref loop = ir_loop(f, &i, 1), leaves, cell = cell_at(&t, m, march_distance(&t, m, i), &leaves);
    ir_ref empty = ir_eq(f, m->cls->bound(&t, m->n, m->record, cell), t_f32(&t, 0));
    ir_while(f, ir_and(f, ir_lt(f, i, m->last), empty));
    ir_ref next = ir_max(f, ir_add(f, i, t_u32(&t, 1)), sample_at(&t, m, leaves));
    ir_endloop(f, loop, &next, 1);
    return i;
}
