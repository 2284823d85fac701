/* SPDX-License-Identifier: BSD-3-Clause
 * Splatting: contributions to points of the image, through the film's filter, and the adjoint of that. Every
 * pixel within the filter's reach of a point gets a share. The shares sum to 1, and those of pixels outside
 * the window are lost (Mitsuba's image block with normalisation). With a box filter one pixel gets
 * everything.
 *
 * Beside paths from the sensor (walk.multiplexed) shares are those of film samples, which stay in the window.
 *
 * The image is summed in the kernel's accumulation buffer as 64-bit fixed point (opt/accumulate.c), so it
 * does not depend on the order. Contributions are divided by the number of samples per pixel: there are as
 * many paths as samples in the whole image, and importance is relative to the image's mean.
 *
 * Where the place of a splat moves with parameters, the shares change: with v the filter's value at a pixel
 * and S the sum of the values, the share v / S has the derivative (v' - v S' / S) / S by the place. The box
 * filter has no such derivative, so jobs refuse it there.
 *
 * Invariant: splat_read gathers dL/dI with the same shares with which splat_add distributes. */
#include "render/film/film.h"
#include "render/integrator/kernels/kernels.h"
#include "spirv_gen/ad/ad.h"

typedef struct footprint {
    const filter_class *filter;
    ir_ref record;
    uint32_t taps;           /* pixels along each axis */
    ir_ref count;            /* u32: of pixels; 0 where nothing is splatted */
    ir_ref first_x, first_y; /* f32: coordinates of the first pixel */
    ir_ref inverse;          /* f32: 1 / (sum of the filter's values at all pixels * samples per pixel) */
    /* f32, where the place moves: the derivative of the sum along an axis, over that sum. */
    ir_ref slope_x, slope_y;
} footprint;

/* Pixels along an axis whose centres may lie within the filter's radius. */
static uint32_t taps_of(const walk *w, const filter_class *filter)
{
    return filter->value ? (uint32_t)ceil(2 * filter->radius(w->plan->scene->filter)) : 1;
}

/* Coordinate of the first of them. */
static ir_ref first_tap(walk *w, const filter_class *filter, ir_ref at)
{
    ir_func *f = w->t.f;
    if (!filter->value)
        return ir_floor(f, at);
    const double back = filter->radius(w->plan->scene->filter) - 0.5;
    return ir_floor(f, ir_sub(f, at, t_f32(&w->t, (float)back)));
}

/* The filter's value at a pixel's centre, along one axis; at: coordinate of the splat. */
static ir_ref tap(walk *w, const footprint *p, ir_ref pixel, ir_ref at)
{
    ir_func *f = w->t.f;
    return p->filter->value(&w->t, p->record, ir_abs(f, ir_sub(f, ir_add(f, pixel, t_f32(&w->t, 0.5f)), at)));
}

/* The derivative of a tap by the coordinate of the splat. */
static ir_ref tap_slope(walk *w, const footprint *p, ir_ref pixel, ir_ref at)
{
    ir_ref one = t_f32(&w->t, 1), value = tap(w, p, ir_detach(w->t.f, pixel), at), slope;
    ad_forward(w->t.f, &at, &one, 1, &value, &slope, 1);
    return slope;
}

