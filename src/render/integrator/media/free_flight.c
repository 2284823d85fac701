/* SPDX-License-Identifier: BSD-3-Clause
 * Free flights: where a path's segment in a medium has its next real collision, or that it has none before
 * the next surface; transmittance of a stretch; and the derivatives of both (PRB, section 4.4, the
 * null-collision form of the integral with a detached majorant; docs/theory/volumes.md).
 *
 * Homogeneous media, in this file: the distance is sampled from an exponential of the extinction. The value
 * is the transmittance, times the scattering coefficient at a collision. Heterogeneous media, in tracking.c:
 * delta tracking. Tentative collisions come at the rate of the majorant mu; at each, with extinction sigma,
 *
 *     real   value albedo * sigma / mu     null   value 1 - sigma / mu.
 *
 * Spectral MIS: if extinction differs by channel, one channel samples the path, and the weight combines what
 * all three would have done (balance heuristic, Wilkie et al. 2014). Let s(i) be the probability that channel
 * i does the sampling, given the path so far, and p(i) the density of a choice if it does. Then the density
 * of the choice is P = sum s(i) p(i), and s(i) becomes s(i) p(i) / P. To choose the channel anew from s
 * before each choice is the same process, so a path carries s only (`share`).
 *
 * Invariants: distances and shares are detached. In gradient passes real and null collisions both keep a
 * positive probability, so that a coefficient that is 0 now is still sampled (docs/theory/support.md): the
 * majorant lies above the extinction (medium/media.c), and real collisions have a least probability
 * (tracking.c). */
#include "render/integrator/media/free_flight.h"

/* Homogeneous media, where the gradient of extinction is wanted: distances are sampled as if a segment up to
 * the surface had at least this optical thickness, so that collisions occur. */
static const float least_optical = 0.05f;

/* ---- homogeneous ---- */

/* Rates by which each channel samples distances. */
static color sampling_rates(walk *w, const walk_stretch *s, color sigma)
{
    tracer *t = &w->t;
    if (!media_want_extinction(w))
        return sigma;
    float size = w->plan->scene->radius > 0 ? 2 * w->plan->scene->radius : 1; /* of what has no end */
    ir_ref least = t_ratio(t, t_f32(t, least_optical), ir_min(t->f, s->limit, t_f32(t, size)));
    COLOR_EACH(r, ir_max(t->f, sigma.c[c], least));
    return r;
}

/* The rate of the channel that u chooses. */
static ir_ref chosen_rate(walk *w, color share, color rate, ir_ref u)
{
    ir_func *f = w->t.f;
    if (!w->chromatic)
        return rate.c[0];
    const uint32_t last = w->t.channels - 1;
    ir_ref sum = share.c[0], before[COLOR_MOST], chosen = rate.c[last];
    for (uint32_t c = 0; c < last; c++) {
        sum = c ? ir_add(f, sum, share.c[c]) : sum;
        before[c] = ir_lt(f, u, sum);
    }
    for (uint32_t c = last; c-- > 0;)
        chosen = ir_select(f, before[c], rate.c[c], chosen);
    return chosen;
}

static ir_ref exponential(tracer *t, ir_ref rate, ir_ref distance)
{
    return ir_exp(t->f, ir_neg(t->f, ir_mul(t->f, rate, distance)));
}

/* The density by each channel of a collision at `end`, or the probability of none before it. */
static color end_chance(walk *w, color rate, ir_ref end, ir_ref collides)
{
    tracer *t = &w->t;
    COLOR_EACH(
        r, ir_mul(t->f, exponential(t, rate.c[c], end), ir_select(t->f, collides, rate.c[c], t_f32(t, 1))));
    return r;
}

/* The distance of the collision, if no surface is nearer. */
static ir_ref sampled_distance(walk *w, const walk_stretch *s, color share, color rate)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1);
    random4 r = walk_stretch_numbers(w, s, s->step);
    ir_ref chosen = chosen_rate(w, share, rate, r.u[2]), some = ir_gt(f, chosen, t_f32(t, 0));
    ir_ref depth = ir_neg(f, ir_log(f, ir_sub(f, one, r.u[0])));
    return ir_select(f, some, ir_div(f, depth, ir_select(f, some, chosen, one)), t_f32(t, 1e30f));
}

