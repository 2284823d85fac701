/* SPDX-License-Identifier: BSD-3-Clause
 * Heterogeneous media: delta tracking of flights, ratio tracking and residual ratio tracking (Novak, Selle,
 * Jarosz 2014) of transmittance, and the derivatives of all of them (PRB, section 4.4; free_flight.c has the
 * values). Tentative collisions come at the rate of the majorant, which is one number or, where a medium has
 * cells, one per cell.
 *
 * What attenuates is differentiated at one point of the stretch, drawn evenly, with random numbers of its
 * own. So no collision is met again: the optical thickness is an integral of the extinction, and the
 * transmittance's derivative is the transmittance times that of the thickness (docs/theory/volumes.md).
 *
 * Invariants: each event has its own random numbers (stretch key and step), so every walk over a stretch
 * meets the same collisions. Distances, majorants and the choice of real or null are detached. Where there
 * are too many events the result is not finite, never cut off. */
#include "render/integrator/media/medium_functions.h"
#include "spirv_gen/ad/ad.h"

/* On a stretch with more events than this, samples count as not finite. Densities are then too large for
 * tracking. */
enum { STEPS_MOST = 1 << 16 };
/* RENDER_UNROLLED writes out so many events of a stretch, since reverse mode does not go through loops of
 * differentiated values. A sample with more events counts as not finite. */
enum { UNROLLED_STEPS = 16 };
static const float not_finite = 1e36f; /* color_finite refuses it */

/* A face of a grid counts as the surface that ends a stretch if it is no farther away than this share of the
 * box's diagonal. */
static const float face_slack = 1e-5f;

/* At this optical thickness along the box's diagonal, DRT paths and collisions have equal shares. */
static const float drt_optical = 1.0f;

/* ---- tentative collisions ---- */

/* And counted, but where reverse mode looks on. */
static ir_ref exhausted(walk *w, const walk_stretch *s, ir_ref step)
{
    ir_ref cut = track_exhausted(w, s, step);
    if (w->pass != RENDER_UNROLLED)
        kernel_count(w, cut, STATUS_CUT);
    return cut;
}

static ir_ref mean_distance(tracer *t, ir_ref majorant)
{
    ir_func *f = t->f;
    ir_ref some = ir_gt(f, majorant, t_f32(t, 0));
    return ir_select(f, some, ir_div(f, t_f32(t, 1), ir_select(f, some, majorant, t_f32(t, 1))),
                     t_f32(t, 1e30f));
}

track track_begin(walk *w, const walk_stretch *s)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(media_any(w, false), "tracking in %u media that are all homogeneous", w->plan->media.count);
    ir_ref zero = t_f32(t, 0);
    track k = {.near = zero, .far = s->limit};
    ref_list box = refs_results();
    medium_bounds b;
    ir_call(f, s->cls, w->fn.bounds, w->plan->media.count, &s->record, 1, box.at);
    medium_bounds_visit(&box, &b);
    if (w->flakes) {
        k.most_area = stretch_most_area(w, s);
        b.majorant = ir_mul(f, b.majorant, k.most_area);
    }
    k.mean = mean_distance(t, b.majorant);
    k.diagonal = v3_sub(t, b.high, b.low);
    if (w->cells) {
        ref_list in = refs_for(s->record), out = refs_results();
        volume_ray r = {s->o, s->d};
        volume_ray_visit(&in, &r);
        ir_call(f, s->cls, w->fn.into, w->plan->media.count, in.at, in.count, out.at);
        volume_ray_visit(&out, &k.r);
    }
    const ir_ref o[3] = {s->o.x, s->o.y, s->o.z}, d[3] = {s->d.x, s->d.y, s->d.z},
                 low[3] = {b.low.x, b.low.y, b.low.z}, high[3] = {b.high.x, b.high.y, b.high.z};
    for (int a = 0; a < 3; a++) {
        ir_ref size = ir_max(f, ir_abs(f, d[a]), t_f32(t, 1e-9f));
        ir_ref inverse = ir_div(f, t_f32(t, 1), ir_select(f, ir_lt(f, d[a], zero), ir_neg(f, size), size));
        ir_ref first = ir_mul(f, ir_sub(f, low[a], o[a]), inverse),
               second = ir_mul(f, ir_sub(f, high[a], o[a]), inverse);
        k.near = ir_max(f, k.near, ir_min(f, first, second)),
        k.far = ir_min(f, k.far, ir_max(f, first, second));
    }
    return k;
}

