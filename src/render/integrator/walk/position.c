/* SPDX-License-Identifier: BSD-3-Clause
 * The position of a walk, which is the path state before a vertex. This file makes the position before the
 * first sample, the position before the next vertex, and the position at which the next path begins, and
 * carries positions through loops.
 *
 * Invariant: after a loop or a selection only those fields of a position may be used that state_position
 * visits. The functions of a kind of motion set the fields of that kind (walk_motion_class.state, before,
 * next). */
#include "render/integrator/walk/kernel.h"

void state_hit(const walk *w, loop_state *s, walk_hit *h)
{
    state_ref(s, &h->valid), state_ref(s, &h->entry), state_ref(s, &h->t), state_vec2(s, &h->b);
    if (w->plan->scene->has_groups)
        state_ref(s, &h->level);
    if (w->moves & MOVE_TO_WORLD)
        state_ref(s, &h->slides);
    state_vec3(s, &h->o), state_vec3(s, &h->d), state_vec3(s, &h->p);
}

void state_border(const walk *w, loop_state *s, walk_border *b)
{
    state_ref(s, &b->valid), state_ref(s, &b->entry), state_ref(s, &b->t), state_vec2(s, &b->b),
        state_ref(s, &b->distance);
    state_vec3(s, &b->n);
    if (w->plan->scene->has_groups)
        state_ref(s, &b->level);
}

void state_position(walk *w, loop_state *s, walk_position *at)
{
    BL_ASSERT(w->motion, "the position of a walk that has not begun, in pass %d", (int)w->pass);
    if (s->reads) /* Fields that are not carried must not be used, but the shares have a known value. */
        *at = (walk_position){.share = color_all(t_f32(&w->t, 1.0f / (float)w->t.channels))};
    state_ref(s, &at->sample), state_ref(s, &at->depth), state_ref(s, &at->tmax), state_ref(s, &at->pdf),
        state_ref(s, &at->delta);
    state_vec3(s, &at->o), state_vec3(s, &at->d);
    if (w->weighted)
        state_ref(s, &at->weight);
    if (w->volumetric)
        state_ref(s, &at->event), state_ref(s, &at->medium), state_vec3(s, &at->scattered);
    else if (w->bends)
        state_ref(s, &at->medium);
    if (w->chromatic)
        state_color(s, &w->t, &at->share);
    w->motion->state(w, s, at);
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
        .share = color_all(t_f32(t, 1.0f / (float)t->channels)),
        .weight = one,
        .attached = {none, none, {origin, up, one, origin}},
        .local_surface.last = {.valid = ir_bool(t->f, false),
                               .entry = walk_no_entry(t),
                               .level = walk_no_level(t),
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

/* For volumetric walks. A path that goes straight through a surface keeps its depth, its density and the
 * point where light sampling would have started. Only its place and medium change. */
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
        pdf = ir_select(t->f, through, at.pdf, pdf); /* The density of a discrete lobe is not used. */
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
    if (w->bends) /* no light is sampled along a curve */
        next.medium = v->medium, next.delta = ir_or(t->f, next.delta, v->bends_on);
    if (w->disperses)
        next.share = v->share;
    w->motion->next(w, &at, v, alive, &next);
    return next;
}

walk_position position_select(walk *w, ir_ref condition, walk_position a, walk_position b)
{
    loop_state state = {0}, others = {0};
    state_position(w, &state, &a), state_position(w, &others, &b);
    state_select(w->t.f, condition, &state, &others);
    state_position(w, &state, &a);
    state_end(&state);
    return a;
}

walk_position walk_restart(walk *w, ir_ref alive, walk_position at)
{
    ir_ref none = t_u32(&w->t, 0);
    at.depth = ir_select(w->t.f, alive, at.depth, none);
    if (w->volumetric)
        at.event = ir_select(w->t.f, alive, at.event, none);
    return at;
}
