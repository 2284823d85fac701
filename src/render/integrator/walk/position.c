/* SPDX-License-Identifier: BSD-3-Clause
 * Where a walk is: as loop state, before it begins, at the next vertex. */
#include "render/integrator/motion/local_volume.h"
#include "render/integrator/walk/kernel.h"

static void put_hit(const walk *w, loop_state *s, const walk_hit *h)
{
    state_put(s, h->valid), state_put(s, h->entry), state_put(s, h->t), state_put(s, h->b.x),
        state_put(s, h->b.y);
    if (w->plan->scene->has_groups)
        state_put(s, h->level);
    if ((w->moves & MOVE_PLACES))
        state_put(s, h->slides);
    state_put_vec3(s, h->o), state_put_vec3(s, h->d), state_put_vec3(s, h->p);
}

static walk_hit get_hit(const walk *w, loop_state *s)
{
    walk_hit h = {0};
    h.valid = state_get(s), h.entry = state_get(s), h.t = state_get(s), h.b.x = state_get(s),
    h.b.y = state_get(s);
    if (w->plan->scene->has_groups)
        h.level = state_get(s);
    if ((w->moves & MOVE_PLACES))
        h.slides = state_get(s);
    h.o = state_get_vec3(s), h.d = state_get_vec3(s), h.p = state_get_vec3(s);
    return h;
}

void state_put_border(const walk *w, loop_state *s, const walk_border *b)
{
    state_put(s, b->valid), state_put(s, b->entry), state_put(s, b->t), state_put(s, b->b.x),
        state_put(s, b->b.y), state_put(s, b->distance);
    state_put_vec3(s, b->n);
    if (w->plan->scene->has_groups)
        state_put(s, b->level);
}

walk_border state_get_border(const walk *w, loop_state *s)
{
    walk_border b = {.valid = state_get(s), .entry = state_get(s), .t = state_get(s)};
    b.b.x = state_get(s), b.b.y = state_get(s), b.distance = state_get(s);
    b.n = state_get_vec3(s);
    if (w->plan->scene->has_groups)
        b.level = state_get(s);
    return b;
}

static void put_ray(const walk *w, loop_state *s, walk_ray moving)
{
    ir_ref r[RAY_MOST];
    uint32_t count = follow_pack(w, moving, r);
    for (uint32_t k = 0; k < count; k++)
        state_put(s, r[k]);
}

static walk_ray get_ray(const walk *w, loop_state *s)
{
    s->cursor += follow_width(w);
    return follow_unpack(w, s->r + s->cursor - follow_width(w));
}

void state_put_position(const walk *w, loop_state *s, const walk_position *at)
{
    state_put(s, at->sample), state_put(s, at->depth), state_put(s, at->tmax), state_put(s, at->pdf),
        state_put(s, at->delta);
    state_put_vec3(s, at->o), state_put_vec3(s, at->d);
    if (w->weighted)
        state_put(s, at->weight);
    if (w->volumetric)
        state_put(s, at->event), state_put(s, at->medium), state_put_vec3(s, at->scattered);
    if (w->spectral)
        state_put_color(s, at->share);
    if (w->motion->chains)
        state_put(s, at->link);
    if (w->attaches)
        state_put(s, at->attached);
    if (w->motion->chains && follow_keeps_now(w))
        put_ray(w, s, at->now);
    if ((w->motion == &motion_local_surface && w->moves & MOVE_HITS))
        put_hit(w, s, &at->last);
    if (w->motion->moves_stretches)
        state_put_sway(w, s, at);
}