void stretch_faces(walk *w, const walk_stretch *s, ir_ref there, walk_border *enters, walk_border *leaves)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ref_list box = refs_results();
    medium_bounds b;
    ir_call(f, s->cls, w->fn.bounds, w->plan->media.count, &s->record, 1, box.at);
    medium_bounds_visit(&box, &b);
    *enters = *leaves = border_none(w);
    leaves->distance = s->limit;
    const ir_ref o[3] = {s->o.x, s->o.y, s->o.z}, d[3] = {s->d.x, s->d.y, s->d.z},
                 low[3] = {b.low.x, b.low.y, b.low.z}, high[3] = {b.high.x, b.high.y, b.high.z};
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    for (int a = 0; a < 3; a++) {
        vec3 normal = v3(a == 0 ? one : zero, a == 1 ? one : zero, a == 2 ? one : zero);
        ir_ref size = ir_max(f, ir_abs(f, d[a]), t_f32(t, 1e-9f)), back = ir_lt(f, d[a], zero);
        ir_ref inverse = ir_div(f, one, ir_select(f, back, ir_neg(f, size), size));
        ir_ref first = ir_mul(f, ir_sub(f, ir_select(f, back, high[a], low[a]), o[a]), inverse),
               second = ir_mul(f, ir_sub(f, ir_select(f, back, low[a], high[a]), o[a]), inverse);
        ir_ref later = ir_gt(f, first, enters->distance), sooner = ir_lt(f, second, leaves->distance);
        enters->n = v3_select(t, later, normal, enters->n),
        enters->distance = ir_select(f, later, first, enters->distance);
        leaves->n = v3_select(t, sooner, normal, leaves->n),
        leaves->distance = ir_select(f, sooner, second, leaves->distance);
    }
    ir_ref slack = ir_mul(f, v3_length(t, v3_sub(t, b.high, b.low)), t_f32(t, face_slack));
    there =
        ir_and(f, ir_and(f, there, ir_not(f, s->homogeneous)), ir_lt(f, enters->distance, leaves->distance));
    enters->valid = ir_and(f, there, ir_gt(f, enters->distance, slack));
    leaves->valid = ir_and(f, there, ir_lt(f, leaves->distance, ir_sub(f, s->limit, slack)));
}

ir_ref track_exhausted(walk *w, const walk_stretch *s, ir_ref step)
{
    return ir_ge(w->t.f, ir_sub(w->t.f, step, s->step), t_u32(&w->t, STEPS_MOST));
}

tentative track_next(walk *w, const walk_stretch *s, const track *k, ir_ref distance, ir_ref step)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    BL_ASSERT(!k->residual || (w->cells && !w->flakes), "residual tracking without cells, in pass %d",
              (int)w->pass);
    BL_ASSERT(!k->shortened || ir_made(w->t.f, k->longest), "no longest mean distance, in pass %d",
              (int)w->pass);
    random4 r = walk_stretch_numbers(w, s, step);
    ir_ref depth = ir_neg(f, ir_log(f, ir_sub(f, t_f32(t, 1), r.u[0]))), within = ir_bool(f, true);
    tentative c = {.mean = k->mean, .u = r.u[1]};
    cell_bounds cell = {.majorant = {0}};
    if (w->cells) {
        ref_list in = refs_for(s->record), out = refs_results();
        volume_ray along = k->r;
        volume_ray_visit(&in, &along), refs_number(&in, &distance);
        ir_call(f, s->cls, w->fn.cell, w->plan->media.count, in.at, in.count, out.at);
        cell_bounds_visit(&out, &cell);
        c.least = cell.minorant;
        c.mean = mean_distance(t, k->residual ? ir_sub(f, cell.majorant, cell.minorant)
                                  : w->flakes ? ir_mul(f, cell.majorant, k->most_area)
                                              : cell.majorant);
    }
    if (k->shortened)
        c.mean = ir_min(f, c.mean, k->longest);
    c.distance = ir_add(f, distance, ir_mul(f, depth, c.mean));
    if (w->cells) {
        within = ir_lt(f, c.distance, cell.leaves);
        c.distance = ir_min(f, c.distance, cell.leaves);
    }
    c.inside = ir_and(f, ir_lt(f, c.distance, k->far), ir_not(f, track_exhausted(w, s, step)));
    c.collides = ir_and(f, c.inside, within);
    c.p = stretch_point(t, s, c.distance);
    c.crossed = ir_max(f, t_f32(t, 0), ir_sub(f, ir_min(f, c.distance, k->far), distance));
    return c;
}

