/* SPDX-License-Identifier: BSD-3-Clause
 * Fresnel's equations. They may run differentiated by the indices. So nothing here divides by zero, or takes
 * the root of zero, where a derivative exists. This holds even for the side of a select that is not taken: a
 * factor of 0 does not undo a NaN. */
#include "render/bsdf/fresnel.h"

/* The reflectance is (r_s^2 + r_p^2) / 2, with sin_t = sin_i / eta_it by Snell's law. Equal indices reflect
 * nothing, and grazing light is reflected whole. The quotients say so too, except that they may be 0/0 there.
 * Under total reflection cos_t is 0, and the quotients r_s and r_p are 1 and -1. */
fresnel fresnel_dielectric(tracer *t, ir_ref cos_i, ir_ref eta)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1), inverse = ir_div(f, one, eta),
           outside = ir_ge(f, cos_i, zero);
    fresnel r = {
        .eta_it = ir_select(f, outside, eta, inverse),
        .eta_ti = ir_select(f, outside, inverse, eta),
    };
    ir_ref sin2_i = ir_sub(f, one, t_sqr(t, cos_i)), ci = ir_abs(f, cos_i);
    ir_ref ct = t_safe_sqrt(t, ir_sub(f, one, ir_mul(f, sin2_i, t_sqr(t, r.eta_ti))));
    ir_ref matched = ir_eq(f, eta, one), special = ir_or(f, matched, ir_eq(f, ci, zero));
    ir_ref s = ir_mul(f, r.eta_it, ct), p = ir_mul(f, r.eta_it, ci);
    ir_ref r_s = ir_div(f, ir_sub(f, ci, s), ir_select(f, special, one, ir_add(f, ci, s)));
    ir_ref r_p = ir_div(f, ir_sub(f, ct, p), ir_select(f, special, one, ir_add(f, ct, p)));
    ir_ref half = ir_mul(f, t_f32(t, 0.5f), ir_add(f, t_sqr(t, r_s), t_sqr(t, r_p)));
    r.reflectance = ir_select(f, special, ir_select(f, matched, zero, one), half);
    r.cos_t = ir_select(f, outside, ir_neg(f, ct), ct);
    return r;
}

/* (top - part) / (top + part), or 1 where both are 0. */
static ir_ref quotient(tracer *t, ir_ref top, ir_ref part)
{
    ir_func *f = t->f;
    ir_ref sum = ir_add(f, top, part), some = ir_gt(f, sum, t_f32(t, 0)), one = t_f32(t, 1);
    return ir_select(f, some, ir_div(f, ir_sub(f, top, part), ir_select(f, some, sum, one)), one);
}

/* a + ib is the root of (eta + ik)^2 - sin^2 (Born and Wolf, Principles of Optics, 14.4.1). The arrangement
 * is that of Sébastien Lagarde, Memo on Fresnel equations, 2013:
 *
 *     a^2 + b^2 = sqrt(d^2 + 4 eta^2 k^2)    d = eta^2 - k^2 - sin^2
 *     a^2       = (a^2 + b^2 + d) / 2
 *     R_s       = (a^2 + b^2 + cos^2 - 2 a cos) / (a^2 + b^2 + cos^2 + 2 a cos)
 *     R_p / R_s = ((a^2 + b^2) cos^2 + sin^4 - 2 a cos sin^2) / (the same with +)
 *
 * Metals have d < 0. For these, a^2 is computed as 2 eta^2 k^2 / (a^2 + b^2 - d). In this form no digits
 * cancel, and it is smooth in eta where eta is 0. So the perfect mirror eta = 0, k = 1 reflects exactly 1 and
 * has a derivative. */
ir_ref fresnel_conductor(tracer *t, ir_ref cos_i, ir_ref eta, ir_ref k)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), two = t_f32(t, 2), cos2 = t_sqr(t, cos_i), sin2 = ir_sub(f, one, cos2),
           both = ir_mul(f, eta, k);
    ir_ref d = ir_sub(f, ir_sub(f, t_sqr(t, eta), t_sqr(t, k)), sin2), metal = ir_lt(f, d, t_f32(t, 0));
    ir_ref sum = t_safe_sqrt(t, t_mad(t, d, d, ir_mul(f, t_f32(t, 4), t_sqr(t, both))));
    ir_ref a_metal =
        ir_mul(f, both, t_safe_sqrt(t, ir_div(f, two, ir_select(f, metal, ir_sub(f, sum, d), one))));
    ir_ref a_clear = t_safe_sqrt(t, ir_mul(f, t_f32(t, 0.5f), ir_select(f, metal, one, ir_add(f, sum, d))));
    ir_ref part = ir_mul(f, ir_mul(f, two, cos_i), ir_select(f, metal, a_metal, a_clear));
    ir_ref r_s = quotient(t, ir_add(f, sum, cos2), part);
    ir_ref r_p = ir_mul(f, r_s, quotient(t, t_mad(t, sum, cos2, t_sqr(t, sin2)), ir_mul(f, part, sin2)));
    return ir_mul(f, t_f32(t, 0.5f), ir_add(f, r_s, r_p));
}

vec3 fresnel_reflected(tracer *t, vec3 wi) { return v3(ir_neg(t->f, wi.x), ir_neg(t->f, wi.y), wi.z); }

vec3 fresnel_mirrored(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)lobe;
    return fresnel_reflected(t, ctx->wi);
}

vec3 fresnel_refracted(tracer *t, vec3 wi, const fresnel *f)
{
    ir_ref scale = ir_neg(t->f, f->eta_ti);
    return v3(ir_mul(t->f, wi.x, scale), ir_mul(t->f, wi.y, scale), f->cos_t);
}

/* Gauss-Legendre quadrature in mu. From the denser side, total reflection would put a kink into the
 * integrand. So the integral is always that from the other side. The two are related, since as much light
 * crosses the surface one way as the other: eta^2 (1 - internal) = 1 - external. */
ir_ref fresnel_diffuse_internal(tracer *t, ir_ref eta)
{
    enum { NODES = 10 };
    static const struct {
        float mu, weight;
    } node[NODES] = {
        {0.0130467357f, 0.0333356722f}, {0.0674683167f, 0.0747256746f}, {0.160295216f, 0.109543181f},
        {0.283302303f, 0.13463336f},    {0.425562831f, 0.147762112f},   {0.574437169f, 0.147762112f},
        {0.716697697f, 0.13463336f},    {0.839704784f, 0.109543181f},   {0.932531683f, 0.0747256746f},
        {0.986953264f, 0.0333356722f},
    };
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), inverse = ir_div(f, one, eta), denser = ir_ge(f, eta, one);
    ir_ref n = ir_select(f, denser, eta, inverse), sum = t_f32(t, 0);
    for (int k = 0; k < NODES; k++)
        sum = t_mad(t, fresnel_dielectric(t, t_f32(t, node[k].mu), n).reflectance,
                    t_f32(t, 2 * node[k].mu * node[k].weight), sum);
    return ir_select(f, denser, ir_sub(f, one, ir_mul(f, ir_sub(f, one, sum), t_sqr(t, inverse))), sum);
}