/* moving: with slopes. */
static footprint open_footprint(walk *w, const light_splat *s, bool moving)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_u32(t, 1), samples = ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_SPP));
    const filter_class *filter = (const filter_class *)w->plan->filter->cls;
    const uint32_t taps = taps_of(w, filter);
    footprint p = {
        .filter = filter,
        .record = t_word(t, t_u32(t, 0), HEADER_FILTER),
        .taps = taps,
        .count = ir_select(f, s->there, t_u32(t, taps * taps), t_u32(t, 0)),
        .first_x = first_tap(w, filter, s->at.x),
        .first_y = first_tap(w, filter, s->at.y),
    };
    if (!filter->value) {
        BL_ASSERT(!moving, "a splat that moves, and the filter %s", filter->base.plugin.name);
        p.inverse = ir_div(f, t_f32(t, 1), samples);
        return p;
    }
    ir_ref sums[5] = {t_u32(t, 0), zero, zero, zero, zero},
           along = ir_select(f, s->there, t_u32(t, taps), t_u32(t, 0));
    const uint32_t count = moving ? 5 : 3;
    ir_ref loop = ir_loop(f, sums, count);
    ir_while(f, ir_lt(f, sums[0], along));
    ir_ref k = ir_to_f32(f, sums[0]), next[5] = {ir_add(f, sums[0], one)};
    ir_ref x = ir_add(f, p.first_x, k);
    next[1] = ir_add(f, sums[1], tap(w, &p, x, s->at.x));
    ir_ref y = ir_add(f, p.first_y, k);
    next[2] = ir_add(f, sums[2], tap(w, &p, y, s->at.y));
    if (moving)
        next[3] = ir_add(f, sums[3], tap_slope(w, &p, x, s->at.x)),
        next[4] = ir_add(f, sums[4], tap_slope(w, &p, y, s->at.y));
    ir_endloop(f, loop, next, count);
    if (moving)
        p.slope_x = t_ratio(t, sums[3], sums[1]), p.slope_y = t_ratio(t, sums[4], sums[2]);
    ir_ref sum = ir_mul(f, sums[1], sums[2]),
           some = ir_ne(f, sum, zero); /* the sum is far from 0 also for filters with negative lobes */
    p.inverse = ir_select(
        f, some, ir_div(f, t_f32(t, 1), ir_mul(f, ir_select(f, some, sum, t_f32(t, 1)), samples)), zero);
    return p;
}

/* A loop over a footprint's pixels, row by row: their number (u32), the coordinates of one (f32). */
enum { PIXEL_STATES = 3 };

static void first_pixel(walk *w, const footprint *p, ir_ref state[PIXEL_STATES])
{
    state[0] = t_u32(&w->t, 0), state[1] = p->first_x, state[2] = p->first_y;
}

static void next_pixel(walk *w, const footprint *p, const ir_ref state[PIXEL_STATES],
                       ir_ref next[PIXEL_STATES])
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), x = ir_add(f, state[1], one),
           ends = ir_ge(f, x, ir_add(f, p->first_x, t_f32(t, (float)p->taps)));
    next[0] = ir_add(f, state[0], t_u32(t, 1));
    next[1] = ir_select(f, ends, p->first_x, x);
    next[2] = ir_select(f, ends, ir_add(f, state[2], one), state[2]);
}

/* The share of the pixel at x, y. Sets *element to the first of its elements, or to PLAN_NONE outside the
 * window. */
static ir_ref pixel_share(walk *w, const footprint *p, const light_splat *s, ir_ref x, ir_ref y,
                          ir_ref *element)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref width = ir_uniform(f, IR_U32, UNIFORM_WIDTH), height = ir_uniform(f, IR_U32, UNIFORM_HEIGHT),
           zero = t_f32(t, 0);
    ir_ref inside = ir_and(f, ir_and(f, ir_ge(f, x, zero), ir_lt(f, x, ir_to_f32(f, width))),
                           ir_and(f, ir_ge(f, y, zero), ir_lt(f, y, ir_to_f32(f, height))));
    ir_ref pixel =
        ir_add(f, ir_mul(f, ir_to_u32(f, ir_max(f, y, zero)), width), ir_to_u32(f, ir_max(f, x, zero)));
    *element = ir_select(f, inside, ir_mul(f, pixel, t_u32(t, w->film_channels)), t_u32(t, PLAN_NONE));
    if (!p->filter->value)
        return p->inverse;
    ir_ref share = ir_mul(f, p->inverse, ir_mul(f, tap(w, p, x, s->at.x), tap(w, p, y, s->at.y)));
    if (!w->multiplexed || film_samples_border(w->plan->scene))
        return share;
    const window_axis across = {ir_to_u32(f, ir_select(f, inside, x, zero)), width},
                      down = {ir_to_u32(f, ir_select(f, inside, y, zero)), height};
    ir_ref within = ir_mul(f, filter_mass_within(t, p->filter, p->record, across),
                           filter_mass_within(t, p->filter, p->record, down));
    return ir_div(f, share, within);
}