color track_real(walk *w, const walk_stretch *s, ir_ref mean, vec3 p, bool differentiated)
{
    tracer *t = &w->t;
    color sigma = stretch_extinction(w, s, p, differentiated);
    COLOR_EACH(r, ir_mul(t->f, sigma.c[c], mean));
    return r;
}

color track_passed(walk *w, const walk_stretch *s, ir_ref mean, ir_ref distance)
{
    color real = track_real(w, s, mean, stretch_moved_point(w, s, distance), true);
    return color_scale(&w->t, real, stretch_growth(w, s));
}

color track_null(walk *w, color real)
{
    tracer *t = &w->t;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    COLOR_EACH(r, ir_max(t->f, zero, ir_sub(t->f, one, real.c[c])));
    return r;
}

ir_ref track_drt_share(walk *w, const track *k, color sigma)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref thickness = ir_mul(f, color_mean(t, sigma), v3_length(t, k->diagonal)),
           as_often = t_f32(t, drt_optical);
    return ir_div(f, as_often, ir_add(f, thickness, as_often));
}

/* ---- walks over all of them ---- */

static void state_collisions(const walk *w, loop_state *s, collisions *c)
{
    state_ref(s, &c->distance), state_ref(s, &c->step), state_ref(s, &c->going);
    state_channels(w, s, &c->product);
    if (c->two)
        state_color(s, &w->t, &c->other);
}

static collisions collisions_select(walk *w, ir_ref condition, const collisions *a, const collisions *b)
{
    collisions r = *a, other = *b;
    loop_state state = {0}, others = {0};
    state_collisions(w, &state, &r), state_collisions(w, &others, &other);
    state_select(w->t.f, condition, &state, &others);
    state_collisions(w, &state, &r);
    state_end(&state);
    return r;
}

static collisions next_collision(walk *w, collisions c, collision_step *each)
{
    tentative at = track_next(w, c.s, c.k, c.distance, c.step);
    each(w, &at, &c);
    c.distance = at.distance, c.step = ir_add(w->t.f, c.step, t_u32(&w->t, 1));
    c.going = at.inside;
    return c;
}

collisions track_collisions(walk *w, collisions c, collision_step *each)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    c.distance = c.k->near, c.step = c.s->step, c.product = color_all(t_f32(t, 1));
    c.going = ir_and(f, c.s->there, ir_not(f, c.s->homogeneous));
    if (c.differentiated && w->pass == RENDER_UNROLLED) {
        for (int i = 0; i < UNROLLED_STEPS; i++) {
            collisions then = next_collision(w, c, each);
            c = collisions_select(w, c.going, &then, &c);
        }
        c.over = c.going;
        return c;
    }
    loop_state state = {0}, next = {0};
    state_collisions(w, &state, &c);
    ir_ref loop = state_loop(f, &state);
    state_collisions(w, &state, &c);
    ir_while(f, c.going);
    collisions then = next_collision(w, c, each);
    state_collisions(w, &next, &then);
    state_endloop(f, loop, &state, &next);
    c.over = exhausted(w, c.s, c.step);
    return c;
}

color collisions_found(walk *w, const collisions *c, color value)
{
    return color_select(&w->t, c->over, color_all(t_f32(&w->t, not_finite)), value);
}

/* ---- flights ---- */

