/* SPDX-License-Identifier: BSD-3-Clause
 * Smooth spectra for RGB reflectances (Jakob and Hanika, A Low-Dimensional Function Space for Efficient
 * Spectral Upsampling, 2019). The spectrum is a sigmoid of a parabola over wavelengths. Its three
 * coefficients are those that give the colour exactly: no table is interpolated, so derivatives are exact as
 * well.
 *
 * The search is Newton's, from the grey of the colour's mean. A step that brings the colour no nearer is
 * halved. Two things keep single precision sufficient:
 *
 *   S(-x) = 1 - S(x), and the weights of a colour sum to 1, so a colour brighter than its complement is found
 *   as the complement, with negative coefficients. What is small is then computed as small.
 *
 *   A channel is held at least LEAST_SHARE of the largest away from 0, and LEAST away from 0 and 1. Without
 *   that the coefficients of the purest dark colours, and of black and white, are infinite.
 *
 * Black and white themselves are exactly 0 and 1, as in other modes, so that paths end at what is black:
 * their coefficient is EXTREME, at which S rounds to that. Their derivatives are those of the colour that
 * they are held at.
 *
 * Derivatives: the coefficients c satisfy colour(c) = rgb, so dc/drgb is the inverse of the Jacobian J =
 * dcolour/dc at the solution (implicit function theorem). Near 0 and 1 the sigmoid is flat and J tiny.
 * Gradients of coefficients are sums in fixed point (docs/architecture.md, Accumulation), which wants numbers
 * of the size of those of colours. So c carries dc/drgb times s, the largest entry of J, and who reads the
 * spectrum divides by s. */
#include "render/spectrum/table.h"
#include "scene/scene.h"

#define LEAST 1e-6f
#define LEAST_SHARE 1e-4f
#define EXTREME 0x1p30f
enum { STEPS_MOST = 48, UNKNOWN = 3 };

static const float centre = (WAVELENGTH_FIRST + WAVELENGTH_LAST) / 2,
                   half_range = (WAVELENGTH_LAST - WAVELENGTH_FIRST) / 2;

static const float held_slope = 4e-9f; /* S' where S is LEAST: (4 LEAST)^(3/2) / 2 */

static ir_ref parabola(tracer *t, const ir_ref c[UNKNOWN], ir_ref w)
{
    return t_mad(t, t_mad(t, c[0], w, c[1]), w, c[2]);
}

/* bool: of black or white. */
static ir_ref is_extreme(tracer *t, ir_ref x) { return ir_ge(t->f, ir_abs(t->f, x), t_f32(t, EXTREME / 2)); }

/* Colour and Jacobian of a spectrum. */
typedef struct seen {
    ir_ref rgb[3], by[3][UNKNOWN]; /* by[channel][coefficient] */
} seen;
enum { SEEN_SUMS = 3 + 3 * UNKNOWN };

/* S(x), with full relative precision also where it is near 0, and S'(x). */
static void sigmoid(tracer *t, ir_ref x, ir_ref *value, ir_ref *slope)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), half = t_f32(t, 0.5f), q = ir_div(f, one, t_mad(t, x, x, one)),
           root = ir_sqrt(f, q);
    ir_ref size = ir_mul(f, ir_abs(f, x), root), low = ir_div(f, ir_mul(f, half, q), ir_add(f, one, size));
    low = ir_select(f, is_extreme(t, x), t_f32(t, 0), low);
    *value = ir_select(f, ir_lt(f, x, t_f32(t, 0)), low, ir_sub(f, one, low));
    *slope = ir_mul(f, half, ir_mul(f, q, root));
}

