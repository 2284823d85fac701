/* SPDX-License-Identifier: BSD-3-Clause
 * Real spherical harmonics as polynomials of a unit vector (harmonics.h). */
#include "render/harmonics.h"

static ir_ref scaled(tracer *t, float by, ir_ref v) { return ir_mul(t->f, t_f32(t, by), v); }
static ir_ref product(tracer *t, float by, ir_ref a, ir_ref b) { return scaled(t, by, ir_mul(t->f, a, b)); }

/* a v + b. Where two arguments record something, they get names first, here and below, because C leaves open
 * which of them it evaluates first, and the kernel's bytes depend on it. */
static ir_ref line(tracer *t, float a, ir_ref v, float b)
{
    ir_ref offset = t_f32(t, b), slope = t_f32(t, a);
    return t_mad(t, slope, v, offset);
}

static void degree_two(tracer *t, vec3 d, ir_ref *out)
{
    ir_ref yy = t_sqr(t, d.y), xx = t_sqr(t, d.x), difference = ir_sub(t->f, xx, yy);
    out[0] = product(t, 1.0925484305920792f, d.x, d.y);
    out[1] = product(t, -1.0925484305920792f, d.y, d.z);
    out[2] = line(t, 0.9461746957575601f, t_sqr(t, d.z), -0.3153915652525200f);
    out[3] = product(t, -1.0925484305920792f, d.x, d.z);
    out[4] = scaled(t, 0.5462742152960396f, difference);
}

static void degree_three(tracer *t, vec3 d, ir_ref *out)
{
    ir_func *f = t->f;
    ir_ref xx = t_sqr(t, d.x), yy = t_sqr(t, d.y), zz = t_sqr(t, d.z);
    ir_ref five = line(t, -5, zz, 1), of_y = ir_sub(f, scaled(t, 3, xx), yy),
           of_x = ir_sub(f, xx, scaled(t, 3, yy));
    out[0] = product(t, -0.5900435899266435f, d.y, of_y);
    out[1] = product(t, 2.8906114426405540f, d.x, ir_mul(f, d.y, d.z));
    out[2] = product(t, 0.4570457994644658f, d.y, five);
    out[3] = product(t, 0.3731763325901154f, d.z, line(t, 5, zz, -3));
    out[4] = product(t, 0.4570457994644658f, d.x, five);
    out[5] = product(t, 1.4453057213202770f, d.z, ir_sub(f, xx, yy));
    out[6] = product(t, -0.5900435899266435f, d.x, of_x);
}

void harmonics(tracer *t, vec3 d, uint32_t degree, ir_ref *out)
{
    BL_ASSERT(degree <= HARMONICS_DEGREE, "spherical harmonics of degree %u", degree);
    out[0] = t_f32(t, 0.2820947917738781f);
    if (degree >= 1) {
        out[1] = scaled(t, -0.4886025119029199f, d.y);
        out[2] = scaled(t, 0.4886025119029199f, d.z);
        out[3] = scaled(t, -0.4886025119029199f, d.x);
    }
    if (degree >= 2)
        degree_two(t, d, out + 4);
    if (degree >= 3)
        degree_three(t, d, out + 9);
}
