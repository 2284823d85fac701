/* SPDX-License-Identifier: BSD-3-Clause
 * Light that media emit: along a stretch of a ray up to the next surface, with transmittance T from its beginning,
 *
 *     E = integral of T(t) emission(t) dt.
 *
 * The whole stretch counts at the vertex behind it, wherever the flight ended: in closed form in homogeneous media; in heterogeneous
 * ones by a ratio tracking of its own, a stream of random numbers that nothing else uses, where each tentative collision counts T * emission *
 * (mean distance between collisions). Where the extinction is 0 there are collisions too (track.longest), since what emits need not
 * absorb.
 *
 * Its derivative is a nested path replay, as that of shadow rays (shadow.c; PRB section 4.4): with E known, a second walk over the same
 * collisions takes one term after the other away, and what is left is what the next factor of T is multiplied with. */
#include "render/integrator/flight.h"

static const float diagonal_parts = 4;     /* collisions along the box's diagonal, at least */
static const float thin = 1e-2f;           /* optical thickness below which the closed form is a series */
static const float endless = 1e36f;        /* of more collisions than tracking can do */
static const uint32_t own_numbers = 0x68E31DA4u;

bool glow_any(const walk *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++)
        any |= medium_emits(w->plan->media.data[i]);
    return any;
}

static bool is_wanted(const walk *w)
{
    bool wanted = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++) {
        const class_node *n = w->plan->media.data[i];
        wanted |= medium_emits(n) && (media_want_extinction(w) || plan_wants(n, "emission"));
    }
    return wanted;
}

static walk_stretch own_stream(walk *w, const walk_flight *fl)
{
    walk_stretch s = fl->s;
    s.key = ir_xor(w->t.f, s.key, t_u32(&w->t, own_numbers)), s.step = t_u32(&w->t, 0);
    return s;
}

/* ---- homogeneous ---- */

/* emission * (1 - exp(-x)) / x * length, x = extinction * length */
static color closed_form(walk *w, const walk_stretch *s, bool tracked)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), least = t_f32(t, thin);
    color sigma = stretch_extinction(w, s, s->o, tracked), emission = stretch_emission(w, s, s->o, tracked), r;
    for (int c = 0; c < 3; c++) {
        ir_ref x = ir_mul(f, sigma.c[c], s->limit), is_thin = ir_lt(f, x, least), small = ir_min(f, x, least);
        ir_ref series = t_mad(t, small, t_mad(t, small, t_f32(t, 1.0f / 6), t_f32(t, -0.5f)), one);
        ir_ref thick = ir_sub(f, one, ir_exp(f, ir_neg(f, x))), rate = ir_select(f, is_thin, one, sigma.c[c]);
        r.c[c] = ir_mul(f, emission.c[c], ir_select(f, is_thin, ir_mul(f, series, s->limit), ir_div(f, thick, rate)));
    }
    return r;
}

/* ---- heterogeneous ---- */

static track glow_track(walk *w, const walk_stretch *s)
{
    tracer *t = &w->t;
    track k = track_begin(w, s);
    k.shortened = true, k.longest = ir_mul(t->f, v3_length(t, k.diagonal), t_f32(t, 1 / diagonal_parts));
    return k;
}

/* What a collision adds, but for the transmittance up to it. */
static color term(walk *w, const walk_stretch *s, const tentative *at, bool tracked)
{
    return color_scale(&w->t, stretch_emission(w, s, at->p, tracked), at->mean);
}

typedef struct collecting {
    ir_ref distance, step, going;
    color left, sum; /* transmittance so far; what has been collected */
} collecting;

static void put_collecting(const walk *w, loop_state *s, const collecting *c)
{
    state_put(s, c->distance), state_put(s, c->step), state_put(s, c->going);
    channels_put(w, s, c->left);
    state_put_color(s, c->sum);
}

static collecting get_collecting(const walk *w, loop_state *s)
{
    collecting c;
    c.distance = state_get(s), c.step = state_get(s), c.going = state_get(s);
    c.left = channels_get(w, s), c.sum = state_get_color(s);
    return c;
}

static collecting collect_next(walk *w, const walk_stretch *s, const track *k, const collecting *now, bool tracked)
{
    tracer *t = &w->t;
    tentative at = track_next(w, s, k, now->distance, now->step);
    color behind = color_mul(t, now->left, track_null(w, track_real(w, s, at.mean, at.p, tracked)));
    color more = color_add(t, now->sum, color_mul(t, now->left, term(w, s, &at, tracked)));
    collecting then = {.distance = at.distance, .step = ir_add(t->f, now->step, t_u32(t, 1)), .going = at.inside};
    then.left = color_select(t, at.collides, behind, now->left), then.sum = color_select(t, at.collides, more, now->sum);
    return then;
}