/* A ray that meets nothing up to this distance has the same flight as one that meets something behind it: it
 * collides before, with the same rates. */
static ir_ref free_reach(walk *w, const walk_stretch *s, color share)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    color sigma = stretch_extinction(w, s, s->o, false);
    ir_ref reach = sampled_distance(w, s, share, sampling_rates(w, s, sigma));
    if (media_want_extinction(w)) { /* the rates depend on what is less than least_optical away */
        ir_ref least = sigma.c[0];
        for (uint32_t c = 1; c < t->channels; c++)
            least = ir_min(f, least, sigma.c[c]);
        reach = ir_max(f, reach, ir_div(f, t_f32(t, least_optical), ir_max(f, least, t_f32(t, 1e-20f))));
    }
    return t_mad(t, reach, t_f32(t, 1.001f), t_f32(t, 1e-20f)); /* more than rounding takes away */
}

static walk_flight free_flight(walk *w, const walk_stretch *s, color share)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    color sigma = stretch_extinction(w, s, s->o, false), rate = sampling_rates(w, s, sigma);
    ir_ref distance = sampled_distance(w, s, share, rate);
    walk_flight fl = {
        .s = *s, .collides = ir_and(f, s->there, ir_lt(f, distance, s->limit)), .steps = s->step};
    fl.t = ir_select(f, fl.collides, distance, s->limit);
    color chance = end_chance(w, rate, fl.t, fl.collides),
          albedo = stretch_albedo(w, s, stretch_point(t, s, fl.t), false);
    ir_ref mixed = share_mixture(w, share, chance), inverse = t_ratio(t, one, mixed);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref scatters = ir_select(f, fl.collides, ir_mul(f, albedo.c[c], sigma.c[c]), one),
               is_zero = ir_eq(f, scatters, zero);
        ir_ref transmitted = ir_mul(f, exponential(t, sigma.c[c], fl.t), inverse);
        ir_ref weight = ir_mul(f, transmitted, ir_select(f, is_zero, one, scatters));
        if (media_exact(w))
            weight = ir_select(f, fl.collides,
                               ir_select(f, is_zero, t_ratio(t, one, sigma.c[c]), albedo.c[c]), one);
        fl.weight.c[c] = ir_select(f, s->there, weight, one);
        fl.zeros[c] = ir_to_u32(f, ir_and(f, s->there, is_zero));
    }
    fl.share = color_select(t, s->there, share_after(w, share, chance, mixed), share);
    return fl;
}

/* albedo * extinction where the flight ends, differentiated */
static color free_scattering(walk *w, const walk_flight *fl, color sigma)
{
    color value =
        color_mul(&w->t, stretch_albedo(w, &fl->s, stretch_moved_point(w, &fl->s, fl->t), true), sigma);
    return color_scale(&w->t, value, flight_growth(w, fl));
}

/* The weight of the flight in a homogeneous medium, differentiated. */
static color free_weight(walk *w, const walk_flight *fl, color share)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_stretch *s = &fl->s;
    ir_ref one = t_f32(t, 1);
    color rate = sampling_rates(w, s, stretch_extinction(w, s, s->o, false)),
          chance = end_chance(w, rate, fl->t, fl->collides);
    ir_ref inverse = t_ratio(t, one, share_mixture(w, share, chance));
    color sigma = stretch_extinction(w, s, stretch_moved_point(w, s, t_f32(t, 0)), true),
          scattering = free_scattering(w, fl, sigma);
    ir_ref length = stretch_length(w, s, fl->t);
    COLOR_EACH(r, ir_select(f, s->there,
                            ir_mul(f, ir_mul(f, exponential(t, sigma.c[c], length), inverse),
                                   ir_select(f, fl->collides, scattering.c[c], one)),
                            one));
    return r;
}

/* ---- either kind of medium ---- */