static seen see(tracer *t, ir_ref table, const ir_ref c[UNKNOWN])
{
    ir_func *f = t->f;
    ir_ref state[SEEN_SUMS + 1], next[SEEN_SUMS + 1], value, slope;
    for (int i = 0; i < SEEN_SUMS; i++)
        state[i] = t_f32(t, 0);
    ir_ref *k = &state[SEEN_SUMS];
    *k = t_u32(t, 0);
    ir_ref loop = ir_loop(f, state, SEEN_SUMS + 1);
    ir_while(f, ir_lt(f, *k, t_u32(t, SPECTRUM_CURVE_SAMPLES)));
    ir_ref w = t_mad(t, ir_to_f32(f, *k), t_f32(t, 2.0f / (SPECTRUM_CURVE_SAMPLES - 1)), t_f32(t, -1));
    sigmoid(t, parabola(t, c, w), &value, &slope);
    for (uint32_t b = 0; b < 3; b++) {
        ir_ref weight = table_real(t, table, *k, TABLE_COLOUR + b), by = ir_mul(f, weight, slope);
        next[b] = t_mad(t, weight, value, state[b]);
        for (int i = UNKNOWN - 1; i >= 0; i--, by = ir_mul(f, by, w))
            next[3 + UNKNOWN * (int)b + i] = ir_add(f, state[3 + UNKNOWN * (int)b + i], by);
    }
    next[SEEN_SUMS] = t_offset(t, *k, 1);
    ir_endloop(f, loop, next, SEEN_SUMS + 1);
    seen s;
    for (int b = 0; b < 3; b++) {
        s.rgb[b] = state[b];
        for (int i = 0; i < UNKNOWN; i++)
            s.by[b][i] = state[3 + UNKNOWN * b + i];
    }
    return s;
}

/* The inverse of the Jacobian divided by its largest entry, which is `scale`; 0 if there is none. */
static void invert(tracer *t, const seen *s, ir_ref inverse[UNKNOWN][3], ir_ref *scale)
{
    ir_func *f = t->f;
    vec3 row[3], across[3];
    *scale = t_f32(t, 1e-30f);
    for (int b = 0; b < 3; b++)
        for (int i = 0; i < UNKNOWN; i++)
            *scale = ir_max(f, *scale, ir_abs(f, s->by[b][i]));
    for (int b = 0; b < 3; b++)
        row[b] = v3_scale(t, vec3_at(s->by[b]), ir_div(f, t_f32(t, 1), *scale));
    for (int b = 0; b < 3; b++)
        across[b] = v3_cross(t, row[(b + 1) % 3], row[(b + 2) % 3]);
    ir_ref determinant = v3_dot(t, row[0], across[0]), none = ir_eq(f, determinant, t_f32(t, 0));
    ir_ref by =
        ir_select(f, none, t_f32(t, 0), ir_div(f, t_f32(t, 1), ir_select(f, none, t_f32(t, 1), determinant)));
    for (int b = 0; b < 3; b++) {
        ir_ref column[3];
        vec3_put(v3_scale(t, across[b], by), column);
        for (int i = 0; i < UNKNOWN; i++)
            inverse[i][b] = column[i];
    }
}

/* Newton's step toward `goal`; *far: the largest difference of a channel. */
static void newton(tracer *t, const seen *s, const ir_ref goal[3], ir_ref step[UNKNOWN], ir_ref *far)
{
    ir_func *f = t->f;
    ir_ref inverse[UNKNOWN][3], scale, rest[3];
    invert(t, s, inverse, &scale);
    *far = t_f32(t, 0);
    for (int b = 0; b < 3; b++) {
        ir_ref difference = ir_sub(f, goal[b], s->rgb[b]);
        *far = ir_max(f, *far, ir_abs(f, difference));
        rest[b] = ir_div(f, difference, scale);
    }
    for (int i = 0; i < UNKNOWN; i++)
        step[i] = v3_dot(t, vec3_at(inverse[i]), vec3_at(rest));
}

/* The state of the search. What it is at in the loop is tried next: c + length step. */
enum search { AT, STEP = AT + UNKNOWN, LENGTH = STEP + UNKNOWN, FAR, TRIED, SEARCH };

/* How far a channel may be off: a few roundings of the largest. */
static ir_ref near_enough(tracer *t, const ir_ref goal[3])
{
    ir_ref largest = ir_max(t->f, goal[0], ir_max(t->f, goal[1], goal[2]));
    return ir_mul(t->f, largest, t_f32(t, 2e-7f));
}

