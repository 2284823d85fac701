/* SPDX-License-Identifier: BSD-3-Clause
 * Reconstruction filters by importance sampling (estimators.md 10; Ernst, Stamminger and Greiner 2006): a sample belongs to one pixel and its
 * position is drawn from the filter around the pixel's centre, so its weight is 1 and an image is a sum in fixed order. All filters are products of
 * two of one dimension. Where such a filter is negative, positions are drawn from its magnitude, and the weight has its sign. */
#include "render/classes.h"

static vec2 box_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2, ir_ref *weight)
{
    (void)record, (void)weight;
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

static vec2 tent_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2, ir_ref *weight)
{
    (void)weight;
    return (vec2){tent_axis(t, record, u1), tent_axis(t, record, u2)};
}

static ir_ref tent_value(tracer *t, ir_ref record, ir_ref distance)
{
    return ir_max(t->f, t_f32(t, 0), ir_sub(t->f, t_f32(t, 1), ir_div(t->f, distance, t_real(t, record, 0))));
}

static double tent_radius(const scene_object *filter) { return scene_number(filter, "radius"); }

static const plugin_param tent_params[] = {{"radius", PLUGIN_FLOAT, 0, "1", 1e-3, 1e3, "in pixels"}};
const filter_class filter_tent = {
    .base = {.plugin = {PLUGIN_RFILTER, "tent", tent_params, 1, NULL, 0, "triangle"}, .extra_words = 1, .extra = tent_extra},
    .sample = tent_sample,
    .value = tent_value,
    .radius = tent_radius,
};
