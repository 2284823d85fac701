/* SPDX-License-Identifier: BSD-3-Clause
 * The phase function of Henyey and Greenstein 1941. c is the cosine between the direction in which light
 * travelled and the direction into which it is scattered, and g in (-1, 1) is the mean cosine:
 *
 *     f(c) = (1 - g^2) / (4 pi (1 + g^2 - 2 g c)^(3/2)).
 *
 * It is sampled exactly, by inverting its distribution. The inverse would divide by g, so near g = 0 the
 * sample is the uniform one, corrected to first order in g. */
#include "render/classes.h"

static const float inverse_sphere = 0.0795774715459476678844f; /* 1 / (4 pi) */

static ir_ref hg_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    (void)p;
    ir_func *f = t->f;
    ir_ref g = plan_number(t, n, record, "g"), one = t_f32(t, 1), g2 = t_sqr(t, g), two = t_f32(t, 2);
    /* wi points back, so c = -wi.wo. */
    ir_ref base = t_mad(t, ir_mul(f, two, g), v3_dot(t, wi, wo), ir_add(f, one, g2));
    base = ir_max(f, base, t_f32(t, 1e-12f));
    return ir_mul(f, t_f32(t, inverse_sphere),
                  ir_div(f, ir_sub(f, one, g2), ir_mul(f, base, ir_sqrt(f, base))));
}

static vec3 hg_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p, const ir_ref u[3])
{
    (void)p;
    ir_func *f = t->f;
    ir_ref g = plan_number(t, n, record, "g"), one = t_f32(t, 1), two = t_f32(t, 2), g2 = t_sqr(t, g);
    ir_ref small = ir_lt(f, ir_abs(f, g), t_f32(t, 1e-3f)), safe = ir_select(f, small, one, g);
    ir_ref ratio =
        ir_div(f, ir_sub(f, one, g2), ir_add(f, ir_sub(f, one, g), ir_mul(f, two, ir_mul(f, g, u[1]))));
    ir_ref exact = ir_div(f, ir_sub(f, ir_add(f, one, g2), t_sqr(t, ratio)), ir_mul(f, two, safe));
    ir_ref even = ir_sub(f, ir_mul(f, two, u[1]), one);
    ir_ref flat = t_mad(t, ir_mul(f, t_f32(t, 1.5f), g), ir_sub(f, one, t_sqr(t, even)), even);
    return warp_about(t, v3_neg(t, wi), t_clamp(t, ir_select(f, small, flat, exact), -1, 1), u[2]);
}

static const plugin_param hg_params[] = {
    {"g", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "0.8", -0.999999, 0.999999,
     "mean cosine; forward is positive"},
};
const phase_class phase_hg = {
    .base.plugin = {PLUGIN_PHASE, "hg", PLUGIN_TABLE(hg_params), PLUGIN_NONE, "Henyey-Greenstein"},
    .sample = hg_sample,
    .value = hg_value,
    .pdf = hg_value,
};