static void search(tracer *t, ir_ref table, const ir_ref goal[3], ir_ref c[UNKNOWN])
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), half = t_f32(t, 0.5f);
    ir_ref mean = ir_mul(f, ir_add(f, goal[0], ir_add(f, goal[1], goal[2])), t_f32(t, 1 / 3.0f));
    ir_ref enough = near_enough(t, goal);
    ir_ref grey = ir_div(f, ir_sub(f, mean, half), ir_sqrt(f, ir_mul(f, mean, ir_sub(f, one, mean))));
    ir_ref state[SEARCH] = {zero, zero, grey, zero, zero, zero, one, t_f32(t, 1e30f), t_u32(t, 0)},
           next[SEARCH];
    ir_ref loop = ir_loop(f, state, SEARCH);
    ir_while(f, ir_and(f, ir_lt(f, state[TRIED], t_u32(t, STEPS_MOST)), ir_gt(f, state[FAR], enough)));
    ir_ref tried[UNKNOWN], step[UNKNOWN], far;
    for (int i = 0; i < UNKNOWN; i++)
        tried[i] = t_mad(t, state[LENGTH], state[STEP + i], state[AT + i]);
    seen s = see(t, table, tried);
    newton(t, &s, goal, step, &far);
    ir_ref nearer = ir_lt(f, far, state[FAR]);
    for (int i = 0; i < UNKNOWN; i++) {
        next[AT + i] = ir_select(f, nearer, tried[i], state[AT + i]);
        next[STEP + i] = ir_select(f, nearer, step[i], state[STEP + i]);
    }
    ir_ref longer = ir_min(f, one, ir_add(f, state[LENGTH], state[LENGTH]));
    next[LENGTH] = ir_select(f, nearer, longer, ir_mul(f, half, state[LENGTH]));
    next[FAR] = ir_select(f, nearer, far, state[FAR]);
    next[TRIED] = t_offset(t, state[TRIED], 1);
    ir_endloop(f, loop, next, SEARCH);
    for (int i = 0; i < UNKNOWN; i++)
        c[i] = state[AT + i];
}

/* The colour or its complement, whichever is darker, and held away from 0 and 1. Returns which one: bool. */
static ir_ref set_goal(tracer *t, const ir_ref rgb[3], ir_ref goal[3])
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), sum = t_f32(t, 0), least = t_f32(t, LEAST);
    for (int b = 0; b < 3; b++) {
        goal[b] = t_clamp(t, ir_detach(f, rgb[b]), 0, 1);
        sum = ir_add(f, sum, goal[b]);
    }
    ir_ref bright = ir_gt(f, sum, t_f32(t, 1.5f));
    for (int b = 0; b < 3; b++)
        goal[b] = ir_select(f, bright, ir_sub(f, one, goal[b]), goal[b]);
    for (int b = 0; b < 3; b++)
        least = ir_max(f, least, ir_mul(f, goal[b], t_f32(t, LEAST_SHARE)));
    for (int b = 0; b < 3; b++)
        goal[b] = ir_min(f, ir_max(f, goal[b], least), ir_sub(f, one, least));
    return bright;
}

/* The coefficients of black and of white. */
static void make_extreme(tracer *t, const ir_ref rgb[3], ir_ref c[UNKNOWN])
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), black = ir_bool(f, true), white = black;
    for (int b = 0; b < 3; b++) {
        black = ir_and(f, black, ir_le(f, rgb[b], zero));
        white = ir_and(f, white, ir_ge(f, rgb[b], t_f32(t, 1)));
    }
    ir_ref either = ir_or(f, black, white);
    ir_ref extreme = ir_select(f, black, t_f32(t, -EXTREME), t_f32(t, EXTREME));
    for (int i = 0; i < UNKNOWN; i++)
        c[i] = ir_select(f, either, i == UNKNOWN - 1 ? extreme : zero, c[i]);
}

upsampling upsampling_solve(tracer *t, ir_ref table, const ir_ref rgb[3])
{
    ir_func *f = t->f;
    ir_ref goal[3], c[UNKNOWN], inverse[UNKNOWN][3], step[UNKNOWN], far;
    ir_ref bright = set_goal(t, rgb, goal);
    search(t, table, goal, c);
    seen s = see(t, table, c); /* the complement's Jacobian is the same */
    newton(t, &s, goal, step, &far);
    /* A last step, which costs nothing more. Where the search gave up, it might lead astray. */
    ir_ref found = ir_le(f, far, near_enough(t, goal));
    upsampling u;
    invert(t, &s, inverse, &u.scale);
    for (int i = 0; i < UNKNOWN; i++)
        c[i] = ir_select(f, found, ir_add(f, c[i], step[i]), c[i]);
    for (int i = 0; i < UNKNOWN; i++)
        c[i] = ir_select(f, bright, ir_neg(f, c[i]), c[i]);
    make_extreme(t, rgb, c);
    for (int i = 0; i < UNKNOWN; i++)
        u.c[i] = ir_replace_grad(f, c[i], v3_dot(t, vec3_at(inverse[i]), vec3_at(rgb)));
    return u;
}

