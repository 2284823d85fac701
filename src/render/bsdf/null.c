/* SPDX-License-Identifier: BSD-3-Clause
 * A surface that is not there: all light goes straight through, as one null lobe. Such surfaces bound media.
 * What asks any material for its null lobes is here, too. */
#include "render/classes.h"

ir_ref bsdf_no_density(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    (void)wo;
    return t_f32(t, 0);
}

bool bsdf_lets_through(const class_node *n)
{
    bool any = bsdf_of(n)->null;
    for (uint32_t k = 0; k < n->child_count; k++)
        any |= bsdf_lets_through(n->child[k]);
    return any;
}

color bsdf_through(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    const bsdf_class *cls = bsdf_of(ctx->n);
    if (cls->through)
        return cls->through(ctx);
    BL_ASSERT(!cls->null || ctx->n->child_count == 0, "%s holds materials and has no through",
              cls->base.plugin.name);
    if (!cls->null)
        return color_all(t_f32(t, 0));
    return cls->value(ctx, v3_neg(t, ctx->wi), ir_bool(t->f, true), t_u32(t, LOBE_NULL));
}

bsdf_sample bsdf_null_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    (void)u_lobe, (void)u1, (void)u2;
    ir_ref one = t_f32(t, 1);
    return (bsdf_sample){
        .wo = v3_neg(t, ctx->wi),
        .pdf = one,
        .eta = one,
        .delta = ir_bool(t->f, true),
        .lobe = t_u32(t, LOBE_NULL),
    };
}

static color null_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    (void)wo, (void)lobe;
    return color_all(ir_select(t->f, delta, t_f32(t, 1), t_f32(t, 0)));
}

const bsdf_class bsdf_null = {
    .base.plugin = {PLUGIN_BSDF, "null", PLUGIN_NONE, PLUGIN_NONE,
                    "lets everything through, as if there were no surface"},
    .transmits = true,
    .null = true,
    .sample = bsdf_null_sample,
    .pdf = bsdf_no_density,
    .value = null_value,
};
