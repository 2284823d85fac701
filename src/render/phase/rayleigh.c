/* SPDX-License-Identifier: BSD-3-Clause
 * Scattering by particles much smaller than the wavelength (Rayleigh): f(c) = 3 (1 + c^2) / (16 pi), with c
 * the cosine between both directions. It is sampled exactly: c solves a cubic equation (Frisvad 2011,
 * "Importance sampling the Rayleigh phase function"). With z = 2 (2 u - 1) the solution is c = A - 1/A,
 * where A^3 = z + sqrt(z^2 + 1). It has no parameters. */
#include "render/classes.h"

static const float factor = 0.05968310365946075091f; /* 3 / (16 pi) */

static ir_ref rayleigh_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    (void)n, (void)record, (void)p;
    return ir_mul(t->f, t_f32(t, factor), ir_add(t->f, t_f32(t, 1), t_sqr(t, v3_dot(t, wi, wo))));
}

static vec3 rayleigh_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p, const ir_ref u[3])
{
    (void)n, (void)record, (void)p;
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), z = ir_sub(f, ir_mul(f, t_f32(t, 4), u[1]), t_f32(t, 2));
    /* c is odd in z. It is found for |z|, because for z < 0 the sum z + sqrt(z^2 + 1) would cancel. */
    ir_ref size = ir_abs(f, z),
           a = ir_pow(f, ir_add(f, size, ir_sqrt(f, t_mad(t, size, size, one))), t_f32(t, 1.0f / 3));
    ir_ref c = ir_min(f, ir_sub(f, a, ir_div(f, one, a)), one);
    return warp_about(t, wi, ir_select(f, ir_lt(f, z, t_f32(t, 0)), ir_neg(f, c), c), u[2]);
}

const phase_class phase_rayleigh = {
    .base.plugin = {PLUGIN_PHASE, "rayleigh", PLUGIN_NONE, PLUGIN_NONE,
                    "particles much smaller than the wavelength"},
    .sample = rayleigh_sample,
    .value = rayleigh_value,
    .pdf = rayleigh_value,
};