/* The probability by each channel of a real collision. With DRT it may be 0, since DRT paths sample what is
 * 0. */
static color real_chance(walk *w, color real)
{
    tracer *t = &w->t;
    if (w->drt || !media_want_extinction(w))
        return real;
    COLOR_EACH(r, ir_max(t->f, real.c[c], t_f32(t, LEAST_REAL_CHANCE)));
    return r;
}

/* Multiplies *weight by the value of a collision over its density, and updates the channels' shares; chance:
 * its probability by each channel; exact: the weight stays 1. */
static void weigh(walk *w, color value, color chance, bool exact, color *weight, color *share)
{
    tracer *t = &w->t;
    ir_ref mixed = share_mixture(w, *share, chance),
           inverse = t_ratio(t, t_f32(t, 1), ir_detach(t->f, mixed));
    for (uint32_t c = 0; !exact && c < t->channels; c++)
        weight->c[c] = ir_mul(t->f, weight->c[c], ir_mul(t->f, value.c[c], inverse));
    *share = share_after(w, *share, chance, mixed);
}

typedef struct tracking {
    ir_ref distance, step;
    ir_ref going, real;
    ir_ref mean; /* at the last tentative collision */
    color weight, share;
    bool exact; /* the weight is always 1, so it is not carried */
} tracking;

static void state_tracking(const walk *w, loop_state *s, tracking *k)
{
    state_ref(s, &k->distance), state_ref(s, &k->step), state_ref(s, &k->going), state_ref(s, &k->real);
    if (!k->exact)
        state_channels(w, s, &k->weight);
    if (w->chromatic)
        state_color(s, &w->t, &k->share);
    if (w->cells)
        state_ref(s, &k->mean);
}

/* Delta tracking up to a real collision or the end. */
static tracking track_loop(walk *w, const walk_stretch *s, const track *k, color share)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    tracking now = {
        .distance = k->near,
        .step = s->step,
        .going = ir_and(f, s->there, ir_not(f, s->homogeneous)),
        .real = ir_bool(f, false),
        .mean = k->mean,
        .weight = color_all(t_f32(t, 1)),
        .share = share,
        .exact = media_track_exact(w),
    };
    loop_state state = {0}, next = {0};
    state_tracking(w, &state, &now);
    ir_ref loop = state_loop(f, &state);
    state_tracking(w, &state, &now);
    ir_while(f, now.going);
    tracking then = now;
    tentative c = track_next(w, s, k, now.distance, now.step);
    color real = track_real(w, s, c.mean, c.p, false), chance = real_chance(w, real);
    then.distance = c.distance, then.mean = c.mean;
    then.real = ir_and(f, c.collides, ir_lt(f, c.u, share_mixture(w, now.share, chance)));
    then.going = ir_and(f, c.inside, ir_not(f, then.real));
    ir_ref null = ir_and(f, c.collides, ir_not(f, then.real)); /* a real one is weighted after the loop */
    weigh(w, track_null(w, real), track_null(w, chance), now.exact, &then.weight, &then.share);
    then.weight = color_select(t, null, then.weight, now.weight);
    then.share = color_select(t, null, then.share, now.share);
    then.step = ir_add(f, now.step, ir_to_u32(f, then.going));
    state_tracking(w, &next, &then);
    state_endloop(f, loop, &state, &next);
    state_tracking(w, &state, &now);
    state_end(&state);
    return now;
}

/* Extinction over majorant at the flight's collision, differentiated. With walk.drt its derivative has only
 * the share that DRT paths leave to collisions (track_drt_share). */
static color track_collided(walk *w, const walk_flight *fl, const track *k, vec3 p)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_stretch *s = &fl->s;
    ir_ref mean = fl->mean;
    color differentiated = track_real(w, s, mean, stretch_moved_point(w, s, fl->t), true), value, own;
    differentiated = color_scale(t, differentiated, flight_growth(w, fl));
    if (!w->drt)
        return differentiated;
    value = track_real(w, s, mean, p, false);
    ir_ref part = ir_sub(f, t_f32(t, 1), track_drt_share(w, k, stretch_extinction(w, s, p, false)));
    for (uint32_t c = 0; c < t->channels; c++)
        own.c[c] = t_mad(t, ir_sub(f, differentiated.c[c], ir_detach(f, value.c[c])), ir_detach(f, part),
                         ir_detach(f, value.c[c]));
    return own;
}

