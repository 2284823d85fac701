/* SPDX-License-Identifier: BSD-3-Clause
 * One-sided materials that scatter on both sides. On the back the local frame is turned over: z of wi and wo
 * changes sign. There the second nested material answers, or the first if it is the only one. With two
 * materials both are evaluated, and one result is selected. Their lobes need no common numbering, because the
 * side follows from wi and is not a random choice. */
#include "render/classes.h"

static vec3 flipped(tracer *t, ir_ref back, vec3 v)
{
    return v3(v.x, v.y, ir_select(t->f, back, ir_neg(t->f, v.z), v.z));
}
static ir_ref is_back(tracer *t, vec3 wi) { return ir_lt(t->f, wi.z, t_f32(t, 0)); }

/* The context in which either nested material is asked. It sees wi from its front. */
static bsdf_context front_of(const bsdf_context *ctx, ir_ref back)
{
    bsdf_context front = *ctx;
    front.wi = flipped(ctx->t, back, ctx->wi);
    return front;
}

static bsdf_sample choose(tracer *t, ir_ref c, bsdf_sample a, bsdf_sample b)
{
    ir_func *f = t->f;
    return (bsdf_sample){v3_select(t, c, a.wo, b.wo), ir_select(f, c, a.pdf, b.pdf),
                         ir_select(f, c, a.eta, b.eta), ir_select(f, c, a.delta, b.delta),
                         ir_select(f, c, a.lobe, b.lobe)};
}

static bsdf_sample twosided_sample(const bsdf_context *ctx, ir_ref u_lobe, ir_ref u1, ir_ref u2)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi);
    bsdf_context front = front_of(ctx, back);
    bsdf_sample s[2];
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        s[k] = bsdf_of(face.n)->sample(&face, u_lobe, u1, u2);
    }
    bsdf_sample r = ctx->n->child_count == 2 ? choose(t, back, s[1], s[0]) : s[0];
    r.wo = flipped(t, back, r.wo);
    return r;
}

static ir_ref twosided_pdf(const bsdf_context *ctx, vec3 wo)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi), p[2];
    bsdf_context front = front_of(ctx, back);
    wo = flipped(t, back, wo);
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        p[k] = bsdf_of(face.n)->pdf(&face, wo);
    }
    return ctx->n->child_count == 2 ? ir_select(t->f, back, p[1], p[0]) : p[0];
}

static color twosided_value(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi);
    bsdf_context front = front_of(ctx, back);
    wo = flipped(t, back, wo);
    color v[2];
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        v[k] = bsdf_of(face.n)->value(&face, wo, delta, lobe);
    }
    return ctx->n->child_count == 2 ? color_select(t, back, v[1], v[0]) : v[0];
}

/* To turn the frame over mirrors it. Fresnel's equations are the same in a mirror. */
static bsdf_polarized twosided_polarized(const bsdf_context *ctx, vec3 wo, ir_ref delta, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi);
    bsdf_context front = front_of(ctx, back);
    wo = flipped(t, back, wo);
    bsdf_polarized v[2];
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        v[k] = bsdf_polarize(&face, wo, delta, lobe);
    }
    if (ctx->n->child_count == 2) {
        v[0].axis = v3_select(t, back, v[1].axis, v[0].axis);
        v[0].depolarizes = ir_select(t->f, back, v[1].depolarizes, v[0].depolarizes);
        for (uint32_t c = 0; c < t->channels; c++)
            v[0].m[c] = mueller_select(t, back, &v[1].m[c], &v[0].m[c]);
    }
    v[0].axis = flipped(t, back, v[0].axis);
    return v[0];
}

static vec3 twosided_lobe_direction(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi);
    vec3 wo[2];
    bsdf_context front = front_of(ctx, back);
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        wo[k] = bsdf_lobe_direction(&face, lobe);
    }
    return flipped(t, back, ctx->n->child_count == 2 ? v3_select(t, back, wo[1], wo[0]) : wo[0]);
}

static bsdf_attached twosided_attached(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi);
    bsdf_attached a[2];
    bsdf_draw inner = *draw;
    bsdf_context front = front_of(ctx, back);
    inner.wo = flipped(t, back, draw->wo);
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        a[k] = bsdf_attach(&face, &inner);
    }
    if (ctx->n->child_count == 2)
        a[0] = (bsdf_attached){v3_select(t, back, a[1].wo, a[0].wo),
                               ir_select(t->f, back, a[1].density, a[0].density)};
    a[0].wo = flipped(t, back, a[0].wo);
    return a[0];
}

static ir_ref twosided_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi), r[2];
    bsdf_context front = front_of(ctx, back);
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        r[k] = bsdf_roughness(&face, lobe);
    }
    return ctx->n->child_count == 2 ? ir_select(t->f, back, r[1], r[0]) : r[0];
}

static color twosided_albedo(const bsdf_context *ctx)
{
    tracer *t = ctx->t;
    ir_ref back = is_back(t, ctx->wi);
    color v[2];
    bsdf_context front = front_of(ctx, back);
    for (uint32_t k = 0; k < ctx->n->child_count; k++) {
        bsdf_context face = bsdf_nested(&front, k);
        v[k] = bsdf_albedo(&face);
    }
    return ctx->n->child_count == 2 ? color_select(t, back, v[1], v[0]) : v[0];
}

static bool transmits(const scene_object *bsdf)
{
    const bsdf_class *cls = (const bsdf_class *)(const void *)bsdf->cls;
    bool any = cls->transmits || (cls->transmits_by && !render_part_is_zero(bsdf, cls->transmits_by));
    for (uint32_t k = 0; k < bsdf->child_count; k++)
        any |= transmits(bsdf->children[k]);
    return any;
}

static bl_result twosided_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    for (uint32_t k = 0; k < o->child_count && scene_number(o, "allow_transmission") == 0; k++)
        if (transmits(o->children[k]))
            return scene_error(err, BL_ERROR_SCENE, o->children[k]->where,
                               "twosided: \"%s\" transmits light and has two sides of its own; set "
                               "\"allow_transmission\" to nest it all the same",
                               o->children[k]->cls->name);
    return BL_OK;
}

static const plugin_param twosided_params[] = {
    {"allow_transmission", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accept nested materials that transmit"},
};
static const plugin_slot twosided_slots[] = {{PLUGIN_BSDF, "brdf_#", 1, 2}};
const bsdf_class bsdf_twosided = {
    .base = {.plugin = {PLUGIN_BSDF, "twosided", PLUGIN_TABLE(twosided_params), PLUGIN_TABLE(twosided_slots),
                        "one or two one-sided materials, front and back"},
             .load = twosided_load},
    .sample = twosided_sample,
    .pdf = twosided_pdf,
    .value = twosided_value,
    .polarized = twosided_polarized,
    .lobe_direction = twosided_lobe_direction,
    .attached = twosided_attached,
    .roughness = twosided_roughness,
    .albedo = twosided_albedo,
};
