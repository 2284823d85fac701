/* SPDX-License-Identifier: BSD-3-Clause
 * Reconstruction filters by importance sampling (estimators.md 10): a sample belongs to one pixel and its position is drawn from the filter
 * around the pixel's centre, so its weight is 1 and an image is a sum in fixed order. */
#include "render/classes.h"

static vec2 box_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2)
{
    (void)record;
    ir_ref half = t_f32(t, 0.5f);
    return (vec2){ir_sub(t->f, u1, half), ir_sub(t->f, u2, half)};
}

const filter_class filter_box = {
    .base.plugin = {PLUGIN_RFILTER, "box", NULL, 0, NULL, 0, "one pixel, constant"},
    .sample = box_sample,
};

/* The positive half of max(0, 1 - |x| / r) and its mirror image, each from half of the numbers, by the exact inverse of the quadratic
 * cumulative distribution. */
static void tent_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    words[0] = float_word((float)scene_number(o, "radius"));
}

static ir_ref tent_axis(tracer *t, ir_ref record, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = t_f32(t, 2), low = ir_lt(f, u, t_f32(t, 0.5f));
    ir_ref rest = ir_sqrt(f, ir_mul(f, two, ir_select(f, low, u, ir_sub(f, one, u)))), x = ir_sub(f, one, rest);
    return ir_mul(f, t_real(t, record, 0), ir_select(f, low, ir_neg(f, x), x));
}

static vec2 tent_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2)
{
    return (vec2){tent_axis(t, record, u1), tent_axis(t, record, u2)};
}

static const plugin_param tent_params[] = {{"radius", PLUGIN_FLOAT, 0, "1", 1e-3, 1e3, "in pixels"}};
const filter_class filter_tent = {
    .base = {.plugin = {PLUGIN_RFILTER, "tent", tent_params, 1, NULL, 0, "triangle"}, .extra_words = 1, .extra = tent_extra},
    .sample = tent_sample,
};

/* Inverse cumulative distribution of exp(-x^2 / 2 s^2) - exp(-r^2 / 2 s^2), r = 4 s, as a table of positions at equal steps of probability,
 * interpolated linearly. The table's cells are so narrow that the error of the drawn density is below 1e-3 of its maximum, in the tails. */
enum { CELLS = 1024 };

static void gaussian_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    enum { STEPS = 65536 };
    double sigma = scene_number(o, "stddev"), radius = 4 * sigma, edge = exp(-8.0), total = 0, sum = 0;
    for (int i = 0; i < STEPS; i++) {
        double x = radius * (2 * (i + 0.5) / STEPS - 1);
        total += exp(-x * x / (2 * sigma * sigma)) - edge;
    }
    words[0] = float_word((float)-radius);
    int cell = 1;
    for (int i = 0; i < STEPS && cell < CELLS; i++) {
        double x = radius * (2 * (i + 0.5) / STEPS - 1), density = exp(-x * x / (2 * sigma * sigma)) - edge;
        while (cell < CELLS && (sum + density) * CELLS >= cell * total) {
            double part = (cell * total / CELLS - sum) / density;
            words[cell++] = float_word((float)(radius * (2 * (i + part) / STEPS - 1)));
        }
        sum += density;
    }
    while (cell <= CELLS)
        words[cell++] = float_word((float)radius);
}

static ir_ref gaussian_axis(tracer *t, ir_ref record, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref x = ir_mul(f, u, t_f32(t, CELLS)), base = ir_floor(f, x), part = ir_sub(f, x, base);
    ir_ref at = ir_add(f, record, ir_min(f, ir_to_u32(f, base), t_u32(t, CELLS - 1)));
    ir_ref low = t_real(t, at, 0), high = t_real(t, at, 1);
    return t_mad(t, ir_sub(f, high, low), part, low);
}

static vec2 gaussian_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2)
{
    return (vec2){gaussian_axis(t, record, u1), gaussian_axis(t, record, u2)};
}

static const plugin_param gaussian_params[] = {
    {"stddev", PLUGIN_FLOAT, 0, "0.5", 1e-3, 1e3, "standard deviation in pixels; the radius is four times that"},
};
const filter_class filter_gaussian = {
    .base = {.plugin = {PLUGIN_RFILTER, "gaussian", gaussian_params, 1, NULL, 0, "Gaussian"}, .extra_words = CELLS + 1, .extra = gaussian_extra},
    .sample = gaussian_sample,
};
