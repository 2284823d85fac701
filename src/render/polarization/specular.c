/* SPDX-License-Identifier: BSD-3-Clause
 * Fresnel's equations with polarisation. For a relative index n, which may be complex, let A be the root of
 * n^2 - sin^2, which is n times the cosine of refraction. The amplitudes that are reflected are
 *
 *     r_s = (cos - A) / (cos + A)        r_p = -r_s (A cos - sin^2) / (A cos + sin^2).
 *
 * The second follows from r_p = (n^2 cos - A) / (n^2 cos + A), since (cos +- A)(A cos +- sin^2) is
 * A +- n^2 cos. With A = a - ib and D = |A|^2 cos^2 + 2 a cos sin^2 + sin^4,
 *
 *     |r_s|^2       = R_s = (|A|^2 + cos^2 - 2 a cos) / (|A|^2 + cos^2 + 2 a cos)
 *     |r_p|^2       = R_p = R_s (|A|^2 cos^2 - 2 a cos sin^2 + sin^4) / D
 *     r_s conj(r_p)       = R_s (sin^4 - |A|^2 cos^2 - 2 i b cos sin^2) / D.
 *
 * These are the entries of the matrix, so no phase is ever computed as an angle. b is 0 between dielectrics.
 * Under total reflection a is 0 and b is the root of sin^2 - n^2. What crosses is
 *
 *     T_s = 4 a cos / (cos + a)^2        t_p / t_s = n / (a cos + sin^2).
 *
 * A denominator is 0 only where equal indices are seen from the horizon, and where n is 0. It is replaced
 * before the division, since this may run differentiated. The signs are those of Mitsuba 3: at normal
 * incidence r_s = -r_p, so that reflection changes left circular light to right circular light. The equations
 * are those of Born and Wolf, Principles of Optics, 1.5 and 14.4. */
#include "render/polarization/polarization.h"

/* The side that light comes from: cosine, squares, and A = a - ib on the other side. */
typedef struct incidence {
    ir_ref cosine, cos2, sin2;
    ir_ref n;             /* the relative index, of a dielectric */
    ir_ref a, b, squared; /* squared: |A|^2 */
} incidence;

static ir_ref nonzero(tracer *t, ir_ref v)
{
    return ir_select(t->f, ir_eq(t->f, v, t_f32(t, 0)), t_f32(t, 1), v);
}

static incidence meet(tracer *t, ir_ref cos_i)
{
    incidence r = {.cosine = ir_abs(t->f, cos_i), .cos2 = t_sqr(t, cos_i)};
    r.sin2 = ir_sub(t->f, t_f32(t, 1), r.cos2);
    return r;
}

static incidence meet_dielectric(tracer *t, ir_ref cos_i, ir_ref eta)
{
    ir_func *f = t->f;
    incidence r = meet(t, cos_i);
    r.n = ir_select(f, ir_ge(f, cos_i, t_f32(t, 0)), eta, ir_div(f, t_f32(t, 1), eta));
    ir_ref squared = ir_sub(f, t_sqr(t, r.n), r.sin2);
    r.a = t_safe_sqrt(t, squared), r.b = t_safe_sqrt(t, ir_neg(f, squared));
    r.squared = ir_abs(f, squared);
    return r;
}

/* a^2 - b^2 = d and a b = eta k. Of a^2 and b^2 the larger is computed from |A|^2 +- d, the other one from
 * the product: no digits cancel (fresnel.c). */
static incidence meet_conductor(tracer *t, ir_ref cos_i, ir_ref eta, ir_ref k)
{
    ir_func *f = t->f;
    incidence r = meet(t, cos_i);
    ir_ref both = ir_mul(f, eta, k), d = ir_sub(f, ir_sub(f, t_sqr(t, eta), t_sqr(t, k)), r.sin2);
    r.squared = t_safe_sqrt(t, t_mad(t, d, d, ir_mul(f, t_f32(t, 4), t_sqr(t, both))));
    ir_ref larger = t_safe_sqrt(t, ir_mul(f, t_f32(t, 0.5f), ir_add(f, r.squared, ir_abs(f, d))));
    ir_ref smaller = ir_div(f, both, nonzero(t, larger)), metal = ir_lt(f, d, t_f32(t, 0));
    r.a = ir_select(f, metal, smaller, larger), r.b = ir_select(f, metal, larger, smaller);
    return r;
}

/* [[a, b, 0, 0], [b, a, 0, 0], [0, 0, c, s], [0, 0, -s, c]] of the two powers. s may be none. */
static mueller block(tracer *t, ir_ref power_s, ir_ref power_p, ir_ref c, ir_ref s)
{
    ir_func *f = t->f;
    ir_ref half = t_f32(t, 0.5f), mean = ir_mul(f, half, ir_add(f, power_s, power_p)),
           difference = ir_mul(f, half, ir_sub(f, power_s, power_p));
    mueller r = {.m = {{mean, difference}, {difference, mean}}};
    r.m[2][2] = r.m[3][3] = c;
    if (!ir_is_none(s))
        r.m[2][3] = s, r.m[3][2] = ir_neg(f, s);
    return r;
}

static mueller reflected(tracer *t, const incidence *at)
{
    ir_func *f = t->f;
    ir_ref sum = ir_add(f, at->squared, at->cos2), twice = ir_add(f, at->cosine, at->cosine),
           part = ir_mul(f, at->a, twice), sin4 = t_sqr(t, at->sin2);
    ir_ref r_s = ir_div(f, ir_sub(f, sum, part), nonzero(t, ir_add(f, sum, part)));
    ir_ref across = ir_mul(f, at->squared, at->cos2), along = ir_mul(f, part, at->sin2);
    ir_ref each = ir_div(f, r_s, nonzero(t, ir_add(f, ir_add(f, across, along), sin4)));
    ir_ref r_p = ir_mul(f, each, ir_add(f, ir_sub(f, across, along), sin4));
    ir_ref imaginary = ir_neg(f, ir_mul(f, each, ir_mul(f, at->b, ir_mul(f, twice, at->sin2))));
    return block(t, r_s, r_p, ir_mul(f, each, ir_sub(f, sin4, across)), imaginary);
}

mueller specular_reflection(tracer *t, ir_ref cos_i, ir_ref eta)
{
    incidence at = meet_dielectric(t, cos_i, eta);
    return reflected(t, &at);
}

mueller specular_reflection_conductor(tracer *t, ir_ref cos_i, ir_ref eta, ir_ref k)
{
    incidence at = meet_conductor(t, cos_i, eta, k);
    return reflected(t, &at);
}

mueller specular_transmission(tracer *t, ir_ref cos_i, ir_ref eta)
{
    ir_func *f = t->f;
    incidence at = meet_dielectric(t, cos_i, eta);
    ir_ref sum = ir_add(f, at.cosine, at.a), product = ir_mul(f, at.a, at.cosine);
    ir_ref t_s = ir_div(f, ir_mul(f, t_f32(t, 4), product), nonzero(t, t_sqr(t, sum)));
    ir_ref ratio = ir_div(f, at.n, nonzero(t, ir_add(f, product, at.sin2))), both = ir_mul(f, t_s, ratio);
    return block(t, t_s, ir_mul(f, both, ratio), both, (ir_ref){0});
}
