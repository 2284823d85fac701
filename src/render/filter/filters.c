/* SPDX-License-Identifier: BSD-3-Clause
 * Reconstruction filters by importance sampling (docs/theory/film.md; Ernst, Stamminger and Greiner 2006).
 * A sample belongs to one pixel, and its position is drawn from the filter around the centre of the pixel.
 * So its weight is 1, and an image is a sum in fixed order. All filters are products of two filters of one
 * dimension. Where such a filter is negative, positions are drawn from its magnitude, and the weight has
 * its sign. Filters have no differentiable parameters. */
#include "render/classes.h"

static vec2 box_sample(tracer *t, ir_ref record, ir_ref u1, ir_ref u2, ir_ref *weight)
{
    (void)record, (void)weight;
    ir_ref half = t_f32(t, 0.5f);
    return (vec2){ir_sub(t->f, u1, half), ir_sub(t->f, u2, half)};
}

const filter_class filter_box = {
    .base.plugin = {PLUGIN_RFILTER, "box", PLUGIN_NONE, PLUGIN_NONE, "one pixel, constant"},
    .sample = box_sample,
};

/* Loads the two words of one side of the border of the image. */
static void load_edge(tracer *t, const filter_class *cls, ir_ref record, ir_ref pixels, uint32_t side,
                      ir_ref out[2])
{
    ir_ref index = ir_mul(t->f, ir_min(t->f, pixels, t_u32(t, FILTER_EDGES - 1)), t_u32(t, 4)),
           at = ir_add(t->f, record, index);
    out[0] = t_real(t, at, cls->edges + 2 * side), out[1] = t_real(t, at, cls->edges + 2 * side + 1);
}

ir_ref filter_within(tracer *t, const filter_class *cls, ir_ref record, window_axis pixel, ir_ref u,
                     ir_ref *weight)
{
    BL_ASSERT(cls->edges, "%s has no edge words", cls->base.plugin.name);
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), left[2], right[2];
    load_edge(t, cls, record, pixel.at, 0, left);
    load_edge(t, cls, record, ir_sub(f, ir_sub(f, pixel.size, t_u32(t, 1)), pixel.at), 1, right);
    ir_ref rest = ir_sub(f, one, ir_add(f, left[0], right[0]));
    if (cls->weighted) /* for other filters shares of numbers are shares of mass */
        *weight = ir_mul(f, *weight, ir_div(f, rest, ir_sub(f, one, ir_add(f, left[1], right[1]))));
    return ir_min(f, t_mad(t, u, rest, left[0]), t_f32(t, 0x1.fffffep-1f));
}

ir_ref filter_mass_within(tracer *t, const filter_class *cls, ir_ref record, window_axis pixel)
{
    ir_func *f = t->f;
    ir_ref left[2], right[2];
    load_edge(t, cls, record, pixel.at, 0, left);
    load_edge(t, cls, record, ir_sub(f, ir_sub(f, pixel.size, t_u32(t, 1)), pixel.at), 1, right);
    return ir_sub(f, t_f32(t, 1), ir_add(f, left[1], right[1]));
}

/* The tent is max(0, 1 - |x| / r). Half of the numbers go to its positive half, and the others to the
 * mirror image. Each half is sampled by the exact inverse of its quadratic cumulative distribution. */
static void tent_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    (void)p;
    double radius = scene_number(o, "radius");
    words[0] = float_word((float)radius);
    for (uint32_t k = 0; k + 1 < FILTER_EDGES; k++) {
        double beyond = 1 - (k + 0.5) / radius, share = beyond > 0 ? beyond * beyond / 2 : 0;
        for (uint32_t j = 0; j < 4; j++)
            words[1 + 4 * k + j] = float_word((float)share);
    }
}

static ir_ref tent_axis(tracer *t, ir_ref record, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = t_f32(t, 2), low = ir_lt(f, u, t_f32(t, 0.5f));
    ir_ref rest = ir_sqrt(f, ir_mul(f, two, ir_select(f, low, u, ir_sub(f, one, u)))),
           x = ir_sub(f, one, rest);
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
    .base = {.plugin = {PLUGIN_RFILTER, "tent", PLUGIN_TABLE(tent_params), PLUGIN_NONE, "triangle"},
             .extra_words = 1 + FILTER_EDGE_WORDS,
             .extra = tent_extra},
    .sample = tent_sample,
    .value = tent_value,
    .radius = tent_radius,
    .edges = 1,
};