static walk_flight flight_select(walk *w, ir_ref first, const walk_flight *a, const walk_flight *b)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    walk_flight fl = {
        .s = a->s,
        .collides = ir_select(f, first, a->collides, b->collides),
        .mean = b->mean,
        .t = ir_select(f, first, a->t, b->t),
        .steps = ir_select(f, first, a->steps, b->steps),
        .weight = color_select(t, first, a->weight, b->weight),
        .share = color_select(t, first, a->share, b->share),
    };
    for (uint32_t c = 0; c < t->channels; c++)
        fl.zeros[c] = ir_select(f, first, a->zeros[c], b->zeros[c]);
    return fl;
}

static walk_stretch flight_stretch(walk *w, const walk_position *at, ir_ref limit)
{
    return stretch_in(w, at->medium, at->o, at->d, limit, at->sample, stretch_key(w, at->event, 0));
}

/* Not where something else wants to know the surface behind the collision. */
ir_ref flight_reach(walk *w, const walk_position *at)
{
    ir_func *f = w->t.f;
    if (!media_any(w, true) || w->bends || w->known.meets || emission_any(w) || plan_moves_segments(w->plan))
        return at->tmax;
    walk_stretch s = flight_stretch(w, at, at->tmax);
    ir_ref reach = ir_min(f, at->tmax, free_reach(w, &s, at->share));
    return ir_select(f, ir_and(f, s.there, s.homogeneous), reach, at->tmax);
}

walk_flight flight_start(walk *w, const walk_position *at, ir_ref limit)
{
    BL_ASSERT(!w->known.forces || ir_made(w->t.f, w->known.forced),
              "a collision is forced nowhere, in pass %d", (int)w->pass);
    walk_stretch s = flight_stretch(w, at, limit);
    s.there = ir_and(w->t.f, s.there, ir_gt(w->t.f, at->tmax, t_f32(&w->t, 0)));
    ir_ref forced = ir_bool(w->t.f, false);
    if (w->known.forces) { /* a forced flight has weight 1, as if there were no medium before the collision */
        forced = ir_and(w->t.f, s.there, ir_ge(w->t.f, w->known.forced, t_f32(&w->t, 0)));
        s.there = ir_and(w->t.f, s.there, ir_not(w->t.f, forced));
    }
    walk_flight free_one = {0}, tracking_one = {0}, fl;
    if (media_any(w, true))
        free_one = free_flight(w, &s, at->share);
    if (media_any(w, false))
        tracking_one = track_flight(w, &s, at->share);
    if (media_any(w, true) && media_any(w, false))
        fl = flight_select(w, s.homogeneous, &free_one, &tracking_one);
    else
        fl = media_any(w, true) ? free_one : tracking_one;
    if (w->known.forces)
        fl.collides = ir_or(w->t.f, fl.collides, forced),
        fl.t = ir_select(w->t.f, forced, w->known.forced, fl.t);
    return fl;
}

color flight_weight(walk *w, const walk_flight *fl, color share)
{
    color homogeneous = {0}, heterogeneous = {0};
    for (uint32_t c = 0; c < w->t.channels; c++)
        share.c[c] = ir_detach(w->t.f, share.c[c]);
    if (media_any(w, true))
        homogeneous = free_weight(w, fl, share);
    if (media_any(w, false))
        heterogeneous = track_weight(w, fl);
    if (!media_any(w, false))
        return homogeneous;
    if (!media_any(w, true))
        return heterogeneous;
    return color_select(&w->t, fl->s.homogeneous, homogeneous, heterogeneous);
}

/* ---- transmittance ---- */

void stretch_inside(walk *w, const walk_stretch *s, ir_ref *near, ir_ref *far)
{
    ir_func *f = w->t.f;
    *near = t_f32(&w->t, 0), *far = s->limit;
    if (!media_any(w, false))
        return;
    track k = track_begin(w, s);
    *near = ir_select(f, s->homogeneous, *near, k.near), *far = ir_select(f, s->homogeneous, *far, k.far);
}

