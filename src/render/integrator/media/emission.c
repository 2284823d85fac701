/* SPDX-License-Identifier: BSD-3-Clause
 * Volumetric emission: the light that a medium emits along a stretch of a ray up to the next surface, with
 * transmittance T from the beginning of the stretch (docs/theory/volumes.md),
 *
 *     E = integral of T(t) emission(t) dt.
 *
 * The vertex at the end of a flight counts the whole stretch, wherever the flight ended. In homogeneous media
 * E has a closed form. In heterogeneous ones it is estimated by ratio tracking with random numbers of its
 * own: each tentative collision counts T * emission * (mean distance between collisions). Collisions occur
 * also where the extinction is 0 (track.longest), since a medium may emit without absorbing.
 *
 * The derivative is a nested path replay, as that of shadow rays (transmittance.c; PRB, section 4.4). With E
 * known, a second walk over the same collisions subtracts one term after the other. What is left is what the
 * next factor of T is multiplied by. */
#include "render/integrator/media/free_flight.h"

static const float diagonal_parts = 4; /* collisions along the box's diagonal, at least */
static const float thin = 1e-2f;       /* optical thickness below which the closed form is a series */
static const uint32_t own_numbers = 0x68E31DA4u;

/* The gradient of some medium's emission along stretches is wanted. */
static bool is_wanted(const walk *w)
{
    bool wanted = false;
    for (uint32_t i = 0; i < w->plan->media.count; i++) {
        const class_node *n = w->plan->media.data[i];
        wanted |= medium_emits(n) &&
                  (media_want_extinction(w) || plan_wants(n, "emission") || plan_moves_segments(w->plan));
    }
    return wanted;
}

/* The flight's stretch, with random numbers that only emission uses. */
static walk_stretch own_stream(walk *w, const walk_flight *fl)
{
    walk_stretch s = fl->s;
    s.key = ir_xor(w->t.f, s.key, t_u32(&w->t, own_numbers)), s.step = t_u32(&w->t, 0);
    return s;
}

/* ---- homogeneous ---- */

/* emission * (1 - exp(-x)) / x * length, x = extinction * length */
static color closed_form(walk *w, const walk_stretch *s, bool differentiated)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), least = t_f32(t, thin);
    vec3 p = stretch_begin(w, s, differentiated);
    ir_ref length = stretch_extent(w, s, differentiated);
    color sigma = stretch_extinction(w, s, p, differentiated),
          emission = stretch_emission(w, s, p, differentiated), r;
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref x = ir_mul(f, sigma.c[c], length), is_thin = ir_lt(f, x, least), small = ir_min(f, x, least);
        ir_ref series = t_mad(t, small, t_mad(t, small, t_f32(t, 1.0f / 6), t_f32(t, -0.5f)), one);
        ir_ref thick = ir_sub(f, one, ir_exp(f, ir_neg(f, x))), rate = ir_select(f, is_thin, one, sigma.c[c]);
        r.c[c] = ir_mul(f, emission.c[c],
                        ir_select(f, is_thin, ir_mul(f, series, length), ir_div(f, thick, rate)));
    }
    return r;
}

/* ---- heterogeneous ---- */

static track emission_track(walk *w, const walk_stretch *s)
{
    tracer *t = &w->t;
    track k = track_begin(w, s);
    k.shortened = true, k.longest = ir_mul(t->f, v3_length(t, k.diagonal), t_f32(t, 1 / diagonal_parts));
    return k;
}

/* What a collision adds to E, without the transmittance up to it. */
static color term(walk *w, const walk_stretch *s, const tentative *at, bool differentiated)
{
    if (!differentiated || !w->motion->moves_stretches)
        return color_scale(&w->t, stretch_emission(w, s, at->p, differentiated), at->mean);
    return color_scale(&w->t, stretch_emission(w, s, stretch_moved_point(w, s, at->distance), true),
                       stretch_length(w, s, at->mean));
}

/* The factor of the transmittance at a collision. */
static color left_by(walk *w, const walk_stretch *s, const tentative *at, bool differentiated)
{
    return track_null(w, differentiated ? track_passed(w, s, at->mean, at->distance)
                                        : track_real(w, s, at->mean, at->p, false));
}

