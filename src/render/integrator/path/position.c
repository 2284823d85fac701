/* SPDX-License-Identifier: BSD-3-Clause
 * Where a walk is: as loop state, at the next vertex, at the beginning of the next path. */
#include "render/integrator/motion/local_volume.h"

/* Whether a walk must know the vertex before. */
static bool keeps_last(const walk *w) { return walk_moves(w, MOVE_HITS) && walk_tracks(w) && !w->volumetric; }

static void state_hit(const walk *w, loop_state *s, walk_hit *h)
{
    state_ref(s, &h->valid), state_ref(s, &h->entry), state_ref(s, &h->t), state_vec2(s, &h->b);
    if (w->plan->scene->has_groups)
        state_ref(s, &h->level);
    if (walk_moves(w, MOVE_PLACES))
        state_ref(s, &h->slides);
    state_vec3(s, &h->o), state_vec3(s, &h->d), state_vec3(s, &h->p);
}

static void state_ray(const walk *w, loop_state *s, walk_ray *r)
{
    state_vec3(s, &r->o), state_vec3(s, &r->d);
    if (w->attaches)
        state_ref(s, &r->pdf);
}

void state_position(walk *w, loop_state *s, walk_position *at)
{
    if (s->reads) /* what the walk does not carry must not be used, but for the shares */
        *at = (walk_position){.share = color_all(t_f32(&w->t, 1.0f / 3))};
    state_ref(s, &at->sample), state_ref(s, &at->depth), state_ref(s, &at->tmax), state_ref(s, &at->pdf),
        state_ref(s, &at->delta);
    state_vec3(s, &at->o), state_vec3(s, &at->d);
    if (w->weighted)
        state_ref(s, &at->weight);
    if (w->volumetric)
        state_ref(s, &at->event), state_ref(s, &at->medium), state_vec3(s, &at->scattered);
    if (w->spectral)
        state_color(s, &at->share);
    if (w->follows)
        state_ref(s, &at->link);
    if (w->attaches)
        state_ref(s, &at->attached);
    if (w->follows && follow_keeps_now(w))
        state_ray(w, s, &at->now);
    else if (w->follows && s->reads)
        at->now = (walk_ray){at->o, at->d, at->pdf};
    if (keeps_last(w))
        state_hit(w, s, &at->last);
    if (w->sways)
        state_sway(w, s, at);
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
    if (w->sways)
        sway_none(w, &at);
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
        .link = w->follows ? v->onward : at.link,
        .now = {v->next_o, v->next_d, pdf},
    };
    if (w->attaches)
        next.attached = attached_next(w, v);
    if (keeps_last(w)) {
        next.last = v->hit_place;
        next.last.valid = ir_and(t->f, ir_and(t->f, next.last.valid, alive), ir_not(t->f, v->sample.delta));
    }
    if (w->volumetric)
        next_volumetric(w, &at, v, &next);
    if (w->sways)
        sway_next(w, &at, v, alive, &next);
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

static void start_following(walk *w, ir_ref branch, const walk_position *camera, walk_position *at)
{
    ir_func *f = w->t.f;
    at->link = ir_phi(f, branch, camera->link, at->link);
    if (w->attaches)
        at->attached = ir_phi(f, branch, camera->attached, at->attached);
    if (!follow_keeps_now(w))
        return;
    ir_ref from[RAY_MOST], old[RAY_MOST];
    uint32_t count = follow_pack(w, camera->now, from);
    follow_pack(w, at->now, old);
    for (uint32_t k = 0; k < count; k++)
        old[k] = ir_phi(f, branch, from[k], old[k]);
    at->now = follow_unpack(w, old);
}

walk_position walk_start(walk *w, ir_ref fresh, walk_position at)
{
    ir_func *f = w->t.f;
    ir_ref branch = ir_if(f, fresh);
    walk_position camera = walk_camera(w, at.sample);
    if (w->follows)
        follow_start(w, &camera);
    ir_else(f);
    ir_endif(f);
    if (w->volumetric) {
        at.medium = ir_phi(f, branch, camera.medium, at.medium);
        ir_ref x = ir_phi(f, branch, camera.scattered.x, at.scattered.x),
               y = ir_phi(f, branch, camera.scattered.y, at.scattered.y);
        at.scattered = v3(x, y, ir_phi(f, branch, camera.scattered.z, at.scattered.z));
    }
    for (int c = 0; w->spectral && c < 3; c++)
        at.share.c[c] = ir_phi(f, branch, camera.share.c[c], at.share.c[c]);
    if (w->follows)
        start_following(w, branch, &camera, &at);
    const ir_ref from[10] = {camera.o.x, camera.o.y,  camera.o.z, camera.d.x,   camera.d.y,
                             camera.d.z, camera.tmax, camera.pdf, camera.delta, camera.weight};
    const ir_ref old[10] = {at.o.x, at.o.y,  at.o.z, at.d.x,   at.d.y,
                            at.d.z, at.tmax, at.pdf, at.delta, at.weight};
    ir_ref r[10];
    for (int k = 0; k < 9 + w->weighted; k++)
        r[k] = ir_phi(f, branch, from[k], old[k]);
    at.o = v3(r[0], r[1], r[2]), at.d = v3(r[3], r[4], r[5]);
    if (w->follows && !follow_keeps_now(w))
        at.now = (walk_ray){at.o, at.d, r[7]};
    at.tmax = r[6], at.pdf = r[7], at.delta = r[8];
    if (w->weighted)
        at.weight = r[9];
    if (keeps_last(w))
        at.last.valid = ir_and(f, at.last.valid, ir_not(f, fresh));
    if (w->sways)
        at.border.valid = ir_and(f, at.border.valid, ir_not(f, fresh));
    return at;
}