walk_flight track_flight(walk *w, const walk_stretch *s, color share)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    track k = track_begin(w, s);
    tracking end = track_loop(w, s, &k, share);
    walk_flight fl = {
        .s = *s,
        .collides = end.real,
        .mean = end.mean,
        .t = end.distance,
        .steps = end.step,
        .weight = end.weight,
        .share = end.share,
    };
    vec3 p = stretch_point(t, s, end.distance);
    color real = track_real(w, s, end.mean, p, false), chance = real_chance(w, real),
          albedo = stretch_albedo(w, s, p, false);
    color value = color_mul(t, albedo, real); /* albedo * extinction / majorant */
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), mixed = share_mixture(w, end.share, chance),
           inverse = t_ratio(t, one, mixed), cut = exhausted(w, s, end.step);
    for (uint32_t c = 0; c < t->channels; c++) {
        ir_ref is_zero = ir_and(f, end.real, ir_eq(f, value.c[c], zero)),
               dead = ir_eq(f, end.weight.c[c], zero);
        ir_ref factor = ir_mul(f, ir_select(f, is_zero, one, value.c[c]), inverse);
        if (end.exact) /* the extinction cancels in value / chance */
            factor = ir_select(f, is_zero, inverse, albedo.c[c]);
        fl.weight.c[c] = ir_mul(f, end.weight.c[c], ir_select(f, end.real, factor, one));
        fl.weight.c[c] = ir_select(f, cut, t_f32(t, not_finite), fl.weight.c[c]);
        fl.zeros[c] = ir_select(f, dead, t_u32(t, 2), ir_to_u32(f, is_zero));
    }
    color after = share_after(w, end.share, chance, mixed);
    fl.share = color_select(t, end.real, after, end.share);
    return fl;
}

/* ---- derivatives of attenuation ---- */

static drawn_point draw_before(walk *w, const walk_stretch *s, const track *k, ir_ref end)
{
    return stretch_draw(w, s, k->near, ir_min(w->t.f, ir_detach(w->t.f, end), k->far));
}

/* 1, with the derivative of the transmittance before `end` over the transmittance. */
static color attenuation(walk *w, const walk_stretch *s, const track *k, ir_ref end)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    if (!media_want_extinction(w))
        return color_all(t_f32(t, 1));
    drawn_point at = draw_before(w, s, k, end);
    color now = track_passed(w, s, at.length, at.distance),
          before = track_real(w, s, at.length, stretch_point(t, s, at.distance), false);
    ir_ref here = ir_and(f, s->there, ir_not(f, s->homogeneous));
    COLOR_EACH(r, ir_select(f, here, ir_sub(f, t_f32(t, 1), ir_sub(f, now.c[c], ir_detach(f, before.c[c]))),
                            t_f32(t, 1)));
    return r;
}

/* The weight of a flight that is known, differentiated. */
color track_weight(walk *w, const walk_flight *fl)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_stretch *s = &fl->s;
    track k = track_begin(w, s);
    vec3 p = stretch_point(t, s, fl->t);
    color value = color_mul(t, stretch_albedo(w, s, p, false), track_real(w, s, fl->mean, p, false)),
          now = color_mul(t, stretch_albedo(w, s, stretch_moved_point(w, s, fl->t), true),
                          track_collided(w, fl, &k, p)),
          passed = attenuation(w, s, &k, fl->t), r;
    for (uint32_t c = 0; c < t->channels; c++) { /* a value of 0 is left out of the weight */
        ir_ref lost = ir_eq(f, value.c[c], t_f32(t, 0)),
               ends = ir_div(f, now.c[c], ir_detach(f, ir_select(f, lost, t_f32(t, 1), value.c[c])));
        r.c[c] = ir_mul(f, ir_mul(f, ir_detach(f, fl->weight.c[c]), passed.c[c]),
                        ir_select(f, fl->collides, ends, t_f32(t, 1)));
    }
    return r;
}