/* The derivatives of a pixel's share by the splat's place. */
static vec2 share_slopes(walk *w, const footprint *p, const light_splat *s, ir_ref x, ir_ref y)
{
    ir_func *f = w->t.f;
    ir_ref at_x = tap(w, p, x, s->at.x), at_y = tap(w, p, y, s->at.y);
    ir_ref dx = ir_sub(f, tap_slope(w, p, x, s->at.x), ir_mul(f, at_x, p->slope_x)),
           dy = ir_sub(f, tap_slope(w, p, y, s->at.y), ir_mul(f, at_y, p->slope_y));
    return (vec2){ir_mul(f, p->inverse, ir_mul(f, dx, at_y)), ir_mul(f, p->inverse, ir_mul(f, at_x, dy))};
}

void splat_add(walk *w, const light_splat *s, color contribution, const splat_tangent *moved)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    footprint p = open_footprint(w, s, moved != NULL);
    film_value added = film_unweighed(w, contribution), tangent = {0};
    if (moved)
        tangent = film_unweighed(w, moved->contribution);
    ir_ref at[PIXEL_STATES], next[PIXEL_STATES], element, moves = {0};
    first_pixel(w, &p, at);
    ir_ref loop = ir_loop(f, at, PIXEL_STATES);
    ir_while(f, ir_lt(f, at[0], p.count));
    ir_ref share = pixel_share(w, &p, s, at[1], at[2], &element);
    if (moved) {
        vec2 slope = share_slopes(w, &p, s, at[1], at[2]);
        moves = t_mad(t, slope.x, moved->place.x, ir_mul(f, slope.y, moved->place.y));
    }
    for (uint32_t c = 0; c < w->film_channels; c++)
        ir_accum(f, BUFFER_GRADIENT, ir_element(f, element, t_u32(t, c)),
                 moved ? t_mad(t, share, tangent.c[c], ir_mul(f, moves, added.c[c]))
                       : ir_mul(f, share, added.c[c]));
    next_pixel(w, &p, at, next);
    ir_endloop(f, loop, next, PIXEL_STATES);
}

splat_adjoint splat_read(walk *w, const light_splat *s, bool moving)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), state[PIXEL_STATES + 3 * FILM_MOST], next[PIXEL_STATES + 3 * FILM_MOST],
           *sums = state + PIXEL_STATES, element;
    footprint p = open_footprint(w, s, moving);
    const uint32_t n = w->film_channels, ways = moving ? 3 : 1;
    first_pixel(w, &p, state);
    for (uint32_t c = 0; c < ways * n; c++)
        sums[c] = zero;
    ir_ref loop = ir_loop(f, state, PIXEL_STATES + ways * n);
    ir_while(f, ir_lt(f, state[0], p.count));
    ir_ref by[3] = {pixel_share(w, &p, s, state[1], state[2], &element)},
           inside = ir_ne(f, element, t_u32(t, PLAN_NONE));
    if (moving) {
        vec2 slope = share_slopes(w, &p, s, state[1], state[2]);
        by[1] = slope.x, by[2] = slope.y;
    }
    next_pixel(w, &p, state, next);
    ir_ref from = ir_select(f, inside, element, t_u32(t, 0));
    for (uint32_t c = 0; c < n; c++) {
        ir_ref adjoint = ir_load(f, IR_F32, BUFFER_ADJOINT, t_offset(t, from, c));
        for (uint32_t k = 0; k < ways; k++) {
            uint32_t to = k * n + c;
            next[PIXEL_STATES + to] =
                ir_add(f, sums[to], ir_select(f, inside, ir_mul(f, by[k], adjoint), zero));
        }
    }
    ir_endloop(f, loop, next, PIXEL_STATES + ways * n);
    splat_adjoint r = {0};
    color *const out[3] = {&r.contribution, &r.x, &r.y};
    for (uint32_t k = 0; k < ways; k++) {
        film_value of = {0};
        memcpy(of.c, sums + k * n, n * sizeof *sums);
        *out[k] = film_adjoint_unweighed(w, of);
    }
    return r;
}

void splat_add_to_pixel(walk *w, ir_ref there, const film_value *found)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref share = ir_div(f, t_f32(t, 1), ir_to_f32(f, ir_uniform(f, IR_U32, UNIFORM_SPP))),
           first = ir_select(f, there, ir_mul(f, w->pixel, t_u32(t, w->film_channels)), t_u32(t, PLAN_NONE));
    for (uint32_t k = 0; k < w->film_channels; k++)
        ir_accum(f, BUFFER_GRADIENT, ir_element(f, first, t_u32(t, k)), ir_mul(f, share, found->c[k]));
}

