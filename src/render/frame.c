/* SPDX-License-Identifier: BSD-3-Clause
 * Frames around a normal, and where rays leave surfaces. */
#include "render/trace.h"

/* Duff et al. 2017, "Building an Orthonormal Basis, Revisited", listing 3. */
frame frame_around(tracer *t, vec3 n)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), sign = ir_select(f, ir_ge(f, n.z, t_f32(t, 0)), one, t_f32(t, -1));
    ir_ref a = ir_neg(f, ir_div(f, one, ir_add(f, sign, n.z)));
    ir_ref b = ir_mul(f, ir_mul(f, n.x, n.y), a);
    vec3 s = v3(t_mad(t, ir_mul(f, sign, t_sqr(t, n.x)), a, one), ir_mul(f, sign, b),
                ir_neg(f, ir_mul(f, sign, n.x)));
    vec3 u = v3(b, t_mad(t, t_sqr(t, n.y), a, sign), ir_neg(f, n.y));
    return (frame){s, u, n};
}

ir_ref ray_epsilon(tracer *t, vec3 p)
{
    ir_func *f = t->f;
    ir_ref size = ir_max(f, ir_abs(f, p.x), ir_max(f, ir_abs(f, p.y), ir_abs(f, p.z)));
    return ir_mul(f, ir_add(f, t_f32(t, 1), size), t_f32(t, RAY_EPSILON));
}

vec3 ray_offset(tracer *t, vec3 p, vec3 n, vec3 d)
{
    ir_func *f = t->f;
    ir_ref by = ray_epsilon(t, p);
    by = ir_select(f, ir_lt(f, v3_dot(t, n, d), t_f32(t, 0)), ir_neg(f, by), by);
    return v3_add(t, p, v3_scale(t, n, by));
}

ir_ref ray_onward(tracer *t, vec3 p, vec3 n, vec3 d)
{
    static const float least_cosine = 0x1p-4f; /* else the way along the ray would be long */
    ir_func *f = t->f;
    ir_ref cosine = ir_max(f, ir_abs(f, v3_dot(t, n, d)), t_f32(t, least_cosine));
    return ir_div(f, ray_epsilon(t, p), cosine);
}
