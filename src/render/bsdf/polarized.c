/* SPDX-License-Identifier: BSD-3-Clause
 * Values of materials in modes with polarisation. A material that says nothing of polarisation depolarises,
 * as Mitsuba's do. Its null lobes let light through as it is. */
#include "render/classes.h"

static bsdf_polarized depolarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    bsdf_polarized r = {.axis = stokes_basis(t, ctx->wi)};
    color value = bsdf_of(ctx->n)->value(ctx, wo, delta, lobe);
    ir_ref through = ir_and(f, delta, ir_ge(f, lobe, t_u32(t, LOBE_NULL)));
    const int keeps = bsdf_lets_through(ctx->n) ? 4 : 1; /* how many entries of the Stokes vector */
    for (uint32_t c = 0; c < t->channels; c++) {
        r.m[c] = mueller_depolarizer(value.c[c]);
        for (int k = 1; k < keeps; k++)
            r.m[c].m[k][k] = ir_select(f, through, value.c[c], t_f32(t, 0));
    }
    r.depolarizes = ir_bool(f, true);
    if (bsdf_lets_through(ctx->n))
        r.depolarizes = ir_not(f, through);
    return r;
}

bsdf_polarized bsdf_polarize(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    const bsdf_class *cls = bsdf_of(ctx->n);
    bsdf_polarized r =
        cls->polarized ? cls->polarized(ctx, wo, delta, lobe) : depolarized(ctx, wo, delta, lobe);
    if (ir_is_none(r.depolarizes)) /* Where a material has discrete lobes only, its other values are 0. */
        r.depolarizes = cls->pdf == bsdf_no_density ? ir_not(ctx->t->f, delta) : ir_bool(ctx->t->f, false);
    return r;
}

/* Straight on there is no plane of incidence. Any vector across will do then, since both polarisations are
 * alike. */
vec3 bsdf_specular_axis(tracer *t, vec3 m, vec3 wi)
{
    vec3 across = v3_cross(t, m, wi), any = frame_around(t, m).s;
    ir_ref some = ir_gt(t->f, v3_dot(t, across, across), t_f32(t, 1e-12f));
    return v3_normalize(t, v3_select(t, some, across, any));
}
