/* SPDX-License-Identifier: BSD-3-Clause
 * Differential ratio tracking (Nimier-David, Mueller, Keller, Jakob 2022, "Unbiased Inverse Volume Rendering
 * with Differential Trackers", section 4): the derivative of
 *
 *     L = integral of T(t) albedo(t) sigma(t) Li(t) dt + T(end) L(end)
 *
 * with respect to the extinction sigma at collisions is the integral of T(t) albedo(t) sigma'(t) Li(t). Delta
 * tracking finds collisions in proportion to T sigma, so replay (track_adjoint) divides by sigma. Where sigma
 * is small the estimate is noisy, and where sigma is 0 there is none. Differential ratio tracking (DRT)
 * samples the point in proportion to T alone: ratio tracking along the stretch makes every tentative
 * collision a candidate, with the weight (1 - sigma/mu) ... / mu that is left there, and a reservoir keeps
 * one of them.
 *
 * One reservoir serves the whole path: all stretches offer their candidates, weighted by the throughput
 * before them. When the sample has been walked (and, in reverse mode, replayed), a *DRT path* starts at the
 * kept candidate, as if the path had collided there, with random numbers of its own. The light that it finds
 * estimates Li. So a sample costs one path more, however long it is.
 *
 * The path's own collisions find the derivative as well. In a dense medium there are many of them, but only
 * one DRT path. So each of the two estimates a share of the derivative, which depends on the point only
 * (track_drt_share); the two shares sum to 1.
 *
 * The derivative of attenuation (null collisions before a collision, or toward a light) is replayed as usual,
 * since 1 - sigma/mu stays away from 0; so is that of the albedo. As the gradient needs no collision where
 * sigma is 0, paths are those of the image: collisions have no least probability here (tracking.c).
 *
 * Invariants: a DRT path never adds to the image, and starts no other one. Candidates have random numbers of
 * their own (own_numbers), so offering them does not change the path. */
#include "render/integrator/media/free_flight.h"

static const float diagonal_parts = 4; /* candidates along the box's diagonal, at least, on average */
static const uint32_t own_numbers = 0x1B56C4E9u, own_stream = 0x5851F42Du;

bool drt_any(const walk *w)
{
    return w->drt && (w->pass == RENDER_GRADIENT || w->pass == RENDER_ADJOINT || w->pass == RENDER_FORWARD);
}

/* ---- state ---- */

drt_path drt_none(walk *w)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), none = t_u32(t, 0), no = ir_bool(t->f, false);
    return (drt_path){
        .on = no,
        .first = no,
        .t = t_f32(t, -1),
        .sum = zero,
        .o = v3(zero, zero, zero),
        .d = v3(zero, zero, t_f32(t, 1)),
        .medium = none,
        .depth = none,
        .share = color_all(t_f32(t, 1.0f / (float)t->channels)),
        .beta = color_all(zero),
    };
}

void state_drt(walk *w, loop_state *s, drt_path *k)
{
    if (s->reads && !w->chromatic)
        k->share = color_all(t_f32(&w->t, 1.0f / (float)w->t.channels));
    state_ref(s, &k->on), state_ref(s, &k->first), state_ref(s, &k->t), state_ref(s, &k->sum);
    state_vec3(s, &k->o), state_vec3(s, &k->d);
    state_ref(s, &k->medium), state_ref(s, &k->depth);
    state_color(s, &w->t, &k->beta);
    if (w->chromatic)
        state_color(s, &w->t, &k->share);
}

static drt_path drt_select(walk *w, ir_ref condition, const drt_path *a, const drt_path *b)
{
    drt_path r = *a, other = *b;
    loop_state state = {0}, others = {0};
    state_drt(w, &state, &r), state_drt(w, &others, &other);
    state_select(w->t.f, condition, &state, &others);
    state_drt(w, &state, &r);
    state_end(&state);
    return r;
}

/* ---- candidates ---- */

/* The reservoir along one stretch. */
typedef struct search {
    ir_ref distance, step, going;
    ir_ref sum, t;    /* as in drt_path; t is negative if no candidate of this stretch is kept */
    color left;       /* transmittance so far, by ratio tracking */
    color left_there; /* the same at t */
} search;

static void state_search(const walk *w, loop_state *s, search *k)
{
    state_ref(s, &k->distance), state_ref(s, &k->step), state_ref(s, &k->going), state_ref(s, &k->sum),
        state_ref(s, &k->t);
    state_channels(w, s, &k->left), state_channels(w, s, &k->left_there);
}

