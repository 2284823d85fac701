/* SPDX-License-Identifier: BSD-3-Clause
 * A material with holes. The nested material has the weight `opacity`. The rest of the light, with the weight
 * 1 - opacity, goes straight through, which is a discrete lobe. `sample` chooses one of the two with the
 * opacity as probability (plan_probability). That probability is detached; the weights are not. */
#include "render/classes.h"

static ir_ref opacity_of(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return t_clamp(t, bsdf_texture_1(ctx, "opacity"), 0, 1);
}

static ir_ref nested_probability(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    return plan_probability(t, ctx->n, "opacity", opacity_of(ctx));
}

static bsdf_sample mask_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref p = nested_probability(ctx), one = t_f32(t, 1), nested = ir_lt(f, u_lobe, p),
           rest = t_ratio(t, u_lobe, p);
    bsdf_context inner = bsdf_nested(ctx, 0);
    bsdf_sample s = bsdf_of(inner.n)->sample(&inner, rest, u1, u2);
    return (bsdf_sample){
        .wo = v3_select(t, nested, s.wo, v3_neg(t, ctx->wi)),
        .pdf = ir_select(f, nested, ir_mul(f, p, s.pdf), ir_sub(f, one, p)),
        .eta = ir_select(f, nested, s.eta, one),
        .delta = ir_or(f, s.delta, ir_not(f, nested)),
        .lobe = ir_select(f, nested, ir_add(f, s.lobe, t_u32(t, 1)), t_u32(t, LOBE_NULL)),
    };
}

static ir_ref mask_pdf(const bsdf_context *ctx, vec3 wo)
{
    bsdf_context inner = bsdf_nested(ctx, 0);
    ir_ref pdf = bsdf_of(inner.n)->pdf(&inner, wo);
    return ir_mul(ctx->t->f, nested_probability(ctx), pdf);
}

static color mask_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref opacity = opacity_of(ctx), through = ir_and(f, delta, ir_eq(f, lobe, t_u32(t, LOBE_NULL)));
    ir_ref own = ir_sub(f, lobe, t_u32(t, 1));
    bsdf_context inner = bsdf_nested(ctx, 0);
    color nested = bsdf_of(inner.n)->value(&inner, wo, delta, own);
    return color_select(t, through, color_all(ir_sub(f, t_f32(t, 1), opacity)),
                        color_scale(t, nested, opacity));
}

static bsdf_polarized mask_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_func *f = t->f;
    ir_ref opacity = opacity_of(ctx), through = ir_and(f, delta, ir_eq(f, lobe, t_u32(t, LOBE_NULL)));
    ir_ref own = ir_sub(f, lobe, t_u32(t, 1)), hole = ir_sub(f, t_f32(t, 1), opacity);
    bsdf_context inner = bsdf_nested(ctx, 0);
    bsdf_polarized r = bsdf_polarize(&inner, wo, delta, own);
    mueller passes = mueller_absorber(hole);
    for (uint32_t c = 0; c < t->channels; c++) {
        mueller nested = mueller_scale(t, &r.m[c], opacity);
        r.m[c] = mueller_select(t, through, &passes, &nested);
    }
    r.axis = v3_select(t, through, stokes_basis(t, ctx->wi), r.axis);
    r.depolarizes = ir_and(f, r.depolarizes, ir_not(f, through));
    return r;
}

static vec3 mask_lobe_direction(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_ref own = ir_sub(t->f, lobe, t_u32(t, 1));
    bsdf_context inner = bsdf_nested(ctx, 0);
    return bsdf_lobe_direction(&inner, own);
}

static ir_ref mask_lobe_eta(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    bsdf_context inner = bsdf_nested(ctx, 0);
    return bsdf_lobe_eta(&inner, ir_sub(t->f, lobe, t_u32(t, 1)));
}

static bsdf_attached mask_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    bsdf_draw own = *draw;
    own.lobe = ir_sub(t->f, draw->lobe, t_u32(t, 1));
    bsdf_context inner = bsdf_nested(ctx, 0);
    return bsdf_attach(&inner, &own);
}

static ir_ref mask_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_ref own = ir_is_none(lobe) ? lobe : ir_sub(t->f, lobe, t_u32(t, 1));
    bsdf_context inner = bsdf_nested(ctx, 0);
    return bsdf_roughness(&inner, own);
}

/* Light goes through the holes, and through the null lobes of the nested material. */
static color mask_through(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_ref opacity = opacity_of(ctx), hole = ir_sub(t->f, t_f32(t, 1), opacity);
    bsdf_context inner = bsdf_nested(ctx, 0);
    color nested = bsdf_through(&inner);
    COLOR_EACH(r, t_mad(t, opacity, nested.c[c], hole));
    return r;
}

static const plugin_param mask_params[] = {
    {"opacity", PLUGIN_TEXTURED, PLUGIN_REFLECTANCE | PLUGIN_SCALAR, "0.5", 0, 0,
     "share of the nested material; of a colour, its luminance"},
};
static const plugin_slot mask_slots[] = {{PLUGIN_BSDF, "nested_bsdf", 1, 1}};
const bsdf_class bsdf_mask = {
    .base.plugin = {PLUGIN_BSDF, "mask", PLUGIN_TABLE(mask_params), PLUGIN_TABLE(mask_slots),
                    "a material with holes"},
    .transmits = true,
    .null = true,
    .sample = mask_sample,
    .pdf = mask_pdf,
    .value = mask_value,
    .polarized = mask_polarized,
    .lobe_direction = mask_lobe_direction,
    .lobe_eta = mask_lobe_eta,
    .attached = mask_attached,
    .roughness = mask_roughness,
    .through = mask_through,
    .albedo = bsdf_nested_albedo,
};