/* One collision: product is the transmittance so far, other is E so far. */
static void collect(walk *w, const tentative *at, collisions *c)
{
    tracer *t = &w->t;
    color behind = color_mul(t, c->product, left_by(w, c->s, at, c->differentiated));
    color more = color_add(t, c->other, color_mul(t, c->product, term(w, c->s, at, c->differentiated)));
    c->product = color_select(t, at->collides, behind, c->product),
    c->other = color_select(t, at->collides, more, c->other);
}

static color collected(walk *w, const walk_stretch *s, bool differentiated)
{
    track k = emission_track(w, s);
    collisions c = {
        .s = s, .k = &k, .differentiated = differentiated, .two = true, .other = color_all(t_f32(&w->t, 0))};
    c = track_collisions(w, c, collect);
    return collisions_found(w, &c, c.other);
}

/* ---- either ---- */

color emission_radiance(walk *w, const walk_flight *fl, bool differentiated)
{
    BL_ASSERT(emission_any(w), "emission of %u media that emit nothing", w->plan->media.count);
    tracer *t = &w->t;
    color black = color_all(t_f32(t, 0)), closed = black, sum = black;
    walk_stretch s = own_stream(w, fl);
    if (media_any(w, true))
        closed = closed_form(w, &s, differentiated);
    if (media_any(w, false))
        sum = collected(w, &s, differentiated);
    color r = media_any(w, true) ? color_select(t, s.homogeneous, closed, sum) : sum;
    return color_select(t, s.there, r, black);
}

/* ---- adjoint ---- */

/* The adjoint's walk: left is the transmittance so far, to_come the emission of the collisions to come. */
typedef struct collecting {
    ir_ref distance, step, going;
    color left, to_come;
} collecting;

static void state_collecting(const walk *w, loop_state *s, collecting *c, arrivals *sum)
{
    state_ref(s, &c->distance), state_ref(s, &c->step), state_ref(s, &c->going);
    state_channels(w, s, &c->left), state_color(s, &w->t, &c->to_come);
    state_arrivals(s, sum);
}

static void collected_adjoint(walk *w, const walk_stretch *s, ir_ref when, color emitted, color seed,
                              arrivals *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    track k = emission_track(w, s);
    loop_state state = {0}, next = {0};
    collecting now = {.distance = k.near, .step = s->step, .to_come = emitted};
    now.going = ir_and(f, when, ir_not(f, s->homogeneous));
    now.left = color_all(t_f32(t, 1));
    state_collecting(w, &state, &now, sum);
    ir_ref loop = state_loop(f, &state);
    state_collecting(w, &state, &now, sum);
    ir_while(f, now.going);
    tentative at = track_next(w, s, &k, now.distance, now.step);
    color null = left_by(w, s, &at, false), own = color_mul(t, now.left, term(w, s, &at, false)), rest,
          seeds[2];
    for (uint32_t c = 0; c < t->channels; c++) {
        rest.c[c] = ir_sub(f, now.to_come.c[c], own.c[c]);
        seeds[0].c[c] = ir_select(f, at.collides, ir_mul(f, seed.c[c], now.left.c[c]), zero);
        seeds[1].c[c] =
            ir_select(f, at.collides, ir_mul(f, seed.c[c], t_ratio(t, rest.c[c], null.c[c])), zero);
    }
    color_backward_into(t, term(w, s, &at, true), seeds[0], sum);
    color_backward_into(t, left_by(w, s, &at, true), seeds[1], sum);
    now.distance = at.distance, now.step = ir_add(f, now.step, t_u32(t, 1)), now.going = at.inside;
    now.left = color_select(t, at.collides, color_mul(t, now.left, null), now.left);
    now.to_come = color_select(t, at.collides, rest, now.to_come);
    state_collecting(w, &next, &now, sum);
    state_endloop(f, loop, &state, &next);
    state_collecting(w, &state, &now, sum);
    state_end(&state);
}

void emission_adjoint(walk *w, const walk_flight *fl, ir_ref when, color emitted, color seed, arrivals *sum)
{
    if (!is_wanted(w))
        return;
    ir_func *f = w->t.f;
    walk_stretch s = own_stream(w, fl);
    when = ir_and(f, when, s.there);
    if (media_any(w, true)) {
        ir_ref branch = ir_if(f, ir_and(f, when, s.homogeneous));
        arrivals inside = *sum;
        color_backward_into(&w->t, closed_form(w, &s, true), seed, &inside);
        ir_else(f);
        ir_endif(f);
        arrivals_join(&w->t, branch, &inside, sum);
    }
    if (media_any(w, false))
        collected_adjoint(w, &s, when, emitted, seed, sum);
}