/* Offers the candidates of a stretch, where `when`; beta: throughput before it, sum: of weights before. */
static search offer_candidates(walk *w, const walk_stretch *s, color beta, ir_ref sum, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    track line = track_begin(w, s);
    line.shortened = true,
    line.longest = ir_mul(f, v3_length(t, line.diagonal), t_f32(t, 1 / diagonal_parts));
    color one = color_all(t_f32(t, 1));
    search now = {
        .distance = line.near,
        .step = s->step,
        .going = when,
        .sum = sum,
        .t = t_f32(t, -1),
        .left = one,
        .left_there = one,
    };
    loop_state state = {0}, next = {0};
    state_search(w, &state, &now);
    ir_ref loop = state_loop(f, &state);
    state_search(w, &state, &now);
    ir_while(f, now.going);
    tentative c = track_next(w, s, &line, now.distance, now.step);
    color sigma = stretch_extinction(w, s, c.p, false);
    ir_ref value = ir_mul(f, color_max(t, color_mul(t, beta, now.left)), track_drt_share(w, &line, sigma)),
           weight = ir_mul(f, value, c.mean);
    ir_ref sum_with = ir_add(f, now.sum, weight),
           chosen = ir_and(f, c.collides, ir_lt(f, ir_mul(f, c.u, sum_with), weight));
    color behind = color_mul(t, now.left, track_null(w, track_real(w, s, c.mean, c.p, false)));
    search then = {
        .distance = c.distance,
        .step = ir_add(f, now.step, t_u32(t, 1)),
        .going = c.inside,
        .sum = ir_select(f, c.collides, sum_with, now.sum),
        .t = ir_select(f, chosen, c.distance, now.t),
        .left = color_select(t, c.collides, behind, now.left),
        .left_there = color_select(t, chosen, now.left, now.left_there),
    };
    state_search(w, &next, &then);
    state_endloop(f, loop, &state, &next);
    state_search(w, &state, &now);
    state_end(&state);
    now.sum =
        ir_select(f, track_exhausted(w, s, now.step), t_f32(t, 1e36f), now.sum); /* not finite: too many */
    return now;
}

void drt_offer(walk *w, drt_path *k, const walk_vertex *v, const walk_position *at, const throughput *b,
               ir_ref when)
{
    BL_ASSERT(drt_any(w), "candidates for a DRT path in pass %d", (int)w->pass);
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_stretch s = v->flight.s;
    s.key = ir_xor(f, s.key, t_u32(t, own_numbers)), s.step = t_u32(t, 0);
    color whole = throughput_whole(w, b);
    ir_ref most = color_max(t, whole);
    when =
        ir_and(f, ir_and(f, when, s.there), ir_and(f, ir_not(f, s.homogeneous), ir_gt(f, most, t_f32(t, 0))));
    if (w->plan->scene->max_depth >= 0) /* behind deeper collisions no light counts */
        when = ir_and(
            f, when,
            ir_lt(f, ir_add(f, at->depth, t_u32(t, 1)), t_u32(t, (uint32_t)w->plan->scene->max_depth)));
    search found = offer_candidates(w, &s, whole, k->sum, when);
    color there = color_mul(t, whole, found.left_there);
    drt_path here = {
        .on = k->on,
        .first = k->first,
        .t = found.t,
        .sum = found.sum,
        .o = s.o,
        .d = s.d,
        .medium = at->medium,
        .depth = at->depth,
        .share = at->share,
        .beta = color_scale(t, there, t_ratio(t, most, color_max(t, there))),
    };
    ir_ref chosen = ir_ge(f, found.t, t_f32(t, 0));
    k->sum = found.sum;
    *k = drt_select(w, chosen, &here, k);
}

/* ---- the DRT path ---- */

void drt_enter(walk *w, const drt_path *k)
{
    BL_ASSERT(drt_any(w) && !w->known.forces, "a vertex of a DRT path, in pass %d", (int)w->pass);
    tracer *t = &w->t;
    w->stream = ir_select(t->f, k->on, ir_xor(t->f, w->stream, t_u32(t, own_stream)), w->stream);
    w->known.forces = true, w->known.forced = ir_detach(t->f, ir_select(t->f, k->first, k->t, t_f32(t, -1)));
}

void drt_passed(walk *w, drt_path *k) { k->first = ir_bool(w->t.f, false); }

ir_ref drt_waits(walk *w, const drt_path *k)
{
    return ir_and(w->t.f, ir_not(w->t.f, k->on), ir_ge(w->t.f, k->t, t_f32(&w->t, 0)));
}

/* Events do not begin at 0 again, since event 0 means that a path begins at the camera. */
void drt_begin(walk *w, drt_path *k, walk_position *at, throughput *b, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref none = t_u32(t, 0);
    walk_position there = *at;
    there.o = k->o, there.d = k->d, there.tmax = t_f32(t, 1e30f), there.medium = k->medium,
    there.depth = k->depth, there.share = k->share;
    there.event = ir_add(f, k->depth, t_u32(t, 1)), there.scattered = k->o;
    *at = position_select(w, when, there, *at);
    const throughput weight = {.beta = k->beta, .zeros = {none, none, none}, .eta = t_f32(t, 1)};
    *b = throughput_select(w, when, &weight, b);
    k->on = ir_or(f, k->on, when), k->first = ir_or(f, k->first, when);
    k->sum = ir_select(f, when, t_ratio(t, k->sum, color_max(t, k->beta)), k->sum);
}

void drt_forget(walk *w, drt_path *k, ir_ref when)
{
    drt_path none = drt_none(w);
    *k = drt_select(w, when, &none, k);
}

color drt_value(walk *w, const drt_path *k)
{
    tracer *t = &w->t;
    ir_ref any = t_u32(t, 0);
    walk_stretch s = stretch_in(w, k->medium, k->o, k->d, k->t, any, any);
    vec3 p = stretch_point(t, &s, s.limit);
    color value = color_mul(t, stretch_albedo(w, &s, p, false), stretch_extinction(w, &s, p, true));
    return color_scale(t, value, ir_detach(t->f, k->sum));
}