/* As track.c does it. */
static collecting collect_unrolled(walk *w, const walk_stretch *s, const track *k, collecting now)
{
    tracer *t = &w->t;
    for (int i = 0; i < UNROLLED_STEPS; i++) {
        collecting then = collect_next(w, s, k, &now, true);
        now.distance = ir_select(t->f, now.going, then.distance, now.distance), now.step = ir_select(t->f, now.going, then.step, now.step);
        now.left = color_select(t, now.going, then.left, now.left), now.sum = color_select(t, now.going, then.sum, now.sum);
        now.going = ir_and(t->f, now.going, then.going);
    }
    now.sum = color_select(t, now.going, color_all(t_f32(t, endless)), now.sum);
    return now;
}

static collecting collect_loop(walk *w, const walk_stretch *s, const track *k, collecting now, bool tracked)
{
    loop_state state = {0}, next = {0};
    put_collecting(w, &state, &now);
    ir_ref loop = ir_loop(w->t.f, state.r, state.count);
    now = get_collecting(w, &state);
    ir_while(w->t.f, now.going);
    collecting then = collect_next(w, s, k, &now, tracked);
    put_collecting(w, &next, &then);
    ir_endloop(w->t.f, loop, next.r, next.count);
    return now;
}

static color collected(walk *w, const walk_stretch *s, bool tracked)
{
    tracer *t = &w->t;
    track k = glow_track(w, s);
    collecting now = {k.near, s->step, ir_and(t->f, s->there, ir_not(t->f, s->homogeneous)), color_all(t_f32(t, 1)), color_all(t_f32(t, 0))};
    now = tracked && w->pass == RENDER_UNROLLED ? collect_unrolled(w, s, &k, now) : collect_loop(w, s, &k, now, tracked);
    return color_select(t, track_exhausted(w, s, now.step), color_all(t_f32(t, endless)), now.sum);
}

/* ---- either ---- */

color glow_radiance(walk *w, const walk_flight *fl, bool tracked)
{
    tracer *t = &w->t;
    color black = color_all(t_f32(t, 0)), closed = black, sum = black;
    walk_stretch s = own_stream(w, fl);
    if (media_any(w, true))
        closed = closed_form(w, &s, tracked);
    if (media_any(w, false))
        sum = collected(w, &s, tracked);
    color r = media_any(w, true) ? color_select(t, s.homogeneous, closed, sum) : sum;
    return color_select(t, s.there, r, black);
}

/* ---- adjoint ---- */

static void collected_adjoint(walk *w, const walk_stretch *s, ir_ref when, color emitted, color seed)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    track k = glow_track(w, s);
    loop_state state = {0}, next = {0};
    state_put(&state, k.near), state_put(&state, s->step), state_put(&state, ir_and(f, when, ir_not(f, s->homogeneous)));
    channels_put(w, &state, color_all(t_f32(t, 1)));
    state_put_color(&state, emitted);
    ir_ref loop = ir_loop(f, state.r, state.count);
    ir_ref distance = state_get(&state), step = state_get(&state), going = state_get(&state);
    color left = channels_get(w, &state), to_come = state_get_color(&state);
    ir_while(f, going);
    tentative at = track_next(w, s, &k, distance, step);
    color null = track_null(w, track_real(w, s, at.mean, at.p, false)), own = color_mul(t, left, term(w, s, &at, false)), rest, seeds[2];
    for (int c = 0; c < 3; c++) {
        rest.c[c] = ir_sub(f, to_come.c[c], own.c[c]);
        seeds[0].c[c] = ir_select(f, at.collides, ir_mul(f, seed.c[c], left.c[c]), zero);
        seeds[1].c[c] = ir_select(f, at.collides, ir_mul(f, seed.c[c], t_ratio(t, rest.c[c], null.c[c])), zero);
    }
    color_backward(t, term(w, s, &at, true), seeds[0]);
    color_backward(t, track_null(w, track_real(w, s, at.mean, at.p, true)), seeds[1]);
    state_put(&next, at.distance), state_put(&next, ir_add(f, step, t_u32(t, 1))), state_put(&next, at.inside);
    channels_put(w, &next, color_select(t, at.collides, color_mul(t, left, null), left));
    state_put_color(&next, color_select(t, at.collides, rest, to_come));
    ir_endloop(f, loop, next.r, next.count);
}

void glow_adjoint(walk *w, const walk_flight *fl, ir_ref when, color emitted, color seed)
{
    if (!is_wanted(w))
        return;
    ir_func *f = w->t.f;
    walk_stretch s = own_stream(w, fl);
    when = ir_and(f, when, s.there);
    if (media_any(w, true)) {
        ir_if(f, ir_and(f, when, s.homogeneous));
        color_backward(&w->t, closed_form(w, &s, true), seed);
        ir_else(f);
        ir_endif(f);
    }
    if (media_any(w, false))
        collected_adjoint(w, &s, when, emitted, seed);
}