/* ---- transmittance ---- */

/* Residual ratio tracking (Novak, Selle, Jarosz 2014), where cells have lower bounds of the extinction. The
 * lower bound attenuates by an exponential; only the extinction above it is sampled by collisions. Both
 * bounds are detached. */
static track residual_track(walk *w, const walk_stretch *s)
{
    track k = track_begin(w, s);
    k.residual = w->cells && !w->flakes && !(w->plan->off & PLAN_RESIDUAL);
    return k;
}

static void cross(walk *w, const tentative *at, collisions *c)
{
    tracer *t = &w->t;
    if (c->k->residual)
        c->product =
            color_scale(t, c->product, ir_exp(t->f, ir_neg(t->f, ir_mul(t->f, at->least, at->crossed))));
    color real = track_real(w, c->s, at->mean, at->p, false);
    for (uint32_t i = 0; c->k->residual && i < t->channels; i++)
        real.c[i] = ir_sub(t->f, real.c[i], ir_mul(t->f, at->least, at->mean));
    c->product = color_select(t, at->collides, color_mul(t, c->product, track_null(w, real)), c->product);
}

/* Transmittance by ratio tracking. */
color track_transmittance(walk *w, walk_stretch *s, bool differentiated)
{
    track k = residual_track(w, s);
    collisions c = track_collisions(w, (collisions){.s = s, .k = &k}, cross);
    s->step = c.step;
    color product = collisions_found(w, &c, c.product);
    return differentiated ? color_mul(&w->t, color_detach(&w->t, product), attenuation(w, s, &k, s->limit))
                          : product;
}

/* ---- adjoints ---- */

/* Backpropagates the attenuation before `end`, where `when`. to_come: its adjoint times its value. */
static void attenuation_adjoint(walk *w, const walk_stretch *s, const track *k, ir_ref end, ir_ref when,
                                color to_come, arrivals *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const uint32_t channels = w->chromatic ? t->channels : 1;
    if (!w->chromatic) /* one extinction for all channels */
        to_come.c[0] = color_sum(t, to_come);
    ir_ref branch = ir_if(f, when), seed[COLOR_MOST];
    arrivals inside = *sum;
    for (uint32_t c = 0; c < channels; c++)
        seed[c] = ir_neg(f, to_come.c[c]);
    drawn_point at = draw_before(w, s, k, end);
    backward_into(t, track_passed(w, s, at.length, at.distance).c, seed, channels, &inside);
    ir_else(f);
    ir_endif(f);
    arrivals_join(t, branch, &inside, sum);
}

void track_adjoint(walk *w, const walk_flight *fl, ir_ref when, color to_come, color missing, arrivals *sum)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const walk_stretch *s = &fl->s;
    track k = track_begin(w, s);
    when = ir_and(f, when, ir_not(f, s->homogeneous));
    if (media_want_extinction(w))
        attenuation_adjoint(w, s, &k, fl->t, when, to_come, sum);
    ir_ref branch = ir_if(f, ir_and(f, when, fl->collides));
    arrivals inside = *sum;
    vec3 p = stretch_point(t, s, fl->t);
    color real = track_real(w, s, fl->mean, p, false),
          value = color_mul(t, stretch_albedo(w, s, p, false), real);
    color collided = media_want_extinction(w) ? track_collided(w, fl, &k, p) : real;
    color_backward_into(t,
                        color_mul(t, stretch_albedo(w, s, stretch_moved_point(w, s, fl->t), true), collided),
                        channels_seed(w, value, to_come, missing), &inside);
    ir_else(f);
    ir_endif(f);
    arrivals_join(t, branch, &inside, sum);
}

void track_stretch_adjoint(walk *w, const walk_stretch *s, ir_ref when, color to_come, arrivals *sum)
{
    track k = track_begin(w, s);
    attenuation_adjoint(w, s, &k, s->limit, ir_and(w->t.f, when, ir_not(w->t.f, s->homogeneous)), to_come,
                        sum);
}