color medium_scattering(walk *w, ir_ref medium, vec3 o, vec3 d, ir_ref distance)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref any = t_u32(t, 0), near, far;
    walk_stretch s = stretch_in(w, medium, o, d, distance, any, any);
    vec3 p = stretch_point(t, &s, distance);
    color c = color_mul(t, stretch_albedo(w, &s, p, false), stretch_extinction(w, &s, p, false));
    stretch_inside(w, &s, &near, &far);
    ir_ref within =
        ir_and(f, ir_le(f, near, distance), ir_ge(f, far, distance)); /* the grid, if there is one */
    return color_select(t, ir_and(f, s.there, within), c, color_all(t_f32(t, 0)));
}

color stretch_transmittance(walk *w, walk_stretch *s, bool differentiated)
{
    tracer *t = &w->t;
    color one = color_all(t_f32(t, 1)), closed = one, product = one;
    if (media_any(w, true)) {
        color sigma = stretch_extinction(w, s, stretch_begin(w, s, differentiated), differentiated);
        ir_ref length = stretch_extent(w, s, differentiated);
        for (uint32_t c = 0; c < t->channels; c++)
            closed.c[c] = exponential(t, sigma.c[c], length);
    }
    if (media_any(w, false))
        product = track_transmittance(w, s, differentiated);
    color r = media_any(w, true) ? color_select(t, s->homogeneous, closed, product) : product;
    return color_select(t, s->there, r, one);
}

/* ---- adjoints ---- */

/* Minus the optical thickness up to a distance, differentiated: the logarithm of the transmittance. */
static color log_transmittance(walk *w, const walk_stretch *s, ir_ref distance)
{
    tracer *t = &w->t;
    color sigma = stretch_extinction(w, s, stretch_moved_point(w, s, t_f32(t, 0)), true);
    ir_ref length = stretch_length(w, s, distance);
    COLOR_EACH(r, ir_neg(t->f, ir_mul(t->f, sigma.c[c], length)));
    return r;
}

static void free_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing,
                         arrivals *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_stretch *s = &fl->s;
    ir_ref branch = ir_if(f, ir_and(f, when, s->homogeneous));
    arrivals inside = *sum;
    if (media_want_extinction(w))
        color_backward_into(&w->t, log_transmittance(w, s, fl->t), to_come, &inside);
    vec3 p = stretch_point(t, s, fl->t);
    color value = color_mul(t, stretch_albedo(w, s, p, false), stretch_extinction(w, s, s->o, false));
    color differentiated =
              free_scattering(w, fl, stretch_extinction(w, s, stretch_moved_point(w, s, t_f32(t, 0)), true)),
          zero = color_all(t_f32(t, 0));
    color_backward_into(&w->t, differentiated,
                        color_select(t, fl->collides, channels_seed(w, value, to_come, missing), zero),
                        &inside);
    ir_else(f);
    ir_endif(f);
    arrivals_join(t, branch, &inside, sum);
}

void flight_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing, arrivals *sum)
{
    BL_ASSERT(walk_tracks(w), "the adjoint of a flight in pass %d", (int)w->pass);
    when = ir_and(w->t.f, when, fl->s.there);
    if (media_any(w, true))
        free_adjoint(w, fl, when, to_come, missing, sum);
    if (media_any(w, false))
        track_adjoint(w, fl, when, to_come, missing, sum);
}

void stretch_adjoint(walk *w, const walk_stretch *s, ir_ref when, color to_come, arrivals *sum)
{
    BL_ASSERT(walk_tracks(w), "the adjoint of a stretch in pass %d", (int)w->pass);
    ir_func *f = w->t.f;
    when = ir_and(f, when, s->there);
    if (media_any(w, true)) {
        ir_ref branch = ir_if(f, ir_and(f, when, s->homogeneous));
        arrivals inside = *sum;
        color_backward_into(&w->t, log_transmittance(w, s, s->limit), to_come, &inside);
        ir_else(f);
        ir_endif(f);
        arrivals_join(&w->t, branch, &inside, sum);
    }
    if (media_any(w, false))
        track_stretch_adjoint(w, s, when, to_come, sum);
}