static ir_ref place_of(tracer *t, ir_ref nm)
{
    return ir_mul(t->f, ir_sub(t->f, nm, t_f32(t, centre)), t_f32(t, 1 / half_range));
}

ir_ref upsampled(tracer *t, const upsampling *u, ir_ref nm)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), half = t_f32(t, 0.5f), w = place_of(t, nm);
    ir_ref x = parabola(t, u->c, w), root = ir_sqrt(f, ir_div(f, one, t_mad(t, x, x, one)));
    ir_ref value = t_mad(t, ir_mul(f, half, x), root, half);
    if (!t->differentiated || t->frozen)
        return value;
    ir_ref slope = ir_mul(f, half, ir_mul(f, t_sqr(t, root), root));
    slope = ir_select(f, is_extreme(t, x), t_f32(t, held_slope), slope);
    return ir_replace_grad(f, value, ir_mul(f, ir_detach(f, ir_div(f, slope, u->scale)), x));
}

/* Weighted spectra are weight / 2 + over / (2 under) each. */
typedef struct share {
    ir_ref weight, over, under;
} share;

static share share_sum(tracer *t, share a, share b)
{
    ir_func *f = t->f;
    return (share){ir_add(f, a.weight, b.weight), t_mad(t, a.over, b.under, ir_mul(f, b.over, a.under)),
                   ir_mul(f, a.under, b.under)};
}

/* So many that the product of their denominators, each at most EXTREME, is finite. */
enum { SHARES_MOST = 4 };

/* The sum of up to SHARES_MOST weighted spectra, in pairs. */
static ir_ref mixed(tracer *t, const upsampling *u, const ir_ref *weight, uint32_t count, ir_ref w)
{
    ir_func *f = t->f;
    share s[SHARES_MOST];
    for (uint32_t k = 0; k < count; k++) {
        ir_ref x = parabola(t, u[k].c, w);
        s[k] = (share){weight[k], ir_mul(f, weight[k], x), ir_sqrt(f, t_mad(t, x, x, t_f32(t, 1)))};
    }
    for (; count > 1; count = (count + 1) / 2)
        for (uint32_t k = 0; k < count; k += 2)
            s[k / 2] = k + 1 < count ? share_sum(t, s[k], s[k + 1]) : s[k];
    return ir_mul(f, t_f32(t, 0.5f), ir_add(f, s[0].weight, ir_div(f, s[0].over, s[0].under)));
}

ir_ref upsampled_mix(tracer *t, const upsampling *u, const ir_ref *weight, uint32_t count, ir_ref nm)
{
    ir_func *f = t->f;
    ir_ref sum = t_f32(t, 0), w = place_of(t, nm);
    for (uint32_t k = 0; k < count; k += SHARES_MOST)
        sum =
            ir_add(f, sum, mixed(t, u + k, weight + k, count - k < SHARES_MOST ? count - k : SHARES_MOST, w));
    sum = ir_max(f, sum, t_f32(t, 0));
    if (!t->differentiated || t->frozen)
        return sum;
    ir_ref single = t_f32(t, 0);
    for (uint32_t k = 0; k < count; k++)
        single = t_mad(t, weight[k], upsampled(t, &u[k], nm), single);
    return ir_replace_grad(f, sum, single);
}

/* The sigmoid ascends, so its extremes are those of the parabola: at the ends, or at its vertex. */
void upsampled_range(tracer *t, const upsampling *u, float first, float last, ir_ref *least, ir_ref *most)
{
    ir_func *f = t->f;
    const float low = (first - centre) / half_range, high = (last - centre) / half_range;
    ir_ref twice = ir_mul(f, t_f32(t, -2), u->c[0]), flat = ir_eq(f, twice, t_f32(t, 0));
    ir_ref vertex = ir_div(f, u->c[1], ir_select(f, flat, t_f32(t, 1), twice)), value[2];
    const ir_ref w[3] = {t_f32(t, low), t_f32(t, high), t_clamp(t, vertex, low, high)};
    ir_ref x[3], slope;
    for (int k = 0; k < 3; k++)
        x[k] = parabola(t, u->c, w[k]);
    sigmoid(t, ir_min(f, x[0], ir_min(f, x[1], x[2])), &value[0], &slope);
    sigmoid(t, ir_max(f, x[0], ir_max(f, x[1], x[2])), &value[1], &slope);
    *least = ir_detach(f, value[0]), *most = ir_detach(f, value[1]);
}
