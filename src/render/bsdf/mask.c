/* SPDX-License-Identifier: BSD-3-Clause
 * A material with holes: the nested one with weight `opacity`, and straight through with weight 1 - opacity,
 * a discrete lobe. One of the two is chosen by the opacity (plan_probability), which is detached; the weights
 * are not. */
#include "render/classes.h"

static ir_ref opacity_of(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    return t_clamp(t, plan_texture_1(t, n, record, "opacity", uv), 0, 1);
}

static ir_ref nested_probability(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    return plan_probability(t, n, "opacity", opacity_of(t, n, record, uv));
}

static ir_ref nested_record(tracer *t, const class_node *n, ir_ref record)
{
    return t_offset(t, record, n->child_word[0]);
}

static bsdf_sample mask_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref u_lobe,
                               ir_ref u1, ir_ref u2)
{
    ir_func *f = t->f;
    const class_node *child = n->child[0];
    ir_ref p = nested_probability(t, n, record, uv), one = t_f32(t, 1), nested = ir_lt(f, u_lobe, p);
    bsdf_sample s =
        bsdf_of(child)->sample(t, child, nested_record(t, n, record), wi, uv, t_ratio(t, u_lobe, p), u1, u2);
    return (bsdf_sample){
        .wo = v3_select(t, nested, s.wo, v3_neg(t, wi)),
        .pdf = ir_select(f, nested, ir_mul(f, p, s.pdf), ir_sub(f, one, p)),
        .eta = ir_select(f, nested, s.eta, one),
        .delta = ir_or(f, s.delta, ir_not(f, nested)),
        .lobe = ir_select(f, nested, ir_add(f, s.lobe, t_u32(t, 1)), t_u32(t, LOBE_NULL)),
    };
}

static ir_ref mask_pdf(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv)
{
    const class_node *child = n->child[0];
    return ir_mul(t->f, nested_probability(t, n, record, uv),
                  bsdf_of(child)->pdf(t, child, nested_record(t, n, record), wi, wo, uv));
}

static color mask_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec2 uv,
                        ir_ref delta, ir_ref lobe)
{
    ir_func *f = t->f;
    const class_node *child = n->child[0];
    ir_ref opacity = opacity_of(t, n, record, uv),
           through = ir_and(f, delta, ir_eq(f, lobe, t_u32(t, LOBE_NULL)));
    color nested = bsdf_of(child)->value(t, child, nested_record(t, n, record), wi, wo, uv, delta,
                                         ir_sub(f, lobe, t_u32(t, 1)));
    return color_select(t, through, color_all(ir_sub(f, t_f32(t, 1), opacity)),
                        color_scale(t, nested, opacity));
}

static vec3 mask_turned(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref lobe)
{
    return bsdf_turned(t, n->child[0], nested_record(t, n, record), wi, uv, ir_sub(t->f, lobe, t_u32(t, 1)));
}

static bsdf_attached mask_attached(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv,
                                   const bsdf_draw *draw)
{
    bsdf_draw inner = *draw;
    inner.lobe = ir_sub(t->f, draw->lobe, t_u32(t, 1));
    return bsdf_attach(t, n->child[0], nested_record(t, n, record), wi, uv, &inner);
}

static ir_ref mask_roughness(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv, ir_ref lobe)
{
    ir_ref inner = ir_is_none(lobe) ? lobe : ir_sub(t->f, lobe, t_u32(t, 1));
    return bsdf_roughness(t, n->child[0], nested_record(t, n, record), wi, uv, inner);
}

/* Through the holes, or through what the nested material lets through. */
static color mask_through(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec2 uv)
{
    ir_ref opacity = opacity_of(t, n, record, uv), hole = ir_sub(t->f, t_f32(t, 1), opacity);
    color nested = bsdf_through(t, n->child[0], nested_record(t, n, record), wi, uv);
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
    .turned = mask_turned,
    .attached = mask_attached,
    .roughness = mask_roughness,
    .through = mask_through,
    .albedo = bsdf_nested_albedo,
};