walk_position state_get_position(walk *w, loop_state *s)
{
    walk_position at = {.share = color_all(t_f32(&w->t, 1.0f / 3))};
    at.sample = state_get(s), at.depth = state_get(s), at.tmax = state_get(s), at.pdf = state_get(s),
    at.delta = state_get(s);
    at.o = state_get_vec3(s), at.d = state_get_vec3(s);
    if (w->weighted)
        at.weight = state_get(s);
    if (w->volumetric)
        at.event = state_get(s), at.medium = state_get(s), at.scattered = state_get_vec3(s);
    if (w->spectral)
        at.share = state_get_color(s);
    if (w->motion->chains)
        at.link = state_get(s), at.now = (walk_ray){at.o, at.d, at.pdf};
    if (w->attaches)
        at.attached = state_get(s);
    if (w->motion->chains && follow_keeps_now(w))
        at.now = get_ray(w, s);
    if ((w->motion == &motion_local_surface && w->moves & MOVE_HITS))
        at.last = get_hit(w, s);
    if (w->motion->moves_stretches)
        state_get_sway(w, s, &at);
    return at;
}

walk_position walk_before(walk *w, ir_ref sample)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    ir_ref none = t_u32(t, 0);
    vec3 origin = v3(zero, zero, zero), up = v3(zero, zero, one);
    walk_position at = {
        .sample = sample,
        .depth = none,
        .o = origin,
        .d = up,
        .tmax = t_f32(t, -1),
        .pdf = one,
        .delta = ir_bool(t->f, true),
        .event = none,
        .medium = none,
        .scattered = origin,
        .share = color_all(t_f32(t, 1.0f / 3)),
        .weight = one,
        .link = none,
        .attached = none,
        .now = {origin, up, one},
        .last = {.valid = ir_bool(t->f, false),
                 .entry = none,
                 .level = none,
                 .t = zero,
                 .b = {zero, zero},
                 .o = origin,
                 .d = up,
                 .p = origin,
                 .slides = ir_bool(t->f, true)},
    };
    w->motion->before(w, &at);
    return at;
}

/* What goes straight through a surface stays as it was, but for where it is. */
static void next_volumetric(walk *w, const walk_position *at, const walk_vertex *v, walk_position *next)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    next->depth = ir_select(f, v->through, at->depth, next->depth);
    next->pdf = ir_select(f, v->through, at->pdf, next->pdf);
    next->delta = ir_select(f, v->through, at->delta, next->delta);
    if (w->media)
        next->delta = ir_or(f, next->delta, ir_not(f, v->samples_light));
    next->event = ir_add(f, at->event, t_u32(t, 1));
    next->medium = v->medium;
    next->scattered = v3_select(t, v->through, at->scattered, v->si.p);
    next->share = w->media ? v->flight.share : at->share;
}

walk_position walk_next(walk *w, walk_position at, const walk_vertex *v, ir_ref alive)
{
    tracer *t = &w->t;
    ir_ref pdf = v->sample.pdf;
    if (w->behind_null) {
        ir_ref through = ir_and(t->f, v->sample.delta, ir_ge(t->f, v->sample.lobe, t_u32(t, LOBE_NULL)));
        pdf = ir_select(t->f, through, at.pdf, pdf); /* nobody asks for the density of a discrete lobe */
    }
    walk_position next = {
        .sample = at.sample,
        .depth = ir_add(t->f, at.depth, t_u32(t, 1)),
        .o = v->next_o,
        .d = v->next_d,
        .tmax = ir_select(t->f, alive, t_f32(t, 1e30f), t_f32(t, -1)),
        .pdf = pdf,
        .delta = v->sample.delta,
        .weight = at.weight,
    };
    if (w->volumetric)
        next_volumetric(w, &at, v, &next);
    w->motion->next(w, &at, v, alive, &next);
    return next;
}

walk_position position_select(walk *w, ir_ref condition, walk_position a, walk_position b)
{
    loop_state from = {0}, old = {0};
    state_put_position(w, &from, &a), state_put_position(w, &old, &b);
    state_select(&w->t, condition, &from, &old);
    return state_get_position(w, &from);
}

walk_position walk_restart(walk *w, ir_ref alive, walk_position at)
{
    ir_ref none = t_u32(&w->t, 0);
    at.depth = ir_select(w->t.f, alive, at.depth, none);
    if (w->volumetric)
        at.event = ir_select(w->t.f, alive, at.event, none);
    return at;
}
