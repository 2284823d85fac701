/* SPDX-License-Identifier: BSD-3-Clause
 * Sampled directions as functions of parameters, for every material and for materials that hold others. Such
 * directions are those of discrete lobes, which mirror or refract, and those of rough lobes whose samples are
 * attached. All other samples are detached. */
#include "render/classes.h"

#include <math.h>

bool bsdf_directions_move(const render_scene *s, const scene_object *bsdf)
{
    const bsdf_class *cls = (const bsdf_class *)(const void *)bsdf->cls;
    bool any = bsdf->child_count == 0 && (cls->lobe_direction || (cls->attaches && cls->attaches(s, bsdf)));
    for (uint32_t k = 0; k < bsdf->child_count; k++)
        any |= bsdf_directions_move(s, bsdf->children[k]);
    return any;
}

vec3 bsdf_lobe_direction(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    const bsdf_class *cls = bsdf_of(ctx->n);
    return cls->lobe_direction ? cls->lobe_direction(ctx, lobe)
                               : v3_neg(t, ctx->wi); /* the class has no such lobe, so that nobody asks */
}

ir_ref bsdf_lobe_eta(const bsdf_context *ctx, ir_ref lobe)
{
    const bsdf_class *cls = bsdf_of(ctx->n);
    return cls->lobe_eta ? cls->lobe_eta(ctx, lobe) : t_f32(ctx->t, 1);
}

bsdf_attached bsdf_attach(const bsdf_context *ctx, const bsdf_draw *draw)
{
    tracer *t = ctx->t;
    const bsdf_class *cls = bsdf_of(ctx->n);
    return cls->attached ? cls->attached(ctx, draw) : (bsdf_attached){draw->wo, t_f32(t, 1)};
}

ir_ref bsdf_roughness(const bsdf_context *ctx, ir_ref lobe)
{
    tracer *t = ctx->t;
    const bsdf_class *cls = bsdf_of(ctx->n);
    BL_ASSERT(!cls->attached == !cls->roughness, "%s has one of attached and roughness",
              cls->base.plugin.name);
    return cls->attached ? cls->roughness(ctx, lobe) : t_f32(t, BSDF_NEVER_ATTACHED);
}

ir_ref bsdf_smooth_enough(tracer *t, ir_ref roughness)
{
    return ir_le(t->f, roughness, t_f32(t, fminf(t->plan->scene->attach_below, BSDF_NEVER_ATTACHED / 2)));
}

bool bsdf_mixes(const class_node *n)
{
    bool any = bsdf_of(n)->mixes;
    for (uint32_t k = 0; k < n->child_count; k++)
        any |= bsdf_mixes(n->child[k]);
    return any;
}