/* ---- one pixel of a splat ---- */

/* One axis: the pixel (f32, whole) that u chooses in proportion to the magnitude of the filter at its centre.
 */
static ir_ref choose_along(walk *w, const filter_class *filter, ir_ref record, ir_ref at, ir_ref u,
                           ir_ref *weight)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const uint32_t taps = taps_of(w, filter);
    const footprint p = {.filter = filter, .record = record};
    ir_ref first = first_tap(w, filter, at), zero = t_f32(t, 0);
    ir_ref sums[3] = {t_u32(t, 0), zero, zero}, loop = ir_loop(f, sums, 3);
    ir_while(f, ir_lt(f, sums[0], t_u32(t, taps)));
    ir_ref v = tap(w, &p, ir_add(f, first, ir_to_f32(f, sums[0])), at);
    ir_ref next[4] = {ir_add(f, sums[0], t_u32(t, 1)), ir_add(f, sums[1], v),
                      ir_add(f, sums[2], ir_abs(f, v))};
    ir_endloop(f, loop, next, 3);
    ir_ref wanted = ir_mul(f, u, sums[2]), state[4] = {t_u32(t, 0), zero, first, zero};
    loop = ir_loop(f, state, 4);
    ir_while(f, ir_lt(f, state[0], t_u32(t, taps)));
    ir_ref pixel = ir_add(f, first, ir_to_f32(f, state[0]));
    v = tap(w, &p, pixel, at);
    ir_ref up_to = ir_add(f, state[1], ir_abs(f, v)),
           is = ir_and(f, ir_le(f, state[1], wanted), ir_gt(f, up_to, wanted));
    next[0] = ir_add(f, state[0], t_u32(t, 1)), next[1] = up_to;
    next[2] = ir_select(f, is, pixel, state[2]), next[3] = ir_select(f, is, v, state[3]);
    ir_endloop(f, loop, next, 4);
    ir_ref sign = ir_select(f, ir_lt(f, state[3], zero), t_f32(t, -1), t_f32(t, 1)),
           over = ir_select(f, ir_eq(f, sums[1], zero), zero,
                            ir_div(f, sums[2], ir_select(f, ir_eq(f, sums[1], zero), t_f32(t, 1), sums[1])));
    *weight = ir_select(f, ir_eq(f, state[3], zero), zero, ir_mul(f, *weight, ir_mul(f, sign, over)));
    return state[2];
}

/* One axis: the number of the pixel (u32), with the weight of samples that stay in the window. */
static ir_ref within_axis(walk *w, const filter_class *filter, ir_ref record, ir_ref at, ir_ref size,
                          ir_ref *weight)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref inside = ir_and(f, ir_ge(f, at, t_f32(t, 0)), ir_lt(f, at, ir_to_f32(f, size)));
    ir_ref pixel = ir_to_u32(f, ir_select(f, inside, at, t_f32(t, 0)));
    if (filter->edges && !film_samples_border(w->plan->scene))
        *weight = ir_div(f, *weight, filter_mass_within(t, filter, record, (window_axis){pixel, size}));
    *weight = ir_select(f, inside, *weight, t_f32(t, 0));
    return pixel;
}

ir_ref splat_choose(walk *w, const light_splat *s, vec2 u, ir_ref *weight)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    const filter_class *filter = (const filter_class *)w->plan->filter->cls;
    ir_ref record = t_word(t, t_u32(t, 0), HEADER_FILTER), width = ir_uniform(f, IR_U32, UNIFORM_WIDTH),
           height = ir_uniform(f, IR_U32, UNIFORM_HEIGHT);
    vec2 at = {ir_select(f, s->there, s->at.x, t_f32(t, -1)), ir_select(f, s->there, s->at.y, t_f32(t, -1))};
    *weight = t_f32(t, 1);
    if (filter->value) {
        at.x = choose_along(w, filter, record, at.x, u.x, weight);
        at.y = choose_along(w, filter, record, at.y, u.y, weight);
    }
    ir_ref x = within_axis(w, filter, record, at.x, width, weight),
           y = within_axis(w, filter, record, at.y, height, weight);
    *weight = ir_select(f, s->there, *weight, t_f32(t, 0));
    return ir_add(f, ir_mul(f, y, width), x);
}
