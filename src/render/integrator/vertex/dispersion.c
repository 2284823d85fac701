/* SPDX-License-Identifier: BSD-3-Clause
 * Materials whose index depends on the wavelength, on paths that carry several wavelengths (Wilkie, Nawaz,
 * Droske, Weidlich, Hanika 2014, Hero Wavelength Spectral Sampling).
 *
 * One of the path's wavelengths, the hero, is chosen with the probabilities `share` that a walk carries, and
 * the material is sampled by its index. The density of the sample is that of all choices together,
 *
 *     p = sum over k of share[k] p[k],
 *
 * and behind it share[k] is share[k] p[k] / p: the probability that wavelength k has led here, if one of them
 * did (single-sample MIS by the balance heuristic; media do the same with their extinctions,
 * media/free_flight.c).
 *
 * A discrete lobe leads each wavelength elsewhere, unless it mirrors. Wavelengths that it leads in another
 * direction than the hero's have the value 0 and the share 0 from there on: one wavelength goes on alone,
 * with the weight of all. Where the direction is the same, the probability of the lobe is the hero's. This
 * needs no balance, since the hero is drawn anew at each vertex.
 *
 * A material's own functions know nothing of this. They read one index, at wavelengths->bends, and are
 * evaluated once for each wavelength, of which only that wavelength's channel counts. */
#include "render/integrator/vertex/plugin_functions.h"

ir_ref dispersion_hero(walk *w, color share, ir_ref u)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref hero = t_u32(t, 0), sum = share.c[0];
    for (uint32_t k = 1; k < WAVELENGTHS; k++) { /* a share of 0 is not chosen, also not at the end */
        ir_ref behind = ir_and(f, ir_ge(f, u, sum), ir_gt(f, share.c[k], t_f32(t, 0)));
        hero = ir_select(f, behind, t_u32(t, k), hero);
        sum = ir_add(f, sum, share.c[k]);
    }
    return hero;
}

/* A context that reads indices at wavelength k, or at the hero's. */
typedef struct bent {
    tracer t;
    wavelength_set set;
    bsdf_context ctx;
} bent;

static void bend(bent *b, const bsdf_context *ctx, ir_ref nm)
{
    b->t = *ctx->t, b->set = *ctx->t->wavelengths;
    b->set.bends = nm, b->t.wavelengths = &b->set;
    b->ctx = bsdf_read_by(ctx, &b->t);
}

ir_ref dispersion_hero_nm(tracer *t, ir_ref hero)
{
    ir_ref nm = t->wavelengths->nm[0];
    for (uint32_t k = 1; k < WAVELENGTHS; k++)
        nm = ir_select(t->f, ir_eq(t->f, hero, t_u32(t, k)), t->wavelengths->nm[k], nm);
    return nm;
}

/* bool, of each wavelength: the discrete lobe leads it where it leads the hero. */
static void led_alike(const bsdf_context *ctx, ir_ref hero, ir_ref lobe, ir_ref alike[WAVELENGTHS])
{
    tracer deciding = t_deciding(ctx->t), *t = &deciding;
    ir_func *f = t->f;
    bsdf_context decides = bsdf_read_by(ctx, t);
    bent by;
    bend(&by, &decides, dispersion_hero_nm(t, hero));
    vec3 there = bsdf_lobe_direction(&by.ctx, lobe);
    for (uint32_t k = 0; k < WAVELENGTHS; k++) {
        bend(&by, &decides, t->wavelengths->nm[k]);
        vec3 d = bsdf_lobe_direction(&by.ctx, lobe);
        ir_ref same =
            ir_and(f, ir_eq(f, d.x, there.x), ir_and(f, ir_eq(f, d.y, there.y), ir_eq(f, d.z, there.z)));
        alike[k] = ir_or(f, same, ir_eq(f, hero, t_u32(t, k)));
    }
}

void dispersion_sample(const bsdf_context *ctx, const bsdf_sample_arguments *a, bsdf_sample_results *r)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    const bsdf_class *cls = bsdf_of(ctx->n);
    ir_ref zero = t_f32(t, 0), sum = zero, alike[WAVELENGTHS];
    bent by;
    bend(&by, ctx, dispersion_hero_nm(t, a->hero));
    r->sample = cls->sample(&by.ctx, a->u[0], a->u[1], a->u[2]);
    led_alike(ctx, a->hero, r->sample.lobe, alike);
    r->light_pdf = zero;
    for (uint32_t k = 0; k < WAVELENGTHS; k++) {
        bend(&by, ctx, t->wavelengths->nm[k]);
        ir_ref discrete = ir_select(f, alike[k], r->sample.pdf, zero),
               pdf = ir_select(f, r->sample.delta, discrete, cls->pdf(&by.ctx, r->sample.wo));
        r->light_pdf = t_mad(t, a->share.c[k], cls->pdf(&by.ctx, a->to_light), r->light_pdf);
        r->share.c[k] = ir_mul(f, a->share.c[k], pdf);
        sum = ir_add(f, sum, r->share.c[k]);
    }
    for (uint32_t k = 0; k < WAVELENGTHS; k++)
        r->share.c[k] = ir_select(f, ir_gt(f, sum, zero), t_ratio(t, r->share.c[k], sum), a->share.c[k]);
    r->sample.pdf = sum;
}

color dispersion_value(const bsdf_context *ctx, ir_ref hero, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref alike[WAVELENGTHS];
    color r = {0};
    led_alike(ctx, hero, lobe, alike);
    for (uint32_t k = 0; k < WAVELENGTHS; k++) {
        bent by;
        bend(&by, ctx, t->wavelengths->nm[k]);
        color value = bsdf_of(ctx->n)->value(&by.ctx, wo, delta, lobe);
        r.c[k] = ir_select(f, ir_and(f, delta, ir_not(f, alike[k])), t_f32(t, 0), value.c[k]);
    }
    return r;
}

/* The axis lies across the plane of incidence, which is the same for all wavelengths. */
bsdf_polarized dispersion_polarized(const bsdf_context *ctx, ir_ref hero, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref alike[WAVELENGTHS];
    bsdf_polarized r = {0};
    const mueller dark = {0};
    led_alike(ctx, hero, lobe, alike);
    for (uint32_t k = 0; k < WAVELENGTHS; k++) {
        bent by;
        bend(&by, ctx, t->wavelengths->nm[k]);
        bsdf_polarized own = bsdf_polarize(&by.ctx, wo, delta, lobe);
        ir_ref goes = ir_or(f, ir_not(f, delta), alike[k]);
        r.m[k] = mueller_select(t, goes, &own.m[k], &dark);
        if (k == 0)
            r.axis = own.axis, r.depolarizes = own.depolarizes;
    }
    return r;
}

color dispersion_colour(const bsdf_context *ctx, bsdf_colour *of)
{
    color r = {0};
    for (uint32_t k = 0; k < WAVELENGTHS; k++) {
        bent by;
        bend(&by, ctx, ctx->t->wavelengths->nm[k]);
        r.c[k] = of(&by.ctx).c[k];
    }
    return r;
}
